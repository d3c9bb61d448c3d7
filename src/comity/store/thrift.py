"""Thrift's compact protocol, as much of it as the metadata of a Parquet file needs: values enter, octets leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

I32: Final = 5
I64: Final = 6
BINARY: Final = 8
STRUCT: Final = 12
_TRUE: Final = 1
_FALSE: Final = 2
_LIST: Final = 9


class Field(NamedTuple):
    """A field of a struct: its number, its type and its octets."""

    number: int
    type: int
    octets: bytes


def varint(value: int) -> bytes:
    """An unsigned number, seven bits at a time."""
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def i32(number: int, value: int) -> Field:
    """A number of 32 bits."""
    return Field(number, I32, _zigzag(value))


def i64(number: int, value: int) -> Field:
    """A number of 64 bits."""
    return Field(number, I64, _zigzag(value))


def octets(number: int, value: bytes) -> Field:
    """Octets, or text as UTF-8."""
    return Field(number, BINARY, varint(len(value)) + value)


def flag(number: int, value: bool) -> Field:
    """Yes or no: the type says it all."""
    return Field(number, _TRUE if value else _FALSE, b"")


def nested(number: int, *fields: Field) -> Field:
    """A struct within a struct."""
    return Field(number, STRUCT, struct(*fields))


def listing(number: int, element_type: int, elements: Sequence[bytes]) -> Field:
    """A list of elements of one type, each as it is encoded on its own."""
    count = len(elements)
    head = bytes([count << 4 | element_type]) if count < 15 else bytes([0xF0 | element_type]) + varint(count)
    return Field(number, _LIST, head + b"".join(elements))


def numbers(values: Iterable[int]) -> list[bytes]:
    """The elements of a list of numbers."""
    return [_zigzag(value) for value in values]


def texts(values: Iterable[str]) -> list[bytes]:
    """The elements of a list of texts."""
    return [octets(0, value.encode()).octets for value in values]


def struct(*fields: Field) -> bytes:
    """Fields in the order of their numbers, with the octet that ends a struct."""
    pieces: list[bytes] = []
    last = 0
    for number, kind, value in fields:
        pieces += (bytes([(number - last) << 4 | kind]), value)  # no gap between our fields exceeds 15
        last = number
    return b"".join((*pieces, b"\0"))


def _zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)
