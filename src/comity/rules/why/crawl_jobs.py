"""What decided last about a URL that only the crawl service has: its policy, and its last job."""

from __future__ import annotations

from datetime import datetime

from comity.model.explanation import CrawlJobFacts, Decision, Step, UrlFacts
from comity.model.wording import Action, action
from comity.rules.why.visits import minute, second

_NOTHING = "Nothing is needed: "


def crawl_job_decision(facts: UrlFacts, job: CrawlJobFacts) -> Decision:
    """Where the URL is in the crawl service."""
    return _open(facts, job) if job.is_open else _ended(facts, job)


def _open(facts: UrlFacts, job: CrawlJobFacts) -> Decision:
    """A job that a bot has, or may get."""
    host = facts.host
    if job.status == "locked":
        text = f"The bot {job.holder} has its job until {minute(job.held_until)}."
        return Decision("job_locked", text, "Wait for the bot: after that time another can pull the job.")
    if host is not None and host.blocked_until is not None and host.blocked_until > facts.now:
        text = f"Its job waits: its host asked Comity to wait until {second(host.blocked_until)}."
        return Decision("host_blocked", text, f"{_NOTHING}bots get the job after that time.")
    if job.not_before is not None and job.not_before > facts.now:
        because = f" ({job.error})" if job.error else ""
        text = f"Its job waits until {minute(job.not_before)}{because}."
        if job.is_enabled is None:
            return Decision("job_postponed", text, f"{_NOTHING}bots get the job after that time.")
        return Decision("job_postponed", text, action(Action.RUN_POLICY, facts.url) + " lets bots have it now.")
    return Decision(
        "job_waits", "Its job waits for a bot.", f"{_NOTHING}a bot gets the job as soon as its host is free."
    )


def _ended(facts: UrlFacts, job: CrawlJobFacts) -> Decision:
    """No job, or one that is over: when the policy makes the next."""
    last = _last(job)
    if job.is_enabled is None:
        if job.status == "failed":
            return Decision(
                "job_failed", f"{last}.", action(Action.RESTART_JOB, job.job_id or "") + " starts it again."
            )
        return Decision("job_done", f"{last}.", f"{_NOTHING}no policy repeats it.")
    if not job.is_enabled:
        text = f"{last}; its policy is disabled." if last else "Its policy is disabled."
        return Decision("policy_disabled", text, action(Action.ENABLE_POLICY, facts.url) + " enables it.")
    if job.next_run_at is None or job.next_run_at <= facts.now:
        text = f"{last}; its policy is due again." if last else "Its policy is due."
        return Decision("policy_due", text, f"{_NOTHING}its job is made when a bot pulls.")
    due = f"is due at {minute(job.next_run_at)}"
    text = f"{last}; the next {due}." if last else f"Its policy {due}."
    code = f"job_{job.status}" if last else "policy_waits"
    return Decision(code, text, action(Action.RUN_POLICY, facts.url) + " makes it due now.")


def _last(job: CrawlJobFacts) -> str:
    """How the last job ended; empty if there was none."""
    if job.status is None:
        return ""
    at = f" at {minute(job.finished_at)}" if job.finished_at is not None else ""
    if job.status == "failed":
        return f"Its last job failed{at}" + (f" ({job.error})" if job.error else "")
    return f"Its last job was done{at}"


def is_decided_later(facts: UrlFacts, at: datetime) -> bool:
    """Whether something else was decided about the URL after its last job."""
    job = facts.crawl_job
    return job is not None and (job.finished_at is None or at >= job.finished_at)


def added(job: CrawlJobFacts) -> Step:
    """How the URL was added to the crawl service."""
    return Step(job.since, "discovered", "added as a job of bots" if job.is_enabled is None else "added as a policy")


def steps_now(job: CrawlJobFacts) -> list[tuple[str, str]]:
    """What the crawl service has now."""
    found = []
    if job.status is not None:
        holder = f" by {job.holder} until {minute(job.held_until)}" if job.status == "locked" else ""
        found.append(("job", f"its last job is {job.status}{holder}"))
    if job.is_enabled is False:
        found.append(("crawl_policy", "its policy is disabled"))
    elif job.is_enabled and job.next_run_at is not None:
        found.append(("crawl_policy", f"its policy is due {minute(job.next_run_at)}"))
    return found
