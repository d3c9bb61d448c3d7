"""The rules of `why`: whatever is known of a URL, a sentence names what decided last, and one what would change it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.evidence import EvidenceType
from comity.model.explanation import (
    CrawlJobFacts,
    DecisionFacts,
    HostFacts,
    ImageFacts,
    QueueFacts,
    RobotsFacts,
    SightingFacts,
    SitemapFacts,
    SourceFacts,
    UrlFacts,
    VisitFacts,
)
from comity.model.fetch import FailureKind
from comity.model.frontier import FoundBy, UnqueuedCode
from comity.model.host import HostStatus
from comity.model.outcome import OUTCOME_NAMES
from comity.model.queue import JobStatus
from comity.model.sitemap import SitemapState
from comity.model.source import RunStatus, SourceStatus
from comity.rules.why.decide import decide
from comity.rules.why.explain import explain_url
from comity.run.remedies import in_words

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
URL = "https://example.org/a"
times = st.integers(-100_000, 100_000).map(lambda seconds: NOW + timedelta(seconds=seconds))
some_time = st.none() | times
words = st.sampled_from([None, "a reason", "robots.txt could not be fetched (dns_failure): x"])
HOST = HostFacts("example.org", "active", True, "test", NOW - timedelta(days=1))
QUEUE = QueueFacts("done", 1, 0, None, FoundBy.LINK, "https://example.org/", NOW - timedelta(hours=2))
FETCHED = VisitFacts(NOW - timedelta(hours=1), "fetched", 200, None, URL, "text/html")
FACTS = UrlFacts(NOW, URL, "example.org", "/a", host=HOST, queue=QUEUE, visits=(FETCHED,))

hosts = st.builds(
    HostFacts,
    st.just("example.org"),
    st.sampled_from([str(each) for each in HostStatus]),
    st.booleans(),
    words,
    times,
    words,
    words,
    some_time,
    some_time,
    words,
    some_time,
    some_time,
    some_time,
    st.integers(0, 9),
)
errors = st.sampled_from([None, "http_404", "http_503: it failed", *(f"{kind}: detail" for kind in FailureKind), "odd"])
visits = st.builds(
    VisitFacts,
    times,
    st.sampled_from(list(OUTCOME_NAMES.values())),
    st.sampled_from([None, 200, 304, 404, 500]),
    errors,
    st.sampled_from([None, URL, "https://example.org/b", "https://elsewhere.example/"]),
    words,
    st.booleans(),
)
decisions = st.builds(
    DecisionFacts, times, st.sampled_from([str(each) for each in EvidenceType]), st.just({"reason": "said"})
)
sightings = st.builds(
    SightingFacts,
    times,
    st.sampled_from([str(each) for each in UnqueuedCode]),
    st.sampled_from(FoundBy),
    st.sampled_from(["example.org", "elsewhere.example"]),
    words,
)
queues = st.builds(
    QueueFacts,
    st.sampled_from(["queued", "done", "dropped", "too_deep"]),
    st.integers(0, 9),
    st.integers(0, 6),
    some_time,
    st.sampled_from(FoundBy),
    words,
    some_time,
    st.booleans(),
)
facts = st.builds(
    UrlFacts,
    st.just(NOW),
    st.just(URL),
    st.just("example.org"),
    st.sampled_from(["/a", "/robots.txt", "/a.png", "/a.css"]),
    st.none() | st.just("example.org/a"),
    st.none() | hosts,
    st.none() | st.builds(RobotsFacts, st.booleans(), st.just("said"), st.booleans(), some_time, some_time, st.none()),
    st.none() | st.just("a policy"),
    st.none() | queues,
    st.lists(visits, max_size=3).map(lambda each: tuple(sorted(each, key=lambda visit: visit.at))),
    st.lists(decisions, max_size=3).map(lambda each: tuple(sorted(each, key=lambda decided: decided.at))),
    st.lists(sightings, max_size=2).map(tuple),
    st.none() | st.builds(ImageFacts, some_time, st.just(200), words),
    st.none()
    | st.builds(
        SitemapFacts,
        st.sampled_from([str(each) for each in SitemapState]),
        st.just(200),
        st.integers(0, 9),
        words,
        some_time,
        st.booleans(),
    ),
    st.none()
    | st.builds(
        SourceFacts,
        st.just(URL),
        st.sampled_from([str(each) for each in SourceStatus]),
        some_time,
        some_time,
        st.sampled_from([None, *(str(each) for each in RunStatus)]),
        words,
        some_time,
        words,
        words,
    ),
    st.none()
    | st.builds(
        CrawlJobFacts,
        some_time,
        st.sampled_from([None, True, False]),
        some_time,
        st.just("an-id"),
        st.sampled_from([None, *(str(each) for each in JobStatus)]),
        st.just("a-bot"),
        some_time,
        some_time,
        some_time,
        words,
    ),
)


@given(facts)
def test_whatever_is_known_there_is_a_decision_and_a_remedy(known: UrlFacts) -> None:
    explained = explain_url(known)
    decision, remedy = in_words(explained.decision), in_words(explained.remedy)
    assert decision.endswith(".")
    assert "\n" not in decision + remedy
    assert "{" not in decision + remedy, "nothing is left to be filled in"
    assert remedy.endswith((".", "`"))
    assert explained.code.replace("_", "").isalnum()
    past = [step.at for step in explained.chain if step.at is not None]
    assert all(step.sentence for step in explained.chain)
    assert len(past) <= 31, "at most thirty steps behind the discovery"


@given(facts)
def test_a_takedown_decides_over_everything(known: UrlFacts) -> None:
    assert decide(replace(known, takedown="example.org/a")).code == "taken_down"


def changed(**values: Any) -> UrlFacts:
    return replace(FACTS, **values)


QUEUED = replace(QUEUE, state="queued")
LATER = NOW + timedelta(hours=1)
BLOCKED = replace(HOST, status="blocked", block_reason="the server answered 403", next_crawl_after=LATER)
FORBIDS = RobotsFacts(False, "robots.txt line 2: Disallow: /a", False, NOW, LATER, None)
FAILED = VisitFacts(NOW - timedelta(minutes=1), "failed", 503, "http_503: the server answered 503", None, None)
WAITING = CrawlJobFacts(NOW, True, NOW, "an-id", "pending")
DONE = replace(WAITING, status="done", next_run_at=LATER, finished_at=NOW - timedelta(minutes=30))
DENIED = DecisionFacts(NOW - timedelta(minutes=1), "blocked_by_robots", {"reason": "robots.txt line 2: Disallow: /a"})
NOINDEX = DecisionFacts(FETCHED.at, "noindex", {"said": ["meta robots: noindex"]})


@pytest.mark.parametrize(
    ("known", "code"),
    [
        (FACTS, "fetched"),
        (changed(decisions=(NOINDEX,)), "noindex"),
        (changed(decisions=(replace(NOINDEX, at=FETCHED.at - timedelta(days=9)),)), "fetched"),  # of an earlier visit
        (changed(host=BLOCKED), "cooldown"),
        (changed(host=replace(BLOCKED, next_crawl_after=None)), "permanent_block"),
        (changed(host=replace(BLOCKED, next_crawl_after=NOW - timedelta(hours=1))), "fetched"),  # it is over
        (changed(robots=FORBIDS), "fetched"),  # it was fetched before
        (changed(queue=QUEUED, visits=()), "queued"),
        (changed(queue=QUEUED, visits=(), robots=FORBIDS), "robots_denied"),
        (changed(queue=QUEUED, visits=(), host=BLOCKED, robots=FORBIDS), "cooldown"),
        (changed(queue=QUEUED, visits=(), host=replace(HOST, holder="w", held_until=LATER), budget="b."), "lease_held"),
        (changed(queue=QUEUED, visits=(), budget="The limit was reached."), "budget"),
        (changed(queue=QUEUED, visits=(), host=replace(HOST, is_seeded=False)), "not_seeded"),
        (changed(queue=QUEUED, visits=(), host=replace(HOST, blocked_until=LATER)), "host_blocked"),
        (changed(queue=replace(QUEUED, depth=9), visits=(), max_depth=8), "queued"),
        (changed(queue=replace(QUEUED, state="too_deep"), visits=()), "too_deep"),
        (changed(queue=replace(QUEUED, attempts=1, not_before=LATER), visits=(FAILED,), budget="b."), "http_503"),
        (changed(queue=replace(QUEUED, attempts=1), visits=(FAILED,), budget="b."), "http_503"),
        (changed(queue=QUEUED, visits=(FAILED, FETCHED)), "queued"),  # a refresh
        (changed(queue=None, visits=(), robots=FORBIDS), "robots_denied"),
        (changed(queue=None, visits=()), "never_found"),
        (changed(queue=None, visits=(), host=None), "unknown_host"),
        (changed(queue=None, crawl_job=WAITING), "job_waits"),
        (changed(queue=QUEUED, visits=(), crawl_job=WAITING), "queued"),  # a crawl comes first
        (changed(queue=None, crawl_job=WAITING, robots=FORBIDS), "robots_denied"),
        (changed(queue=None, crawl_job=WAITING, host=replace(HOST, blocked_until=LATER)), "host_blocked"),
        (changed(queue=None, crawl_job=DONE, decisions=(DENIED,)), "robots_denied"),
        (changed(queue=None, crawl_job=DONE, decisions=(replace(DENIED, at=FETCHED.at),)), "job_done"),
    ],
)
def test_what_decided_last_is_named(known: UrlFacts, code: str) -> None:
    assert decide(known).code == code


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (changed(queue=None, visits=()), "frames, forms, feeds, scripts and link elements such as next"),
        (
            changed(visits=(VisitFacts(NOW, "gone", 302, "http_302", None, None),)),
            "answered 302, a redirect, without a usable address",
        ),
        (
            changed(queue=None, visits=(), sitemap=SitemapFacts("read", 200, 0, None, NOW, False, is_index=True)),
            "It is a sitemap index",
        ),
        (changed(queue=None, visits=(), sitemap=SitemapFacts("read", 200, 3, None, NOW, False)), "lists 3 entries"),
    ],
)
def test_the_first_line_claims_no_more_than_is_known(known: UrlFacts, says: str) -> None:
    assert says in in_words(decide(known).sentence)


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_of_failure_has_words_of_its_own(kind: FailureKind) -> None:
    visit = VisitFacts(NOW, "failed", None, f"{kind}: detail", None, None)
    told = decide(changed(visits=(visit,)))
    assert told.code == kind
    assert "The visit ended as" not in in_words(told.sentence)
    assert "(detail)" in in_words(told.sentence)


@pytest.mark.parametrize("code", UnqueuedCode)
def test_every_reason_to_leave_a_url_has_words_of_its_own(code: UnqueuedCode) -> None:
    seen = SightingFacts(NOW, code, FoundBy.LINK, "example.org", "https://example.org/")
    told = decide(changed(queue=None, visits=(), sightings=(seen,)))
    assert told.code not in ("never_found", "unknown_host")


def test_a_parameter_that_does_not_name_a_page_is_folded_unless_the_url_was_met_as_it_is() -> None:
    asked = replace(FACTS, url=f"{URL}?utm_source=x", queue=None, visits=())
    told = explain_url(asked, FACTS, "`utm_source`")
    assert told.code == "folded"
    assert in_words(told.decision).startswith(
        f"It is treated as {URL}: `utm_source` does not identify a page. It was fetched"
    )
    assert told.url == asked.url
    assert explain_url(replace(asked, queue=QUEUED), FACTS, "`utm_source`").code == "queued"


def test_a_refused_port_is_known_by_the_address_and_not_by_the_words_of_the_reason() -> None:
    refused = VisitFacts(NOW, "refused", None, "address_refused: reworded", None, None)
    at_port = changed(host_name="example.org:22", url="https://example.org:22/", visits=(refused,))
    assert decide(at_port).remedy == "Nothing: web servers use other ports."
    decided = DecisionFacts(NOW, "address_refused", {"reason": "reworded"})
    by_evidence = replace(at_port, visits=(), decisions=(decided,))
    assert decide(by_evidence).remedy == "Nothing: web servers use other ports."
    assert "--allow-network" in in_words(decide(replace(by_evidence, host_name="example.org")).remedy)


def test_a_refused_redirect_is_known_by_the_request_before_it() -> None:
    refused = VisitFacts(NOW, "refused", None, "address_refused: reworded", URL, None)
    assert "redirects to a host" in in_words(decide(changed(visits=(refused,))).sentence)
    assert "redirects" not in in_words(decide(changed(visits=(replace(refused, final_url=None),))).sentence)


def test_discovery_comes_first_although_the_link_was_seen_again_since() -> None:
    early, late = NOW - timedelta(hours=2), NOW - timedelta(hours=1)
    denied = {"reason": "robots.txt line 2: Disallow: /a"}
    seen = SightingFacts(late, UnqueuedCode.ROBOTS, FoundBy.LINK, "example.org", "https://example.org/")
    decided = tuple(DecisionFacts(at, EvidenceType.BLOCKED_BY_ROBOTS, denied) for at in (early, late))
    facts = replace(FACTS, queue=None, visits=(), decisions=decided, sightings=(seen,))
    assert [step.what for step in explain_url(facts).chain[:2]] == ["seen", "blocked_by_robots"]
    assert [step.what for step in explain_url(facts).chain].count("blocked_by_robots") == 1
