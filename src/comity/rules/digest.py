"""HTTP digest authentication (RFC 7616): takes challenges and credentials, returns the Authorization header.

The user name and password stay here; only their digest is sent. Chance (`cnonce`) is an argument.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import quote

from comity.model.dataclass import dataclass

_LONGEST_CHALLENGE: Final = 2_048
# From weak to strong: of several challenges, the strongest is answered (RFC 7616 §3.7).
_HASHES: Final[dict[str, Callable[[bytes], str]]] = {
    "MD5": lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(),
    "SHA-256": lambda data: hashlib.sha256(data).hexdigest(),
    "SHA-512-256": lambda data: hashlib.new("sha512_256", data).hexdigest(),
}
if "sha512_256" not in hashlib.algorithms_available:  # it depends on how Python was built
    del _HASHES["SHA-512-256"]
_STRENGTH: Final = tuple(_HASHES)
_SESSION: Final = "-SESS"
_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETER: Final = re.compile(rf"({_WORD})\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s,\"]*))\s*(?:,|$)")
_SCHEME: Final = re.compile(rf"({_WORD})(?:\s+|$|(?=,))")
_BLANKS: Final = re.compile(r"\s*")
_ESCAPED: Final = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Challenge:
    """The challenge of a server."""

    realm: str
    nonce: str
    algorithm: str = "MD5"
    qop: str | None = None
    """`auth` or `auth-int`; None for servers of RFC 2069."""
    opaque: str | None = None
    is_stale: bool = False
    hashes_user: bool = False
    names_algorithm: bool = False


def read_challenges(fields: Iterable[str]) -> Challenge | None:
    """The strongest digest challenge in the WWW-Authenticate fields of an answer, or None."""
    found = [challenge for field in fields for challenge in _challenges(field[:_LONGEST_CHALLENGE])]
    return max(found, key=lambda each: _STRENGTH.index(_hash_name(each.algorithm)), default=None)


def next_nonce(fields: Iterable[str]) -> str | None:
    """The nonce that a server wants to see next, by its Authentication-Info fields."""
    for field in fields:
        for found in _PARAMETER.finditer(field[:_LONGEST_CHALLENGE]):
            if found[1].lower() == "nextnonce" and found[2] and found[2].isascii() and found[2].isprintable():
                return _ESCAPED.sub(r"\1", found[2])
    return None


def digest_authorization(
    challenge: Challenge,
    user: str,
    password: str,
    *,
    method: str,
    target: str,
    body: bytes = b"",
    cnonce: str,
    count: int,
) -> str:
    """The Authorization header for one request; `target` is its path and query, `count` the uses of the nonce."""
    digest = _HASHES[_hash_name(challenge.algorithm)]

    def hashed(*parts: str) -> str:
        return digest(":".join(parts).encode())

    secret = hashed(user, challenge.realm, password)
    if challenge.algorithm.upper().endswith(_SESSION):
        secret = hashed(secret, challenge.nonce, cnonce)
    request = [method, target] + ([digest(body)] if challenge.qop == "auth-int" else [])
    uses = f"{count:08x}"
    if challenge.qop is None:
        response = hashed(secret, challenge.nonce, hashed(*request))
    else:
        response = hashed(secret, challenge.nonce, uses, cnonce, challenge.qop, hashed(*request))
    name = hashed(user, challenge.realm) if challenge.hashes_user else user
    parts = (
        [f'username="{_quoted(name)}"']
        if name.isascii() and name.isprintable()
        else [f"username*=UTF-8''{_percent_encoded(name)}"]
    )
    parts += [f'realm="{_quoted(challenge.realm)}"', f'nonce="{_quoted(challenge.nonce)}"', f'uri="{_quoted(target)}"']
    parts += [f'response="{response}"']
    if challenge.names_algorithm:
        parts.append(f"algorithm={challenge.algorithm}")
    if challenge.qop is not None:
        parts += [f"qop={challenge.qop}", f"nc={uses}", f'cnonce="{cnonce}"']
    if challenge.opaque is not None:
        parts.append(f'opaque="{_quoted(challenge.opaque)}"')
    if challenge.hashes_user:
        parts.append("userhash=true")
    return "Digest " + ", ".join(parts)


def _challenges(field: str) -> Iterable[Challenge]:
    """The digest challenges of one field, which may hold several challenges of several schemes (RFC 9110 §11.6.1)."""
    place, is_digest = 0, False
    known: dict[str, str] = {}
    while (place := place + len(_BLANKS.match(field, place)[0])) < len(field):  # type: ignore[index]  # it always matches
        parameter = _PARAMETER.match(field, place)
        if parameter is not None:
            quoted = parameter[2]
            value = _ESCAPED.sub(r"\1", quoted) if quoted is not None else parameter[3]
            known.setdefault(parameter[1].lower(), value)
            place = parameter.end()
            continue
        scheme = _SCHEME.match(field, place)
        if scheme is None:
            place += 1  # a comma, or something unreadable
            continue
        if is_digest and (challenge := _challenge(known)) is not None:
            yield challenge
        is_digest, known, place = scheme[1].lower() == "digest", {}, max(scheme.end(), place + 1)
    if is_digest and (challenge := _challenge(known)) is not None:
        yield challenge


def _challenge(known: Mapping[str, str]) -> Challenge | None:
    """A challenge that can be answered; None for one with an unknown algorithm or quality."""
    algorithm = known.get("algorithm", "MD5")
    if "nonce" not in known or "realm" not in known or _hash_name(algorithm) not in _HASHES:
        return None
    if any(not value.isascii() or not value.isprintable() for value in known.values()):
        return None  # nothing else can be sent back
    offered = {each.strip().lower() for each in known["qop"].split(",")} if known.get("qop") else set()
    qop = next((each for each in ("auth", "auth-int") if each in offered), None)
    if offered and qop is None:
        return None
    if qop is None and algorithm.upper().endswith(_SESSION):
        return None  # RFC 2069 has no sessions
    return Challenge(
        known["realm"],
        known["nonce"],
        algorithm,
        qop,
        known.get("opaque"),
        known.get("stale", "").lower() == "true",
        known.get("userhash", "").lower() == "true",
        "algorithm" in known,
    )


def _hash_name(algorithm: str) -> str:
    return algorithm.upper().removesuffix(_SESSION)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _percent_encoded(text: str) -> str:
    return quote(text, safe="")
