"""Tokens of SQL, as DuckDB reads them: strings, quoted names, dollar quotes, comments, numbers, words and symbols.

Time is linear in the text. What is not closed reaches to the end of the text: whether that is an error is for the
reader of the tokens to say, because a statement that is not ours goes to DuckDB as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from comity.model.statement import TextPosition


class TokenKind(StrEnum):
    """What a piece of text is; white space and comments are not tokens."""

    WORD = "word"
    QUOTED_NAME = "quoted name"
    STRING = "string"
    NUMBER = "number"
    PARAMETER = "parameter"
    SYMBOL = "symbol"


class Token(NamedTuple):
    """A piece of text; `is_closed` is False for a string, name or comment that never ends."""

    kind: TokenKind
    text: str
    start: int
    is_closed: bool = True

    @property
    def end(self) -> int:
        """Where the next piece begins."""
        return self.start + len(self.text)

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words (upper case), in any case."""
        return self.kind is TokenKind.WORD and self.text.upper() in words

    def is_symbol(self, symbol: str) -> bool:
        """Whether it is this symbol."""
        return self.kind is TokenKind.SYMBOL and self.text == symbol


# DuckDB reads these as spaces, too: some of no width, and the mark with which files begin.
_INVISIBLE: Final = "\u200b-\u200d\u2060\ufeff"
_BLANK: Final = re.compile(rf"(?:[\s{_INVISIBLE}]++|--[^\r\n]*+)++")
_COMMENT_MARK: Final = re.compile(r"/\*|\*/")
_STRING: Final = re.compile(r"'(?:[^']|'')*+('?)")
_ESCAPED_STRING: Final = re.compile(r"[eE]'(?:[^'\\]|\\.|'')*+('?)", re.DOTALL)
_QUOTED_NAME: Final = re.compile(r'"(?:[^"]|"")*+("?)')
# Names and tags have every character beyond ASCII that is not a space.
_FOREIGN: Final = rf"(?![\s{_INVISIBLE}])[^\x00-\x7f]"
_NAME: Final = rf"(?:[A-Za-z_]|{_FOREIGN})(?:[A-Za-z0-9_]|{_FOREIGN})*+"
_DOLLAR_QUOTE: Final = re.compile(rf"\$(?:{_NAME})?\$")
_BACKTICKS: Final = re.compile(r"`(?:[^`]|``)*+`")  # names, in newer versions of DuckDB
_PARAMETER: Final = re.compile(rf"\?[0-9]*+|\$(?:[0-9]++|{_NAME})")
_NUMBER: Final = re.compile(r"(?:[0-9][0-9_]*+(?:\.[0-9_]*+)?|\.[0-9][0-9_]*+)(?:[eE][+-]?[0-9]++)?")
_WORD: Final = re.compile(rf"(?:[A-Za-z_]|{_FOREIGN})(?:[A-Za-z0-9_$]|{_FOREIGN})*+")


def tokens(text: str) -> Iterator[Token]:
    """The pieces of a text, in order."""
    at, size = 0, len(text)
    while at < size:
        blank = _BLANK.match(text, at)
        if blank is not None:
            at = blank.end()
            continue
        if text.startswith("/*", at):
            end = _after_comment(text, at)
            if end is None:
                yield Token(TokenKind.SYMBOL, text[at:], at, is_closed=False)
                return
            at = end
            continue
        token = _token(text, at)
        yield token
        at = token.end


def may_name(text: str, *words: str) -> bool:
    """Whether a text has one of these words (upper case) anywhere: without it, no token is that word or that name.

    A long statement is read once for each question; most questions need no reading.
    """
    upper = text.upper()
    return any(word in upper for word in words)


def position(text: str, at: int) -> TextPosition:
    """The line and the column of a place."""
    return TextPosition(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _after_comment(text: str, at: int) -> int | None:
    """Where a comment ends, if it does; one may contain another, as in PostgreSQL."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, at):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return mark.end()
    return None


def _token(text: str, at: int) -> Token:
    first = text[at]
    if first in "'eE":
        found = (_STRING if first == "'" else _ESCAPED_STRING).match(text, at)
        if found is not None:
            return Token(TokenKind.STRING, found[0], at, bool(found[1]))
    if first == '"':
        found = _QUOTED_NAME.match(text, at)
        assert found is not None
        return Token(TokenKind.QUOTED_NAME, found[0], at, bool(found[1]))
    if first == "$":
        opening = _DOLLAR_QUOTE.match(text, at)
        if opening is not None:
            closing = text.find(opening[0], opening.end())
            end = closing + len(opening[0]) if closing >= 0 else len(text)
            return Token(TokenKind.STRING, text[at:end], at, closing >= 0)
    for kind, pattern in _SIMPLE:
        found = pattern.match(text, at)
        if found is not None:
            return Token(kind, found[0], at)
    return Token(TokenKind.SYMBOL, ":=" if text.startswith(":=", at) else first, at)


_SIMPLE: Final = (
    (TokenKind.WORD, _WORD),
    (TokenKind.NUMBER, _NUMBER),
    (TokenKind.PARAMETER, _PARAMETER),
    (TokenKind.QUOTED_NAME, _BACKTICKS),
)

_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def string_value(token: Token) -> str:
    """The value of a string literal."""
    text = token.text
    if text[0] == "$":
        mark = text.index("$", 1) + 1
        return text[mark:-mark]
    if text[0] in "eE":
        return _ESCAPE.sub(_unescaped, text[2:-1].replace("''", "'"))
    return text[1:-1].replace("''", "'")


def name_value(token: Token) -> str:
    """The name in a word or a quoted name."""
    if token.kind is not TokenKind.QUOTED_NAME:
        return token.text
    mark = token.text[0]
    return token.text[1:-1].replace(mark * 2, mark)


def _unescaped(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3]
    if digits is not None:
        number = int(digits, 16)
    elif found[4] is not None:
        number = int(found[4], 8)
    else:
        return _ESCAPES.get(found[5], found[5])
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\N{REPLACEMENT CHARACTER}"
