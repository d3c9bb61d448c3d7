"""Pages of applicant systems: takes a tree and its address, returns jobs; by selectors, or from data in scripts.

Data stands in scripts of a JSON type, behind an assignment or as the argument of a call (`window.x = {…}`,
`render([…])`, `JSON.parse("…")`), and in attributes (`data-props="{…}"`). How much is read is bounded.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from turbohtml import Document

from comity.extract.jobs.json_api.items import best_jobs
from comity.extract.jobs.json_api.mapping import find, mapped_jobs, text_of_value
from comity.extract.jobs.page.outline import Outline
from comity.extract.jobs.page.selectors import selected_jobs
from comity.extract.lenient_json import read_lenient
from comity.model.dataclass import dataclass
from comity.model.job import ExtractionMethod, JobFound
from comity.model.parser_hint import (
    ApplicantSystem,
    HintField,
    HintProblem,
    JsonPath,
    MappingHint,
    Selector,
    SelectorHint,
)
from comity.rules.parser_hint import json_path, template

MOST_SCRIPTS: Final = 200
MOST_VALUES: Final = 60
_MOST_CHARACTERS: Final = 4_000_000
_LONGEST: Final = 3_000_000
_LEAST: Final = 60
# A value is worth reading where something in it may be a title.
_TITLED: Final = re.compile(
    r"(?:title|name|position|text|head(?:ing|line)|label|html|poste|puesto|cargo|titre|titel|titulo|role|body|content)"
    r"\w{0,30}\\{0,3}[\"']?\s*:",
    re.IGNORECASE,
)
_BEGIN: Final = re.compile(r"(?:=|\(|,|return)\s*(?=[\[{]\s*[\[{\"'\w])")
_NAME: Final = re.compile(r"([\w$]{1,50})\W{0,5}$")
_LONGEST_NAME: Final = 60
_PARSED: Final = re.compile(r"JSON\.parse\(\s*(?:decodeURIComponent\(\s*)?(?P<mark>[\"'`])")
_FLIGHT: Final = re.compile(r"__next_f\.push\(\s*\[\s*1\s*,\s*(?=\")")
_FLIGHT_ROW: Final = re.compile(r"^[0-9a-f]{1,6}:(?=[\[{])", re.MULTILINE)
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]++|\\.)*+(?:\"|\Z)|'(?:[^'\\\n]++|\\.)*+(?:'|\n|\Z)|[{}\[\]]", re.DOTALL)
# Literals of JavaScript made into JSON: 'text', key:, undefined.
_LITERAL: Final = re.compile(
    r"(?P<double>\"(?:[^\"\\]++|\\.)*+(?:\"|\Z))|'(?P<single>(?:[^'\\]++|\\.)*+)(?:'|\Z)|`(?P<back>[^`]*+)(?:`|\Z)"
    r"|(?P<comment>//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))|(?P<none>\b(?:undefined|NaN)\b(?!\s*:))"
    r"|(?<![\w$])(?P<key>[A-Za-z_$][\w$]{0,60})\s*+:",
    re.DOTALL,
)


def values_in(document: Document, outline: Outline) -> Iterator[tuple[str, object]]:
    """Values of a page's scripts and attributes with their names, in document order, those of a JSON type first."""
    room, given = _MOST_CHARACTERS, 0
    for text, is_json in _sources(document, outline):
        room -= len(text)
        if room < 0 or given >= MOST_VALUES:
            return
        for name, value in [("", read_lenient(text))] if is_json else _assigned(text):
            if isinstance(value, dict | list) and value:
                given += 1
                yield name, value


def _sources(document: Document, outline: Outline) -> Iterator[tuple[str, bool]]:
    """Texts that may hold data, and whether each is nothing but JSON."""
    later: list[str] = []
    for script in document.select("script:not([src])")[:MOST_SCRIPTS]:
        kind = (script.attr("type") or "").lower()
        text = script.text
        if not _LEAST <= len(text) <= _LONGEST or "ld+json" in kind or not _TITLED.search(text):
            continue
        if "json" in kind:
            yield text, True
        elif kind in ("", "text/javascript", "module", "application/javascript"):
            later.append(text)
    for element in outline.elements:
        for said in element.attrs.values() if element.attrs else ():
            if (
                isinstance(said, str)
                and len(said) >= _LEAST
                and said.lstrip()[:1] in ("{", "[")
                and _TITLED.search(said)
            ):
                yield said, True
    for text in later:
        yield text, False


