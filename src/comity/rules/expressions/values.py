"""Typed values: takes what an expression found, returns it in the form in which a column stores it, or None.

That form is JSON's own: numbers, booleans and texts; DECIMAL, DATE and TIMESTAMP are texts in one notation each. A
value that has no such form is None, which the caller counts; nothing raises.
"""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from comity.model.expression import ColumnType, Transform, TypeName

_MAX_CHARACTERS: Final = 2_000  # the price is at the beginning of a text, or the text is no price
_MOST_DIGITS: Final = 40
# Small raised cents: 12⁹⁹.
_RAISED: Final = re.compile(r"(?<=\d)[⁰¹²³⁴-⁹]{2}(?![⁰¹²³⁴-⁹])")
_GROUP_MARKS: Final = "'’ʼ´`٬"
_PRINTED_NUMBER: Final = re.compile(
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
MAX_VALUE_CHARACTERS: Final = 4_000_000
_LONGEST_NUMBER: Final = 400
_LONGEST_DATE: Final = 100
_NUMBER: Final = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_EXACT: Final = Context(prec=80, rounding=ROUND_HALF_UP)
_TRUE: Final = frozenset({"true", "t", "yes", "y", "1", "on"})
_FALSE: Final = frozenset({"false", "f", "no", "n", "0", "off"})
# schema.org's ItemAvailability, which shops write where a yes or no is wanted.
_AVAILABLE: Final = frozenset({"instock", "limitedavailability", "onlineonly", "instoreonly"})
_UNAVAILABLE: Final = frozenset({"outofstock", "soldout", "discontinued"})
_RANGES: Final = {TypeName.INTEGER: 31, TypeName.BIGINT: 63}
_DAY: Final = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})|(\d{1,2})\.(\d{1,2})\.(\d{4})", re.ASCII)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NAMED_DAY: Final = re.compile(
    r"(?:(\d{1,2})(?:st|nd|rd|th)?\.?\s+([a-z]{3,9})\.?,?|([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?)\s+(\d{4})",
    re.ASCII | re.IGNORECASE,
)

# Each alternative reaches its end or the end of the text, so no text is searched twice.
_BLOCKS: Final = (
    "address|article|aside|blockquote|br|dd|div|dl|dt|fieldset|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|"
    "section|table|td|th|tr|ul"
)
_MARKUP: Final = re.compile(
    r"<!--(?:[^-]++|-(?!->))*+(?:-->|\Z)"
    r"|<(?P<raw>script|style)\b[^<>]*+>(?:[^<]++|<(?!/(?P=raw)))*+(?:</(?P=raw)[^<>]*+>|\Z)"
    rf"|(?P<block></?(?:{_BLOCKS})(?=[\s/>])[^<>]*+>)"
    r"|</?[a-z!?][^<>]*+>",
    re.IGNORECASE,
)


class NumberFound(NamedTuple):
    """A number in a text, as plain digits, and whether a currency stands beside it.

    The text may be in any of the world's notations. 1.299,00 € and $1,299.00 are the same amount: where a text has both
    marks, the last one is the decimal mark. One mark with three digits behind it separates thousands, because prices
    seldom have three decimals.
    """

    digits: str
    has_currency: bool


def parse_price(text: str) -> str | None:
    """The amount of a price: the first number with a currency, else the first number, or None."""
    found = list(_numbers_in(text))
    return next((each.digits for each in found if each.has_currency), found[0].digits if found else None)


def only_number(text: str) -> str | None:
    """The number of a text that has exactly one: “42 items”."""
    found = list(_numbers_in(text))
    return found[0].digits if len(found) == 1 else None


def _numbers_in(text: str) -> Iterator[NumberFound]:
    """Every number of a text but percentages, in its order."""
    text = _RAISED.sub(lambda raised: "." + raised[0], text[:_MAX_CHARACTERS])
    text = "".join(_plain(character) for character in unicodedata.normalize("NFKC", text))
    for match in _PRINTED_NUMBER.finditer(text):
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


def transformed(text: str, transform: Transform) -> str | None:
    """A text after one step; None where the step finds nothing."""
    return _TRANSFORMS[transform](text)


