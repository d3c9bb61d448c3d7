"""The tables of images and their statements: each content once, the pages it is on, the addresses to request.

Every statement runs inside the transaction that settles the pages. Rows of `images` belong to no host: on a server,
writers take turns (`take_turn`), because two that met the same images in a different order would deadlock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    Uuid,
    delete,
    literal,
    select,
    text,
    update,
)

from comity.database.bulk import Encoding, insert_rows
from comity.database.dialects import insert_into
from comity.database.tables import metadata
from comity.database.types import RowNumber, UtcDateTime, count, from_seconds, written_at
from comity.model.frontier import SeenPage
from comity.model.image import RequestedImage, Sighting, StoredImage

# Images, each content once, whatever addresses it has.
images: Final = Table(
    "images",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("content_hash", String(64), nullable=False, unique=True),
    Column("url", Text(), nullable=False),
    Column("format", String(10), nullable=False),
    Column("content_type", Text()),
    Column("width", Integer()),
    Column("height", Integer()),
    count("bytes"),
    Column("stored_path", Text(), nullable=False),
    written_at("first_seen_at"),
    written_at("last_seen_at"),
)

# On which page of which host an image was found: when the page was first read, and when a refresh met it there again.
provenance: Final = Table(
    "provenance",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("image_id", BigInteger(), ForeignKey("images.id", ondelete="CASCADE"), nullable=False),
    Column("page_key", BigInteger(), nullable=False),
    Column("page_url", Text(), nullable=False),
    Column("source_domain", String(260), nullable=False),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="SET NULL")),
    Column("discovery_type", String(20), nullable=False, server_default=text("'discovery'")),
    written_at("found_at"),
    Index("uq_provenance_page_image", "page_key", "image_id", "discovery_type", unique=True),
    Index("idx_provenance_image", "image_id"),
    Index("idx_provenance_source_domain", "source_domain"),
)

# The addresses of a host's images: what came of asking, and what to ask with next time.
image_urls: Final = Table(
    "image_urls",
    metadata,
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), primary_key=True),
    Column("url_key", BigInteger(), primary_key=True, autoincrement=False),
    Column("url", Text(), nullable=False),
    Column("image_id", BigInteger(), ForeignKey("images.id", ondelete="SET NULL")),
    Column("asked_at", UtcDateTime()),
    Column("status", Integer()),
    Column("error", Text()),
    Column("final_url", Text()),
    Column("etag", Text()),
    Column("last_modified", Text()),
    Index("idx_image_urls_image", "image_id"),
)

# Pages on which an image was found that is still to be requested.
image_sightings: Final = Table(
    "image_sightings",
    metadata,
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), primary_key=True),
    Column("url_key", BigInteger(), primary_key=True, autoincrement=False),
    Column("page_key", BigInteger(), primary_key=True, autoincrement=False),
    Column("page_url", Text(), nullable=False),
    Column("discovery_type", String(20), nullable=False, server_default=text("'discovery'")),
    written_at("found_at"),
)


_BATCH: Final = 500
_GONE: Final = (404, 410)
_TURN: Final = 0x636F6D69_696D67  # "comi" "img", as a PostgreSQL advisory lock


def take_turn(connection: Connection) -> None:
    """Take the lock for writing images, until the end of the transaction. An embedded state has one writer."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:turn)"), {"turn": _TURN})


def known(connection: Connection, host_id: UUID, keys: Collection[int]) -> dict[int, Any]:
    """The image and the time of the last question of those addresses that the host is known to have."""
    found: dict[int, Any] = {}
    rest, column = iter(keys), image_urls.c
    while some := list(islice(rest, _BATCH)):
        statement = select(column.url_key, column.image_id, column.asked_at)
        for row in connection.execute(statement.where(column.domain_id == host_id, column.url_key.in_(some))):
            found[row.url_key] = row
    return found


def add_urls(connection: Connection, host_id: UUID, urls: Iterable[tuple[int, str]]) -> None:
    """Record addresses that are to be requested."""
    host = Encoding(connection).uuid(host_id)
    rows = [(host, key, url) for key, url in urls]
    unless = ("domain_id", "url_key")
    insert_rows(connection, image_urls, ("domain_id", "url_key", "url"), rows, unless=unless)


