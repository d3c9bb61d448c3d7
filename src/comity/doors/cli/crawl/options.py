"""Options of `crawl` and `work`: what is crawled, how politely, and where pages go."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def option(name: str, metavar: str, text: str) -> Any:
    """An option with a value."""
    return typer.Option(name, metavar=metavar, help=text)


IntoOption = Annotated[
    str | None,
    option(
        "--into",
        "TARGET",
        "Where to store pages: a folder (Parquet parts), or a .duckdb, .jsonl[.gz] or .warc[.gz] file.",
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
