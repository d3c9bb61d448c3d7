"""What was coded comes back, whole or in pieces, and never more of it than the cap."""

from __future__ import annotations

import struct
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from comity.fetch.inflate import StreamInflater, Undecodable, inflate_whole, parse_codings
from comity.model.fetch import FailureKind
from tests.hostile.bodies import CODERS, deflate

CODINGS = {"gzip": "gzip", "deflate": "deflate", "raw-deflate": "deflate", "br": "br", "zstd": "zstd"}
coders = st.sampled_from(sorted(CODINGS))
bodies = st.one_of(
    st.binary(max_size=3000),
    st.builds(lambda piece, times: piece * times, st.binary(min_size=1, max_size=50), st.integers(0, 3000)),
)


def in_pieces(wire: bytes, codings: tuple[str, ...], cap: int, cuts: list[int]) -> bytes:
    stream = StreamInflater(codings, cap)
    at = 0
    for size in [*cuts, len(wire)]:
        stream.feed(wire[at : at + size])
        at += size
    return stream.finish()


@given(coders, bodies, st.lists(st.integers(1, 400), max_size=20))
def test_a_body_comes_back_whole_and_in_pieces(coder: str, body: bytes, cuts: list[int]) -> None:
    wire = CODERS[coder](body)
    cap = max(len(body), 1)
    assert inflate_whole(wire, (CODINGS[coder],), cap) == body
    assert in_pieces(wire, (CODINGS[coder],), cap, cuts) == body


@given(coders, coders, bodies, st.lists(st.integers(1, 400), max_size=20))
def test_two_codings_come_back_in_reverse(first: str, second: str, body: bytes, cuts: list[int]) -> None:
    wire = CODERS[second](CODERS[first](body))
    codings = (CODINGS[first], CODINGS[second])
    cap = len(body) * 2 + 10_000
    assert inflate_whole(wire, codings, cap) == body
    assert in_pieces(wire, codings, cap, cuts) == body


@given(coders, bodies.filter(len), st.lists(st.integers(1, 400), max_size=20))
def test_one_byte_too_many_is_one_too_many(coder: str, body: bytes, cuts: list[int]) -> None:
    wire = CODERS[coder](body)
    cap = len(body) - 1
    for attempt in (
        lambda: inflate_whole(wire, (CODINGS[coder],), cap),
        lambda: in_pieces(wire, (CODINGS[coder],), cap, cuts),
    ):
        with pytest.raises(Undecodable) as caught:
            attempt()
        assert caught.value.kind in (FailureKind.TOO_LARGE, FailureKind.DECOMPRESSION_BOMB)


@given(coders, bodies, st.integers(1, 30))
def test_a_stream_that_stops_early_is_never_a_short_body(coder: str, body: bytes, lost: int) -> None:
    wire = CODERS[coder](body)[:-lost]
    if not wire:
        assert inflate_whole(wire, (CODINGS[coder],), 10**6) == b""
        return
    for attempt in (inflate_whole, lambda *arguments: in_pieces(*arguments, [7, 9])):
        with pytest.raises(Undecodable) as caught:
            attempt(wire, (CODINGS[coder],), 10**6)
        assert caught.value.kind is FailureKind.BAD_ENCODING


@given(st.sampled_from(["gzip", "deflate", "br", "zstd"]), st.binary(min_size=1, max_size=300))
def test_noise_is_refused_or_read_but_breaks_nothing(coding: str, noise: bytes) -> None:
    outcomes = []
    for attempt in (inflate_whole, lambda *arguments: in_pieces(*arguments, [1, 2, 3])):
        try:
            outcomes.append(attempt(noise, (coding,), 100_000))
        except Undecodable as problem:
            outcomes.append(problem.kind)
    assert outcomes[0] == outcomes[1]


@given(coders, bodies, st.integers(0, 2000), st.integers(1, 255))
def test_a_flipped_byte_is_noticed_or_harmless(coder: str, body: bytes, position: int, flip: int) -> None:
    """gzip, zlib and zstd may carry checks, brotli and raw deflate do not: it must only never break."""
    wire = bytearray(CODERS[coder](body))
    wire[position % len(wire)] ^= flip
    kind = None
    try:
        inflate_whole(bytes(wire), (CODINGS[coder],), 200_000)
    except Undecodable as problem:
        kind = problem.kind
    assert kind in (None, FailureKind.BAD_ENCODING, FailureKind.TOO_LARGE, FailureKind.DECOMPRESSION_BOMB)


