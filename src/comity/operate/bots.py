"""What an operator may do with bots: add, list, limit, quarantine, resume, revoke; and the check of their keys.

A key has 256 random bits and is shown once. Only its SHA-256 is stored: with that many bits, a slow hash would protect
nothing and cost every request. The lookup goes by the hash, whose prefix a caller cannot choose, so its timing reveals
nothing about stored keys; the comparison takes constant time, too.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.queue import bots as bots_table
from comity.database.queue import jobs as jobs_table
from comity.database.queue.bots import bot_from
from comity.model.bot import (
    MOST_IN_HAND,
    MOST_PER_MINUTE,
    MOST_QUARANTINE_MINUTES,
    BotRecord,
    BotStatus,
    check_bot_id,
)
from comity.model.errors import AlreadyThere, BadInput, ComityError, NotFound, Remedy, RemedyCode
from comity.model.queue import PullLimit
from comity.rules.queue.bot_limits import allowance

KEY_PREFIX: Final = "cmty_"  # so that scanners for leaked secrets can find keys
_KEY_BYTES: Final = 32
_LONGEST_NOTE: Final = 1000
_CACHE_S: Final = 0.9  # a revoked key stops working within a second
_MOST_CACHED: Final = 1000
_LIMITS: Final = {"max_jobs_in_hand": MOST_IN_HAND, "max_jobs_per_minute": MOST_PER_MINUTE}
_REMEDY: Final = Remedy(RemedyCode.LIST_BOTS)


BOT_SORTS: Final = (
    "bot_id",
    "created_at",
    "last_seen_at",
    "jobs_pulled",
    "jobs_done",
    "jobs_failed",
    "jobs_in_hand",
    "consecutive_failures",
)


def key_hash(key: str) -> str:
    """What is stored of a key."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()


def check_limits(**limits: int | None) -> dict[str, int | None]:
    """Limits as they are stored; 0 means none. `BadInput` if one is out of bounds."""
    checked: dict[str, int | None] = {}
    for name, value in limits.items():
        if value is not None and not 0 <= value <= _LIMITS[name]:
            raise BadInput(name, f"must be between 1 and {_LIMITS[name]:,}, or 0 for no limit, not {value}")
        checked[name] = value or None
    return checked


def add_bot(
    database: Database,
    clock: Clock,
    bot_id: str,
    *,
    note: str | None = None,
    max_jobs_in_hand: int | None = None,
    max_jobs_per_minute: int | None = None,
) -> tuple[BotRecord, str]:
    """Add a bot; returns it with its key, which cannot be shown again."""
    check_bot_id(bot_id)
    limits = check_limits(max_jobs_in_hand=max_jobs_in_hand, max_jobs_per_minute=max_jobs_per_minute)
    key = KEY_PREFIX + secrets.token_urlsafe(_KEY_BYTES)
    values: dict[str, Any] = {"key_hash": key_hash(key), "note": _note(note), **limits}
    with database.write() as connection:
        if not bots_table.add(connection, bot_id, values, database.now(clock)):
            # In development, a bot may have been used without a key; this is its first one.
            known = bots_table.get(connection, bot_id)
            if known is None or known.key_hash is not None or known.status == BotStatus.REVOKED:
                raise AlreadyThere(f"there is already a bot {bot_id}", remedy=_REMEDY)
            bots_table.change(connection, bot_id, values)
        return bot_from(bots_table.get(connection, bot_id)), key


def renew_key(database: Database, bot_id: str) -> tuple[BotRecord, str]:
    """Give a bot a new key; the old one stops working. A revoked bot is active again."""
    key = KEY_PREFIX + secrets.token_urlsafe(_KEY_BYTES)
    return _change(database, bot_id, key_hash=key_hash(key), status=str(BotStatus.ACTIVE), quarantined_until=None), key


def revoke_bot(database: Database, bot_id: str) -> BotRecord:
    """Revoke a bot's key for good. The jobs that it holds return to the queue when their locks expire."""
    return _change(database, bot_id, status=str(BotStatus.REVOKED), quarantined_until=None)


def resume_bot(database: Database, bot_id: str) -> BotRecord:
    """End the quarantine of a bot, and forget its failures."""
    with database.write() as connection:
        known = bots_table.get(connection, bot_id)
        if known is not None and known.status == BotStatus.REVOKED:
            raise _Revoked(f"the bot {bot_id} is revoked, so it cannot be resumed; give it a new key")
    return _change(database, bot_id, status=str(BotStatus.ACTIVE), consecutive_failures=0, quarantined_until=None)


def quarantine_bot(database: Database, clock: Clock, bot_id: str, minutes: int) -> BotRecord:
    """Stop a bot from pulling jobs for some minutes; it may still submit results of those it holds."""
    if not 1 <= minutes <= MOST_QUARANTINE_MINUTES:
        raise BadInput("minutes", f"must be between 1 and {MOST_QUARANTINE_MINUTES:,}")
    with database.write() as connection:
        known = bots_table.get(connection, bot_id)
        if known is None:
            raise _unknown(bot_id)
        if known.status == BotStatus.REVOKED:
            raise _Revoked(f"the bot {bot_id} is revoked, so it cannot pull anyway")
        until = clock.now() + timedelta(minutes=minutes)
        bots_table.change(connection, bot_id, {"status": str(BotStatus.QUARANTINED), "quarantined_until": until})
        return bot_from(bots_table.get(connection, bot_id))


