"""`comity.crawl`: the user's options, checked before anything is opened or fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Unpack

from comity.doors.python.crawl_run import CrawlPlan, CrawlRun
from comity.doors.python.options import TEMPORARY, Place, RequestArguments, request_settings, settings_for
from comity.doors.python.user_code import Sink, UserExtractor, check_user_code, split_extract
from comity.model.errors import BadInput
from comity.model.host import Seed
from comity.rules.seed_list import read_seed
from comity.run.crawl.sites import with_page_limit, with_request_options, with_site
from comity.run.remedies import with_remedies
from comity.settings import Settings
from comity.store.column_files import read_columns
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
    text: bool | None = None,
    markdown: bool | None = None,
    include: Iterable[str] | None = None,
    exclude: Iterable[str] | None = None,
    under: bool = False,
    subdomains: bool | None = None,
    site_hosts: Iterable[str] | None = None,
    **requests: Unpack[RequestArguments],
) -> CrawlRun:
    """Crawl whole sites, politely: iterate the result by `for` or `async for` to get its pages.

    Seeds are URLs or hosts; docs/python.md describes the options. What cannot be used is a `BadInput` at once.
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
        max_response_bytes=max_response_bytes,
        user_agent=user_agent,
        contact=contact,
        accept_types=_listed(accept),
        reject_types=_listed(reject),
        allow_networks=_listed(allow_networks),
        update_stale=update_stale,
        **_stored_besides(images, max_image_bytes, text, markdown, columns),
        **_urls(include, exclude, subdomains, site_hosts),
        **request_settings(requests),
    )
    read = _read(seeds, settings)
    settings = _for_seeds(settings, read, max_pages, under)
    stores, temporary = _stores(settings, into, state, own_extractor, sink), state == TEMPORARY
    plan = CrawlPlan(settings, read, own_extractor, sink, stores, errors, temporary, refresh or bool(update_stale))
    return CrawlRun(plan)


@with_remedies()
def _for_seeds(settings: Settings, seeds: tuple[Seed, ...], max_pages: int | None, under: bool) -> Settings:
    """Apply what depends on the seeds: the page limit, the hosts of a site, where headers and credentials go."""
    limited = with_page_limit(settings, max_pages, {seed.host.authority for seed in seeds})
    return with_request_options(with_site(limited, seeds, under=under), seeds)


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


def _stored_besides(
    images: bool | None,
    max_image_bytes: int | None,
    text: bool | None,
    markdown: bool | None,
    columns: Sequence[str],
) -> dict[str, Any]:
    """The settings for what is stored in addition to the pages themselves."""
    extract = read_columns(columns, "extract") if columns else None
    images_too = {"images": images, "max_image_bytes": max_image_bytes}
    return {**images_too, "text": text, "markdown": markdown, "extract": extract}


def _urls(
    include: Iterable[str] | None,
    exclude: Iterable[str] | None,
    subdomains: bool | None,
    site_hosts: Iterable[str] | None,
) -> dict[str, Any]:
    """Which URLs, as settings."""
    lists = {"include": _listed(include), "exclude": _listed(exclude), "site_hosts": _listed(site_hosts)}
    return {**lists, "subdomains": subdomains}


def _listed(values: Iterable[str] | None) -> tuple[str, ...] | None:
    """A list of strings; one string alone is a list of one."""
    if values is None:
        return None
    return (values,) if isinstance(values, str) else tuple(values)
