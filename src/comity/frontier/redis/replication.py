"""Redis follows the database: batches are applied in order, missing ones come from the journal, lost hosts are rebuilt.

A host's mark (which life of its frontier is the right one, and how many batches it was sent) is in the database; what
Redis has of it is in every reply. A caller that finds Redis behind brings it up to date before going on.

A host that Redis has lost is rebuilt from the database. What was visited is known from `fetches`, images from
`image_urls`, what is under way from the journal. Pages that were found and never visited are lost: so, unless the host
was exhausted, its pages are queued again, and its sitemaps are read again, because these are what the lost URLs were
found on. It costs the site a second visit, and loses nothing that it links.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

from comity.clock import Clock
from comity.database import images, sitemaps
from comity.database.connection import Database
from comity.database.frontier import journal as journal_table
from comity.database.frontier.journal import JournalMark
from comity.database.records import were_pages
from comity.database.tables import DONE, QUEUED
from comity.frontier.redis.layout import (
    HEAD_BYTES,
    MARKER,
    AddTooDeep,
    Apply,
    ChangeState,
    Lift,
    MoveIn,
    Requeue,
    RequeueSome,
    data_keys,
    pack_entry,
    pack_kept,
    read_batch,
    stem_of,
    unpack_element,
)
from comity.frontier.redis.link import LoneConnection, RedisLink, info_of
from comity.frontier.store import FrontierUnavailable
from comity.model.dataclass import dataclass
from comity.model.frontier import GUESSED_SCHEME_PRIORITY, IMAGE_PRIORITY, FoundBy
from comity.model.host import HostStatus
from comity.rules.canonical import address_of_host, web_address

LISTED: Final = 1000  # URLs that one script looks at
_LISTS: Final = 16  # lists of 64 URLs that one script changes
_MARKS_MOST: Final = 100_000
_JOURNAL_PAGE: Final = 50
_ATTEMPTS: Final = 4
_WELL: Final = (b"OK", b"DONE")
_PAGE: Final = 1000
_UNLINKED: Final = 500
_ALONE_MS: Final = 60_000
_BUILDING: Final = -1
_WITH_LINKS: Final = ("fetched", "not_modified")
_TRIED_AGAIN: Final = ("failed", "rate_limited")


class Replication:
    """What this process knows of the marks, and how Redis is brought up to them."""

    def __init__(self, database: Database, link: RedisLink, clock: Clock) -> None:
        self._database = database
        self._link = link
        self.durability = Durability(link, clock)
        self._marks: OrderedDict[UUID, JournalMark] = OrderedDict()
        self._rebuilt: set[UUID] = set()

    def note(self, host_id: UUID, mark: JournalMark) -> None:
        """Remember a mark; the least used are forgotten, and read again when they are wanted."""
        self._marks[host_id] = mark
        self._marks.move_to_end(host_id)
        if len(self._marks) > _MARKS_MOST:
            self._marks.popitem(last=False)

    def drop(self, host_id: UUID) -> None:
        """Forget a mark."""
        self._marks.pop(host_id, None)

    def load(self, host_ids: Collection[UUID]) -> dict[UUID, JournalMark]:
        """Read marks from the database, whatever was remembered."""
        with self._database.read() as connection:
            marks = journal_table.marks(connection, host_ids)
        for host_id in host_ids:
            known, mark = self._marks.pop(host_id, None), marks.get(host_id)
            if mark is None:
                continue
            if known is not None and known.epoch != mark.epoch:
                self._rebuilt.add(host_id)
            self.note(host_id, mark)
        return marks

    def take_rebuilt(self) -> set[UUID]:
        """Hosts that were seen with a new epoch since the last call."""
        if not self._rebuilt:
            return set()
        rebuilt, self._rebuilt = self._rebuilt, set()
        return rebuilt

    def mark(self, host_id: UUID) -> JournalMark | None:
        """The mark of a host; None if it has no frontier yet."""
        known = self._marks.get(host_id)
        return known if known is not None else self.load([host_id]).get(host_id)

    def marks(self, host_ids: Collection[UUID]) -> dict[UUID, JournalMark]:
        """The marks of those of some hosts that have a frontier, with one question for all that are not known."""
        known = {host_id: mark for host_id in host_ids if (mark := self._marks.get(host_id)) is not None}
        if len(known) < len(host_ids):
            known |= self.load([host_id for host_id in host_ids if host_id not in known])
        return known

    def ask(self, host_id: UUID, script: str, *arguments: Any) -> Any:
        """Run a reading script on a host that is up to its mark; None if the host has no frontier."""
        for _ in range(_ATTEMPTS):
            mark = self.mark(host_id)
            if mark is None:
                return None
            reply = self._link.run(script, stem_of(host_id), *arguments)
            if is_up_to(reply, mark):
                return reply
            self.catch_up(host_id)
        raise FrontierUnavailable(
            f"the frontier of host {host_id} at {self._link.location} is being changed by another process"
        )

    def follow(self, sent: Mapping[UUID, tuple[JournalMark, Sequence[bytes]]]) -> None:
        """Apply what was committed just now, of all hosts; one that is not where it should be is caught up with."""
        plain = {host_id: mark for host_id, (mark, payloads) in sent.items() if is_plain(payloads)}
        calls = [("apply", stem_of(host_id), [*mark, *_parts(sent[host_id][1][0])]) for host_id, mark in plain.items()]
        for (host_id, mark), reply in zip(plain.items(), self._link.run_many(calls), strict=True):
            if reply in _WELL:
                self.durability.note(host_id, mark)
            else:
                self.catch_up(host_id)
        for host_id, (mark, payloads) in sent.items():
            first = mark.batch - len(payloads) + 1
            if host_id not in plain and not self.apply(host_id, mark.epoch, list(enumerate(payloads, first))):
                self.catch_up(host_id)

    def apply(self, host_id: UUID, epoch: str, batches: Sequence[tuple[int, bytes]]) -> bool:
        """Apply batches that are committed, in their order; False if Redis is not where they go on from."""
        for number, payload in batches:
            if not self._apply_one(host_id, JournalMark(epoch, number), payload):
                return False
        if batches:
            self.durability.note(host_id, JournalMark(epoch, batches[-1][0]))
        return True

    def _apply_one(self, host_id: UUID, mark: JournalMark, payload: bytes) -> bool:
        stem, batch = stem_of(host_id), read_batch(payload)
        place: Any
        match batch:
            case Apply(parts):
                return self._link.run("apply", stem, *mark, *parts) in _WELL
            case ChangeState(before, after, keys):
                return self._link.run("change_state", stem, *mark, before, after, keys) in _WELL
            case AddTooDeep(parts):
                return self._link.run("add_too_deep", stem, *mark, *parts) in _WELL
            case Lift(max_depth):
                place = 0
                while isinstance(place, int):
                    place = self._link.run("lift", stem, *mark, max_depth, LISTED)
                return place in _WELL
            case RequeueSome(ranked):
                return self._link.run("requeue_some", stem, *mark, ranked) in _WELL
            case Requeue():
                place = 0
                while isinstance(place, int):
                    place = self._link.run("requeue", stem, *mark, place, _LISTS)
                return place in _WELL
            case MoveIn(from_host):
                return self._move_in(from_host, stem, mark)

    def _move_in(self, from_host: UUID, stem: str, mark: JournalMark) -> bool:
        """Copy a host's URLs to another, then delete them there; a part that was copied before is passed over."""
        place, source = 0, stem_of(from_host)
        if mark.batch == 1 and self._link.command("HSETNX", stem, "epoch", mark.epoch):
            self._link.command("HSETNX", stem, "applied", 0)  # the first that ever comes here
        while place >= 0:
            _epoch, _applied, origin, place, found = self._link.run("list", source, place, LISTED, "")
            items: list[bytes] = []
            for _sequence, element, state, tries, at, hints in found:
                url = unpack_element(element, origin)[0]
                kept = pack_kept(int(state), int(tries), float(at) if at else None)
                items += [element[:HEAD_BYTES] + url.encode(), kept, hints]
            after = "" if place >= 0 else mark.batch
            if self._link.run("take_in", stem, mark.epoch, mark.batch - 1, after, 0, *items) not in _WELL:
                return False
        self.wipe(from_host)
        return True

    def catch_up(self, host_id: UUID, *, may_rebuild: bool = True) -> bool:
        """Bring Redis to where the database says that it is; False if that needs a rebuild, which is not allowed."""
        for _ in range(_ATTEMPTS):
            mark = self.load([host_id]).get(host_id)
            if mark is None:
                return True
            epoch, applied = self._link.command("HMGET", stem_of(host_id), "epoch", "applied")
            has = int(applied) if applied is not None else 0
            if epoch is not None and epoch.decode() != mark.epoch:
                has = -1
            if has >= 0 and self._replay(host_id, mark, has):
                return True
            if not may_rebuild:
                return False
            _rebuild(self._database, self._link, host_id, self.new_epoch())
        raise FrontierUnavailable(
            f"the frontier of host {host_id} at {self._link.location} cannot be brought up to date"
        )

    def _replay(self, host_id: UUID, mark: JournalMark, has: int) -> bool:
        """Apply what the journal has behind a batch; False if something is missing in between."""
        if has > mark.batch:
            return True  # another process went on meanwhile
        while has < mark.batch:
            with self._database.read() as connection:
                rows = journal_table.batches_after(connection, host_id, has, _JOURNAL_PAGE)
            if not rows or rows[0].batch != has + 1:
                return False
            if not self.apply(host_id, mark.epoch, [(row.batch, bytes(row.payload)) for row in rows]):
                return False
            has = rows[-1].batch
        self.durability.note(host_id, JournalMark(mark.epoch, has))  # its rows may be those of a process that died
        return True

    def wipe(self, host_id: UUID) -> None:
        """Delete everything that Redis has of a host; it is dead from the first step on."""
        stem = stem_of(host_id)
        said = self._link.command("HMGET", stem, "epoch", "known", "buckets")
        self._link.command("UNLINK", stem)
        _unlink(self._link, stem, said)

    @staticmethod
    def new_epoch() -> str:
        """A name for a new life."""
        return secrets.token_hex(4)


