"""What was in force when a slot of a host was given to a client, and the ledger's entry once the slot has ended.

The terms are kept as a document with the job or the grant, so that the entry says what the client went by, whatever
was edited meanwhile (docs/ledger.md, "Jobs and grants").
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from comity.model.gate import DelayInForce, DelaySource
from comity.model.ledger import LedgerNote, LedgerRow, NoteKind, Purpose
from comity.model.queue import Slot
from comity.rules.queue.slots import start_for_ledger

_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class SlotTerms(NamedTuple):
    """What a slot was given under."""

    number: int
    """Of the requests under the lease, from 1."""
    max_concurrency: int
    policy_interval_ms: int | None
    policy_max_concurrency: int | None
    crawl_delay_s: float | None
    robots_version: str | None
    rule_line: int | None
    rule: str | None
    agent: str | None = None
    """The client's own product token, where robots.txt was read for it."""


class EndedSlot(NamedTuple):
    """A slot of a client that has ended."""

    host_id: UUID
    host: str
    lease_token: int
    client: str
    url: str
    purpose: Purpose
    slot: Slot
    terms: SlotTerms


def to_document(slot: Slot, terms: SlotTerms) -> str:
    """The terms as they are stored, as JSON."""
    return _document(slot.delay_s, slot.delay_source, terms)


# A busy crawler gets thousands of slots a second, most of them under the same terms.


@lru_cache(maxsize=4096)
def _document(delay_s: float, delay_source: str, terms: SlotTerms) -> str:
    return _encode({"delay_s": delay_s, "delay_source": delay_source} | terms._asdict())


@lru_cache(maxsize=4096)
def _read(document: str) -> tuple[float, str, SlotTerms]:
    slot, terms = from_document(json.loads(document), 0.0, 0.0)
    return slot.delay_s, slot.delay_source, terms


@lru_cache(maxsize=4096)
def _delay(delay_s: float, delay_source: str) -> DelayInForce:
    return DelayInForce(delay_s, DelaySource(delay_source))


def from_text(document: str, not_before: float, start_by: float) -> tuple[Slot, SlotTerms]:
    """`from_document` for the JSON itself."""
    delay_s, delay_source, terms = _read(document)
    return Slot(not_before, start_by, delay_s, delay_source), terms


def from_document(document: dict[str, Any], not_before: float, start_by: float) -> tuple[Slot, SlotTerms]:
    """Read what `to_document` wrote; the window is stored beside it."""
    slot = Slot(not_before, start_by, float(document["delay_s"]), str(document["delay_source"]))
    terms: dict[str, Any] = {name: document.get(name) for name in SlotTerms._fields}
    return slot, SlotTerms(**terms)


def request_row(
    ended: EndedSlot,
    now: float,
    *,
    started_at: float | None,
    latency_s: float | None,
    status: int | None,
    retry_after_s: float | None,
    blocked_until: float | None,
) -> LedgerRow:
    """The ledger's row of a request that a client reported at `now`."""
    slot, terms = ended.slot, ended.terms
    start = start_for_ledger(slot, started_at, now)
    end = max(start, now if latency_s is None else min(now, start + latency_s))
    return LedgerRow(
        ended.host_id,
        ended.host,
        ended.lease_token,
        terms.number,
        ended.url,
        purpose_of(ended.purpose, terms.agent),
        start,
        end,
        _delay(slot.delay_s, slot.delay_source),
        terms.max_concurrency,
        terms.policy_interval_ms,
        terms.policy_max_concurrency,
        terms.robots_version,
        terms.rule_line,
        terms.rule,
        status,
        retry_after_s,
        blocked_until,
    )


def note(ended: EndedSlot, kind: NoteKind) -> LedgerNote:
    """The ledger's note of a slot that ended without a report."""
    detail = {"number": ended.terms.number, "purpose": str(ended.purpose), "url": ended.url, "client": ended.client}
    slot = ended.slot
    return LedgerNote(
        ended.host_id, ended.host, ended.lease_token, kind, None, None, slot.not_before, slot.start_by, _encode(detail)
    )


def purpose_of(purpose: Purpose, agent: str | None) -> Purpose | str:
    """What the ledger calls a request of a client, with the client's own product token if it has one."""
    return purpose if agent is None else f"{purpose}:{agent}"
