"""A bot: an outside worker that pulls jobs and submits results with its own API key."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import Final

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.model.queue import OWN_BOT

LONGEST_BOT_ID: Final = 100
MOST_IN_HAND: Final = 10_000
MOST_PER_MINUTE: Final = 1_000_000
MOST_QUARANTINE_MINUTES: Final = 43_200  # 30 days
BOT_ID_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,99}$"
BOT_ID_RULE: Final = f"must have 1 to {LONGEST_BOT_ID} letters, digits and . _ : @ -, and start with a letter or digit"
RESERVED_BOT_IDS: Final = frozenset({"new", "export"})  # these paths are taken
_is_bot_id: Final = re.compile(BOT_ID_PATTERN).fullmatch


class BotStatus(StrEnum):
    """Whether a bot may pull: `quarantined` after too many failures in a row, `revoked` for good."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class BotRecord:
    """A bot as the state knows it. Its key is not here: only a hash of it is stored."""

    bot_id: str
    status: BotStatus
    has_key: bool
    max_jobs_in_hand: int | None
    max_jobs_per_minute: int | None
    consecutive_failures: int
    jobs_pulled: int
    jobs_done: int
    jobs_failed: int
    jobs_in_hand: int
    quarantined_until: datetime | None
    note: str | None
    last_seen_at: datetime | None
    created_at: datetime


def check_bot_id(bot_id: str) -> str:
    """The id; raises `BadInput` if a bot cannot have it."""
    if not _is_bot_id(bot_id):
        raise BadInput("bot_id", BOT_ID_RULE)
    if bot_id == OWN_BOT:
        raise BadInput("bot_id", f"{OWN_BOT} is the name of Comity's own worker; choose another")
    if bot_id in RESERVED_BOT_IDS:
        raise BadInput("bot_id", f"{bot_id} is reserved; choose another id")
    return bot_id
