"""HTTP secrets of DuckDB: reads the statements that create and drop them, and decides which headers they mean.

DuckDB stores a secret and its scope, but does not show its values. So the connection reads them from the statement, and
keeps them in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from comity.model.errors import BadInput
from comity.rules.request_options import is_header_name, read_value
from comity.rules.sql.tokens import Token, TokenKind, name_value, tokens

DEFAULT_NAME: Final = "__default_http"
_OPENING: Final = ("(", "[", "{")
_CLOSING: Final = (")", "]", "}")
_SECRET_WORDS: Final = ("OR", "REPLACE", "PERSISTENT", "TEMPORARY", "TEMP", "LOCAL")


class SecretStatement(NamedTuple):
    """A statement about a secret. `values` are SQL expressions by name; None drops the secret."""

    name: str
    values: Mapping[str, str] | None
    keeps_existing: bool = False
    """Whether it changes nothing if there is one of this name (IF NOT EXISTS)."""


class KeptSecret(NamedTuple):
    """The values of a secret, and how DuckDB described it when it had them."""

    values: Mapping[str, Any]
    description: str


def read_secret_statement(text: str) -> SecretStatement | None:
    """`CREATE SECRET [name] (TYPE http, …)` or `DROP SECRET name`; None for every other statement."""
    pieces = list(tokens(text))
    if len(pieces) < 3 or not pieces[0].is_word("CREATE", "DROP"):
        return None
    at = 1
    while at < len(pieces) and pieces[at].is_word(*_SECRET_WORDS):
        at += 1
    if at >= len(pieces) or not pieces[at].is_word("SECRET"):
        return None
    at += 1
    keeps_existing = False
    while at < len(pieces) and pieces[at].is_word("IF", "NOT", "EXISTS"):
        keeps_existing = True
        at += 1
    if at >= len(pieces):
        return None
    name = "" if pieces[at].is_symbol("(") else name_value(pieces[at]).lower()
    if pieces[0].is_word("DROP"):
        return SecretStatement(name, None)
    while at < len(pieces) and not pieces[at].is_symbol("("):
        at += 1
    values = _values(text, pieces[at:])
    if values is None or values.get("type", "").strip("'\" ").lower() != "http":
        return None
    return SecretStatement(name or DEFAULT_NAME, values, keeps_existing)


def may_hold_secret(text: str) -> bool:
    """Whether what was typed may contain a secret or a password, also if it is not a whole statement."""
    words = (piece.text.upper() for piece in tokens(text) if piece.kind is TokenKind.WORD)
    return any(word == "SECRET" or word.endswith(("_PASSWORD", "_TOKEN", "_HEADERS")) for word in words)


def has_parameters(expression: str) -> bool:
    """Whether an expression needs parameters of its statement."""
    return any(piece.kind is TokenKind.PARAMETER for piece in tokens(expression))


def secret_headers(name: str, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The headers of a secret; `BadInput` for what cannot be sent, without its value."""
    found: list[tuple[str, str]] = []
    headers = values.get("extra_http_headers")
    if headers is not None and not isinstance(headers, Mapping):
        raise BadInput(f"the secret {name}", "EXTRA_HTTP_HEADERS takes a MAP, such as MAP {'X-Key': 'value'}")
    for field, value in (headers or {}).items():
        found.append((str(field), str(value)))
    if values.get("bearer_token"):
        found.append(("Authorization", f"Bearer {values['bearer_token']}"))
    for field, value in found:
        if not is_header_name(field):
            raise BadInput(f"the secret {name}", f"{field[:60]!r} is not the name of a header")
        # The options of a crawl would replace a reference with an environment variable or a file.
        if not value.isprintable() or read_value(f"the secret {name}", value).reference is not None:
            raise BadInput(f"the secret {name}", f"the value of {field[:60]} cannot be sent as a header")
    return found


def secret_for(origin: str, scopes: Mapping[str, Sequence[str]]) -> str | None:
    """The name of the secret that applies to an origin: the one with the longest scope that covers it."""
    lengths = {
        name: max((len(scope) for scope in listed or ("",) if _covers(scope, origin)), default=-1)
        for name, listed in scopes.items()
    }
    best = max(lengths, key=lengths.__getitem__, default=None)
    return best if best is not None and lengths[best] >= 0 else None


def _covers(scope: str, origin: str) -> bool:
    """Whether a scope names an origin in full, or only a scheme.

    DuckDB compares how both begin: `https://shop.example` would cover `https://shop.example.org`.
    """
    is_scheme = not scope.partition("://")[2] and "https://".startswith(scope)
    return origin.startswith(scope) if is_scheme or scope == "http://" else scope.rstrip("/") == origin


def check_scope(name: str, scopes: Sequence[str]) -> None:
    """Refuse a scope that is narrower than an origin: headers go to all of an origin, which would be beyond it."""
    for scope in scopes:
        rest = scope.partition("://")[2] if "://" in scope else scope
        if "/" in rest.rstrip("/"):
            raise BadInput(
                f"the secret {name}",
                f"its scope {scope[:200]} has a path, but Comity sends headers to whole hosts; end it after the host",
            )


def _values(text: str, pieces: Sequence[Token]) -> dict[str, str] | None:
    """The pairs in parentheses, as text."""
    found: dict[str, str] = {}
    depth, start = 0, 1
    for number, piece in enumerate(pieces):
        is_symbol = piece.kind is TokenKind.SYMBOL
        if is_symbol and piece.text in _OPENING:
            depth += 1
        ends = is_symbol and ((piece.text == "," and depth == 1) or (piece.text in _CLOSING and depth == 1))
        if is_symbol and piece.text in _CLOSING:
            depth -= 1
        if not ends:
            continue
        if number - start >= 2:
            first = start + 2 if pieces[start + 1].is_symbol("=") or pieces[start + 1].is_symbol(":=") else start + 1
            found[name_value(pieces[start]).lower()] = text[pieces[first].start : pieces[number - 1].end]
        start = number + 1
        if depth == 0:
            return found
    return None
