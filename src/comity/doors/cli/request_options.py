"""Options about how pages are requested: of `crawl` and `work`, and of a host's policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from comity.doors.cli.crawl.options import (
    ConnectTimeoutOption,
    FirstByteTimeoutOption,
    IdleTimeoutOption,
    MaxRedirectsOption,
    MaxRetryBackoffOption,
    RetriesOption,
    TimeoutOption,
)
from comity.model.errors import BadInput

PANEL: Final = "Headers, cookies, logins and proxies (docs/requests.md)"


def _carried(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=PANEL)


def _switch(names: str, text: str) -> Any:
    return typer.Option(names, help=text, rich_help_panel=PANEL)


CARRIED: Final = {"headers", "cookies", "auth", "proxy", "login", "keep_cookies"}
"""The settings that these options set."""
_Texts = list[str] | None
CRAWL: Final[Mapping[str, Any]] = {
    "timeout": TimeoutOption,
    "connect_timeout": ConnectTimeoutOption,
    "first_byte_timeout": FirstByteTimeoutOption,
    "idle_timeout": IdleTimeoutOption,
    "retries": RetriesOption,
    "max_retry_backoff": MaxRetryBackoffOption,
    "max_redirects": MaxRedirectsOption,
    "user_agent": Annotated[str | None, _carried("--user-agent", "UA", "Send this User-Agent header.")],
    "headers": Annotated[
        _Texts,
        _carried(
            "--header",
            "'NAME: VALUE'",
            "Send this header to the seeds' hosts, or to one host: 'example.com: NAME: VALUE'. May be repeated. "
            "VALUE may be env:NAME or file:PATH.",
        ),
    ],
    "cookies": Annotated[
        _Texts, _carried("--cookie", "NAME=VALUE", "Send this cookie to the same hosts. May be repeated.")
    ],
    "cookie_file": Annotated[
        str | None, _carried("--cookies", "FILE", "Send the cookies in a Netscape cookie file, each to its own host.")
    ],
    "auth": Annotated[
        _Texts,
        _carried(
            "--auth",
            "CREDENTIALS",
            "Send credentials: 'basic USER env:PASSWORD', 'digest USER env:PASSWORD' or 'bearer env:TOKEN'.",
        ),
    ],
    "proxy": Annotated[
        _Texts,
        _carried(
            "--proxy",
            "URL",
            "Use this proxy (http, https, socks5, socks5h). May be repeated: each host always uses the same one. "
            "file:PATH reads a list, one proxy per line.",
        ),
    ],
    "login": Annotated[
        _Texts,
        _carried("--login", "FILE", "Log in with the form that this TOML file describes, before crawling its host."),
    ],
    "cookie_jar": Annotated[
        bool | None,
        _switch(
            "--cookie-jar/--no-cookie-jar",
            "Send cookies back to the host that set them, during this crawl. Default no.",
        ),
    ],
    "keep_cookies": Annotated[
        bool | None,
        _switch("--keep-cookies/--no-keep-cookies", "Save these cookies in files for the next crawl. Default no."),
    ],
}
POLICY: Final[Mapping[str, Any]] = {
    "headers": Annotated[
        _Texts,
        _carried(
            "--header", "'NAME: VALUE'", "Send this header; write a secret as env:NAME or file:PATH. May be repeated."
        ),
    ],
    "cookies": Annotated[
        _Texts,
        _carried("--cookie", "NAME=REFERENCE", "Send this cookie; file:PATH alone reads a Netscape cookie file."),
    ],
    "auth": CRAWL["auth"],
    "proxy": Annotated[
        _Texts, _carried("--proxy", "URL", "Use this proxy. May be repeated: the host always uses the same one.")
    ],
    "login": Annotated[
        _Texts, _carried("--login", "FILE", "Log in with the form that this TOML file describes, before each crawl.")
    ],
    "keep_cookies": Annotated[
        bool | None,
        _switch("--keep-cookies/--no-keep-cookies", "Save cookies that the host sets in a file for its next crawl."),
    ],
    "clear_requests": Annotated[
        bool,
        _switch(
            "--clear-requests", "First remove all headers, cookies, credentials, proxies and logins of this policy."
        ),
    ],
}


def request_settings(requests: Mapping[str, Any]) -> dict[str, Any]:
    """Options of requests as settings; `BadInput` for a password in plain text, which every process could read."""
    from comity.rules.request_options import read_auth, read_proxy

    for text in requests["auth"] or ():
        if read_auth("--auth", text).secret.reference is None:
            raise BadInput("--auth", "a password on the command line can be read by others; use env:NAME or file:PATH")
    for text in requests["proxy"] or ():
        if read_proxy("--proxy", text).holds_secret:
            raise BadInput(
                "--proxy", "a password on the command line can be read by others; use http://me:env:NAME@host:port"
            )
    file = requests["cookie_file"]
    cookies = [*(requests["cookies"] or ()), *([f"file:{file.removeprefix('file:')}"] if file is not None else ())]
    lists = {"cookies": cookies} | {name: requests[name] for name in ("headers", "auth", "proxy", "login")}
    return {
        **{name: tuple(texts) if texts else None for name, texts in lists.items()},
        "fetch_timeout_s": requests["timeout"],
        "connect_timeout_s": requests["connect_timeout"],
        "first_byte_timeout_s": requests["first_byte_timeout"],
        "idle_timeout_s": requests["idle_timeout"],
        "retries": requests["retries"],
        "max_retry_backoff_seconds": requests["max_retry_backoff"],
        "max_redirects": requests["max_redirects"],
        "cookie_jar": requests["cookie_jar"],
        "keep_cookies": requests["keep_cookies"],
        "user_agent": requests["user_agent"],
    }


def policy_changes(requests: Mapping[str, Any]) -> dict[str, Any]:
    """Options of requests as changes of a policy; unused options are omitted."""
    changes = {name: value for name, value in requests.items() if value and name != "clear_requests"}
    if requests["keep_cookies"] is False:
        changes["keep_cookies"] = False
    if not requests["clear_requests"]:
        return changes
    nothing: dict[str, Any] = {name: [] for name in ("headers", "cookies", "auth", "proxy", "login", "origins")}
    return nothing | {"keep_cookies": False, "cookie_jar": False} | changes
