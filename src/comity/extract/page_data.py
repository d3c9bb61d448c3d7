"""Structured data of a page: takes its tree, returns JSON-LD, microdata, meta elements and script variables.

Each is read once, on first use, and within the page's budget.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from turbohtml import Document, Element

from comity.extract.lenient_json import read_lenient
from comity.extract.structured_items import read_item, types_of
from comity.model.expression import DataPath, EveryElement, PathRoot, PathStep

MOST_SCRIPTS: Final = 500
MOST_METAS: Final = 2_000
MOST_ITEMS: Final = 5_000
MOST_IDS: Final = 20_000
_CHARACTERS_PER_STEP: Final = 500  # of JSON
_LONGEST_VARIABLE: Final = 3  # names: window.App.config.shop
_ITEM: Final = ("itemprop", "itemscope", "itemtype")
_REFERENCE: Final = frozenset({"@id", "@type"})
_MOST_SITES: Final = 20  # assignments to one variable that are tried
_DEEPEST: Final = 64
_SCRIPT_CHARACTERS_PER_STEP: Final = 200  # of a script that is searched or read by the JSON parser
_MISSING: Final = object()
_BLANK: Final = re.compile(r"(?:\s++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))*+")
_TOKEN: Final = re.compile(
    r"(?P<string>\"(?:[^\"\\\n]++|\\.)*+\"|'(?:[^'\\\n]++|\\.)*+'|`(?:[^`\\$]++|\\.|\$(?!\{))*+`)"
    r"|(?P<number>[+-]?(?:0[xX][0-9a-fA-F]{1,16}|\d++(?:\.\d*+)?(?:[eE][+-]?\d{1,3})?|\.\d++)(?![\w$]))"
    r"|(?P<word>![01](?![\w$])|[^\W\d][\w$]*+|\$[\w$]*+)"
    r"|(?P<mark>.)",
    re.DOTALL,
)
_WORDS: Final = {"true": True, "false": False, "!0": True, "!1": False, "null": None, "undefined": None, "NaN": None}
_PARSED: Final = re.compile(r"JSON\s{0,4}\.\s{0,4}parse\s{0,4}\(\s{0,20}")
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_decoder: Final = json.JSONDecoder(strict=False)
STEPS_ON_THE_LOOP: Final = 20_000
"""Some tens of milliseconds; a page that needs more is evaluated in a child process."""
STEPS_IN_A_CHILD: Final = 2_000_000


class PageData:
    """The data of one page."""

    def __init__(self, document: Document, budget: StepBudget) -> None:
        self._document = document
        self._budget = budget

    def find(self, path: DataPath) -> object | None:
        """The value at a path, or None."""
        root, steps = path.root, path.steps
        if root is PathRoot.JSONLD:
            return self._find_node(self.jsonld, self._jsonld_types, steps)
        if root is PathRoot.MICRODATA:
            return self._find_node(self.microdata, self._microdata_types, steps)
        if root is PathRoot.JAVASCRIPT:
            return self._find_variable(steps)
        return self._find_meta(steps, is_opengraph=root is PathRoot.OPENGRAPH)

    @cached_property
    def jsonld(self) -> list[object]:
        """The objects of the page's JSON-LD; those of a `@graph` or a list each count."""
        found: list[object] = []
        for script in self._document.select('script[type*="ld+json" i]')[:MOST_SCRIPTS]:
            text = script.text
            self._budget.spend(1 + len(text) // _CHARACTERS_PER_STEP)
            value = read_lenient(text)
            members = value if isinstance(value, list) else [value]
            for member in members:
                graph = member.get("@graph") if isinstance(member, dict) else None
                found += graph if isinstance(graph, list) else [member]
                self._budget.spend()
        return [node for node in found if isinstance(node, dict)]

    @cached_property
    def microdata(self) -> list[object]:
        """The outermost items of the page's microdata, in the shape of JSON-LD."""
        return list(self.read_microdata())

    def read_microdata(self) -> Iterator[object]:
        """The same, item by item, as far as the budget goes."""
        for element in self._document.select("[itemscope]:not([itemprop])")[:MOST_ITEMS]:
            room = [self._budget.left]
            before = room[0]
            item = read_item(element, _ITEM, room, self._by_id)
            self._budget.spend(1 + before - room[0])
            yield item

    def _by_id(self, name: str) -> Element | None:
        return self._ids.get(name)

    @cached_property
    def _ids(self) -> dict[str, Element]:
        """Elements by id, of pages that refer to them; of equal ids the first counts."""
        found: dict[str, Element] = {}
        for element in self._document.select("[id]")[:MOST_IDS]:
            self._budget.spend()
            found.setdefault(element.attr("id") or "", element)
        return found

    @cached_property
    def metas(self) -> dict[str, list[str]]:
        """Contents of meta elements by name, property or http-equiv, in lower case."""
        found: dict[str, list[str]] = {}
        for element in islice(self._document.iter_elements(("meta",)), MOST_METAS):
            self._budget.spend()
            content = element.attr("content")
            if content is None:
                if (charset := element.attr("charset")) is not None:
                    found.setdefault("charset", []).append(charset)
                continue
            for attribute in ("property", "name", "http-equiv", "itemprop"):
                for name in (element.attr(attribute) or "").lower().split()[:4]:
                    found.setdefault(name, []).append(content)
        return found

    @cached_property
    def opengraph(self) -> dict[str, str]:
        """The page's Open Graph properties without their prefix, each with its first value."""
        return {name[3:]: said[0] for name, said in self.metas.items() if name.startswith("og:")}

    @cached_property
    def _scripts(self) -> list[str]:
        found = []
        for script in islice(self._document.iter_elements(("script",)), MOST_SCRIPTS):
            kind = (script.attr("type") or "").lower()
            if not kind or "javascript" in kind or "ecmascript" in kind or kind == "module":
                found.append(script.text)
        return found

    @cached_property
    def _jsonld_types(self) -> _Nodes:
        return _Nodes(self.jsonld, self._budget)

    @cached_property
    def _microdata_types(self) -> _Nodes:
        return _Nodes(self.microdata, self._budget)

    def _find_node(self, top: list[object], nodes: _Nodes, steps: tuple[PathStep, ...]) -> object | None:
        """By the type that the first step names; where no node has it, the step is a name of the outermost nodes."""
        if not steps:
            return top or None
        first, rest = steps[0], steps[1:]
        if isinstance(first, str) and not isinstance(first, EveryElement):
            typed = nodes.of_type(first)
            if rest and isinstance(rest[0], int) and len(typed) > rest[0]:
                found = self._walk(typed[rest[0]], rest[1:], nodes)
                if found is not None:
                    return found
            for node in typed:
                found = self._walk(node, rest, nodes)
                if found is not None:
                    return found
        return self._walk(top, steps, nodes)

    def _find_variable(self, steps: tuple[PathStep, ...]) -> object | None:
        names: list[str] = []
        for step in steps[:_LONGEST_VARIABLE]:
            if not isinstance(step, str) or isinstance(step, EveryElement):
                break
            names.append(step)
        for length in range(len(names), 0, -1):  # App.config before App
            for value in self._values_of(".".join(names[:length])):
                found = self._walk(value, steps[length:], None)
                if found is not None:
                    return found
        return None

    def _values_of(self, variable: str) -> Iterator[object]:
        yield from assigned_values(self._scripts, variable, self._budget)
        for script in self._document.select('script[type*="json" i][id]')[:MOST_SCRIPTS]:
            if script.attr("id") == variable:  # data for the page's own scripts, such as __NEXT_DATA__
                text = script.text
                self._budget.spend(1 + len(text) // _CHARACTERS_PER_STEP)
                value = read_lenient(text)
                if value is not None:
                    yield value

    def _find_meta(self, steps: tuple[PathStep, ...], *, is_opengraph: bool) -> object | None:
        names = [step.lower() for step in steps if isinstance(step, str) and not isinstance(step, EveryElement)]
        if not names:
            every = self.opengraph if is_opengraph else {name: said[0] for name, said in self.metas.items()}
            return every or None
        spelled = (":".join(names), ".".join(names))
        candidates = (f"og:{spelled[0]}", spelled[0]) if is_opengraph else spelled
        said = next((self.metas[name] for name in candidates if name in self.metas), None)
        if said is None:
            if names == ["title"] and not is_opengraph:
                title = self._document.select_one("title")
                return title.text if title is not None else None
            return None
        last = steps[-1]
        if isinstance(last, EveryElement):
            return said
        place = last if isinstance(last, int) else 0
        return said[place] if place < len(said) else None

    def _walk(self, value: object, steps: Sequence[PathStep], nodes: _Nodes | None) -> object | None:
        """Follow steps; a name selects the first element of a list that has it; `[0]` of another value is the value."""
        self._budget.spend()
        if not steps or value is None:
            return value if value != "" else None
        step, rest = steps[0], steps[1:]
        if isinstance(step, int):
            if isinstance(value, list):
                return self._walk(value[step], rest, nodes) if step < len(value) else None
            return self._walk(value, rest, nodes) if step == 0 else None
        if isinstance(step, EveryElement):
            members = value if isinstance(value, list) else [value]
            found = (self._walk(member, rest, nodes) for member in members)
            return [each for each in found if each is not None] or None
        if isinstance(value, list):
            members_found = (self._walk(member, steps, nodes) for member in value)
            return next((each for each in members_found if each is not None), None)
        if not isinstance(value, dict):
            return None
        if nodes is not None and step not in value and "@id" in value and value.keys() <= _REFERENCE:
            value = nodes.by_id.get(str(value["@id"]), value)
        return self._walk(value.get(step), rest, nodes)


class _Nodes:
    """The nodes within some data, by type and by `@id`; the outermost first."""

    def __init__(self, top: list[object], budget: StepBudget) -> None:
        self._types: dict[str, list[dict[str, object]]] = {}
        self.by_id: dict[str, dict[str, object]] = {}
        waiting = deque(top)
        while waiting:
            budget.spend()
            node = waiting.popleft()
            if isinstance(node, dict):
                for kind in types_of(node):
                    self._types.setdefault(kind, []).append(node)
                if isinstance(node.get("@id"), str) and not node.keys() <= _REFERENCE:
                    self.by_id.setdefault(node["@id"], node)
                waiting.extend(inner for inner in node.values() if isinstance(inner, dict | list))
            elif isinstance(node, list):
                waiting.extend(inner for inner in node if isinstance(inner, dict | list))

    def of_type(self, name: str) -> list[dict[str, object]]:
        """The nodes of a type; where the case differs, those."""
        if name in self._types:
            return self._types[name]
        folded = name.casefold()
        return next((nodes for kind, nodes in self._types.items() if kind.casefold() == folded), [])


def assigned_values(scripts: Sequence[str], variable: str, budget: StepBudget) -> Iterator[object]:
    """What is assigned to a variable, or to a property such as `App.config`, in the order of the page.

    Takes the texts of scripts and a name. Nothing is executed.
    """
    name = r"\s{0,4}\.\s{0,4}".join(re.escape(part) for part in variable.split("."))
    spelled = (
        rf"(?:(?:window|self|globalThis)\s{{0,4}}(?:\.\s{{0,4}}{name}|\[\s{{0,4}}[\"']{name}[\"']\s{{0,4}}\])|{name})"
    )
    site = re.compile(rf"(?<![\w$.]){spelled}\s{{0,20}}=(?![=>])")
    sites = 0
    for script in scripts:
        budget.spend(1 + len(script) // _SCRIPT_CHARACTERS_PER_STEP)
        for found in site.finditer(script):
            sites += 1
            if sites > _MOST_SITES:
                return
            value = _Literal(script, found.end(), budget).read()
            if value is not _MISSING and value is not None:
                yield value


class _Literal:
    """Reads one value from a script.

    A literal is JSON, or an object as JavaScript writes it (bare keys, single quotes, trailing commas, comments, `!0`).
    What is no literal within it, such as a call, is null. Time is linear in what is read, and counted.
    """

    def __init__(self, text: str, at: int, budget: StepBudget) -> None:
        self._text = text
        self._at = at
        self._budget = budget

    def read(self) -> object:
        self._skip()
        parsed = _PARSED.match(self._text, self._at)
        if parsed is not None:
            self._at = parsed.end()
            inner = self._value(0)
            return _loads(inner) if isinstance(inner, str) else _MISSING
        if self._text[self._at : self._at + 1] in ("{", "["):
            try:
                value, end = _decoder.raw_decode(self._text, self._at)
            except (ValueError, RecursionError):
                self._budget.spend(1 + (len(self._text) - self._at) // _SCRIPT_CHARACTERS_PER_STEP)
            else:
                self._budget.spend(1 + (end - self._at) // _SCRIPT_CHARACTERS_PER_STEP)
                return value
        return self._value(0)

    def _value(self, depth: int) -> object:
        """A value; `_MISSING` where there is no literal, or it is nested too deep."""
        self._budget.spend()
        token = _TOKEN.match(self._text, self._at)
        if token is None or depth > _DEEPEST:
            return _MISSING
        kind, said = token.lastgroup, token[0]
        if kind == "mark":
            if said == "{":
                self._skip(token.end())
                return self._object(depth)
            if said == "[":
                self._skip(token.end())
                return self._list(depth)
            return _MISSING
        if kind == "word" and said not in _WORDS:
            return _MISSING
        self._skip(token.end())
        if kind == "string":
            return _unescaped(said[1:-1])
        return _number(said) if kind == "number" else _WORDS[said]

    def _object(self, depth: int) -> object:
        found: dict[str, object] = {}
        while not self._take("}"):
            token = _TOKEN.match(self._text, self._at)
            if token is None:
                return _MISSING
            key = _unescaped(token[0][1:-1]) if token.lastgroup == "string" else token[0]
            if token.lastgroup != "mark":
                self._skip(token.end())
            if token.lastgroup == "mark" or not self._take(":"):
                if not self._pass_over():  # a method, a spread or a shorthand
                    return _MISSING
            else:
                value = self._element(depth)
                if value is _MISSING:
                    return _MISSING
                found[key] = value
            if not self._take(",") and self._text[self._at : self._at + 1] != "}":
                return _MISSING
        return found

    def _list(self, depth: int) -> object:
        found: list[object] = []
        while not self._take("]"):
            value = self._element(depth)
            if value is _MISSING:
                return _MISSING
            found.append(value)
            if not self._take(",") and self._text[self._at : self._at + 1] != "]":
                return _MISSING
        return found

    def _element(self, depth: int) -> object:
        """A value within another one: null where it is no literal; `_MISSING` at the end of the text."""
        start = self._at
        value = self._value(depth + 1)
        if value is not _MISSING and self._text[self._at : self._at + 1] in (",", "]", "}"):
            return value
        self._at = start
        return None if self._pass_over() else _MISSING

    def _pass_over(self) -> bool:
        """Go to the comma or bracket that ends what stands here; False if there is none."""
        depth = 0
        while (token := _TOKEN.match(self._text, self._at)) is not None:
            self._budget.spend()
            mark = token[0] if token.lastgroup == "mark" else ""
            if not depth and mark and mark in ",]}":
                return True
            if mark and mark in "([{":
                depth += 1
            elif mark and mark in ")]}":
                depth -= 1
                if depth < 0:
                    return False
            self._skip(token.end())
        return False

    def _take(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._at):
            return False
        self._skip(self._at + 1)
        return True

    def _skip(self, end: int | None = None) -> None:
        found = _BLANK.match(self._text, self._at if end is None else end)
        assert found is not None
        self._at = found.end()


def _unescaped(said: str) -> str:
    return _ESCAPE.sub(_character, said) if "\\" in said else said


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is None:
        return _ESCAPES.get(found[4], found[4])
    number = int(code, 16)
    return chr(number) if number < 0x110000 else ""


def _number(said: str) -> object:
    try:
        if "x" in said or "X" in said:
            return int(said, 16)
        return float(said) if any(mark in said for mark in ".eE") else int(said)
    except (ValueError, OverflowError):
        return None


def _loads(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _MISSING


class OverBudget(Exception):
    """A page takes more steps than it may."""


class StepBudget:
    """Steps that are left.

    How much work one page may take. A step is a few microseconds at most.
    """

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Take some; `OverBudget` if there are fewer."""
        self.left -= steps
        if self.left < 0:
            raise OverBudget
