"""The shape of URLs: takes a folder, a file name or a query, returns what URLs of its kind have in common.

A shape is a path without what counts upwards in it: numbers, digests, dates. Names stay, so that different sites are
not mixed up. Every function here is linear in its text.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, timedelta
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote

from comity.model.named_tuple import fast_new

NUMBER: Final = "#"
TOKEN: Final = "%"  # noqa: S105  a shape, not a secret
DATE: Final = "@"
NAME: Final = "*"
MOST_COMPARED: Final = 60  # names of one path
_KEPT_SEGMENTS: Final = 5
_DIGITS: Final = re.compile(r"[0-9]+")
_TOKEN: Final = re.compile(
    r"(?=[^.]*[0-9])(?:[0-9a-fA-F]{16,}|[0-9A-Za-z]{24,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?:\.\w{1,5})?"
)
_ISO_DATE: Final = re.compile(r"((?:19|20|21)\d\d)-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?(?:\.\w{1,5})?", re.ASCII)
_COMPACT_DATE: Final = re.compile(r"(2\d\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])?", re.ASCII)
_MONTH: Final = re.compile(r"0?[1-9]|1[0-2]", re.ASCII)
_YEAR: Final = re.compile(r"(?:1[5-9]|20|21)\d\d", re.ASCII)
_LEAST_TOKEN: Final = 16
_DATE_NAME: Final = re.compile(r"date|day|month|cal|time|week|tag|jour|fecha|datum", re.IGNORECASE)
_YEAR_NAMES: Final = frozenset({"year", "yr", "jahr", "annee", "anno", "ano", "aar", "calyear", "calendaryear"})
# Other orders, sizes and styles of one page.
_VARIANT_NAMES: Final = frozenset(
    (
        *(
            "sort",
            "sortby",
            "sort_by",
            "sortorder",
            "sort_order",
            "sortdir",
            "sort_dir",
            "sortfield",
            "order",
            "orderby",
        ),
        *("order_by", "ordering", "orderway", "dir", "direction", "view", "viewmode", "view_mode", "display", "layout"),
        *("displaymode", "list_style", "print", "printable", "printview", "print_view", "printerfriendly", "pdf"),
        *("printer_friendly", "theme", "skin", "style", "template", "fontsize", "font_size", "replytocom", "share"),
        *("product_list_order", "product_list_dir", "product_list_mode", "product_list_limit"),
    )
)
# Paging through a list: any number of values is fine, and none of them selects anything.
_PAGING_NAMES: Final = frozenset(
    (
        *("page", "p", "pg", "paged", "pagenum", "page_num", "pagenumber", "page_number", "pageno", "page_no", "seite"),
        *(
            "pageindex",
            "start",
            "offset",
            "skip",
            "cursor",
            "after",
            "before",
            "limit",
            "per_page",
            "perpage",
            "pagina",
        ),
        *("pagesize", "page_size", "count", "rows", "strana", "currentpage", "start_index", "startindex"),
    )
)
_PRINT_VALUES: Final = frozenset({"print", "printable", "pdf", "amp", "rss", "atom"})
_PRINT_NAMES: Final = frozenset({"format", "output", "action", "mode", "do", "task", "tmpl"})


@fast_new
class FolderShape(NamedTuple):
    """What a folder's path says about it."""

    text: str
    segments: int
    has_token: bool
    year: int | None
    """A year that ends the path, or has a month behind it."""
    has_month: bool
    has_loose_number: bool
    """Whether a number stands where no year could."""
    iso_date: date | None
    has_twin: bool
    """Whether any name stands twice in the path, also a number or a single letter."""
    repeats: int
    """How many names of the path come a second time or more."""
    repetition: str | None
    """What is wrong with the way in which names are repeated, if anything is."""


def folder_shape(folder: str) -> FolderShape:
    """Read a folder's path, such as `/shop/2024/05/`."""
    segments = folder.split("/")[1:-1]
    shapes: list[str] = []
    has_token = has_loose_number = has_month = False
    year: int | None = None
    iso: date | None = None
    for at, segment in enumerate(segments):
        shape = segment_shape(segment)
        if shape == NUMBER:
            if _YEAR.fullmatch(segment):
                has_month = at + 1 < len(segments) and _MONTH.fullmatch(segments[at + 1]) is not None
                if has_month or at + 1 == len(segments):
                    year = int(segment)
            elif len(segment) > 2:
                has_loose_number = True
        elif shape == TOKEN:
            has_token = True
        elif shape == DATE:
            iso = read_iso_date(segment)
        shapes.append(shape)
    if len(shapes) > _KEPT_SEGMENTS:
        shapes = [*shapes[:_KEPT_SEGMENTS], f"+{len(shapes) - _KEPT_SEGMENTS}"]
    names = [segment for segment in segments if len(segment) > 1 and not segment.isdecimal()]
    text = f"/{'/'.join(shapes)}/" if shapes else "/"
    repeats = len(names) - len(set(names))
    repetition = None
    # Comparing runs takes the cube of their number, so a path that is too deep anyway is not looked at.
    if len(segments) <= MOST_COMPARED and (repeats > 1 or len(segments) > len(set(segments)) + 1):
        repetition = _repetition(segments, names, repeats)
    has_twin = len(set(segments)) < len(segments)
    return FolderShape(
        text, len(segments), has_token, year, has_month, has_loose_number, iso, has_twin, repeats, repetition
    )


