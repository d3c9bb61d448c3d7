"""Notes on URLs that were not queued, as they are stored: many in a row, their keys apart from the compressed rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from struct import calcsize, pack, unpack_from
from threading import local
from typing import Any, Final, NamedTuple

URL_CHARACTERS: Final = 60
"""How much of an address is kept, for people who list them; the key stands for the whole."""
_LEVEL: Final = 1
_KEY_BYTES: Final = 8
_COUNTS: Final = ">III"
_COMPRESSED: Final = b"\x28\xb5\x2f\xfd"  # RFC 8878 §3.1.1; no count is so large
_SMALL_BYTES: Final = 512  # what is smaller stays as it is: compressing takes a quarter of the time of its row

Compress = Callable[[bytes], bytes]


class Note(NamedTuple):
    """A URL that was seen and not queued, as it is on record."""

    url: str
    key: int
    code: str
    found_by: int
    found_on: int
    seen_at: int


_of_thread: Final = local()


def compressor() -> Compress:
    """What compresses notes on this thread; to make it takes longer than to compress a row."""
    found: Compress | None = getattr(_of_thread, "compress", None)
    if found is None:
        from zstandard import ZstdCompressor  # most commands that load this module compress nothing

        found = _of_thread.compress = ZstdCompressor(level=_LEVEL).compress
    return found


def packed_keys(keys: Sequence[int]) -> bytes:
    """Keys in their order, 8 bytes each: a row can be searched for one without being read."""
    return pack(f">{len(keys)}q", *keys)


def keys_in(packed: bytes) -> tuple[int, ...]:
    """The keys of a row."""
    return unpack_from(f">{len(packed) // _KEY_BYTES}q", packed)


def packed_details(columns: Iterable[Sequence[Any]], compress: Compress) -> bytes:
    """What is known of each URL, column by column: address, code, found by, found on, seen at.

    What is the same for all of them is there once.
    """
    urls, codes, found_by, found_on, seen_at = columns
    codes, found_by, found_on, seen_at = map(_once, (codes, found_by, found_on, seen_at))
    counts = len(found_by), len(found_on), len(seen_at)
    numbers = pack(_layout(*counts), *counts, *found_by, *found_on, *seen_at)
    # Canonical addresses have no line breaks.
    lines = "\n".join([*codes, *[url[:URL_CHARACTERS] for url in urls]])
    plain = numbers + lines.encode()
    return plain if len(plain) < _SMALL_BYTES else compress(plain)


def notes_in(keys: bytes, details: bytes) -> list[Note]:
    """The notes of a row."""
    found = keys_in(keys)
    urls, *shared = _columns(len(found), details)
    columns = (column if len(column) == len(found) else [*column] * len(found) for column in shared)
    rows: Iterable[tuple[Any, ...]] = zip(urls, found, *columns, strict=True)
    return [Note(*row) for row in rows]


def note_of(key: int, keys: bytes, details: bytes) -> Note | None:
    """The note on one URL in a row, if there is one."""
    found = keys_in(keys)
    if key not in found:
        return None
    place = found.index(key)
    urls, *shared = _columns(len(found), details)
    code, by, on, at = (column[place if len(column) == len(found) else 0] for column in shared)
    return Note(urls[place], key, code, by, on, at)


def _columns(count: int, details: bytes) -> list[Sequence[Any]]:
    """What is known of so many URLs, as it was packed: a column has a value for each, or one for all."""
    from zstandard import ZstdDecompressor

    plain = ZstdDecompressor().decompress(details) if details.startswith(_COMPRESSED) else details
    counts = unpack_from(_COUNTS, plain)
    layout = _layout(*counts)
    numbers = unpack_from(layout, plain)[len(counts) :]
    lines = plain[calcsize(layout) :].decode().split("\n")
    by_end, on_end = counts[0], counts[0] + counts[1]
    return [lines[-count:], lines[:-count], numbers[:by_end], numbers[by_end:on_end], numbers[on_end:]]


def _layout(found_by: int, found_on: int, seen_at: int) -> str:
    return f"{_COUNTS}{found_by}B{found_on}q{seen_at}q"


def _once(column: Sequence[Any]) -> Sequence[Any]:
    return column[:1] if column.count(column[0]) == len(column) else column
