"""Options of `crawl` and `work`: looking for what changed, and images."""

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
