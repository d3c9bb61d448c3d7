"""Taking down by the command line."""

from __future__ import annotations

import pytest

from tests.doors.command_line import CommandLine


@pytest.fixture
def queued(comity: CommandLine) -> CommandLine:
    urls = [
        "https://example.com/",
        "https://example.com/private/a",
        "https://sub.example.com/b",
        "https://example.com:8080/c",
        "https://notexample.com/d",
    ]
    assert comity.json("seeds", "add", *urls)["urls_queued"] == 5
    return comity


def states(comity: CommandLine) -> dict[str, int]:
    return dict(comity.rows("SELECT url, state FROM domain_frontier"))  # type: ignore[arg-type]


def test_a_host_is_taken_down_with_everything_queued_of_it(queued: CommandLine) -> None:
    assert queued.json("takedown", "add", "www.Example.com", "--reason", "requested by the owner") == [
        {"domain_or_url": "example.com", "new": True, "urls_dropped": 4, "postings_closed": 0}
    ]
    assert states(queued) == {
        "https://example.com/": 2,
        "https://example.com/private/a": 2,
        "https://sub.example.com/b": 2,
        "https://example.com:8080/c": 2,
        "https://notexample.com/d": 0,
    }
    assert queued.rows("SELECT domain_or_url, reason FROM takedowns") == [("example.com", "requested by the owner")]


def test_a_url_is_taken_down_with_everything_below_it(queued: CommandLine) -> None:
    answer = queued.done("takedown", "add", "https://example.com/private")
    assert answer.out == "example.com/private is taken down; 1 queued URL dropped.\n"
    assert [url for url, state in states(queued).items() if state == 2] == ["https://example.com/private/a"]


def test_adding_twice_says_so(comity: CommandLine) -> None:
    comity.done("takedown", "add", "example.com")
    assert comity.done("takedown", "add", "example.com").out == "example.com was already taken down.\n"


def test_the_list_tells_since_when_and_why(comity: CommandLine) -> None:
    comity.done("takedown", "add", "example.com", "other.example/a", "--reason", "the owner asked")
    first, second = comity.json("takedown", "list")
    assert {first["domain_or_url"], second["domain_or_url"]} == {"example.com", "other.example/a"}
    assert first["reason"] == "the owner asked"
    assert first["created_at"].endswith("Z")
    table = comity.done("takedown", "list").lines
    assert table[0].split() == ["ENTRY", "SINCE", "REASON"]
    assert [line.split()[0] for line in table[2:]] == ["example.com", "other.example/a"]
    assert table[2].endswith("the owner asked")


def test_several_are_allowed_again_or_none(comity: CommandLine) -> None:
    comity.done("takedown", "add", "a.example", "b.example")
    answer = comity("takedown", "remove", "a.example", "unknown.example")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "comity: unknown.example is not taken down\n"
    assert len(comity.json("takedown", "list")) == 2
    assert comity.done("takedown", "remove", "https://www.a.example/", "b.example", "b.example").lines == [
        "a.example may be crawled again.",
        "b.example may be crawled again.",
    ]
    assert comity.json("takedown", "list") == []
