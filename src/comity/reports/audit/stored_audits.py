"""A stored audit, read from its folder alone: `StoredAudit` is the `AuditData` that rules and reports work on.

Each call reads the files again, a few rows at a time, so an audit of ten thousand pages takes little memory.
`find_audit` finds the audit that a user means.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import zstandard

from comity.model.audit import (
    Alternate,
    AuditedLink,
    AuditedPage,
    AuditedRobots,
    AuditInfo,
    Directive,
    Heading,
    ListedUrl,
    PageFacts,
    Resource,
    RobotsDecision,
    SitemapFile,
    StructuredItem,
    Warned,
)
from comity.model.errors import BadInput, ComityError, NotFound, Remedy, RemedyCode
from comity.model.page import Hop, PageLink, PageRegion
from comity.reports.audit.gather import COMPRESSED, TABLES, AuditRuns
from comity.rules.canonical import web_address

INFO: Final = "audit.json"
_LONGEST_INFO: Final = 10_000_000
_FACTS: Final = {each.name for each in fields(PageFacts) if each.default is not MISSING}
_ROWS: Final[Mapping[str, Any]] = {
    "headings": Heading,
    "alternates": Alternate,
    "directives": Directive,
    "insecure_resources": Resource,
}
_TEXTS: Final = ("titles", "descriptions", "canonicals", "images_without_alt", "policies")


class StoredAudit:
    """An audit in its folder; raises `NotFound` if it does not exist, or if it has not ended yet."""

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
        for row in self._compressed("pages"):
            url, status, error, _, final_url, content_type, content_hash, first_byte_ms, elapsed_ms, *rest = row
            wire_bytes, body_bytes, headers, hops, facts, depth, in_sitemap = rest
            yield AuditedPage(
                url=url,
                status=status,
                error=error,
                depth=depth,
                final_url=final_url,
                content_type=content_type,
                content_hash=content_hash,
                headers=tuple((name, value) for name, value in headers or ()),
                hops=tuple(Hop(*(hop[name] for name in Hop._fields)) for hop in hops or ()),
                first_byte_ms=first_byte_ms,
                elapsed_ms=elapsed_ms,
                wire_bytes=wire_bytes or 0,
                body_bytes=body_bytes or 0,
                in_sitemap=in_sitemap,
                facts=facts_of(facts) if facts else None,
            )

    def links(self) -> Iterator[AuditedLink]:
        """Every link of every page, by page."""
        for row in self._compressed("links"):
            page = row["page"]
            for each in row["links"]:
                link = PageLink(
                    each["url"], each["text"], tuple(each["rel"]), PageRegion(each["region"]), each["outcome"]
                )
                yield AuditedLink(page, link)

    def outcomes(self) -> dict[str, int]:
        """How many links had each outcome; counted when the audit ended, as there may be a million."""
        path = self._tables / "outcomes.json"
        try:
            found: dict[str, int] = json.loads(path.read_bytes())
        except (OSError, ValueError) as problem:
            raise _damaged(path, problem) from None
        return found

    def robots(self) -> Sequence[AuditedRobots]:
        """The robots.txt of each origin that was asked."""
        return [AuditedRobots(**row) for row in self._lines("robots")]

    def sitemaps(self) -> Sequence[SitemapFile]:
        """The sitemaps of the site."""
        return [SitemapFile(**row) for row in self._lines("sitemaps")]

    def listed(self) -> Iterator[ListedUrl]:
        """The URLs that its sitemaps list."""
        for url, sitemap, alternates in self._compressed("listed"):
            named = tuple(Alternate(language, address, "sitemap") for language, address in alternates)
            yield ListedUrl(url, sitemap, named)

    def decisions(self) -> Iterator[RobotsDecision]:
        """The stored decisions by robots.txt."""
        for row in self._lines("decisions"):
            yield RobotsDecision(*(row[name] for name in RobotsDecision._fields))

    def _compressed(self, table: str) -> Iterator[Any]:
        """The rows of a table, in the order of its file."""
        path = self._tables / f"{table}{COMPRESSED}"
        try:
            with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
                for line in io.TextIOWrapper(stream, encoding="utf-8"):
                    row = json.loads(line)
                    if row is None:  # the last line
                        return
                    yield row
                raise ValueError("its end is missing")
        except (OSError, ValueError, zstandard.ZstdError) as problem:
            raise _damaged(path, problem) from None

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        path = self._tables / f"{name}.jsonl"
        try:
            with path.open(encoding="utf-8") as file:
                for line in file:
                    yield json.loads(line)
        except (OSError, ValueError) as problem:
            raise _damaged(path, problem) from None


def facts_of(stored: Mapping[str, Any]) -> PageFacts:
    """Facts as they were; unknown ones are ignored, since a store may be newer than its reader."""
    found = {name: value for name, value in stored.items() if name in _FACTS}
    for name, kind in _ROWS.items():
        if name in found:
            found[name] = tuple(kind(*row) for row in found[name])
    for name in _TEXTS:
        if name in found:
            found[name] = tuple(found[name])
    if "structured" in found:
        rows = found["structured"]
        found["structured"] = tuple(
            StructuredItem(kind, syntax, tuple(missing), problem) for kind, syntax, missing, problem in rows
        )
    return PageFacts(**found)


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
    """How the state identifies the audit of a folder; None if the folder is new."""
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


def find_audit(
    audits: Path, name: str, *, earlier_than: AuditInfo | None = None, may_be_folder: bool = True
) -> StoredAudit:
    """The audit of that name or in that folder, or the newest of that site; raises `NotFound` if it does not exist.

    With `earlier_than`, a site means its newest audit before that one: an audit compared with itself shows no change.
    A name that comes from the network must not be a folder: it could lead anywhere.
    """
    folder = Path(name).expanduser() if may_be_folder else None
    if folder is not None and _holds_audit(folder):
        return StoredAudit(folder)
    if name not in ("", ".", "..") and "/" not in name and _holds_audit(audits / name):
        return StoredAudit(audits / name)
    host = _host(name)
    if host is not None:
        for info in stored_audits(audits):
            is_early = earlier_than is None or (
                info.audit_id != earlier_than.audit_id and info.started_at <= earlier_than.started_at
            )
            if is_early and info.ended_at is not None and _host(info.site) == host:
                return StoredAudit(audits / info.audit_id)
    if host is not None and earlier_than is not None and _host(earlier_than.site) == host:
        raise NotFound(
            f"there is no audit of {name} before {earlier_than.audit_id}", remedy=Remedy(RemedyCode.LIST_AUDITS)
        )
    raise NotFound(f"there is no audit {name!r}", remedy=Remedy(RemedyCode.LIST_AUDITS))


def _holds_audit(folder: Path) -> bool:
    try:
        return (folder / INFO).is_file()
    except OSError:  # longer than a name of a file may be, or not ours to read
        return False


def _host(text: str) -> str | None:
    try:
        return web_address(text).host
    except BadInput:
        return None
