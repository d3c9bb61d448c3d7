"""One ladder for every URL: the first question that denies it decides, and each stage asks its own questions."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.fetch import FailureKind, FetchFailure
from comity.model.robots import RobotsVerdict
from comity.model.traps import TrapCode, TrapRefusal
from comity.rules.admission import (
    ADMITTED,
    KNOWN,
    OTHER_HOST,
    ROBOTS_UNKNOWN,
    Admitted,
    DenialCode,
    Denied,
    Terms,
    admit,
    of_fetch,
    of_image,
    of_link,
    of_redirect,
    of_withheld_link,
)
from comity.rules.canonical import web_address
from comity.rules.takedown import Takedowns

HOST = "example.com"
URL = web_address("https://example.com/a?b=1")
ELSEWHERE = web_address("https://elsewhere.example/a?b=1")
DENIAL = RobotsVerdict(allowed=False, reason="Disallow: /a", rule="Disallow: /a", line_number=2)
PERMISSION = RobotsVerdict(allowed=True, reason="no rule matches")
CLOSED = RobotsVerdict(allowed=False, reason="robots.txt could not be read (connect_timeout)")
TRAP = TrapRefusal(TrapCode.COUNTER, "it only counts", "/a?b=#", 1)
FAILURE = FetchFailure(URL.url, FailureKind.ADDRESS_REFUSED, "a private address", 1.0, 0.0)
NONE = Takedowns()
# In the order in which they are asked, with the denial of each.
QUESTIONS = {
    "scope": OTHER_HOST,
    "memory": KNOWN,
    "takedown": Denied(DenialCode.TAKEN_DOWN, "example.com/a"),
    "address": Denied(DenialCode.ADDRESS_REFUSED, FAILURE),
    "robots": Denied(DenialCode.ROBOTS, DENIAL),
    "trap": Denied(DenialCode.TRAP, TRAP),
}
STAGES = {
    "link": ("scope", "memory", "takedown", "robots", "trap"),
    "image": ("scope", "takedown", "robots"),
    "withheld": ("scope", "memory"),
    "fetch": ("takedown", "address", "robots", "trap"),
    "redirect": ("takedown", "address", "robots"),
}


@dataclass
class Robots:
    """The file of one origin."""

    answer: RobotsVerdict = PERMISSION
    is_unreachable: bool = False

    def verdict(self, path: str) -> RobotsVerdict:
        assert path == URL.path
        return self.answer


@dataclass
class World:
    """What is in force; the questions in `against` deny every URL. Remembers which of them were asked."""

    against: frozenset[str] = frozenset()
    robots: Robots | None = field(default_factory=Robots)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if "robots" in self.against:
            self.robots = Robots(DENIAL)

    def is_known(self, key: int) -> bool:
        assert key == URL.key
        self.asked.append("memory")
        return "memory" in self.against

    def robots_of(self, origin: str) -> Robots | None:
        assert origin == URL.origin
        self.asked.append("robots")
        return self.robots

    def trap(self, target: str, depth: int) -> TrapRefusal | None:
        assert (target, depth) == (URL.path, 3)
        self.asked.append("trap")
        return TRAP if "trap" in self.against else None

    def terms(self, stage: str) -> Terms:
        takedowns = Takedowns.of(["example.com/a"]) if "takedown" in self.against else Takedowns.of(["other.example"])
        refused = {URL.origin: FAILURE} if "address" in self.against else {}
        host = HOST if "scope" not in self.against else "another.example"
        match stage:
            case "link":
                return of_link(host, self.is_known, takedowns, self.robots_of, self.trap, 3)
            case "image":
                return of_image(host, takedowns, self.robots_of)
            case "withheld":
                return of_withheld_link(host, self.is_known)
            case "fetch":
                return of_fetch(takedowns, refused, self.robots_of, self.trap, 3)
        return of_redirect(takedowns, refused, self.robots_of)


@pytest.mark.parametrize("stage", STAGES)
def test_a_url_against_which_nothing_speaks_is_admitted(stage: str) -> None:
    is_fetched_now = stage in ("fetch", "redirect")
    assert admit(URL, World().terms(stage)) == Admitted(PERMISSION if is_fetched_now else None)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_asks_its_questions_and_no_others(stage: str, question: str) -> None:
    decision = admit(URL, World(frozenset({question})).terms(stage))
    if question in STAGES[stage]:
        assert decision == QUESTIONS[question]
    else:
        assert isinstance(decision, Admitted)


@given(stage=st.sampled_from(sorted(STAGES)), against=st.frozensets(st.sampled_from(sorted(QUESTIONS))))
def test_the_first_question_that_denies_decides_and_none_is_asked_after_it(stage: str, against: frozenset[str]) -> None:
    """Memory notes what it is asked about, and a trap watch counts it: neither may see what was denied before."""
    world = World(against)
    denying = [question for question in QUESTIONS if question in STAGES[stage] and question in against]
    decision = admit(URL, world.terms(stage))
    order = list(QUESTIONS)
    if denying:
        assert decision == QUESTIONS[denying[0]]
        last = order.index(denying[0])
    else:
        assert isinstance(decision, Admitted)
        last = len(order)
    asked = [name for name in ("memory", "robots", "trap") if name in STAGES[stage] and order.index(name) <= last]
    assert world.asked == asked


@pytest.mark.parametrize("stage", STAGES)
def test_robots_txt_that_is_not_known_holds_up_only_what_is_fetched_now(stage: str) -> None:
    world = World(robots=None)
    decision = admit(URL, world.terms(stage))
    assert decision is (ROBOTS_UNKNOWN if stage in ("fetch", "redirect") else ADMITTED)


@pytest.mark.parametrize("stage", STAGES)
def test_robots_txt_that_cannot_be_read_forbids_no_link_for_good(stage: str) -> None:
    """RFC 9309 §2.3.1.4: nothing is fetched meanwhile; what is queued is asked about again when its turn comes."""
    decision = admit(URL, World(robots=Robots(CLOSED, is_unreachable=True)).terms(stage))
    if stage in ("fetch", "redirect"):
        assert decision == Denied(DenialCode.ROBOTS_UNREACHABLE, CLOSED)
    else:
        assert decision is ADMITTED


def test_a_takedown_is_found_before_robots_txt_is_wanted() -> None:
    """So that no host is leased, and no robots.txt read, for what is taken down."""
    world = World(frozenset({"takedown"}), robots=None)
    for stage in ("fetch", "redirect"):
        assert admit(URL, world.terms(stage)) == QUESTIONS["takedown"]
    assert world.asked == []


def test_a_redirect_may_lead_to_another_host_and_a_link_may_not() -> None:
    assert admit(ELSEWHERE, of_redirect(NONE, None, lambda _origin: Robots())) == Admitted(PERMISSION)
    assert admit(ELSEWHERE, of_link(HOST, lambda _key: False, NONE, lambda _origin: None, None, 1)) is OTHER_HOST
    assert admit(ELSEWHERE, of_image(HOST, NONE, lambda _origin: None)) is OTHER_HOST


def test_links_that_are_known_or_elsewhere_make_no_object() -> None:
    """They are most links of most pages."""
    terms = of_link(HOST, lambda _key: True, NONE, lambda _origin: None, None, 1)
    assert admit(URL, terms) is KNOWN
    assert admit(ELSEWHERE, terms) is OTHER_HOST
    assert admit(URL, terms._replace(is_known=lambda _key: False)) is ADMITTED
