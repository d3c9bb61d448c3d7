"""What the functions of SQL request: pages, sitemaps and tables of pages, each crawled as a statement is."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

import duckdb

from comity.model.errors import BadAddress, BadInput, ComityError
from comity.model.frontier import FrontierEntry
from comity.model.sitemap import PageHints
from comity.rules.responses import without_tls
from comity.rules.sql.seeds import QuerySeed, SeedKind, read_query_seed
from comity.rules.surt import surt_key
from comity.run.sql.filling import Filling, fill
from comity.run.sql.options import check_robots_ignored
from comity.run.sql.statement import StatementPlan
from comity.settings import Settings
from comity.store.sitemap_files import SitemapFiles
from comity.store.sql_table import SqlTable

Row = dict[str, Any]
MOST_LISTED: Final = 1_000_000
_VARIABLE: Final = re.compile(r"\s*(?:[\w.#-]+@)?js=")


class PageTerms(NamedTuple):
    """How a call requests its pages, where it says so itself; these replace what `SET` said."""

    timeout_s: float | None = None
    user_agent: str | None = None
    delay_ms: float | None = None
    respects_robots: bool | None = None


class FunctionPages:
    """Crawls for the functions of one connection. `settings_of` gives the settings of a run by its name and terms."""

    def __init__(self, settings_of: Callable[[str, PageTerms, Sequence[QuerySeed]], Settings]) -> None:
        self._settings_of = settings_of

    def rows(self, urls: Sequence[str], terms: PageTerms) -> list[Row | None]:
        """The rows of URLs as a table has them, crawled together; None for what is not a URL."""
        if not urls:
            return []
        seeds = {url: _seed_of(url) for url in urls}
        wanted = tuple(QuerySeed(SeedKind.PAGE, *seed[1:]) for seed in seeds.values() if seed is not None)
        plan = self._plan(wanted, terms, lambda entries: [True] * len(entries))
        with closing(duckdb.connect(":memory:")) as apart:
            table = SqlTable(apart, "pages")
            table.prepare()
            fill(plan, Filling(table, Lock()))
            result = apart.execute("SELECT * FROM pages")
            names = [column[0] for column in result.description]
            found = {row[0]: dict(zip(names, row, strict=True)) for row in result.fetchall()}
        return [_row_of(seed, found) if (seed := seeds[url]) is not None else None for url in urls]

    def sitemap(self, address: str, terms: PageTerms, *, is_recursive: bool = True) -> list[Row]:
        """What a sitemap, or the sitemaps of a site, name; no page is requested."""
        found: dict[str, Row] = {}

        def note(entries: Sequence[FrontierEntry]) -> Sequence[bool]:
            for entry in entries:
                if entry.depth:
                    found.setdefault(entry.url, _listed(entry))
            return [False] * len(entries)

        seed = _seed_of(address)
        if seed is None:
            return []
        kind = SeedKind.SITEMAP if seed.kind is SeedKind.PAGE else seed.kind
        plan = self._plan((QuerySeed(kind, *seed[1:]),), terms, note)
        if not is_recursive and kind is SeedKind.SITEMAP:
            plan = replace(plan, settings=plan.settings.model_copy(update={"max_sitemaps": 1}))
        summary = fill(plan, Filling(None, Lock()))
        if not found and summary.unreachable:
            for sentence in summary.warnings():
                warnings.warn(sentence, stacklevel=2)
        return list(found.values())

    def _plan(
        self,
        seeds: tuple[QuerySeed, ...],
        terms: PageTerms,
        admits: Callable[[Sequence[FrontierEntry]], Sequence[bool]],
    ) -> StatementPlan:
        name = f"functions_{uuid4().hex}"
        settings = self._settings_of(name, terms, seeds)
        ignores_robots = terms.respects_robots is False
        if ignores_robots:
            check_robots_ignored("respect_robots", seeds, settings.allow_networks)
        return StatementPlan(settings, name, seeds, admits, is_forgotten=True, ignores_own_robots=ignores_robots)

    @contextmanager
    def html_table(self, url: str, css: str, number: int, terms: PageTerms) -> Iterator[Path]:
        """A table of a page as a CSV file, which is deleted at the end; `ComityError` if there is none."""
        (page,) = self.rows([url], terms)
        if page is None or page["error"] is not None or not page["body"]:
            why = page["error"] if page is not None else "it is not a URL, or it was not requested"
            raise ComityError(f"{url} could not be read: {why}")
        # Late: a CRAWL statement needs neither.
        from comity.extract.html_functions import list_table, variable_table
        from comity.extract.html_tables import read_table

        try:
            variable = _variable_of(css)
            if variable is None:
                table = read_table(page["body"], css, number) or list_table(page["body"], css, number)
            else:
                table = variable_table(page["body"], variable)
        except ValueError as problem:  # of the selector
            raise BadInput("read_html", str(problem)) from None
        if table is None or not table.names:
            what = f"variable {variable}" if variable is not None else f"table or list that {css!r} matches"
            raise ComityError(f"{url} has no {what}")
        with TemporaryDirectory(prefix="comity-sql-") as folder:
            path = Path(folder) / "table.csv"
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(table.names)
                writer.writerows(table.rows)
            yield path


def listed_urls(files: SitemapFiles) -> Iterator[tuple[Any, ...]]:
    """The URLs of kept sitemaps, each once, with what they say of it and when they were requested."""
    from comity.extract.sitemap.read import iter_entries  # late, too

    found: set[str] = set()
    for file in files.all():
        asked_at = datetime.fromtimestamp(file.asked_at, UTC)
        for chunk in iter_entries(file.body, content_type=file.content_type):
            for loc, lastmod, changefreq, priority, *_more in chunk.entries:
                if loc in found:
                    continue
                if len(found) >= MOST_LISTED:
                    return
                found.add(loc)
                yield (
                    _hostname(loc),
                    surt_key(loc),
                    loc,
                    lastmod,
                    str(changefreq) if changefreq else None,
                    priority,
                    asked_at,
                )


def _hostname(loc: str) -> str:
    """The host that an entry of a sitemap names; empty if it names none that can be read."""
    try:
        return urlsplit(loc).hostname or ""
    except ValueError:
        return ""


def _variable_of(css: str) -> str | None:
    """The name after `js=` or `script@js=`; None for a selector, whose strings may contain the same letters."""
    asked = _VARIABLE.match(css)
    return css[asked.end() :] if asked is not None else None


def _listed(entry: FrontierEntry) -> Row:
    hints = entry.hints or PageHints(None, None, None)
    changefreq = str(hints.changefreq) if hints.changefreq is not None else None
    return {"url": entry.url, "lastmod": hints.lastmod, "changefreq": changefreq, "priority": hints.priority}


def _row_of(seed: QuerySeed, found: Mapping[str, Row]) -> Row | None:
    """The row of a URL; without a scheme, it is that of the page by http if there is no https."""
    row = found.get(seed.address.url)
    return row if row is not None or seed.names_scheme else found.get(without_tls(seed.address.url) or "")


def _seed_of(text: str) -> QuerySeed | None:
    try:
        return read_query_seed(text)
    except BadAddress:
        return None
