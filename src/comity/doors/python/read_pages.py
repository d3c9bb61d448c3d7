"""`comity.read_pages`: read stored pages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from comity.doors.python.options import Place, settings_for
from comity.doors.python.page import Page, data_of, extracted_of
from comity.extract.fetched_page import with_content
from comity.model.expression import ExtractedValues
from comity.run.remedies import with_remedies

if TYPE_CHECKING:
    from comity.settings import Settings
    from comity.store.reading import IsHidden

_COLUMNS: Final = (
    "url, final_url, http_status, content_type, title, body, body_bytes, etag, last_modified, content_hash, "
    "epoch_us(crawl_time), redirect_count, run_id, error, text, markdown"
)
_OWN: Final = 16  # the number of these


def read_pages(pages: Place | None = None, *, state: Place | None = None, errors: bool = False) -> Iterator[Page]:
    """Every page at a place (a folder, or a .parquet, .duckdb, .jsonl or .csv file), in no particular order.

    By default where `comity.crawl` keeps them; a place that is named and does not exist is a `NotFound`. What the
    state has as taken down is left out.
    """
    from comity.store.reading import check_exists, find_sources

    settings = settings_for(state, pages=pages)
    with with_remedies():
        if pages is not None:
            check_exists(settings.pages)
        sources = find_sources(settings.pages)

    def read() -> Iterator[Page]:
        from comity.store.reading import open_reader

        if sources.is_empty:
            return
        with with_remedies(), open_reader(sources, _hidden(settings)) as reader:
            further = reader.further_columns()
            columns = tuple(column for column, _sql in further)
            selected = ", ".join([_COLUMNS, *(sql for _column, sql in further)])
            select = f"SELECT {selected} FROM pages"  # noqa: S608  # quoted
            for row in reader.rows(select if errors else f"{select} WHERE error IS NULL"):
                yield _page(ExtractedValues(columns, row[_OWN:]), *row[:_OWN])

    return read()


def _hidden(settings: Settings) -> IsHidden | None:
    """A function that says whether a URL is taken down; None if nothing is."""
    if "://" not in settings.where and not Path(settings.where).expanduser().exists():
        return None
    from comity.assemble import open_state
    from comity.model.errors import BadAddress
    from comity.operate.takedown import list_takedowns
    from comity.rules.canonical import web_address
    from comity.rules.takedown import Takedowns

    with open_state(settings) as opened:
        entries = [stored.entry for stored in list_takedowns(opened.database)]
    if not entries:
        return None
    takedowns = Takedowns.of(entries)

    def is_hidden(url: str) -> bool:
        try:
            return takedowns.covering(web_address(url)) is not None
        except BadAddress:
            return False

    return is_hidden


def _page(
    columns: ExtractedValues,
    url: str,
    final_url: str | None,
    status: int | None,
    content_type: str | None,
    title: str | None,
    body_text: str | None,
    raw: bytes | None,
    etag: str | None,
    last_modified: str | None,
    content_hash: str | None,
    crawl_time_us: int,
    redirect_count: int | None,
    run_id: str | None,
    error: str | None,
    text: str | None,
    markdown: str | None,
) -> Page:
    """A row as a page; a text body is stored as UTF-8."""
    code, _, reason = (error or "").partition(": ")
    about: dict[str, Any] = {"etag": etag, "last_modified": last_modified, "content_hash": content_hash}
    page = Page(
        url=url,
        final_url=final_url or url,
        status=status,
        content_type=content_type,
        title=title,
        body=body_text.encode() if body_text is not None else raw or b"",
        encoding="utf-8" if body_text is not None else None,
        crawl_time=datetime.fromtimestamp(crawl_time_us / 1e6, UTC),
        redirect_count=redirect_count or 0,
        depth=None,
        run_id=run_id or "",
        error=code or None,
        reason=reason or None,
        data=data_of(columns),
        extracted=extracted_of(columns),
        **about,
    )
    return page if text is None and markdown is None else with_content(page, text, markdown)
