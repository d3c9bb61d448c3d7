"""SQL functions on HTML: `jq`, `css_select`, `htmlpath` and `page_info`, on every connection.

DuckDB needs numpy to call Python. Without numpy a connection has none of these functions; everything else works.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Final

import duckdb

from comity.doors.sql.network import NetworkFunctions
from comity.doors.sql.page_values import extracted_values, page_value
from comity.extract.html_functions import (
    page_info,
    select_attribute,
    select_element,
    select_text,
    value_at,
)

_ELEMENT: Final = "STRUCT(text VARCHAR, html VARCHAR, attr MAP(VARCHAR, VARCHAR))"
# One name with two and with three arguments: DuckDB has that for macros.
_MACROS: Final = (
    "CREATE OR REPLACE TEMP MACRO jq(html, selector) AS comity_element(html, selector), "
    "(html, selector, attribute) AS comity_attribute(html, selector, attribute)",
    "CREATE OR REPLACE TEMP MACRO htmlpath(html, path) AS comity_value(html, path)::JSON",
    "CREATE OR REPLACE TEMP MACRO page_info(html, url) AS comity_page_info(html, url)::JSON",
    "CREATE OR REPLACE TEMP MACRO css_select(html, selector, accessor) AS comity_text(html, selector, accessor)",
)


def add_functions(connection: Any, network: NetworkFunctions | None = None) -> bool:
    """Add the functions to a connection; False without numpy."""
    if find_spec("numpy") is None:  # DuckDB asks for it when a function is called
        return False
    text = "VARCHAR"
    for name, function, takes, gives in (
        ("comity_element", _element, [text] * 2, _ELEMENT),
        ("comity_attribute", select_attribute, [text] * 3, text),
        ("comity_text", select_text, [text] * 3, text),
        ("comity_value", value_at, [text] * 2, text),
        ("comity_extracted", extracted_values, [text, f"{text}[]"], text),
        ("comity_page_value", page_value, [text] * 2, text),
        ("comity_page_info", page_info, [text] * 2, text),
    ):
        with suppress(duckdb.CatalogException):  # another connection of this process to the same database added them
            connection.create_function(name, function, takes, gives, null_handling="special")
    for macro in _MACROS:
        connection.execute(macro)
    if network is not None:
        network.add_to(connection)
    return True


def _element(html: str | None, css: str | None) -> dict[str, Any] | None:
    found = select_element(html, css)
    return None if found is None else found._asdict()
