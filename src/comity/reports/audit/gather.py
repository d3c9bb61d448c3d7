"""The folder of an audit: its results, in tables that can be read without the state.

`pages/` has the pages as every crawl stores them. From them, and from what the state knows of the audit, come the files
of `tables/`, which `stored_audits` reads: pages and links in a stable order, robots.txt files, sitemaps, listed URLs,
and decisions. All of it can be made again from the same parts, so an audit that was killed here is gathered once more.

An audit of ten thousand pages has a million links. They pass through here one page at a time, and no database takes
part: DuckDB alone would need more memory than the rest of the report. What is held of a URL is the URL and a few
numbers, and of a link the number of its target.
"""

from __future__ import annotations

import heapq
import json
import shutil
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from errno import EEXIST, ENOTEMPTY
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple
from uuid import UUID

import zstandard

from comity.database import audits, robots, sitemaps
from comity.database.connection import Database
from comity.database.frontier import lists
from comity.model.audit import AuditedRobots, SitemapFile
from comity.model.page import FOLLOWED
from comity.model.sitemap import SitemapState

PAGES: Final = "pages"
TABLES: Final = "tables"
LISTED: Final = "listed.jsonl"
"""What sitemaps list, a line for each, as it is found; lines may repeat."""
COMPRESSED: Final = ".jsonl.zst"
LAST_LINE: Final = "null"
_ROWS_AT_ONCE: Final = 500
_MOST_LEVELS: Final = 1_000
_MOST_REPLACED: Final = 5  # times that another process may put tables in between
_LINES_AT_ONCE: Final = 20_000  # that are sorted in memory
_LEVEL: Final = 1  # of compression: what is written here is read once or twice
# Links that lead to a page of the site, whether or not it was visited.
_WAYS: Final = frozenset({FOLLOWED, "blocked_by_robots", "too_deep"})
_NOWHERE: Final = -1
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

PAGE_COLUMNS: Final = (
    "url", "http_status", "error", "depth", "final_url", "content_type", "content_hash", "first_byte_ms", "elapsed_ms",
    "wire_bytes", "body_size", "headers", "hops", "facts",
)  # fmt: skip
"""In the order of a line of the table of pages, which says after them whether a sitemap lists the page."""
_AS_JSON: Final = 3  # the last columns are JSON already

ReadPages = Callable[[Sequence[str]], Iterator[tuple[Any, ...]]]
"""Reads columns of the stored pages, page by page; always in the same order."""


class AuditRuns(NamedTuple):
    """How the state identifies an audit."""

    list_id: UUID
    run_ids: tuple[UUID, ...]


