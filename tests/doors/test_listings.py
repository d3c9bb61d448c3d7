"""Looking at hosts: tables for people, documents for programs."""

from __future__ import annotations

import pytest

from tests.doors.command_line import CommandLine

HEAD = ["DOMAIN", "STATUS", "PAGES", "IMAGES", "YIELD", "LAST", "CRAWLED"]
LONGEST_HOST = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 53, "example"])


@pytest.fixture
def hosts(with_state: CommandLine) -> CommandLine:
    """The hosts of the example that the listing was designed by."""
    add = with_state.add_host
    add(
        "unsplash.com",
        status="active",
        pages_crawled=450,
        pages_discovered=2100,
        images_stored=3200,
        image_yield_rate=3200 / 450,
        last_crawled_at="2026-02-05 14:30:00.000000",
        claimed_by="worker:1",
        claim_expires_at="2999-01-01 00:00:00.000000",
    )
    add(
        "flickr.com",
        status="active",
        pages_crawled=200,
        pages_discovered=8500,
        images_stored=1800,
        image_yield_rate=9.0,
        last_crawled_at="2026-02-05 14:25:00.000000",
        claimed_by="worker:2",
        claim_expires_at="2001-01-01 00:00:00.000000",
    )
    add(
        "wikipedia.org",
        status="exhausted",
        pages_crawled=50,
        pages_discovered=50,
        images_stored=12,
        image_yield_rate=0.24,
        last_crawled_at="2026-02-04 10:00:00.000000",
    )
    add(
        "example-login.com",
        status="blocked",
        pages_crawled=3,
        pages_discovered=3,
        image_yield_rate=0.0,
        last_crawled_at="2026-02-05 14:31:00.000000",
        block_reason="login_required",
        block_reason_code="login_required",
    )
    add(
        "dead-domain.invalid",
        status="unreachable",
        last_crawled_at="2026-02-05 14:28:00.000000",
        block_reason="DNS resolution failed",
        block_reason_code="dns_failure",
    )
    add("waiting.example")
    return with_state


def test_the_list_shows_the_columns_of_every_host_with_reasons_below(hosts: CommandLine) -> None:
    lines = hosts.done("domains", "list").lines
    assert lines[0].split() == HEAD
    assert set(lines[1]) == {"─"}
    assert [line.split() for line in lines[2:]] == [
        ["example-login.com", "blocked", "3/3", "0", "0.0", "2026-02-05", "14:31"],
        ["└─", "reason:", "login_required"],
        ["unsplash.com", "active", "450/2100", "3200", "7.1", "2026-02-05", "14:30"],
        ["dead-domain.invalid", "unreachable", "0/0", "0", "-", "2026-02-05", "14:28"],
        ["└─", "reason:", "DNS", "resolution", "failed", "(dns_failure)"],
        ["flickr.com", "active", "200/8500", "1800", "9.0", "2026-02-05", "14:25"],
        ["wikipedia.org", "exhausted", "50/50", "12", "0.24", "2026-02-04", "10:00"],
        ["waiting.example", "pending", "0/0", "0", "-", "-"],
    ]
    starts = {line.index(word) for line, word in zip(lines[2:4:2], ["blocked", "active"], strict=False)}
    assert starts == {lines[0].index("STATUS")}


def test_a_line_of_the_list_is_a_part_of_what_info_says(hosts: CommandLine) -> None:
    (line,) = hosts.json("domains", "list", "--contains", "login")
    assert line == {
        "domain": "example-login.com",
        "status": "blocked",
        "pages_crawled": 3,
        "pages_discovered": 3,
        "images_stored": 0,
        "image_yield_rate": 0.0,
        "last_crawled_at": "2026-02-05T14:31:00.000Z",
        "block_reason_code": "login_required",
        "block_reason": "login_required",
        "priority_score": 0,
        "claimed_by": None,
        "next_crawl_after": None,
        "frontier_size": 0,
    }
    whole = hosts.json("domains", "info", "example-login.com")
    assert line.items() <= whole.items()
    assert whole["frontier"] == {"queued": 0, "done": 0, "dropped": 0, "too_deep": 0}
    assert whole["policy"] is None


@pytest.mark.parametrize("status", ["pending", "active", "exhausted", "blocked", "unreachable"])
def test_the_list_can_be_of_one_status(hosts: CommandLine, status: str) -> None:
    expected = {domain for (domain,) in hosts.rows("SELECT domain FROM domains WHERE status = ?", status)}
    assert {line["domain"] for line in hosts.json("domains", "list", "--status", status)} == expected
    assert expected


def test_the_list_comes_in_pages_and_says_when_there_are_more(hosts: CommandLine) -> None:
    whole = [line["domain"] for line in hosts.json("domains", "list")]
    pages = [hosts.json("domains", "list", "--limit", "4", "--offset", str(start)) for start in (0, 4, 8)]
    assert [line["domain"] for page in pages for line in page] == whole
    assert [len(page) for page in pages] == [4, 2, 0]
    first = hosts("domains", "list", "--limit", "4")
    assert (first.code, first.err) == (0, "There are more hosts: use --offset 4, or a larger --limit.\n")
    assert hosts.done("domains", "list", "--limit", "6").out


def test_names_are_found_whatever_their_case_and_wildcards_mean_nothing(hosts: CommandLine) -> None:
    assert [line["domain"] for line in hosts.json("domains", "list", "--contains", "WIKI")] == ["wikipedia.org"]
    assert hosts.json("domains", "list", "--contains", "%") == []
    assert hosts.json("domains", "list", "--contains", "_") == []
    nothing = hosts.done("domains", "list", "--contains", "%")
    assert "No host matches." in nothing.out