def limit_bot(database: Database, bot_id: str, *, note: str | None = None, **limits: int | None) -> BotRecord:
    """Change the limits or the note of a bot; 0 removes a limit, an empty note removes the note."""
    changes: dict[str, Any] = dict(check_limits(**{name: value for name, value in limits.items() if value is not None}))
    if note is not None:
        changes["note"] = _note(note)
    if not changes:
        raise BadInput("nothing to change: give a limit or a note")
    return _change(database, bot_id, **changes)


def get_bot(database: Database, bot_id: str) -> BotRecord:
    """One bot; raises `NotFound`."""
    with database.read() as connection:
        row = bots_table.get(connection, bot_id)
    if row is None:
        raise _unknown(bot_id)
    return bot_from(row)


def list_bots(
    database: Database,
    *,
    status: str | None = None,
    after: str | None = None,
    limit: int | None = None,
    sort: str = "bot_id",
) -> list[BotRecord]:
    """Bots by id, or by another column (a leading - reverses the order); `after` is the last one of the page before."""
    name, is_reversed = sort.removeprefix("-"), sort.startswith("-")
    if name not in BOT_SORTS:
        raise BadInput("sort", f"must be one of {', '.join(BOT_SORTS)}, with - in front for the reverse order")
    with database.read() as connection:
        if sort == "bot_id":
            return [bot_from(row) for row in bots_table.listed(connection, status=status, after=after, limit=limit)]
        found = [bot_from(row) for row in bots_table.listed(connection, status=status)]
    if name == "bot_id":
        found.reverse()
    else:
        with_value = [bot for bot in found if getattr(bot, name) is not None]
        without = [bot for bot in found if getattr(bot, name) is None]
        ordered = sorted(with_value, key=lambda bot: getattr(bot, name), reverse=is_reversed)
        found = ordered + without if is_reversed else without + ordered
    ids = [bot.bot_id for bot in found]
    if after is not None and after not in ids:
        raise BadInput("cursor", "is out of date; start again from the first page")
    start = 0 if after is None else ids.index(after) + 1
    return found[start:] if limit is None else found[start : start + limit]


def ensure_bot(database: Database, clock: Clock, bot_id: str) -> bool:
    """Make sure that a bot without a key has a row; False if it is revoked."""
    check_bot_id(bot_id)
    with database.read() as connection:
        row = bots_table.get(connection, bot_id)
    if row is None:
        with database.write() as connection:
            bots_table.add(connection, bot_id, {"note": "connected without a key"}, database.now(clock))
            row = bots_table.get(connection, bot_id)
    return row is not None and row.status != BotStatus.REVOKED


def limit_reached(database: Database, clock: Clock, bot_id: str) -> PullLimit | None:
    """Why a bot gets no jobs now, even if some are waiting; None if it may pull."""
    with database.read() as connection:
        row = bots_table.get(connection, bot_id)
        now = jobs_table.server_time(connection) if database.now(clock) is None else clock.seconds()
    if row is None:
        return None
    until = row.quarantined_until if row.status == BotStatus.QUARANTINED else None
    may = allowance(
        1,
        now,
        in_hand=row.jobs_in_hand,
        most_in_hand=row.max_jobs_in_hand,
        most_per_minute=row.max_jobs_per_minute,
        minute_started_at=None if row.minute_started_at is None else row.minute_started_at.timestamp(),
        pulled_this_minute=row.pulled_this_minute,
        quarantined_until=None if until is None else until.timestamp(),
    )
    return may.limit


def _change(database: Database, bot_id: str, **values: Any) -> BotRecord:
    with database.write() as connection:
        if not bots_table.change(connection, bot_id, values):
            raise _unknown(bot_id)
        return bot_from(bots_table.get(connection, bot_id))


class _Revoked(ComityError):
    """A revoked bot cannot be resumed."""

    code = "bot_revoked"


def _unknown(bot_id: str) -> NotFound:
    return NotFound(f"there is no bot {bot_id[:100]}", remedy=_REMEDY)


def _note(text: str | None) -> str | None:
    text = (text or "").strip()
    if len(text) > _LONGEST_NOTE or not text.isprintable():
        raise BadInput("note", f"must be one line of at most {_LONGEST_NOTE:,} characters")
    return text or None


class BotKeyring:
    """Checks the keys of bots. Valid keys are cached for less than a second; everything else asks the database."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now
        self._known: OrderedDict[str, tuple[str, float]] = OrderedDict()  # by hash: the bot, and when it was looked up

    async def bot_of(self, key: str) -> str | None:
        """The id of the bot with this key; None if the key is unknown or revoked."""
        found = key_hash(key)
        known = self._known.get(found)
        if known is not None and 0 <= self._now() - known[1] < _CACHE_S:
            return known[0]
        bot_id = await asyncio.to_thread(self._look_up, found)
        if bot_id is None:
            self._known.pop(found, None)
            return None
        self._known[found] = (bot_id, self._now())
        self._known.move_to_end(found)
        while len(self._known) > _MOST_CACHED:
            self._known.popitem(last=False)
        return bot_id

    def was_valid(self, key: str) -> bool:
        """Whether the key was valid when it was last looked up; says nothing about now."""
        return key_hash(key) in self._known

    def _look_up(self, found: str) -> str | None:
        with self._database.read() as connection:
            row = bots_table.key_of(connection, found)
        if row is None or row.status == BotStatus.REVOKED or not hmac.compare_digest(row.key_hash, found):
            return None
        return row.bot_id