def gather(database: Database, audit: AuditRuns, folder: Path, read_pages: ReadPages, start: str) -> None:
    """Write the tables of an audit, in place of any that are there."""
    made = Path(tempfile.mkdtemp(prefix=".tables-", dir=folder))
    try:
        _write_lines(made / "decisions.jsonl", decisions(database, audit))
        _write_lines(made / "robots.jsonl", (row._asdict() for row in robots_files(database, audit)))
        _write_lines(made / "sitemaps.jsonl", (row._asdict() for row in sitemap_files(database, audit)))
        _write_listed(made, folder / LISTED)
        site = _Site(read_pages, _refused(database, audit))
        site.mark_listed(read_listed(folder / LISTED))
        with (made / ".spool").open("w+b") as file:
            pages = site.spool_pages(read_pages, file)
            site.find_depths(start)
            site.write_tables(made, pages)
        (made / ".spool").unlink()
        replace_tables(folder / TABLES, made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def replace_tables(tables: Path, made: Path) -> None:
    """Put new tables in place of the old ones. Two processes that end one audit at once may both do so."""
    for attempt in range(_MOST_REPLACED):
        shutil.rmtree(tables, ignore_errors=True)
        try:
            made.rename(tables)
        except OSError as problem:
            if problem.errno not in (ENOTEMPTY, EEXIST) or attempt == _MOST_REPLACED - 1:
                raise
        else:
            return


def decisions(database: Database, audit: AuditRuns) -> Iterator[dict[str, Any]]:
    """The decisions by robots.txt, by URL."""
    with database.read() as connection:
        host_ids = [row.id for row in audits.hosts_of(connection, audit.list_id)]
    after = ""
    while True:
        with database.read() as connection:
            rows = audits.decisions(connection, host_ids, audit.run_ids, after, _ROWS_AT_ONCE)
        # The last URL of a full batch may have a second row beyond it: it comes with the next.
        last = rows[-1].url if len(rows) >= _ROWS_AT_ONCE and rows[-1].url != rows[0].url else None
        for row in rows:
            if row.url != last:
                content = row.content if isinstance(row.content, dict) else {}
                yield {
                    "url": row.url,
                    "allowed": bool(content.get("allowed")),
                    "matched_rule": content.get("matchedRule"),
                    "line": content.get("line"),
                    "crawl_delay": content.get("crawlDelay"),
                    "timestamp": content.get("timestamp") or "",
                    "confidence": row.confidence,
                    "reason": content.get("reason"),
                }
                after = row.url
        if last is None:
            return


def _refused(database: Database, audit: AuditRuns) -> Iterator[dict[str, Any]]:
    """URLs that were decided about and never requested, with their reasons; a URL may occur twice."""
    for decision in decisions(database, audit):
        if not decision["allowed"]:
            why = decision["matched_rule"] or decision["reason"]
            yield {"url": decision["url"], "error": f"blocked_by_robots: {why}"}
    after = 0
    while True:
        with database.read() as connection:
            rows = lists.not_asked(connection, audit.list_id, after, _ROWS_AT_ONCE)
        for number, url, kind, content in rows:
            after = number
            said = content if isinstance(content, dict) else {}
            code, reason = said.get("code") or kind, said.get("matchedRule") or said.get("reason")
            yield {"url": url, "error": f"{code}: {reason or 'not requested'}"}
        if len(rows) < _ROWS_AT_ONCE:
            return


def robots_files(database: Database, audit: AuditRuns) -> list[AuditedRobots]:
    """The robots.txt of each origin of the site that was asked for it."""
    with database.read() as connection:
        hosts = [row.domain for row in audits.hosts_of(connection, audit.list_id)]
        rows = robots.of_hosts(connection, hosts)
    return [
        AuditedRobots(
            row.origin,
            row.http_status,
            bytes(row.raw).decode("utf-8", "replace") if row.raw is not None else row.robots_txt,
            row.detail or "robots.txt was not read",
        )
        for row in rows
    ]


def sitemap_files(database: Database, audit: AuditRuns) -> list[SitemapFile]:
    """The sitemaps of the site; one whose address was only guessed counts if it is there."""
    with database.read() as connection:
        keys = [row.key for row in audits.hosts_of(connection, audit.list_id)]
        found = [row for key in keys for row in sitemaps.of_host(connection, key)]
    return [
        SitemapFile(row.url, str(row.state), row.entries, row.detail)
        for row in sorted(found)
        if row.state is SitemapState.READ or not row.is_guess
    ]


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", errors="replace") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_listed(made: Path, path: Path) -> None:
    """What sitemaps list, each entry once, in order: sorted in pieces that fit into memory, then merged."""
    pieces: list[Path] = []
    found = read_listed(path)
    while some := list(islice(found, _LINES_AT_ONCE)):
        pieces.append(made / f".listed-{len(pieces)}")
        with pieces[-1].open("w", encoding="utf-8") as file:
            file.writelines(_encode(row) + "\n" for row in sorted(some))
    with ExitStack() as opened, LineWriter(made / f"listed{COMPRESSED}") as lines:
        files = [opened.enter_context(piece.open(encoding="utf-8")) for piece in pieces]
        last: list[Any] | None = None
        for row in heapq.merge(*((json.loads(line) for line in file) for file in files)):
            if row != last:
                lines.write(_encode(row))
            last = row
    for piece in pieces:
        piece.unlink()


def read_listed(path: Path) -> Iterator[list[Any]]:
    """Entries of sitemaps as they were noted: address, sitemap, translations. A line cut off by a kill is left out."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and row.get("url"):
                yield [str(row["url"]), str(row.get("sitemap")), row.get("alternates") or []]


class LineWriter:
    """Writes lines of JSON to a compressed file; the last is `LAST_LINE`, by which a reader knows that it is whole."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._stream = zstandard.ZstdCompressor(level=_LEVEL).stream_writer(self._file)

    def __enter__(self) -> LineWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_problem: object) -> None:
        if kind is None:
            self.write(LAST_LINE)
        self._stream.close()  # type: ignore[no-untyped-call]  # and the file with it

    def write(self, line: str) -> None:
        """Add a line."""
        self._stream.write(line.encode("utf-8", "replace") + b"\n")