@pytest.mark.parametrize("members", [1, 2, 5, 100])
@pytest.mark.parametrize("size", [1, 3, 10, 10_000])
def test_gzip_members_are_joined_wherever_the_pieces_end(members: int, size: int) -> None:
    wire = deflate(b"member ") * members
    assert in_pieces(wire, ("gzip",), 10_000, [size] * (len(wire) // size)) == b"member " * members
    assert inflate_whole(wire, ("gzip",), 10_000) == b"member " * members


@pytest.mark.parametrize("frames", [1, 2, 5, 100])
def test_zstd_frames_are_joined_and_skippable_ones_skipped(frames: int) -> None:
    skippable = struct.pack("<II", 0x184D2A50, 4) + b"skip"
    wire = skippable + zstandard.ZstdCompressor().compress(b"frame ") * frames + skippable
    assert inflate_whole(wire, ("zstd",), 10_000) == b"frame " * frames
    assert in_pieces(wire, ("zstd",), 10_000, [5] * 20) == b"frame " * frames


@pytest.mark.parametrize("junk", [b"\0", b"\0" * 1000, b"x", b"\x1f", b"<!-- cached -->"])
def test_what_follows_gzip_is_not_body(junk: bytes) -> None:
    wire = deflate(b"body") + junk
    assert inflate_whole(wire, ("gzip",), 100) == b"body"
    assert in_pieces(wire, ("gzip",), 100, [1] * len(wire)) == b"body"


def test_zstd_without_a_stated_size_is_read() -> None:
    coder = zstandard.ZstdCompressor().compressobj()
    wire = coder.compress(b"streamed " * 1000) + coder.flush()
    assert zstandard.frame_content_size(wire) == -1
    assert inflate_whole(wire, ("zstd",), 10_000) == b"streamed " * 1000


@pytest.mark.parametrize(
    ("field", "codings"),
    [
        ("UTF-8", ()),
        ("none", ()),
        ("8bit, gzip", ("gzip",)),
        ("gzip", ("gzip",)),
        (" GZip ", ("gzip",)),
        ("x-gzip", ("gzip",)),
        ("identity", ()),
        ("", ()),
        ("gzip, br", ("gzip", "br")),
        ("identity,gzip,,identity", ("gzip",)),
        ("deflate,zstd", ("deflate", "zstd")),
    ],
)
def test_codings_are_read(field: str, codings: tuple[str, ...]) -> None:
    assert parse_codings(field) == codings


@pytest.mark.parametrize("field", ["rot13", "compress", "gzip, rot13", "gzip,gzip,gzip", "br;q=1", "x" * 5000, "*"])
def test_codings_that_we_do_not_undo_are_refused(field: str) -> None:
    with pytest.raises(Undecodable) as caught:
        parse_codings(field)
    assert caught.value.kind is FailureKind.BAD_ENCODING
    assert len(caught.value.detail) < 100


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_growth_without_measure_is_a_bomb_and_little_growth_is_only_too_large(coding: str) -> None:
    coder = {"gzip": deflate, "br": brotli.compress, "zstd": zstandard.ZstdCompressor().compress}[coding]
    with pytest.raises(Undecodable) as bomb:
        inflate_whole(coder(bytes(5_000_000)), (coding,), 1_000_000)
    assert bomb.value.kind is FailureKind.DECOMPRESSION_BOMB
    honest = b"".join(b"%d %d\n" % (row, row * 7919 % 104729) for row in range(20_000))
    with pytest.raises(Undecodable) as large:
        inflate_whole(coder(honest), (coding,), len(honest) // 2)
    assert large.value.kind is FailureKind.TOO_LARGE


def test_a_gzip_check_that_does_not_hold_is_an_error() -> None:
    wire = deflate(b"body")
    broken = wire[:-8] + struct.pack("<I", zlib.crc32(b"other")) + wire[-4:]
    with pytest.raises(Undecodable):
        inflate_whole(broken, ("gzip",), 100)