def test_top_ranks_by_images_a_page_and_leaves_out_what_was_never_crawled(hosts: CommandLine) -> None:
    order = ["flickr.com", "unsplash.com", "wikipedia.org", "example-login.com"]
    assert [line["domain"] for line in hosts.json("domains", "top")] == order
    assert [line["domain"] for line in hosts.json("domains", "top", "--limit", "2")] == order[:2]
    table = hosts.done("domains", "top").lines
    assert table[0].split() == HEAD
    assert table[2].split()[0] == "flickr.com"


def test_claims_tell_who_holds_what_what_ran_out_and_who_waits(hosts: CommandLine) -> None:
    assert hosts.json("domains", "claims") == {
        "holders": [
            {"claimed_by": "worker:1", "hosts": 1, "expired": 0, "earliest_expiry": "2999-01-01T00:00:00.000Z"},
            {"claimed_by": "worker:2", "hosts": 1, "expired": 1, "earliest_expiry": "2001-01-01T00:00:00.000Z"},
        ],
        "expired": 1,
        "statuses": [
            {"status": "pending", "hosts": 1, "waiting": 1},
            {"status": "active", "hosts": 2, "waiting": 1},
            {"status": "exhausted", "hosts": 1, "waiting": 0},
            {"status": "blocked", "hosts": 1, "waiting": 0},
            {"status": "unreachable", "hosts": 1, "waiting": 0},
        ],
    }
    text = hosts.done("domains", "claims").out
    assert "worker:2      1        1  2001-01-01 00:00" in text
    assert "1 lease expired" in text


@pytest.mark.parametrize("spelling", ["unsplash.com", "https://www.Unsplash.com/photos?x=1", "UNSPLASH.com.:443"])
def test_info_finds_a_host_by_any_spelling(hosts: CommandLine, spelling: str) -> None:
    text = hosts.done("domains", "info", spelling).out
    assert text.splitlines()[0] == "unsplash.com  active"
    for piece in ("450 crawled of 2,100 discovered", "7.1 per page", "worker:1", "until 2999-01-01 00:00 UTC"):
        assert piece in text


def test_info_tells_what_an_operator_and_the_gate_decided(hosts: CommandLine) -> None:
    hosts.done("policy", "set", "waiting.example", "--max-pages", "77")
    hosts.rows(
        "UPDATE domains SET next_fetch_at = '2999-01-01 00:00:00', backoff_step = 3, adaptive_delay_s = 2.5, "
        "is_seeded = false, seed_rank = 12, source = 'a list' WHERE domain = 'waiting.example'"
    )
    text = hosts.done("domains", "info", "waiting.example").out
    for piece in ("at most 77", "not before 2999-01-01 00:00 UTC", "2.50 s", "known by name only", "a list", "never"):
        assert piece in text
    assert hosts.json("domains", "info", "waiting.example")["policy"]["max_pages"] == 77


def test_a_host_that_nobody_knows_is_an_error_that_says_what_to_do(hosts: CommandLine) -> None:
    answer = hosts("domains", "info", "nobody.example")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "comity: nobody.example is unknown; `comity seeds add nobody.example` adds it\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("domains", "list"), "comity seeds add example.com"),
        (("domains", "top"), "comity domains list"),
        (("domains", "claims"), "comity seeds add example.com"),
        (("domains", "merge"), "nothing to merge"),
        (("takedown", "list"), "comity takedown add example.com"),
        (("recalculate-priorities",), "No hosts yet"),
    ],
)
def test_an_empty_answer_says_so_and_looking_makes_no_state(
    comity: CommandLine, command: tuple[str, ...], said: str
) -> None:
    assert said in comity.done(*command).out
    assert comity.json(*command) in ([], {"hosts": 0}, {"holders": [], "expired": 0, "statuses": []})
    assert list(comity.folder.iterdir()) == []


def test_what_comes_from_outside_cannot_steer_the_terminal(with_state: CommandLine) -> None:
    with_state.add_host("evil.example", status="blocked", block_reason="no \x1b[2J\n[bold]entry\x07\u202e")
    out = with_state.done("domains", "list").out
    assert r"reason: no \x1b[2J\n[bold]entry\x07\u202e" in out
    assert "\x1b" not in out
    assert with_state.json("domains", "list")[0]["block_reason"] == "no \x1b[2J\n[bold]entry\x07\u202e"


def test_a_pipe_gets_whole_names_without_colour_or_blanks_at_the_end(with_state: CommandLine) -> None:
    with_state.add_host(LONGEST_HOST, status="active")
    with_state.add_host("short.example")
    answer = with_state.finished("domains", "list")
    assert answer.code == 0
    lines = answer.lines
    assert [line.split()[0] for line in lines[2:]] == [LONGEST_HOST, "short.example"]
    assert [line for line in lines if line != line.rstrip()] == []
    assert "\x1b" not in answer.out
    assert lines[2].split()[1] == "active"


def test_priorities_are_computed_anew(hosts: CommandLine) -> None:
    before = hosts.column("flickr.com", "priority_score")
    assert hosts.json("recalculate-priorities") == {"hosts": 6}
    assert hosts.column("flickr.com", "priority_score") > before
    assert hosts.column("example-login.com", "priority_score") == 0
    assert "6 hosts" in hosts.done("recalculate-priorities").out
