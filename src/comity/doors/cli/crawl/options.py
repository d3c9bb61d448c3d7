"""Options of `crawl` and `work`: what is crawled, how politely, and where pages go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.model.errors import BadInput

if TYPE_CHECKING:
    from comity.doors.cli.options import Invocation


def option(name: str, metavar: str, text: str) -> Any:
    """An option with a value."""
    return typer.Option(name, metavar=metavar, help=text)


IntoOption = Annotated[
    str | None,
    option(
        "--into",
        "TARGET",
        "Where to store pages: a folder (Parquet parts), or a .duckdb, .jsonl[.gz], .csv[.gz] or .warc[.gz] file.",
    ),
]
MaxDepthOption = Annotated[int | None, option("--max-depth", "N", "Follow links N steps from a seed. Default 50.")]
FollowLinksOption = Annotated[
    bool | None, typer.Option("--follow-links/--no-follow-links", help="Follow links on pages. Default yes.")
]
RespectNofollowOption = Annotated[
    bool | None,
    typer.Option("--respect-nofollow/--no-respect-nofollow", help="Do not follow rel=nofollow links. Default yes."),
]
FollowCanonicalOption = Annotated[
    bool | None,
    typer.Option(
        "--follow-canonical/--no-follow-canonical", help="Visit the canonical URL that a page names. Default yes."
    ),
]
SitemapsOption = Annotated[bool | None, typer.Option("--sitemaps/--no-sitemaps", help="Read sitemaps. Default yes.")]
IncludeOption = Annotated[
    list[str] | None,
    option("--include", "PATTERN", "Crawl only URLs that match: /docs/, *.html, re:REGEX. May be repeated."),
]
ExcludeOption = Annotated[
    list[str] | None,
    option("--exclude", "PATTERN", "Leave out URLs that match, even if --include matches them. May be repeated."),
]
UnderOption = Annotated[bool, typer.Option("--under", help="Stay below the paths of the seeds.")]
SubdomainsOption = Annotated[
    bool | None,
    typer.Option("--subdomains/--no-subdomains", help="Follow links to subdomains of the seeds' hosts. Default no."),
]
SiteHostsOption = Annotated[
    list[str] | None,
    option("--site-hosts", "HOST", "Also follow links to this host, and between all of them. May be repeated."),
]
MaxPagesOption = Annotated[
    int | None, option("--max-pages", "N", "Stop after N fetched pages; 0: no limit. Default 1,000 per host.")
]
DelayOption = Annotated[
    float | None,
    option("--delay", "SECONDS", "Delay between requests to a host, which may ask for more. Default 1."),
]
AcceptOption = Annotated[
    list[str] | None, option("--accept", "TYPE", "Accept this media type: text/html, text/*. May be repeated.")
]
RejectOption = Annotated[
    list[str] | None, option("--reject", "TYPE", "Reject this media type, even if --accept matches it.")
]
AllowNetworkOption = Annotated[
    list[str] | None, option("--allow-network", "CIDR", "Allow requests to this private network, e.g. 127.0.0.0/8.")
]
ProcessesOption = Annotated[
    int | None, option("--processes", "N", "Crawl in N processes; one per core is best. Default 1.")
]
ConcurrencyOption = Annotated[int | None, option("--concurrency", "N", "Requests in flight at once. Default 16.")]
PerHostOption = Annotated[int | None, option("--per-host", "N", "Requests to one host at once. Default 1.")]
RefreshOption = Annotated[
    bool,
    typer.Option("--refresh", help="Visit finished hosts again now, and store the pages that changed."),
]
UpdateStaleOption = Annotated[
    bool,
    typer.Option(
        "--update-stale", help="Like --refresh, but only pages that are old, or that sitemaps list as changed or due."
    ),
]
RefreshModeOption = Annotated[
    bool | None,
    typer.Option("--refresh/--no-refresh", help="Visit finished hosts again when they are due. Default no."),
]
OnlyStaleOption = Annotated[
    bool | None,
    typer.Option(
        "--update-stale", help="With --refresh: only pages that are old, or that sitemaps list as changed or due."
    ),
]
ExtractOption = Annotated[
    list[str] | None,
    option(
        "--extract",
        "EXPRESSION|FILE",
        "Store this value of every page as a column: price DECIMAL FROM css '.price::text' | parse_price. "
        "May be repeated. See docs/extract.md.",
    ),
]
ImagesOption = Annotated[
    bool | None,
    typer.Option("--images/--no-images", help="Also download images of pages, from the same host. Default no."),
]
TextOption = Annotated[
    bool | None,
    typer.Option("--text/--no-text", help="Also store the main content of pages as text (column text). Default no."),
]
MarkdownOption = Annotated[
    bool | None,
    typer.Option(
        "--markdown/--no-markdown", help="Also store the main content as Markdown (column markdown). Default no."
    ),
]
MaxImageBytesOption = Annotated[
    int | None,
    typer.Option("--max-image-bytes", metavar="N", help="Skip images larger than N bytes. Default 10,000,000."),
]
TimeoutOption = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="Time limit of a whole request. Default 60.")
]
ConnectTimeoutOption = Annotated[
    float | None, typer.Option("--connect-timeout", metavar="SECONDS", help="Time limit for connecting. Default 10.")
]
FirstByteTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--first-byte-timeout", metavar="SECONDS", help="Time limit from connection to first byte. Default 20."
    ),
]
RetriesOption = Annotated[
    int | None,
    typer.Option("--retries", metavar="N", help="Retries of a URL after 429, 5xx or a network failure. Default 5."),
]
MaxRetryBackoffOption = Annotated[
    float | None,
    typer.Option("--max-retry-backoff", metavar="SECONDS", help="Longest wait between two attempts. Default 600."),
]


def stored_besides(
    images: bool | None,
    max_image_bytes: int | None,
    text: bool | None,
    markdown: bool | None,
    columns: str | None = None,
) -> dict[str, Any]:
    """The settings for what is stored besides pages as they came."""
    images_too = {"images": images, "max_image_bytes": max_image_bytes}
    return {**images_too, "text": text, "markdown": markdown, "extract": columns}


# What is printed while a crawl runs.
VerboseOption = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        help="Print a line for each URL: status, size, time, depth, links, type. -vv: also waits, and links left out.",
    ),
]
JsonLinesOption = Annotated[
    bool,
    typer.Option("--json-lines", help="Print events while it runs, one JSON object a line; the summary comes last."),
]
LogRequestsOption = Annotated[
    str | None, option("--log-requests", "FILE", "Log every request to this file, a line of JSON each; - is stderr.")
]


@dataclass(frozen=True, slots=True)
class CrawlOutput:
    """What a crawl prints besides its summary."""

    verbose: int = 0
    json_lines: bool = False
    log_requests: str | None = None

    def applied(self, invocation: Invocation) -> Invocation:
        """The invocation with the request log; `BadInput` if that, or the formats asked for, cannot be."""
        if self.json_lines and invocation.as_json:
            raise BadInput("--json-lines and --json exclude each other: --json prints one document at the end")
        settings = invocation.settings
        if self.log_requests is not None:
            settings = settings.model_copy(update={"log_requests": self.log_requests})
        if settings.log_requests:
            from comity.telemetry.request_log import check_request_log

            check_request_log(settings.log_requests)
        return replace(invocation, settings=settings)


NO_LINES: Final = CrawlOutput()


def url_settings(
    include: list[str] | None, exclude: list[str] | None, subdomains: bool | None, site_hosts: list[str] | None
) -> dict[str, Any]:
    """Which URLs, as settings."""
    return {
        "include": tuple(include) if include else None,
        "exclude": tuple(exclude) if exclude else None,
        "subdomains": subdomains,
        "site_hosts": ",".join(site_hosts) if site_hosts else None,
    }


def time_settings(
    timeout: float | None, connect: float | None, first_byte: float | None, max_retry_backoff: float | None
) -> dict[str, Any]:
    """Limits of time, as settings."""
    return {
        "fetch_timeout_s": timeout,
        "connect_timeout_s": connect,
        "first_byte_timeout_s": first_byte,
        "max_retry_backoff_seconds": max_retry_backoff,
    }
