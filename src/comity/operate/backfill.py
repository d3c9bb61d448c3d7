"""Fill `domains` from the fetches and images of older crawls.

The log is read once, in batches; then the sums of every host are compared with its row. A host without a row gets one,
in the state in which the older crawl left it. In an existing row, only counters that are provably too low change. An
interrupted backfill continues where it stopped; repeating a finished one changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Connection

from comity import __version__
from comity.clock import Clock
from comity.database import backfill as backfill_rows
from comity.database import hosts, merging, takedowns
from comity.database.backfill import COUNTERS, LONGEST_NAME, SUMMED
from comity.database.connection import Database
from comity.model.errors import BadAddress, StateUnavailable
from comity.model.host import BlockReason, CanonicalHost, HostStatus
from comity.reports.backfill import BackfillReport, backfill_report, current_counts
from comity.rules.canonical import canonical_host
from comity.rules.endings import REFRESH_AFTER, cooldown_ends_at, reason_for_status, status_for
from comity.rules.priority import PriorityWeights, rate
from comity.rules.takedown import Takedowns

FETCHES_PER_BATCH: Final = 100_000
NAMES_PER_BATCH: Final = 5_000
HOSTS_PER_BATCH: Final = 1_000
_PASSES: Final = 3

Bar = Callable[[int], None]
Bars = Callable[[str, int | None], Bar]


def backfill(
    database: Database,
    clock: Clock,
    *,
    collapse: bool = False,
    dry_run: bool = False,
    restart: bool = False,
    weights: PriorityWeights | None = None,
    refresh_after: timedelta = REFRESH_AFTER,
    bars: Bars | None = None,
) -> BackfillReport:
    """Fill the table of hosts and return the validation report.

    A dry run writes nothing. `restart` discards what an interrupted backfill had read. `bars` makes a progress bar
    from a title and a total; the bar is called with the amount done.
    """
    show = bars or (lambda _title, _total: _show_nothing)
    if not dry_run:
        return _Backfill(database, clock, collapse, weights, refresh_after, show, dry_run=False).run(restart)
    with database.read() as connection:
        dry_run_only = _DryRun(connection, database.now)
        return _Backfill(dry_run_only, clock, collapse, weights, refresh_after, show, dry_run=True).run(restart)


class _DryRun:
    """Stands in for the database in a dry run: one connection that writes only temporary tables."""

    def __init__(self, connection: Connection, now: Callable[[Clock], datetime | None]) -> None:
        self._connection = connection
        self.now = now

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction on the one connection."""
        try:
            yield self._connection
        except BaseException:
            self._connection.rollback()
            raise
        self._connection.commit()

    write = read


