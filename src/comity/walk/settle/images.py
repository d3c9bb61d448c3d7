"""Settle images: what pages show and what was fetched becomes rows, in the transaction that settles the pages.

Files are on disk before it begins; a file without a row is found again by its content when the image is requested
again. All of it is blocking.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from comity.frontier.store import FrontierChange, HostSettlement
from comity.model.dataclass import dataclass
from comity.model.frontier import IMAGE_PRIORITY, FrontierEntry
from comity.model.host import Lease
from comity.model.image import RequestedImage, Sighting, StoredImage
from comity.model.outcome import (
    Failed,
    Fetched,
    Gone,
    ImageFetched,
    NotModified,
    Outcome,
    RateLimited,
    Rejected,
)
from comity.store.images import ImageFile


class ImageTotals(NamedTuple):
    """What settling images did: stored for the first time on the host, queued, and queued again.

    `pictures` are URLs that were visited as pages, and stay queued as the images that they are.
    """

    stored: int = 0
    queued: int = 0
    requeued: int = 0
    pictures: frozenset[int] = frozenset()


@dataclass(slots=True)
class ImageRows:
    """The images of one host's batch."""

    seen: list[tuple[FrontierEntry, Sighting]] = field(default_factory=list)
    came: list[tuple[ImageFetched, ImageFile]] = field(default_factory=list)
    failed: list[RequestedImage] = field(default_factory=list)
    unchanged: list[RequestedImage] = field(default_factory=list)
    unchanged_pages: list[int] = field(default_factory=list)
    no_pages: list[int] = field(default_factory=list)  # URLs that gave something other than a page
    refused: list[int] = field(default_factory=list)
    found: int = 0  # on the pages of this batch
    new: int = 0  # more than these pages were known to show

    def __bool__(self) -> bool:
        asked = self.came or self.failed or self.unchanged
        return bool(self.seen or asked or self.unchanged_pages or self.no_pages or self.refused)

    def enter_page(self, outcome: Fetched | NotModified) -> None:
        """Note the images of a page that was fetched, or is unchanged."""
        entry = outcome.entry
        if isinstance(outcome, NotModified):
            if entry.seen is not None and entry.seen.images_found:
                self.found += entry.seen.images_found
                self.unchanged_pages.append(entry.key)
            return
        self.found += len(outcome.images)
        self.new += len(outcome.images)
        kind = "discovery" if entry.seen is None else "refresh"
        self.seen += [
            (image, Sighting(image.key, entry.key, entry.url, kind, outcome.answer.at)) for image in outcome.images
        ]

    def enter_image(self, outcome: Outcome) -> None:
        """Note how the fetch of an image ended."""
        key = outcome.entry.key
        match outcome:
            case ImageFetched():
                digest = sha256(outcome.body).hexdigest()
                self.came.append((outcome, ImageFile(digest, outcome.shape.format.extension, outcome.body)))
            case NotModified():
                answer = outcome.answer
                self.unchanged.append(RequestedImage(key, answer.at, answer.status))
            case Gone() | RateLimited():
                status = outcome.answer.status
                self.failed.append(RequestedImage(key, outcome.answer.at, status, f"http_{status}"))
            case Rejected() | Failed():
                self.failed.append(
                    RequestedImage(key, outcome.at, outcome.status, f"{outcome.code}: {outcome.reason}"[:1000])
                )
            case _:
                self.refused.append(key)  # it was not fetched


def files_of(rows: Iterable[ImageRows]) -> list[ImageFile]:
    """The files to store before anything is committed, each content once."""
    files = {file.content_hash: file for each in rows for _outcome, file in each.came}
    return list(files.values())


