"""Data that a page brings for its own scripts, under any name: a tree enters, JSON values leave.

Values stand in scripts of a JSON type, behind an assignment or as the argument of a call (`window.x = {…}`,
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

from comity.extract.jobs.lenient_json import read_lenient
from comity.extract.jobs.outline import Outline

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