class _Backfill:
    """A backfill in progress. `notes` record how far it has come, and are stored with every step."""

    def __init__(
        self,
        database: Database | _DryRun,
        clock: Clock,
        collapse: bool,
        weights: PriorityWeights | None,
        refresh_after: timedelta,
        show: Bars,
        *,
        dry_run: bool,
    ) -> None:
        self._database = database
        self._clock = clock
        self._collapse = collapse
        self._weights = weights or PriorityWeights()
        self._refresh_after = refresh_after
        self._show = show
        self._dry_run = dry_run
        self._token = uuid4().hex
        self._notes: dict[str, Any] = {
            "terms": [__version__, collapse],  # sums made under other rules cannot be used
            "phase": "fetches",
            "next_fetch": 0,
            "last_spelling": None,
            "last_image_host": "",
            "fetches": {"rows": 0, "skipped": {}},
            "provenance": {"rows": 0, "skipped": {}},
            "provenance_lacks": None,
            "before": None,
        }

    def run(self, restart: bool) -> BackfillReport:
        """Read, compare, write, check."""
        with self._database.write() as connection:
            found = backfill_rows.begin(connection, self._token, self._notes, restart=restart, temporary=self._dry_run)
        try:
            self._notes = found or self._notes
            steps = {"fetches": self._read_fetches, "spellings": self._read_spellings, "images": self._count_images}
            while self._notes["phase"] in steps:
                steps[self._notes["phase"]]()
            self._read_names()
            self._compare()
            with self._database.read() as connection:
                report = backfill_report(connection, self._notes, dry_run=self._dry_run, resumed=found is not None)
        finally:
            if self._dry_run:
                self._end()
        if not self._dry_run:
            self._end()
        return report

    def _end(self) -> None:
        with self._database.write() as connection:
            if self._dry_run or backfill_rows.note(connection, self._token, self._notes):
                backfill_rows.end(connection, temporary=self._dry_run)

    @contextmanager
    def _step(self, **changes: Any) -> Iterator[Connection]:
        """A transaction for one step of the backfill: the step and its note are stored together."""
        with self._database.write() as connection:
            self._notes |= changes
            if not backfill_rows.note(connection, self._token, self._notes):
                raise StateUnavailable("another backfill took over; wait until it has finished")
            yield connection

    @property
    def _now(self) -> datetime | None:
        return self._database.now(self._clock)

    def _read_fetches(self) -> None:
        """Sum the log, in ranges of row numbers; a range is read first, and stored in a short transaction."""
        with self._database.read() as connection:
            low, high = backfill_rows.fetch_bounds(connection) or (0, -1)
        advance = self._show("Reading fetches", high - low + 1)
        while True:
            with self._database.read() as connection:
                first = backfill_rows.next_fetch(connection, self._notes["next_fetch"])
                if first is None or first > high:
                    break  # rows written in the meantime are counted by the process that writes them
                last = min(first + FETCHES_PER_BATCH - 1, high)
                groups = backfill_rows.sums_of_fetches(connection, first, last)
            sums, read = self._by_host(groups)
            with self._step(next_fetch=last + 1, fetches=read) as connection:
                backfill_rows.add_sums(connection, list(sums.values()))
            advance(last - low + 1)
        with self._step(phase="spellings"):
            pass

    def _by_host(self, groups: Any) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
        """The sums by host, and how many rows were read and skipped so far."""
        so_far = self._notes["fetches"]
        rows, skipped = so_far["rows"], {reason: list(pair) for reason, pair in so_far["skipped"].items()}
        sums: dict[str, dict[str, Any]] = {}
        for group in groups:
            rows += group.fetch_rows
            found = host_of_url(group.origin, self._collapse)
            if isinstance(found, BadAddress):
                skip_rows(skipped, found, group.fetch_rows)
                continue
            # A row written under a host's lease belongs to that host, even if the rules for names have changed since.
            host = group.linked or found.authority
            parent = found.parent_domain if host == found.authority else None
            add_group(sums, host, parent, group)
        return sums, {"rows": rows, "skipped": skipped}

    def _read_spellings(self) -> None:
        """Map the host names in `provenance` to canonical ones."""
        with self._database.read() as connection:
            lacks = backfill_rows.provenance_lacks(connection)
            if lacks is None:
                limit = NAMES_PER_BATCH if backfill_rows.provenance_is_indexed(connection) else None
                unnamed = backfill_rows.unnamed_images(connection)
        if lacks is not None:
            with self._step(phase="hosts", provenance_lacks=lacks):
                return
        if unnamed and self._notes["last_spelling"] is None:
            self._notes["provenance"] = {"rows": unnamed, "skipped": {"no source_domain": [unnamed, None]}}
        while True:
            with self._database.read() as connection:
                names = backfill_rows.image_hosts_after(connection, self._notes["last_spelling"], limit)
            if not names:
                break
            so_far = self._notes["provenance"]
            skipped = {reason: list(pair) for reason, pair in so_far["skipped"].items()}
            pairs = []
            for row in names:
                found = host_of_name(row.source_domain, self._collapse)
                if isinstance(found, BadAddress):
                    skip_rows(skipped, found, row.rows)
                else:
                    pairs.append((row.source_domain, found.authority))
            read = {"rows": so_far["rows"] + sum(row.rows for row in names), "skipped": skipped}
            with self._step(last_spelling=names[-1].source_domain, provenance=read) as connection:
                backfill_rows.add_spellings(connection, "provenance", pairs)
        with self._step(phase="images"):
            pass

    def _count_images(self) -> None:
        """Count the different images of every host."""
        advance, counted = self._show("Counting images", None), 0
        with self._database.read() as connection:
            limit = HOSTS_PER_BATCH if backfill_rows.provenance_is_indexed(connection) else None
        while True:
            after = self._notes["last_image_host"]
            with self._database.read() as connection:
                through = backfill_rows.last_image_host(connection, after, limit)
                images = backfill_rows.image_counts(connection, after, through) if through is not None else []
            if through is None:
                break
            with self._step(last_image_host=through) as connection:
                backfill_rows.set_images(connection, images)
            counted += HOSTS_PER_BATCH
            advance(counted)
        with self._step(phase="hosts"):
            pass

    def _read_names(self) -> None:
        """Note the rows whose names are not canonical today: they have to be merged first."""
        with self._step() as connection:
            backfill_rows.forget_spellings(connection, "domains")
        last = None
        while True:
            with self._database.read() as connection:
                rows = merging.names_after(connection, last, NAMES_PER_BATCH)
            if not rows:
                return
            names = [(row.domain, canonical_name(row.domain, self._collapse)) for row in rows]
            pairs = [(name, wanted or name) for name, wanted in names if wanted != name]
            if pairs:
                with self._step() as connection:
                    backfill_rows.add_spellings(connection, "domains", pairs)
            last = rows[-1].id

    def _compare(self) -> None:
        """Raise the counters of every row to what the evidence proves, many hosts per transaction."""
        with self._database.read() as connection:
            before = self._notes["before"] or current_counts(connection)
            total = backfill_rows.number_of_undecided(connection)
            down = Takedowns.of(row.domain_or_url for row in takedowns.entries(connection))
        with self._step(before=before):
            pass
        advance, done = self._show("Comparing hosts", total), 0
        for _pass in range(_PASSES):  # once more for rows that another process was writing to
            after = ""
            while True:
                with self._step() as connection:
                    rows = backfill_rows.undecided_after(connection, after, HOSTS_PER_BATCH)
                    if rows:
                        self._compare_batch(connection, rows, down)
                if not rows:
                    break
                after = rows[-1].host
                done += len(rows)
                advance(min(done, total))

    def _compare_batch(self, connection: Connection, rows: Any, down: Takedowns) -> None:
        names = [row.host for row in rows]
        present = hosts.ids_of(connection, names)
        stored = backfill_rows.rows_of(connection, names, self._now, keep_still=not self._dry_run)
        otherwise = backfill_rows.known_otherwise(connection, names)
        results: dict[str, tuple[str, str | None]] = {}
        new: list[dict[str, Any]] = []
        changed: list[dict[str, Any]] = []
        for row in rows:
            known = stored.get(row.host)
            if known is None and row.host in present:
                continue  # another process is writing to it: the next pass may succeed
            covering = down.covering_host(row.host) if known is None else None
            if row.host in otherwise:
                results[row.host] = ("misnamed", otherwise[row.host])
            elif known is None and (name := canonical_name(row.host, self._collapse)) != row.host:
                results[row.host] = ("misnamed", name)  # its row has been merged into another
            elif known is None and row.fetch_rows == 0:
                results[row.host] = ("orphan", None)
            elif covering is not None:
                results[row.host] = ("taken_down", covering)
            elif known is None:
                new.append(first_row(row, self._refresh_after))
            elif known.is_leased:
                results[row.host] = ("leased", known.claimed_by)
            else:
                values = raised_counters(row, known)
                results[row.host] = ("raised" if values else "unchanged", None)
                changed += [values] if values else []
        made = {values["domain"] for values in new}
        if not self._dry_run:
            made = backfill_rows.insert_hosts(connection, new)
            backfill_rows.raise_counters(connection, changed)
            raised = {host for host, (result, _detail) in results.items() if result == "raised"}
            backfill_rows.score_hosts(connection, made | raised, self._weights, self._now)
        backfill_rows.decide(connection, results | dict.fromkeys(made, ("created", None)))


