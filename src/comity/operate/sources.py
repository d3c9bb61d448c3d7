"""What an operator may do with sources: add, edit, approve, pause, resume, delete, run, and try out.

All input is checked before anything is written, and refused in one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.sources import postings as postings_table
from comity.database.sources import rows as sources_table
from comity.database.sources.rows import source_from
from comity.model.dataclass import dataclass
from comity.model.errors import AlreadyThere, BadInput, HostBusy, NotFound, Remedy, RemedyCode
from comity.model.host import SCRIPTS_NOT_RUN
from comity.model.job import JobPosting, ListingKind, SourceType
from comity.model.source import (
    ORG_TYPES,
    HeadRead,
    NotRun,
    ScheduleName,
    Source,
    SourceReport,
    SourceStatus,
)
from comity.operate.policy import get_policy
from comity.operate.takedown import require_not_taken_down
from comity.rules.canonical import resolve_link, web_address
from comity.rules.jobs.countries import country_of
from comity.rules.next_run import base_days
from comity.rules.suggestions import one_of

if TYPE_CHECKING:
    from comity.walk.sources.runner import SourceRunner

MAX_SIMULATED_JOBS: Final = 3
_LONGEST: Final = {"org_name": 300, "org_type": 40, "parser_hint": 20_000, "time_window": 32, "time_zone": 64}
_FREQUENCY_DAYS: Final = (1, 365)
_IMPORTANCE: Final = (0.0, 1000.0)
_COUNTRY: Final = re.compile("[A-Z]{2}")
_OTHER_LETTERS: Final = {"UK": "GB", "EL": "GR"}
_WITHOUT_ZONE: Final = frozenset({"XK", "BV", "HM"})
_RESETS_PAGES: Final = frozenset({"careers_url", "source_type", "parser_hint", "org_name", "org_type", "country"})
_WHEN: Final = ("time_window", "time_zone", "country")
# A deleted source that is added again starts from the beginning.
_ANEW: Final = {
    "org_name": None,
    "org_type": None,
    "source_type": str(SourceType.HTML),
    "parser_hint": None,
    "time_window": None,
    "country": None,
    "time_zone": None,
    "schedule": str(ScheduleName.S0),
    "importance": 1.0,
    "last_crawl_status": None,
    "last_crawl_message": None,
    "consecutive_failures": 0,
    "consecutive_nochange": 0,
    "last_found": 0,
    "empty_reads": 0,
}


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a run would find on the first page."""

    careers_url: str
    kind: ListingKind | None
    found: int
    jobs: tuple[JobPosting, ...]
    next_url: str | None
    message: str
    status: int | None


