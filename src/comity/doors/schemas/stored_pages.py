"""Response schemas of stored pages: what a search finds, one page, and what a statement selects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import Field, field_validator

from comity.doors.schemas.base import Instant, Schema


class _Stored(Schema):
    crawl_time: Instant

    @field_validator("crawl_time", mode="before")
    @classmethod
    def _as_time(cls, value: Any) -> Any:
        return datetime.fromtimestamp(value / 1e6, UTC) if isinstance(value, int) else value


class StoredPageView(_Stored):
    """A stored page in a list."""

    url: str
    final_url: str | None
    http_status: int | None
    content_type: str | None
    title: str | None
    error: str | None


class StoredPageList(Schema):
    """One page of what a search found, the newest part first."""

    pages: list[StoredPageView]
    limit: int
    next: str | None = Field(description="The value of `after` for the next page; null: everything was searched.")
    is_whole: bool = Field(description="false: time ran out before the page was full; the next page continues there.")
    timed_out: bool = Field(description="The first part alone took too long.")
    parts: int = Field(description="Files that hold pages.")
    parts_searched: int
    in_segments: int = Field(description="Pages of running crawls that cannot be read yet.")


class PageVersionView(_Stored):
    """What is known of one version of a page."""

    url: str
    final_url: str | None
    redirect_count: int | None
    http_status: int | None
    content_type: str | None
    title: str | None
    error: str | None
    etag: str | None
    last_modified: str | None
    content_hash: str | None
    run_id: str | None
    characters: int | None = Field(description="The length of its source, if it is text.")
    bytes: int | None = Field(description="The size of its body, if it is not text.")


class PageView(Schema):
    """One stored page with its source and main text; both are cut if they are very long."""

    page: PageVersionView
    source: str | None = Field(description="null: no body was stored, or it is not text.")
    source_is_cut: bool
    text: str | None
    text_is_cut: bool
    versions: list[PageVersionView] = Field(description="The newest twenty, newest first.")


class QueryAnswer(Schema):
    """What a statement selected. Every value is text; long ones are cut."""

    columns: list[str]
    rows: list[list[str | None]]
    has_more: bool = Field(description="Whether rows were left out: there is a limit of rows and of bytes.")
    seconds: float
    in_segments: int = Field(description="Pages of running crawls that cannot be read yet.")
