"""Options of requests in Python: mappings, pairs and paths become the texts that the command line takes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from comity.model.errors import BadInput

Path = str | os.PathLike[str]
Headers = Mapping[str, str | Mapping[str, str]]
"""A mapping of names to values, for the seeds' hosts; or of hosts to such mappings."""
Cookies = Mapping[str, str | Mapping[str, str]] | Path
"""The same for cookies, or the path of a Netscape cookie file."""
Credentials = str | tuple[str, str]
Auth = Credentials | Mapping[str, Credentials]
"""`("user", "env:PASSWORD")`, `"digest user env:PASSWORD"`, `"bearer env:TOKEN"`, or a mapping of hosts to these."""
Login = Path | Mapping[str, object]
"""The path of a login file, or its content as a mapping."""


class RequestArguments(TypedDict, total=False):
    """Arguments of `comity.crawl` about how pages are requested."""

    headers: Headers | None
    cookies: Cookies | None
    auth: Auth | None
    proxy: str | Iterable[str] | None
    login: Login | Iterable[Login] | None
    cookie_jar: bool | None
    keep_cookies: bool | None
    timeout: float | None
    connect_timeout: float | None
    first_byte_timeout: float | None
    idle_timeout: float | None
    retries: int | None
    max_retry_backoff: float | None
    max_redirects: int | None


def request_settings(requests: RequestArguments) -> dict[str, Any]:
    """These arguments as settings; `TypeError` for one that does not exist."""
    unknown = set(requests) - set(RequestArguments.__annotations__)
    if unknown:
        raise TypeError(f"crawl() got an unexpected keyword argument {min(unknown)!r}")
    proxy = requests.get("proxy")
    return {
        "headers": header_texts(requests.get("headers")),
        "cookies": cookie_texts(requests.get("cookies")),
        "auth": auth_texts(requests.get("auth")),
        "proxy": (proxy,) if isinstance(proxy, str) else None if proxy is None else tuple(proxy),
        "login": login_texts(requests.get("login")),
        "cookie_jar": requests.get("cookie_jar"),
        "keep_cookies": requests.get("keep_cookies"),
        "fetch_timeout_s": requests.get("timeout"),
        "connect_timeout_s": requests.get("connect_timeout"),
        "first_byte_timeout_s": requests.get("first_byte_timeout"),
        "idle_timeout_s": requests.get("idle_timeout"),
        "retries": requests.get("retries"),
        "max_retry_backoff_seconds": requests.get("max_retry_backoff"),
        "max_redirects": requests.get("max_redirects"),
    }


def header_texts(headers: Headers | None) -> tuple[str, ...] | None:
    """Headers as `Name: value`, or `host: Name: value`."""
    if headers is None:
        return None
    return tuple(_texts("headers", headers, ": "))


def cookie_texts(cookies: Cookies | None) -> tuple[str, ...] | None:
    """Cookies as `name=value`, `host: name=value`, or `file:PATH`."""
    if cookies is None:
        return None
    if isinstance(cookies, str | os.PathLike):
        return (f"file:{os.fspath(cookies).removeprefix('file:')}",)
    return tuple(_texts("cookies", cookies, "="))


def auth_texts(auth: Auth | None) -> tuple[str, ...] | None:
    """Credentials as `basic USER PASSWORD` or `bearer TOKEN`, with a host in front where there is one."""
    if auth is None:
        return None
    if isinstance(auth, Mapping):
        return tuple(f"{host}: {_credentials(each)}" for host, each in auth.items())
    return (_credentials(auth),)


def login_texts(login: Login | Iterable[Login] | None) -> tuple[str, ...] | None:
    """Login files, or their contents as JSON."""
    if login is None:
        return None
    logins = (login,) if isinstance(login, str | os.PathLike | Mapping) else tuple(login)
    return tuple(
        json.dumps(dict(each), default=dict) if isinstance(each, Mapping) else os.fspath(each) for each in logins
    )


def _texts(field: str, values: Mapping[str, str | Mapping[str, str]], between: str) -> Iterable[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            for inner, text in value.items():
                yield f"{name}: {_one_line(field, inner)}{between}{_one_line(field, text)}"
        else:
            yield f"{_one_line(field, name)}{between}{_one_line(field, value)}"


def _one_line(field: str, text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{field}: names and values must be strings, not {type(text).__name__}")
    if any(character in text for character in "\r\n\0"):
        raise BadInput(field, "a value contains a line break or another control character")
    return text


def _credentials(auth: Credentials) -> str:
    if isinstance(auth, str):
        return _one_line("auth", auth)
    user, password = auth
    return f"basic {_one_line('auth', user)} {_one_line('auth', password)}"
