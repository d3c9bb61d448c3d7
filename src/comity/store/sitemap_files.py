"""Sitemaps that were read, kept as files for the statements that come after: one file per address.

A file has a line of JSON and the compressed body. The folder is bounded: the oldest files make room for new ones.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

import zstandard

from comity.rules.canonical import url_key

MOST_FILES: Final = 1000
MOST_BYTES: Final = 256 << 20
_LARGEST_BODY: Final = 64 << 20
_SUFFIX: Final = ".sitemap"


class KeptSitemap(NamedTuple):
    """A sitemap as it came, where redirects led, and when it was requested."""

    url: str
    final_url: str
    status: int
    content_type: str | None
    asked_at: float
    body: bytes


class SitemapFiles:
    """A folder of sitemaps that are not older than so many seconds. `find` and `keep` block."""

    def __init__(self, folder: Path, fresh_s: float) -> None:
        self.folder = folder
        self._fresh_s = fresh_s

    def find(self, url: str, now: float) -> KeptSitemap | None:
        """The sitemap of an address, unless it is too old, damaged or not there."""
        return _read(self._path(url), lambda said, asked_at: said == url and 0 <= now - asked_at < self._fresh_s)

    def all(self) -> Iterator[KeptSitemap]:
        """Every sitemap of the folder, however old."""
        for path in sorted(self.folder.glob(f"*{_SUFFIX}")):
            if (found := _read(path, lambda _said, _asked_at: True)) is not None:
                yield found

    def keep(self, sitemap: KeptSitemap) -> None:
        """Keep a sitemap; a disk that does not take it only means that it is requested again."""
        if not self._fresh_s or len(sitemap.body) > _LARGEST_BODY:
            return
        head = [sitemap.final_url, sitemap.status, sitemap.content_type, sitemap.asked_at, sitemap.url]
        data = json.dumps(head).encode() + b"\n" + zstandard.ZstdCompressor().compress(sitemap.body)
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = self.folder / f"{uuid4().hex}.new"
            try:
                with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(data)
                temporary.replace(self._path(sitemap.url))
            finally:
                temporary.unlink(missing_ok=True)
            self._make_room()

    def _path(self, url: str) -> Path:
        return self.folder / f"{url_key(url) & (1 << 64) - 1:016x}{_SUFFIX}"

    def _make_room(self) -> None:
        with os.scandir(self.folder) as listed:
            files = sorted((each.stat().st_mtime, each.stat().st_size, each.path) for each in listed)
        total = sum(size for _at, size, _path in files)
        while len(files) > MOST_FILES or total > MOST_BYTES:
            _at, size, path = files.pop(0)
            total -= size
            Path(path).unlink(missing_ok=True)


def _read(path: Path, is_wanted: Callable[[str, float], bool]) -> KeptSitemap | None:
    """A file, if it can be read and its address and time are wanted."""
    with suppress(OSError, ValueError, TypeError, zstandard.ZstdError), path.open("rb") as file:
        final_url, status, content_type, asked_at, url = json.loads(file.readline(1 << 16))
        if is_wanted(url, asked_at):
            body = zstandard.ZstdDecompressor().decompress(file.read(), max_output_size=_LARGEST_BODY)
            return KeptSitemap(url, final_url, status, content_type, asked_at, body)
    return None
