"""What cannot be used gets one line and exit code 2, and leaves no trace: no row, no file, not even a folder."""

from __future__ import annotations

import json

import pytest

from tests.doors.command_line import CommandLine

BAD_HOSTS = {
    "empty": "",
    "blank": "  ",
    "scheme alone": "http://",
    "javascript": "javascript:alert(1)",
    "another scheme": "ftp://example.com/",
    "endless label": "a" * 5000 + ".com",
    "endless URL": "https://example.com/" + "a" * 9000,
    "bad punycode": "xn--zzzzzz99999999.com",
    "space": "exa mple.com",
    "line break": "example.com\nexample.org",
    "password": "user:secret@example.com",
    "password in a URL": "https://user:secret@example.com/",
    "empty label": "example..com",
    "impossible port": "example.com:99999",
    "unclosed bracket": "http://[::1",
    "undecodable byte": "ex\udcffample.com",
}
COMMANDS_WITH_A_HOST = [
    ("domains", "info", "{}"),
    ("domains", "reset", "{}"),
    ("domain-info", "{}"),
    ("domain-reset", "{}", "--reason", "why"),
    ("seeds", "add", "{}"),
    ("seeds", "add", "good.example", "{}", "also-good.example"),
    ("takedown", "add", "{}"),
    ("takedown", "add", "good.example", "{}"),
    ("takedown", "remove", "good.example", "{}"),
    ("policy", "show", "{}"),
    ("crawl", "{}"),
    ("why", "{}"),
    ("robots", "{}"),
    ("verify-politeness", "--host", "{}"),
    ("policy", "set", "{}", "--max-pages", "5"),
]
OTHER_BAD_INPUT = [
    ("domains", "list", "--status", "asleep"),
    ("domains", "list", "--limit", "-1"),
    ("domains", "list", "--limit", "0"),
    ("domains", "list", "--limit", "many"),
    ("domains", "list", "--limit", "9" * 30),
    ("domains", "list", "--offset", "-1"),
    ("domains", "list", "--contains", "a\nb"),
    ("domains", "top", "--limit", "-5"),
    ("top-domains", "--limit", "-5"),
    ("domain-status", "--status", "BLOCKED!"),
    ("domains", "reset", "example.com", "--reason", "a\x1b[2J"),
    ("domains", "reset", "example.com", "--reason", "a" * 1001),
    ("seeds", "add"),
    ("seeds", "add", "example.com", "--source", "a" * 101),
    ("seeds", "add", "example.com", "--source", "a\x00b"),
    ("seeds", "load"),
    ("takedown", "add"),
    ("takedown", "add", "example.com", "--reason", "line\nbreak"),
    ("policy", "set", "example.com"),
    ("crawl", "example.com", "--delay", "abc"),
    ("sql", "shop.duckdb", "--read", "none.sql"),
    ("policy", "set", "example.com", "--max-concurrency", "0"),
    ("policy", "set", "example.com", "--max-concurrency", "1001"),
    ("policy", "set", "example.com", "--min-request-interval-ms", "-1"),
    ("policy", "set", "example.com", "--min-request-interval-ms", "604800001"),
    ("policy", "set", "example.com", "--max-pages", "-1"),
    ("policy", "set", "example.com", "--max-pages", "ten"),
    ("policy", "set", "example.com", "--max-kb-per-page", "0"),
    ("policy", "set", "example.com", "--max-kb-per-page", "9" * 25),
    ("db", "upgrade", "no-such-revision"),
    ("db", "downgrade"),
    ("db", "downgrade", "--yess"),
    ("db", "downgrade", "base", "--yess"),
    ("domains", "list", "--state", "mysql://server/base"),
    ("domains", "list", "--state", "://"),
    ("seeds", "add", "example.com", "--state", ""),
    ("--state", "", "domains", "list"),
    ("domains", "nonsense"),
    ("nonsense",),
    ("--nonsense",),
    ("domains", "list", "--nonsense"),
    ("--json",),
]


def assert_refused(comity: CommandLine, arguments: list[str]) -> None:
    answer = comity(*arguments)
    assert (answer.code, answer.out) == (2, ""), answer
    assert answer.err.startswith("comity: ")
    assert answer.err.count("\n") == 1
    assert answer.err.endswith("\n")
    assert len(answer.err) < 300
    assert "secret" not in answer.err
    assert list(comity.folder.iterdir()) == []


@pytest.mark.parametrize("host", BAD_HOSTS.values(), ids=BAD_HOSTS.keys())
@pytest.mark.parametrize("command", COMMANDS_WITH_A_HOST, ids=lambda words: " ".join(words))
def test_a_bad_host_is_refused_in_one_line_and_nothing_is_written(
    comity: CommandLine, command: tuple[str, ...], host: str
) -> None:
    assert_refused(comity, [word.format(host) if word == "{}" else word for word in command])


@pytest.mark.parametrize("arguments", OTHER_BAD_INPUT, ids=lambda words: " ".join(words)[:60])
def test_bad_options_are_refused_in_one_line_and_nothing_is_written(
    comity: CommandLine, arguments: tuple[str, ...]
) -> None:
    if "--json" in arguments:
        answer = comity(*arguments)
        assert answer.code == 2
        assert json.loads(answer.err)["error"] == "bad_input"
    else:
        assert_refused(comity, list(arguments))


@pytest.mark.parametrize("command", COMMANDS_WITH_A_HOST, ids=lambda words: " ".join(words))
def test_a_bad_host_changes_nothing_in_a_state_that_exists(with_state: CommandLine, command: tuple[str, ...]) -> None:
    with_state.done("seeds", "add", "known.example")
    with_state.done("takedown", "add", "good.example")
    tables = ("domains", "domain_policies", "takedowns", "domain_frontier")
    before = [with_state.rows(f"SELECT * FROM {table}") for table in tables]
    assert with_state(*(word.format("http://") for word in command)).code == 2
    assert [with_state.rows(f"SELECT * FROM {table}") for table in tables] == before


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("domains", "info", "http://"), 2, "bad_address"),
        (("domains", "info", "nobody.example"), 1, "not_found"),
        (("domains", "list", "--limit", "-1"), 2, "bad_input"),
        (("domains", "list", "--status", "asleep"), 2, "bad_input"),
        (("seeds", "load", "no-such-file"), 2, "bad_input"),
        (("takedown", "remove", "example.com"), 1, "not_found"),
        (("domains", "list", "--state", "."), 1, "state_unavailable"),
    ],
)
def test_a_program_gets_errors_as_json_on_stderr(
    comity: CommandLine, arguments: tuple[str, ...], code: int, error: str
) -> None:
    for words in ([*arguments, "--json"], ["--json", *arguments]):
        answer = comity(*words)
        assert (answer.code, answer.out) == (code, "")
        document = json.loads(answer.err)
        assert document["error"] == error
        assert document["message"]


def test_a_wrong_option_is_named_with_what_would_be_right(comity: CommandLine) -> None:
    answer = comity("domains", "list", "--status", "asleep")
    assert answer.err.startswith("comity: --status: 'asleep' is not one of 'pending', 'active'")
    assert comity("domains", "list", "--limit", "x").err.startswith("comity: --limit: must be a whole number (see ")
    assert "did you mean 'domains'?" in comity("domian").err
