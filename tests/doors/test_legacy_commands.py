"""Scripts written for the older command line go on working."""

from __future__ import annotations

import pytest

from tests.doors.command_line import CommandLine

SPELLINGS = [
    (("domain-status",), ("domains", "list")),
    (
        ("domain-status", "--status", "blocked", "--limit", "1"),
        ("domains", "list", "--status", "blocked", "--limit", "1"),
    ),
    (
        ("domain-status", "--contains", "b", "--offset", "1", "--json"),
        ("domains", "list", "--contains", "b", "--offset", "1", "--json"),
    ),
    (("domain-info", "b.example"), ("domains", "info", "b.example")),
    (("domain-info", "b.example", "--json"), ("domains", "info", "b.example", "--json")),
    (("domain-info", "nobody.example"), ("domains", "info", "nobody.example")),
    (("top-domains", "--limit", "1"), ("domains", "top", "--limit", "1")),
    (("top-domains", "--limit", "0"), ("domains", "top", "--limit", "0")),
    (("top-domains", "--json"), ("domains", "top", "--json")),
]


@pytest.fixture
def hosts(with_state: CommandLine) -> CommandLine:
    for number, domain in enumerate(["a.example", "b.example", "bb.example"]):
        with_state.add_host(domain, status="blocked", pages_crawled=number, images_stored=number, block_reason="why")
    return with_state


@pytest.mark.parametrize(("old", "new"), SPELLINGS, ids=lambda words: " ".join(words))
def test_an_older_spelling_answers_what_the_new_one_answers(
    hosts: CommandLine, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    assert hosts(*old) == hosts(*new)


def test_reset_goes_by_its_older_name_too(hosts: CommandLine) -> None:
    assert hosts.json("domain-reset", "a.example", "--reason", "manual review") == {
        "domain": "a.example",
        "status_before": "blocked",
        "status": "pending",
        "urls_requeued": 0,
    }
    assert hosts.column("a.example", "block_reason") == "reset: manual review"


def test_options_and_help_are_the_same(comity: CommandLine) -> None:
    for old, new in [
        ("domain-status", "list"),
        ("domain-info", "info"),
        ("domain-reset", "reset"),
        ("top-domains", "top"),
    ]:
        old_help = comity.done(old, "--help").out.split("Example")[0]
        new_help = comity.done("domains", new, "--help").out.split("Example")[0]
        assert old_help.splitlines()[2:] == new_help.splitlines()[2:]


def test_the_help_keeps_them_apart(comity: CommandLine) -> None:
    text = comity.done("--help").out
    older = text[text.index("Older names") :]
    for name in ("domain-status", "domain-info", "domain-reset", "top-domains"):
        assert f" {name} " in older
        assert f" {name} " not in text[: text.index("Older names")]
