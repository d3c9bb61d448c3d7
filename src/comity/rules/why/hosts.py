"""Explanations that concern a whole host (cooldown, lease, pace, not seeded) or a source's own URL."""

from __future__ import annotations

import re
from typing import Final

from comity.model.explanation import Decision, SourceFacts, UrlFacts
from comity.rules.why.visits import CODES
from comity.rules.why.words import minute, second


def source_decision(facts: UrlFacts, source: SourceFacts) -> Decision:
    """Name what decided last about a source."""
    url, said = source.careers_url, source.message or "no reason is recorded"
    which = "It is a source" if facts.url == url else f"It belongs to the source {url}"
    if source.status == "deleted":
        return Decision("source_deleted", f"{which}, and was deleted.", f"`comity sources add {url}` adds it again.")
    if source.status == "paused":
        return Decision(
            "source_paused", f"{which}, and is paused ({said}).", f"`comity sources resume {url}` resumes it."
        )
    if source.status == "blocked":
        remedy = f"`comity sources resume {url}` reads it again."
        return Decision("source_blocked", f"{which}, and is blocked ({said}).", remedy)
    run = f"`comity sources run {url}` reads it now."
    if source.holder is not None:
        return Decision("source_running", f"{which}, and {source.holder} reads it now.", "Wait for that run.")
    last = _last(source)
    if source.next_run_at is None or source.next_run_at <= facts.now:
        return Decision(
            "source_due", f"{which}{last}, and is due now.", f"{run} `comity sources serve` does when it is due."
        )
    code = f"source_{source.last_status}" if source.last_status else "source_waiting"
    why = f" ({source.next_run_reason})" if source.next_run_reason else ""
    return Decision(code, f"{which}{last}; it is read next at {minute(source.next_run_at)}{why}.", run)


def _last(source: SourceFacts) -> str:
    if source.last_run_at is None:
        return " that was not read yet"
    said = f" ({source.message})" if source.message else ""
    ended = {"ok": "went well", "warn": "ended with a warning", "fail": "failed"}.get(source.last_status or "", "ended")
    return f" whose last run, at {minute(source.last_run_at)}, {ended}{said}"


_LEFT_ALONE: Final = ("blocked", "unreachable")
_FAILURE: Final = re.compile(r"\(([a-z_]+)[);]")  # the kind of failure in a stored reason


def cooldown(facts: UrlFacts) -> Decision | None:
    """The cooldown or permanent block of the host, while it is in force (S1 §6.3)."""
    host = facts.host
    if host is None or host.status not in _LEFT_ALONE:
        return None
    due_at = host.next_crawl_after
    if due_at is not None and due_at <= facts.now:
        return None
    reason = host.block_reason or host.block_code or "no reason is recorded"
    since = f" since {minute(host.blocked_at)}" if host.blocked_at is not None else ""
    remedy = f"`comity domains reset {host.name}` ends that."
    failure = next((code for code in _FAILURE.findall(reason) if code in CODES), None)
    if host.status == "unreachable" and failure is not None:
        what, _remedy = CODES[failure]
        again = f"is tried again after {minute(due_at)}" if due_at is not None else "is not tried again by itself"
        return Decision(failure, f"{what}: it is unreachable{since} and {again}.", remedy)
    if due_at is None:
        text = f"Its host is {host.status}{since} ({reason}) and is not tried again by itself."
        return Decision("permanent_block", text, remedy)
    text = f"Its host is {host.status}{since} ({reason}); it is tried again after {minute(due_at)}."
    return Decision("cooldown", text, f"{remedy} Else wait until then.")


def until_when(facts: UrlFacts) -> str:
    """How long a host is left alone, where the reason was named already."""
    host = facts.host
    assert host is not None, "only a known host is left alone"
    if host.next_crawl_after is None:
        return f"The host is {host.status} for good."
    return f"The host is {host.status} until {minute(host.next_crawl_after)}."


def lease_decision(facts: UrlFacts) -> Decision | None:
    """That another worker holds the host now."""
    host = facts.host
    if host is None or host.holder is None or host.held_until is None:
        return None
    state = "It is queued" if facts.queue is not None else "No crawl has found it yet"
    text = f"{host.holder} holds the lease of its host until {second(host.held_until)}. {state}."
    return Decision("lease_held", text, "Wait for that crawl, or stop it; a lease that is not renewed ends by itself.")


def not_seeded(facts: UrlFacts) -> Decision | None:
    """That its host is no candidate for a crawl."""
    host = facts.host
    if host is None:
        text = f"Its host {facts.host_name} is not known here: no seed, page or source has named it."
        return Decision("unknown_host", text, f"`comity crawl {facts.host_name}` crawls it.")
    if host.is_seeded:
        return None
    text = f"Its host was only touched by a {host.seeded_by or 'request'} and never seeded, so it is not crawled."
    return Decision("not_seeded", text, f"`comity seeds add {host.name}` has it crawled.")


def host_decision(facts: UrlFacts) -> Decision | None:
    """That the host's next turn, or its next request, comes later."""
    host, robots, now = facts.host, facts.robots, facts.now
    if host is None:
        return None
    delay_s = robots.crawl_delay_s if robots is not None else None
    if host.next_fetch_at is not None and host.next_fetch_at > now:
        asked = f"robots.txt asks for {delay_s:g} s between requests" if delay_s else "the pace of its host is kept"
        text = f"It waits for its turn: {asked}, and the next may start at {second(host.next_fetch_at)}."
        remedy = "Nothing is needed: a crawl keeps that pace by itself."
        return Decision("crawl_delay" if delay_s else "pace", text, remedy)
    if host.next_crawl_after is not None and host.next_crawl_after > now:
        text = f"Its host is not due before {minute(host.next_crawl_after)}."
        return Decision("not_due", text, f"`comity domains reset {host.name}` makes it due now.")
    return None
