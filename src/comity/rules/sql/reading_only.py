"""Whether a statement over the stored pages may run: a parsed statement enters, the reason why not leaves.

DuckDB parses it and writes the tree as JSON (`json_serialize_sql`), which only SELECT statements have. Tables and table
functions are admitted by name; every other door of DuckDB to files, settings and other tables is closed by not being
in the list. The database also refuses files and the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

LONGEST_STATEMENT: Final = 10_000
_TABLE: Final = "pages"
_TABLE_FUNCTIONS: Final = frozenset({"generate_series", "json_each", "json_tree", "range", "repeat", "unnest"})
# They read settings and variables, keep a connection busy, or leave something behind.
_REFUSED_FUNCTIONS: Final = frozenset(
    {
        *("current_setting", "currval", "getenv", "getvariable", "in_search_path", "json_execute_serialized_sql"),
        *("nextval", "parse_duckdb_log_message", "query", "query_table", "setseed", "setval", "sleep_ms"),
        *("which_secret", "write_log"),
    }
)
_ADMITTED_OF_PG: Final = frozenset({"pg_typeof", "pg_size_pretty"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_OF_DUCKDB: Final = ("duckdb_", "pragma_", "pg_", "sqlite_", "information_schema")
_ONLY_SELECT: Final = "write one SELECT statement, such as SELECT url, title FROM pages"


def refusal(parsed: dict[str, Any]) -> str | None:
    """Why a statement may not run, as a sentence; None if it may."""
    if parsed.get("error"):
        said = str(parsed.get("error_message") or "")
        return _ONLY_SELECT if parsed.get("error_type") == "not implemented" else said or _ONLY_SELECT
    statements = parsed.get("statements")
    if not isinstance(statements, list) or len(statements) != 1:
        return _ONLY_SELECT
    names = {_TABLE}
    for node in _nodes(statements):
        for name in _cte_names(node):
            if not _NAME.fullmatch(name) or name.lower().startswith(_OF_DUCKDB):
                return f"{name[:80]!r} cannot be the name of a subquery here"
            names.add(name.lower())
    found = (_refused_node(node, names) for node in _nodes(statements))
    return next((said for said in found if said is not None), None)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of the tree, without recursion: a statement may be nested as deep as its text is long."""
    waiting = [tree]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield found
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)


def _cte_names(node: dict[str, Any]) -> Iterator[str]:
    common = node.get("cte_map")
    if isinstance(common, dict):
        for entry in common.get("map") or ():
            yield str(entry.get("key"))


def _refused_node(node: dict[str, Any], names: set[str]) -> str | None:
    kind = node.get("type")
    if kind == "BASE_TABLE":
        path = (node.get("qualified_name") or {}).get("path") or []
        name = str(node.get("table_name"))
        is_own = not node.get("catalog_name") and node.get("schema_name") in ("", None, "main") and len(path) <= 2
        if not is_own or name.lower() not in names:
            return f"only the table pages can be read, not {name[:80]!r}"
    elif kind == "TABLE_FUNCTION":
        name = str((node.get("function") or {}).get("function_name"))
        if name.lower() not in _TABLE_FUNCTIONS:
            return f"the function {name[:80]!r} cannot be read from; only the table pages can"
    elif kind == "SHOW_REF" and not node.get("query"):
        return _ONLY_SELECT
    elif "function_name" in node:
        name = str(node["function_name"]).lower()
        if name in _REFUSED_FUNCTIONS or (name.startswith("pg_") and name not in _ADMITTED_OF_PG):
            return f"the function {name[:80]!r} cannot be used here"
    return None
