"""Statements that merge one host's row into another's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, delete, select, update

from comity.database import ledger
from comity.database.frontier import left_out, lists, unqueued
from comity.database.images import move as move_images
from comity.database.images import provenance
from comity.database.queue.tables import crawl_jobs, crawl_policies, grants
from comity.database.tables import domain_moves, domain_policies, domains, evidence, fetches, robots_cache

_SUMMED: Final = (
    "pages_discovered",
    "pages_crawled",
    "images_found",
    "images_stored",
    "total_error_count",
    "unqueued_recorded",
    "unqueued_unrecorded",
    "left_out_recorded",
    "left_out_unrecorded",
)
_HIGHEST: Final = (
    "crawl_depth_reached",
    "lease_token",
    "backoff_step",
    "adaptive_delay_s",
    "next_fetch_at",
    "blocked_until",
    "last_start_at",
    "last_crawled_at",
    "cooldown_count",
)
# The stricter of two policies holds for the folded host: (column, whether higher is stricter).
_STRICTER: Final = (
    ("max_concurrency", False),
    ("min_request_interval_ms", True),
    ("max_pages", False),
    ("max_kb_per_page", False),
    ("allow_js", False),
)


def names_after(connection: Connection, after: UUID | None, limit: int) -> Sequence[Any]:
    """Ids and names of hosts in the order of their ids."""
    statement = select(domains.c.id, domains.c.domain).order_by(domains.c.id).limit(limit)
    if after is not None:
        statement = statement.where(domains.c.id > after)
    return connection.execute(statement).all()


def locked(connection: Connection, host: str) -> Row[Any] | None:
    """A host's row, locked until the transaction ends."""
    statement = select(domains).where(domains.c.domain == host)
    if connection.dialect.name == "postgresql":
        statement = statement.with_for_update()
    return connection.execute(statement).first()


def rename(connection: Connection, row: Row[Any], name: str, parent: str | None) -> None:
    """Give a host its canonical name, everywhere that the name is stored."""
    connection.execute(
        update(domains)
        .where(domains.c.id == row.id)
        .values(
            domain=name,
            parent_domain=parent,
            frontier_checkpoint_id=_checkpoint_of(row),
            version=domains.c.version + 1,
        )
    )
    ledger.rename_chain(connection, row.id, name)
    _rename_loose_references(connection, row.domain, name)


def fold(connection: Connection, kept: Row[Any], gone: Row[Any], name: str, parent: str | None) -> None:
    """Add the counters of one row to another, move what refers to it, and delete it; its URLs were moved before."""
    connection.execute(update(fetches).where(fetches.c.domain_id == gone.id).values(domain_id=kept.id))
    connection.execute(update(evidence).where(evidence.c.domain_id == gone.id).values(domain_id=kept.id))
    connection.execute(update(domain_moves).where(domain_moves.c.domain_id == gone.id).values(domain_id=kept.id))
    ledger.fold_chain(connection, gone.id, kept.id)
    move_images(connection, gone.id, kept.id)
    unqueued.move(connection, gone.id, kept.id)
    left_out.move(connection, gone.id, kept.id)
    lists.move(connection, gone.id, kept.id)
    for table in (crawl_jobs, crawl_policies, grants):
        connection.execute(update(table).where(table.c.domain_id == gone.id).values(domain_id=kept.id))
    connection.execute(delete(domains).where(domains.c.id == gone.id))
    values: dict[str, Any] = {column: getattr(kept, column) + getattr(gone, column) for column in _SUMMED}
    values["left_out_rules"] = None  # the patterns are checked again
    for column in _HIGHEST:
        present = [value for value in (getattr(kept, column), getattr(gone, column)) if value is not None]
        values[column] = max(present) if present else None
    depths = [depth for depth in (kept.left_at_depth, gone.left_at_depth) if depth is not None]
    ranks = [rank for rank in (kept.seed_rank, gone.seed_rank) if rank is not None]
    # A lease that ran out ends here; that it ended without a release is recorded, whichever row it was on.
    silences = [row.claim_expires_at or row.unclean_end_at for row in (kept, gone)]
    values |= {
        "claimed_by": None,
        "claim_expires_at": None,
        "unclean_end_at": max((end for end in silences if end is not None), default=None),
        "domain": name,
        "parent_domain": parent,
        "is_seeded": kept.is_seeded or gone.is_seeded,
        "seed_rank": min(ranks) if ranks else None,
        "left_at_depth": min(depths) if depths else None,
        "frontier_size": kept.frontier_size + gone.frontier_size,  # at most; it is counted after
        "frontier_checkpoint_id": _checkpoint_of(kept),
    }
    for old in (kept.domain, gone.domain):
        _rename_loose_references(connection, old, name)
    connection.execute(update(domains).where(domains.c.id == kept.id).values(**values, version=domains.c.version + 1))
    ledger.rename_chain(connection, kept.id, name)


def _checkpoint_of(row: Row[Any]) -> str | None:
    """The checkpoint of a host under its new name: a key in Redis stays, one that names the host is written again."""
    known = row.frontier_checkpoint_id
    return known if known is not None and known.startswith("redis:") else None


def note_size(connection: Connection, host_id: UUID, queued: int) -> None:
    """Note how many URLs a folded host has queued, unless a worker crawls it by now."""
    still = (domains.c.id == host_id, domains.c.claimed_by.is_(None))
    connection.execute(update(domains).where(*still).values(frontier_size=queued))


def _rename_loose_references(connection: Connection, old: str, new: str) -> None:
    """Rows that name a host by text instead of by id."""
    if old == new:
        return
    connection.execute(update(fetches).where(fetches.c.domain == old).values(domain=new))
    connection.execute(update(provenance).where(provenance.c.source_domain == old).values(source_domain=new))
    # What is in force is noted again, in the chain of the host that goes on.
    connection.execute(update(robots_cache).where(robots_cache.c.host == old).values(host=new, noted=None))
    _fold_policies(connection, old, new)


def _fold_policies(connection: Connection, old: str, new: str) -> None:
    rows = {
        row.host: row
        for row in connection.execute(select(domain_policies).where(domain_policies.c.host.in_([old, new])))
    }
    if old not in rows:
        return
    if new not in rows:
        connection.execute(update(domain_policies).where(domain_policies.c.host == old).values(host=new))
        return
    ours, theirs = rows[old], rows[new]
    stricter = {
        column: (max if higher else min)(getattr(ours, column), getattr(theirs, column)) for column, higher in _STRICTER
    }
    if ours.is_page_size_set != theirs.is_page_size_set:  # a default is not a decision, and yields to one
        stricter["max_kb_per_page"] = (ours if ours.is_page_size_set else theirs).max_kb_per_page
    stricter["request_options"] = theirs.request_options or ours.request_options
    stricter["is_page_size_set"] = ours.is_page_size_set or theirs.is_page_size_set
    # What either leaves out is left out; of two lists of includes, that of the remaining host is used.
    excluded = dict.fromkeys([*theirs.exclude.splitlines(), *ours.exclude.splitlines()])
    stricter["exclude"] = "\n".join(excluded)
    stricter["include"] = theirs.include or ours.include
    connection.execute(update(domain_policies).where(domain_policies.c.host == new).values(**stricter))
    connection.execute(delete(domain_policies).where(domain_policies.c.host == old))
