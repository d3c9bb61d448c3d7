"""A folder or archive of labelled pages (NAME.html beside NAME.json), and how a reading of them is scored.

A label says `url`, `content_type`, `language`, `kind` and `postings`, each with `title`, `apply_url` (null where an
item has no link of its own; `apply_url_any` lists others that are as right), `location_raw` and `deadline` (a day).
"""

from __future__ import annotations

import json
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from comity.extract.jobs.read import read_listing
from comity.model.job import JobFound, SourceType
from comity.rules.jobs.normalize import normalize
from comity.rules.jobs.place import locate

FIELDS = ("apply_url", "location_raw", "deadline")
Posting = dict[str, str | None]


@dataclass(frozen=True)
class Page:
    name: str
    body: bytes
    url: str
    content_type: str | None
    language: str
    kind: str
    postings: list[Posting]

    def read(self, now: datetime) -> list[Posting]:
        """What we find on the page, in the words of the labels."""
        listing = read_listing(self.body, url=self.url, content_type=self.content_type, source_type=SourceType.HTML)
        return [_shown(found, self.url, now) for found in listing.jobs]


@dataclass
class Sum:
    """Sums over pages: `right` has all titles and no other; in `full` every field agrees, too."""

    pages: int = 0
    right: int = 0
    full: int = 0
    wanted: int = 0
    found: int = 0
    hit: int = 0
    fields: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FIELDS, 0))

    def add(self, wanted: list[Posting], found: list[Posting]) -> list[str]:
        """Count one page; return what differs."""
        pairs, missing, extra = _matched(wanted, found)
        bad = [(w, f, g) for w, g in pairs for f in FIELDS if not _same(f, w, g)]
        self.pages += 1
        self.right += not missing and not extra
        self.full += not missing and not extra and not bad
        self.wanted += len(wanted)
        self.found += len(found)
        self.hit += len(pairs)
        for name in FIELDS:
            self.fields[name] += sum(_same(name, w, g) for w, g in pairs)
        return [
            *(f"missing {w['title']!r}" for w in missing),
            *(f"extra {g['title']!r} {g['apply_url']}" for g in extra),
            *(f"{f} of {w['title']!r}: wanted {w.get(f)!r}, found {g.get(f)!r}" for w, f, g in bad),
        ]

    def row(self) -> str:
        shares = [
            (self.hit, self.found),
            (self.hit, self.wanted),
            *((self.fields[name], self.hit) for name in FIELDS),
        ]
        said = " ".join(f"{part / whole:9.3f}" if whole else "        –" for part, whole in shares)
        return f"{self.pages:5} {self.right:5} {self.full:5} {self.wanted:6} {said}"


def pages_of(folder: Path) -> Iterator[Page]:
    """Every labelled page of a folder or of a zip archive, by name."""
    root = zipfile.Path(folder) if folder.suffix == ".zip" else folder
    for name in sorted(path.name for path in root.iterdir() if path.name.endswith(".html")):
        stem = name.removesuffix(".html")
        label = json.loads((root / f"{stem}.json").read_text(encoding="utf-8"))
        yield Page(
            name=stem,
            body=(root / name).read_bytes(),
            url=label["url"],
            content_type=label["content_type"],
            language=label["language"],
            kind=label["kind"],
            postings=label["postings"],
        )


def _shown(found: JobFound, url: str, now: datetime) -> Posting:
    posting = normalize(found, org_name="", org_type=None, source_country=None, now=now)
    own = found.apply_url if _bare(found.apply_url) != _bare(url) else None
    # A label says the day as the page does: where the job is, or, where the page names an hour, in UTC.
    zones = (ZoneInfo(locate(found.location_raw, found.country_raw).zone or "UTC"), ZoneInfo("UTC"))
    days = (
        [posting.deadline.astimezone(zone).date().isoformat() for zone in zones] if posting.deadline else [None, None]
    )
    return {
        "title": found.title,
        "apply_url": own,
        "location_raw": found.location_raw or None,
        "deadline": days[0],
        "deadline_utc": days[1],
    }


def _bare(url: str) -> str:
    return url.partition("#")[0].rstrip("/")


def _fold(text: str | None) -> str:
    return " ".join(unicodedata.normalize("NFC", text or "").split())


def _same(name: str, wanted: Posting, found: Posting) -> bool:
    if name == "apply_url":
        others: object = wanted.get("apply_url_any")
        right = [wanted.get(name), *(others if isinstance(others, list) else ())]
        return any(_address(one) == _address(found.get(name)) for one in right) or (
            found.get(name) is None and isinstance(others, list)
        )
    if name == "deadline" and wanted.get(name) and wanted[name] == found.get("deadline_utc"):
        return True
    return _fold(wanted.get(name)) == _fold(found.get(name))


def _address(url: str | None) -> str:
    if not url:
        return ""
    parts = urlsplit(_fold(url))
    return urlunsplit(
        (
            parts.scheme.lower(),
            parts.netloc.lower(),
            unquote(parts.path) or "/",
            unquote(parts.query),
            unquote(parts.fragment),
        )
    )


def _matched(
    wanted: list[Posting], found: list[Posting]
) -> tuple[list[tuple[Posting, Posting]], list[Posting], list[Posting]]:
    """Pairs by title; of equal titles the pair whose fields agree most."""
    by_title: dict[str, list[Posting]] = defaultdict(list)
    for one in found:
        by_title[_fold(one["title"])].append(one)
    pairs: list[tuple[Posting, Posting]] = []
    missing: list[Posting] = []
    for label in wanted:
        alike = by_title.get(_fold(label["title"]))
        if not alike:
            missing.append(label)
            continue
        best = max(alike, key=lambda one, label=label: sum(_same(name, label, one) for name in FIELDS))  # type: ignore[misc]
        alike.remove(best)
        pairs.append((label, best))
    return pairs, missing, [one for alike in by_title.values() for one in alike]
