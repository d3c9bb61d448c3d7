"""Functions on the text of an HTML page, for SQL: elements by CSS selector, values by path, and an inventory.

They take text and return plain values. What cannot be read is None; nothing here raises for what a page contains.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin

from turbohtml import Element

from comity.extract.fetched_page import FetchedPage
from comity.extract.html_tables import HtmlTable
from comity.extract.lenient_json import read_lenient
from comity.extract.page_data import StepBudget, assigned_values
from comity.extract.structured_items import types_of

MOST_ELEMENTS: Final = 10_000
MOST_VARIABLES: Final = 200
_PAGES_KEPT: Final = 8  # a row's functions mostly ask about one page
_STEPS: Final = 1 << 22
_WANTED: Final = re.compile(
    r"(?P<selector>.*)(?<!\.)@(?P<wanted>[\w-]+|\$[\w$]+)(?P<path>(?:\.[^.\[\]]*+|\[\d{1,9}\]|\[\*\])*+)\s*", re.DOTALL
)
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\*)\]")
_SPEC: Final = re.compile(
    r"""\s*(?P<name>[\w-]+)\s*:=\s*\$\(\s*(?P<quote>["'])(?P<css>.*?)(?P=quote)\s*\)"""
    r"""(?:\s*\.\s*(?P<what>text|html|attr)(?:\s*[\[(]\s*["'](?P<attribute>[^"']+)["']\s*[\])]|\(\))?)?\s*"""
    r"""(?:::\s*json\b(?P<path>(?:\.[^.\[\]\s]++|\[\d{1,9}\]|\[\*\])*+))?\s*""",
    re.DOTALL | re.IGNORECASE,
)
_VARIABLE: Final = re.compile(
    r"(?<![\w$.])(?:(?:var|let|const)\s{1,4}([\w$]{1,80})|(?:window|self|globalThis)\s?\.\s?([\w$]{1,80}))\s{0,20}=(?![=>])"
)


class SelectedElement(NamedTuple):
    """The first element that a selector matches: its text, what is inside it, and its attributes."""

    text: str
    html: str
    attr: dict[str, str]


def select_element(html: str | None, css: str | None) -> SelectedElement | None:
    """The first element that a selector matches; None if there is none. `ValueError` if the selector is invalid."""
    found = None if html is None or css is None else _page(html).select_one(css)
    if found is None:
        return None
    attributes = {
        name: " ".join(value) if isinstance(value, list) else str(value or "") for name, value in found.attrs.items()
    }
    return SelectedElement(_text(found), found.inner_html, attributes)


def select_attribute(html: str | None, css: str | None, attribute: str | None) -> str | None:
    """An attribute of the first element that a selector matches."""
    found = select_element(html, css)
    return None if found is None or attribute is None else found.attr.get(attribute.lower())


def select_text(html: str | None, css: str | None, what: str | None) -> str | None:
    """The text (`text`), what is inside (`html`) or an attribute of the first element that a selector matches.

    An attribute may be written as `attr:href`, too.
    """
    found = select_element(html, css)
    if found is None or what is None:
        return None
    if what in ("text", "html"):
        return found.text if what == "text" else found.html
    return found.attr.get(what.removeprefix("attr:").lower())


def extracted(html: str | None, specs: list[str] | None) -> str | None:
    """Values of a page by name, as JSON: `title := $("h1")`, also with `.text`, `.html` or `.attr("href")` behind it.

    `::json` at the end reads the value as JSON, and a path may follow: `ids := $("#jobs")::json[*].id`.
    `ValueError` if one cannot be read.
    """
    if html is None or not specs:
        return None
    values: dict[str, object] = {}
    for spec in specs:
        found = _SPEC.fullmatch(spec)
        if found is None:
            raise ValueError(f'{spec!r} cannot be read; write name := $("selector")')
        said = select_text(html, found["css"], found["attribute"] or found["what"] or "text")
        values[found["name"]] = said
        if found["path"] is not None:
            values[found["name"]] = None if said is None else _walk(read_lenient(said), _steps(found["path"]))
    return as_json(values)


def _steps(path: str) -> list[str | int]:
    return [step if step else int(place) if place else "*" for step, place, _every in _STEP.findall(path)]


def linked(html: str, css: str, url: str) -> list[str]:
    """Where the links lead that a selector matches, or that are in what it matches; `url` is that of the page."""
    page = _page(html, url)
    elements = (element if element.tag == "a" else element.select_one("a[href]") for element in page.select(css))
    found = (element.attr("href") for element in elements if element is not None)
    absolute = (_joined(url, href) for href in found if href)
    return [address for address in absolute if address is not None][:MOST_ELEMENTS]


def _joined(url: str, href: str) -> str | None:
    """Where a link leads, without its fragment; None if it is no address, such as `http://[`."""
    try:
        return urljoin(url, href).partition("#")[0]
    except ValueError:
        return None


def variable_table(html: str, name: str) -> HtmlTable | None:
    """A variable of a script as rows: one for each object of a list, or for each member of an object."""
    value = variables(html).get(name.strip())
    if value is None:
        return None
    members = value if isinstance(value, list) else [value]
    if isinstance(value, dict):
        return HtmlTable(("key", "value"), tuple((key, _cell(each)) for key, each in value.items()))
    names = tuple(dict.fromkeys(key for member in members if isinstance(member, dict) for key in member))
    if not names:
        return HtmlTable(("value",), tuple((_cell(member),) for member in members))
    rows = (tuple(_cell(member.get(key)) for key in names) for member in members if isinstance(member, dict))
    return HtmlTable(names, tuple(rows))


def list_table(html: str, css: str, number: int = 0) -> HtmlTable | None:
    """The items of a list that a selector matches, counted from 0, as rows of one column; None if there is none."""
    lists = [element for element in _page(html).select(css) if element.tag in ("ul", "ol")]
    if number >= len(lists):
        return None
    items = (item for item in lists[number].children if isinstance(item, Element) and item.tag == "li")
    return HtmlTable(("value",), tuple((_text(item) or None,) for item in islice(items, MOST_ELEMENTS)))


def _cell(value: object) -> str | None:
    return None if value is None else value if isinstance(value, str) else as_json(value)


def value_at(html: str | None, path: str | None) -> str | None:
    """A value as JSON: `selector@text`, `selector@attribute`, with a path into JSON behind it; `[*]` for every element.

    `script[type="application/ld+json"]@text.offers.price` reads the text as JSON and goes on in it; the first step may
    be the `@type` of an object. `@$jobs[0].title` goes into a variable of a script. `ValueError` if the path cannot be
    read.
    """
    if html is None or path is None:
        return None
    found = _WANTED.fullmatch(path)
    if found is None:
        raise ValueError(f"{path!r} is not a path; write selector@text or selector@attribute")
    steps = _steps(found["path"])
    if found["wanted"].startswith("$"):  # a variable of a script: `@$jobs[0].title`
        value = variables(html).get(found["wanted"][1:])
        return None if (reached := _walk(value, steps)) is None else as_json(reached)
    takes_all = bool(steps) and steps[-1] == "*" and len(steps) == 1
    elements = _page(html).select(found["selector"].strip())[:MOST_ELEMENTS]
    values = (_wanted(element, found["wanted"]) for element in elements)
    present = (value for value in values if value is not None)
    if takes_all:
        return as_json([each for value in present for each in _members(value, found["wanted"])])
    for value in present:
        reached = _walk(read_lenient(value), steps) if steps else value
        if reached is not None:
            return as_json(reached)
    return None


def page_info(html: str | None, url: str | None) -> str | None:
    """What a page has, as JSON: meta, og, schema, js, links, tables and readability; `{}` for an empty page."""
    if html is None:
        return None
    if not html.strip():
        return "{}"
    page = _page(html, url or "")
    title = page.select_one("title")
    heading = page.select_one("h1")
    text = page.text
    document: dict[str, Any] = {
        "meta": page.meta,
        "og": page.opengraph,
        "schema": [
            {"type": kind, "keys": sorted(node)} for node in (*page.jsonld, *page.microdata) for kind in types_of(node)
        ],
        "js": [_described(name, value) for name, value in variables(html).items()],
        "links": len(page.select("a[href]")),
        "tables": len(page.select("table")),
        "readability": {
            "title": _text(title) if title is not None else _text(heading) if heading is not None else "",
            "excerpt": page.meta.get("description") or text[:200],
            "length": len(text),
        },
    }
    return as_json(document)


def as_json(value: object) -> str:
    """JSON that DuckDB takes: a page's JSON may have half of a surrogate pair, which is not text."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def variables(html: str) -> dict[str, Any]:
    """The variables of a page's scripts whose values are literals."""
    scripts = [script.text for script in _page(html).select("script:not([type*=json i])")]
    budget = StepBudget(_STEPS)
    names = dict.fromkeys(found[1] or found[2] for script in scripts for found in _VARIABLE.finditer(script))
    found: dict[str, Any] = {}
    for name in list(names)[:MOST_VARIABLES]:
        for value in assigned_values(scripts, name, budget):
            found[name] = value
            break
    return found


def embedded_state(html: str) -> dict[str, Any]:
    """The state that frameworks embed in a page: blocks of JSON by their id, variables such as `__NUXT__`, and what
    is assigned to `window`.
    """
    scripts = [script.text for script in _page(html).select("script:not([type*=json i])")]
    of_window = {found[2] for script in scripts for found in _VARIABLE.finditer(script)}
    found = {name: value for name, value in variables(html).items() if name.startswith("__") or name in of_window}
    for script in _page(html).select('script[type="application/json" i][id]')[:MOST_VARIABLES]:
        value = read_lenient(script.text)
        if value is not None:
            found[script.attr("id") or ""] = value
    return found


def _described(name: str, value: Any) -> dict[str, Any]:
    """A variable by its name, type and size, and how many items it has."""
    known: dict[str, Any] = {"name": name, "type": _type_of(value), "size": len(json.dumps(value))}
    return known | ({"items": len(value)} if isinstance(value, list | dict) else {})


def _type_of(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case list():
            return "array"
        case dict():
            return "object"
        case str():
            return "string"
        case _:
            return "number"


def _members(value: str, wanted: str) -> list[object]:
    """A value, or the members of a list that an attribute has as JSON."""
    if wanted != "text" and value.startswith("["):
        listed = read_lenient(value)
        if isinstance(listed, list):
            return listed
    return [value]


def _wanted(element: Element, name: str) -> str | None:
    if name in ("text", "innerText"):
        return _text(element)
    return element.inner_html if name in ("html", "innerHTML") else element.attr(name)


def _walk(value: object, steps: list[str | int]) -> object | None:
    """Follow a path; a first step that names the type of an object means that object."""
    for number, step in enumerate(steps):
        if step == "*":
            members = value if isinstance(value, list) else [value]
            return [each for member in members if (each := _walk(member, steps[number + 1 :])) is not None]
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        elif isinstance(value, list):
            reached = (_walk(member, steps[number:]) for member in value)
            return next((each for each in reached if each is not None), None)
        elif isinstance(value, dict):
            if step not in value and number == 0 and step in types_of(value):
                continue
            graph = value.get("@graph")
            if step not in value and number == 0 and isinstance(graph, list):
                return _walk(graph, steps)
            value = value.get(str(step))
        else:
            return None
        if value is None:
            return None
    return value


def _text(element: Element) -> str:
    return " ".join(element.text.split())


@lru_cache(maxsize=_PAGES_KEPT)
def _page(html: str, url: str = "") -> FetchedPage:
    body = html.encode("utf-8", "replace")
    return FetchedPage(url, url, 200, "text/html; charset=utf-8", body, "utf-8", None)
