"""/admin/settings: which settings are in force and where each comes from; and who may log in."""

from __future__ import annotations

import os
from typing import Annotated, Final

from fastapi import Query, Request, Response

from comity.doors.web.console.page import PageRouter, render
from comity.doors.web.console.tables import Column, Table
from comity.doors.web.services import Services
from comity.operate.console_users import list_users
from comity.run.settings_in_force import SettingInForce, settings_in_force

router = PageRouter("/admin/settings")
_CSV: Final = Table(
    "settings",
    [Column(name, name) for name in ("variable", "value", "is_secret", "is_set", "source", "group", "description")],
)


@router.get("")
def listed(
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
