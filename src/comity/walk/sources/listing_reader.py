"""Reads a page of a source: bytes in, a `Listing` out. A page that may be heavy is read in a child process.

The child has limits of time and memory: a hostile page costs its own source a run, and the others nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

from comity.extract.html_pool import is_light
from comity.model.job import ExtractionMethod, JobFound, Listing, ListingKind, SourceType
from comity.model.source import Source
from comity.offload.pool import ChildPool, FailedWork, WorkFailure

MAX_SECONDS: Final = 30.0
MAX_BODY_BYTES: Final = 16 << 20
_MOST_CHILDREN: Final = 2

ReadHere = Callable[[bytes, str, str | None, SourceType, str | None], Listing]


def read_here(
    body: bytes, url: str, content_type: str | None, source_type: SourceType, hint_text: str | None
) -> Listing:
    """Read a page here; a bad hint is named in the message of the listing."""
    from comity.extract.jobs.read import read_listing
    from comity.model.parser_hint import HintProblem
    from comity.rules.parser_hint import parse_hint

    hint = parse_hint(hint_text) if hint_text else None
    if isinstance(hint, HintProblem):
        return Listing(ListingKind.UNREADABLE, message=f"parser_hint: {hint.message}")
    return read_listing(body, url=url, content_type=content_type, source_type=source_type, hint=hint)


class ListingReader:
    """Reads pages: light ones in a thread, all others in a child process."""

    def __init__(self, read: ReadHere | None = None, *, max_seconds: float = MAX_SECONDS) -> None:
        self._read = read
        self._max_seconds = max_seconds
        self._pool = ChildPool(
            "comity.walk.sources.listing_worker", max_body_bytes=MAX_BODY_BYTES, most_children=_MOST_CHILDREN
        )

    async def __call__(self, body: bytes, url: str, content_type: str | None, source: Source) -> Listing:
        """Read a page; one that cannot be read becomes a listing with the reason."""
        if self._read is not None or is_light(body):
            read = self._read or read_here
            return await asyncio.to_thread(read, body, url, content_type, source.source_type, source.parser_hint)
        if len(body) > MAX_BODY_BYTES:
            return Listing(ListingKind.UNREADABLE, message=f"it is larger than {MAX_BODY_BYTES >> 20} MB")
        arguments = json.dumps([url, content_type, str(source.source_type), source.parser_hint])
        answer = await self._pool.call(arguments.encode(), body, self._max_seconds)
        if not isinstance(answer, FailedWork):
            return listing_from_json(json.loads(b"".join(answer)))
        if answer.code is WorkFailure.TOO_SLOW:
            return Listing(ListingKind.UNREADABLE, message=f"reading it takes more than {self._max_seconds:g} seconds")
        return Listing(ListingKind.UNREADABLE, message="it needs more memory or time than the limit")

    async def close(self) -> None:
        """End the child processes."""
        await self._pool.close()


def listing_to_json(listing: Listing) -> dict[str, Any]:
    """A listing as values for JSON."""
    fields = JobFound.__slots__
    return {
        "kind": str(listing.kind),
        "jobs": [[str(getattr(job, name)) for name in fields] for job in listing.jobs],
        "next_url": listing.next_url,
        "message": listing.message,
        "is_cut": listing.is_cut,
        "is_elsewhere": listing.is_elsewhere,
        "is_scripted": listing.is_scripted,
    }


def listing_from_json(values: dict[str, Any]) -> Listing:
    """A listing from such values."""
    jobs = []
    for job in values["jobs"]:
        words = dict(zip(JobFound.__slots__, job, strict=True))
        found_by = ExtractionMethod(words.pop("found_by"))
        jobs.append(JobFound(**words, found_by=found_by))
    return Listing(
        ListingKind(values["kind"]),
        tuple(jobs),
        values["next_url"],
        values["message"],
        values["is_cut"],
        values["is_elsewhere"],
        values["is_scripted"],
    )
