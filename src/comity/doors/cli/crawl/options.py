"""Options of `crawl` and `work`: what is crawled, how politely, how pages are requested, and where they go.

Options about how pages are requested are also those of a host's policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.options import OptionGroup, option, switch
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.model.page import FILES_WRITTEN

if TYPE_CHECKING:
    from comity.doors.cli.options import Invocation

# The panels of --help: one long list would leave no room for texts at 80 columns.
URLS: Final = "Which URLs (docs/patterns.md)"
LINKS: Final = "Links and sitemaps"
SPEED: Final = "Speed and limits"
STORED: Final = "What to store besides pages"
RETRIES: Final = "Time limits and retries"
PRINTED: Final = "What to print (docs/output.md)"
_PANEL: Final = "Headers, cookies, logins and proxies (docs/requests.md)"


IntoOption = Annotated[
    str | None,
    option(
        "--into",
        "TARGET",
        f"Where to store pages: a folder (Parquet parts), or a {FILES_WRITTEN} file.",
    ),
]
IncludeOption = Annotated[
    list[str] | None,
    option("--include", "PATTERN", "Crawl only URLs that match: /docs/, *.html, re:REGEX. May be repeated.", URLS),
]
ExcludeOption = Annotated[
    list[str] | None,
    option("--exclude", "PATTERN", "Leave out URLs that match, even if --include matches them. May be repeated.", URLS),
]
UnderOption = Annotated[bool, switch("--under", "Stay below the paths of the seeds.", URLS)]
SiteHostsOption = Annotated[
    list[str] | None,
    option(
        "--site-hosts", "HOST", "Crawl this host too, and follow links between it and the seeds. May be repeated.", URLS
    ),
]
MaxDepthOption = Annotated[
    int | None, option("--max-depth", "N", "Follow links at most N steps from a seed. Default 50.", URLS)
]
AcceptOption = Annotated[
    list[str] | None,
    option("--accept", "TYPE", "Accept only this media type: text/html, text/*. May be repeated.", URLS),
]
RejectOption = Annotated[
    list[str] | None, option("--reject", "TYPE", "Reject this media type, even if --accept matches it.", URLS)
]
FollowLinksOption = Annotated[
    bool | None, switch("--follow-links/--no-follow-links", "Follow links on pages. Default yes.", LINKS)
]
RespectNofollowOption = Annotated[
    bool | None,
    switch("--respect-nofollow/--no-respect-nofollow", "Do not follow rel=nofollow links. Default yes.", LINKS),
]
FollowCanonicalOption = Annotated[
    bool | None,
    switch(
        "--follow-canonical/--no-follow-canonical", "Visit the canonical URL that a page declares. Default yes.", LINKS
    ),
]
SitemapsOption = Annotated[bool | None, switch("--sitemaps/--no-sitemaps", "Read sitemaps. Default yes.", LINKS)]
SubdomainsOption = Annotated[
    bool | None,
    switch("--subdomains/--no-subdomains", "Follow links to subdomains of the seeds' hosts. Default no.", LINKS),
]
MaxPagesOption = Annotated[
    int | None,
    option("--max-pages", "N", "Stop after N fetched pages; 0: no limit. Default 1,000 per host.", SPEED),
]
MaxMinutesOption = Annotated[float | None, option("--max-minutes", "N", "Stop after N minutes; 0: no limit.", SPEED)]
DelayOption = Annotated[
    float | None,
    option(
        "--delay", "SECONDS", "Delay between requests to a host; longer if the host asks for more. Default 1.", SPEED
    ),
]
ProcessesOption = Annotated[
    int | None, option("--processes", "N", "Crawl in N processes; one per core is best. Default 1.", SPEED)
]
ConcurrencyOption = Annotated[
    int | None, option("--concurrency", "N", "Requests in flight at once. Default 16.", SPEED)
]
PerHostOption = Annotated[int | None, option("--per-host", "N", "Requests to one host at once. Default 1.", SPEED)]
AllowNetworkOption = Annotated[
    list[str] | None, option("--allow-network", "CIDR", "Allow requests to this private network, e.g. 127.0.0.0/8.")
]
RefreshOption = Annotated[
    bool, switch("--refresh", "Visit finished hosts again now, and store the pages that changed.")
]
UpdateStaleOption = Annotated[
    bool,
    switch("--update-stale", "Like --refresh, but only pages that are old, or that sitemaps list as changed or due."),
]
RefreshModeOption = Annotated[
    bool | None, switch("--refresh/--no-refresh", "Visit finished hosts again when they are due. Default no.")
]
OnlyStaleOption = Annotated[
    bool | None,
    switch("--update-stale", "With --refresh: only pages that are old, or that sitemaps list as changed or due."),
]
ExtractOption = Annotated[
    list[str] | None,
    option(
        "--extract",
        "EXPR|FILE",
        "Store a value from every page as a column: price DECIMAL FROM css '.price::text' | parse_price. "
        "May be repeated. See docs/extract.md.",
        STORED,
    ),
]
TextOption = Annotated[
    bool | None,
    switch("--text/--no-text", "Store the main content of pages as text (column text). Default no.", STORED),
]
MarkdownOption = Annotated[
    bool | None,
    switch("--markdown/--no-markdown", "Store the main content as Markdown (column markdown). Default no.", STORED),
]
LinksOption = Annotated[
    bool | None,
    switch("--links/--no-links", "Store the links of each page, and whether each was followed. Default no.", STORED),
]
HeadersOption = Annotated[
    bool | None,
    switch("--headers/--no-headers", "Store headers, redirects, times and sizes of answers. Default no.", STORED),
]
ImagesOption = Annotated[
    bool | None,
    switch("--images/--no-images", "Download images of pages, from the same host. Default no.", STORED),
]
MaxImageBytesOption = Annotated[
    int | None, option("--max-image-bytes", "N", "Skip images larger than N bytes. Default 10,000,000.", STORED)
]
TimeoutOption = Annotated[
    float | None, option("--timeout", "SECONDS", "Time limit for a whole request. Default 60.", RETRIES)
]
ConnectTimeoutOption = Annotated[
    float | None, option("--connect-timeout", "SECONDS", "Time limit for connecting. Default 10.", RETRIES)
]
FirstByteTimeoutOption = Annotated[
    float | None,
    option("--first-byte-timeout", "SECONDS", "Time limit from connection to first byte. Default 20.", RETRIES),
]
IdleTimeoutOption = Annotated[
    float | None,
    option("--idle-timeout", "SECONDS", "Time limit between two parts of a body. Default 20.", RETRIES),
]
RetriesOption = Annotated[
    int | None, option("--retries", "N", "Retries of a URL after 429, 5xx or a network failure. Default 5.", RETRIES)
]
MaxRetryBackoffOption = Annotated[
    float | None, option("--max-retry-backoff", "SECONDS", "Longest wait between two attempts. Default 600.", RETRIES)
]
MaxRedirectsOption = Annotated[
    int | None, option("--max-redirects", "N", "Redirects to follow for one URL. Default 5.", RETRIES)
]


# The groups of options that `crawl` and `work` share.
SCOPE_OPTIONS: Final[OptionGroup] = {
    "include": IncludeOption,
    "exclude": ExcludeOption,
    "subdomains": SubdomainsOption,
    "site_hosts": SiteHostsOption,
    "max_depth": MaxDepthOption,
    "accept": AcceptOption,
    "reject": RejectOption,
    "follow_links": FollowLinksOption,
    "respect_nofollow": RespectNofollowOption,
    "sitemaps": SitemapsOption,
    "follow_canonical": FollowCanonicalOption,
}
STORED_OPTIONS: Final[OptionGroup] = {
    "extract": ExtractOption,
    "images": ImagesOption,
    "max_image_bytes": MaxImageBytesOption,
    "text": TextOption,
    "markdown": MarkdownOption,
    "keep_links": LinksOption,
    "keep_headers": HeadersOption,
}


def scope_settings(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Which URLs are crawled, as settings."""
    settings = dict(scope)
    settings |= {"accept_types": settings.pop("accept") or None, "reject_types": settings.pop("reject") or None}
    settings |= {name: settings[name] or None for name in ("include", "exclude", "site_hosts")}
    return settings


