"""The slots of requests: what looks early here is what the audit reports."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from comity.rules.politeness.audit import Breach, HeldBy, LedgerLine, audit, timeline
from tests.rules.politeness.test_audit import line

EARLY = {Breach.TOO_SOON, Breach.INSIDE_A_BLOCK, Breach.TOO_MANY_AT_ONCE}


def test_a_request_is_held_by_the_delay_a_pause_or_the_end_of_another() -> None:
    first = line(1, 0.0, ended_at=3.0, blocked_until=None)
    found = timeline([first, line(2, 3.5), line(3, 5.0, blocked_until=20.0), line(4, 21.0)])
    assert [(each.allowed_at, each.held_by) for each in found] == [
        (None, None),
        (3.0, HeldBy.CONCURRENCY),
        (4.5, HeldBy.DELAY),
        (20.0, HeldBy.PAUSE),
    ]
    assert [each.margin_s for each in found] == [None, 0.5, 0.5, 1.0]
    assert not any(each.is_early for each in found)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.2, 0.5, 1.0, 1.5, 4.0]),
            st.sampled_from([0.1, 0.9, 2.5]),
            st.sampled_from([0.0, 1.0]),
            st.integers(1, 2),
            st.sampled_from([None, None, 3.0]),
            st.integers(0, 1),
        ),
        max_size=12,
    )
)
def test_what_looks_early_is_what_the_audit_reports(
    steps: list[tuple[float, float, float, int, float | None, int]],
) -> None:
    at, token, lines = 0.0, 1, list[LedgerLine]()
    for number, (gap, took, delay, most, pause, is_new_lease) in enumerate(steps, 1):
        at, token = at + gap, token + is_new_lease
        ended = at + took
        blocked = None if pause is None else ended + pause
        changes = {"ended_at": ended, "delay_s": delay, "max_concurrency": most, "blocked_until": blocked}
        lines.append(line(number, at, lease_token=token, **changes))
    reported = {violation.number for violation in audit(lines) if violation.breach in EARLY}
    assert {each.line.number for each in timeline(lines) if each.is_early} == reported
