"""Notes on URLs that were not queued, as they are stored: many in a row, their keys apart from the compressed rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from struct import pack, unpack_from
from typing import Final, NamedTuple

URL_CHARACTERS: Final = 60
"""How much of an address is kept, for people who list them; the key stands for the whole."""
_LEVEL: Final = 1
_KEY_BYTES: Final = 8

Compress = Callable[[bytes], bytes]


class Note(NamedTuple):
    """A URL that was seen and not queued, as it is on record."""

    url: str
    key: int
    code: str
    found_by: int
    found_on: int
    seen_at: int


def compressor() -> Compress:
    """What compresses the notes of a batch; to make it takes as long as to compress a row."""
    from zstandard import ZstdCompressor  # most commands that load this module compress nothing

    return ZstdCompressor(level=_LEVEL).compress


def packed_keys(keys: Sequence[int]) -> bytes:
    """Keys in their order, 8 bytes each: a row can be searched for one without being read."""
    return pack(f">{len(keys)}q", *keys)


def keys_in(packed: bytes) -> tuple[int, ...]:
    """The keys of a row."""
    return unpack_from(f">{len(packed) // _KEY_BYTES}q", packed)


def packed_details(columns: Iterable[Sequence[str] | Sequence[int]], compress: Compress) -> bytes:
    """What is known of each URL, column by column: address, code, found by, found on, seen at."""
    urls, codes, found_by, found_on, seen_at = columns
    count = len(urls)
    numbers = pack(f">{count}q{count}q{count}B", *found_on, *seen_at, *found_by)
    # Canonical addresses have no line breaks.
    lines = "\n".join([*codes, *[url[:URL_CHARACTERS] for url in urls]])  # type: ignore[list-item, index]
    return compress(numbers + lines.encode())


def notes_in(keys: bytes, details: bytes) -> list[Note]:
    """The notes of a row."""
    from zstandard import ZstdDecompressor

    count = len(keys) // _KEY_BYTES
    plain = ZstdDecompressor().decompress(details)
    numbers = unpack_from(f">{count}q{count}q{count}B", plain)
    lines = plain[17 * count :].decode().split("\n")
    found_on, seen_at, found_by = numbers[:count], numbers[count : 2 * count], numbers[2 * count :]
    rows = zip(lines[count:], keys_in(keys), lines[:count], found_by, found_on, seen_at, strict=True)
    return [Note(*row) for row in rows]
