"""What scripts for older versions of DuckDB and of its crawler extension say otherwise, as this version reads it.

Only statements that DuckDB has refused are changed, and only where its refusal names the form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from comity.rules.sql.tokens import Token, TokenKind, name_value, tokens

_MISSING_OF_VALUES: Final = re.compile(r'Referenced column "column\d+" not found')
_NO_BODY: Final = 'Could not find key "body" in struct'
_TESTED_KEY: Final = re.compile(r"'(?:json_extract\w*\([^()]*, BOOLEAN|->>\(INTEGER_LITERAL, STRING_LITERAL)\)'")
_OF_VALUES: Final = re.compile(r"column(\d+)", re.IGNORECASE)
_OPENING: Final = {")": "(", "]": "["}


def in_present_form(text: str, refusal: str) -> str | None:
    """The statement as DuckDB reads it now; None if the refusal has another cause."""
    changed = text
    if _MISSING_OF_VALUES.search(refusal) is not None:
        changed = _with_present_names(text)
    elif _NO_BODY in refusal:
        changed = _with_document(text)
    elif _TESTED_KEY.search(refusal) is not None:
        changed = _with_arrows_first(text)
    return changed if changed != text else None


def _with_present_names(text: str) -> str:
    """The columns of VALUES were `column0`, …; now they are `col0`, …"""
    for piece in reversed(list(tokens(text))):
        found = _OF_VALUES.fullmatch(piece.text) if piece.kind is TokenKind.WORD else None
        if found is not None:
            text = f"{text[: piece.start]}col{found[1]}{text[piece.end :]}"
    return text


def _with_document(text: str) -> str:
    """The text of a page was `html.body`; now it is `html.document`."""
    pieces = list(tokens(text))
    for at in reversed(range(2, len(pieces))):
        first, dot, last = pieces[at - 2 : at + 1]
        if dot.is_symbol(".") and (name_value(first).lower(), name_value(last).lower()) == ("html", "body"):
            text = f"{text[: last.start]}document{text[last.end :]}"
    return text


def _with_arrows_first(text: str) -> str:
    """`a->'key' IS NULL` was read as `(a->'key') IS NULL`, and is read as `a->('key' IS NULL)` now."""
    pieces = list(tokens(text))
    marks: list[tuple[int, str]] = []
    for at, (key, following) in enumerate(pairwise(pieces)):
        if not _is_key(key) or not following.is_word("IS", "ISNULL", "NOTNULL"):
            continue
        start = _begin(pieces, at)
        if start is not None and start != at:
            marks += [(pieces[start].start, "("), (key.end, ")")]
    for place, mark in sorted(marks, reverse=True):
        text = f"{text[:place]}{mark}{text[place:]}"
    return text


def _is_key(piece: Token) -> bool:
    return piece.kind in (TokenKind.STRING, TokenKind.NUMBER)


def _begin(pieces: Sequence[Token], at: int) -> int | None:
    """Where the operand begins of which this token is the end: names, calls, brackets, casts and arrows."""
    for first in _backwards(pieces, at):
        before = pieces[first - 1] if first else None
        if before is None or not (before.is_symbol(".") or before.is_symbol(":") or _is_arrow(pieces, first)):
            return first
    return None


def _backwards(pieces: Sequence[Token], at: int) -> Iterator[int]:
    """The first token of each part of an operand, from the last part on."""
    while at >= 0:
        piece = pieces[at]
        while piece.kind is TokenKind.SYMBOL:
            opening = _opening(pieces, at)
            if opening is None:
                return
            at = opening
            before = pieces[at - 1] if at else None
            is_part = (
                before is not None
                and before.end == pieces[at].start
                and (before.kind is not TokenKind.SYMBOL or (piece.text == "]" and before.text in _OPENING))
            )
            if not is_part:
                break
            at -= 1
            piece = pieces[at]
        yield at
        at -= 1
        while at >= 0 and pieces[at].text in (".", ":", ">", "-"):
            at -= 1


def _opening(pieces: Sequence[Token], at: int) -> int | None:
    """Where the bracket opens that this token closes."""
    if pieces[at].text not in _OPENING:
        return None
    depth = 0
    for place in range(at, -1, -1):
        if pieces[place].kind is TokenKind.SYMBOL:
            depth += (pieces[place].text in ")]}") - (pieces[place].text in "([{")
        if not depth:
            return place
    return None


def _is_arrow(pieces: Sequence[Token], at: int) -> bool:
    """Whether `->` or `->>` stands before a token."""
    signs = "".join(piece.text for piece in pieces[max(0, at - 3) : at])
    return signs.endswith(("->", "->>"))