class _Spool:
    """Pieces of text in a file, which are read again in another order."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self._decompressor = zstandard.ZstdDecompressor()
        self._places = array("Q", [0])

    def add(self, text: str) -> int:
        """Keep a piece; returns its number."""
        piece = self._compressor.compress(text.encode("utf-8", "replace"))
        self._file.write(piece)
        self._places.append(self._places[-1] + len(piece))
        return len(self._places) - 2

    def read(self, number: int) -> str:
        """Read a piece again."""
        first, end = self._places[number], self._places[number + 1]
        self._file.seek(first)
        return self._decompressor.decompress(self._file.read(end - first)).decode()


class _Site:
    """The URLs of an audit by number, and how they lead to one another."""

    def __init__(self, read_pages: ReadPages, refused: Iterable[dict[str, Any]]) -> None:
        self._numbers: dict[str, int] = {}
        for (url,) in read_pages(("url",)):
            self._numbers.setdefault(url, len(self._numbers))
        self._refused: dict[str, str] = {}
        for row in refused:
            url, error = row["url"], row["error"]
            if url not in self._numbers or url in self._refused:
                self._refused[url] = min(error, self._refused.get(url, error))
                self._numbers.setdefault(url, len(self._numbers))
        size = len(self._numbers)
        self._is_listed = bytearray(size)
        self._depths = array("i", [_NOWHERE]) * size
        self._stored_depths = array("i", [1]) * size
        self._first = array("Q", [0]) * size  # where the targets of a page begin
        self._count = array("I", [0]) * size
        self._targets = array("I")
        self._pieces = array("Q", [0]) * size
        self._outcomes: Counter[str] = Counter()

    def mark_listed(self, entries: Iterable[Sequence[Any]]) -> None:
        """Note which URLs sitemaps list."""
        for entry in entries:
            number = self._numbers.get(entry[0])
            if number is not None:
                self._is_listed[number] = 1

    def spool_pages(self, read_pages: ReadPages, file: BinaryIO) -> _Spool:
        """Read every page once: note where it leads, and put it aside, in two pieces with its links first."""
        spool = _Spool(file)
        for *values, links in read_pages((*PAGE_COLUMNS, "links")):
            url, depth, final_url = values[0], values[3], values[4]
            number = self._numbers[url]
            self._stored_depths[number] = depth if depth is not None else 1
            self._note_targets(number, links, final_url if final_url != url else None)
            self._pieces[number] = spool.add(f'{{"page":{_encode(url)},"links":{links}}}' if links else "")
            spool.add(",".join((*map(_encode, values[:-_AS_JSON]), *(each or "null" for each in values[-_AS_JSON:]))))
        return spool

    def _note_targets(self, number: int, links: str | None, redirects_to: str | None) -> None:
        """Note which URLs a page leads to; a redirect is a link to where it leads."""
        found: dict[int, None] = {}
        for link in json.loads(links) if links else ():
            outcome = link["outcome"]
            self._outcomes[outcome] += 1
            if outcome in _WAYS and (target := self._numbers.get(link["url"])) is not None:
                found[target] = None
        if redirects_to is not None and (target := self._numbers.get(redirects_to)) is not None:
            found[target] = None
        self._first[number] = len(self._targets)
        self._count[number] = len(found)
        self._targets.extend(found)

    def find_depths(self, start: str) -> None:
        """Find how many links each page is from the start, level by level."""
        if start not in self._numbers:
            return
        level = [self._numbers[start]]
        self._depths[level[0]] = 0
        for depth in range(1, _MOST_LEVELS):
            following: list[int] = []
            for number in level:
                first = self._first[number]
                for target in self._targets[first : first + self._count[number]]:
                    if self._depths[target] == _NOWHERE:
                        self._depths[target] = depth
                        following.append(target)
            level = following

    def write_tables(self, made: Path, pages: _Spool) -> None:
        """Write pages by depth and URL, links by page, and how many links had each outcome."""
        depths = [
            found if found != _NOWHERE else stored
            for found, stored in zip(self._depths, self._stored_depths, strict=True)
        ]
        with LineWriter(made / f"pages{COMPRESSED}") as lines:
            for url, number in sorted(self._numbers.items(), key=lambda item: (depths[item[1]], item[0])):
                is_listed = "true" if self._is_listed[number] else "false"
                if url in self._refused:
                    known = {"url": url, "error": self._refused[url], "wire_bytes": 0, "body_size": 0}
                    said = ",".join(_encode(known.get(name)) for name in PAGE_COLUMNS)
                else:
                    said = pages.read(self._pieces[number] + 1)
                lines.write(f"[{said},{depths[number]},{is_listed}]")
        with LineWriter(made / f"links{COMPRESSED}") as lines:
            for url, number in sorted(self._numbers.items()):
                if url not in self._refused and (said := pages.read(self._pieces[number])):
                    lines.write(said)
        (made / "outcomes.json").write_text(json.dumps(dict(sorted(self._outcomes.items()))), encoding="utf-8")