def is_plain(payloads: Sequence[bytes]) -> bool:
    """Whether a host's changes are one batch that one script applies."""
    return len(payloads) == 1 and isinstance(read_batch(payloads[0]), Apply)


def _parts(payload: bytes) -> list[bytes]:
    batch = read_batch(payload)
    assert isinstance(batch, Apply)
    return batch.parts


def is_up_to(reply: Any, mark: JournalMark) -> bool:
    """Whether a reply comes from a frontier that has everything up to a mark."""
    return reply[0] is not None and reply[0].decode() == mark.epoch and int(reply[1]) >= mark.batch


_PAUSE_S: Final = 0.25  # between marks, so that a busy crawl asks seldom
_MOST_HOSTS: Final = 2000


@dataclass(slots=True)
class _Marked:
    """A mark that was set: when, and what lies before it."""

    at: float
    batches: dict[UUID, JournalMark]


class Durability:
    """Batches that were applied, until Redis has them on disk and the journal may drop them.

    Nothing here waits: a mark is written behind the batches on a connection of its own, and later the same connection
    checks whether that mark is on disk. With `appendfsync always` it is at once. With `everysec` a grace period must
    pass, too: WAITAOF alone cannot be trusted then, because Redis from 7.4 on (until a correction in 2025) and Valkey
    answer it too early. A connection that broke in between proves nothing: the batches are checked again, because the
    server may have come back without them.
    """

    def __init__(self, link: RedisLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock
        self._applied: dict[UUID, JournalMark] = {}
        self._marked: _Marked | None = None
        self._lone: LoneConnection | None = None
        self._last_at = 0.0

    def note(self, host_id: UUID, mark: JournalMark) -> None:
        """A batch, and all before it, is in Redis."""
        self._applied[host_id] = mark

    def __bool__(self) -> bool:
        return bool(self._applied or self._marked)

    def confirmed(self) -> tuple[dict[UUID, int], list[UUID]]:
        """Batches that are safe now, by host; and hosts whose batches are gone from Redis. Never waits, never fails."""
        if not self._link.terms.is_durable:
            safe, self._applied = self._applied, {}
            return {host_id: mark.batch for host_id, mark in safe.items()}, []
        try:
            with self._link.clear_errors():
                return self._step()
        except FrontierUnavailable:
            self._break()
            return {}, []

    def _step(self) -> tuple[dict[UUID, int], list[UUID]]:
        now, gone = self._clock.seconds(), list[UUID]()
        if self._marked is None:
            if not self._applied or now - self._last_at < _PAUSE_S:
                return {}, []
            gone = self._set_mark(now)
        marked = self._marked
        if marked is None or not self._is_on_disk(now - marked.at):
            return {}, gone
        self._marked = None
        return {host_id: mark.batch for host_id, mark in marked.batches.items()}, gone

    def _set_mark(self, now: float) -> list[UUID]:
        """Check whether the batches are still there, and write behind them; returns hosts that lost theirs."""
        if self._lone is None:
            self._lone = self._link.lone_connection()
        some = dict(list(self._applied.items())[:_MOST_HOSTS])
        asked = [("HMGET", stem_of(host_id), "epoch", "applied") for host_id in some]
        replies = self._lone.ask([*asked, ("SET", MARKER, repr(now))])
        self._last_at = now
        there: dict[UUID, JournalMark] = {}
        gone: list[UUID] = []
        for (host_id, mark), (epoch, applied) in zip(some.items(), replies, strict=False):
            del self._applied[host_id]
            if epoch == mark.epoch.encode() and int(applied) >= mark.batch:
                there[host_id] = mark
            else:
                gone.append(host_id)
        if there:
            self._marked = _Marked(now, there)
        return gone

    def _is_on_disk(self, age_s: float) -> bool:
        """Ask on the connection that wrote the mark."""
        assert self._lone is not None
        if age_s < self._link.terms.grace_s and self._policy(self._lone) != b"always":
            return False
        said = info_of(self._lone.ask([("INFO", "persistence")])[0])
        if said.get("aof_last_write_status", "ok") != "ok" or said.get("aof_pending_bio_fsync", "0") != "0":
            return False  # a disk that is full or slow
        replicas = self._link.terms.replicas
        try:
            local, remote = self._lone.ask([("WAITAOF", 1, replicas, 1)])[0]
        except self._link.response_error as error:
            if "unknown command" not in str(error) or replicas:
                raise
            return True  # before Redis 7.2
        return bool(local >= 1 and remote >= replicas)

    def _policy(self, lone: LoneConnection) -> bytes:
        """How the server syncs its log; where it will not say, as servers do by default."""
        try:
            _name, policy = lone.ask([("CONFIG", "GET", "appendfsync")])[0]
        except (self._link.response_error, ValueError):
            return b"everysec"
        return bytes(policy)

    def _break(self) -> None:
        """The connection broke: whatever was marked is to be looked for again."""
        if self._marked is not None:
            self._applied = self._marked.batches | self._applied
            self._marked = None
        if self._lone is not None:
            self._lone.close()
            self._lone = None

    def close(self) -> None:
        """Close the connection."""
        self._break()


def _rebuild(database: Database, link: RedisLink, host_id: UUID, epoch: str) -> None:
    """Start a new epoch of a host's frontier; the caller applies the journal on top."""
    stem = stem_of(host_id)
    # One at a time: two would undo each other's work forever.
    is_ours = link.command("SET", f"{stem}:building", epoch, "NX", "PX", _ALONE_MS)
    # If the answer was lost and the command was repeated, the obstacle is our own entry.
    if not is_ours and link.command("GET", f"{stem}:building") != epoch.encode():
        raise FrontierUnavailable(
            f"the frontier of host {host_id} at {link.location} is being rebuilt by another worker"
        )
    try:
        with database.write() as connection:
            mark = journal_table.begin_epoch(connection, host_id, epoch)
            if mark is None:
                return
            first = journal_table.first_batch(connection, host_id)
            host = journal_table.host_of(connection, host_id)
            is_finished = host.status is HostStatus.EXHAUSTED
            if not is_finished and first != 1:
                sitemaps.forget(connection, host_id)
        before = link.command("HMGET", stem, "epoch", "known", "buckets")
        link.commands([("DEL", stem), ("HSET", stem, "epoch", epoch, "applied", _BUILDING)])
        if first != 1:  # the journal does not hold all that this host ever had
            _load(database, link, stem, epoch, host.domain, is_finished)
            _load_images(database, link, stem, epoch, host_id)
        applied = mark.batch if first is None else first - 1
        _take_in(link, stem, epoch, [], applied)
        _unlink(link, stem, before)
    finally:
        link.command("DEL", f"{stem}:building")


def _load(database: Database, link: RedisLink, stem: str, epoch: str, host: str, is_finished: bool) -> None:
    """Store every visit, oldest first; the last outcome of a URL counts."""
    last: Any = None
    has_queued = False
    while True:
        with database.read() as connection:
            rows = journal_table.visits(connection, host, last, _PAGE)
        if not rows:
            break
        items: list[bytes] = []
        for row in rows:
            is_queued = not is_finished and row.outcome in (*_WITH_LINKS, *_TRIED_AGAIN)
            has_queued |= is_queued
            items += _item(row.page_url, row.url_key, row.depth, QUEUED if is_queued else DONE)
        _take_in(link, stem, epoch, items, None)
        link.command("PEXPIRE", f"{stem}:building", _ALONE_MS)
        last = rows[-1]
    if last is None or not (is_finished or has_queued):  # there is no other URL to begin with
        with database.read() as connection:
            origins = journal_table.origins_of(connection, host)
        # Without a robots.txt that was read, the scheme is a guess, as it is for a seed without one.
        priority, found_by = (0, FoundBy.UNKNOWN) if origins else (GUESSED_SCHEME_PRIORITY, FoundBy.SEED)
        for root in (web_address(f"{origin}/") for origin in origins or [address_of_host(host).origin]):
            item = _item(root.url, root.key, 0, QUEUED, priority, found_by)
            _take_in(link, stem, epoch, item, None, newer=False)


def _load_images(database: Database, link: RedisLink, stem: str, epoch: str, host_id: UUID) -> None:
    """Store the images of a host: those that were never requested are queued, whatever became of their pages."""
    last: int | None = None
    while True:
        with database.read() as connection:
            rows = images.addresses_after(connection, host_id, last, _PAGE)
            pages = were_pages(connection, [row.url_key for row in rows])
        if not rows:
            return
        items: list[bytes] = []
        for row in rows:
            if row.url_key not in pages:
                state = QUEUED if row.asked_at is None else DONE
                items += _item(row.url, row.url_key, 0, state, IMAGE_PRIORITY)
        _take_in(link, stem, epoch, items, None)
        link.command("PEXPIRE", f"{stem}:building", _ALONE_MS)
        last = rows[-1].url_key


def _item(url: str, key: int, depth: int, state: int, priority: int = 0, found_by: int = 0) -> list[bytes]:
    return [pack_entry(url, key, depth, priority, found_by), pack_kept(state, 0, None), b""]


def _take_in(
    link: RedisLink, stem: str, epoch: str, items: list[bytes], applied: int | None, *, newer: bool = True
) -> None:
    after = "" if applied is None else applied
    if link.run("take_in", stem, epoch, _BUILDING, after, int(newer), *items) not in (b"OK", b"DONE"):
        raise FrontierUnavailable(f"the frontier at {link.location} was rebuilt by another worker at the same time")


def _unlink(link: RedisLink, stem: str, said: Sequence[bytes | None]) -> None:
    """Delete the keys of one life, of which the host's hash said epoch, known and buckets; a few hundred at a time."""
    epoch, known, buckets = said
    if epoch is None:
        return
    names = data_keys(stem, epoch.decode(), int(known or 0), int(buckets or 1))
    while some := list(islice(names, _UNLINKED)):
        link.command("UNLINK", *some)
