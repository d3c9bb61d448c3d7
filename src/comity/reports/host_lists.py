"""Lists for operators: hosts, and the requests, visits, URLs, decisions and moves of one host, in bounded pages.

Every page is found by an index. `ListPage.next` is the cursor of the next page. `is_whole` is False if a filter without
an index was applied to only part of the rows; the next page continues after them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from sqlalchemy import Connection

from comity.database import host_lists, hosts, policies, status_queries
from comity.database.connection import Database
from comity.database.host_lists import HOST_SORTS, HostOrder, Window
from comity.database.tables import DONE, DROPPED, QUEUED, TOO_DEEP
from comity.database.types import from_seconds
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, NotFound, Remedy, RemedyCode
from comity.model.host import HostPolicy, HostStatus
from comity.reports.hosts import HostLine, StoredEvidence, line_of, stored_evidence
from comity.reports.politeness import ledger_line
from comity.reports.status import ErrorLine, errors_by_kind
from comity.rules.page_cursor import read_cursor, write_cursor
from comity.rules.politeness.audit import timeline

Item = TypeVar("Item")

URL_STATES: Final = {"queued": QUEUED, "done": DONE, "dropped": DROPPED, "too_deep": TOO_DEEP}
SORTS: Final = (*HOST_SORTS, *(f"-{name}" for name in HOST_SORTS))
MOST_COUNTED: Final = 10_000
COUNTED_URLS: Final = 2_000
"""How many URLs of a host are counted by state, at most."""
_FETCHES_LOOKED_AT: Final = 1_000
_MAX_ERRORS: Final = 10
_BY_TEXT: Final = "contains"
_BY_PREFIX: Final = "begins"
_NAMES: Final = {URL_STATES[name]: name for name in URL_STATES}


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Item]):
    """One page of a list."""

    items: tuple[Item, ...]
    next: str | None
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class HostRequest:
    """A request to a host, from the politeness ledger; `allowed_at` is the earliest moment it was allowed to start."""

    number: int
    url: str
    purpose: str
    started_at: datetime
    ended_at: datetime
    status: int | None
    delay_s: float
    delay_source: str
    max_concurrency: int
    allowed_at: datetime | None
    held_by: str | None
    is_early: bool
    blocked_until: datetime | None
    rule: str | None
    rule_line: int | None


@dataclass(frozen=True, slots=True)
class HostFetch:
    """One visit of a page."""

    id: int
    page_url: str
    final_url: str | None
    redirect_count: int
    outcome: str
    status: int | None
    error: str | None
    content_type: str | None
    bytes_received: int
    duration_ms: int | None
    depth: int
    crawled_at: datetime
    discovery_type: str
    run_id: UUID | None


@dataclass(frozen=True, slots=True)
class HostUrl:
    """A URL of a host's frontier."""

    url: str
    state: str
    depth: int | None
    priority: int | None
    attempts: int | None
    not_before: datetime | None
    discovered_at: datetime | None


@dataclass(frozen=True, slots=True)
class HostMove:
    """A change of a host's status."""

    moved_at: datetime
    from_status: str
    to_status: str
    reason_code: str | None
    reason: str | None
    holder: str | None


@dataclass(frozen=True, slots=True)
class HostOverview:
    """The most important facts about a host."""

    columns: dict[str, Any]
    policy: HostPolicy | None
    errors: tuple[ErrorLine, ...]


@dataclass(frozen=True, slots=True)
class UrlCounts:
    """URLs of a host by state, among the first `COUNTED_URLS`; `is_whole` says whether there are no more."""

    by_state: dict[str, int]
    is_whole: bool


def hosts_page(
    database: Database,
    *,
    status: HostStatus | None = None,
    text: str = "",
    sort: str = "-last_crawled_at",
    after: str | None = None,
    limit: int = 50,
) -> ListPage[HostLine]:
    """Hosts in an order. With a text, names that begin with it come first, then names that contain it."""
    if sort not in SORTS:
        raise BadInput("sort", f"must be one of {', '.join(SORTS)}")
    with database.read() as connection:
        status_queries.bound(connection)
        if text:
            return _named(connection, status, text.lower(), after, limit)
        if sort.removeprefix("-") == "domain":
            place = read_cursor(after, sort, str)[0] if after is not None else None
            window = host_lists.by_name(connection, status, place, "", limit, is_descending=sort.startswith("-"))
            return _listed(window, lambda row: write_cursor(sort, row.domain), limit)
        order = HostOrder(sort.removeprefix("-"), sort.startswith("-"))
        kind = int if order.column == "priority_score" else datetime
        behind = read_cursor(after, sort, kind, str) if after is not None else None
        window = host_lists.in_order(connection, order, status, behind, limit)
    return _listed(window, lambda row: write_cursor(sort, getattr(row, order.column), row.domain), limit)


