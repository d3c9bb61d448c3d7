"""One set of rules for encodings: a sitemap and a feed with the same bytes and the same label read alike."""

from __future__ import annotations

import pytest

from comity.extract.decode import codec_of, decode_body, encoding_of
from comity.extract.sitemap.read import iter_entries

ADDRESS = "https://example.com/"


@pytest.mark.parametrize(
    ("label", "codec", "word"),
    [
        ("utf-8", "utf-8", "é"),
        ("iso-8859-1", "cp1252", "’é"),  # browsers read it as Windows-1252
        ("x-sjis", "cp932", "ソ表"),
        ("gb2312", "gb18030", "職務"),
        ("ks_c_5601-1987", "cp949", "채용"),
        ("iso-2022-jp", "iso2022_jp", "仕事"),
        ("koi8-r", "koi8-r", "работа"),
    ],
)
def test_a_sitemap_and_a_feed_take_a_label_for_the_same_encoding(label: str, codec: str, word: str) -> None:
    text = f"<?xml version='1.0' encoding='{label}'?><urlset><url><loc>{ADDRESS}{word}</loc></url></urlset>"
    body = text.encode(codec)
    assert codec_of(label) == codec
    assert decode_body(body, None) == text
    chunks = list(iter_entries(body, content_type=None))
    assert [entry.loc for chunk in chunks for entry in chunk.entries] == [ADDRESS + word]
    assert not chunks[-1].problems


@pytest.mark.parametrize("codec", ["utf-16le", "utf-16be"])
@pytest.mark.parametrize("text", ["<rss/>", '{"jobs": []}', f"{ADDRESS}\n"])
def test_utf_16_without_a_mark_is_recognised_whatever_the_format(codec: str, text: str) -> None:
    assert encoding_of(text.encode(codec), "text/plain; charset=utf-8") == (codec, 0)
    assert decode_body(text.encode(codec), None) == text


def test_the_header_comes_before_the_declaration_and_the_mark_before_both() -> None:
    declared = b"<?xml version='1.0' encoding='koi8-r'?><a/>"
    assert encoding_of(declared, None) == ("koi8-r", 0)
    assert encoding_of(declared, "text/xml; charset=windows-1251") == ("cp1251", 0)
    assert encoding_of(b"\xef\xbb\xbf" + declared, "text/xml; charset=windows-1251") == ("utf-8", 3)
    assert encoding_of(declared, "text/xml; charset=klingon") == ("koi8-r", 0)
