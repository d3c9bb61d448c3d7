"""/admin/activity: who changed what, newest first. /admin/settings: the settings in force, and who may log in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Query, Request, Response
from markupsafe import Markup

from comity.doors.web.console.components import NOTHING, badge, words
from comity.doors.web.console.page import PageRouter, current_services, render
from comity.doors.web.console.tables import MOST_CSV_ROWS, Column, Filter, Table, TableQuery
from comity.doors.web.services import Services, WebServices
from comity.model.console import RecordedActivity
from comity.operate.console import list_activity, list_users
from comity.run.settings_in_force import SettingInForce, settings_in_force

router = PageRouter("/admin/activity")
_BATCH: Final = 500
settings_router = PageRouter("/admin/settings")
_CSV: Final = Table(
    "settings",
    [Column(name, name) for name in ("variable", "value", "is_secret", "is_set", "source", "group", "description")],
)


def _user(row: RecordedActivity) -> Markup:
    if row.user is not None:
        return Markup("{}").format(row.user)
    if row.by_token:
        return badge("plain", "token")
    return badge("plain", "this machine" if row.role is not None else "unknown")


def _outcome(row: RecordedActivity) -> Markup:
    if row.status == 0:
        return badge("warn", "client left")
    kind = "good" if row.status < 400 else "warn" if row.status < 500 else "bad"
    words = {2: "done", 3: "done", 4: "refused", 5: "failed"}.get(row.status // 100, "")
    phrase = HTTPStatus(row.status).phrase if row.status in HTTPStatus._value2member_map_ else ""
    return badge(kind, words, title=f"{row.status} {phrase}".strip())


def _action(row: RecordedActivity) -> Markup:
    return Markup('<span class="figure">{}</span>').format(words(row.action))  # in one line


def _subject(row: RecordedActivity) -> Markup:
    path = row.path.removeprefix(current_services().access.settings.prefix)
    return Markup('<span title="{}">{}</span>').format(f"{row.path} {row.subject}".strip(), row.subject[:90] or path)


TABLE: Final = Table(
    "activity",
    [
        Column("at", "Time", sorts=True),
        Column("user", "User", _user),
        Column("role", "Role", lambda row: row.role or NOTHING, is_minor=True),
        Column("action", "Action", _action, lambda row: row.action),
        Column("subject", "Subject", _subject, is_wide=True),
        Column("status", "Outcome", _outcome),
        Column("address", "From", is_minor=True),
        Column("path", "Path", in_page=False),
        Column("by_token", "By token", in_page=False),
    ],
    [
        Filter("user", "User", placeholder="User"),
        Filter("action", "Action", placeholder="Action"),
    ],
    default_sort="-at",
    key=lambda row: row.number,
    pages_by_key=True,
    goes_back=True,
    older="Older",
    newer="Newer",
    empty="Nothing has been changed yet. Every change that a user or a program makes is listed here.",
)


@router.get("")
def listed(request: Request, services: Services) -> Response:
    """Show the record of changes."""
    query = TABLE.read(request)
    if query.wants_csv:
        return TABLE.csv(_all(services, query))
    behind, ahead = _number(query.after), _number(query.before)
    rows = _listed(services, query, behind, ahead, query.limit + 1)
    listing = TABLE.listing(query, rows)
    return render(request, "activity/list.html", title="Activity", section="activity", activity=listing)


def _all(services: WebServices, query: TableQuery) -> Iterator[RecordedActivity]:
    """Every record that the filters let through, a batch at a time."""
    last: int | None = None
    for _ in range(MOST_CSV_ROWS // _BATCH):
        rows = _listed(services, query, last, None, _BATCH)
        yield from rows
        if len(rows) < _BATCH:
            return
        last = rows[-1].number


def _listed(
    services: WebServices, query: TableQuery, behind: int | None, ahead: int | None, limit: int
) -> list[RecordedActivity]:
    """Records behind one in the order of the table, or ahead of one."""
    older, newer = (behind, ahead) if query.descending else (ahead, behind)
    return list_activity(
        services.state.database,
        user=query.get("user"),
        action=_code(query.get("action")),
        before=older,
        after=newer,
        limit=limit,
        oldest_first=not query.descending,
    )


def _code(action: str | None) -> str | None:
    """An action as it is stored: `add_source` is shown as "add source", and a method and path as they are."""
    return action if action is None or "/" in action else action.lower().replace(" ", "_")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


@settings_router.get("")
def list_settings(
    request: Request,
    services: Services,
    q: str = "",
    changed: str = "",
    file_format: Annotated[str, Query(alias="format")] = "",
) -> Response:
    """Show every setting; secrets are masked."""
    found = settings_in_force(services.state.settings, os.environ)
    total = len(found)
    text = q.strip().lower()[:200]
    if text:
        found = [each for each in found if text in f"{each.variable} {each.description} {each.value or ''}".lower()]
    if changed:
        found = [each for each in found if each.source != "default"]
    if file_format == "csv":
        return _CSV.csv(found)
    groups: dict[str, list[SettingInForce]] = {}  # in the order of their declaration
    for each in found:
        groups.setdefault(each.group, []).append(each)
    return render(
        request,
        "settings/page.html",
        title="Settings",
        section="settings",
        groups=list(groups.items()),
        q=q,
        changed=changed,
        total=total,
        shown=len(found),
        users=list_users(services.state.database),
        has_admin=services.access.settings.password_hash is not None,
        tokens=len(services.access.settings.token_hashes),
        is_dev=services.access.settings.is_dev,
        location=services.state.database.location,
    )
