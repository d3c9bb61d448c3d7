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
        "A folder (Parquet parts), or a .duckdb, .jsonl[.gz] or .warc[.gz] file, as in pages export.",
    ),
]
MaxDepthOption = Annotated[int | None, option("--max-depth", "N", "Follow links N steps from a seed. Default 50.")]
FollowLinksOption = Annotated[
    bool | None, typer.Option("--follow-links/--no-follow-links", help="Follow links on pages. Default yes.")
]
RespectNofollowOption = Annotated[
    bool | None,
    typer.Option("--respect-nofollow/--no-respect-nofollow", help="Leave rel=nofollow links alone. Default yes."),
]
FollowCanonicalOption = Annotated[
    bool | None,
    typer.Option(
        "--follow-canonical/--no-follow-canonical", help="Visit what a page calls its own address. Default yes."
    ),
]
SitemapsOption = Annotated[bool | None, typer.Option("--sitemaps/--no-sitemaps", help="Read sitemaps. Default yes.")]
MaxPagesOption = Annotated[
    int | None, option("--max-pages", "N", "Stop after N fetched pages; 0: no limit. Default 1,000 of each host.")
]
DelayOption = Annotated[
    float | None, option("--delay", "SECONDS", "Between requests to a host; it may ask for more. Default 1.")
]
AcceptOption = Annotated[
    list[str] | None, option("--accept", "TYPE", "Take this media type: text/html, text/*. Again for more.")
]
RejectOption = Annotated[
    list[str] | None, option("--reject", "TYPE", "Leave this media type, also where one above has it.")
]
AllowNetworkOption = Annotated[
    list[str] | None, option("--allow-network", "CIDR", "A private network that may be asked: 127.0.0.0/8.")
]
ProcessesOption = Annotated[
    int | None, option("--processes", "N", "Processes that share the hosts; one per core is best. Default 1.")
]
ConcurrencyOption = Annotated[int | None, option("--concurrency", "N", "Requests in flight at once. Default 16.")]
PerHostOption = Annotated[int | None, option("--per-host", "N", "Requests to one host at once. Default 1.")]
RefreshOption = Annotated[
    bool,
    typer.Option("--refresh", help="Visit hosts that are done again, now: their known pages, if they changed."),
]
UpdateStaleOption = Annotated[
    bool,
    typer.Option("--update-stale", help="The same, but only pages that sitemaps call changed or due, or that are old."),
]
RefreshModeOption = Annotated[
    bool | None,
    typer.Option("--refresh/--no-refresh", help="Visit hosts again that are done and due. Default no."),
]
OnlyStaleOption = Annotated[
    bool | None,
    typer.Option("--update-stale", help="Then only pages that sitemaps call changed or due, or that are old."),
]
ImagesOption = Annotated[
    bool | None,
    typer.Option("--images/--no-images", help="Download images of pages, too, those of the same host. Default no."),
]
MaxImageBytesOption = Annotated[
    int | None, typer.Option("--max-image-bytes", metavar="N", help="Leave images that are larger. Default 10,000,000.")
]
TimeoutOption = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="For one request as a whole. Default 60.")
]
ConnectTimeoutOption = Annotated[
    float | None, typer.Option("--connect-timeout", metavar="SECONDS", help="Time to connect. Default 10.")
]
FirstByteTimeoutOption = Annotated[
    float | None,
    typer.Option("--first-byte-timeout", metavar="SECONDS", help="Time from connection to first byte. Default 20."),
]
RetriesOption = Annotated[
    int | None,
    typer.Option("--retries", metavar="N", help="Try a URL again after 429, 5xx or a network failure. Default 5."),
]
MaxRetryBackoffOption = Annotated[
    float | None,
    typer.Option("--max-retry-backoff", metavar="SECONDS", help="The longest wait between two tries. Default 600."),
]
