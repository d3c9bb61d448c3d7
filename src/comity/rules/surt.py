"""SURT keys: a URL rearranged so that sorting groups a site, in the form of the Internet Archive's indexes (CDX).

URLs in canonical form take the fast path; any other text is read leniently, and bytes are unescaped as often as they
were escaped, in time linear in the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit

import ada_url

NO_KEY: Final = "-"
_WWW: Final = re.compile(r"www\d*\.", re.ASCII)
_WEB: Final = re.compile(r"https?://", re.IGNORECASE)
# "http://https://host/" means the inner one.
_STACKED: Final = re.compile(r"(?:https?://)+(?=https?://)", re.IGNORECASE)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.ASCII)
_LINE_BLANKS: Final = {ord(blank): None for blank in "\t\r\n"}
# Everything but printable ASCII without the number sign and the per cent sign is escaped.
_ESCAPED: Final = re.compile(r'[^!"$&-~]')
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_PATH_SESSIONS: Final = (
    re.compile(r"(?<=/)\((?:[a-z]\([0-9a-z]{24}\))+\)/(?=[^?]+\.aspx)"),
    re.compile(r"(?<=/)\([0-9a-z]{24}\)/(?=[^?]+\.aspx)"),
)
_QUERY_SESSIONS: Final = (
    ("jsessionid=", re.compile(r"jsessionid=[0-9a-z]{32}(?:&|\Z)")),
    ("phpsessid=", re.compile(r"phpsessid=[0-9a-z]{32}(?:&|\Z)")),
    ("sid=", re.compile(r"sid=[0-9a-z]{32}(?:&|\Z)")),
    ("aspsessionid", re.compile(r"aspsessionid[a-z]{8}=[a-z]{24}(?:&|\Z)")),
    ("cftoken=", re.compile(r"cfid=[^&]+&cftoken=[^&]+(?:&|\Z)")),
)


def surt_key(url: str) -> str:
    """Turn a URL into its key, such as `com,example)/path?a=1&b=2`."""
    if not _WEB.match(url):
        return _other_key(url)
    end = url.find("/", 8)
    # A canonical URL has a path, and nothing in it that a parser would still change.
    if end < 0 or not url.isascii() or not url.isprintable() or " " in url:
        return _lenient_key(url)
    turned = _turned_authority(url[:end])
    return _lenient_key(url) if turned is None else turned + _turned_target(url[end:])


def _other_key(url: str) -> str:
    """The key of text without a web scheme: a bare host, or an address that an archive made for itself."""
    text = url.strip().translate(_LINE_BLANKS)
    if not text:
        return NO_KEY
    scheme = _SCHEME.match(text)
    if scheme is None:
        return _lenient_key("http://" + text)
    if _WEB.match(text):
        return surt_key(text)
    if scheme[0].lower() in ("http:", "https:"):
        return _lenient_key(scheme[0] + "//" + text[scheme.end() :].lstrip("/"))
    # dns:, warcinfo:, mailto: and the like name no place on a host.
    return _lenient_key(text) if text.startswith("//", scheme.end()) and scheme[0].lower() != "filedesc:" else text


def _lenient_key(url: str) -> str:
    """The key of a URL that is not in canonical form."""
    text = _STACKED.sub("", url.strip().translate(_LINE_BLANKS))
    text = text.partition("#")[0]
    scheme, _separator, rest = text.partition("://")
    rest = rest.lstrip("/")
    ends = [at for at in (rest.find("/"), rest.find("?")) if at >= 0]
    end = min(ends, default=len(rest))
    authority = rest[:end]
    turned = _turned_authority(f"{scheme.lower()}://{authority}")
    if turned is None:
        turned = _turned_host(_escape(_unescape(authority.rpartition("@")[2])).lower()) + ")"
    target = rest[end:]
    return turned + _turned_target(target if target.startswith("/") else "/" + target)


@lru_cache(maxsize=1024)
def _turned_authority(origin: str) -> str | None:
    """Reverse a scheme and authority, or None if they are invalid; pages name the same few over and over."""
    if "?" in origin or "#" in origin or origin.endswith("/") or origin.lower().endswith(("http:", "https:")):
        return None
    try:
        if _WEB.match(origin):
            parsed = ada_url.URL(origin)
            host, port = parsed.hostname, parsed.port
        else:
            split = urlsplit(origin)
            host, port = split.hostname or "", str(split.port or "")
    except ValueError:
        return None
    return f"{_turned_host(host.strip('[]'))}{':' + port if port else ''})"


def _turned_host(host: str) -> str:
    """Reverse the labels, also the numbers of an IPv4 address, as the Archive's own indexes have them."""
    host = host.replace("..", ".").strip(".")
    if ":" in host:
        return host
    www = _WWW.match(host)
    return ",".join(reversed((host[www.end() :] if www else host).split(".")))


def _turned_target(target: str) -> str:
    """Fold the path and put the query in order."""
    hash_at = target.find("#")
    if hash_at >= 0:
        target = target[:hash_at]
    path, _mark, query = target.partition("?")
    if "%" in path or not path.isascii() or "#" in path or " " in path:
        path = _escape(_cleaned(_unescape(path)))
    elif "//" in path or "/." in path:
        path = _cleaned(path)
    path = path.lower()
    if ".aspx" in path and "/(" in path:
        for pattern in _PATH_SESSIONS:
            path = _without_last(pattern, path)
    if len(path) > 1 and path[-1] == "/":
        path = path[:-1]
    if not query:
        return path
    if "%" in query or not query.isascii() or " " in query:
        query = _escape(_unescape(query))
    query = _without_sessions(query.lower())
    if "&" in query:
        # By name first: "a=1" stands before "a-b=1" although "-" stands before "=".
        query = "&".join(sorted(query.split("&"), key=_name_and_value))
    return f"{path}?{query}" if query else path


def _name_and_value(parameter: str) -> tuple[str, str, str]:
    return parameter.partition("=")


def _without_sessions(query: str) -> str:
    for mark, pattern in _QUERY_SESSIONS:
        if mark in query:
            query = _without_last(pattern, query)
    return query


def _without_last(pattern: re.Pattern[str], text: str) -> str:
    """Cut out the last place where a pattern matches."""
    places = list(pattern.finditer(text))
    return text[: places[-1].start()] + text[places[-1].end() :] if places else text


def _cleaned(path: str) -> str:
    """Resolve dots and empty segments; what climbs above the root stays, as archives have it."""
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == ".." and kept:
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    if not kept:
        return "/"
    folders = [segment for segment in kept[:-1] if segment]
    return "/" + "/".join([*folders, kept[-1]])


def _unescape(text: str) -> str:
    """Undo percent-encoding until nothing is left to undo; bytes are held as characters of Latin-1."""
    characters = unquote_to_bytes(text).decode("latin-1")
    if "%" not in characters:
        return characters
    # Undoing one escape can complete another on either side: with a stack, one pass finds them all.
    done: list[str] = []
    for character in characters:
        done.append(character)
        while len(done) > 2 and done[-3] == "%" and done[-2] in _HEX and done[-1] in _HEX:
            done[-3:] = chr(int(done[-2] + done[-1], 16))
    return "".join(done)


def _escape(characters: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", characters)
