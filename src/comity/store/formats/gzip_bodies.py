"""Bodies in Parquet as their sites compressed them: a member of gzip enters, a data page of one value leaves.

The stream of a member is put behind a block of deflate that is not compressed (RFC 1951 §3.2.4) and holds what Parquet
has before a value. So a body costs a checksum instead of a compression. Only members that every reader takes may enter.
"""

from __future__ import annotations

import struct
from typing import Final

from isal import isal_zlib

_HEAD: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # RFC 1952 §2.3: deflate, no flags, no time, unknown system
_HEAD_BYTES: Final = len(_HEAD)
_TAIL_BYTES: Final = 8
_BLOCK: Final = struct.Struct("<BHH").pack  # not the last one, not compressed; its length, and that once more inverted
_TAIL: Final = struct.Struct("<II").pack
_GZIP_WINDOW_BITS: Final = 31
_LEVEL: Final = 1


def member_with_prefix(member: bytes, body: bytes, prefix: bytes) -> bytes:
    """The member of gzip that inflates to `prefix` and `body`, where `member` inflates to `body` alone."""
    size = len(prefix)
    tail = _TAIL(isal_zlib.crc32(body, isal_zlib.crc32(prefix)), size + len(body) & 0xFFFFFFFF)
    stream = memoryview(member)[_HEAD_BYTES:-_TAIL_BYTES]
    return b"".join((_HEAD, _BLOCK(0, size, size ^ 0xFFFF), prefix, stream, tail))


class GzipCompressor:
    """Compresses all that did not come in gzip, for a column chunk that has to be in one coding."""

    def compress(self, data: bytes) -> bytes:
        """The data as a member of gzip."""
        return isal_zlib.compress(data, _LEVEL, _GZIP_WINDOW_BITS)
