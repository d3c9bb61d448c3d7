"""How a host is left: every ending, and that no run leaves one out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.host import BlockReason, HostError, HostStatus
from comity.rules.endings import HostRecord, host_ending
from comity.rules.host_transitions import is_legal

MOST_ERRORS = 10
NOTHING = HostRecord(
    pages=0,
    login_walls=0,
    refused_by_robots=0,
    robots_unreachable=False,
    errors_in_a_row=0,
    last_error=None,
    queued=0,
    pages_before=0,
)
NO_NAME = HostError("dns_failure", None, "Could not resolve host")
UNREADABLE = HostError("robots_unreachable", None, "robots.txt could not be fetched (bad_encoding)")
NO_WAY = HostError("connect_failure", None, "Connection refused")
FORBIDDEN = HostError("http_403", 403, "the server answered 403")
BROKEN = HostError("http_500", 500, "the server answered 500")
MISSING = HostError("http_404", 404, "the server answered 404")


def ending(**changes: object) -> tuple[HostStatus, BlockReason | None]:
    found = host_ending(replace(NOTHING, **changes), MOST_ERRORS)  # type: ignore[arg-type]
    return found.status, found.reason


@pytest.mark.parametrize(
    ("seen", "status", "reason"),
    [
        ({"pages": 5}, HostStatus.EXHAUSTED, None),
        ({"pages": 5, "queued": 3}, HostStatus.ACTIVE, None),
        ({"pages": 5, "errors_in_a_row": 9, "last_error": BROKEN}, HostStatus.EXHAUSTED, None),
        ({"pages": 5, "errors_in_a_row": 10, "last_error": BROKEN, "queued": 3},
         HostStatus.BLOCKED, BlockReason.SERVER_ERRORS),
        ({"errors_in_a_row": 10, "last_error": NO_WAY, "queued": 3},
         HostStatus.UNREACHABLE, BlockReason.CONNECTION_FAILURE),
        ({"last_error": NO_NAME, "robots_unreachable": True}, HostStatus.UNREACHABLE, BlockReason.DNS_FAILURE),
        ({"last_error": NO_WAY, "robots_unreachable": True}, HostStatus.UNREACHABLE, BlockReason.CONNECTION_FAILURE),
        ({"last_error": NO_WAY}, HostStatus.UNREACHABLE, BlockReason.CONNECTION_FAILURE),
        ({"last_error": UNREADABLE, "robots_unreachable": True}, HostStatus.BLOCKED, BlockReason.ROBOTS_UNREACHABLE),
        ({"last_error": UNREADABLE, "robots_unreachable": True, "errors_in_a_row": 10},
         HostStatus.BLOCKED, BlockReason.ROBOTS_UNREACHABLE),
        ({"robots_unreachable": True, "refused_by_robots": 1}, HostStatus.BLOCKED, BlockReason.ROBOTS_UNREACHABLE),
        ({"refused_by_robots": 1}, HostStatus.BLOCKED, BlockReason.ROBOTS_DENIED),
        ({"last_error": FORBIDDEN}, HostStatus.BLOCKED, BlockReason.FORBIDDEN),
        ({"last_error": HostError("http_401", 401, "no")}, HostStatus.BLOCKED, BlockReason.LOGIN_REQUIRED),
        ({"last_error": HostError("http_429", 429, "no")}, HostStatus.BLOCKED, BlockReason.RATE_LIMITED),
        ({"last_error": BROKEN}, HostStatus.BLOCKED, BlockReason.SERVER_ERRORS),
        ({"last_error": MISSING}, HostStatus.EXHAUSTED, None),
        ({"pages": 4, "login_walls": 4}, HostStatus.BLOCKED, BlockReason.LOGIN_REQUIRED),
        ({"pages": 4, "login_walls": 3}, HostStatus.EXHAUSTED, None),
        ({"pages": 4, "login_walls": 3, "login_pages": 1}, HostStatus.BLOCKED, BlockReason.LOGIN_REQUIRED),
        ({"pages": 1, "login_pages": 1}, HostStatus.EXHAUSTED, None),
        ({"pages": 4, "login_walls": 4, "pages_before": 9}, HostStatus.EXHAUSTED, None),
        ({"pages": 4, "login_walls": 4, "queued": 9}, HostStatus.ACTIVE, None),
        ({}, HostStatus.EXHAUSTED, None),
    ],
)  # fmt: skip
def test_a_run_leaves_its_host_so(seen: dict[str, object], status: HostStatus, reason: BlockReason | None) -> None:
    assert ending(**seen) == (status, reason)


def test_a_site_whose_robots_cannot_be_read_is_blocked_though_its_urls_stay_queued() -> None:
    """They are not lost: the site may answer again tomorrow."""
    seen = {"robots_unreachable": True, "queued": 400, "pages_before": 100}
    assert ending(**seen) == (HostStatus.BLOCKED, BlockReason.ROBOTS_UNREACHABLE)
    assert ending(**seen, pages=3) == (HostStatus.ACTIVE, None), (
        "one of several origins does not close a host that serves"
    )


@given(
    st.builds(
        HostRecord,
        pages=st.integers(0, 3),
        login_walls=st.integers(0, 3),
        refused_by_robots=st.integers(0, 2),
        robots_unreachable=st.booleans(),
        errors_in_a_row=st.integers(0, 12),
        last_error=st.sampled_from([None, NO_NAME, NO_WAY, FORBIDDEN, BROKEN, MISSING]),
        queued=st.integers(0, 2),
        login_pages=st.integers(0, 2),
        pages_before=st.integers(0, 2),
    )
)
def test_every_ending_is_legal_and_what_is_left_alone_has_a_reason(record: HostRecord) -> None:
    found = host_ending(record, MOST_ERRORS)
    assert is_legal(HostStatus.ACTIVE, found.status)
    left_alone = found.status in (HostStatus.BLOCKED, HostStatus.UNREACHABLE)
    assert left_alone == (found.reason is not None)
    if found.status is HostStatus.EXHAUSTED:
        assert record.queued == 0
