"""The protocol of frontier stores: a host's URLs, those still to visit and those visited.

URLs are added in batches. Reading them removes nothing; settling them does. Two stores behave alike: the tables of the
database, and Redis beside a database. All of it is blocking; one thread at a time uses a store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import Connection

from comity.model.dataclass import dataclass
from comity.model.errors import StateUnavailable
from comity.model.frontier import FrontierEntry, HostHome, QueuedUrl
from comity.model.sitemap import PageHints


class FrontierUnavailable(StateUnavailable):
    """The store of the frontier does not answer, or cannot be used. What was committed stays; calls may be repeated."""

    code = "frontier_unavailable"


class FrontierUnfit(FrontierUnavailable):
    """The store of the frontier answers, but would lose data: an operator has to change its configuration."""

    code = "frontier_unfit"


class PutBack(NamedTuple):
    """A URL that stays queued until a time; `tries` is 1 if it was tried, 0 if it was only postponed."""

    key: int
    until: float
    tries: int


class FoundUrl(NamedTuple):
    """Everything that the frontier knows of one URL; `attempts` and `not_before` mean something while it is queued."""

    url: str
    key: int
    depth: int
    priority: int
    state: int  # QUEUED, DONE, DROPPED or TOO_DEEP of `database.tables`
    attempts: int
    not_before: datetime | None
    hints: PageHints | None
    found_by: int = 0  # a `FoundBy`
    found_on: int = 0  # the key of the page or sitemap that named it
    discovered_at: datetime | None = None
    """Where it is in the store."""


class PlacedUrl(NamedTuple):
    """A URL in a listing; `place` is where the next page of the listing goes on."""

    place: int
    url: str
    key: int


class DoneUrl(NamedTuple):
    """A URL that is done, with what sitemaps say of it; `place` is where the next page of the listing goes on."""

    place: int
    key: int
    priority: int
    hints: PageHints | None


@dataclass(frozen=True, slots=True)
class HostSettlement:
    """What became of a host's URLs: new links first, then what is done, dropped or put back."""

    links: Sequence[FrontierEntry] = ()
    done: Sequence[int] = ()
    dropped: Sequence[int] = ()
    put_back: Sequence[PutBack] = ()
    hints: Sequence[tuple[int, PageHints]] = ()
    """What sitemaps say of URLs that the host has, besides what the links bring with them."""
    too_deep: Sequence[FrontierEntry] = ()
    """Links deeper than the limit: they are stored, and not handed out."""
    lifts: bool = False
    """Whether the links may include some that were too deep when they were found before."""


class FrontierChange(Protocol):
    """Writes to frontiers inside one transaction of the database: all of them take effect, or none.

    The store's own reads show them after the transaction's end, not before.
    """

    @property
    def connection(self) -> Connection:
        """The transaction, for whatever else belongs in it."""
        ...

    def foresee(self, links: Mapping[UUID, Sequence[FrontierEntry]]) -> None:
        """Announce links of many hosts that are about to be added, if that was not possible before."""
        ...

    def add(self, host_id: UUID, run_id: UUID | None, entries: Sequence[FrontierEntry]) -> int:
        """Queue URLs that this host has never had; returns how many were new. Hints are stored for known ones, too."""
        ...

    def settle(self, host_id: UUID, run_id: UUID | None, settlement: HostSettlement) -> int:
        """Store what became of a host's URLs; returns how many of the links were new."""
        ...

    def lift(self, host_id: UUID, max_depth: int) -> int:
        """Queue URLs that were too deep, down to a depth; returns how many."""
        ...

    def requeue_all(self, host_id: UUID) -> int:
        """Queue every URL again that is done, without waits and tries; returns how many."""
        ...

    def requeue_known(self, host_id: UUID, ranked: Collection[tuple[int, int]]) -> int:
        """Queue URLs again that are done, by key and each with a new priority; returns how many."""
        ...

    def change_state(self, host_id: UUID, keys: Collection[int], before: int, after: int) -> int:
        """Take URLs out of the queue or put them back, without waits and tries; only those in the state `before`."""
        ...

    def move(self, from_host: UUID, to_host: UUID) -> None:
        """Give one host's URLs to another; those it already has are dropped. The order among equal ranks is undefined.

        The giving host's row may be deleted in the same transaction, not before this call.
        """
        ...

    def forget(self, host_id: UUID) -> None:
        """Forget every URL of a host."""
        ...