def strip_html(text: str) -> str:
    """The words of a piece of markup, with single blanks between them."""
    plain = _MARKUP.sub(lambda tag: " " if tag["block"] or tag["raw"] else "", text)
    return " ".join(html.unescape(plain).split())


_TRANSFORMS: Final[dict[Transform, Callable[[str], str | None]]] = {
    Transform.TRIM: str.strip,
    Transform.LOWERCASE: str.lower,
    Transform.UPPERCASE: str.upper,
    Transform.STRIP_HTML: strip_html,
    Transform.PARSE_PRICE: parse_price,
}


def text_of(value: object) -> str:
    """A value of JSON as text: objects and lists as JSON, everything else as it is written there."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def converted(value: object, kind: ColumnType) -> Any:
    """A value in the stored form of a type; None where it has none."""
    name = kind.name
    if name is TypeName.VARCHAR or name is TypeName.JSON:
        text = text_of(value)
        return text if len(text) <= MAX_VALUE_CHARACTERS else None
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("@value", value.get("value"))
    if not isinstance(value, str | int | float):
        return None
    if name is TypeName.BOOLEAN:
        return _boolean(value)
    if name is TypeName.DATE or name is TypeName.TIMESTAMP:
        moment = _moment(value) if isinstance(value, str) else None
        if moment is None:
            return None
        return moment.date().isoformat() if name is TypeName.DATE else _in_utc(moment)
    number = _number(value)
    if number is None:
        return None
    if name is TypeName.DECIMAL:
        return _decimal(number, kind)
    if name is TypeName.DOUBLE:
        return float(number) if math.isfinite(float(number)) else None
    whole = int(number)
    return whole if whole == number and -(2 ** _RANGES[name]) <= whole < 2 ** _RANGES[name] else None


def _number(value: str | float) -> Decimal | None:
    """A number as it is written, or the only one of a text; None for one that is absurdly long."""
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _LONGEST_NUMBER:
            return None
        if not _NUMBER.fullmatch(text):
            text = only_number(text) or ""
    else:
        text = repr(int(value) if isinstance(value, bool) else value)
    try:
        number = Decimal(text, _EXACT)
    except (InvalidOperation, ValueError):
        return None
    return number if number.is_finite() and abs(number.adjusted()) <= 310 else None


def _decimal(number: Decimal, kind: ColumnType) -> str | None:
    if number.adjusted() > kind.precision:
        return None
    rounded = number.quantize(Decimal(1).scaleb(-kind.scale), context=_EXACT)
    if len(rounded.as_tuple().digits) > kind.precision and rounded != 0:
        return None
    return f"{rounded if rounded != 0 else abs(rounded):f}"


def _boolean(value: str | float) -> bool | None:
    if not isinstance(value, str):
        return bool(value) if value in (0, 1) else None
    word = value.strip().casefold()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    said = word.rstrip("/").rpartition("/")[2]
    return said in _AVAILABLE if said in _AVAILABLE or said in _UNAVAILABLE else None


def _moment(text: str) -> datetime | None:
    """A day or a moment, as it is written."""
    text = text.strip()
    if not text or len(text) > _LONGEST_DATE:
        return None
    return _iso(text) or _mail_date(text) or _day(text)


def _in_utc(moment: datetime) -> str | None:
    """A moment with an offset becomes UTC; one without stays as it is."""
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            return None
    return moment.isoformat()


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _mail_date(text: str) -> datetime | None:
    """RFC 5322, as in feeds."""
    if ":" not in text:
        return None
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _day(text: str) -> datetime | None:
    """A day without an hour. 03/04/2026 is read as none, because it means two days."""
    found = _DAY.fullmatch(text)
    if found is not None:
        year, month, day, *later = found.groups()
        if year is None:
            day, month, year = later
    else:
        named = _NAMED_DAY.fullmatch(text)
        if named is None:
            return None
        day, name, other, other_day, year = named.groups()
        name, day = (name or other).lower(), day or other_day
        name = name.removesuffix("t") if name == "sept" else name
        month = next((str(number) for number, each in enumerate(_MONTHS, 1) if each.startswith(name)), "0")
    try:
        return datetime.combine(date(int(year), int(month), int(day)), datetime.min.time())
    except ValueError:
        return None
