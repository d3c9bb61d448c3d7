"""What was in force: robots.txt as it was read, policies as they were edited, and sleepers who could not know."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.database.ledger import microseconds_of
from comity.model.gate import DelayInForce, DelaySource
from comity.model.ledger import Breach, LedgerLine, LedgerRow, PolicyEntry, Purpose, RobotsNote
from comity.rules.ledger_chain import (
    START,
    ChainCheck,
    RequestNumbers,
    chained,
    chained_request,
    content_digest,
    microseconds,
)
from comity.rules.politeness.audit import GRACE_S, PolicyLaw, RobotsLaw, audit
from comity.rules.robots.verdict import parse_robots, parsed_part
from tests.sizes import sized

FILE = b"User-agent: *\nDisallow: /private\nAllow: /private/open\nCrawl-delay: 3\n"
VERSION = content_digest(FILE)
OTHER = b"User-agent: *\nDisallow: /\n"
FILES = {VERSION: FILE, content_digest(OTHER): OTHER}
NOTE = RobotsNote("https://example.com", VERSION, 100.0, 43_300.0, "parse", "comitybot")


def line(number: int, started_at: float, **changes: Any) -> LedgerLine:
    plain = LedgerLine(
        number=number,
        url="https://example.com/a?b",
        lease_token=1,
        started_at=started_at,
        ended_at=started_at + 0.2,
        delay_s=3.0,
        max_concurrency=1,
        rule=None,
        blocked_until=None,
        robots_version=VERSION,
    )
    return replace(plain, **changes)


def by_robots(*lines: LedgerLine, notes: tuple[RobotsNote, ...] = (NOTE,)) -> list[Breach]:
    law = RobotsLaw(notes, FILES.get)
    return [violation.breach for each in lines for violation in law.check(each)]


def test_a_request_under_the_file_that_was_read() -> None:
    assert by_robots(line(1, 101.0)) == []
    assert by_robots(line(1, 101.0, url="https://example.com")) == []
    allowed = {"rule": "Allow: /private/open", "rule_line": 3}
    assert by_robots(line(1, 101.0, url="https://example.com/private/open", **allowed)) == []
    assert by_robots(line(1, 101.0, purpose="robots", robots_version=None, url="https://else.example/robots.txt")) == []


def test_a_request_that_the_file_disallows_although_its_row_says_nothing() -> None:
    assert by_robots(line(1, 101.0, url="https://example.com/private/x")) == [Breach.DISALLOWED, Breach.ROBOTS_MISMATCH]


def test_a_request_before_any_file_or_long_after() -> None:
    assert by_robots(line(1, 99.0)) == [Breach.ROBOTS_UNKNOWN]
    assert by_robots(line(1, 101.0, url="https://other.example/")) == [Breach.ROBOTS_UNKNOWN]
    assert by_robots(line(1, 43_300.0 + 599.0)) == []
    assert by_robots(line(1, 90_000.0)) == [Breach.ROBOTS_STALE]


def test_a_delay_that_the_file_makes_longer() -> None:
    assert by_robots(line(1, 101.0, delay_s=1.0)) == [Breach.DELAY_TOO_SHORT]


def test_a_file_that_is_gone_or_another() -> None:
    gone = replace(NOTE, version="f" * 32)
    assert by_robots(line(1, 101.0, robots_version="f" * 32), notes=(gone,)) == [Breach.ROBOTS_MISSING]
    law = RobotsLaw([NOTE], lambda _version: OTHER)
    assert [each.breach for each in law.check(line(1, 101.0))] == [Breach.ROBOTS_ALTERED]
    assert Breach.ROBOTS_MISMATCH in by_robots(line(1, 101.0, robots_version=None))


def test_a_file_that_was_replaced_counts_for_those_who_were_waiting() -> None:
    newer = replace(NOTE, version=content_digest(OTHER), valid_from=500.0)
    assert by_robots(line(1, 500.0 + GRACE_S), notes=(NOTE, newer)) == []
    late = by_robots(line(1, 500.0 + GRACE_S + 7.0), notes=(NOTE, newer))
    assert late == [Breach.ROBOTS_MISMATCH, Breach.DISALLOWED, Breach.ROBOTS_MISMATCH]


@pytest.mark.parametrize(("access", "found"), [("allow_all", []), ("disallow_all", [Breach.DISALLOWED])])
def test_where_there_was_no_file(access: str, found: list[Breach]) -> None:
    note = replace(NOTE, version=None, access=access)
    assert by_robots(line(1, 101.0, robots_version=None), notes=(note,)) == found


def by_policy(history: list[PolicyEntry], *lines: LedgerLine) -> list[tuple[Breach, int]]:
    law = PolicyLaw([history])
    return [(violation.breach, violation.number) for each in lines for violation in law.check(each)]


def under(number: int, at: float, interval_ms: int, **changes: Any) -> LedgerLine:
    return line(number, at, policy_interval_ms=interval_ms, policy_max_concurrency=1, **changes)


HISTORY = [PolicyEntry(0.0, (1000, 1)), PolicyEntry(1000.0, (2000, 1)), PolicyEntry(5000.0, None)]


def test_requests_that_knew_the_policy_of_their_time() -> None:
    requests = [under(1, 10.0, 1000), under(2, 1010.0, 1000), under(3, 1020.0, 2000), line(4, 6000.0)]
    assert by_policy(HISTORY, *requests) == []
    assert by_policy([], line(1, 1.0)) == []


def test_a_policy_that_nobody_made() -> None:
    assert by_policy(HISTORY, under(1, 10.0, 77)) == [(Breach.POLICY_MISMATCH, 1)]
    assert by_policy([], under(1, 10.0, 1000)) == [(Breach.POLICY_MISMATCH, 1)]
    assert by_policy(HISTORY, line(1, 2000.0)) == [(Breach.POLICY_MISMATCH, 1)]


def test_a_policy_that_was_replaced_long_ago() -> None:
    """One who is awake sees an edit within moments."""
    awake = [under(1, 990.0, 1000), under(2, 1100.0, 1000), under(3, 1200.0, 1000), under(4, 1400.0, 1000)]
    assert by_policy(HISTORY, *awake) == [(Breach.POLICY_MISMATCH, 4)]


def test_a_policy_that_was_replaced_while_the_process_slept() -> None:
    woken = [under(1, 990.0, 1000), under(2, 4000.0, 1000), under(3, 4003.0, 1000), under(4, 4300.0, 1000)]
    assert by_policy(HISTORY, *woken) == [(Breach.POLICY_MISMATCH, 4)]


def test_limits_less_strict_than_the_policy() -> None:
    assert by_policy(HISTORY, under(1, 10.0, 1000, delay_s=0.5)) == [(Breach.DELAY_TOO_SHORT, 1)]
    assert by_policy(HISTORY, under(1, 10.0, 1000, max_concurrency=2)) == [(Breach.CONCURRENCY_TOO_HIGH, 1)]


def breaches(*lines: LedgerLine) -> list[tuple[Breach, int]]:
    return [(violation.breach, violation.number) for violation in audit(lines)]


def test_an_end_that_was_noted_on_waking_is_no_breach_of_the_next_holder() -> None:
    slept = line(1, 0.0, ended_at=500.0, status=429, retry_after_s=60.0, blocked_until=560.0)
    others = [line(number, 100.0 + 3 * number, lease_token=2) for number in range(2, 6)]
    assert breaches(slept, *others, line(9, 520.0, lease_token=2)) == []
    assert breaches(slept, line(2, 100.0)) == [(Breach.TOO_MANY_AT_ONCE, 2)], "the same holder knew"


def test_a_pause_binds_the_next_holder_who_came_after_it() -> None:
    asked = line(1, 0.0, status=503, retry_after_s=60.0, blocked_until=60.2)
    assert breaches(asked, line(2, 30.0, lease_token=2)) == [(Breach.INSIDE_A_BLOCK, 2)]
    assert breaches(asked, line(2, 60.2, lease_token=2)) == []


def test_the_pause_is_what_the_answer_asked_for_whatever_was_kept() -> None:
    asked = line(1, 0.0, status=429, retry_after_s=60.0, blocked_until=1.0)
    assert breaches(asked, line(2, 30.0)) == [(Breach.BLOCK_TOO_SHORT, 1), (Breach.INSIDE_A_BLOCK, 2)]


def test_requests_that_are_missing_within_a_lease() -> None:
    numbers = RequestNumbers()
    for token, number in [(1, 1), (1, 3), (1, 2), (2, 1), (2, 4), (3, 2), (5, 1), (5, 3)]:
        numbers.row(token, number)
    assert numbers.missing((), ()) == [(2, 2), (3, 1), (5, 1)]
    assert numbers.missing({5}, ()) == [(2, 2), (3, 1)]
    assert numbers.missing({5}, {3}) == [(3, 1)], "a gap noted by lease 3 explains the lease before it"
    assert numbers.missing((), {4, 6}) == [(2, 2)]


SECONDS = st.one_of(st.floats(0, 1e6), st.integers(0, 100), st.just(-0.0))
COUNTS = st.integers(0, 2**31 - 1)
INSTANTS = st.floats(0, 4e9)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


REQUESTS = st.builds(
    LedgerRow,
    host_id=st.uuids(),
    host=st.just("example.com"),
    lease_token=st.integers(0, 2**63 - 1),
    request_number=COUNTS,
    url=st.text(),
    purpose=st.sampled_from(Purpose),
    started_at=INSTANTS,
    ended_at=INSTANTS,
    delay=st.builds(DelayInForce, SECONDS, st.sampled_from(DelaySource)),
    max_concurrency=st.integers(0, 3),
    policy_interval_ms=maybe(st.integers(0, 3)),
    policy_max_concurrency=maybe(st.integers(0, 3)),
    robots_version=maybe(st.just("f" * 32)),
    rule_line=maybe(st.integers(0, 3)),
    rule=maybe(st.text()),
    status=maybe(st.integers(0, 999)),
    retry_after_s=maybe(st.floats(0, 1e9)),
    blocked_until=maybe(INSTANTS),
)


@settings(deadline=None)
@given(REQUESTS, st.integers(1, 2**40), st.booleans())
def test_a_request_is_digested_as_the_documented_json(row: LedgerRow, sequence: int, has_fetch: bool) -> None:
    """What is written in a hurry is what a checker computes from the stored columns."""
    started_us, ended_us = microseconds(row.started_at), microseconds(row.ended_at)
    blocked_us = None if row.blocked_until is None else microseconds(row.blocked_until)
    documented = (
        sequence,
        row.host_id.hex,
        row.lease_token,
        row.request_number,
        row.url,
        row.purpose,
        started_us,
        ended_us,
        row.delay.seconds + 0.0,
        row.delay.source,
        row.max_concurrency,
        row.policy_interval_ms,
        row.policy_max_concurrency,
        row.robots_version,
        row.rule_line,
        row.rule,
        row.status,
        row.retry_after_s,
        blocked_us,
        has_fetch,
    )
    times = (started_us, ended_us, blocked_us)
    digest = chained_request(START, sequence, row.host_id.hex, row, times, has_fetch=has_fetch)
    assert digest == chained(START, documented)


def test_the_digest_of_a_request_stays_the_same_from_release_to_release() -> None:
    """The text is spelled out here: a chain that was begun yesterday must be continued today."""
    row = LedgerRow(
        host_id=UUID(int=7),
        host="example.com",
        lease_token=3,
        request_number=2,
        url='https://example.com/"ü',
        purpose=Purpose.PAGE,
        started_at=1.5,
        ended_at=2.25,
        delay=DelayInForce(1, DelaySource.DOOR),
        max_concurrency=1,
        policy_interval_ms=None,
        policy_max_concurrency=None,
        robots_version=None,
        rule_line=4,
        rule="Allow: /",
        status=429,
        retry_after_s=30.0,
        blocked_until=32.25,
    )
    text = (
        f'{START}\n[1,"00000000000000000000000000000007",3,2,"https://example.com/\\"\\u00fc","page",1500000,2250000,'
        '1.0,"door",1,null,null,null,4,"Allow: /",429,30.0,32250000,true]'
    )
    digest = chained_request(START, 1, row.host_id.hex, row, (1_500_000, 2_250_000, 32_250_000), has_fetch=True)
    assert digest == content_digest(text.encode())


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(max_size=5), st.floats(allow_nan=False)), min_size=1, max_size=8), st.data())
def test_any_change_of_a_chain_is_found(values: list[tuple[str, float]], data: st.DataObject) -> None:
    digest, rows = START, []
    for sequence, value in enumerate(values, 1):
        digest = chained(digest, (sequence, "host", *value))
        rows.append((sequence, digest, value))

    def problems(changed: list[Any]) -> list[Any]:
        check = ChainCheck("host")
        found = [check.row(*row) for row in changed]
        return [each for each in (*found, check.end(len(values), digest)) if each is not None]

    assert problems(rows) == []
    at = data.draw(st.integers(0, len(rows) - 1))
    assert problems(rows[:at] + rows[at + 1 :])
    assert problems([*rows[: at + 1], rows[at], *rows[at + 1 :]])
    sequence, known, (word, number) = rows[at]
    assert problems([*rows[:at], (sequence, known, (word + "x", number)), *rows[at + 1 :]])


@settings(deadline=None)
@given(st.floats(0.0, 4e9))
def test_microseconds_are_those_that_a_datetime_keeps(seconds: float) -> None:
    assert microseconds(seconds) == microseconds_of(datetime.fromtimestamp(seconds, UTC))


def strangers_script() -> ModuleType:
    path = Path(__file__).parents[3] / "docs/verify_ledger.py"
    spec = importlib.util.spec_from_file_location("verify_ledger", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = strangers_script()
FORGIVEN = [
    b"user-agent: *\nDisalow: /a\nAllow /a/b\n",
    b"\xef\xbb\xbfUser Agent: * \r\nDisallow: /a # all\rAllow: /a/b$\r\n",
    b"User-agent: other\nUser-agent: ComityBot/2.0\nDisallow: /\n\nUser-agent: *\nAllow: /\n",
    b"User-agent: *foo\nDisallow: /\n",
    b"Disallow: /\n",
    b"User-agent: *\nCrawl-delay: 5\nDisallow:\n",
    b"User-agent: *\nDisallow: /a*b$\nAllow: /*%62\n",
]
PATTERNS = st.lists(st.sampled_from(["/", "a", "b", "*", "$", "%2F", "%61", "é", "?", "index.html"]), max_size=6)
RULES = st.lists(st.tuples(st.booleans(), PATTERNS), max_size=6)


@pytest.mark.parametrize("body", FORGIVEN)
@pytest.mark.parametrize("target", ["/", "/a", "/a/b", "/a/bc", "/ab", "/a%2Fb", "/index.html"])
def test_the_script_forgives_what_comity_forgives(body: bytes, target: str) -> None:
    assert SCRIPT.Robots(body).allows("comitybot", target) == parse_robots(body).verdict("comitybot", target).allowed


def test_a_file_beyond_the_limit_is_named_by_what_is_read_of_it() -> None:
    body = b"User-agent: *\nDisallow: /a\n" + b"#" * 600_000 + b"\nDisallow: /\n"
    stored = parsed_part(body)
    assert len(stored) < len(body)
    assert parse_robots(body).version == parse_robots(stored).version == content_digest(stored)
    for file in (body, stored):
        assert [parse_robots(file).verdict("x", path).allowed for path in ("/a", "/b")] == [False, True]
    assert [SCRIPT.Robots(stored).allows("x", path) for path in ("/a", "/b")] == [False, True]


@settings(max_examples=sized(30, 1000), deadline=None)
@given(RULES, PATTERNS)
def test_the_script_reads_robots_txt_as_comity_does(rules: list[tuple[bool, list[str]]], path: list[str]) -> None:
    """Two readings of RFC 9309 that know nothing of each other."""
    lines = ["User-agent: *", "Disallow: /never", *(f"{'Allow' if a else 'Disallow'}: /{''.join(p)}" for a, p in rules)]
    body = "\n".join(lines).encode()
    target = "/" + "".join(path)
    assert SCRIPT.Robots(body).allows("comitybot", target) == parse_robots(body).verdict("comitybot", target).allowed
