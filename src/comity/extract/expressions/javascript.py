"""Data that a page's scripts assign to a variable: takes script texts and a name, returns values. Nothing is executed.

A value is read as a literal: JSON, or an object as JavaScript writes it (bare keys, single quotes, trailing commas,
comments, `!0`). What is no literal within it, such as a call, is null. Time is linear in what is read, and counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from comity.extract.expressions.budget import Budget

MOST_SITES: Final = 20  # assignments to one variable that are tried
DEEPEST: Final = 64
_CHARACTERS_PER_STEP: Final = 200  # of a script that is searched or read by the JSON parser
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


def assigned_values(scripts: Sequence[str], variable: str, budget: Budget) -> Iterator[object]:
    """What is assigned to a variable, or to a property such as `App.config`, in the order of the page."""
    name = r"\s{0,4}\.\s{0,4}".join(re.escape(part) for part in variable.split("."))
    spelled = (
        rf"(?:(?:window|self|globalThis)\s{{0,4}}(?:\.\s{{0,4}}{name}|\[\s{{0,4}}[\"']{name}[\"']\s{{0,4}}\])|{name})"
    )
    site = re.compile(rf"(?<![\w$.]){spelled}\s{{0,20}}=(?![=>])")
    sites = 0
    for script in scripts:
        budget.spend(1 + len(script) // _CHARACTERS_PER_STEP)
        for found in site.finditer(script):
            sites += 1
            if sites > MOST_SITES:
                return
            value = _Literal(script, found.end(), budget).read()
            if value is not _MISSING and value is not None:
                yield value


class _Literal:
    """Reads one value from a script."""

    def __init__(self, text: str, at: int, budget: Budget) -> None:
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
                self._budget.spend(1 + (len(self._text) - self._at) // _CHARACTERS_PER_STEP)
            else:
                self._budget.spend(1 + (end - self._at) // _CHARACTERS_PER_STEP)
                return value
        return self._value(0)

    def _value(self, depth: int) -> object:
        """A value; `_MISSING` where there is no literal, or it is nested too deep."""
        self._budget.spend()
        token = _TOKEN.match(self._text, self._at)
        if token is None or depth > DEEPEST:
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