def add_sightings(connection: Connection, host_id: UUID, sightings: Iterable[Sighting]) -> None:
    """Record on which pages images are that are still to be requested."""
    encode = Encoding(connection)
    host = encode.uuid(host_id)
    rows = [
        (host, each.url_key, each.page_key, each.page_url, each.discovery_type, encode.time(each.at))
        for each in sightings
    ]
    columns = ("domain_id", "url_key", "page_key", "page_url", "discovery_type", "found_at")
    insert_rows(connection, image_sightings, columns, rows, unless=("domain_id", "url_key", "page_key"))


def _pairs_of(connection: Connection, page_keys: Collection[int]) -> set[tuple[int, int]]:
    """Pages with the images that are known to be on them."""
    found: set[tuple[int, int]] = set()
    rest, column = iter(page_keys), provenance.c
    while some := list(islice(rest, _BATCH)):
        rows = connection.execute(select(column.page_key, column.image_id).where(column.page_key.in_(some)))
        found.update((row.page_key, row.image_id) for row in rows)
    return found


def add_provenance(connection: Connection, host_id: UUID, host: str, found: Sequence[tuple[int, Sighting]]) -> None:
    """Record known images, by their ids, on pages."""
    encode = Encoding(connection)
    domain_id = encode.uuid(host_id)
    # An image that a page showed before is found again only if it is requested and unchanged.
    known = _pairs_of(connection, {each.page_key for _image_id, each in found})
    found = [(image_id, each) for image_id, each in found if (each.page_key, image_id) not in known]
    rows = [
        (image_id, each.page_key, each.page_url, host, domain_id, each.discovery_type, encode.time(each.at))
        for image_id, each in found
    ]
    columns = ("image_id", "page_key", "page_url", "source_domain", "domain_id", "discovery_type", "found_at")
    insert_rows(connection, provenance, columns, rows, unless=("page_key", "image_id", "discovery_type"))


def put(connection: Connection, image: StoredImage) -> int:
    """Add an image, or record that its content was found again; returns its id."""
    at = from_seconds(image.at)
    statement = insert_into(connection, images).values(
        **{name: value for name, value in image._asdict().items() if name != "at"}, first_seen_at=at, last_seen_at=at
    )
    statement = statement.on_conflict_do_update(index_elements=["content_hash"], set_={"last_seen_at": at})
    image_id: int = connection.execute(statement.returning(images.c.id)).scalar_one()
    return image_id


def has_image(connection: Connection, host_id: UUID, image_id: int) -> bool:
    """Whether a host has an image already, at whatever address."""
    column = image_urls.c
    statement = select(column.url_key).where(column.image_id == image_id, column.domain_id == host_id).limit(1)
    return connection.execute(statement).first() is not None


def note_asked(connection: Connection, host_id: UUID, asked: RequestedImage) -> int | None:
    """Record the result of a request; returns the image that was at the address before, if another is there now."""
    column = image_urls.c
    mine = (column.domain_id == host_id, column.url_key == asked.url_key)
    before: int | None = connection.execute(select(column.image_id).where(*mine)).scalar()
    values: dict[str, Any] = {"asked_at": from_seconds(asked.at), "status": asked.status, "error": asked.error}
    if asked.image_id is not None:  # what failed leaves what is known of the image
        values |= {
            "image_id": asked.image_id,
            "final_url": asked.final_url,
            "etag": asked.etag,
            "last_modified": asked.last_modified,
        }
    connection.execute(update(image_urls).where(*mine).values(**values))
    return before if asked.image_id is not None and before != asked.image_id else None


def place(connection: Connection, host_id: UUID, host: str, url_key: int, image_id: int) -> None:
    """An image was fetched: the pages on which its address was found are now its provenance."""
    waiting = image_sightings.c
    mine = (waiting.domain_id == host_id, waiting.url_key == url_key)
    found = select(
        literal(image_id),
        waiting.page_key,
        waiting.page_url,
        literal(host),
        waiting.domain_id,
        waiting.discovery_type,
        waiting.found_at,
    ).where(*mine)
    _add_from(connection, found)
    connection.execute(delete(image_sightings).where(*mine))