def check_columns(**given: Any) -> dict[str, Any]:
    """Check the columns of a source as entered; `BadInput` names the first that cannot be used."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        values[name] = _text(name, value) if isinstance(value, str) else value
    if "careers_url" in values:
        values["careers_url"] = _whole_address(values["careers_url"] or "")
    if values.get("source_type") is not None:
        values["source_type"] = _one_of("source_type", values["source_type"], SourceType)
    if values.get("schedule") is not None:
        values["schedule"] = _one_of("schedule", values["schedule"], ScheduleName)
    if values.get("crawl_frequency_days") is not None:
        _within("crawl_frequency_days", values["crawl_frequency_days"], *_FREQUENCY_DAYS)
    if values.get("importance") is not None:
        _within("importance", values["importance"], *_IMPORTANCE)
    if values.get("org_type") is not None:
        values["org_type"] = one_of("org_type", values["org_type"], ORG_TYPES)
    if values.get("country") is not None:
        values["country"] = _country(values["country"])
    _check_window(values.get("time_window"))
    _check_zone(values.get("time_zone"))
    _check_hint(values.get("parser_hint"))
    return values


def add_source(database: Database, clock: Clock, careers_url: str, *, approved: bool = True, **columns: Any) -> Source:
    """Add a source. It is due at once, or paused if it still needs approval."""
    values = columns_of_new_source(check_columns(careers_url=careers_url, **columns), clock.now(), approved=approved)
    with database.write() as connection:
        require_not_taken_down(connection, values["careers_url"])
        source = insert_source(connection, values)
        if source is None:
            raise AlreadyThere(f"{values['careers_url']} is already a source", remedy=Remedy(RemedyCode.LIST_SOURCES))
        return source


def columns_of_new_source(checked: Mapping[str, Any], now: datetime, *, approved: bool = True) -> dict[str, Any]:
    """The row of a new source: the checked values, and those derived from them."""
    values = {name: value for name, value in checked.items() if value is not None}
    if "crawl_frequency_days" not in values:
        values["crawl_frequency_days"] = int(base_days(None, values.get("org_type"))[0])
    values["status"] = str(SourceStatus.ACTIVE if approved else SourceStatus.PAUSED)
    return values | {"next_run_at": now if approved else None, "created_at": now}


def insert_source(connection: Connection, values: dict[str, Any]) -> Source | None:
    """Add a source, or restore a deleted one from the start; None if the address is already a source."""
    row = sources_table.add(connection, values)
    if row is None:
        known = sources_table.with_address(connection, values["careers_url"])
        if known is None or known.status != SourceStatus.DELETED:
            return None
        row = sources_table.change(connection, known.id, _ANEW | values, values["created_at"])
        assert row is not None
    return source_from(row)


def edit_source(database: Database, clock: Clock, source_id: UUID, **changes: Any) -> Source:
    """Change the named columns; None removes a value.

    If what is read changes, the source is due now, and the next run reads all of it. A shorter frequency counts from
    the last run, and a new time window applies to the run that is already planned.
    """
    if not changes:
        raise BadInput("nothing to change: give at least one column, such as crawl_frequency_days")
    values = check_columns(**changes)
    for name in ("careers_url", "source_type", "schedule", "importance"):
        if name in values and values[name] is None:
            raise BadInput(name, "cannot be empty: a source needs one")
    with database.write() as connection:
        if "careers_url" in values:
            require_not_taken_down(connection, values["careers_url"])
            known = sources_table.with_address(connection, values["careers_url"])
            if known is not None and known.id != source_id:
                raise AlreadyThere(f"{values['careers_url']} is already another source")
        return change_source(database, clock, connection, source_id, values)


def change_source(
    database: Database, clock: Clock, connection: Connection, source_id: UUID, values: dict[str, Any]
) -> Source:
    """Write checked changes, and what follows from them: the time of the next run, and whether it reads everything."""
    before = _known(connection, source_id)
    source = _changed(database, clock, connection, source_id, values | _replanned(before, values, clock.now()))
    if _RESETS_PAGES & values.keys():
        sources_table.forget_pages(connection, source_id)
    return source


def approve_source(database: Database, clock: Clock, source_id: UUID) -> Source:
    """Approve a source; it is due now."""
    return _activate(database, clock, source_id)


def pause_source(database: Database, clock: Clock, source_id: UUID) -> Source:
    """Stop reading a source until it is resumed."""
    return _set(database, clock, source_id, status=str(SourceStatus.PAUSED))


def resume_source(database: Database, clock: Clock, source_id: UUID) -> Source:
    """Resume a source: its failures are forgotten, and it is due now."""
    return _activate(database, clock, source_id, consecutive_failures=0)


def delete_source(database: Database, clock: Clock, source_id: UUID) -> Source:
    """Delete a source. Postings that only it listed are closed and leave search; its log stays."""
    now = clock.now()
    with database.write() as connection:
        source = _changed(
            database, clock, connection, source_id, {"status": str(SourceStatus.DELETED), "next_run_at": None}
        )
        sources_table.forget_pages(connection, source_id)
        gone = postings_table.forget_all_of(connection, source_id)
        closed = postings_table.close_unlisted(connection, gone, now)
        postings_table.queue_for_search(connection, closed, "delete")
    return source


@dataclass(frozen=True, slots=True)
class SourceActionResult:
    """The result of a bulk action for one source."""

    id: UUID
    is_done: bool
    reason: str | None = None


def act_on_sources(database: Database, clock: Clock, action: str, ids: Iterable[UUID]) -> list[SourceActionResult]:
    """Apply one action to several sources, each on its own; one that cannot be changed does not stop the others."""
    act = {"pause": pause_source, "resume": resume_source, "approve": approve_source, "delete": delete_source}[action]
    done: list[SourceActionResult] = []
    for source_id in dict.fromkeys(ids):
        try:
            act(database, clock, source_id)
            done.append(SourceActionResult(source_id, True))
        except (BadInput, NotFound) as error:
            done.append(SourceActionResult(source_id, False, str(error)))
    return done


def ignored_settings(database: Database, source: Source) -> list[str]:
    """The settings of a source or of its host's policy that have no effect, as sentences."""
    found: list[str] = []
    address = resolve_link(source.careers_url, source.careers_url)
    policy = get_policy(database, address.host) if address is not None else None
    if policy is not None and policy.allow_js:
        found.append(SCRIPTS_NOT_RUN)
    if source.time_window is not None:
        from comity.schedule.zones import find_zone

        if find_zone(source.time_zone, source.country).zone is None:
            found.append(f"the time window {source.time_window} is ignored until a time zone or a country is set")
    return found


