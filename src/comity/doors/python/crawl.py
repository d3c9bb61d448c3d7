"""`comity.crawl`: the user's options, checked before anything is opened or fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from comity.doors.python.crawl_run import CrawlRun
from comity.doors.python.crawl_task import CrawlPlan
from comity.doors.python.options import TEMPORARY, Place, settings_for
from comity.doors.python.user_code import Sink, UserExtractor, check_user_code, split_extract
from comity.model.errors import BadInput
from comity.model.host import Seed
from comity.rules.seed_list import read_seed
from comity.run.crawl.columns import read_columns
from comity.run.crawl.sites import with_page_limit
from comity.run.remedies import with_remedies
from comity.settings import Settings
from comity.store.target import read_target


def crawl(
    *seeds: str | Iterable[str],
    into: Place | None = None,
    state: Place | None = None,
    max_pages: int | None = None,
    max_depth: int | None = None,
    max_minutes: float | None = None,
    delay: float | None = None,
    concurrency: int | None = None,
    per_host: int | None = None,
    follow_links: bool | None = None,
    sitemaps: bool | None = None,
    respect_nofollow: bool | None = None,
    follow_canonical: bool | None = None,
    accept: Iterable[str] | None = None,
    reject: Iterable[str] | None = None,
    max_response_bytes: int | None = None,
    timeout: float | None = None,
    connect_timeout: float | None = None,
    first_byte_timeout: float | None = None,
    retries: int | None = None,
    max_retry_backoff: float | None = None,
    user_agent: str | None = None,
    contact: str | None = None,
    allow_networks: Iterable[str] | None = None,
    extract: UserExtractor | str | Iterable[str | UserExtractor] | None = None,
    sink: Sink | None = None,
    errors: bool = False,
    refresh: bool = False,
    update_stale: bool | None = None,
    images: bool | None = None,
    max_image_bytes: int | None = None,
) -> CrawlRun:
    """Crawl whole sites, politely: iterate the result by `for` or `async for` to get its pages.

    Seeds are URLs or hosts. docs/python.md describes the options; those that are not given come from the environment
    (`COMITY_…`). Nothing is opened before the first page is asked for; what cannot be used is a `BadInput` at once.
    """
    own_extractor, columns = split_extract(extract)
    settings = settings_for(
        None if state == TEMPORARY else state,
        pages=into,
        max_pages=max_pages,
        max_depth=max_depth,
        max_minutes=max_minutes,
        delay_s=delay,
        concurrency=concurrency,
        per_host=per_host,
        follow_links=follow_links,
        sitemaps=sitemaps,
        respect_nofollow=respect_nofollow,
        follow_canonical=follow_canonical,
        accept_types=_listed(accept),
        reject_types=_listed(reject),
        max_response_bytes=max_response_bytes,
        fetch_timeout_s=timeout,
        connect_timeout_s=connect_timeout,
        first_byte_timeout_s=first_byte_timeout,
        retries=retries,
        max_retry_backoff_seconds=max_retry_backoff,
        user_agent=user_agent,
        contact=contact,
        allow_networks=_listed(allow_networks),
        update_stale=update_stale,
        extract=read_columns(columns, "extract") if columns else None,
        images=images,
        max_image_bytes=max_image_bytes,
    )
    is_refresh = refresh or bool(update_stale)
    return CrawlRun(_plan(settings, seeds, max_pages, into, state, own_extractor, sink, errors, is_refresh))


def _plan(
    settings: Settings,
    seeds: Iterable[str | Iterable[str]],
    max_pages: int | None,
    into: Place | None,
    state: Place | None,
    extract: UserExtractor | None,
    sink: Sink | None,
    errors: bool,
    refresh: bool,
) -> CrawlPlan:
    """Check the seeds, the target and the user's code."""
    read = _read(seeds, settings)
    settings = with_page_limit(settings, max_pages, {seed.host.authority for seed in read})
    stores, temporary = _stores(settings, into, state, extract, sink), state == TEMPORARY
    return CrawlPlan(settings, read, extract, sink, stores, errors, temporary, refresh)


def _read(seeds: Iterable[str | Iterable[str]], settings: Settings) -> tuple[Seed, ...]:
    read = tuple(read_seed(text, collapse=settings.collapse_subdomains) for text in _texts(seeds))
    if not read:
        raise BadInput("nothing to crawl: give a URL such as https://example.com/")
    return read


@with_remedies()
def _stores(
    settings: Settings, into: Place | None, state: Place | None, extract: UserExtractor | None, sink: Sink | None
) -> bool:
    """Whether pages are stored; an impossible target or sink is refused before anything is created."""
    check_user_code(extract, sink)
    stores = into is not None or (sink is None and state != TEMPORARY)
    if stores:
        read_target(settings.pages)
    return stores


def _texts(seeds: Iterable[str | Iterable[str]]) -> Iterator[str]:
    """One seed, several, or lists of them."""
    for each in seeds:
        for text in (each,) if isinstance(each, str) else each:
            if not isinstance(text, str):
                raise TypeError(f"a seed must be a string such as https://example.com/, not {type(text).__name__}")
            yield text


def _listed(values: Iterable[str] | None) -> tuple[str, ...] | None:
    """A list of strings; one string alone is a list of one."""
    if values is None:
        return None
    return (values,) if isinstance(values, str) else tuple(values)