def replace(connection: Connection, host_id: UUID, before: int, image_id: int, at: float) -> None:
    """Another image is at an address: the pages of this host that showed the former show it, too."""
    column = provenance.c
    found = (
        select(
            literal(image_id),
            column.page_key,
            column.page_url,
            column.source_domain,
            column.domain_id,
            literal("refresh"),
            literal(from_seconds(at), column.found_at.type),
        )
        .where(column.image_id == before, column.domain_id == host_id)
        .distinct()
    )
    _add_from(connection, found)


def _add_from(connection: Connection, found: Any) -> None:
    columns = ("image_id", "page_key", "page_url", "source_domain", "domain_id", "discovery_type", "found_at")
    statement = insert_into(connection, provenance).from_select(columns, found)
    connection.execute(statement.on_conflict_do_nothing(index_elements=["page_key", "image_id", "discovery_type"]))


def drop_sightings(connection: Connection, host_id: UUID, url_key: int) -> None:
    """No image will be fetched: forget the pages that wait for it."""
    waiting = image_sightings.c
    connection.execute(delete(image_sightings).where(waiting.domain_id == host_id, waiting.url_key == url_key))


def found_again(connection: Connection, host_id: UUID, image_ids: Collection[int], at: datetime) -> None:
    """A refresh found images unchanged, on the pages of a host that show them."""
    rest, column = iter(sorted(set(image_ids))), provenance.c
    while some := list(islice(rest, _BATCH)):
        found = select(
            column.image_id,
            column.page_key,
            column.page_url,
            column.source_domain,
            column.domain_id,
            literal("refresh"),
            literal(at, column.found_at.type),
        ).where(column.image_id.in_(some), column.domain_id == host_id, column.discovery_type == "discovery")
        _add_from(connection, found)


def see_again(connection: Connection, image_ids: Collection[int], at: datetime) -> None:
    """Images were met again."""
    rest = iter(sorted(set(image_ids)))
    while some := list(islice(rest, _BATCH)):
        connection.execute(update(images).where(images.c.id.in_(some)).values(last_seen_at=at))


def on_pages(connection: Connection, page_keys: Collection[int]) -> set[int]:
    """The images of pages that did not change."""
    found: set[int] = set()
    rest = iter(page_keys)
    while some := list(islice(rest, _BATCH)):
        found.update(connection.execute(select(provenance.c.image_id).where(provenance.c.page_key.in_(some))).scalars())
    return found


def last_seen(connection: Connection, host_id: UUID, keys: Collection[int]) -> Mapping[int, SeenPage]:
    """What the last request for each address found, by key; those never requested are missing."""
    found: dict[int, SeenPage] = {}
    rest, column = iter(keys), image_urls.c
    while some := list(islice(rest, _BATCH)):
        statement = select(image_urls).where(
            column.domain_id == host_id, column.url_key.in_(some), column.asked_at.is_not(None)
        )
        for row in connection.execute(statement):
            found[row.url_key] = SeenPage(
                row.asked_at.timestamp(), row.status in _GONE, row.etag, row.last_modified, None, row.final_url
            )
    return found


def addresses_after(connection: Connection, host_id: UUID, key: int | None, limit: int) -> Sequence[Any]:
    """The addresses of a host's images, by key, behind one: what is known of each."""
    column = image_urls.c
    statement = select(column.url_key, column.url, column.asked_at).where(column.domain_id == host_id)
    if key is not None:
        statement = statement.where(column.url_key > key)
    return connection.execute(statement.order_by(column.url_key).limit(limit)).all()


def move(connection: Connection, from_host: UUID, to_host: UUID) -> None:
    """Give one host's images to another; addresses that it already has are dropped."""
    connection.execute(update(provenance).where(provenance.c.domain_id == from_host).values(domain_id=to_host))
    for table in (image_urls, image_sightings):
        has = table.alias("has")
        keys = [column for column in table.primary_key if column.name != "domain_id"]
        taken = select(1).where(has.c.domain_id == to_host, *(has.c[column.name] == column for column in keys))
        connection.execute(delete(table).where(table.c.domain_id == from_host, taken.correlate(table).exists()))
        connection.execute(update(table).where(table.c.domain_id == from_host).values(domain_id=to_host))
