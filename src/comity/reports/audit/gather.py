"""The folder of an audit: what came of it, in tables that can be read without the state.

`pages/` has the pages as every crawl stores them. From them, and from what the state knows of the audit, come the files
of `tables/`, which `stored` reads: pages and links in a stable order, robots.txt files, sitemaps, listed URLs and
decisions. All of it can be made again from the same parts, so an audit that was killed here is gathered once more.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from errno import EEXIST, ENOTEMPTY
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

import duckdb

from comity.database import audits, robots, sitemaps
from comity.database.connection import Database
from comity.database.frontier import lists
from comity.model.audit import RobotsFile, SitemapFile
from comity.model.sitemap import SitemapState

PAGES: Final = "pages"
TABLES: Final = "tables"
LISTED: Final = "listed.jsonl"
"""What sitemaps list, a line for each, as it is found; lines may repeat."""
_MEMORY_LIMITS: Final = ("48MB", "256MB", "2GB")
_ROWS_AT_ONCE: Final = 500
_MOST_LEVELS: Final = 1_000
_MOST_REPLACED: Final = 5  # times that another process may put tables in between
_ROW_GROUP: Final = 2_048  # rows; DuckDB's least
_LINES_AT_ONCE: Final = 2_000
_BUCKET_BYTES: Final = 2_000_000  # of a table that are sorted at once
_PAGE_COLUMNS: Final = """
    url VARCHAR, http_status INTEGER, error VARCHAR, depth INTEGER, final_url VARCHAR, content_type VARCHAR,
    content_hash VARCHAR, headers VARCHAR, hops VARCHAR, first_byte_ms DOUBLE, elapsed_ms DOUBLE, wire_bytes BIGINT,
    body_size BIGINT, facts VARCHAR, links VARCHAR
