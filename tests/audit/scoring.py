"""How the findings of an audit compare with the labels of a site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.audit.sites.labelled import Fault

# Findings about links: either end of the link can be called the page that has the fault.
_HELD = frozenset({"broken_link", "link_to_redirect", "http_link"})


class FoundPage(NamedTuple):
    """A page of a finding, as the JSON of a report has it."""

    url: str
    detail: str = ""
    sources: Sequence[str] = ()


@dataclass(slots=True)
class Score:
    """What was found, missed and too much, by code."""

    hits: Counter[str] = field(default_factory=Counter)
    missed: list[Fault] = field(default_factory=list)
    wrong: list[Fault] = field(default_factory=list)
    right: Counter[str] = field(default_factory=Counter)
    """Pages of findings that a label speaks of; one label may speak of several."""

    def add(self, other: Score) -> None:
        self.hits += other.hits
        self.right += other.right
        self.missed += other.missed
        self.wrong += other.wrong

    def codes(self) -> list[str]:
        return sorted({*self.hits, *(each.code for each in (*self.missed, *self.wrong))})

    def precision(self, code: str | None = None) -> float | None:
        """The share of what was found that is right; None if nothing was found."""
        right = self.right[code] if code else self.right.total()
        found = right + sum(code in (None, each.code) for each in self.wrong)
        return right / found if found else None

    def recall(self, code: str | None = None) -> float | None:
        """The share of the labels that was found; None if there is none."""
        hits = self.hits[code] if code else self.hits.total()
        wanted = hits + sum(code in (None, each.code) for each in self.missed)
        return hits / wanted if wanted else None


def score(labels: Iterable[Fault], findings: Iterable[tuple[str, Iterable[FoundPage]]]) -> Score:
    """Compare findings with labels.

    A label names the page that a finding is about; of a link it may also name a page that holds the link. Addresses are
    equal with and without a final slash.
    """
    wanted = {Fault(str(code), _bare(url)) for code, url in labels}
    found: set[Fault] = set()
    result = Score()
    for code, pages in findings:
        about: dict[str, set[str]] = {}
        for page in pages:
            about.setdefault(_bare(page.url), set()).update(map(_bare, page.sources))
        for url, sources in about.items():
            named = {Fault(str(code), url)} & wanted
            if not named and str(code) in _HELD:
                named = {Fault(str(code), each) for each in sources} & wanted
            found |= named
            if named:
                result.right[str(code)] += 1
            else:
                result.wrong.append(Fault(str(code), url))
    result.missed = sorted(wanted - found)
    result.hits = Counter(each.code for each in found)
    return result


def _bare(url: str) -> str:
    return url.partition("#")[0].rstrip("/")
