"""Postings in the state, and what search is to be told of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import delete, insert, select, update

from comity.database import outbox
from comity.database.sources import postings
from comity.database.sources.tables import job_postings, sources
from comity.database.sources.tables import search_outbox as outbox_table
from comity.model.search import OutboxStatus
from tests.database.states import State

SOURCE = UUID(int=500)


def add_source(state: State, url: str = "https://jobs.example/careers", source_id: UUID = SOURCE) -> None:
    with state.database.write() as connection:
        connection.execute(insert(sources).values(id=source_id, careers_url=url))


def add_postings(state: State, *numbers: int, tell: bool = True, **given: Any) -> list[UUID]:
    rows = [
        {
            "id": UUID(int=number),
            "canonical_hash": f"{number:064}",
            "title": f"Engineer number{number}",
            "apply_url": f"https://jobs.example/{number}",
            "source_id": SOURCE,
            "mission_tags": ["health"],
        }
        | given
        for number in numbers
    ]
    with state.database.write() as connection:
        connection.execute(insert(job_postings), rows)
        if tell:
            postings.queue_for_search(connection, [row["id"] for row in rows], "upsert")
    return [row["id"] for row in rows]


def change(state: State, number: int, *, tell: bool = True, **values: Any) -> None:
    with state.database.write() as connection:
        connection.execute(update(job_postings).where(job_postings.c.id == UUID(int=number)).values(**values))
        if tell:
            postings.queue_for_search(connection, [UUID(int=number)], "upsert")


def forget(state: State, number: int) -> None:
    with state.database.write() as connection:
        connection.execute(delete(job_postings).where(job_postings.c.id == UUID(int=number)))
        postings.queue_for_search(connection, [UUID(int=number)], "delete")


def rows(state: State) -> Sequence[Any]:
    with state.database.read() as connection:
        return connection.execute(select(outbox_table).order_by(outbox_table.c.id)).all()


def status(state: State) -> OutboxStatus:
    with state.database.read() as connection:
        return outbox.status(connection)
