"""The last decision about a URL: one ladder, from what applies to all URLs now to what was seen of this one."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from comity.model.explanation import (
    CrawlJobFacts,
    Decision,
    DecisionFacts,
    QueueFacts,
    SourceFacts,
    UrlFacts,
    VisitFacts,
)
from comity.model.sitemap import MISSES_ENTRIES
from comity.model.wording import Action, action, counted, filled, holder_in_words
from comity.rules.why.crawl_jobs import crawl_job_decision, is_decided_later
from comity.rules.why.visits import (
    CODES,
    has_refused_port,
    left_out_decision,
    minute,
    never_found,
    second,
    sighting_decision,
    visit_decision,
)

_FINAL: Final = frozenset(
    {"blocked_by_robots", "taken_down", "address_refused", "trap", "postponed", "no_https", "left_out"}
)
"""Types of evidence that keep a URL from being fetched; the others accompany a visit."""
_OURS: Final = frozenset({"robots_denied", "address_refused", "trap", "taken_down", "robots_unreadable", "left_out"})
"""Decisions of our own, which come before a cooldown that follows from them."""
_SAME_PAGE: Final = frozenset({"permuted_query", "volatile_parameter"})
"""Codes of traps that lose nothing: the link is another address of a page that is visited."""


def decide(facts: UrlFacts) -> Decision:
    """The last decision, with what would change it."""
    if facts.takedown is not None:
        remedy = action(Action.LIFT_TAKEDOWN, facts.takedown) + " lifts the takedown."
        return Decision("taken_down", f"It is taken down by the entry {facts.takedown}.", remedy)
    if facts.path == "/robots.txt":
        return _robots_file(facts)
    if facts.source is not None and _is_source_newer(facts):
        return source_decision(facts, facts.source)
    queue = facts.queue
    if queue is None:
        return _unqueued(facts)
    if queue.is_image and facts.image is not None and facts.image.asked_at is not None:
        return _image(facts)
    if queue.state == "queued":
        return _queued(facts, queue)
    if queue.state == "too_deep":
        return _behind_cooldown(facts, _too_deep(facts, queue))
    return _behind_cooldown(facts, _done(facts, queue))


def _is_source_newer(facts: UrlFacts) -> bool:
    """Whether the source's last run is newer than any crawl's decision."""
    last = last_event_at(facts)
    run_at = facts.source.last_run_at if facts.source is not None else None
    return facts.queue is None or (run_at is not None and last is not None and run_at >= last)


def last_event_at(facts: UrlFacts) -> datetime | None:
    """When a crawl last decided anything about the URL."""
    times = [each.at for each in facts.visits if not each.is_by_source]
    times += [each.at for each in facts.decisions]
    return max(times, default=None)


def last_event(facts: UrlFacts) -> VisitFacts | DecisionFacts | None:
    """The last visit, or the last decision against one; of the same moment the visit, since it came after."""
    visit = facts.visits[-1] if facts.visits else None
    decided = next((each for each in reversed(facts.decisions) if each.type in _FINAL), None)
    if visit is None or decided is None:
        return visit or decided
    return decided if decided.at > visit.at else visit


def _behind_cooldown(facts: UrlFacts, own: Decision) -> Decision:
    """Put the cooldown or block of a host before the decision about one of its URLs."""
    left_alone = cooldown(facts)
    if left_alone is None:
        return own
    if own.code in _OURS:
        return Decision(own.code, own.sentence + " " + until_when(facts), own.remedy)
    return Decision(left_alone.code, left_alone.sentence + " " + own.sentence, left_alone.remedy)


def _done(facts: UrlFacts, queue: QueueFacts) -> Decision:
    last = last_event(facts)
    if isinstance(last, VisitFacts):
        return visit_decision(facts, last)
    again = action(Action.RESET_HOST, facts.host_name) + " queues it again."
    if last is not None:
        return evidence_decision(facts, last)
    if queue.state == "dropped":
        return Decision("dropped", "A takedown that is no longer in force removed it from the queue.", again)
    return Decision("done", "It was visited by an earlier run, of which there is no record.", again)


def evidence_decision(facts: UrlFacts, decided: DecisionFacts) -> Decision:
    """What a decision against a visit means now."""
    host, at = facts.host_name, minute(decided.at)
    if decided.type == "blocked_by_robots":
        return robots_decision(facts, decided.reason, decided.at)
    if decided.type == "taken_down":
        entry = decided.content.get("entry", "an entry")
        text = f"It was taken down by {entry} when it was found, at {at}; that takedown is no longer in force."
        return Decision("was_taken_down", text, action(Action.RESET_HOST, host) + " queues it again.")
    if decided.type == "address_refused":
        if has_refused_port(facts.host_name):  # which no setting allows
            return Decision(
                "address_refused", f"It was not requested: {decided.reason}.", "Nothing: web servers use other ports."
            )
        text = f"Its host has an address that is not public ({decided.reason}); it was not requested."
        return Decision("address_refused", text, action(Action.ALLOW_NETWORK) + " allows a private network.")
    if decided.type == "left_out":
        return left_out_decision(facts, decided.reason, decided.at, is_of_policy=decided.content.get("by") == "policy")
    if decided.type == "no_https":
        text = f"There is no TLS server, so the host is visited over http instead ({decided.reason})."
        return Decision("no_https", text, "Nothing on your side: the site would have to support TLS.")
    if decided.type == "trap":
        code = decided.content.get("code", "trap")
        if code in _SAME_PAGE:
            text = f"It is another address of a page that is visited ({code}): {decided.reason}."
            return Decision("same_page", text, action(Action.CRAWL, facts.url) + " visits it anyway.")
        text = f"It looks like part of an endless space ({code}): {decided.reason}."
        return Decision(
            "trap",
            text,
            action(Action.CRAWL, facts.url) + " starts there; COMITY_AVOID_TRAPS=false turns trap detection off.",
        )
    return _postponed(f"It was postponed at {at}: {decided.reason}.", decided, facts)


def _postponed(text: str, decided: DecisionFacts, facts: UrlFacts) -> Decision:
    """Why a URL waits: another process holds its host, or its requests do not reach the host."""
    code = str(decided.content.get("code", "host_busy"))
    if code in ("proxy_failure", "credentials_missing"):
        return Decision(code, text, filled(CODES[code][1], host=facts.host_name))
    return Decision("host_busy", text, "Nothing is needed: it is retried automatically.")


def robots_decision(facts: UrlFacts, said: str, at: datetime | None) -> Decision:
    """What robots.txt says now; where it has changed since, what it said when the URL was met."""
    robots, host = facts.robots, facts.host_name
    if robots is not None and robots.is_unreadable:
        return _unreadable_robots(facts)
    if robots is not None and robots.allowed:
        text = f"robots.txt forbade it at {minute(at)} ({said}); it allows it now."
        return Decision("robots_denied_then", text, action(Action.RESET_HOST, host) + " crawls the host again.")
    reason = (robots.reason if robots is not None else said).removeprefix("robots.txt ")
    remedy = "Nothing on your side: the site's robots.txt would have to allow it; it is read again automatically."
    return Decision("robots_denied", f"robots.txt forbids it: {reason}.", remedy)


def _unreadable_robots(facts: UrlFacts) -> Decision:
    robots = facts.robots
    assert robots is not None
    said = robots.reason.partition(": ")[0].removeprefix("robots.txt ")
    text = f"robots.txt of its origin cannot be read ({said}), so nothing is requested there."
    remedy = f"Nothing is needed: robots.txt is read again after {minute(robots.expires_at)}."
    return Decision("robots_unreadable", text, remedy)


def _queued(facts: UrlFacts, queue: QueueFacts) -> Decision:
    """It is queued: the first thing that holds it back now."""
    host, now = facts.host, facts.now
    last = last_event(facts)
    failed = isinstance(last, VisitFacts) and last.outcome in ("failed", "rate_limited") and queue.attempts > 0
    left_alone = cooldown(facts)
    if left_alone is not None:
        if isinstance(last, VisitFacts) and last.outcome != "fetched":
            own = visit_decision(facts, last).sentence
            return Decision(left_alone.code, left_alone.sentence + " " + own, left_alone.remedy)
        if left_alone.code == "cooldown" and facts.robots is not None and facts.robots.is_unreadable:
            return _unreadable_robots(facts)
        return left_alone
    robots = facts.robots
    if robots is not None and not robots.allowed:
        return robots_decision(facts, robots.reason, robots.read_at)
    if failed and isinstance(last, VisitFacts) and queue.not_before is not None and queue.not_before > now:
        return visit_decision(facts, last)
    if host is not None and host.blocked_until is not None and host.blocked_until > now:
        until = second(host.blocked_until)
        text = f"Its host asked Comity to wait until {until} (Retry-After, or back-off after 429 or 503)."
        return Decision("host_blocked", text, "Nothing is needed: a crawl continues after that time.")
    if queue.not_before is not None and queue.not_before > now:
        if isinstance(last, DecisionFacts) and last.type == "postponed":
            return _postponed(f"It was postponed until {minute(queue.not_before)}: {last.reason}.", last, facts)
        text = f"It was postponed until {minute(queue.not_before)}."
        return Decision("put_off", text, "Nothing is needed: it is retried automatically.")
    unseeded = not_seeded(facts)
    if unseeded is not None:
        return unseeded
    held = lease_decision(facts)
    if held is not None:
        return held
    return _next(facts, queue, failed=failed)


def _too_deep(facts: UrlFacts, queue: QueueFacts) -> Decision:
    went = "than crawls have followed so far" if facts.max_depth is None else f"than the last crawl's {facts.max_depth}"
    text = f"It is too deep: {queue.depth} steps from a seed, more {went} (" + action(Action.MAX_DEPTH) + ")."
    return Decision("too_deep", text, action(Action.CRAWL_DEEPER, facts.host_name, queue.depth) + " reaches it.")


def _next(facts: UrlFacts, queue: QueueFacts, *, failed: bool) -> Decision:
    """Nothing prevents it; its turn has not come yet."""
    remedy = action(Action.CRAWL, facts.host_name) + " continues with it."
    last = last_event(facts)
    if failed and isinstance(last, VisitFacts):
        return visit_decision(facts, last)
    if isinstance(last, DecisionFacts) and last.type == "postponed":
        return evidence_decision(facts, last)
    if facts.budget is not None:
        return Decision("budget", f"The last run of its host left it in the queue. {facts.budget}", remedy)
    waiting = host_decision(facts)
    if waiting is not None:
        return waiting
    if queue.is_image:
        text = "It is queued as an image: images are fetched after all pages of their host."
        return Decision("queued", text, action(Action.CRAWL_IMAGES, facts.host_name) + " continues with it.")
    steps = "1 step" if queue.depth == 1 else f"{queue.depth} steps"
    again = " once more" if isinstance(last, VisitFacts) else ""
    return Decision(
        "queued", f"It is queued, {steps} from a seed: the next crawl of its host visits it{again}.", remedy
    )


def _unqueued(facts: UrlFacts) -> Decision:
    """It is not queued: what else is known of it."""
    if facts.sitemap is not None and facts.sitemap.state != "planned" and not facts.sitemap.is_guess:
        return _sitemap(facts)
    if facts.image is not None and facts.image.asked_at is not None:
        return _image(facts)
    crawled = [each for each in facts.visits if not each.is_by_source]
    last = last_event(facts)
    if facts.crawl_job is not None and not (isinstance(last, DecisionFacts) and is_decided_later(facts, last.at)):
        return _of_bots(facts, facts.crawl_job)
    if crawled and isinstance(last, VisitFacts):
        return _behind_cooldown(facts, visit_decision(facts, last))
    if isinstance(last, DecisionFacts):
        return _behind_cooldown(facts, evidence_decision(facts, last))
    if facts.sightings:
        return sighting_decision(facts, robots_decision)
    if isinstance(last, VisitFacts):
        return visit_decision(facts, last)
    if facts.sitemap is not None:
        return _sitemap(facts)
    robots = facts.robots
    for decided in (cooldown(facts), not_seeded(facts), lease_decision(facts)):
        if decided is not None:
            return decided
    if robots is not None and not robots.allowed:
        return robots_decision(facts, robots.reason, robots.read_at)
    return never_found(facts)


def _of_bots(facts: UrlFacts, job: CrawlJobFacts) -> Decision:
    """Where it is in the crawl service, unless robots.txt keeps its job from bots."""
    robots = facts.robots
    if robots is not None and not robots.allowed and job.status != "locked":
        return robots_decision(facts, robots.reason, robots.read_at)
    return crawl_job_decision(facts, job)


def _robots_file(facts: UrlFacts) -> Decision:
    robots = facts.robots
    remedy = action(Action.READ_ROBOTS, facts.host_name) + " shows what it says."
    if robots is None:
        return Decision(
            "robots_file",
            "robots.txt is read before the first request to its origin; it has not been read yet.",
            remedy,
        )
    text = f"robots.txt is read before any page; it was last read at {minute(robots.read_at)}"
    if robots.is_unreadable:
        return Decision("robots_file", f"{text} and could not be read ({robots.reason}).", remedy)
    return Decision("robots_file", f"{text}.", remedy)


def _sitemap(facts: UrlFacts) -> Decision:
    sitemap = facts.sitemap
    assert sitemap is not None
    at = f" at {minute(sitemap.asked_at)}" if sitemap.asked_at is not None else ""
    said = [MISSES_ENTRIES.get(problem, problem) for problem in (sitemap.detail or "").split(", ") if problem]
    detail = f" ({', '.join(said)})" if said else ""
    crawl = action(Action.RESET_HOST, facts.host_name) + " makes the next crawl read sitemaps again."
    if sitemap.state == "read":
        text = f"It is a sitemap: it was read{at} and lists {counted(sitemap.entries, 'entry', 'entries')}{detail}."
        if sitemap.is_index:
            text = f"It is a sitemap index: it was read{at}; each sitemap that it lists is read separately{detail}."
    elif sitemap.state == "refused":
        text = f"It is a sitemap that was not requested{at}: {sitemap.detail or 'it was refused'}."
    elif sitemap.state == "planned":
        text = "It is a sitemap that has not been read yet."
        crawl = action(Action.CRAWL, facts.host_name) + " continues with it."
    else:
        text = f"It was requested as a sitemap{at}, but is not one{detail}."
    return Decision(f"sitemap_{sitemap.state}", text, crawl)


def _image(facts: UrlFacts) -> Decision:
    image = facts.image
    assert image is not None
    again = action(Action.CRAWL_IMAGES_AGAIN, facts.host_name) + " requests it again."
    if image.error is not None:
        return Decision(
            "image_failed", f"It is an image and was not stored: {image.error} ({minute(image.asked_at)}).", again
        )
    return Decision(
        "image", f"It is an image; it was fetched at {minute(image.asked_at)} (HTTP {image.status}).", again
    )


def source_decision(facts: UrlFacts, source: SourceFacts) -> Decision:
    """The last decision about a source."""
    url, said = source.careers_url, source.message or "no reason is recorded"
    which = "It is a source" if facts.url == url else f"It belongs to the source {url}"
    if source.status == "deleted":
        return Decision(
            "source_deleted", f"{which}, and was deleted.", action(Action.ADD_SOURCE, url) + " adds it again."
        )
    if source.status == "paused":
        return Decision(
            "source_paused", f"{which}, and is paused ({said}).", action(Action.RESUME_SOURCE, url) + " resumes it."
        )
    if source.status == "blocked":
        remedy = action(Action.RESUME_SOURCE, url) + " reads it again."
        return Decision("source_blocked", f"{which}, and is blocked ({said}).", remedy)
    run = action(Action.RUN_SOURCE, url) + " reads it now."
    if source.holder is not None:
        return Decision(
            "source_running", f"{which}, and {holder_in_words(source.holder)} reads it now.", "Wait for that run."
        )
    last = _last(source)
    if source.next_run_at is None or source.next_run_at <= facts.now:
        return Decision(
            "source_due",
            f"{which}{last}, and is due now.",
            run + " " + action(Action.SERVE_SOURCES) + " reads it when it is due.",
        )
    code = f"source_{source.last_status}" if source.last_status else "source_waiting"
    why = f" ({source.next_run_reason})" if source.next_run_reason else ""
    return Decision(code, f"{which}{last}; it will next be read at {minute(source.next_run_at)}{why}.", run)


def _last(source: SourceFacts) -> str:
    if source.last_run_at is None:
        return " that has not been read yet"
    said = f" ({source.message})" if source.message else ""
    ended = {"ok": "went well", "warn": "ended with a warning", "fail": "failed"}.get(source.last_status or "", "ended")
    return f" whose last run, at {minute(source.last_run_at)}, {ended}{said}"


_LEFT_ALONE: Final = ("blocked", "unreachable")


def cooldown(facts: UrlFacts) -> Decision | None:
    """The cooldown or permanent block of the host, while it is in force."""
    host = facts.host
    if host is None or host.status not in _LEFT_ALONE:
        return None
    due_at = host.next_crawl_after
    if due_at is not None and due_at <= facts.now:
        return None
    reason = host.block_reason or host.block_code or "no reason is recorded"
    since = f" since {minute(host.blocked_at)}" if host.blocked_at is not None else ""
    remedy = action(Action.RESET_HOST, host.name) + " ends the block."
    failure = facts.robots.failure if facts.robots is not None and facts.robots.is_unreadable else None
    if host.status == "unreachable" and failure is not None and failure in CODES:
        what, _remedy = CODES[failure]
        again = f"is tried again after {minute(due_at)}" if due_at is not None else "is not retried automatically"
        return Decision(failure, f"{what}: it is unreachable{since} and {again}.", remedy)
    if due_at is None:
        text = f"Its host is {host.status}{since} ({reason}) and is not retried automatically."
        return Decision("permanent_block", text, remedy)
    text = f"Its host is {host.status}{since} ({reason}); it is tried again after {minute(due_at)}."
    return Decision("cooldown", text, remedy + " Otherwise wait until then.")


def until_when(facts: UrlFacts) -> str:
    """How long a host is blocked, where the reason was named already."""
    host = facts.host
    assert host is not None, "only a known host has a cooldown"
    if host.next_crawl_after is None:
        return f"The host is {host.status} permanently."
    return f"The host is {host.status} until {minute(host.next_crawl_after)}."


def lease_decision(facts: UrlFacts) -> Decision | None:
    """That another worker holds the host now."""
    host = facts.host
    if host is None or host.holder is None or host.held_until is None:
        return None
    state = "It is queued" if facts.queue is not None else "No crawl has found it yet"
    text = f"{holder_in_words(host.holder)} holds the lease of its host until {second(host.held_until)}. {state}."
    return Decision("lease_held", text, "Wait for that crawl, or stop it; a lease that is not renewed expires.")


def not_seeded(facts: UrlFacts) -> Decision | None:
    """That its host is not a candidate for a crawl."""
    host = facts.host
    if host is None:
        text = f"Its host {facts.host_name} is unknown: no seed, page or source mentions it."
        return Decision("unknown_host", text, action(Action.CRAWL, facts.host_name) + " crawls it.")
    if host.is_seeded:
        return None
    text = f"Its host was only requested by a {host.seeded_by or 'request'} and never seeded, so it is not crawled."
    return Decision("not_seeded", text, action(Action.ADD_SEED, host.name) + " adds it to the crawl.")


def host_decision(facts: UrlFacts) -> Decision | None:
    """That the host's next turn, or its next request, comes later."""
    host, robots, now = facts.host, facts.robots, facts.now
    if host is None:
        return None
    delay_s = robots.crawl_delay_s if robots is not None else None
    if host.next_fetch_at is not None and host.next_fetch_at > now:
        asked = f"robots.txt asks for {delay_s:g} s between requests" if delay_s else "the pace of its host applies"
        text = f"It waits for its turn: {asked}, and the next may start at {second(host.next_fetch_at)}."
        remedy = "Nothing is needed: crawls keep that pace."
        return Decision("crawl_delay" if delay_s else "pace", text, remedy)
    if host.next_crawl_after is not None and host.next_crawl_after > now:
        text = f"Its host is not due before {minute(host.next_crawl_after)}."
        return Decision("not_due", text, action(Action.RESET_HOST, host.name) + " makes it due now.")
    if host.is_paused:
        text = "Workers do not crawl its host: a crawl of it had its own limits, or was stopped."
        return Decision("paused", text, action(Action.CRAWL, host.name) + " continues with it.")
    return None