def _assigned(text: str) -> Iterator[tuple[str, object]]:
    """Values in a script: what is parsed from a string, and every literal that is assigned or handed over."""
    for found in islice(_PARSED.finditer(text), MOST_VALUES):
        if (said := _string_at(text, found.start("mark"))) and said.lstrip()[:1] in ("{", "["):
            yield "", read_lenient(html.unescape(said) if said.lstrip()[1:7] == "&quot;" else said)
    flight = "".join(_string_at(text, found.end()) for found in _FLIGHT.finditer(text))
    for row in _FLIGHT_ROW.finditer(flight):
        yield "", read_lenient(balanced(flight, row.end()))
    end = 0
    for found in _BEGIN.finditer(text):
        if found.end() < end:
            continue  # inside the last value
        literal = balanced(text, found.end())
        end = found.end() + len(literal)
        if len(literal) >= _LEAST and _TITLED.search(literal):
            name = _NAME.search(text, max(0, found.start() - _LONGEST_NAME), found.start())
            yield name[1] if name and found[0][0] == "=" else "", read_literal(literal)


def read_literal(text: str) -> object | None:
    """Read a literal of JSON or, failing that, of JavaScript."""
    try:
        value: object = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        value = read_lenient(_LITERAL.sub(_as_json, text))
    return value


def _as_json(found: re.Match[str]) -> str:
    if found["double"]:
        return found[0]
    if found["key"]:
        return f'"{found["key"]}":'
    if found["none"]:
        return "null"
    if found["comment"] is not None:
        return ""
    said = found["single"] if found["single"] is not None else found["back"] or ""
    return json.dumps(said.replace("\\'", "'").replace("\\n", "\n").replace("\\/", "/"), ensure_ascii=False)


def _string_at(text: str, start: int) -> str:
    """What the string literal that begins at a place says."""
    found = _QUOTED.match(text, start)
    if found is None or found[0][0] not in "\"'":
        return ""
    body = found[0][1:-1]
    if found[0][0] == "'":
        body = body.replace("\\'", "'").replace('\\"', '"').replace('"', '\\"')
    try:
        said = json.loads(f'"{body}"', strict=False)
    except ValueError:
        return ""
    return said if isinstance(said, str) else ""


def balanced(text: str, start: int) -> str:
    """The value that begins at a place, to its own closing bracket."""
    depth = 0
    for found in _QUOTED.finditer(text, start):
        sign = found[0]
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
            if depth == 0:
                return text[start : found.end()]
    return text[start:]


