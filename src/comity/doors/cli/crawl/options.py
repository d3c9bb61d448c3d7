"""Options of `crawl` and `work`: looking for what changed, images, time-outs and retries."""

from __future__ import annotations

from typing import Annotated

import typer

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
