"""Where the URLs of a state are kept: in its own tables, or in a store beside it."""

from __future__ import annotations

from enum import Enum, auto

from sqlalchemy import Connection, exists, select

from comity.database.tables import domain_frontier, frontier_epochs


class FrontierPlace(Enum):
    """Where there are URLs; in both places only while they are brought from one to the other."""

    NOWHERE = auto()
    HERE = auto()
    ELSEWHERE = auto()
    BOTH = auto()


def where_frontiers_are(connection: Connection) -> FrontierPlace:
    """Look whether any host has URLs, and where."""
    elsewhere, here = connection.execute(
        select(exists(select(frontier_epochs.c.domain_id)), exists(select(domain_frontier.c.id)))
    ).one()
    if elsewhere:
        return FrontierPlace.BOTH if here else FrontierPlace.ELSEWHERE
    return FrontierPlace.HERE if here else FrontierPlace.NOWHERE