def _show_nothing(_done: int) -> None:
    """Show no progress."""


SOURCE: Final = "backfill_fetches"
_LARGEST: Final = 2**31 - 1
_REASONS_KEPT: Final = 20
_OTHER_REASONS: Final = "other reasons"
_ABSOLUTE: Final = re.compile(r"\s*(https?://[^/?#\\]*)", re.IGNORECASE)
_ADDED: Final = (*SUMMED, "crawl_depth_reached", "first_at", "last_at")


def first_row(row: Any, refresh_after: timedelta) -> dict[str, Any]:
    """A new row for a host: in the state in which the older crawl left it, and due when that state says."""
    reason = _why_left(row)
    status = HostStatus.EXHAUSTED if reason is None else status_for(reason)
    due = row.last_at + refresh_after if reason is None else cooldown_ends_at(row.last_at, reason, 0)
    counters = {name: _bounded(name, getattr(row, name)) for name in COUNTERS}
    return {
        "domain": row.host,
        "parent_domain": row.parent_domain,
        "status": status,
        "block_reason": None if reason is None else "more than half of the stored fetches failed",
        "block_reason_code": None if reason is None else str(reason),
        "first_blocked_at": None if reason is None else row.last_at,
        **counters,
        **_rates(counters),
        "source": SOURCE,
        "first_seen_at": row.first_at,
        "last_crawled_at": row.last_at,
        "next_crawl_after": due,
    }


