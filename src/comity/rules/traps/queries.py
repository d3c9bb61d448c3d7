"""Parsing queries: which parameters filter the same items, sort them, or page through them.

Parameter names decide, and how often they occur, never the site.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote

from comity.rules.traps.shapes import is_token, names_date, read_iso_date

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


class QueryParts(NamedTuple):
    """A query taken apart; `ordered` is the same for every order of its parameters."""

    parameters: list[str]
    ordered: str
    names: str
    filters: list[tuple[str, str]]
    """Parameters that are neither paging nor variants, as name and value."""
    base: str | None
    """The ordered query without what makes it a variant; None if it is none."""

    def has_token_or_date(self) -> bool:
        """Whether a machine or a clock made one of the values."""
        return any(is_token(value) or read_iso_date(value) is not None for _name, value in self.filters)

    def leafs(self) -> bool:
        """Whether its parameters only page through a list or a calendar, and so may go on without end."""
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