async def run_now(runner: SourceRunner, source: Source) -> SourceReport:
    """Run a source now, due or not; raises `HostBusy` if it is running already or its host is leased."""
    result = await runner.run(source.id)
    if isinstance(result, SourceReport):
        return result
    if result.why is NotRun.NOT_DUE:
        raise NotFound(f"there is no source {source.careers_url}")
    raise HostBusy(f"{source.careers_url} was not run: {result.reason}")


async def test_fetch(runner: SourceRunner, url: str) -> HeadRead:
    """Request only the head of a page: status, size, ETag, Last-Modified."""
    return await runner.head(_whole_address(url))


async def simulate_extract(runner: SourceRunner, source: Source) -> Simulation:
    """Read the first page and show its first jobs; no source and no posting is written."""
    reading = await runner.simulate(source)
    if not reading.pages:
        reason = reading.obstacle.reason if reading.obstacle is not None else "nothing was read"
        status = reading.obstacle.status if reading.obstacle is not None else None
        return Simulation(source.careers_url, None, 0, (), None, reason, status)
    page = reading.pages[-1]
    jobs = tuple(runner.normalized(source, page.jobs[:MAX_SIMULATED_JOBS]))
    said = [each.message for each in reading.pages] + [SCRIPTS_NOT_RUN if reading.wants_scripts else ""]
    if reading.obstacle is not None:
        said.append(reading.obstacle.reason)
    message = "; ".join(filter(None, said))
    return Simulation(source.careers_url, page.kind, page.found, jobs, page.next_url, message, page.status)


def source_to_try(database: Database, named: str, **columns: Any) -> Source:
    """A stored source, by address or id, or a page that is not a source yet; with some columns replaced, unstored."""
    identity = _identity(named)
    with database.read() as connection:
        row = sources_table.get(connection, identity) if identity is not None else None
        if row is None:
            url = _whole_address(named)
            row = sources_table.with_address(connection, url)
    source = source_from(row) if row is not None else Source(id=UUID(int=0), careers_url=url)
    values = check_columns(**columns)
    if "source_type" in values:
        values["source_type"] = SourceType(values["source_type"])
    return replace(source, **values)


def _activate(database: Database, clock: Clock, source_id: UUID, **values: Any) -> Source:
    values |= {"status": str(SourceStatus.ACTIVE), "next_run_at": clock.now()}
    with database.write() as connection:
        require_not_taken_down(connection, _known(connection, source_id).careers_url)
        return _changed(database, clock, connection, source_id, values)


def _set(database: Database, clock: Clock, source_id: UUID, **values: Any) -> Source:
    with database.write() as connection:
        return _changed(database, clock, connection, source_id, values)


def _changed(database: Database, clock: Clock, connection: Any, source_id: UUID, values: dict[str, Any]) -> Source:
    _known(connection, source_id)
    row = sources_table.change(connection, source_id, values, database.now(clock))
    assert row is not None
    return source_from(row)


