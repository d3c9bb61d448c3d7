"""Images by their first octets: every format says its size, and no header can do more than be disbelieved."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.extract.html import MAX_IMAGES, MAX_SRCSET_CHARACTERS, largest_candidate, read_html
from comity.extract.images import read_image
from comity.model.image import ImageFormat, ImageShape
from tests.servers.waiting import least_of, processor_s
from tests.walk.pictures import (
    avif,
    bmp,
    gif,
    jpeg,
    png,
    segment,
    webp,
    webp_extended,
    webp_lossless,
    webp_lossy,
)

SVG = b'<?xml version="1.0"?><!-- a drawing --><svg xmlns="http://www.w3.org/2000/svg" %s><path d="M0 0"/></svg>'


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        (png(640, 480), ("png", 640, 480)),
        (png(2**31 - 1, 1), ("png", 2**31 - 1, 1)),
        (gif(17, 65535), ("gif", 17, 65535)),
        (gif().replace(b"89a", b"87a"), ("gif", 3, 2)),
        (jpeg(1920, 1080), ("jpeg", 1920, 1080)),
        (jpeg(5, 4, before=segment(0xE1, b"Exif" * 100) + b"\xff\xff\xff" + segment(0xFE, b"x")[1:]), ("jpeg", 5, 4)),
        (jpeg(5, 4, before=segment(0xC4, b"\0" * 30)), ("jpeg", 5, 4)),
        (jpeg(5, 4).replace(b"\xff\xc0", b"\xff\xc2"), ("jpeg", 5, 4)),
        (bmp(7, 9), ("bmp", 7, 9)),
        (bmp(7, -9), ("bmp", 7, 9)),
        (b"BM" + b"\0" * 12 + struct.pack("<IHH", 12, 4, 5), ("bmp", 4, 5)),
        (webp_lossy(320, 200), ("webp", 320, 200)),
        (webp_lossless(16384, 1), ("webp", 16384, 1)),
        (webp_extended(1 << 24, 3), ("webp", 1 << 24, 3)),
        (avif((160, 120), (1600, 1200), (10, 10)), ("avif", 1600, 1200)),
        (avif((9, 8), brand=b"avis"), ("avif", 9, 8)),
        (SVG % b'width="120" height="80px"', ("svg", 120, 80)),
        (SVG % b"width='100%' height='50%' viewBox='0 0 24.4 16'", ("svg", 24, 16)),
        (SVG % b'viewBox="0,0,300,150"', ("svg", 300, 150)),
        (b"\xef\xbb\xbf\n <svg>", ("svg", None, None)),
        (SVG % b'width="2em" height="3em"', ("svg", None, None)),
    ],
)
def test_each_format_says_what_it_is_and_how_large(body: bytes, shape: tuple[str, int | None, int | None]) -> None:
    assert read_image(body) == ImageShape(ImageFormat(shape[0]), *shape[1:])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!doctype html><html><body><svg width='1' height='1'></svg></body></html>",
        b"<html><svg>",
        b"<svgfoo>",
        b"not <svg>",
        b"\x89PNG\r\n\x1a\n",
        png()[:20],
        b"GIF8",
        b"GIF88a" + b"\0" * 10,
        gif()[:8],
        b"RIFF\0\0\0\0WAVEfmt ",
        webp(b"VP8 ", b"\0" * 10),
        webp_lossless(1, 1)[:22],
        b"BM" + b"\xff" * 60,
        b"%PDF-1.7",
        b"\0\0\0\x14ftypmp42" + b"\0" * 20,
        b"\xff\xd9",
        b"II*\0",
    ],
)
def test_what_is_no_image_is_none(body: bytes) -> None:
    assert read_image(body) is None


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (png(0, 5), "png"),
        (png(2**31, 5), "png"),
        (png(2**32 - 1, 2**32 - 1), "png"),
        (gif(0, 0), "gif"),
        (jpeg(5, 0), "jpeg"),  # its height is told by the picture itself
        (b"\xff\xd8", "jpeg"),
        (b"\xff\xd8\xff", "jpeg"),
        (b"\xff\xd8\xff\xe0\x00\x00" + b"\0" * 40, "jpeg"),
        (b"\xff\xd8" + segment(0xDA, b"") + jpeg()[2:], "jpeg"),
        (bmp(-3, 2), "bmp"),
        (bmp(3, -(2**31)), "bmp"),
        (avif((0, 0)), "avif"),
        (avif()[:-2], "avif"),
        (SVG % b'width="99999999999" height="1"', "svg"),
    ],
)
def test_a_size_that_cannot_be_is_none(body: bytes, kind: str) -> None:
    assert read_image(body) == ImageShape(ImageFormat(kind))


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xd8" + segment(0xE1, b"") * 1_000_000,
        b"\xff\xd8" + b"\xff" * 5_000_000,
        b"\xff\xd8" + b"\xff\xd0" * 2_000_000,
        avif() + b"ispe" * 1_000_000,
        b"<svg " + b"width=" * 800_000,
        b"<svg " + b" " * 4_000_000 + b"width='1'",
        b"<svg " + b'width="' * 800_000,
        b"<" * 5_000_000,
        b" " * 5_000_000 + b"<svg>",
    ],
)
def test_no_header_takes_long(body: bytes) -> None:
    assert least_of(lambda: processor_s(lambda: read_image(body)), enough=0.25) < 0.25


_STARTS = [png(), gif(), jpeg(), bmp(), webp_lossy(1, 1), webp_lossless(1, 1), webp_extended(1, 1), avif((1, 1)), SVG]


@given(start=st.sampled_from(_STARTS), cut=st.integers(0, 80), more=st.binary(max_size=80))
def test_whatever_comes_the_answer_is_a_bounded_size_or_none(start: bytes, cut: int, more: bytes) -> None:
    shape = read_image(start[:cut] + more)
    if shape is not None:
        assert (shape.width is None) == (shape.height is None)
        assert shape.width is None or 0 < shape.width < 2**31
        assert shape.height is None or 0 < shape.height < 2**31


@pytest.mark.parametrize(
    ("srcset", "chosen"),
    [
        ("a.jpg", "a.jpg"),
        ("a.jpg 1x, b.jpg 2x", "b.jpg"),
        ("a.jpg 320w, b.jpg 1280w, c.jpg 640w", "b.jpg"),
        ("  a.jpg   320w ,b,c.jpg 640w", "b,c.jpg"),
        ("a.jpg, b.jpg 1.5x", "b.jpg"),
        ("a.jpg 2x, b.jpg 2x", "a.jpg"),
        ("data:image/png;base64,AAAA 1x, b.jpg 2x", "b.jpg"),
        ("a.jpg 100w 50h, b.jpg 200w 9h", "b.jpg"),
        ("a.jpg (1,2) 9w, b.jpg 8w", "a.jpg"),
        ("a.jpg -5w, b.jpg nonsense, c.jpg ²w", "a.jpg"),
        ("", None),
        (" , ,, ", None),
    ],
)
def test_of_several_candidates_the_largest_is_taken(srcset: str, chosen: str | None) -> None:
    assert largest_candidate(srcset) == chosen


def test_a_long_srcset_is_read_in_bounded_time() -> None:
    def read_all() -> None:
        for hostile in ("," * 10**6, "a " * 10**6, "a (" * 10**6, "a 1w," * 10**6, "x" * 10**6):
            chosen = largest_candidate(hostile)
            assert chosen is None or len(chosen) <= MAX_SRCSET_CHARACTERS

    assert least_of(lambda: processor_s(read_all), enough=0.5) < 0.5


def images(body: str) -> tuple[str, ...]:
    return read_html(body.encode(), content_type="text/html", agent_token="comitybot", with_images=True).images


def test_pictures_are_found_wherever_a_page_names_them() -> None:
    page = """<head><meta property="og:image" content=" /og.png "><meta name=twitter:image content=/og.png>
        <meta property=og:title content=/not.png></head>
        <img src=/a.png><img src="data:image/gif;base64,R0lGOD" data-src=/lazy.png>
        <img src=/small.jpg srcset="/small.jpg 1x, /big.jpg 2x">
        <picture><source srcset="/b.webp 100w, /c.webp 900w"><img src=/c.jpg></picture>
        <video><source src=/film.mp4></video><a href=/linked.png></a><img src=/a.png><img src=""><img>"""
    assert images(page) == (
        "/og.png",
        "/a.png",
        "/lazy.png",
        "/small.jpg",
        "/big.jpg",
        "/c.webp",
        "/c.jpg",
    )
    assert read_html(page.encode(), content_type="text/html", agent_token="comitybot").images == ()


def test_a_page_of_very_many_pictures_gives_so_many() -> None:
    assert len(images("".join(f"<img src=/{number}.png>" for number in range(3000)))) == MAX_IMAGES
    assert images(f"<img src='/{'x' * 5000}'>") == ()