def write_images(change: FrontierChange, lease: Lease, run_id: UUID, rows: ImageRows, now: datetime) -> ImageTotals:
    """Write everything that one host's batch says of images."""
    from comity.database import images  # most crawls want none

    connection, host_id = change.connection, lease.host_id
    images.take_turn(connection)
    queued, requeued, met = _enter_sightings(change, lease, run_id, rows)
    stored = sum(_enter_image(change, lease, outcome, file) for outcome, file in rows.came)
    for asked in rows.failed:
        images.note_asked(connection, host_id, asked)
    for key in (*(asked.url_key for asked in rows.failed), *rows.refused):
        images.drop_sightings(connection, host_id, key)
    if rows.unchanged:
        for asked in rows.unchanged:
            images.note_asked(connection, host_id, asked)
        known = images.known(connection, host_id, [asked.url_key for asked in rows.unchanged])
        same = {row.image_id for row in known.values() if row.image_id is not None}
        met |= same
        images.found_again(connection, host_id, same, now)
    met |= images.on_pages(connection, rows.unchanged_pages)
    images.see_again(connection, met, now)
    return ImageTotals(stored, queued, requeued, _turn_into_images(change, host_id, run_id, rows.no_pages))


def _turn_into_images(change: FrontierChange, host_id: UUID, run_id: UUID, keys: list[int]) -> frozenset[int]:
    """Queue URLs again, as images, that were fetched as pages, are none, and that pages show as images."""
    from comity.database import images

    known = images.known(change.connection, host_id, keys) if keys else {}
    pictures = [key for key, row in known.items() if row.asked_at is None]
    if pictures:
        change.settle(host_id, run_id, HostSettlement(done=pictures))
        change.requeue_known(host_id, [(key, IMAGE_PRIORITY) for key in pictures])
    return frozenset(pictures)


def _enter_sightings(change: FrontierChange, lease: Lease, run_id: UUID, rows: ImageRows) -> tuple[int, int, set[int]]:
    """Queue new images and store which page shows which; returns how many, and the images that were seen again."""
    from comity.database import images
    from comity.database.records import were_pages

    connection, host_id = change.connection, lease.host_id
    # Markup may name a page as an image (src="#", og:image with the site's address): it stays a page.
    pages = {sighting.page_key for _entry, sighting in rows.seen}
    pages |= were_pages(connection, {entry.key for entry, _sighting in rows.seen} - pages)
    seen = [(entry, sighting) for entry, sighting in rows.seen if entry.key not in pages]
    entries = {entry.key: entry for entry, _sighting in seen}
    if not entries:
        return 0, 0, set()
    known = images.known(connection, host_id, entries)
    new = [entry for key, entry in entries.items() if key not in known]
    images.add_urls(connection, host_id, [(entry.key, entry.url) for entry in new])
    queued = change.add(host_id, run_id, new)
    # A URL that was visited as a page, and is none, is fetched again as an image.
    requeued = change.requeue_known(host_id, [(entry.key, IMAGE_PRIORITY) for entry in new])
    waiting: list[Sighting] = []
    placed: list[tuple[int, Sighting]] = []
    for _entry, sighting in seen:
        row = known.get(sighting.url_key)
        if row is not None and row.image_id is not None:
            placed.append((row.image_id, sighting))
        elif row is None or row.asked_at is None:
            waiting.append(sighting)
    images.add_sightings(connection, host_id, waiting)
    images.add_provenance(connection, host_id, lease.host, placed)
    return queued, requeued, {image_id for image_id, _sighting in placed}


def _enter_image(change: FrontierChange, lease: Lease, outcome: ImageFetched, file: ImageFile) -> bool:
    """Write the rows of one image; whether it is new to the host."""
    from comity.database import images

    connection, host_id, answer = change.connection, lease.host_id, outcome.answer
    shape, key = outcome.shape, outcome.entry.key
    image_id = images.put(
        connection,
        StoredImage(
            file.content_hash,
            outcome.entry.url,
            str(shape.format),
            answer.content_type,
            shape.width,
            shape.height,
            len(file.body),
            file.path,
            answer.at,
        ),
    )
    is_new = not images.has_image(connection, host_id, image_id)
    if not is_new and outcome.entry.seen is not None:
        images.found_again(connection, host_id, [image_id], datetime.fromtimestamp(answer.at, UTC))
    asked = RequestedImage(
        key, answer.at, answer.status, None, image_id, answer.final_url, answer.etag, answer.last_modified
    )
    before = images.note_asked(connection, host_id, asked)
    if before is not None:
        images.replace(connection, host_id, before, image_id, answer.at)
    images.place(connection, host_id, lease.host, key, image_id)
    return is_new
