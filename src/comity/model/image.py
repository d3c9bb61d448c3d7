"""Nouns of an image: what kind of file it is, how large, where it was found, and the result of requesting it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class ImageFormat(StrEnum):
    """The file formats that are stored as images."""

    PNG = "png"
    JPEG = "jpeg"
    GIF = "gif"
    WEBP = "webp"
    AVIF = "avif"
    BMP = "bmp"
    SVG = "svg"

    @property
    def extension(self) -> str:
        """The file name extension."""
        return "jpg" if self is ImageFormat.JPEG else str(self)


class ImageShape(NamedTuple):
    """What the header of an image says; an impossible or missing size is None."""

    format: ImageFormat
    width: int | None = None
    height: int | None = None


class Sighting(NamedTuple):
    """An image, by the key of its address, on a page."""

    url_key: int
    page_key: int
    page_url: str
    discovery_type: str
    at: float


class StoredImage(NamedTuple):
    """An image that is on disk."""

    content_hash: str
    url: str
    format: str
    content_type: str | None
    width: int | None
    height: int | None
    bytes: int
    stored_path: str
    at: float


class RequestedImage(NamedTuple):
    """The result of requesting an image; `image_id` is None if none came."""

    url_key: int
    at: float
    status: int | None
    error: str | None = None
    image_id: int | None = None
    final_url: str | None = None
    etag: str | None = None
    last_modified: str | None = None
