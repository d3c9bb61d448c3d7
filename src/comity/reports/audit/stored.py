"""A stored audit, read from its folder alone: `StoredAudit` is the `AuditData` that rules and reports work on.

Each call reads anew, a few rows at a time, so an audit of ten thousand pages takes little memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import duckdb

from comity.model.audit import (
    AuditedLink,
    AuditedPage,
    AuditInfo,
    ListedUrl,
    PageLink,
    PageRegion,
    RobotsDecision,
    RobotsFile,
    SitemapFile,
    Warned,
)
from comity.model.errors import BadInput, ComityError, NotFound
from comity.reports.audit.gather import TABLES, AuditRuns
from comity.rules.audit.stored_form import facts_from_json, headers_from_json, hops_from_json

INFO: Final = "audit.json"
_MEMORY_LIMIT: Final = "64MB"
_ROWS_AT_ONCE: Final = 200
_LINKS_AT_ONCE: Final = 2_000
_LONGEST_INFO: Final = 10_000_000


class StoredAudit:
    """An audit in its folder; `NotFound` if there is none, or if it has not ended yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._info = read_info(folder)
        self._tables = folder / TABLES
        if not self._tables.is_dir():
            raise NotFound(f"the audit {self._info.audit_id} has not ended yet; run the same command to continue it")

    @property
    def info(self) -> AuditInfo:
        """Which audit this is."""
        return self._info

    def pages(self) -> Iterator[AuditedPage]:
        """Every URL visited or decided about, by depth and URL."""
        names = (
            "url, status, error, depth, final_url, content_type, content_hash, headers, hops, first_byte_ms, "
            "elapsed_ms, wire_bytes, body_size, in_sitemap, facts"
        )
        for row in self._rows(names, "pages", _ROWS_AT_ONCE):
            url, status, error, depth, final_url, content_type, content_hash, headers, hops, *rest = row
            first_byte_ms, elapsed_ms, wire_bytes, body_bytes, in_sitemap, facts = rest
            yield AuditedPage(
                url=url,
                status=status,
                error=error,
                depth=depth,
                final_url=final_url,
                content_type=content_type,
                content_hash=content_hash,
                headers=headers_from_json(headers) if headers else (),
                hops=hops_from_json(hops) if hops else (),
                first_byte_ms=first_byte_ms,
                elapsed_ms=elapsed_ms,
                wire_bytes=wire_bytes or 0,
                body_bytes=body_bytes or 0,
                in_sitemap=bool(in_sitemap),
                facts=facts_from_json(facts) if facts else None,
            )

    def links(self) -> Iterator[AuditedLink]:
        """Every link of every page, by page."""
        for page, url, text, rel, region, outcome in self._rows(
            "page, url, text, rel, region, outcome", "links", _LINKS_AT_ONCE
        ):
            yield AuditedLink(page, PageLink(url, text, tuple(rel or ()), PageRegion(region), outcome))

    def outcomes(self) -> dict[str, int]:
        """How many links had each outcome; counted by the database, as there may be a million."""
        return dict(self._rows("outcome, count(*)", "links", _ROWS_AT_ONCE, " GROUP BY outcome ORDER BY outcome"))

    def robots(self) -> Sequence[RobotsFile]:
        """The robots.txt of each origin that was asked."""
        return [RobotsFile(**row) for row in self._lines("robots")]

    def sitemaps(self) -> Sequence[SitemapFile]:
        """The sitemaps of the site."""
        return [SitemapFile(**row) for row in self._lines("sitemaps")]

    def listed(self) -> Iterator[ListedUrl]:
        """The URLs that its sitemaps list."""
        for url, sitemap in self._rows("url, sitemap", "listed", _LINKS_AT_ONCE):
            yield ListedUrl(url, sitemap)

    def decisions(self) -> Iterator[RobotsDecision]:
        """The stored decisions by robots.txt."""
        for row in self._lines("decisions"):
            yield RobotsDecision(*(row[name] for name in RobotsDecision._fields))

    def _rows(self, names: str, table: str, at_once: int, grouped: str = "") -> Iterator[tuple[Any, ...]]:
        """The rows of a table in the order of its file."""
        path = self._tables / table
        files = sorted(path.iterdir()) if path.is_dir() else [path.with_suffix(".parquet")]
        settings: dict[str, Any] = {
            "threads": 1,
            "memory_limit": _MEMORY_LIMIT,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        with closing(duckdb.connect(":memory:", config=settings)) as connection:
            try:
                connection.read_parquet([str(file.absolute()) for file in files]).create_view("found")
                connection.execute(f"SELECT {names} FROM found{grouped}")  # noqa: S608  # our own words
                while rows := connection.fetchmany(at_once):
                    yield from rows
            except duckdb.Error as problem:
                raise _damaged(path, problem) from None

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        path = self._tables / f"{name}.jsonl"
        try:
            with path.open(encoding="utf-8") as file:
                for line in file:
                    yield json.loads(line)
        except (OSError, ValueError) as problem:
            raise _damaged(path, problem) from None


def _damaged(path: Path, problem: Exception) -> ComityError:
    return ComityError(f"{path} is damaged ({problem}); audit the site again, or restore the folder")


def audit_folder(audits: Path, audit_id: str) -> Path:
    """The folder of an audit; `BadInput` for a name that cannot be one."""
    if not audit_id or audit_id.startswith(".") or "/" in audit_id or "\\" in audit_id:
        raise BadInput(f"{audit_id!r} is not the name of an audit")
    return audits / audit_id


def stored_audits(audits: Path, on_unreadable: Callable[[str], None] | None = None) -> list[AuditInfo]:
    """Every audit of a folder, the newest first, also those that have not ended.

    One that cannot be read does not hide the others: it is left out, and `on_unreadable` gets the reason.
    """
    found = []
    for path in sorted(audits.glob(f"*/{INFO}")) if audits.is_dir() else ():
        try:
            found.append(read_info(path.parent))
        except NotFound as problem:
            if on_unreadable is not None:
                on_unreadable(str(problem))
    return sorted(found, key=lambda info: (-info.started_at, info.audit_id))


def read_info(folder: Path) -> AuditInfo:
    """Which audit a folder has; `NotFound` if it has none."""
    return _read(folder)[0]


def read_runs(folder: Path) -> AuditRuns | None:
    """What the state knows an audit by; None if the folder is new."""
    try:
        return _read(folder)[1]
    except NotFound:
        return None


def _read(folder: Path) -> tuple[AuditInfo, AuditRuns]:
    try:
        with (folder / INFO).open(encoding="utf-8") as file:
            said = json.loads(file.read(_LONGEST_INFO))
        runs = AuditRuns(UUID(said.pop("list_id")), tuple(map(UUID, said.pop("run_ids"))))
        said["warnings"] = tuple(Warned(*row) for row in said["warnings"])
        said["started_at"] = float(said["started_at"])
        return AuditInfo(**said), runs
    except FileNotFoundError:
        raise NotFound(f"there is no audit in {folder}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as problem:
        raise NotFound(f"{folder / INFO} cannot be read: {problem}") from None


def write_info(folder: Path, info: AuditInfo, runs: AuditRuns) -> None:
    """Note which audit a folder has; in one step, so that a kill leaves the old note or the new one."""
    said = {**asdict(info), "list_id": str(runs.list_id), "run_ids": [str(run_id) for run_id in runs.run_ids]}
    path = folder / f".{INFO}"
    path.write_text(json.dumps(said, ensure_ascii=False, indent=1), encoding="utf-8")
    path.replace(folder / INFO)


def when(seconds: float) -> str:
    """A time in the name of an audit."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d-%H%M%S")
