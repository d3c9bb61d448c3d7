"""The robots.txt of one origin as it is in force now: read, confirmed, or judged by its absence."""

from __future__ import annotations

from dataclasses import dataclass

from comity.model.fetch import FailureKind
from comity.model.host import HostError
from comity.model.robots import RobotsAccess, RobotsReading, RobotsVerdict
from comity.rules.robots.verdict import AgentRules, RobotsFile


@dataclass(frozen=True, slots=True)
class RobotsInForce:
    """Decides about every URL of one origin until it expires."""

    origin: str
    reading: RobotsReading
    file: RobotsFile | None
    rules: AgentRules | None
    expires_at: float

    @property
    def version(self) -> str | None:
        """The digest of the file that was read."""
        return self.file.version if self.file is not None else None

    @property
    def crawl_delay_s(self) -> float | None:
        """The delay between requests that this origin asks for."""
        return self.rules.crawl_delay_seconds if self.rules is not None else None

    @property
    def is_unreachable(self) -> bool:
        """Whether everything is disallowed only because the file could not be read."""
        return self.reading.access is RobotsAccess.DISALLOW_ALL

    @property
    def failure(self) -> HostError | None:
        """Why the file could not be read."""
        if not self.is_unreachable:
            return None
        status, failure = self.reading.http_status, self.reading.failure
        code = f"http_{status}" if status is not None else str(failure or "robots_unreachable")
        sentence = self.reading.reason
        if failure is FailureKind.DNS_FAILURE:
            sentence = "the host's name could not be resolved"
        elif failure is not None and not self.lacks_tls:
            sentence = f"the host could not be reached ({failure})"
        return HostError(code, status, sentence)

    @property
    def lacks_tls(self) -> bool:
        """Whether nothing speaks TLS where the file should be."""
        return self.reading.lacks_tls

    def verdict(self, path: str) -> RobotsVerdict:
        """Decide for a path with its query."""
        if self.rules is not None:
            return self.rules.verdict(path)
        verdict = self.reading.verdict()
        assert verdict is not None
        return verdict
