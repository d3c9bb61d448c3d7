"""The record of changes: who asked for what, and how it ended. The middleware writes it, so no route can forget it.

Of a body, only fields that name what a change is about are recorded; never a password, a key or a header.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qsl

from comity.doors.web.access import Caller, RequestHead
from comity.doors.web.audiences import JSON, Audience, RouteMatch
from comity.doors.web.errors import LOG
from comity.doors.web.requests import FORM
from comity.model.console import Activity, Role
from comity.model.errors import ComityError
from comity.rules.url_secrets import masked_url, only_origin

_LARGEST_BODY: Final = 65_536
_MOST_FIELDS: Final = 500
_LONGEST_VALUE: Final = 200
_NAMED: Final = (  # in the order in which they are shown
    "action", "name", "user", "role", "bot_id", "org_name", "careers_url", "site", "url", "host", "domain",
    "domain_or_url", "entry", "entries", "seeds", "urls", "ids", "id", "source_id", "sources",
    "reason", "status", "enabled",
)  # fmt: skip
_WEBHOOKS: Final = "/admin/webhooks"
Record = Callable[[Activity], None]


_WHILE_TYPING: Final = ("check_hint",)  # it changes nothing, and comes with every key


class ActivityLog:
    """Records one request, once its outcome is known."""

    def __init__(
        self, record: Record, head: RequestHead, query: str, match: RouteMatch, state: MutableMapping[str, Any]
    ) -> None:
        self._record = record
        self._head = head
        self._query = query
        self._match = match
        self._state = state
        self._is_written = False
        self.body = b""

    async def write(self, status: int) -> None:
        """Record the outcome, unless that is done, or such requests are not recorded."""
        if self._is_written or not self._is_recorded():
            return
        self._is_written = True
        try:
            await asyncio.to_thread(self._record, self._activity(status))
        except ComityError as error:  # the change is made, or the state was gone before it
            LOG.warning("an activity was not recorded: %s", error)

    def _is_recorded(self) -> bool:
        """Changes by known callers; of requests before the login, only attempts that are limited in number."""
        rules, caller = self._match.rules, self._state.get("caller")
        is_change = rules is not None and rules.audience is Audience.ADMIN and not self._head.is_safe
        is_change = is_change and self._match.action not in _WHILE_TYPING
        return is_change and caller is not None and (caller.role is not None or "acting" in self._state)

    def _activity(self, status: int) -> Activity:
        caller: Caller = self._state["caller"]
        is_login = "acting" in self._state
        user, role = self._state["acting"] if is_login else (caller.user, caller.role)
        return Activity(
            user=user,
            role=None if role is None else Role(role),
            by_token=caller.by_token,
            address=self._head.client,
            action=self._match.action or f"{self._head.method} {self._head.path}",
            path=self._head.path,
            # What was entered as a name may be a password.
            subject="" if is_login else self._subject(),
            status=status,
        )

    def _subject(self) -> str:
        is_of_webhooks = self._head.path.startswith(_WEBHOOKS)
        return subject_of(self._head.content_type, self._query, self.body, hides_paths=is_of_webhooks)


def subject_of(content_type: str, query: str, body: bytes, *, hides_paths: bool = False) -> str:
    """What a change is about, in one line. `hides_paths` leaves only the host of a URL: the rest may be a secret."""
    found = dict(_fields(query.encode("latin-1", "replace")))
    if len(body) > _LARGEST_BODY:
        return f"{len(body):,} bytes"
    if content_type == FORM:
        found |= _fields(body)
    elif content_type == JSON:
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict):
            found |= document
    elif body:
        return f"{len(body):,} bytes"
    if hides_paths and (url := found.get("url")):
        found["url"] = only_origin(url) if isinstance(url, str) else "…"
    return "; ".join(f"{name}: {_shown(found[name])}" for name in _NAMED if _is_telling(found.get(name)))


def _fields(text: bytes) -> dict[str, Any]:
    """The fields of a form or a query; one that comes several times is a list."""
    try:
        pairs: Iterable[tuple[str, str]] = parse_qsl(text.decode("utf-8", "replace"), max_num_fields=_MOST_FIELDS)
    except ValueError:
        return {}
    found: dict[str, Any] = {}
    for name, value in pairs:
        known = found.get(name)
        found[name] = value if known is None else [*(known if isinstance(known, list) else [known]), value]
    return found


def _is_telling(value: object) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str | list) and bool(value))


def _shown(value: object) -> str:
    if isinstance(value, list):
        first = value[0] if isinstance(value[0], str) else ""
        return _shown(first) if len(value) == 1 and first else f"{len(value):,} entries"
    text = str(value)
    lines = text.strip().splitlines() or [""]
    if len(lines) > 1:
        return f"{len(lines):,} lines"
    return masked_url(lines[0])[:_LONGEST_VALUE]
