"""Faults of robots.txt by line, and what it allows the known agents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.audit import AgentRule, AuditedRobots
from comity.model.audit import FindingCode as Code
from comity.rules.audit.robots_file import KNOWN_AGENTS, agent_access, robots_faults

SYNTAX, NO_EFFECT = Code.ROBOTS_SYNTAX, Code.ROBOTS_RULE_WITHOUT_EFFECT
GROUP = "User-agent: *\n"


@pytest.mark.parametrize(
    ("text", "line", "code", "words"),
    [
        (GROUP + "Dissallow: /a\n", 2, SYNTAX, "Disallow was probably meant"),
        (GROUP + "Disallow /a\n", 2, SYNTAX, "no colon"),
        ("Useragent: *\nDisallow: /a\n", 1, SYNTAX, "User-agent was probably meant"),
        (GROUP + "Block: /a\n", 2, SYNTAX, "unknown directive"),
        ("# a\n\nDisallow: /a\n" + GROUP, 3, NO_EFFECT, "above the first User-agent line"),
        ("Crawl-delay: 2\n" + GROUP, 1, NO_EFFECT, "above the first User-agent line"),
        (GROUP + "Crawl-delay: soon\n", 2, SYNTAX, "not a number"),
        (GROUP + "Noindex: /a\n", 2, SYNTAX, "Noindex"),
        (GROUP + "Sitemap: /sitemap.xml\n", 2, SYNTAX, "absolute"),
        (GROUP + "Disallow: admin\n", 2, SYNTAX, "slash"),
        (GROUP + "User-agent:\nDisallow: /a\n", 2, SYNTAX, "no agent"),
        (GROUP + "Disallow: /a\r\nAllow: /a\r\n", 2, NO_EFFECT, "line 3 always wins"),
        (GROUP + "Allow: /\nDisallow: /*\n", 2, NO_EFFECT, "line 3 always wins"),
        (GROUP + "Disallow: /a\nDisallow: /a\n", 3, NO_EFFECT, "repeats line 2"),
        ("\ufeff" + GROUP + "Disallow: /a\n", 1, SYNTAX, "byte order mark"),
        ("<!DOCTYPE html>\n<title>Not found</title>\nx: y\n", 1, SYNTAX, "HTML"),
    ],
)
def test_a_faulty_line_is_named(text: str, line: int, code: Code, words: str) -> None:
    (fault,) = robots_faults(text)
    assert (fault.line, fault.code) == (line, code)
    assert words in fault.detail


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing to say\n",
        GROUP + "Disallow:\n",
        GROUP + "Allow: /\nDisallow: /a/  # private\n",
        GROUP + "Disallow: /a\nAllow: /a/b\nDisallow: /a/b/c$\nDisallow: /*.pdf$\n",
        GROUP + "Crawl-delay: 0.5\nSitemap: https://example.test/sitemap.xml\nHost: example.test\n",
        "User-agent: a\nUser-agent: b\nDisallow: /a\n\nUser-agent: b\nAllow: /a\n",
        GROUP + "Content-Signal: ai-train=no\nDisallow: /a\n",
        "user-agent: *\rdisallow: /a\r",
    ],
)
def test_good_files_have_no_faults(text: str) -> None:
    assert robots_faults(text) == []


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    for fault in robots_faults(GROUP + text):
        assert 1 <= fault.line <= text.count("\n") + text.count("\r") + 2


def test_a_hostile_file_costs_a_bounded_number_of_tries() -> None:
    agents_of_all = "".join(f"User-agent: bot{letter}{other}\n" for letter in "abcdefghij" for other in "abcdefghij")
    rules = "".join(f"Disallow: /*a*b*c{number}\n" for number in range(3_000))
    assert robots_faults(agents_of_all + rules) == []


SECTIONS = ("/", "/blog/", "/private/")


def table(text: str | None, status: int | None = 200) -> dict[str, dict[str, AgentRule]]:
    file = AuditedRobots("https://example.test", status, text, "")
    return {access.agent: dict(access.by_section) for access in agent_access([file], SECTIONS)}


def test_agents_are_decided_by_their_own_group_and_line() -> None:
    text = "User-agent: *\nDisallow: /private/\n\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\nAllow: /blog/\n"
    found = table(text)
    assert found["Googlebot"]["/"] == AgentRule(True, None, None)
    assert found["Googlebot"]["/private/"] == AgentRule(False, 2, "Disallow: /private/")
    assert found["GPTBot"]["/"] == AgentRule(False, 6, "Disallow: /")
    assert found["GPTBot"]["/blog/"] == AgentRule(True, 7, "Allow: /blog/")
    assert found["CCBot"] == found["GPTBot"]
    assert found["ClaudeBot"] == found["Googlebot"]


@pytest.mark.parametrize(("status", "allowed"), [(404, True), (403, True), (503, False), (429, False), (None, False)])
def test_without_a_file_the_status_decides(status: int | None, allowed: bool) -> None:
    found = table(None, status)
    assert {rule for by_section in found.values() for rule in by_section.values()} == {AgentRule(allowed, None, None)}


def test_without_any_origin_there_is_no_table() -> None:
    assert agent_access([], SECTIONS) == ()


def test_every_purpose_has_agents_and_every_agent_is_named_once() -> None:
    tokens = [agent.token.lower() for agent in KNOWN_AGENTS]
    assert len(set(tokens)) == len(tokens)
    assert {agent.purpose for agent in KNOWN_AGENTS} >= {"search", "AI training", "AI answers", "archive", "SEO"}
