"""Asks about stored pages from a server: questions go to a child process, one at a time, and answers come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, ComityError, NotFound
from comity.offload.pool import ChildPool, FailedWork, WorkFailure

SECONDS: Final = 10.0
"""How long one question may take by the clock."""
MOST_ROWS: Final = 1_000
MOST_BYTES: Final = 2_000_000
_MOST_WAIT_S: Final = 60.0  # for the questions of others, a process to start and the answer
_CPU_SECONDS: Final = 2 * SECONDS  # two threads; the child itself stops at `SECONDS`
_MOST_CHILDREN: Final = 2
_IDLE_S: Final = 900.0  # a process takes a third of a second to start, which a page should not wait for often
_RESIDENT_BYTES: Final = 500 << 20

_NOTHING: Final[dict[str, Any]] = {
    "in_segments": 0,
    "parts_left_out": 0,
    "next": None,
    "is_whole": True,
    "timed_out": False,
    "parts": 0,
    "parts_searched": 0,
}


class TooMuch(ComityError):
    """A question about stored pages took too long or needed too much memory."""

    code = "too_much"


@dataclass(frozen=True, slots=True)
class StoredPages:
    """The pages at a place; `takedowns` lists what must not be served, whenever it is asked."""

    place: str
    takedowns: Callable[[], Sequence[str]]
    pool: ChildPool
    seconds: float = SECONDS

    @classmethod
    def at(cls, place: str, takedowns: Callable[[], Sequence[str]]) -> StoredPages:
        """Pages at a place; a child is started with the first question, or before it (`prepare`)."""
        pool = ChildPool(
            "comity.run.stored_pages.worker",
            max_body_bytes=1,
            most_children=_MOST_CHILDREN,
            idle_seconds=_IDLE_S,
            max_resident_bytes=_RESIDENT_BYTES,
        )
        return cls(place, takedowns, pool)

    async def search(
        self, *, host: str = "", url: str = "", text: str = "", after: str | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """Pages of a host, under a URL, or with a text, the newest part first."""
        if await asyncio.to_thread(self._is_unused):
            return _NOTHING | {"pages": []}
        return await self._ask(act="search", host=host, url=url, text=text, after=after, limit=limit)

    async def page(self, urls: Sequence[str], at: int | None = None) -> dict[str, Any]:
        """One page by the forms of its URL: the newest version, or the one of a time in microseconds."""
        return await self._ask(act="page", urls=list(urls), at=at)

    async def query(self, sql: str, *, rows: int = MOST_ROWS) -> dict[str, Any]:
        """What a SELECT statement over the table pages gives, within limits of rows and bytes."""
        return await self._ask(act="sql", sql=sql, rows=rows, bytes=MOST_BYTES)

    def prepare(self) -> None:
        """Start a child where there are pages, so that the first question does not wait for it."""
        if not self._is_unused():
            self.pool.prepare()

    async def close(self) -> None:
        """End the child processes."""
        await self.pool.close()

    def _is_unused(self) -> bool:
        """Whether the place is a folder that was never written to."""
        try:
            folder = Path(self.place).expanduser()
            return "://" not in self.place and not folder.suffix and not folder.exists()
        except (OSError, RuntimeError):  # the child finds out what is wrong
            return False

    async def _ask(self, **question: Any) -> dict[str, Any]:
        takedowns = list(await asyncio.to_thread(self.takedowns))
        question |= {"place": self.place, "takedowns": takedowns, "seconds": self.seconds}
        try:
            async with asyncio.timeout(_MOST_WAIT_S):
                pieces = await self.pool.call(json.dumps(question).encode(), b"", _CPU_SECONDS)
        except TimeoutError:
            raise TooMuch("too many queries on stored pages are running; try again later") from None
        if isinstance(pieces, FailedWork):
            if pieces.code is WorkFailure.CRASHED:
                raise TooMuch("the process that reads pages ended unexpectedly; try a simpler query")
            raise TooMuch(f"the answer took longer than {self.seconds:g} s or too much memory; ask for less")
        found: dict[str, Any] = json.loads(b"".join(pieces))
        problem, sentence = found.get("problem"), str(found.get("sentence", ""))
        if problem == "not_found":
            raise NotFound(sentence)
        if problem in ("too_slow", "too_large"):
            raise TooMuch(sentence)
        if problem is not None:
            raise BadInput(sentence)
        return found