def segment_shape(segment: str) -> str:
    """The shape of one name in a path."""
    if segment.isalpha():
        return segment
    if segment.isdecimal():
        return NUMBER
    if _ISO_DATE.fullmatch(segment):
        return DATE
    if len(segment) >= _LEAST_TOKEN and _TOKEN.fullmatch(segment):
        return TOKEN
    return _DIGITS.sub(NUMBER, segment)


def leaf_shape(leaf: str) -> str:
    """The shape of the last name in a path; names that people give all count as one."""
    if not leaf:
        return ""
    if leaf[0] in "0123456789" or len(leaf) >= _LEAST_TOKEN:
        if leaf.isdecimal():
            return NUMBER
        if _ISO_DATE.fullmatch(leaf):
            return DATE
        if len(leaf) >= _LEAST_TOKEN and _TOKEN.fullmatch(leaf):
            return TOKEN
    return NAME


def read_iso_date(text: str) -> date | None:
    """The day that a name or value stands for, or the first of its month."""
    return _day(_ISO_DATE.fullmatch(text))


def _day(found: re.Match[str] | None) -> date | None:
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2]), int(found[3] or 1))
    except ValueError:
        return None


def is_token(value: str) -> bool:
    """Whether a value was made by a machine to be unlike any other."""
    return len(value) >= _LEAST_TOKEN and _TOKEN.fullmatch(value) is not None


def names_date(name: str) -> bool:
    """Whether a parameter's name says that its value is a day, a month or a year."""
    return name.lower() in _YEAR_NAMES or _DATE_NAME.search(name) is not None


def is_far_date(name: str, value: str, today: date, years_ahead: int) -> bool:
    """Whether a parameter asks for a day or year that is far in the future."""
    if len(value) == 4:
        year = int(value) if value.isdecimal() and name.lower() in _YEAR_NAMES else 0
        return today.year + years_ahead < year <= 9999
    if 6 <= len(value) <= 10 and value[0] == "2":
        day = read_iso_date(value)
        if day is None and _DATE_NAME.search(name):
            day = _day(_COMPACT_DATE.fullmatch(value))
        return day is not None and day > today + timedelta(days=366 * years_ahead)
    return False


def _repetition(segments: list[str], names: list[str], repeats: int) -> str | None:
    """The sign of an endless space in a path, if any: a repeated run of names, or names that occur too often."""
    most_common = Counter(names).most_common(1)
    if most_common and most_common[0][1] >= 5:
        return f"{most_common[0][0][:40]!r} occurs {most_common[0][1]} times in its path"
    if repeats >= 6:
        return f"{repeats} names of its path repeat"
    for size in range(1, len(segments) // 3 + 1):
        times = 4 if size == 1 else 3
        for start in range(len(segments) - size * times + 1):
            run = segments[start : start + size]
            if run * times == segments[start : start + size * times] and any(
                not segment.isdecimal() and segment for segment in run
            ):
                return f"/{'/'.join(run)[:60]}/ repeats {times} times in a row"
    return None


@fast_new
class QueryParts(NamedTuple):
    """A query taken apart; `ordered` is the same for every order of its parameters.

    Distinguishes parameters that filter the same items, sort them, or page through them. Their names decide, and how
    often they occur, never the site.
    """

    parameters: list[str]
    ordered: str
    names: str
    filters: list[tuple[str, str]]
    """Parameters that are neither paging nor variants, as name and value."""
    base: str | None
    """The ordered query without what makes it a variant; None if it is not one."""

    def has_token_or_date(self) -> bool:
        """Whether a machine or a clock made one of the values."""
        return any(is_token(value) or read_iso_date(value) is not None for _name, value in self.filters)

    def leafs(self) -> bool:
        """Whether its parameters only page through a list or a calendar, and so may continue without end."""
        return all(names_date(name) for name, _value in self.filters)


def read_query(query: str) -> QueryParts:
    """Parse a query."""
    parameters = query.split("&")
    filters: list[tuple[str, str]] = []
    names: list[str] = []
    base: list[str] | None = None
    for parameter in parameters:
        written, _equals, value = parameter.partition("=")
        name, role = _named(written)
        names.append(name)
        if role is _Role.VARIANT or (role is _Role.DRESS and value.lower() in _PRINT_VALUES):
            base = parameters.copy() if base is None else base
            base.remove(parameter)
        elif role is not _Role.PAGING:
            filters.append((name, value))
    if len(parameters) == 1:
        return QueryParts(parameters, query, names[0], filters, None if base is None else "")
    names.sort()
    ordered = "&".join(sorted(parameters))
    return QueryParts(parameters, ordered, "&".join(names), filters, None if base is None else "&".join(sorted(base)))


def is_filter(written: str) -> bool:
    """Whether a parameter neither pages nor sorts, by its name."""
    return _named(written)[1] is _Role.FILTER


class _Role(Enum):
    """What a parameter does, by its name."""

    FILTER = 1
    PAGING = 2
    VARIANT = 3
    DRESS = 4  # a variant for some values


@lru_cache(maxsize=4096)
def _named(written: str) -> tuple[str, _Role]:
    """A parameter's name without regard to case and escapes, and its role; sites use the same few over and over."""
    name = unquote(written).lower().replace("\0", " ")  # it appears in reasons, and PostgreSQL stores no NUL
    if name in _VARIANT_NAMES:
        return name, _Role.VARIANT
    if name in _PAGING_NAMES:
        return name, _Role.PAGING
    return name, _Role.DRESS if name in _PRINT_NAMES else _Role.FILTER