class FrontierReads(Protocol):
    """Queries on the frontiers of hosts. Any method may raise `FrontierUnavailable`."""

    def peek(self, host_id: UUID, limit: int, now: datetime) -> list[QueuedUrl]:
        """The next URLs: by priority (highest first), depth, age; without postponed ones. They stay queued."""
        ...

    def keys(self, host_id: UUID, limit: int) -> list[int]:
        """The keys of URLs that a host has, in whatever state, at most `limit` of them."""
        ...

    def queued_up_to(self, host_id: UUID, most: int) -> int:
        """How many URLs are still to visit, counted no further than `most`."""
        ...

    def queued_of(self, host_ids: Collection[UUID]) -> dict[UUID, int]:
        """How many URLs of each of some hosts are still to visit; hosts without any are missing."""
        ...

    def size(self, host_id: UUID) -> int:
        """How many URLs are still to visit."""
        ...

    def states(self, host_id: UUID) -> dict[int, int]:
        """How many URLs there are in each state."""
        ...

    def next_ready_at(self, host_id: UUID) -> datetime | None:
        """When the earliest postponed URL may be tried; in the past if it is due and not settled yet."""
        ...

    def any_url(self, host_id: UUID) -> str | None:
        """Some URL of a host, queued or not."""
        ...

    def too_deep(self, host_ids: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
        """How many URLs of hosts are too deep, and their least depth; hosts without any are missing."""
        ...

    def too_deep_keys(self, host_id: UUID, limit: int) -> list[int]:
        """The keys of URLs that are too deep, at most `limit` of them."""
        ...

    def find(self, host_ids: Collection[UUID], key: int) -> FoundUrl | None:
        """What is known of one URL."""
        ...

    def urls(self, host_id: UUID, state: int, after: int, limit: int) -> list[PlacedUrl]:
        """URLs in one state, a page at a time: those behind the place `after`, which is 0 at first."""
        ...

    def done(self, host_id: UUID, after: int | None, limit: int) -> list[DoneUrl]:
        """URLs that are done, a page at a time, in an order of the store's own; `after` is None at first."""
        ...


Validators = Callable[[Sequence[str]], Mapping[str, tuple[str | None, str | None]]]
"""The ETag and Last-Modified of the copies that a list's owner has of URLs. Called on the database thread."""


class FrontierStore(FrontierReads, Protocol):
    """The frontiers of all hosts. When a method raises `FrontierUnavailable`, nothing was written."""

    has_own_server: bool
    """Whether it is beside the database, on a server that may stop answering while the database answers."""

    is_selective: bool
    """Whether it may accept fewer links than it is given: then they are visited only after they were read from it."""

    homes: Mapping[str, HostHome]
    """A URL of each host whose sitemaps are read although none of its URLs may be queued."""

    validators: Validators | None
    """What the owner of the list has of pages that are requested conditionally; None where none is."""

    def stop_asking(self) -> None:
        """Commit from here on without asking a server that does not answer which links are new: the run must end.

        Links that are known already may then be counted as found; none is queued twice.
        """
        ...

    def checkpoint_id(self, host_id: UUID, host: str, run_id: UUID | None) -> str | None:
        """Where a host's URLs are stored, as `domains.frontier_checkpoint_id` names it; None without a run.

        `{host}:{run_id}` for the database's own tables, `redis:{key}` for Redis.
        """
        ...

    def key_of(self, host_id: UUID) -> UUID:
        """The id under which a host's URLs and sitemaps are stored: its own, or the one in a list of visits."""
        ...

    def prepare_hosts(self, host_ids: Collection[UUID]) -> None:
        """Prepare for work on hosts that were leased just now: finish what an earlier holder left incomplete."""
        ...

    def is_blank(self) -> bool:
        """Whether a store beside the database has nothing of what it should have; its hosts will be rebuilt."""
        ...

    def reading(self) -> AbstractContextManager[FrontierReads]:
        """Several queries at the cost of one transaction, if the store has transactions."""
        ...

    def reads_in(self, connection: Connection) -> FrontierReads:
        """Queries within a transaction of the state, where the frontier is in it."""
        ...

    def change(
        self, announced: Mapping[UUID, Sequence[FrontierEntry]] | None = None
    ) -> AbstractContextManager[FrontierChange]:
        """Begin a transaction. Announced links are looked up before it begins, not while it holds locks."""
        ...

    def take_rebuilt(self) -> Collection[UUID]:
        """Hosts whose frontier was lost and rebuilt since the last call.

        Known links will be found again: what was remembered of them is no longer true.
        """
        ...

    def recover(self, limit: int = 1000) -> int:
        """Finish what any process left incomplete, for at most `limit` hosts; returns how many hosts."""
        ...

    def close(self) -> None:
        """Close connections; the database belongs to the caller."""
        ...
