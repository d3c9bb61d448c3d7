"""Numbers as people write them: takes text in any of the world's notations, returns plain digits with a point.

1.299,00 € and $1,299.00 are the same amount: where a text has both marks, the last one is the decimal mark. One mark
with three digits behind it separates thousands, because prices seldom have three decimals.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

MAX_CHARACTERS: Final = 2_000  # the price is at the beginning of a text, or the text is no price
_MOST_DIGITS: Final = 40
# Small raised cents: 12⁹⁹.
_RAISED: Final = re.compile(r"(?<=\d)[⁰¹²³⁴-⁹]{2}(?![⁰¹²³⁴-⁹])")
_GROUP_MARKS: Final = "'’ʼ´`٬"
_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?: \d{3})++(?!\d)|\d++)(?:[.,'][0-9]++)*+"
    r"|(?<=[^\W\d_])(?:\d{1,3}(?: \d{3})++(?!\d)|\d++)(?:[.,'][0-9]++)*+"
)
_MINUS: Final = re.compile(r"(?:^|[^\w)])[-−–]\s?[^\w\s]{0,2}\s?$")
_CODES: Final = (
    "aed ars aud bam bgn bhd brl cad chf clp cny cop czk dkk egp eur euro euros gbp hkd hrk huf idr ils inr isk jod "
    "jpy kes krw kwd kzt mad mxn myr ngn nok nzd pen php pkr pln qar rmb ron rsd rub sar sek sgd thb try twd uah usd "
    "vnd xaf xof zar kr kč zł ft lei лв руб р грн тг rs rp rm tl din fr sfr 円 元 원 บาท"
)
_CURRENCY_WORDS: Final = frozenset(_CODES.split())
_LAST_WORD: Final = re.compile(r"([^\W\d_]+)\.?\s{0,2}[-−–]?$")
_FIRST_WORD: Final = re.compile(r"[.,]?[-–—]{0,2}\s{0,2}([^\W\d_]+)")


class NumberFound(NamedTuple):
    """A number in a text, as plain digits, and whether a currency stands beside it."""

    digits: str
    has_currency: bool


def parse_price(text: str) -> str | None:
    """The amount of a price: the first number with a currency, else the first number; None if there is none."""
    found = list(numbers_in(text))
    return next((each.digits for each in found if each.has_currency), found[0].digits if found else None)


def only_number(text: str) -> str | None:
    """The number of a text that has exactly one: “42 items”."""
    found = list(numbers_in(text))
    return found[0].digits if len(found) == 1 else None


def numbers_in(text: str) -> Iterator[NumberFound]:
    """Every number of a text but percentages, in its order."""
    text = _RAISED.sub(lambda raised: "." + raised[0], text[:MAX_CHARACTERS])
    text = "".join(_plain(character) for character in unicodedata.normalize("NFKC", text))
    for match in _NUMBER.finditer(text):
        digits = _value(match[0])
        before, after = text[max(0, match.start() - 12) : match.start()], text[match.end() : match.end() + 12]
        if digits is None or after.lstrip()[:1] == "%":
            continue
        sign = "-" if _MINUS.search(before) else ""
        yield NumberFound(sign + digits, _has_currency(before, after))


def _plain(character: str) -> str:
    """Digits of other scripts, blanks and marks between thousands, each as its plain form."""
    if character in _GROUP_MARKS:
        return "'"
    if character == "٫":
        return "."
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    return " " if character.isspace() else character


def _value(written: str) -> str | None:
    """The digits of one number, with a point; None where its marks make no sense."""
    written = written.replace(" ", "").replace("'", "")
    if len(written) > _MOST_DIGITS:
        return None
    points, commas = written.count("."), written.count(",")
    if points and commas:
        mark = "." if written.rfind(".") > written.rfind(",") else ","
        whole, _, cents = written.rpartition(mark)
        if mark in whole:  # 1,234.567.890
            return None
        return f"{_joined(whole)}.{cents}"
    if not points and not commas:
        return written
    groups = re.split("[.,]", written)
    if len(groups) > 2:  # 1.299.000, and 12,34,567 in India
        return "".join(groups) if len(groups[-1]) == 3 and all(len(group) in (2, 3) for group in groups[1:]) else None
    whole, rest = groups
    if len(rest) == 3 and len(whole) <= 3 and whole != "0":
        return whole + rest
    return f"{whole}.{rest}"


def _joined(whole: str) -> str:
    return whole.replace(".", "").replace(",", "")


def _has_currency(before: str, after: str) -> bool:
    near = before.rstrip()[-1:] + before.rstrip(" -−–")[-1:] + after.lstrip(" .,-–—")[:1]
    if any(unicodedata.category(character) == "Sc" for character in near):
        return True
    words = [found[1] for found in (_LAST_WORD.search(before), _FIRST_WORD.match(after)) if found is not None]
    return any(word.casefold() in _CURRENCY_WORDS for word in words)
