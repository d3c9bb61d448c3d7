"""What a query says about its page: which parameters choose among the same things, order them, or leaf through them.

A query enters; its parts leave. Names decide, and how often they come, never the site.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import unquote

from comity.rules.trap_shapes import is_token, read_iso_date

# Other orders, sizes and dresses of one page.
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
# Leafing through a list: any number of values is honest, and none of them chooses anything.
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


def read_query(query: str) -> QueryParts:
    """Take a query apart."""
    parameters = query.split("&")
    filters: list[tuple[str, str]] = []
    base: list[str] = []
    names: list[str] = []
    for parameter in parameters:
        name, _equals, value = parameter.partition("=")
        if "%" in name:
            name = unquote(name)
        folded = name.lower()
        names.append(folded)
        if folded in _VARIANT_NAMES or (folded in _PRINT_NAMES and value.lower() in _PRINT_VALUES):
            continue
        base.append(parameter)
        if folded not in _PAGING_NAMES:
            filters.append((folded, value))
    if len(parameters) == 1:
        ordered, joined = query, names[0]
    else:
        ordered = "&".join(sorted(parameters))
        names.sort()
        joined = "&".join(names)
    is_variant = len(base) < len(parameters)
    return QueryParts(parameters, ordered, joined, filters, "&".join(sorted(base)) if is_variant else None)
