"""The text of statements that change a table: columns that it does not store become what they are made from.

A view with more columns takes no changes, so that the statement itself has to name the columns that are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from comity.rules.sql.tokens import Token, TokenKind, name_value, tokens

_OPENING: Final = ("(", "[", "{")
_CLOSING: Final = (")", "]", "}")


def changed_table(text: str) -> str | None:
    """The name, without its schema and in lower case, of the table that INSERT, UPDATE, DELETE or MERGE changes."""
    pieces = list(tokens(text))
    depth = 0
    for number, piece in enumerate(pieces):
        depth += (piece.text in _OPENING) - (piece.text in _CLOSING) if piece.kind is TokenKind.SYMBOL else 0
        if depth == 0 and piece.is_word("UPDATE"):
            return _name_at(pieces, number + 1)
        if depth == 0 and piece.is_word("INSERT", "DELETE", "MERGE"):
            before = (at for at in range(number, len(pieces)) if pieces[at].is_word("INTO", "FROM"))
            return _name_at(pieces, next(before, len(pieces)) + 1)
    return None


def with_column_made(text: str, name: str, made: str, table: str | None, *, is_target: bool = False) -> str:
    """The text with a column written as what it is made from: where `table` qualifies it, or where nothing does.

    In `made`, `{0}` stands for the qualifier, with its dot. `is_target` means that the column is written to, perhaps
    by its name alone: then it is also replaced after AS.
    """
    pieces = list(tokens(text))
    for number in reversed(range(len(pieces))):
        piece = pieces[number]
        if piece.kind is TokenKind.STRING or name_value(piece).lower() != name:
            continue
        is_qualified = number > 1 and pieces[number - 1].is_symbol(".")
        start = pieces[number - 2].start if is_qualified else piece.start
        qualifier = name_value(pieces[number - 2]).lower() if is_qualified else None
        is_alias = number > 0 and pieces[number - 1].is_word("AS")
        if qualifier == table and (is_target or not is_alias):
            text = text[:start] + made.format(text[start : piece.start]) + text[piece.end :]
    return text


def _name_at(pieces: Sequence[Token], at: int) -> str | None:
    """The last part of a name that may be qualified."""
    while at + 2 < len(pieces) and pieces[at + 1].is_symbol("."):
        at += 2
    return name_value(pieces[at]).lower() if at < len(pieces) else None