def _why_left(row: Any) -> BlockReason | None:
    """Why a host counts as blocked or unreachable: more than half of its fetches were refused, or got no response."""
    if 2 * row.refusals > row.fetch_rows:
        kinds = {401: row.logins_asked, 429: row.rate_limits, 500: row.server_errors}
        kinds[403] = row.refusals - sum(kinds.values())
        return reason_for_status(max(kinds, key=lambda status: kinds[status]))
    return BlockReason.CONNECTION_FAILURE if 2 * row.unanswered > row.fetch_rows else None


def raised_counters(row: Any, known: Any) -> dict[str, Any] | None:
    """A row's counters if the evidence proves some of them too low; otherwise None.

    Counters only grow, by one for each row of the log. A larger number of rows proves that something was not counted;
    a smaller one proves only that the log was truncated.
    """
    counters = {name: max(getattr(known, name), _bounded(name, getattr(row, name))) for name in COUNTERS}
    times = [time for time in (known.last_crawled_at, row.last_at) if time is not None]
    last = max(times) if times else None
    if last == known.last_crawled_at and all(counters[name] == getattr(known, name) for name in counters):
        return None
    return {"id": known.id, **counters, **_rates(counters), "last_crawled_at": last}


def _rates(counters: dict[str, int]) -> dict[str, float | None]:
    pages = counters["pages_crawled"]
    return {
        "image_yield_rate": rate(counters["images_stored"], pages),
        "avg_images_per_page": rate(counters["images_found"], pages),
        "error_rate": rate(counters["total_error_count"], pages),
    }


def _bounded(name: str, number: int) -> int:
    """Cap a counter: the columns of errors and depth are narrower than those of pages and images."""
    return min(number, _LARGEST) if name in ("total_error_count", "crawl_depth_reached") else number


def add_group(sums: dict[str, dict[str, Any]], host: str, parent: str | None, group: Any) -> None:
    """Add the sums of one group of fetches to those of its host."""
    known = sums.get(host)
    if known is None:
        sums[host] = {"host": host, "parent_domain": parent} | {name: getattr(group, name) for name in _ADDED}
        return
    for name in SUMMED:
        known[name] += getattr(group, name)
    known["crawl_depth_reached"] = max(known["crawl_depth_reached"], group.crawl_depth_reached)
    known["first_at"] = min(known["first_at"], group.first_at)
    known["last_at"] = max(known["last_at"], group.last_at)


def skip_rows(skipped: dict[str, list[Any]], error: BadAddress, rows: int) -> None:
    """Count rows that name no host. Reasons that quote the address could be many, so only some are kept separate."""
    is_full = error.reason not in skipped and len(skipped) >= _REASONS_KEPT
    line = skipped.setdefault(_OTHER_REASONS if is_full else error.reason, [0, error.text])
    line[0] += rows


@lru_cache(maxsize=65_536)
def host_of_url(text: str, collapse: bool) -> CanonicalHost | BadAddress:
    """The host of a fetched URL, or the reason why it is not a web address. The beginning of the URL is enough."""
    absolute = _ABSOLUTE.match(text)
    try:
        if absolute is not None:
            return canonical_host(absolute[1], collapse=collapse)
        canonical_host(text)
    except BadAddress as error:
        return BadAddress(error.text, error.reason)  # without its traceback: these are kept
    return BadAddress(text.rpartition("@")[2], "does not start with http:// or https://")


@lru_cache(maxsize=65_536)
def host_of_name(text: str, collapse: bool) -> CanonicalHost | BadAddress:
    """The host that a table names."""
    if len(text) > LONGEST_NAME:
        return BadAddress(text[:LONGEST_NAME].rpartition("@")[2], "longer than a host name can be")
    try:
        return canonical_host(text, collapse=collapse)
    except BadAddress as error:
        return BadAddress(error.text, error.reason)


def canonical_name(text: str, collapse: bool) -> str | None:
    """The name of a host by today's rules; None if it is not a host."""
    found = host_of_name(text, collapse)
    return None if isinstance(found, BadAddress) else found.authority
