"""Bodies as text: what a browser would read, and None for what is no text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.store.formats.body_text import as_text

# Every encoding that browsers know (WHATWG Encoding §4.2), by the name that a parsed page has.
ENCODINGS = (
    *("UTF-8", "UTF-16BE", "UTF-16LE", "IBM866", "KOI8-R", "KOI8-U", "macintosh", "x-mac-cyrillic", "ISO-8859-8-I"),
    *(f"ISO-8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    *(f"windows-{number}" for number in (874, *range(1250, 1259))),
    *("GBK", "gb18030", "Big5", "EUC-JP", "ISO-2022-JP", "Shift_JIS", "EUC-KR", "x-user-defined", "replacement"),
)


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "text"),
    [
        ("Привет".encode("windows-1251"), "text/html", "windows-1251", "Привет"),
        ("①～髙".encode("cp932"), "text/html", "Shift_JIS", "①～髙"),
        ("똠방각하".encode("cp949"), "text/html", "EUC-KR", "똠방각하"),
        ("㐀€".encode("gb18030"), "text/html", "GBK", "㐀€"),
        ("“curly” €".encode("cp1252"), "text/plain; charset=iso-8859-1", None, "“curly” €"),
        ("ширь".encode("utf-16-le"), "text/html", "UTF-16LE", "ширь"),
        (b"\xff\xfe" + "ширь".encode("utf-16-le"), "text/html; charset=utf-8", "UTF-8", "ширь"),
        (b"\xef\xbb\xbfmarked", "text/plain; charset=windows-1251", None, "marked"),
        (b"\xef\xbb\xbfmarked", "text/html", "UTF-8", "marked"),
        ("né".encode(), "text/plain", None, "né"),
        ("né".encode("cp1252"), "text/plain", None, "né"),
        ("né".encode(), "application/json", None, "né"),
        ("né".encode(), "application/rss+xml", None, "né"),
        ('<?xml version="1.0" encoding="windows-1251"?>ё'.encode("cp1251"), "text/xml", None,
         '<?xml version="1.0" encoding="windows-1251"?>ё'),
        (b"plain", None, None, "plain"),
        (b"plain", "text/plain; charset=nonsense", None, "plain"),
        (b"plain", "text/plain; charset=unicode_escape", None, "plain"),
        (b"", "text/html", "UTF-8", ""),
    ],
)  # fmt: skip
def test_a_body_reads_so(body: bytes, content_type: str | None, encoding: str | None, text: str) -> None:
    assert as_text(body, content_type, encoding) == text


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\x89PNG\r\n\x1a\n\0", None),
        (b"\x89PNG\r\n\x1a\n\0", "image/png"),
        (b"%PDF-1.7", "application/pdf"),
        (b"\xff\xfe\x00\x01", "application/octet-stream"),
        (b"caf\xe9", None),
        (b"a\0b", None),
    ],
)
def test_what_is_no_text_stays_bytes(body: bytes, content_type: str | None) -> None:
    assert as_text(body, content_type, None) is None


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_of_the_web_is_read_and_never_fails(name: str) -> None:
    text = as_text(bytes(range(256)) * 2, "text/html", name)
    assert text is not None
    text.encode()  # no half of a pair is left in it
    if name not in ("UTF-16BE", "UTF-16LE", "ISO-2022-JP"):
        assert "ABC" in text


@given(
    st.binary(max_size=200), st.sampled_from([None, "text/html", "text/plain; charset=utf-7", "a/b", ";;", "text/xml"])
)
def test_no_body_is_too_odd(body: bytes, content_type: str | None) -> None:
    for encoding in (None, "UTF-8", "UTF-16LE", "nonsense"):
        text = as_text(body, content_type, encoding)
        if text is not None:
            text.encode()


@given(st.text(max_size=100))
def test_utf_8_is_read_back_as_it_was(text: str) -> None:
    assert as_text(text.encode(), "text/html; charset=utf-8", "UTF-8") == text.removeprefix("\ufeff")
