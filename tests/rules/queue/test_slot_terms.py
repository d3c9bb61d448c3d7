"""What a slot was given under survives its document, and becomes the ledger's entry."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.ledger import NoteKind, Purpose
from comity.model.queue import Slot
from comity.rules.queue.slots import EndedSlot, SlotTerms, from_document, note, request_row, to_document

SLOT = Slot(100.0, 101.0, 2.5, "robots")
TERMS = SlotTerms(3, 1, 1500, 1, 2.5, "ab" * 16, 7, "Allow: /é", "acmebot")
ENDED = EndedSlot(UUID(int=1), "shop.example", 9, "acme", "https://shop.example/", Purpose.GRANT, SLOT, TERMS)


@given(
    st.floats(0, 1e6),
    st.sampled_from(["policy", "robots", "door", "adaptive", "none"]),
    st.builds(
        SlotTerms,
        st.integers(1, 10**6),
        st.integers(1, 64),
        st.none() | st.integers(0, 10**9),
        st.none() | st.integers(1, 64),
        st.none() | st.floats(0, 86_400),
        st.none() | st.text(max_size=32),
        st.none() | st.integers(1, 10**6),
        st.none() | st.text(max_size=500),
        st.none() | st.text("abc-_", min_size=1, max_size=40),
    ),
)
def test_a_document_reads_back(delay_s: float, source: str, terms: SlotTerms) -> None:
    slot = Slot(1e9, 1e9 + 1, delay_s, source)
    assert from_document(json.loads(to_document(slot, terms)), slot.not_before, slot.start_by) == (slot, terms)


@pytest.mark.parametrize(
    ("started_at", "latency_s", "now", "start", "end"),
    [
        (100.4, 0.2, 102.0, 100.4, 100.6),
        (100.4, None, 102.0, 100.4, 102.0),
        (None, 0.2, 102.0, 100.0, 100.2),
        (99.0, 0.2, 102.0, 100.0, 100.2),  # before its window
        (109.0, 0.2, 110.0, 101.0, 101.2),  # after it
        (100.4, 50.0, 102.0, 100.4, 102.0),  # it cannot have ended after the report
    ],
)
def test_a_row_has_the_reported_start_in_its_window(
    started_at: float | None, latency_s: float | None, now: float, start: float, end: float
) -> None:
    row = request_row(
        ENDED, now, started_at=started_at, latency_s=latency_s, status=200, retry_after_s=None, blocked_until=None
    )
    assert (row.started_at, row.ended_at) == pytest.approx((start, end))
    assert (row.purpose, row.request_number, row.lease_token) == ("grant:acmebot", 3, 9)
    assert (row.delay.seconds, str(row.delay.source), row.rule) == (2.5, "robots", "Allow: /é")


def test_a_note_names_the_number_and_the_window() -> None:
    said = note(ENDED, NoteKind.UNREPORTED)
    assert (said.valid_from, said.valid_until, said.lease_token) == (100.0, 101.0, 9)
    assert json.loads(said.detail) == {
        "number": 3,
        "purpose": "grant",
        "url": "https://shop.example/",
        "client": "acme",
    }
