"""What is replaced in the text of a statement before DuckDB reads it: `read_html`, our own settings, first items.

Only what is certainly one of these is touched; strings, comments and names stay as they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from comity.rules.sql.tokens import Token, TokenKind, may_name, name_value, string_value, tokens

_LOOKED_AT: Final = 3
_ITEMS: Final = ("html", ".", "schema", "[")
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


class Call(NamedTuple):
    """A call: from where to where it is written, and its arguments as text."""

    start: int
    end: int
    arguments: str


def loads_crawler(text: str) -> bool:
    """Whether a statement installs or loads the crawler extension, whose functions every connection has already."""
    return extension_named(text) == "crawler"


def extension_named(text: str, *, is_installed: bool = False) -> str | None:
    """The extension that a statement installs or loads, in lower case; `is_installed`: only one that it installs."""
    pieces = list(islice(tokens(text), _LOOKED_AT))
    if pieces and pieces[0].is_word("FORCE"):
        pieces = pieces[1:]
    words = ("INSTALL",) if is_installed else ("INSTALL", "LOAD")
    if len(pieces) < 2 or not pieces[0].is_word(*words):
        return None
    named = pieces[1]
    name = string_value(named) if named.kind is TokenKind.STRING else name_value(named)
    return name.lower().rpartition("/")[2].removesuffix(".duckdb_extension")


def calls_of(text: str, name: str) -> list[Call]:
    """The calls of a function, in order."""
    if not may_name(text, name):
        return []
    pieces = list(tokens(text))
    found = []
    for number, piece in enumerate(pieces[:-1]):
        if piece.is_word(name) and pieces[number + 1].is_symbol("("):
            end = _closing(pieces, number + 1)
            if end is not None:
                found.append(Call(piece.start, end.end, text[pieces[number + 1].end : end.start]))
    return found


def replaced(text: str, name: str, replacement: Callable[[str], str | None], *, keeps_name: bool = False) -> str:
    """The text with the calls of a function replaced, where there is something to replace them with.

    `keeps_name` means that a call after SELECT still gives its column the name of the call.
    """
    calls = calls_of(text, name)
    pieces = list(tokens(text)) if keeps_name and calls else []
    for call in reversed(calls):
        by = replacement(call.arguments)
        if by is not None:
            own = text[call.start : call.end].replace('"', '""')
            alias = f' AS "{own}"' if _is_column(pieces, call) else ""
            text = text[: call.start] + by + alias + text[call.end :]
    return text


def _is_column(pieces: Sequence[Token], call: Call) -> bool:
    """Whether a call is all of the first column of a query, without a name."""
    before = next((piece for piece in reversed(pieces) if piece.end <= call.start), None)
    after = next((piece for piece in pieces if piece.start >= call.end), None)
    is_alone = after is None or after.text in (",", ";", ")") or after.is_word("FROM")
    return before is not None and before.is_word("SELECT") and is_alone


def arguments_of(arguments: str) -> tuple[list[str], dict[str, str]]:
    """The arguments of a call as text: those by position, and those by name (`name := value`, `=` or `=>`)."""
    pieces = list(tokens(arguments))
    parts: list[list[Token]] = [[]]
    depth = 0
    for piece in pieces:
        if piece.kind is TokenKind.SYMBOL and piece.text in _CLOSING:
            depth += 1
        elif piece.kind is TokenKind.SYMBOL and piece.text in _CLOSING.values():
            depth -= 1
        if piece.is_symbol(",") and depth == 0:
            parts.append([])
        else:
            parts[-1].append(piece)
    by_position: list[str] = []
    by_name: dict[str, str] = {}
    for part in filter(None, parts):
        value = _named_value(part)
        if value is None:
            by_position.append(arguments[part[0].start : part[-1].end])
        else:
            by_name[part[0].text.lower()] = arguments[value.start : part[-1].end]
    return by_position, by_name


def _named_value(part: Sequence[Token]) -> Token | None:
    """The first token of the value of an argument that has a name."""
    if len(part) < 3 or part[0].kind is not TokenKind.WORD:
        return None
    if part[1].is_symbol(":="):
        return part[2]
    if not part[1].is_symbol("="):
        return None
    has_arrow = part[2].is_symbol(">") and part[2].start == part[1].end
    return part[3] if has_arrow and len(part) > 3 else None if part[2].is_symbol("=") else part[2]


def tables_named(text: str, schema: str, names: Collection[str]) -> list[str]:
    """Which of some tables a statement names, as `schema.name`."""
    if not may_name(text, schema.upper()):
        return []
    pieces = list(tokens(text))
    found = (
        name_value(last).lower()
        for first, dot, last in zip(pieces, pieces[1:], pieces[2:], strict=False)
        if name_value(first).lower() == schema and dot.is_symbol(".") and last.kind is not TokenKind.STRING
    )
    return [name for name in dict.fromkeys(found) if name in names]


def with_settings(text: str, settings: Mapping[str, Any]) -> str:
    """`current_setting('…')` of settings that DuckDB does not know, as their values."""

    def value(arguments: str) -> str | None:
        pieces = list(tokens(arguments))
        if len(pieces) != 1 or pieces[0].kind is not TokenKind.STRING or not pieces[0].is_closed:
            return None
        name = string_value(pieces[0]).lower()
        if name not in settings:
            return None
        said = settings[name]
        if said is None or isinstance(said, int | float):  # True and False are integers
            return "NULL" if said is None else str(said)
        return "'" + str(said).replace("'", "''") + "'"

    return replaced(text, "CURRENT_SETTING", value, keeps_name=True)


def with_first_items(text: str) -> str:
    """`html.schema['…']->0` and the like, also `[0]` and a path that begins with `$[0]`, as the first item of the type.

    The map has that item itself, not a list as in some scripts of the extension; a user's own list stays one.
    """
    pieces = list(tokens(text)) if may_name(text, "SCHEMA") else []
    for at in reversed(range(len(pieces) - len(_ITEMS) - 2)):
        named = [name_value(piece).lower() for piece in pieces[at : at + len(_ITEMS)]]
        end = at + len(_ITEMS) + 1
        if tuple(named) != _ITEMS or not pieces[end].is_symbol("]") or not _begins_with_first(pieces[end + 1 :]):
            continue
        first = at
        while first > 1 and pieces[first - 1].is_symbol("."):
            first -= 2
        item = text[pieces[first].start : pieces[end].end]
        listed = f"(CASE json_type({item}) WHEN 'OBJECT' THEN json_array({item}) ELSE {item} END)"
        text = text[: pieces[first].start] + listed + text[pieces[end].end :]
    return text


def _begins_with_first(pieces: Sequence[Token]) -> bool:
    """Whether what follows a value takes the first item of a list: `->0`, `[0]`, `->>'$[0].sku'`, `, '$[0].sku')`."""
    if len(pieces) > 2 and pieces[0].is_symbol("["):
        return pieces[1].text == "0" and pieces[2].is_symbol("]")
    signs = 1 if pieces and pieces[0].is_symbol(",") else 0
    if pieces and pieces[0].is_symbol("-"):
        while len(pieces) > signs + 1 and pieces[signs + 1].is_symbol(">"):
            signs += 1
        signs += 1 if signs else 0
    taken = pieces[signs] if signs and len(pieces) > signs else None
    if taken is None or not taken.is_closed:
        return False
    if taken.kind is TokenKind.STRING:
        return string_value(taken).startswith("$[0]")
    return taken.text == "0" and not pieces[0].is_symbol(",")


def _closing(pieces: list[Token], opening: int) -> Token | None:
    wanted: list[str] = []
    for piece in pieces[opening:]:
        if piece.kind is not TokenKind.SYMBOL:
            continue
        if piece.text in _CLOSING:
            wanted.append(_CLOSING[piece.text])
        elif piece.text in _CLOSING.values():
            if piece.text != wanted.pop():
                return None
            if not wanted:
                return piece
    return None
