"""What settling writes of one outcome: its row in `fetches`, and its record in the page store."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection

from comity.database.records import last_seen, were_pages
from comity.model.expression import ExtractedValues, StoredColumn
from comity.model.host import Lease
from comity.model.ledger import LedgerRow, Purpose
from comity.model.outcome import (
    OUTCOME_NAMES,
    Failed,
    Fetched,
    FetchRow,
    Gone,
    ImageFetched,
    NotModified,
    Outcome,
    RateLimited,
    Refused,
    Rejected,
    Trail,
)
from comity.model.page import NO_DETAILS, KeptDetails, PageRecord
from comity.rules.surt import surt_key
from comity.walk.visit.columns import detail_values

ANSWERED = (Fetched, ImageFetched, NotModified, Gone, RateLimited)
_WITHOUT_ANSWER = (Rejected, Failed)
_CAME = (Fetched, NotModified)


def fetch_row(
    lease: Lease, outcome: Fetched | NotModified | Gone | RateLimited | Rejected | Failed | Refused
) -> FetchRow:
    """The row of one visit."""
    entry, name = outcome.entry, OUTCOME_NAMES[type(outcome)]
    if isinstance(outcome, Refused):
        asked = pages_asked(outcome.trail) or outcome.trail.requests
        first, last = asked[0], asked[-1]
        return FetchRow(
            lease.host_id,
            lease.host,
            entry.url,
            entry.key,
            name,
            last.status,
            f"{outcome.code}: {outcome.reason}",
            first.started_at,
            max(0.0, last.ended_at - first.started_at),
            0,
            entry.depth,
            last.url,
            len(asked) - 1,
        )
    if isinstance(outcome, _WITHOUT_ANSWER):
        asked = pages_asked(outcome.trail)
        return FetchRow(
            lease.host_id,
            lease.host,
            entry.url,
            entry.key,
            name,
            outcome.status,
            f"{outcome.code}: {outcome.reason}",
            outcome.at,
            outcome.elapsed_s,
            outcome.wire_bytes,
            entry.depth,
            asked[-1].url if asked else None,
            max(0, len(asked) - 1),
        )
    answer = outcome.answer
    came = isinstance(outcome, _CAME)
    return FetchRow(
        lease.host_id,
        lease.host,
        entry.url,
        entry.key,
        name,
        answer.status,
        None if came else f"http_{answer.status}",
        answer.at,
        answer.elapsed_s,
        answer.wire_bytes,
        entry.depth,
        answer.final_url,
        answer.redirect_count,
        answer.content_type,
        _content_hash(outcome),
        answer.etag,
        answer.last_modified,
    )


def pages_asked(trail: Trail) -> list[LedgerRow]:
    """The hops of a visit: its requests without those for robots.txt and for parts of a page."""
    return [row for row in trail.requests if row.purpose is not Purpose.ROBOTS and row.purpose is not Purpose.PART]


def page_record(
    run_id: UUID,
    outcome: Outcome,
    row: FetchRow,
    *,
    with_headers: bool,
    columns: tuple[StoredColumn, ...] = (),
    details: KeptDetails = NO_DETAILS,
) -> PageRecord:
    """A page as it is stored: with its body, if it was fetched and may be stored.

    `columns` are those of expressions and, at their end, those of `details`.
    """
    kept, encoding, error = None, None, row.error
    if isinstance(outcome, Fetched):
        encoding = outcome.encoding
        if outcome.keep:
            kept, error = outcome, None
        else:
            error = "noindex"
    archived = outcome.answer if with_headers and isinstance(outcome, ANSWERED) else None
    # By position, in the order of its fields: every page makes one.
    return PageRecord(
        run_id,
        row.url_key,
        row.url,
        surt_key(row.url),
        row.status,
        kept.body if kept is not None else None,
        encoding,
        row.content_type,
        row.at,
        error,
        row.etag,
        row.last_modified,
        row.content_hash,
        row.final_url,
        row.redirect_count,
        kept.title if kept is not None else None,
        kept.coded if kept is not None else None,
        kept.coding if kept is not None else None,
        archived.headers.pairs if archived is not None else None,
        archived.address if archived is not None else None,
        row.depth,
        kept.data if kept is not None else None,
        _values(columns, kept, outcome, details) if columns else None,
        kept.text if kept is not None else None,
        kept.markdown if kept is not None else None,
        None,
        kept.is_gzip_member if kept is not None else False,
    )


def _values(
    columns: tuple[StoredColumn, ...], kept: Fetched | None, outcome: Outcome, details: KeptDetails
) -> ExtractedValues:
    """What was extracted from a page, and the details of its visit; where nothing was extracted, values are null."""
    more = detail_values(outcome.trail.details, details, outcome.entry.depth) if details else []
    values = kept.extracted if kept is not None else None
    values = values if values is not None else [None] * (len(columns) - len(more))
    return ExtractedValues(columns, [*values, *more] if more else values)


def _content_hash(outcome: Outcome) -> str | None:
    if isinstance(outcome, Fetched):
        return outcome.content_hash
    seen = outcome.entry.seen if isinstance(outcome, NotModified) else None
    return seen.content_hash if seen is not None else None


def known_before(connection: Connection, fetches: list[FetchRow], came: Sequence[int]) -> tuple[int, int]:
    """Mark visits of known pages as refreshes; returns how many, and how many images they were known to show.

    One statement for a batch, and only for hosts that had pages before.
    """
    known = were_pages(connection, came)
    if not known:
        return 0, 0
    read = set()
    for number, row in enumerate(fetches):
        if row.url_key in known:
            fetches[number] = row._replace(discovery_type="refresh")
            if row.images_read and row.outcome == OUTCOME_NAMES[Fetched]:
                read.add(row.url_key)
    before = last_seen(connection, read) if read else {}
    return len(known), sum(page.images_found for page in before.values())
