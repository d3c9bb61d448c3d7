"""Verdicts on URLs by robots.txt (RFC 9309): takes bytes, returns verdicts with evidence.

``parse_robots`` reads a file once; ``RobotsFile.for_agent`` chooses and merges the groups for one product token once;
``AgentRules.verdict`` then answers for any number of URLs. Verdicts for one rule are one shared value.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from comity.model.robots import Confidence, RobotsVerdict
from comity.rules.ledger_chain import content_digest
from comity.rules.robots.match import RuleIndex
from comity.rules.robots.normalize import normalized_target
from comity.rules.robots.parse import ANY_AGENT, MAX_BYTES, Membership, WrittenRobots, WrittenRule, read_lines, readable
from comity.rules.user_agent import agent_token

_ROBOTS_PATH: Final = "/robots.txt"
_OWN_PATH_REASON: Final = "robots.txt itself may always be read (RFC 9309 §2.2.2)"
# Evidence is for reading: a rule or agent longer than this is cut.
_MAX_EVIDENCE_CHARACTERS: Final = 500
# An installation has one agent, or a few; more are answered without being remembered.
_MAX_REMEMBERED_AGENTS: Final = 8


class AgentRules:
    """The rules of one robots.txt for one product token."""

    __slots__ = ("_confidence", "_index", "_memberships", "_verdicts", "_written", "crawl_delay_seconds")

    def __init__(self, written: WrittenRobots, token: str) -> None:
        self._written = written
        own = written.memberships.get(token) if token else None
        # RFC 9309 §2.2.1: the "*" group counts only where no group names the token, however empty that one is.
        memberships = own or written.memberships.get(ANY_AGENT, [])
        self._memberships: list[Membership] = memberships
        self._index = RuleIndex(rule for membership in memberships for rule in written.groups[membership.group].rules)
        self.crawl_delay_seconds = _crawl_delay(written, memberships)
        self._confidence = Confidence.LOW if written.truncated else Confidence.HIGH
        # By line number, made when first given; 0 stands for no rule.
        self._verdicts: dict[int, RobotsVerdict] = {}

    def verdict(self, target: str) -> RobotsVerdict:
        """Decide for an absolute URL, or for a path with its query."""
        path = normalized_target(target)
        rule = self._index.deciding_rule(path)
        if rule is not None and not rule.allowed and path == _ROBOTS_PATH:
            return RobotsVerdict(True, _OWN_PATH_REASON, crawl_delay_seconds=self.crawl_delay_seconds)
        line_number = rule.line_number if rule else 0
        known = self._verdicts.get(line_number)
        if known is None:
            known = self._verdicts[line_number] = self._verdict(rule)
        return known

    def disallowed(self, most: int = 1000) -> list[str]:
        """List the Disallow patterns of the groups in force, as written, for people to look at."""
        patterns = (
            _evidence(rule.pattern)
            for membership in self._memberships
            for rule in self._written.groups[membership.group].rules
            if not rule.allowed
        )
        return list(islice(patterns, most))

    def _verdict(self, rule: WrittenRule | None) -> RobotsVerdict:
        """Put a rule, or the want of one, into words."""
        if not self._memberships:
            reason = "no group of robots.txt applies to this agent"
            return RobotsVerdict(True, reason, confidence=self._confidence)
        line_number = rule.line_number if rule else 0
        above = bisect_right(self._memberships, line_number, key=lambda each: each.line_number)
        membership = self._memberships[max(above - 1, 0)]
        text = _evidence(self._written.line(rule.line_number)) if rule else None
        group = f"the group at line {membership.line_number}"
        return RobotsVerdict(
            allowed=rule.allowed if rule else True,
            reason=f"robots.txt line {line_number}: {text}" if rule else f"no rule of {group} of robots.txt matches",
            rule=text,
            line_number=rule.line_number if rule else None,
            agent=_evidence(membership.agent),
            agent_line_number=membership.line_number,
            crawl_delay_seconds=self.crawl_delay_seconds,
            confidence=self._confidence,
        )


@dataclass(slots=True)
class RobotsFile:
    """A parsed robots.txt."""

    version: str
    """The digest of the part that is read: equal versions hold equal rules."""
    sitemaps: tuple[str, ...]
    """Sitemap addresses as given, without repeats; they belong to no group."""
    truncated: bool
    """Whether a part behind the parsing limit was left unread."""
    _written: WrittenRobots = field(repr=False)
    _agents: dict[str, AgentRules] = field(default_factory=dict, repr=False)

    def for_agent(self, agent: str) -> AgentRules:
        """Gather the rules for a user agent by its product token; remembered, so asking again is cheap."""
        token = agent_token(agent)
        rules = self._agents.get(token)
        if rules is None:
            rules = AgentRules(self._written, token)
            if len(self._agents) < _MAX_REMEMBERED_AGENTS:
                self._agents[token] = rules
        return rules

    def verdict(self, agent: str, target: str) -> RobotsVerdict:
        """Decide for one agent and one absolute URL or path with query."""
        return self.for_agent(agent).verdict(target)


def parsed_part(body: bytes, max_bytes: int = MAX_BYTES) -> bytes:
    """As much of a file as its rules depend on: one more byte than is read, which tells whether a line was cut."""
    return body[: max_bytes + 1]


def parse_robots(body: bytes, *, max_bytes: int = MAX_BYTES, version: str | None = None) -> RobotsFile:
    """Parse robots.txt bytes, whatever they hold; never raises."""
    written = read_lines(body, max_bytes)
    return RobotsFile(
        version=version or content_digest(parsed_part(body, max_bytes)),
        sitemaps=written.sitemaps,
        truncated=written.truncated,
        _written=written,
    )


def _crawl_delay(written: WrittenRobots, memberships: list[Membership]) -> float | None:
    """Find the longest delay that the agent's groups ask for."""
    delays = (written.groups[membership.group].crawl_delay_seconds for membership in memberships)
    return max((delay for delay in delays if delay is not None), default=None)


def _evidence(text: str) -> str:
    """Make foreign bytes readable and short."""
    shown = readable(text)
    return shown if len(shown) <= _MAX_EVIDENCE_CHARACTERS else shown[:_MAX_EVIDENCE_CHARACTERS] + "…"