def _named(
    connection: Connection, status: HostStatus | None, text: str, after: str | None, limit: int
) -> ListPage[HostLine]:
    """Names that begin with a text, then names that contain it; the cursor says in which of the two lists it is."""
    phase, place = read_cursor(after, "text", str, str) if after is not None else (_BY_PREFIX, None)
    found: list[Any] = []
    if phase == _BY_PREFIX:
        window = host_lists.by_name(connection, status, place, text, limit)
        if window.last is not None:
            return _listed(window, lambda row: write_cursor("text", _BY_PREFIX, row.domain), limit)
        found, place = list(window.rows), None
    rest = host_lists.name_contains(connection, status, place, text, limit - len(found))
    rows = [*found, *rest.rows]
    following = None if rest.last is None else write_cursor("text", _BY_TEXT, rest.last)
    return ListPage(tuple(map(line_of, rows)), following, following is None or len(rows) == limit)


def _listed(window: Window, cursor: Callable[[Any], str], limit: int) -> ListPage[HostLine]:
    following = None if window.last is None else cursor(window.last)
    return ListPage(tuple(map(line_of, window.rows)), following, following is None or len(window.rows) == limit)


def host_counts(database: Database) -> dict[HostStatus, int]:
    """How many hosts there are of each status, counted to one more than `MOST_COUNTED`."""
    with database.read() as connection:
        status_queries.bound(connection)
        return {status: host_lists.count_up_to(connection, status, MOST_COUNTED + 1) for status in HostStatus}


def is_known_host(database: Database, host: str) -> bool:
    """Whether the state has a host, so that there are pages about it."""
    with database.read() as connection:
        return hosts.get(connection, host) is not None


def host_overview(database: Database, host: str) -> HostOverview:
    """One host, read within bounds; raises `NotFound` if it was never seen."""
    with database.read() as connection:
        row = _known(connection, host)
        policy = policies.get(connection, host)
        errors = status_queries.last_errors_of(connection, host, _FETCHES_LOOKED_AT)
    return HostOverview(
        dict(row._mapping),
        policies.policy_from(policy) if policy is not None else None,
        errors_by_kind(errors, _MAX_ERRORS),
    )


def host_columns(database: Database, host: str) -> dict[str, Any]:
    """The row of a host alone; `NotFound` if it was never seen."""
    with database.read() as connection:
        return dict(_known(connection, host)._mapping)


def host_url_counts(
    database: Database, host: str, states_of: Callable[[UUID], Mapping[int, int]] | None = None
) -> UrlCounts:
    """How many URLs of a host are in each state, as far as they are counted; `NotFound` if it was never seen.

    `states_of` counts them where the frontier is not in the database.
    """
    counts: Mapping[int, int]
    with database.read() as connection:
        row = _known(connection, host)
        if states_of is None:
            counts, is_whole = host_lists.frontier_counts(connection, row.id, COUNTED_URLS)
    if states_of is not None:
        counts, is_whole = states_of(row.id), True
    return UrlCounts({name: counts.get(state, 0) for name, state in URL_STATES.items()}, is_whole)


def host_requests(
    database: Database,
    host: str,
    *,
    purpose: str | None = None,
    after: str | None = None,
    limit: int = 100,
    oldest_first: bool = False,
) -> ListPage[HostRequest]:
    """The last requests to a host, newest first, each with the earliest moment at which it was allowed.

    One more request than the page shows is read, since the request before decides when the next was allowed. With a
    purpose, the page shows only the requests that were sent for it.
    """
    order = _order("requests", oldest_first)
    place = read_cursor(after, order, int)[0] if after is not None else None
    with database.read() as connection:
        row = _known(connection, host)
        rows = host_lists.requests(connection, row.id, place, limit + 1, oldest_first=oldest_first)
        known = [*rows]
        if oldest_first and place is not None:
            known += host_lists.requests(connection, row.id, place + 1, 1)
    timed = {each.line.number: each for each in timeline(ledger_line(each) for each in known)}
    found = [_request(each, timed[each.sequence]) for each in rows[:limit] if purpose in (None, each.purpose)]
    following = write_cursor(order, rows[limit - 1].sequence) if len(rows) > limit else None
    return ListPage(tuple(found), following, following is None or len(found) == limit)


def _order(name: str, oldest_first: bool) -> str:
    """The name of an order in cursors: a position in one order is meaningless in another."""
    return f"{name}, oldest first" if oldest_first else name


