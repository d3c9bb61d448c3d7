"""The labelled pages of tests/corpus/jobs, and how a reading of them is scored; shared with the tests."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from comity.extract.jobs.read import read_listing
from comity.model.job import Listing, SourceType
from comity.model.parser_hint import HintProblem, ParserHint
from comity.rules.parser_hint import parse_hint

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "corpus" / "jobs"


@dataclass(frozen=True)
class LabelledPage:
    name: str
    body: bytes
    url: str
    content_type: str | None
    source_type: SourceType
    hint: ParserHint | None
    held_out: bool
    method: str
    kind: str
    next_url: str | None
    jobs: list[dict[str, str]]

    def read(self) -> Listing:
        return read_listing(
            self.body, url=self.url, content_type=self.content_type, source_type=self.source_type, hint=self.hint
        )


@dataclass
class Score:
    """Sums over pages; a posting counts as found if title and address are both right."""

    pages: int = 0
    expected: int = 0
    found: int = 0
    right: int = 0
    places_right: int = 0
    deadlines_right: int = 0
    kinds_right: int = 0
    next_right: int = 0
    misses: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.expected if self.expected else 1.0

    def add(self, page: LabelledPage, listing: Listing) -> None:
        wanted = Counter((job["title"], job["apply_url"]) for job in page.jobs)
        given = Counter((job.title, job.apply_url) for job in listing.jobs)
        both = wanted & given
        fields = {(job["title"], job["apply_url"]): job for job in page.jobs}
        self.pages += 1
        self.expected += wanted.total()
        self.found += given.total()
        self.right += both.total()
        self.kinds_right += listing.kind == page.kind
        self.next_right += listing.next_url == page.next_url
        for job in listing.jobs:
            label = fields.get((job.title, job.apply_url))
            if label is not None:
                self.places_right += job.location_raw == label["location_raw"]
                self.deadlines_right += job.deadline_raw == label["deadline_raw"]
                if (job.location_raw, job.deadline_raw) != (label["location_raw"], label["deadline_raw"]):
                    self.misses.append(f"{page.name}: {job.title}: {job.location_raw!r} {job.deadline_raw!r}")
        self.misses += [f"{page.name}: missed {title} {url}" for title, url in wanted - given]
        self.misses += [f"{page.name}: invented {title} {url}" for title, url in given - wanted]
        if listing.kind != page.kind:
            self.misses.append(f"{page.name}: {listing.kind} instead of {page.kind}")
        if listing.next_url != page.next_url:
            self.misses.append(f"{page.name}: next {listing.next_url} instead of {page.next_url}")


def labelled_pages() -> list[LabelledPage]:
    """Every page of the corpus, by name."""
    return [_page(path) for path in sorted(CORPUS.glob("*.expected.json"))]


def _page(path: Path) -> LabelledPage:
    label = json.loads(path.read_text())
    name = path.name.removesuffix(".expected.json")
    body = next(CORPUS / f"{name}.{end}" for end in ("html", "json", "xml") if (CORPUS / f"{name}.{end}").is_file())
    hint = parse_hint(json.dumps(label["hint"])) if "hint" in label else None
    assert not isinstance(hint, HintProblem), hint
    return LabelledPage(
        name=name,
        body=body.read_bytes(),
        url=label["url"],
        content_type=label["content_type"],
        source_type=SourceType(label["source_type"]),
        hint=hint,
        held_out=label["set"] == "held-out",
        method=label["method"] or "none",
        kind=label["kind"],
        next_url=label["next_url"],
        jobs=label["jobs"],
    )