_LEAST_SCORE: Final = 4.0
_SURE: Final = 100.0
_MOST_NODES: Final = 200_000
_MOST_TEXTS: Final = 3
_LEAST_MARKUP: Final = 120
_MOST_MARKUP: Final = 200_000
_MARKUP: Final = re.compile(r"<(?:a|li|h[1-6]|tr|article)[\s>]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageSystem:
    """One system's page: how it is recognised, and where its jobs are."""

    system: ApplicantSystem
    sign: str
    hint: SelectorHint


def _hint(item: str, **fields: str) -> SelectorHint:
    return SelectorHint(item, tuple((HintField(name), (_selector(css, name),)) for name, css in fields.items()))


def _selector(css: str, name: str) -> Selector:
    return Selector(css, "href" if name == "url" else None)


PAGES: Final = (
    PageSystem(
        ApplicantSystem.GREENHOUSE,
        "div.opening > a[data-mapped]",
        _hint("div.opening", title="a", url="a", location="span.location"),
    ),
    PageSystem(
        ApplicantSystem.GREENHOUSE,
        "tr.job-post a[href]",
        _hint("tr.job-post", title="p.body--medium", url="a", location="p.body--metadata"),
    ),
    PageSystem(
        ApplicantSystem.GREENHOUSE,
        'section.level-0 div.opening > a[href*="/jobs/"]',
        _hint("section.level-0 div.opening", title="a", url="a", location="span.location"),
    ),
    PageSystem(
        ApplicantSystem.LEVER,
        "div.posting a.posting-title",
        _hint(
            "div.posting",
            title='a.posting-title h5, [data-qa="posting-name"]',
            url="a.posting-title",
            location=".sort-by-location, .location",
            employment=".sort-by-commitment, .commitment",
            workplace=".workplaceTypes",
        ),
    ),
    PageSystem(
        ApplicantSystem.WORKABLE,
        'li[data-ui="job"] a[href*="/j/"]',
        _hint(
            'li[data-ui="job"]',
            title='[data-ui="job-title"], h3',
            url="a",
            location='[data-ui="job-location"]',
            employment='[data-ui="job-type"]',
            workplace='[data-ui="job-workplace"]',
            posted='[data-ui="job-posted"]',
        ),
    ),
    PageSystem(
        ApplicantSystem.BAMBOOHR,
        "li.BambooHR-ATS-Jobs-Item a",
        _hint("li.BambooHR-ATS-Jobs-Item", title="a", url="a", location=".BambooHR-ATS-Location"),
    ),
    PageSystem(
        ApplicantSystem.RECRUITEE,
        '[data-testid="offer-list-grid-desktop-styled"] a[href*="/o/"]',
        _hint(
            '[data-testid="offer-list-grid-desktop-styled"] > div',
            title="a",
            url="a",
            location='[data-testid="styled-location-list-item"]',
        ),
    ),
)


def page_system_jobs(
    document: Document, *, base: str, url: str, wanted: ApplicantSystem | None = None
) -> list[JobFound]:
    """Jobs of the first known page that this one is."""
    for page in PAGES:
        if (wanted is None or page.system is wanted) and document.select_one(page.sign) is not None:
            jobs = selected_jobs(document, page.hint, base=base, url=url, found_by=ExtractionMethod.APPLICANT_SYSTEM)
            if jobs:
                return jobs
    return []


def unread_markup(document: Document) -> str:
    """What a page has that stands for jobs, though none could be read from it; empty if there is no such thing."""
    for page in PAGES:
        if document.select_one(page.sign) is not None:
            return f"the page is built like one of {page.system}, but its items cannot be read"
    scripts = document.select('script[type*="ld+json" i]')[:MOST_SCRIPTS]
    if document.select_one('[itemtype*="JobPosting"]') or any('"JobPosting"' in script.text for script in scripts):
        return "the page has schema.org data about jobs, but without a title"
    return ""


def _ashby_mapping() -> MappingHint:
    rules = {
        HintField.TITLE: ("title",),
        HintField.URL: ("{@origin}/{@board}/{id}",),
        HintField.LOCATION: ("locationName",),
        HintField.EMPLOYMENT: ("employmentType",),
        HintField.WORKPLACE: ("workplaceType",),
        HintField.POSTED: ("publishedDate",),
        HintField.REFERENCE: ("id",),
        HintField.ORG: ("@name",),
    }
    fields = []
    for field, texts in rules.items():
        templates = [template(text) for text in texts]
        fields.append((field, tuple(found for found in templates if not isinstance(found, HintProblem))))
    return MappingHint(_path("jobBoard.jobPostings"), tuple(fields))


def _path(text: str) -> JsonPath:
    path = json_path(text)
    assert not isinstance(path, HintProblem)
    return path


_ASHBY: Final = _ashby_mapping()
_ORGANISATION: Final = _path("organization.name")


def embedded_jobs(
    document: Document, outline: Outline, *, url: str, is_fluent: bool = True
) -> tuple[float, list[JobFound]]:
    """Jobs in the data that a page brings for its own scripts, and their score: Ashby's, Next.js and their like."""
    best: tuple[float, list[JobFound]] = (0.0, [])
    for name, value in values_in(document, outline):
        if find(value, _ASHBY.items):
            parts = url.split("/")
            context = {"origin": "/".join(parts[:3]), "board": parts[3].partition("?")[0] if len(parts) > 3 else ""}
            context["name"] = text_of_value(find(value, _ORGANISATION))
            jobs = mapped_jobs(
                value, _ASHBY, url=outline.base, found_by=ExtractionMethod.APPLICANT_SYSTEM, context=context
            )
            if jobs:
                return _SURE, jobs
        found = best_jobs(
            value,
            url=outline.base,
            found_by=ExtractionMethod.APPLICANT_SYSTEM,
            least=_LEAST_SCORE,
            name=name,
            is_fluent=is_fluent,
        )
        if found[1] and found[0] > best[0]:
            best = found
    return best


def markup_in_data(document: Document, outline: Outline) -> list[str]:
    """Markup in the values of a page's data, the longest first: content systems hand whole texts to their scripts."""
    found: dict[str, None] = {}
    room = _MOST_NODES
    for _, value in values_in(document, outline):
        waiting = [value]
        while waiting and room:
            room -= 1
            node = waiting.pop()
            if isinstance(node, dict):
                waiting.extend(node.values())
            elif isinstance(node, list):
                waiting.extend(node)
            elif isinstance(node, str) and _LEAST_MARKUP <= len(node) <= _MOST_MARKUP and _MARKUP.search(node):
                found[node] = None
    return sorted(found, key=len, reverse=True)[:_MOST_TEXTS]
