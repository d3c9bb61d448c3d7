"""Retry-After in every form that sites send."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.politeness.backoff import RETRY_AFTER_CEILING_S, parse_http_date, parse_retry_after

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC).timestamp()
EXAMPLE = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        ("  120\t", 120.0),
        ("0", 0.0),
        ("000007", 7.0),
        ("+5", 5.0),
        ("1.5", 1.5),
        ("3.", 3.0),
        ("9" * 30, RETRY_AFTER_CEILING_S),
        ("9" * 5_000, RETRY_AFTER_CEILING_S),
        ("99999999999", RETRY_AFTER_CEILING_S),
        ("10, 120, 30", 120.0),
        ("10\n120", 120.0),
        ("soon, 30", 30.0),
        ("Sun, 01 Mar 2026 12:02:00 GMT", 120.0),
        ("sun, 01 mar 2026 12:02:00 gmt", 120.0),
        ("01 Mar 2026 12:02:00 GMT", 120.0),
        ("Sun, 1 Mar 2026 12:02:00 UTC", 120.0),
        ("Sun, 01 Mar 2026 13:02:00 +0100", 120.0),
        ("Sun, 01 Mar 2026 07:02:00 -0500", 120.0),
        ("Sun, 01 Mar 2026 07:02:00 EST", 120.0),
        ("Sun, 01 Mar 2026 04:02:00 PST", 120.0),
        ("Sun, 01 Mar 2026 13:02:00 CET", 120.0),
        ("Sun, 01 Mar 2026 12:02:00", 120.0),
        ("2026-03-01T12:02:00Z", 120.0),
        ("2026-03-01T13:02:00.250+01:00", 120.0),
        ("2026-03-01 12:02:00", 120.0),
        ("Sunday, 01-Mar-26 12:02:00 GMT", 120.0),
        ("Sun Mar  1 12:02:00 2026", 120.0),
        ("Sun Mar 1 12:02:00 2026", 120.0),
        ("Mon, 01 Mar 2026 12:02:00 GMT", 120.0),  # not a Monday: the weekday decides nothing
        ("30, Sun, 01 Mar 2026 12:02:00 GMT, 10", 120.0),
        ("Sun, 01 Mar 2026 12:00:30 GMT, Sun, 01 Mar 2026 12:02:00 GMT", 120.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0),
        ("Sat, 31 Dec 9999 23:59:59 GMT", RETRY_AFTER_CEILING_S),
        ("Sat, 28 Feb 2026 23:59:60 GMT", 0.0),
    ],
)
def test_a_usable_value_gives_seconds(text: str, seconds: float) -> None:
    assert parse_retry_after(text, NOW) == seconds


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "   ",
        ",,,",
        "-5",
        "--5",
        "1e9",
        "0x10",
        "1_000",
        "soon",
        "NaN",
        "inf",
        "１２０",  # full-width digits
        "٣٠",
        "²",
        "120 seconds",
        "Sun,",
        "Sun, 120",
        "Sun, 31 Feb 2026 12:00:00 GMT",
        "Sun, 00 Mar 2026 12:00:00 GMT",
        "Sun, 01 Foo 2026 12:00:00 GMT",
        "Sun, 01 Mar 0000 12:00:00 GMT",
        "Sun, 01 Mar 2026 24:00:00 GMT",
        "Sun, 01 Mar 2026 12:60:00 GMT",
        "Sun, 01 Mar 2026 12:00:61 GMT",
        "Sun, 01 Mar 2026 12:00:00 XYZ",
        "Mon, 01 Jan 0001 00:00:00 +2300",
        "2026-03-01",
        "2026-13-01T12:02:00Z",
        "2026-00-01T12:02:00Z",
        "2026-03-01T12:02:00+2500x",
    ],
)
def test_what_is_not_in_the_grammar_says_nothing(text: str | None) -> None:
    assert parse_retry_after(text, NOW) is None


@pytest.mark.parametrize("skew_s", [-86_400.0, -3.0, 0.0, 3.0, 86_400.0])
def test_a_date_counts_from_the_servers_own_date(skew_s: float) -> None:
    moment = datetime.fromtimestamp(NOW + skew_s + 90, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert parse_retry_after(moment, NOW, NOW + skew_s) == 90.0


def test_seconds_do_not_depend_on_any_date() -> None:
    assert parse_retry_after("90", NOW, 0.0) == 90.0


@pytest.mark.parametrize(
    "text", ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
)
def test_the_three_forms_of_the_standard_name_the_same_instant(text: str) -> None:
    assert parse_http_date(text, NOW) == EXAMPLE


@pytest.mark.parametrize(("two_digits", "year"), [("26", 2026), ("76", 2076), ("77", 1977), ("99", 1999)])
def test_a_year_of_two_digits_lies_at_most_fifty_years_ahead(two_digits: str, year: int) -> None:
    expected = datetime(year, 1, 2, tzinfo=UTC).timestamp()
    assert parse_http_date(f"Friday, 02-Jan-{two_digits} 00:00:00 GMT", NOW) == expected


@given(st.text(max_size=60) | st.text(alphabet="0123456789 ,:-+.GMTSunFebJaZ\n", max_size=60))
def test_no_text_breaks_it_and_no_wait_is_negative_or_endless(text: str) -> None:
    seconds = parse_retry_after(text, NOW, None)
    assert seconds is None or 0.0 <= seconds <= RETRY_AFTER_CEILING_S


@given(st.integers(0, 86_400 * 360), st.sampled_from(["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%c"]))
def test_every_second_of_a_year_survives_each_form(ahead_s: int, form: str) -> None:
    assert parse_retry_after(datetime.fromtimestamp(NOW + ahead_s, UTC).strftime(form), NOW) == float(ahead_s)
