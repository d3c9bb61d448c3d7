"""Names of encodings as the web uses them: a label enters, a codec leaves; bytes and a codec enter, text leaves.

Browsers read many labels as a larger encoding than the one they name (WHATWG Encoding §4.2): a page that calls itself
ISO-8859-1 is Windows-1252, with its dashes and curly quotes.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

_LARGER: Final = {
    codec: larger
    for larger, codecs_within in {
        "cp1252": ("ascii", "iso8859-1"),
        "cp1254": ("iso8859-9",),
        "cp874": ("iso8859-11", "tis-620"),
        "gb18030": ("gb2312", "gbk", "hz"),
        "cp932": ("shift_jis",),
        "cp949": ("euc_kr",),
        "big5hkscs": ("big5", "cp950"),
    }.items()
    for codec in codecs_within
}
# Labels that Python does not know, or takes for something else.
_LABELS: Final = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "ms_kanji": "cp932",
    "ks_c_5601-1987": "cp949",
    "ks_c_5601-1989": "cp949",
    "windows-949": "cp949",
    "korean": "cp949",
    "x-gbk": "gb18030",
    "gb_2312-80": "gb18030",
    "chinese": "gb18030",
    "x-x-big5": "big5hkscs",
    "cn-big5": "big5hkscs",
    "windows-874": "cp874",
    "dos-874": "cp874",
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "ansi_x3.4-1968": "cp1252",
    "x-mac-roman": "mac_roman",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "unicode-1-1-utf-8": "utf-8",
    "x-unicode20utf8": "utf-8",
    "unicode11utf8": "utf-8",
    "utf8mb4": "utf-8",
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "logical": "iso8859-8",
}
# What else Python can decode is no encoding of the web, or (UTF-16) none of a body that begins in ASCII.
_OF_THE_WEB: Final = re.compile(
    r"utf-8|cp(?:866|874|932|949|125\d)|iso8859-\d\d?|koi8-[ru]|mac[-_](?:roman|cyrillic)|gb18030|big5hkscs|euc_jp|"
    r"iso2022_jp"
)
# Bytes that are no UTF-8, as Windows-1252 has them; they come out of the decoder as lone surrogates.
_STRAY: Final = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}


def codec_of(label: str) -> str | None:
    """The codec that a label means on the web; None if it names none that can be what it stands on."""
    name = label.strip().lower()
    if name in _LABELS:
        return _LABELS[name]
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    codec = _LARGER.get(found.name, found.name)
    return codec if _OF_THE_WEB.fullmatch(codec) else None


def decoded(body: bytes, codec: str) -> str:
    """Decode a body; UTF-8 under a western name is UTF-8, for nothing else looks like it, and its strays are read."""
    if codec == "cp1252" and not body.isascii():
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            return body.decode("cp1252", "replace")
    if codec == "utf-8":
        text = body.decode("utf-8", "surrogateescape")
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.translate(_STRAY)
        return text
    return body.decode(codec, "replace")
