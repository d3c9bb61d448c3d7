"""Nouns of robots.txt: a verdict on one URL, and what a fetch of the file itself means.

These values are stored as evidence, so each carries the words and line numbers that led to it.
"""

from enum import StrEnum

from comity.model.dataclass import dataclass
from comity.model.fetch import FailureKind


class Confidence(StrEnum):
    """Whether a verdict rests on a robots.txt that was read completely."""

    HIGH = "high"
    LOW = "low"


class RobotsAccess(StrEnum):
    """What the response to a robots.txt request permits on its origin (RFC 9309 §2.3.1)."""

    PARSE = "parse"
    """The body was received: its rules decide."""
    UNCHANGED = "unchanged"
    """Not modified: the rules read before still decide."""
    ALLOW_ALL = "allow_all"
    DISALLOW_ALL = "disallow_all"


class RobotsUnreachable(StrEnum):
    """The operator's choice for a robots.txt that cannot be read."""

    DISALLOW = "disallow"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """Whether robots.txt lets one URL be fetched, with the evidence."""

    allowed: bool
    reason: str
    """One sentence for people."""
    rule: str | None = None
    """The deciding line as written, without its comment; None when no rule matched."""
    line_number: int | None = None
    agent: str | None = None
    """The User-agent value, as written, that put the deciding group in force."""
    agent_line_number: int | None = None
    crawl_delay_seconds: float | None = None
    confidence: Confidence = Confidence.HIGH


@dataclass(frozen=True, slots=True)
class RobotsReading:
    """What one attempt to read an origin's robots.txt established; the robots cache stores it."""

    access: RobotsAccess
    confidence: Confidence
    reason: str
    http_status: int | None = None
    failure: FailureKind | None = None
    """Why there was no answer, where a request failed."""
    lacks_tls: bool = False
    """Whether it failed because nothing speaks TLS at its https address."""

    def verdict(self) -> RobotsVerdict | None:
        """Give the verdict for every URL of the origin, or None where the file's own rules decide."""
        if self.access in (RobotsAccess.PARSE, RobotsAccess.UNCHANGED):
            return None
        allowed = self.access is RobotsAccess.ALLOW_ALL
        return RobotsVerdict(allowed=allowed, reason=self.reason, confidence=self.confidence)