def _request(row: Any, timed: Any) -> HostRequest:
    return HostRequest(
        row.sequence,
        row.url,
        row.purpose,
        row.started_at,
        row.ended_at,
        row.status,
        row.delay_s,
        row.delay_source,
        row.max_concurrency,
        from_seconds(timed.allowed_at),
        timed.held_by,
        timed.is_early,
        row.blocked_until,
        row.rule,
        row.rule_line,
    )


def host_fetches(
    database: Database,
    host: str,
    *,
    after: str | None = None,
    limit: int = 50,
    outcome: str | None = None,
    only_errors: bool = False,
    oldest_first: bool = False,
) -> ListPage[HostFetch]:
    """Visits of a host's pages, newest first; `NotFound` if the host was never seen."""
    order = _order("fetches", oldest_first)
    place = read_cursor(after, order, datetime, int) if after is not None else None
    with database.read() as connection:
        status_queries.bound(connection)
        _known(connection, host)
        window = host_lists.fetches_of_host(
            connection, host, place, limit, outcome=outcome, only_errors=only_errors, oldest_first=oldest_first
        )
    found = tuple(HostFetch(**{name: getattr(row, name) for name in HostFetch.__slots__}) for row in window.rows)
    following = None if window.last is None else write_cursor(order, window.last.crawled_at, window.last.id)
    return ListPage(found, following, following is None or len(found) == limit)


def host_evidence(
    database: Database,
    host: str,
    *,
    kind: str | None = None,
    after: str | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> ListPage[StoredEvidence]:
    """Decisions about URLs of a host, newest first; `NotFound` if the host was never seen."""
    order = _order("evidence", oldest_first)
    place = read_cursor(after, order, datetime, int) if after is not None else None
    with database.read() as connection:
        status_queries.bound(connection)
        row = _known(connection, host)
        window = host_lists.evidence_of_host(connection, row.id, place, limit, kind=kind, oldest_first=oldest_first)
    found = tuple(map(stored_evidence, window.rows))
    following = None if window.last is None else write_cursor(order, window.last.created_at, window.last.id)
    return ListPage(found, following, following is None or len(found) == limit)


PlacedUrls = Callable[[UUID, int, int, int], Sequence[Any]]
"""URLs of a host in a state after a position, from a frontier outside the database, as `frontier.store.PlacedUrl`s."""


def host_urls(
    database: Database,
    host: str,
    state: str,
    *,
    after: str | None = None,
    limit: int = 50,
    elsewhere: PlacedUrls | None = None,
) -> ListPage[HostUrl]:
    """URLs of a host in one state; `elsewhere` reads them where the frontier is not in the database."""
    if state not in URL_STATES:
        raise BadInput("state", f"must be one of {', '.join(URL_STATES)}")
    number, order = URL_STATES[state], f"frontier {state}"
    place = read_cursor(after, order, int)[0] if after is not None else None
    with database.read() as connection:
        status_queries.bound(connection)
        row = _known(connection, host)
        if elsewhere is None:
            window = host_lists.frontier_page(connection, row.id, number, place, limit)
    if elsewhere is not None:
        placed = elsewhere(row.id, number, place or 0, limit)
        found = tuple(HostUrl(each.url, state, None, None, None, None, None) for each in placed)
        return ListPage(found, write_cursor(order, placed[-1].place) if len(placed) == limit else None)
    found = tuple(
        HostUrl(each.url, state, each.depth, each.priority, each.attempts, each.not_before, each.discovered_at)
        for each in window.rows
    )
    following = None if window.last is None else write_cursor(order, window.last.url_key)
    return ListPage(found, following, following is None or len(found) == limit)


def host_moves(
    database: Database,
    host: str,
    *,
    to_status: HostStatus | None = None,
    after: str | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> ListPage[HostMove]:
    """Changes of a host's status, newest first; `NotFound` if the host was never seen."""
    order = _order("moves", oldest_first)
    place = read_cursor(after, order, int)[0] if after is not None else None
    with database.read() as connection:
        row = _known(connection, host)
        window = host_lists.moves(connection, row.id, place, limit, to_status=to_status, oldest_first=oldest_first)
    found = tuple(HostMove(**{name: getattr(each, name) for name in HostMove.__slots__}) for each in window.rows)
    following = None if window.last is None else write_cursor(order, window.last.id)
    return ListPage(found, following, following is None or len(found) == limit)


def _known(connection: Connection, host: str) -> Any:
    row = hosts.get(connection, host)
    if row is None:
        raise NotFound(f"{host} is unknown", remedy=Remedy(RemedyCode.ADD_SEED, host))
    return row