def _known(connection: Any, source_id: UUID) -> Source:
    row = sources_table.get_to_change(connection, source_id)
    if row is None or row.status == SourceStatus.DELETED:
        raise NotFound(f"there is no source {source_id}")
    return source_from(row)


def _what_is_read(source: Source) -> Iterator[tuple[str, Any]]:
    return ((name, getattr(source, name)) for name in ("careers_url", "source_type", "parser_hint"))


def _replanned(before: Source, values: dict[str, Any], now: datetime) -> dict[str, Any]:
    """When an edit makes a source due; a source that has no time yet, or is due already, is left as it is."""
    planned = before.next_run_at
    is_planned = planned is not None or before.status is SourceStatus.ACTIVE
    if is_planned and any(values.get(name, known) != known for name, known in _what_is_read(before)):
        return {"next_run_at": now}  # also if it is due: a run may be reading it with the old values
    if planned is None or planned <= now:
        return {}
    days, last = values.get("crawl_frequency_days"), before.last_crawled_at
    if days is not None and last is not None and not before.consecutive_failures:
        planned = max(now, min(planned, last + timedelta(days=days)))
    if planned != before.next_run_at or not values.keys().isdisjoint(_WHEN):
        from comity.rules.next_run import within_window
        from comity.schedule.zones import find_zone

        window, zone, country = (values.get(name, getattr(before, name)) for name in _WHEN)
        planned, _ = within_window(planned, window, find_zone(zone, country).zone)
    return {"next_run_at": planned}


def _identity(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _whole_address(text: str) -> str:
    if not text.lower().startswith(("http://", "https://")):
        raise BadInput(f"a source is a full URL such as https://example.org/careers, not {text[:80]!r}")
    return web_address(text).url


def _text(name: str, value: str) -> str | None:
    text = value.strip()
    if not text:
        return None
    longest = _LONGEST.get(name, 2000)
    if len(text) > longest:
        raise BadInput(name, f"is longer than {longest:,} characters")
    is_plain = text.isprintable() or (name == "parser_hint" and "\0" not in text)
    if not is_plain:
        raise BadInput(name, "contains a line break or an invisible character")
    return text


def _country(text: str) -> str:
    """Check a country: unknown letters would count as no country in every run, and disable the time window."""
    from comity.rules.country_zones import zone_of_capital

    letters = _OTHER_LETTERS.get(text.upper(), text.upper())
    if not _COUNTRY.fullmatch(letters):
        letters = country_of(text) or letters
    if not _COUNTRY.fullmatch(letters) or (zone_of_capital(letters) is None and letters not in _WITHOUT_ZONE):
        raise BadInput("country", f"must be two letters such as KE (ISO 3166) or a country's name, not {text[:40]!r}")
    return letters


def _one_of(name: str, value: Any, kinds: Any) -> str:
    known = [str(kind) for kind in kinds]
    if str(value).lower() not in known:
        raise BadInput(name, f"must be {', '.join(known[:-1])} or {known[-1]}, not {str(value)[:40]!r}")
    return str(value).lower()


def _within(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise BadInput(name, f"must be between {least:g} and {most:g}, not {value:g}")


def _check_window(text: str | None) -> None:
    if text is not None:
        from comity.model.schedule import WindowRefused
        from comity.rules.next_run import parse_time_window

        window = parse_time_window(text)
        if isinstance(window, WindowRefused):
            raise BadInput("time_window", window.reason)


def _check_zone(name: str | None) -> None:
    if name is not None:
        from comity.schedule.zones import load_zone

        if load_zone(name) is None:
            raise BadInput("time_zone", f"must be a name such as Africa/Nairobi, not {name!r}")


def check_hint(text: str) -> str | None:
    """What is wrong with a parser hint, as a sentence; None if it can be used. An empty hint removes it."""
    try:
        check_columns(parser_hint=text)
    except BadInput as error:
        return error.reason
    return None


def _check_hint(text: str | None) -> None:
    if text is not None:
        from comity.model.parser_hint import HintProblem
        from comity.rules.parser_hint import parse_hint

        hint = parse_hint(text)
        if isinstance(hint, HintProblem):
            raise BadInput("parser_hint", hint.message)
