"""Reading a page of a source: octets in, a `Listing` out. What is not surely light is read in a process apart.

The process apart is bounded in time and memory: a hostile page costs its own source a run, and nobody else anything.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from comity.extract.apart import is_light
from comity.model.job import FoundBy, JobFound, Listing, ListingKind, SourceType
from comity.model.source import Source

MAX_SECONDS: Final = 30.0
_AT_ONCE: Final = 2
_COMMAND: Final = ("-P", "-m", "comity.walk.listing_worker")
_LONGEST_ANSWER: Final = 64 << 20

ReadHere = Callable[[bytes, str, str | None, SourceType, str | None], Listing]


def read_here(
    body: bytes, url: str, content_type: str | None, source_type: SourceType, hint_text: str | None
) -> Listing:
    """Read a page on the spot; a hint that is none is told in the listing's message."""
    from comity.extract.jobs import read_listing
    from comity.model.parser_hint import HintProblem
    from comity.rules.parser_hint import parse_hint

    hint = parse_hint(hint_text) if hint_text else None
    if isinstance(hint, HintProblem):
        return Listing(ListingKind.UNREADABLE, message=f"parser_hint: {hint.message}")
    return read_listing(body, url=url, content_type=content_type, source_type=source_type, hint=hint)


class ListingReader:
    """Reads pages: light ones beside the loop, all others in a process of their own."""

    def __init__(self, read: ReadHere | None = None, *, max_seconds: float = MAX_SECONDS) -> None:
        self._read = read
        self._max_seconds = max_seconds
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, body: bytes, url: str, content_type: str | None, source: Source) -> Listing:
        """Read a page; one that cannot be read is a listing that says so."""
        given = (body, url, content_type, source.source_type, source.parser_hint)
        if self._read is not None or is_light(body):
            return await asyncio.to_thread(self._read or read_here, *given)
        async with self._turns:
            return await self._apart(*given)

    async def _apart(
        self, body: bytes, url: str, content_type: str | None, source_type: SourceType, hint_text: str | None
    ) -> Listing:
        words = json.dumps([url, content_type, str(source_type), hint_text, self._max_seconds])
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *_COMMAND,
            stdin=pipe,
            stdout=pipe,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._max_seconds):
                answer, _ = await child.communicate(words.encode() + b"\n" + body)
        except TimeoutError:
            return Listing(ListingKind.UNREADABLE, message=f"it takes more than {self._max_seconds:g} seconds to read")
        finally:
            if child.returncode is None:
                with suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)
                await child.wait()
        if child.returncode or not answer or len(answer) > _LONGEST_ANSWER:
            return Listing(ListingKind.UNREADABLE, message="it asks for more memory or time than a page may have")
        return listing_from(json.loads(answer))


def listing_told(listing: Listing) -> dict[str, Any]:
    """A listing as plain values."""
    fields = JobFound.__slots__
    return {
        "kind": str(listing.kind),
        "jobs": [[str(getattr(job, name)) for name in fields] for job in listing.jobs],
        "next_url": listing.next_url,
        "message": listing.message,
        "is_cut": listing.is_cut,
        "is_elsewhere": listing.is_elsewhere,
    }


def listing_from(told: dict[str, Any]) -> Listing:
    """The same way back."""
    jobs = []
    for values in told["jobs"]:
        words = dict(zip(JobFound.__slots__, values, strict=True))
        found_by = FoundBy(words.pop("found_by"))
        jobs.append(JobFound(**words, found_by=found_by))
    return Listing(
        ListingKind(told["kind"]),
        tuple(jobs),
        told["next_url"],
        told["message"],
        told["is_cut"],
        told["is_elsewhere"],
    )
