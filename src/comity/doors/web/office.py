"""What the routes work with: the open state, the desk at which sources are tried out, and the pool that runs them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, cast
from uuid import UUID

from fastapi import Depends, Request

from comity.doors.web.access import Access, Admitted
from comity.doors.web.refusals import LOG, Refused
from comity.doors.web.sessions import LoginThrottle
from comity.model.source import Source, SourceStatus

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.upkeep.due_sources import DueSources, Result
    from comity.upkeep.source_pool import SourcePool
    from comity.walk.read_source import SourceDesk

TRIES_AT_ONCE: Final = 4
LOGINS_AT_ONCE: Final = 2
TRY_WITHIN_S: Final = 120.0


@dataclass(slots=True)
class Office:
    """One application's tools; `scheduler` is None where it is turned off."""

    state: State
    access: Access
    desk: SourceDesk
    pool: SourcePool
    scheduler: asyncio.Task[None] | None
    throttle: LoginThrottle = field(default_factory=LoginThrottle)
    tries: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(TRIES_AT_ONCE))
    logins: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LOGINS_AT_ONCE))

    @property
    def is_running(self) -> bool:
        """Whether the scheduler is at work here."""
        return self.scheduler is not None and not self.scheduler.done()

    def source(self, source_id: UUID, *, is_there: bool = False) -> Source:
        """A source by its id; `NotFound` if there is none, or if it must be there and was deleted."""
        from comity.model.errors import NotFound
        from comity.reports.sources import find_source

        source = find_source(self.state.database, str(source_id))
        if is_there and source.status is SourceStatus.DELETED:
            raise NotFound(f"there is no source {source_id}")
        return source

    @asynccontextmanager
    async def trying(self) -> AsyncIterator[SourceDesk]:
        """The desk, for something that is tried out: a few at once, each bounded in time."""
        if self.tries.locked():
            raise Refused(429, "too_many_tries", "too much is being tried out; try again later", {"Retry-After": "10"})
        async with self.tries:
            try:
                async with asyncio.timeout(TRY_WITHIN_S):
                    yield self.desk
            except TimeoutError:
                raise Refused(409, "not_fetched", f"it took longer than {TRY_WITHIN_S:g} seconds") from None


@asynccontextmanager
async def open_office(
    state: State, access: Access, *, schedules: bool, tell: Callable[[Result], None]
) -> AsyncIterator[Office]:
    """Open the desk and the pool, start the scheduler, and end all of it within a bound."""
    async with state.fetcher() as fetcher, state.source_desk(fetcher) as desk:
        pool = state.source_pool(desk, tell)
        due = state.due_sources(pool, tell)
        scheduler = asyncio.create_task(_serve(due)) if schedules else None
        try:
            yield Office(state, access, desk, pool, scheduler)
        finally:
            due.stop()
            await pool.close()
            if scheduler is not None:
                with suppress(asyncio.CancelledError):
                    await scheduler


async def _serve(due: DueSources) -> None:
    """Run what is due; a fault of ours is told, and ends the scheduler rather than the server (`running` shows it)."""
    try:
        await due.serve(on_trouble=lambda sentence: LOG.warning("%s", sentence))
    except Exception as error:
        LOG.error("the scheduler ended: unexpected %s", type(error).__name__, exc_info=error)


def _office(request: Request) -> Office:
    return cast(Office, request.app.state.office)


def _admitted(request: Request) -> Admitted:
    return cast(Admitted, request.state.admitted)


OfficeHere = Annotated[Office, Depends(_office)]
AdmittedHere = Annotated[Admitted, Depends(_admitted)]
