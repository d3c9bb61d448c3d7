"""When requests that others make for Comity may start: slots of a host, planned ahead.

A crawler's own gate grants a start at the moment of the request. A bot asks earlier, and elsewhere, so that it gets a
window instead: it may start its request at any time from `not_before` to `start_by`, and not after. The next window
begins one delay after the end of this one. So no two starts are closer than the delay, whenever in their windows the
requests start and whichever client makes them.

The rules are those of `rules.politeness.pace`: this module opens a gate from what the host's row remembers, takes
starts from it at the end of each window, and gives back what the row has to remember.

The terms of a slot are stored with its job or grant, so the ledger says what the client was allowed, even if settings
change before the slot ends (docs/ledger.md, "Jobs and grants").
"""

from __future__ import annotations

import json
from functools import lru_cache
from math import inf
from typing import Any, Final, NamedTuple
from uuid import UUID

from comity.model.gate import (
    AnswerKind,
    DelayInForce,
    DelaySource,
    GateLimits,
    GateMemory,
    GateState,
    Observation,
    Start,
    WaitReason,
)
from comity.model.ledger import LedgerNote, LedgerRow, NoteKind, Purpose
from comity.model.queue import Slot
from comity.rules.politeness import pace

WINDOW_S: Final = 1.0
HORIZON_S: Final = 30.0
TURN_S: Final = 60.0
LOOK_WITHIN_S: Final = 60.0
MOST_SLOTS: Final = 100
_ROUNDING_S: Final = 1e-5  # databases keep microseconds


class NextStart(NamedTuple):
    """When a host may be asked next, and what it waits for; without a reason, now."""

    at: float
    reason: WaitReason | None


def next_start(memory: GateMemory, limits: GateLimits, now: float, chance: float = 0.0) -> NextStart:
    """When the next request to a host could start."""
    state = pace.opened(memory, limits, now, chance)
    verdict = pace.may_start(state, now)
    return NextStart(now, None) if isinstance(verdict, Start) else NextStart(verdict.until, verdict.reason)


def look_again_at(memory: GateMemory, limits: GateLimits, now: float, chance: float = 0.0) -> float:
    """When a pull should look at a host again: once a slot could begin within the horizon, and within a minute."""
    at = next_start(memory, limits, now, chance).at
    return min(max(now, at - HORIZON_S), now + LOOK_WITHIN_S)


def plan(
    memory: GateMemory,
    limits: GateLimits,
    now: float,
    count: int,
    *,
    window_s: float = WINDOW_S,
    horizon_s: float = HORIZON_S,
    chance: float = 0.0,
) -> tuple[list[Slot], GateMemory]:
    """Up to `count` slots that begin within the horizon, and what the host's row has to remember then."""
    state = pace.opened(memory, limits, now, chance)
    slots: list[Slot] = []
    for _ in range(min(count, MOST_SLOTS)):
        not_before = max(now, pace.next_start_at(state))
        if not_before > now + horizon_s:
            break
        start_by = not_before + window_s
        slots.append(Slot(not_before, start_by, state.delay.seconds, str(state.delay.source)))
        state = pace.started(state, start_by, chance)._replace(in_flight=0)
    return slots, pace.to_memory(state) if slots else memory


def end(
    memory: GateMemory,
    limits: GateLimits,
    slot: Slot,
    now: float,
    *,
    observation: Observation | None,
    started_at: float | None = None,
    chance: float = 0.0,
) -> GateMemory:
    """What the row has to remember once the request of a slot is over, or was abandoned (no observation).

    A 429 or 503 blocks the host for everyone. A success clears a block only if its slot was planned after the block was
    set: then it begins after the block's end. If no later slot was handed out, the next may begin one delay after the
    start that is reported, or after the latest possible one.
    """
    opened = pace.opened(memory, limits, now, chance)
    seen = observation or Observation(AnswerKind.UNSENT)
    is_after_block = slot.not_before >= opened.block.until - _ROUNDING_S
    # A bot that did not wait for its window reports before it; a block counts from the end that the ledger has.
    ended_at = now if observation is None else max(now, start_for_ledger(slot, started_at, now))
    state = pace.finished(opened._replace(in_flight=1, starts=1), 1 if is_after_block else 0, seen, ended_at)
    last_start_at = _last_start(slot, now, started_at, is_unsent=observation is None)
    return pace.to_memory(_shortened(state, memory, slot, last_start_at))


def start_for_ledger(slot: Slot, started_at: float | None, now: float) -> float:
    """The start of a request as it is recorded: the one reported, inside its window, or the window's beginning."""
    if started_at is None:
        return slot.not_before
    return max(slot.not_before, min(started_at, slot.start_by, max(now, slot.not_before)))


def _last_start(slot: Slot, now: float, started_at: float | None, *, is_unsent: bool) -> float:
    """The latest time at which the request may have started; -inf if it certainly did not."""
    if is_unsent and now < slot.not_before:
        return -inf
    if started_at is not None and not is_unsent:
        return min(max(started_at, slot.not_before), max(now, slot.not_before))
    return min(slot.start_by, max(now, slot.not_before))


def _shortened(state: GateState, memory: GateMemory, slot: Slot, last_start_at: float) -> GateState:
    """The gate with the time after the last slot counted from its real start."""
    planned = memory.next_fetch_at
    is_last = planned is None or planned <= slot.start_by + slot.delay_s + _ROUNDING_S
    if not is_last:
        # A start that was too late must still be followed by a whole delay.
        return state._replace(next_fetch_at=max(state.next_fetch_at, last_start_at + state.delay.seconds))
    if last_start_at == -inf:
        # The slot was planned one delay after whatever came before it.
        return state._replace(next_fetch_at=slot.not_before, last_start_at=slot.not_before - slot.delay_s)
    next_fetch_at = max(last_start_at, state.unclean_end_at) + state.delay.seconds
    return state._replace(next_fetch_at=next_fetch_at, last_start_at=last_start_at)


_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class SlotTerms(NamedTuple):
    """The rules in force when a slot was given to a client."""

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
    """The ledger's purpose for a request of a client, with the client's own product token if it has one."""
    return purpose if agent is None else f"{purpose}:{agent}"
