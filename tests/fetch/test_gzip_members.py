"""A body that may be stored as it came: every reader of gzip takes it, and reads the same."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from isal import igzip_lib, isal_zlib

from comity.fetch import inflate
from comity.fetch.inflate import inflate_member, inflate_whole
from tests.sizes import sized

CAP = 10_000_000
HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\3"
PAGE = b"".join(b'<li><a href="/page/%d.html">page %d</a></li>\n' % (number, number * 7) for number in range(2000))
bodies = st.one_of(
    st.binary(min_size=1, max_size=3000),
    st.builds(lambda piece, times: piece * times, st.binary(min_size=1, max_size=50), st.integers(1, 3000)),
    st.builds(lambda first, size: PAGE[first : first + size], st.integers(0, 50_000), st.integers(1, 40_000)),
)
STRATEGIES = [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED]


def member(stream: bytes, body: bytes, head: bytes = HEAD) -> bytes:
    return head + stream + zlib.crc32(body).to_bytes(4, "little") + len(body).to_bytes(4, "little")


def by_zlib(stream: bytes) -> bytes | None:
    """What zlib makes of a whole stream; None if it refuses it, or the stream ends elsewhere."""
    decoder = zlib.decompressobj(-15)
    try:
        body = decoder.decompress(stream, CAP)
    except zlib.error:
        return None
    return body if decoder.eof and not decoder.unused_data else None


def test_it_is_compiled_here() -> None:
    assert inflate._member_in_c is not None


@given(
    bodies,
    st.integers(0, 9),
    st.sampled_from(STRATEGIES),
    st.integers(1, 9),
    st.lists(st.integers(1, 5000), max_size=3),
)
@example(PAGE, 6, zlib.Z_DEFAULT_STRATEGY, 8, [])
@example(PAGE * 100, 9, zlib.Z_DEFAULT_STRATEGY, 9, [])
@example(b"a", 0, zlib.Z_DEFAULT_STRATEGY, 1, [])
@example(b"ab" * 100_000, 1, zlib.Z_RLE, 8, [7])
def test_what_servers_send_comes_back(body: bytes, level: int, strategy: int, memory: int, flushes: list[int]) -> None:
    coder = zlib.compressobj(level, zlib.DEFLATED, 31, memory, strategy)
    pieces, at = [], 0
    for size in flushes:  # as servers do that send a page while they make it
        pieces += (coder.compress(body[at : at + size]), coder.flush(zlib.Z_SYNC_FLUSH))
        at += size
    wire = b"".join((*pieces, coder.compress(body[at:]), coder.flush()))
    assert inflate_member(wire, CAP) == body == inflate_whole(wire, ("gzip",), CAP)
    assert inflate_member(wire, len(body)) == body
    assert inflate_member(wire, len(body) - 1) is None


WHOLE = gzip.compress(PAGE, mtime=0)


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        WHOLE[:17],
        gzip.compress(b""),
        WHOLE + WHOLE,
        gzip.compress(b"") + WHOLE,
        WHOLE + gzip.compress(b""),
        WHOLE + b"\0",
        WHOLE + WHOLE[-8:],
        WHOLE[:-8] + b"\0" + WHOLE[-8:],
        WHOLE[:3] + b"\x08" + WHOLE[4:10] + b"name\0" + WHOLE[10:],
        WHOLE[:2] + b"\7" + WHOLE[3:],
        WHOLE[:-8] + bytes(4) + WHOLE[-4:],
        WHOLE[:-4] + (len(PAGE) + 1).to_bytes(4, "little"),
        WHOLE[:-4] + (len(PAGE) - 1).to_bytes(4, "little"),
        WHOLE[:-4] + b"\xff\xff\xff\xff",
        zlib.compress(PAGE),
    ],
    ids=[
        *("nothing", "no stream", "empty", "two members", "after an empty one", "before an empty one", "a byte more"),
        *("another tail", "a byte in between", "a name", "another method", "another checksum", "larger", "smaller"),
        *("far larger", "zlib"),
    ],
)
def test_anything_but_one_plain_member_is_none(wire: bytes) -> None:
    assert inflate_member(wire, CAP) is None


def test_a_member_that_is_cut_short_is_none() -> None:
    short = gzip.compress(PAGE[:300], mtime=0)
    assert [size for size in range(len(short)) if inflate_member(short[:size], CAP) is not None] == []


class Bits:
    """A stream of deflate, written bit by bit."""

    def __init__(self) -> None:
        self._bits: list[int] = []

    def number(self, value: int, size: int) -> None:
        self._bits += [value >> place & 1 for place in range(size)]

    def code(self, value: int, size: int) -> None:
        """The bits of a Huffman code come the other way round (RFC 1951 §3.1.1)."""
        self._bits += [value >> place & 1 for place in reversed(range(size))]

    def bytes(self) -> bytes:
        padded = self._bits + [0] * (-len(self._bits) % 8)
        return bytes(
            sum(bit << place for place, bit in enumerate(padded[at : at + 8])) for at in range(0, len(padded), 8)
        )


def codes_of(lengths: Sequence[int]) -> dict[int, tuple[int, int]]:
    """The codes that lengths stand for (RFC 1951 §3.2.2), by symbol: value and size."""
    counts = [lengths.count(size) if size else 0 for size in range(max(lengths, default=0) + 1)]
    following = list(accumulate(counts, lambda code, count: code + count << 1, initial=0))
    codes: dict[int, tuple[int, int]] = {}
    for symbol, size in enumerate(lengths):
        if size:
            codes[symbol] = (following[size - 1], size)
            following[size - 1] += 1
    return codes


def dynamic(
    symbols: Sequence[int],
    distances: Sequence[int],
    used: Iterable[tuple[str, int, int]],
    of_lengths: Sequence[int] | None = None,
) -> bytes:
    """A last block whose codes have these lengths, and which has some symbols in it: (code, symbol, its extra bits).

    Symbols without a code are written as if they had an empty one.
    """
    plain = list(of_lengths) if of_lengths is not None else [4] * 16 + [0, 0, 0]
    bits = Bits()
    bits.number(1, 1)
    bits.number(2, 2)
    bits.number(len(symbols) - 257, 5)
    bits.number(len(distances) - 1, 5)
    bits.number(15, 4)
    for symbol in (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15):
        bits.number(plain[symbol], 3)
    lengths = codes_of(plain)
    for size in (*symbols, *distances):
        bits.code(*lengths.get(size, (0, 0)))
    codes = {"symbol": codes_of(symbols), "distance": codes_of(distances)}
    for kind, symbol, extra in used:
        bits.code(*codes[kind].get(symbol, (0, 0)))
        bits.number(extra, extra.bit_length())
    return bits.bytes()


A, B, END = ord("a"), ord("b"), 256
TEXT = [("symbol", A, 0), ("symbol", B, 0), ("symbol", A, 0)]


def some_lengths(size: int, **of: int) -> list[int]:
    lengths = [0] * size
    for name, bits in of.items():
        lengths[int(name.removeprefix("_"))] = bits
    return lengths


SYMBOLS = some_lengths(258, _97=2, _98=2, _256=2, _257=2)
MATCH = [*TEXT, ("symbol", 257, 0), ("distance", 0, 0), ("symbol", END, 0)]
TEXT_END = [*TEXT, ("symbol", END, 0)]
NO_END = some_lengths(257, _97=1, _98=1)
TAKEN = {
    "two distances": (dynamic(SYMBOLS, [1, 1], MATCH), b"abaaaa"),
    "one distance": (dynamic(SYMBOLS, [1], MATCH), b"abaaaa"),
    "no distance": (dynamic(SYMBOLS, [0], TEXT_END), b"aba"),
    "286 symbols": (dynamic([*SYMBOLS, *repeat(0, 28)], [1, 1], MATCH), b"abaaaa"),
    "30 distances": (dynamic(SYMBOLS, [1, 1, *repeat(0, 28)], MATCH), b"abaaaa"),
}
REFUSED = {
    "a gap among the symbols": (dynamic(some_lengths(257, _97=2, _98=2, _256=2), [1, 1], TEXT_END), b"aba"),
    "a gap among the distances": (dynamic(SYMBOLS, [2, 2, 2], MATCH), b"abaaaa"),
    "one distance of two bits": (dynamic(SYMBOLS, [2], MATCH), b"abaaaa"),
    "a distance that has no code": (dynamic(SYMBOLS, [0], MATCH), b"abaaaa"),
    "too many symbols of a length": (dynamic(some_lengths(257, _97=1, _98=1, _256=1), [1, 1], TEXT_END), b"aba"),
    "no end": (dynamic(NO_END, [1, 1], TEXT), b"aba"),
    "287 symbols": (dynamic([*SYMBOLS, *repeat(0, 29)], [1, 1], MATCH), b"abaaaa"),
    "31 distances": (dynamic(SYMBOLS, [1, 1, *repeat(0, 29)], MATCH), b"abaaaa"),
    "a gap among the lengths": (dynamic(SYMBOLS, [1, 1], MATCH, [3, 3, 3, *repeat(0, 16)]), b"abaaaa"),
    "a distance before the beginning": (dynamic(SYMBOLS, [1, 1], [*MATCH[3:4], ("distance", 1, 0)]), b"aaa"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_codes_that_all_readers_take_are_taken(name: str) -> None:
    stream, body = TAKEN[name]
    assert by_zlib(stream) == inflate_member(member(stream, body), CAP) == body


@pytest.mark.parametrize("name", REFUSED)
def test_codes_that_some_readers_refuse_are_not_taken(name: str) -> None:
    stream, body = REFUSED[name]
    assert by_zlib(stream) is None
    assert inflate_member(member(stream, body), CAP) is None


def by_isal(stream: bytes) -> bytes | None:
    """What a reader makes of a stream that is less strict."""
    decoder = isal_zlib.decompressobj(-15)
    try:
        return decoder.decompress(stream, CAP) or None
    except igzip_lib.error:
        return None


@settings(max_examples=sized(300, 3000), deadline=None)
@given(st.data())
def test_what_is_taken_is_what_zlib_takes(data: st.DataObject) -> None:
    """Streams with any lengths of codes, and streams of zlib with a few bits changed."""
    if data.draw(st.booleans(), "by hand"):
        size = data.draw(st.integers(257, 288))
        used = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=12, unique=True))
        symbols = [0] * size
        for symbol in (*used, *data.draw(st.sampled_from([(), (END,)]))):
            symbols[symbol] = data.draw(st.integers(0, 5))
        distances = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=32))
        events = st.one_of(
            st.tuples(st.just("symbol"), st.sampled_from([*used, END]), st.integers(0, 3)),
            st.tuples(st.just("distance"), st.integers(0, len(distances) - 1), st.integers(0, 3)),
        )
        stream = dynamic(symbols, distances, [*data.draw(st.lists(events, max_size=20)), ("symbol", END, 0)])
    else:
        strategy = data.draw(st.sampled_from(STRATEGIES))
        coder = zlib.compressobj(data.draw(st.integers(0, 9)), zlib.DEFLATED, -15, 8, strategy)
        changed = bytearray(coder.compress(data.draw(bodies)) + coder.flush())
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(0, min(len(changed), 200) - 1))
            changed[place] ^= 1 << data.draw(st.integers(0, 7))
        stream = bytes(changed)
    body = by_zlib(stream)
    ours = inflate_member(member(stream, body or by_isal(stream) or b"aba"), CAP)
    assert ours is None or ours == body
