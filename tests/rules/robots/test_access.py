"""What an answer to a robots.txt request means."""

import pytest

from comity.model.robots import Confidence, RobotsAccess, RobotsUnreachable
from comity.rules.robots.access import may_follow_redirect, read_failure, read_status

PARSE, ALLOW, DISALLOW = RobotsAccess.PARSE, RobotsAccess.ALLOW_ALL, RobotsAccess.DISALLOW_ALL
HIGH, LOW = Confidence.HIGH, Confidence.LOW


@pytest.mark.parametrize(
    ("status", "access", "confidence"),
    [
        (200, PARSE, HIGH),
        (204, PARSE, HIGH),
        (206, PARSE, HIGH),
        (300, ALLOW, LOW),
        (301, ALLOW, LOW),
        (304, ALLOW, LOW),
        (400, ALLOW, HIGH),
        (401, ALLOW, HIGH),
        (403, ALLOW, HIGH),
        (404, ALLOW, HIGH),
        (410, ALLOW, HIGH),
        (418, ALLOW, HIGH),
        (451, ALLOW, HIGH),
        (499, ALLOW, HIGH),
        (429, DISALLOW, HIGH),
        (500, DISALLOW, HIGH),
        (503, DISALLOW, HIGH),
        (599, DISALLOW, HIGH),
        (100, DISALLOW, HIGH),
        (0, DISALLOW, HIGH),
        (600, DISALLOW, HIGH),
        (999, DISALLOW, HIGH),
    ],
)
def test_a_status_means(status: int, access: RobotsAccess, confidence: Confidence) -> None:
    reading = read_status(status)
    assert (reading.access, reading.confidence, reading.http_status) == (access, confidence, status)
    assert reading.reason


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("ftp://example.com/robots.txt", "to 'ftp://example.com/robots.txt', which is not an http or https URL"),
        (None, "without an address"),
    ],
)
def test_a_redirect_that_leads_nowhere_is_no_file_and_says_so(location: str | None, words: str) -> None:
    reading = read_status(302, location=location)
    assert (reading.access, reading.confidence) == (ALLOW, LOW)
    assert reading.reason == f"robots.txt answered 302 {words}: treated as unavailable, everything allowed"


@pytest.mark.parametrize("status", [429, 500, 503, 600])
def test_the_setting_opens_what_cannot_be_read_but_only_with_low_confidence(status: int) -> None:
    reading = read_status(status, unreachable=RobotsUnreachable.ALLOW)
    assert (reading.access, reading.confidence) == (ALLOW, LOW)


@pytest.mark.parametrize("status", [200, 304, 404, 403])
def test_the_setting_changes_nothing_where_an_answer_came(status: int) -> None:
    assert read_status(status) == read_status(status, unreachable=RobotsUnreachable.ALLOW)


def test_no_answer_disallows_unless_the_setting_says_otherwise() -> None:
    closed = read_failure("timeout")
    opened = read_failure("timeout", unreachable=RobotsUnreachable.ALLOW)
    assert (closed.access, closed.confidence, closed.http_status) == (DISALLOW, HIGH, None)
    assert (opened.access, opened.confidence) == (ALLOW, LOW)
    assert "timeout" in closed.reason


def test_not_modified_keeps_the_rules_only_when_it_was_asked_for() -> None:
    assert read_status(304, conditional=True).access is RobotsAccess.UNCHANGED
    assert read_status(304, conditional=False).access is ALLOW


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_five_redirects_are_followed_and_the_sixth_means_unavailable(status: int) -> None:
    assert [may_follow_redirect(status, followed) for followed in range(7)] == [True] * 5 + [False] * 2
    reading = read_status(status, redirects_followed=5)
    assert (reading.access, reading.confidence) == (ALLOW, LOW)
    assert "more than 5" in reading.reason


@pytest.mark.parametrize("status", [200, 300, 304, 305, 404, 500])
def test_only_redirects_are_followed(status: int) -> None:
    assert not may_follow_redirect(status, 0)


def test_a_reading_gives_one_verdict_for_all_urls_unless_rules_decide() -> None:
    assert read_status(200).verdict() is None
    assert read_status(304, conditional=True).verdict() is None
    refusal = read_status(503).verdict()
    assert refusal is not None
    assert not refusal.allowed
    assert refusal.reason == "robots.txt answered 503: everything disallowed until it is read again"
    permission = read_status(404).verdict()
    assert permission is not None
    assert (permission.allowed, permission.confidence) == (True, HIGH)
