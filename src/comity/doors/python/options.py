"""Options of the Python API as settings: a value that cannot be used is a `BadInput` that names the option."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict

from comity.model.errors import BadInput
from comity.run.remedies import with_remedies
from comity.run.settings_in_force import unknown_variables
from comity.settings import Settings, read_settings

TEMPORARY: Final = ":temporary:"
"""As `state`: remember nothing. The state is in a folder that is deleted when the crawl ends."""

_OPTIONS: Final = {
    "pages": "into",
    "delay_s": "delay",
    "fetch_timeout_s": "timeout",
    "connect_timeout_s": "connect_timeout",
    "first_byte_timeout_s": "first_byte_timeout",
    "max_retry_backoff_seconds": "max_retry_backoff",
    "accept_types": "accept",
    "reject_types": "reject",
    "idle_timeout_s": "idle_timeout",
}

Place = str | os.PathLike[str]
_Path = str | os.PathLike[str]
_Headers = Mapping[str, str | Mapping[str, str]]
"""A mapping of names to values, for the seeds' hosts; or of hosts to such mappings."""
_Cookies = Mapping[str, str | Mapping[str, str]] | _Path
"""The same for cookies, or the path of a Netscape cookie file."""
_Credentials = str | tuple[str, str]
_Auth = _Credentials | Mapping[str, _Credentials]
"""`("user", "env:PASSWORD")`, `"digest user env:PASSWORD"`, `"bearer env:TOKEN"`, or a mapping of hosts to these."""
_Login = _Path | Mapping[str, object]
"""The path of a login file, or its content as a mapping."""


@with_remedies()
def settings_for(state: Place | None, **options: Any) -> Settings:
    """The environment with options on top, as on the command line; opens nothing."""
    where = None if state is None else os.fspath(state)
    if where == ":memory:":
        raise BadInput("state: a crawl needs a file; state=comity.TEMPORARY uses one that is deleted afterwards")
    if where is not None and "://" in where:
        options["database_url"] = where
    elif where is not None:  # it overrides both variables of the environment
        options |= {"state": where, "database_url": "", "redis_url": ""}
    for warning in unknown_variables(os.environ):
        warnings.warn(warning, stacklevel=4)
    try:
        return read_settings(**options)
    except BadInput as problem:
        if problem.field is None:
            raise
        raise problem.renamed(_OPTIONS.get(problem.field, problem.field)) from None


class RequestArguments(TypedDict, total=False):
    """Arguments of `comity.crawl` about how pages are requested."""

    headers: _Headers | None
    cookies: _Cookies | None
    auth: _Auth | None
    proxy: str | Iterable[str] | None
    login: _Login | Iterable[_Login] | None
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
    """These arguments as settings; `TypeError` for one that does not exist.

    Mappings, pairs and paths become the texts that the command line takes.
    """
    unknown = set(requests) - set(RequestArguments.__annotations__)
    if unknown:
        raise TypeError(f"crawl() got an unexpected keyword argument {min(unknown)!r}")
    proxy = requests.get("proxy")
    return {
        "headers": _header_texts(requests.get("headers")),
        "cookies": _cookie_texts(requests.get("cookies")),
        "auth": _auth_texts(requests.get("auth")),
        "proxy": (proxy,) if isinstance(proxy, str) else None if proxy is None else tuple(proxy),
        "login": _login_texts(requests.get("login")),
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


def _header_texts(headers: _Headers | None) -> tuple[str, ...] | None:
    """Headers as `Name: value`, or `host: Name: value`."""
    if headers is None:
        return None
    return tuple(_texts("headers", headers, ": "))


def _cookie_texts(cookies: _Cookies | None) -> tuple[str, ...] | None:
    """Cookies as `name=value`, `host: name=value`, or `file:PATH`."""
    if cookies is None:
        return None
    if isinstance(cookies, str | os.PathLike):
        return (f"file:{os.fspath(cookies).removeprefix('file:')}",)
    return tuple(_texts("cookies", cookies, "="))


def _auth_texts(auth: _Auth | None) -> tuple[str, ...] | None:
    """Credentials as `basic USER PASSWORD` or `bearer TOKEN`, with a host in front where there is one."""
    if auth is None:
        return None
    if isinstance(auth, Mapping):
        return tuple(f"{host}: {_credentials(each)}" for host, each in auth.items())
    return (_credentials(auth),)


def _login_texts(login: _Login | Iterable[_Login] | None) -> tuple[str, ...] | None:
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


def _credentials(auth: _Credentials) -> str:
    if isinstance(auth, str):
        return _one_line("auth", auth)
    user, password = auth
    return f"basic {_one_line('auth', user)} {_one_line('auth', password)}"
