"""What is said of a source's own URL: whether it is read, when next, and why."""

from __future__ import annotations

from comity.model.explanation import Decision, SourceFacts, UrlFacts
from comity.rules.why.words import minute


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
