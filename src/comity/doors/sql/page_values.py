"""Values of a page for SQL: the `html` struct, the columns that the crawler extension has, and `extract` of `crawl`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from turbohtml import parse

from comity.extract.expressions import Evaluator
from comity.extract.fetched_page import FetchedPage
from comity.extract.html_functions import as_json, embedded_state, extracted, page_info, variables
from comity.extract.structured_items import types_of
from comity.model.expression import ExpressionProblem
from comity.rules.expressions.parse import describe, parse_expression

# `$("h1", "attr:id")`, another form of `$("h1").attr("id")`.
_WITH_ACCESSOR: Final = re.compile(
    r"""\$\(\s*(["'])(?P<css>.*?)\1\s*,\s*(["'])(?:(?P<what>text|html)|attr:(?P<attribute>[\w-]+))\3\s*\)""", re.DOTALL
)
_SELECTED: Final = re.compile(
    r"""\$\(\s*(["'])(?P<css>.*?)\1\s*\)(?:\.attr\(["'](?P<attribute>[\w-]+)["']\))?""", re.DOTALL
)


def html_struct(body: str | None, url: str) -> dict[str, Any] | None:
    """What the column `html` of the functions has."""
    if not body:
        return None
    page = _page(body, url)
    info = json.loads(page_info(body, url) or "{}")
    readable = info.get("readability", {})
    return {
        "document": body,
        "readability": {
            "title": readable.get("title"),
            "excerpt": readable.get("excerpt"),
            "text_content": page.text,
            "content": page.markdown,
        },
        "schema": {kind: as_json(node) for kind, node in _by_type(page).items()},
        "opengraph": _opengraph(page),
        "meta": _meta(page),
        "js": _json_of(variables(body)),
        "hydration": {name: as_json(value) for name, value in embedded_state(body).items()},
    }


def page_value(body: str | None, what: str | None) -> str | None:
    """JSON of a page for a column that tables of the crawler extension have; None where the page has nothing.

    `jsonld` has the first item's own keys, and every item by its type: the extension's documents read it either way.
    """
    if not body:
        return None
    match what:
        case "js":
            return _json_of(variables(body))
        case "hydration":
            return _json_of(embedded_state(body))
    page = _page(body, "")
    match what:
        case "jsonld":
            first = next((node for node in page.jsonld if isinstance(node, dict)), {})
            return _json_of({**first, **_by_type(page)})
        case "microdata":
            return _json_of(_items_by_type(page.microdata))
        case "opengraph":
            return _opengraph(page)
        case "meta":
            return _meta(page)
    return None


def extracted_values(html: str | None, specs: Sequence[str] | None) -> str | None:
    """Values of a page by name, as JSON: `title := $("h1")`, or an expression as in EXTRACT: `name := og.title`."""
    if html is None or not specs:
        return None
    values: dict[str, Any] = {}
    for spec in specs:
        name, sign, said = _WITH_ACCESSOR.sub(_with_method, spec).partition(":=")
        if not sign or said.lstrip().startswith("$"):
            values |= json.loads(extracted(html, [f"{name}{sign}{said}"]) or "{}")
        else:
            values[name.strip()] = _evaluated(html, said)
    return as_json(values)


def _with_method(found: re.Match[str]) -> str:
    attribute = found["attribute"]
    return f"$({json.dumps(found['css'])})." + (f'attr("{attribute}")' if attribute else found["what"])


def _evaluated(html: str, said: str) -> object | None:
    """The value of an expression in which `$("h1")` stands for `css 'h1::text'`."""

    def as_css(found: re.Match[str]) -> str:
        wanted = f"::attr({found['attribute']})" if found["attribute"] else "::text"
        return "css '" + f"{found['css']}{wanted}".replace("'", "''") + "'"

    text = _SELECTED.sub(as_css, said.strip())
    expression = parse_expression(text)
    if isinstance(expression, ExpressionProblem):
        raise ValueError(describe(text, expression))
    return Evaluator(parse(html)).value(expression)


def _page(body: str, url: str) -> FetchedPage:
    return FetchedPage(url, url, 200, "text/html; charset=utf-8", body.encode("utf-8", "replace"), "utf-8", None)


def _by_type(page: FetchedPage) -> dict[str, Any]:
    """The first item of each type."""
    return _items_by_type((*page.jsonld, *page.microdata))


def _items_by_type(items: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in items:
        for kind in types_of(node):
            found.setdefault(kind, node)
    return found


def _opengraph(page: FetchedPage) -> str | None:
    full = {f"og:{name}": value for name, value in page.opengraph.items()}  # found by either name
    return _json_of(page.opengraph | full)


def _meta(page: FetchedPage) -> str | None:
    return _json_of(page.meta)


def _json_of(values: dict[str, Any]) -> str | None:
    return as_json(values) if values else None
