"""Images on disk, each content once: `images/ab/cd/<sha256>.<ext>` beside the pages.

Image bytes and their hashes enter, paths leave. A file gets its name only when the disk has all of it; what a killed
process left half-way is in `tmp`, and a later process deletes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from comity.store.parts.part import sync_folder
from comity.store.target import Target

IMAGES_FOLDER: Final = "images"
_ABANDONED_S: Final = 3600.0


class ImageFile(NamedTuple):
    """An image to be kept."""

    content_hash: str
    extension: str
    body: bytes

    @property
    def path(self) -> str:
        """Where it is, from the folder of the store on."""
        return f"{IMAGES_FOLDER}/{self.content_hash[:2]}/{self.content_hash[2:4]}/{self.content_hash}.{self.extension}"


def image_root(target: Target) -> Path:
    """The folder in which `images` is: that of the parts, or one beside a file that is called after it."""
    return target.path if target.is_folder else target.path.with_name(target.path.name + ".files")


class ImageStore:
    """Writes images; nothing is made before the first. `clock` gives seconds, `name` tells this process from others."""

    def __init__(self, root: Path, name: str, clock: Callable[[], float]) -> None:
        self.root = root
        self._name = name.replace(":", "-").replace("/", "-")
        self._clock = clock
        self._temporary = root / IMAGES_FOLDER / "tmp"
        self._number = 0
        self._is_swept = False

    def keep(self, files: Sequence[ImageFile]) -> None:
        """Have images on disk, with their names, when this returns; those that are there are left as they are."""
        if not files:
            return
        if not self._is_swept:
            self._sweep()
        folders: set[Path] = set()
        for file in files:
            place = self.root / file.path
            if not _is_there(place, len(file.body)):
                folders |= self._make_folder(place.parent)
                self._write(place, file.body)
                folders.add(place.parent)
        for folder in sorted(folders):
            sync_folder(folder)

    def _make_folder(self, folder: Path) -> set[Path]:
        """Make a folder; gives those above in which a new name is."""
        made: set[Path] = set()
        missing = folder
        while missing != self.root and not missing.exists():
            missing = missing.parent
            made.add(missing)
        folder.mkdir(parents=True, exist_ok=True)
        return made

    def _write(self, place: Path, body: bytes) -> None:
        self._number += 1
        unfinished = self._temporary / f"{self._name}-{self._number}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(place)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise

    def _sweep(self) -> None:
        """Remove what others left half-way, long ago."""
        self._temporary.mkdir(parents=True, exist_ok=True)
        for path in self._temporary.iterdir():
            with suppress(OSError):
                if self._clock() - path.stat().st_mtime > _ABANDONED_S:
                    path.unlink()
        self._is_swept = True


def _is_there(place: Path, size: int) -> bool:
    try:
        return place.stat().st_size == size
    except FileNotFoundError:
        return False
