"""What users of the console did, newest first."""

from __future__ import annotations

from typing import Any

from comity.database import console
from comity.database.connection import Database
from comity.model.console import RecordedActivity, Role


def list_activity(
    database: Database,
    *,
    user: str | None = None,
    action: str | None = None,
    before: int | None = None,
    after: int | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> list[RecordedActivity]:
    """Records, newest first: those older than the record `before`, or those next newer than the record `after`.

    With `oldest_first` in the other order: the next newer than `after`, or the next older than `before`.
    """
    with database.read() as connection:
        rows = console.activities(
            connection,
            user_name=user,
            action=action,
            before=before,
            after=after,
            limit=limit,
            oldest_first=oldest_first,
        )
    return [_recorded(row) for row in rows]


def newest_activity(database: Database) -> int:
    """The number of the newest record, or 0."""
    with database.read() as connection:
        return console.newest_activity(connection)


def _recorded(row: Any) -> RecordedActivity:
    return RecordedActivity(
        user=row.user_name,
        role=None if row.role is None else Role(row.role),
        by_token=row.by_token,
        address=row.address,
        action=row.action,
        path=row.path,
        subject=row.subject,
        status=row.status,
        number=row.id,
        at=row.at,
    )
