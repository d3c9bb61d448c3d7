"""One explanation from the facts about a URL, with the chain of steps from its discovery to now."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from comity.model.explanation import Decision, DecisionFacts, Explanation, SightingFacts, Step, UrlFacts, VisitFacts
from comity.model.frontier import FoundBy, UnqueuedCode
from comity.model.wording import holder_in_words
from comity.rules.why.crawl_jobs import added, steps_now
from comity.rules.why.decide import decide
from comity.rules.why.visits import minute, named_by

_IS_NEXT: Final = frozenset({"queued", "waits_for_first_crawl", "budget"})
"""Codes after which the next crawl of the host asks for the URL."""
_LONGEST: Final = 30  # steps of the past; of more, the first and the last are shown
_SEEN: Final[dict[str, str]] = {
    UnqueuedCode.OTHER_HOST: "skipped, because it is on another host",
    UnqueuedCode.NOFOLLOW_LINK: "skipped, because the link says rel=nofollow",
    UnqueuedCode.NOFOLLOW_PAGE: "skipped, because the page says nofollow",
    UnqueuedCode.LINKS_OFF: "skipped, because links are not followed",
    UnqueuedCode.CANONICAL_OFF: "skipped, because canonical addresses are not followed",
    UnqueuedCode.ROBOTS: "skipped, because robots.txt forbids it",
    UnqueuedCode.TAKEDOWN: "skipped, because it is taken down",
    UnqueuedCode.TRAP: "skipped as part of an endless space",
    UnqueuedCode.SITEMAP_LIMIT: "skipped, because the sitemaps list too many URLs",
    UnqueuedCode.REDIRECT_TARGET: "followed, as part of that visit",
    UnqueuedCode.LEFT_OUT: "left out",
}
_DECIDED: Final = {
    "robots_allowed": "robots.txt allows it",
    "blocked_by_robots": "robots.txt forbids it",
    "taken_down": "taken down",
    "no_https": "there is no https",
    "noindex": "it asks not to be indexed",
    "nofollow": "it asks crawlers not to follow its links",
    "login_wall": "it requires a login",
    "address_refused": "its address is not public",
    "trap": "it looks like part of an endless space",
    "unreadable": "it could not be read",
    "canonical": "its canonical address is another",
    "postponed": "postponed",
    "left_out": "left out",
    "budget": "a budget ended the run",
}


def explain_url(facts: UrlFacts, folded: UrlFacts | None = None, parameters: str = "") -> Explanation:
    """Name what decided last, the chain from discovery to now, and what would change it.

    `folded` is known where `parameters` of the URL do not name a page: the URL is visited without them, under
    another address. It decides unless the URL was met as it is.
    """
    if folded is not None and not _is_known(facts) and facts.takedown is None:
        decided = _folded(folded, parameters)
        return _explanation(facts, decided, folded)
    return _explanation(facts, decide(facts), facts)


def _explanation(requested: UrlFacts, decided: Decision, chain_facts: UrlFacts) -> Explanation:
    return Explanation(
        requested.url,
        requested.host_name,
        decided.code,
        decided.sentence,
        chain_of(chain_facts),
        decided.remedy,
        decided.code in _IS_NEXT,
    )


def _is_known(facts: UrlFacts) -> bool:
    known = (facts.queue, facts.visits, facts.decisions, facts.source, facts.crawl_job, facts.image, facts.sitemap)
    return any(known)


def _folded(folded: UrlFacts, parameters: str) -> Decision:
    below = decide(folded)
    sentence = f"It is treated as {folded.url}: {parameters} does not identify a page. " + below.sentence
    return Decision("folded", sentence, below.remedy)


def chain_of(facts: UrlFacts) -> tuple[Step, ...]:
    """Every step, oldest first; what is true now has no time and comes last."""
    past: list[tuple[datetime, int, Step]] = []
    # Of the same moment, discovery comes first, then what was decided, then the result. A sighting has the time of
    # the last one: a URL that was decided about before then had been seen before, too.
    decided_at = [*(decided.at for decided in facts.decisions), *(visit.at for visit in facts.visits)]
    past += [(min([seen.at, *decided_at]), 0, _sighting(seen)) for seen in facts.sightings]
    past += [(each.at, 1, _decided(each)) for each in facts.decisions]
    past += [(each.at, 2, _visited(facts, each)) for each in facts.visits]
    if facts.image is not None and facts.image.asked_at is not None:
        words = facts.image.error or f"HTTP {facts.image.status}"
        past.append((facts.image.asked_at, 2, Step(facts.image.asked_at, "image", f"requested as an image: {words}")))
    past.sort(key=lambda each: each[:2])
    steps = _without_repeats(step for _at, _rank, step in past)
    if len(steps) > _LONGEST:
        steps = [*steps[:5], Step(None, "more", f"… {len(steps) - _LONGEST} more …"), *steps[-(_LONGEST - 5) :]]
    return (*_discovery(facts), *steps, *_now(facts))


def _without_repeats(steps: Iterable[Step]) -> list[Step]:
    """Each step once: every hop of a redirect makes the same checks."""
    kept: list[Step] = []
    for step in steps:
        if not kept or (kept[-1].what, kept[-1].sentence) != (step.what, step.sentence):
            kept.append(step)
    return kept


def _discovery(facts: UrlFacts) -> list[Step]:
    """How it was found first."""
    steps = []
    source, queue = facts.source, facts.queue
    if source is not None:
        which = "added as a source" if source.careers_url == facts.url else f"a page of the source {source.careers_url}"
        steps.append(Step(source.created_at, "discovered", which))
    if facts.crawl_job is not None:
        steps.append(added(facts.crawl_job))
    if queue is not None:
        at = queue.discovered_at
        if at is None and queue.found_by is FoundBy.SEED and facts.host is not None:
            at = facts.host.first_seen_at
        steps.append(Step(at, "discovered", f"found through {named_by(queue.found_by, queue.found_at)}"))
    return steps


def _sighting(seen: SightingFacts) -> Step:
    because = f", because {seen.reason}" if seen.reason else ""
    words = f"{_SEEN.get(seen.code, seen.code)}{because}"
    return Step(seen.at, "seen", f"found through {named_by(seen.found_by, seen.found_at)}; {words}")


def _decided(decided: DecisionFacts) -> Step:
    doubt = "" if decided.confidence == "high" else f" ({decided.confidence} confidence)"
    words = _DECIDED.get(decided.type, decided.type)
    reason = f": {decided.reason}" if decided.reason else ""
    return Step(decided.at, decided.type, f"{words}{reason}{doubt}")


def _visited(facts: UrlFacts, visit: VisitFacts) -> Step:
    by = " by the run of a source" if visit.is_by_source else ""
    words = visit.outcome.replace("_", " ")
    final = f", redirected to {visit.final_url}" if visit.final_url and visit.final_url != facts.url else ""
    status = f"HTTP {visit.status}" if visit.status and not (visit.error or "").startswith("http_") else ""
    detail = ", ".join(filter(None, (status, visit.error)))
    return Step(visit.at, visit.outcome, f"{words}{by}{f': {detail}' if detail else ''}{final}")


def _now(facts: UrlFacts) -> list[Step]:
    """What holds at this moment, where it says more than that nothing is in the way."""
    steps: list[tuple[str, str]] = []
    host, robots, queue = facts.host, facts.robots, facts.queue
    if facts.takedown is not None:
        steps.append(("takedown", f"taken down by {facts.takedown}"))
    if robots is not None:
        word = "cannot be read" if robots.is_unreadable else "allows it" if robots.allowed else "forbids it"
        steps.append(("robots", f"robots.txt {word}: {robots.reason}"))
        if robots.crawl_delay_s:
            steps.append(("crawl_delay", f"robots.txt asks for {robots.crawl_delay_s:g} s between requests"))
    if facts.policy is not None:
        steps.append(("policy", facts.policy))
    if host is not None:
        due = f", due {minute(host.next_crawl_after)}" if host.next_crawl_after is not None else ""
        reason = f" ({host.block_reason})" if host.block_reason else ""
        steps.append(("host", f"the host is {host.status}{reason}{due}"))
        if host.blocked_until is not None and host.blocked_until > facts.now:
            steps.append(("block", f"the host asked Comity to wait until {minute(host.blocked_until)}"))
        if host.holder is not None:
            steps.append(("lease", f"{holder_in_words(host.holder)} holds the lease until {minute(host.held_until)}"))
    if queue is not None:
        later = f", not before {minute(queue.not_before)}" if queue.not_before and queue.not_before > facts.now else ""
        steps.append(("queue", f"{queue.state}{later}" if queue.state == "queued" else queue.state))
    if facts.crawl_job is not None:
        steps += steps_now(facts.crawl_job)
    return [Step(None, what, text) for what, text in steps]