def stored_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored in addition to the pages themselves, as settings."""
    if not stored["extract"]:
        return {**stored, "extract": None}
    from comity.store.column_files import read_columns

    return {**stored, "extract": read_columns(stored["extract"], "--extract")}


# What is printed while a crawl runs.
VerboseOption = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        metavar="",
        show_default=False,
        help="Print a line for each URL: status, size, time, depth, links, type. -vv: also waits, and links left out.",
        rich_help_panel=PRINTED,
    ),
]
JsonLinesOption = Annotated[
    bool,
    switch("--json-lines", "Print events during the crawl, one JSON object per line.", PRINTED),
]
LogRequestsOption = Annotated[
    str | None,
    option("--log-requests", "FILE", "Log every request to this file, one line of JSON each; - is stderr.", PRINTED),
]


@dataclass(frozen=True, slots=True)
class CrawlOutput:
    """What a crawl prints besides its summary."""

    verbose: int = 0
    json_lines: bool = False
    log_requests: str | None = None

    def applied(self, invocation: Invocation) -> Invocation:
        """The invocation with the request log; `BadInput` if the log or the formats cannot be used."""
        if self.json_lines and invocation.as_json:
            raise BadInput("--json-lines and --json cannot be combined: --json prints one document at the end")
        settings = invocation.settings
        if self.log_requests is not None:
            settings = settings.model_copy(update={"log_requests": self.log_requests})
        if settings.log_requests:
            from comity.telemetry.request_log import check_request_log

            check_request_log(settings.log_requests)
        return replace(invocation, settings=settings)


NO_LINES: Final = CrawlOutput()


_carried: Final = partial(option, panel=_PANEL)
_switch: Final = partial(switch, panel=_PANEL)
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
    if file is not None:
        _check_readable("--cookies", file.removeprefix("file:"))
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


def _check_readable(option: str, file: str) -> None:
    try:
        Path(file).expanduser().open("rb").close()
    except OSError as error:
        raise BadInput(option, f"cannot read {file}: {error.strerror}") from None


def policy_changes(requests: Mapping[str, Any]) -> dict[str, Any]:
    """Options of requests as changes of a policy; unused options are omitted."""
    changes = {name: value for name, value in requests.items() if value and name != "clear_requests"}
    if requests["keep_cookies"] is False:
        changes["keep_cookies"] = False
    if not requests["clear_requests"]:
        return changes
    nothing: dict[str, Any] = {name: [] for name in ("headers", "cookies", "auth", "proxy", "login", "origins")}
    return nothing | {"keep_cookies": False, "cookie_jar": False} | changes