"""
_LISTED_TABLE: Final = """
SELECT DISTINCT url, sitemap FROM listed_lines ORDER BY url, sitemap
"""
# Links that lead to a page of the site, whether or not it was visited; a redirect is a link to where it leads.
_WAYS: Final = """
CREATE TABLE ways AS
SELECT hash(page) AS origin, hash(url) AS target FROM links
WHERE outcome IN ('followed', 'blocked_by_robots', 'too_deep')
UNION ALL SELECT hash(url), hash(final_url) FROM raw WHERE final_url <> url
"""
_NEXT_LEVEL: Final = """
INSERT INTO depths SELECT DISTINCT target, ? FROM ways JOIN depths ON key = origin AND depths.depth = ?
WHERE target NOT IN (SELECT key FROM depths)
"""
# Long rows are sorted a few megabytes at a time: first only what they are sorted by, and how long each is.
_LINK_PLAN: Final = """
CREATE TABLE link_plan AS
SELECT url, (sum(size) OVER (ORDER BY url) // getvariable('bucket_bytes'))::BIGINT AS bucket
FROM (SELECT url, length(links) AS size FROM raw WHERE links IS NOT NULL)
"""
# One row for each link, page by page, in the order of the page.
_SOME_LINKS: Final = """
SELECT page, link.url, link.text, link.rel, link.region, link.outcome FROM (
    SELECT page, unnest(from_json(
        links, '[{"url":"VARCHAR","text":"VARCHAR","rel":["VARCHAR"],"region":"VARCHAR","outcome":"VARCHAR"}]'
    )) AS link
    FROM (
        SELECT raw.url AS page, raw.links
        FROM raw JOIN (SELECT url FROM link_plan WHERE bucket = getvariable('bucket')) AS plan ON plan.url = raw.url
        WHERE raw.links IS NOT NULL ORDER BY raw.url
    )
)
"""
# Every URL that was visited, and those that were decided about and not visited.
_PAGE_PLAN: Final = """
CREATE TABLE page_plan AS
SELECT url, error, depth, in_sitemap,
    (sum(size) OVER (ORDER BY depth, url) // getvariable('bucket_bytes'))::BIGINT AS bucket
FROM (
    SELECT everything.url, error, coalesce(depths.depth, everything.depth, 1) AS depth, size,
        everything.url IN (SELECT url FROM listed) AS in_sitemap
    FROM (
        SELECT url, error, depth, 500 + coalesce(length(facts), 0) + coalesce(length(headers), 0) AS size FROM raw
        UNION ALL
        SELECT url, min(error) AS error, 1 AS depth, 500 AS size FROM refused
        WHERE url NOT IN (SELECT url FROM raw) GROUP BY url
    ) AS everything
    LEFT JOIN depths ON depths.key = hash(everything.url)
)
"""
_SOME_PAGES: Final = """
SELECT plan.url, http_status AS status, plan.error, plan.depth, final_url, content_type, content_hash, headers, hops,
    first_byte_ms, elapsed_ms, coalesce(wire_bytes, 0) AS wire_bytes, coalesce(body_size, 0) AS body_size, in_sitemap,
    facts
FROM raw RIGHT JOIN (SELECT * FROM page_plan WHERE bucket = getvariable('bucket')) AS plan ON plan.url = raw.url
ORDER BY plan.depth, plan.url
"""


class AuditRuns(NamedTuple):
    """What the state knows an audit by."""

    list_id: UUID
    run_ids: tuple[UUID, ...]


def gather(database: Database, audit: AuditRuns, folder: Path, parts: Sequence[Path], start: str) -> None:
    """Write the tables of an audit, in place of any that are there."""
    made = Path(tempfile.mkdtemp(prefix=".tables-", dir=folder))
    try:
        _write_lines(made / "decisions.jsonl", decisions(database, audit))
        _write_lines(made / "refused.jsonl", _refused(database, audit))
        _write_lines(made / "robots.jsonl", (row._asdict() for row in robots_files(database, audit)))
        _write_lines(made / "sitemaps.jsonl", (row._asdict() for row in sitemap_files(database, audit)))
        _write_tables(made, folder, parts, start)
        (made / "refused.jsonl").unlink()
        _replace(folder / TABLES, made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _replace(tables: Path, made: Path) -> None:
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
    """The decisions by robots.txt, by URL (S2)."""
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
    """URLs that were decided about and never requested, with their reasons; an URL may come twice."""
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


def robots_files(database: Database, audit: AuditRuns) -> list[RobotsFile]:
    """The robots.txt of each origin of the site that was asked for it."""
    with database.read() as connection:
        hosts = [row.domain for row in audits.hosts_of(connection, audit.list_id)]
        rows = robots.of_hosts(connection, hosts)
    return [
        RobotsFile(
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


def _write_tables(made: Path, folder: Path, parts: Sequence[Path], start: str) -> None:
    """Write the large tables, with more memory if a site needs it."""
    for number, limit in enumerate(_MEMORY_LIMITS):
        try:
            with closing(duckdb.connect(":memory:", config=_settings(made, limit))) as connection:
                _write_large(connection, made, folder, parts, start)
        except duckdb.OutOfMemoryException:
            if number == len(_MEMORY_LIMITS) - 1:
                raise
            for name in ("links", "pages"):
                shutil.rmtree(made / name, ignore_errors=True)
        else:
            break
    shutil.rmtree(made / "overflow", ignore_errors=True)


def _write_large(connection: Any, made: Path, folder: Path, parts: Sequence[Path], start: str) -> None:
    if parts:
        files = [str(part.absolute()) for part in parts]
        connection.read_parquet(files, union_by_name=True).create_view("raw")
    else:
        connection.execute(f"CREATE TABLE raw ({_PAGE_COLUMNS})")
    connection.execute("CREATE TABLE refused (url VARCHAR, error VARCHAR)")
    _load_lines(connection, made / "refused.jsonl", ("url", "error"), "INSERT INTO refused SELECT unnest(?), unnest(?)")
    connection.execute("CREATE TABLE listed_lines (url VARCHAR, sitemap VARCHAR)")
    rows = "INSERT INTO listed_lines SELECT unnest(?), unnest(?)"
    _load_lines(connection, folder / LISTED, ("url", "sitemap"), rows)
    connection.execute(f"SET VARIABLE bucket_bytes = {_BUCKET_BYTES}")
    _write(connection, _LISTED_TABLE, made / "listed.parquet")
    connection.execute("DROP TABLE listed_lines")
    _view(connection, made / "listed.parquet", "listed")
    connection.execute(_LINK_PLAN)
    _write_buckets(connection, "link_plan", _SOME_LINKS, made / "links")
    _view(connection, made / "links", "links")
    _find_depths(connection, start)
    connection.execute(_PAGE_PLAN)
    _write_buckets(connection, "page_plan", _SOME_PAGES, made / "pages")


def _settings(made: Path, memory_limit: str) -> dict[str, Any]:
    """One thread and little memory: what does not fit goes to disk."""
    return {
        "threads": 1,
        "memory_limit": memory_limit,
        "temp_directory": str(made / "overflow"),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }


def _find_depths(connection: Any, start: str) -> None:
    """How many links each page is from the start, level by level."""
    connection.execute(_WAYS)
    connection.execute("CREATE TABLE depths (key UBIGINT PRIMARY KEY, depth INTEGER)")
    connection.execute("INSERT INTO depths SELECT hash(?), 0", [start])
    for depth in range(1, _MOST_LEVELS):
        added = connection.execute(_NEXT_LEVEL, [depth, depth - 1]).fetchone()
        if not added or not added[0]:
            break
    connection.execute("DROP TABLE ways")


def _write_buckets(connection: Any, plan: str, query: str, folder: Path) -> None:
    """Write a table as files that follow one another in the order of their names."""
    folder.mkdir()
    buckets = connection.table(plan).aggregate("bucket").order("bucket").fetchall()
    for number, (bucket,) in enumerate(buckets or [(0,)]):
        connection.execute(f"SET VARIABLE bucket = {int(bucket)}")
        _write(connection, query, folder / f"part-{number:06d}.parquet")
    connection.execute(f"DROP TABLE {plan}")


def _write(connection: Any, query: str, path: Path) -> None:
    connection.sql(query).write_parquet(str(path.absolute()), compression="zstd", row_group_size=_ROW_GROUP)


def _view(connection: Any, path: Path, name: str) -> None:
    """Let later queries read a table that was written: a file, or a folder of parts."""
    files = [path] if path.is_file() else sorted(path.iterdir())
    connection.read_parquet([str(file.absolute()) for file in files]).create_view(name)


def _load_lines(connection: Any, path: Path, names: tuple[str, str], insert: str) -> None:
    """Load a file of JSON lines, some at a time; a line that a kill cut is left out."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        while lines := list(islice(file, _LINES_AT_ONCE)):
            found = [row for line in lines if (row := _parsed(line)) is not None]
            connection.execute(insert, [[str(row.get(name)) for row in found] for name in names])


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and row.get("url") else None
