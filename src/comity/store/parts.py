"""Parts: finished files of pages. One is there whole or not at all, whatever happens while it is written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from comity.model.page_record import PageRecord


class PartWriter:
    """Writes one part beside its place, and puts it there once it is finished. The kinds of parts derive from it.

    Only whoever holds the segment writes its part, so what a dead process left half written is simply written over.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.tmp")
        self._file: BinaryIO | None = None
        self.count = 0

    def add(self, records: Sequence[PageRecord]) -> None:
        """Write pages."""
        if records and self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._temporary.open("wb")
            self._begin(self._file)
        for record in records:
            assert self._file is not None
            self._add(self._file, record)
            self.count += 1

    def finish(self) -> None:
        """Put the part in its place; one without pages is none."""
        if self._file is None:
            return
        self._end(self._file)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._file = None
        self._temporary.rename(self._path)
        sync_folder(self._path.parent)

    def abandon(self) -> None:
        """Leave nothing behind."""
        if self._file is not None:
            try:
                self._file.close()
            finally:
                self._file = None
                self._temporary.unlink(missing_ok=True)

    def _begin(self, file: BinaryIO) -> None:
        """What comes before the first page."""

    def _add(self, file: BinaryIO, record: PageRecord) -> None:
        """One page."""
        raise NotImplementedError

    def _end(self, file: BinaryIO) -> None:
        """What comes after the last page."""


def write_part(part: PartWriter, records: Iterable[PageRecord]) -> int:
    """Write a part whole or not at all; returns how many pages it holds."""
    try:
        for record in records:
            part.add((record,))
        part.finish()
    finally:
        part.abandon()
    return part.count


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
