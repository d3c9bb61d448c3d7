"""Functions of SQL on HTML: `jq`, `htmlpath` and `page_info`, on every connection of the door.

DuckDB calls Python for them, which needs numpy; without it a connection has none of them, and everything else.
"""

from __future__ import annotations

from typing import Any, Final

from comity.doors.sql.network import NetworkFunctions
from comity.extract.html_functions import page_info, select_attribute, select_element, value_at

_ELEMENT: Final = "STRUCT(text VARCHAR, html VARCHAR, attr MAP(VARCHAR, VARCHAR))"
# One name with two and with three arguments: DuckDB has that for macros.
_MACROS: Final = (
    "CREATE OR REPLACE TEMP MACRO jq(html, selector) AS comity_element(html, selector), "
    "(html, selector, attribute) AS comity_attribute(html, selector, attribute)",
    "CREATE OR REPLACE TEMP MACRO htmlpath(html, path) AS comity_value(html, path)::JSON",
    "CREATE OR REPLACE TEMP MACRO page_info(html, url) AS comity_page_info(html, url)::JSON",
)


def add_functions(connection: Any, network: NetworkFunctions | None = None) -> bool:
    """Put the functions on a connection; False if it can have none."""
    try:
        import numpy  # noqa: F401  # DuckDB asks for it when a function is called
    except ImportError:
        return False
    text = "VARCHAR"
    special = {"null_handling": "special"}  # NULL enters, and leaves
    connection.create_function("comity_element", _element, [text, text], _ELEMENT, **special)
    connection.create_function("comity_attribute", select_attribute, [text, text, text], text, **special)
    connection.create_function("comity_value", value_at, [text, text], text, **special)
    connection.create_function("comity_page_info", page_info, [text, text], text, **special)
    for macro in _MACROS:
        connection.execute(macro)
    if network is not None:
        network.add_to(connection)
    return True


def _element(html: str | None, css: str | None) -> dict[str, Any] | None:
    found = select_element(html, css)
    return None if found is None else found._asdict()
