"""One JSON answer, read: text enters; a `Listing` leaves, with its jobs or the reason why there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from comity.extract.decode import parse_json
from comity.extract.jobs.addresses import resolve
from comity.extract.jobs.feeds.feed import no_jobs_because
from comity.extract.jobs.feeds.json_feed import is_json_feed, read_json_feed
from comity.extract.jobs.json_api.items import MOST_JOBS, counted_jobs, next_in_json, trouble_in
from comity.extract.jobs.json_api.mapping import has_items, items_of, mapped_jobs, members_at, missing_in
from comity.extract.jobs.json_api.unusable import count_items, counts_more, unread_items
from comity.extract.jobs.json_api.values import first_filled
from comity.extract.jobs.structured import postings_in
from comity.extract.jobs.systems.answers import find_system, missing_in_system, next_offset, system_items, system_jobs
from comity.model.job import ExtractionMethod, JobFound, Listing, ListingKind
from comity.model.parser_hint import MappingHint, ParserHint, SystemHint

_NAMES: Final = "jobs results items data offers content postings jobpostings result vacancies positions openings"
_COUNTED: Final = "the answer counts {}, but lists none"
_LISTS_OF_JOBS: Final = frozenset(_NAMES.split())


def read_json(text: str, url: str, hint: ParserHint | None) -> Listing:
    """Read the jobs of an answer."""
    value = parse_json(text)
    if value is None:
        return Listing(ListingKind.UNREADABLE, message="the answer is not JSON that can be read")
    listing = _read(value, url, hint)
    if not listing.jobs and (trouble := trouble_in(value)):
        return Listing(ListingKind.ERROR_PAGE, message=trouble)  # an empty list beside it says nothing about jobs
    if listing.kind is ListingKind.NO_OPENINGS and (count := counts_more(value, url)):
        return Listing(ListingKind.LAYOUT_CHANGED, message=_COUNTED.format(count))
    return listing


def with_unusable(jobs: list[JobFound], items: int, following: str, what: str) -> Listing:
    """Jobs of a page with so many items; where most items cannot be used, those that are gone may be among them."""
    listing = Listing(ListingKind.JOBS, tuple(jobs), following or None)
    if len(jobs) >= MOST_JOBS and items > len(jobs):
        return replace(listing, is_cut=True, message=f"more than {MOST_JOBS:,} jobs on one page")
    if items > 2 * len(jobs):
        return replace(listing, is_cut=True, message=f"{items - len(jobs)} of {items} {what} cannot be used")
    return listing


def _read(value: object, url: str, hint: ParserHint | None) -> Listing:
    if isinstance(hint, MappingHint):
        return _by_hint(value, url, hint)
    known = find_system(value, url, hint.system if isinstance(hint, SystemHint) else None)
    if known is not None:
        row, context = known
        jobs, items = system_jobs(value, row, context, url=url), system_items(value, row)
        if not jobs and items:
            missing = missing_in_system(items, row, context)
            message = f"{row.system} answers with {count_items(len(items))}, but {missing}"
            return Listing(ListingKind.LAYOUT_CHANGED, message=message)
        following = (
            next_offset(value, row, url)
            or resolve(first_filled(row.mapping.next, value), url)
            or next_in_json(value, url)
        )
        if not jobs:
            return Listing(ListingKind.NO_OPENINGS, message=f"{row.system} answers with no jobs")
        return with_unusable(jobs, len(items), following, "items")
    if is_json_feed(value) and next(postings_in(value), None) is None:
        return _feed(value, url)
    jobs, count = counted_jobs(value, url=url)
    if jobs:
        return with_unusable(jobs, count, next_in_json(value, url), "items")
    if _is_empty_list(value):
        return Listing(ListingKind.NO_OPENINGS, message="the answer holds an empty list")
    if unread := unread_items(value, url):
        kind = ListingKind.LAYOUT_CHANGED if unread.is_unusable else ListingKind.NOTHING_FOUND
        return Listing(kind, message=unread.message)
    if count := counts_more(value, url):
        return Listing(ListingKind.LAYOUT_CHANGED, message=_COUNTED.format(count))
    return Listing(ListingKind.NOTHING_FOUND, message="nothing in the answer looks like jobs")


def _by_hint(value: object, url: str, hint: MappingHint) -> Listing:
    context = {"origin": "/".join(url.split("/", 3)[:3]), "url": url}
    if jobs := mapped_jobs(value, hint, url=url, found_by=ExtractionMethod.HINT, context=context):
        following = (
            resolve(first_filled(hint.next, value, {"url": url}), url) if hint.next else next_in_json(value, url)
        )
        return with_unusable(jobs, members_at(value, hint), following, "items")
    if not has_items(value, hint):
        kind = ListingKind.LAYOUT_CHANGED if unread_items(value, url) else ListingKind.NOTHING_FOUND
        return Listing(kind, message="the hint's path “items” is not in the answer")
    if count := members_at(value, hint):
        missing = missing_in(items_of(value, hint), hint, context)
        message = f"the hint's path “items” leads to {count_items(count)}, but the hint finds no {missing} there"
        return Listing(ListingKind.LAYOUT_CHANGED, message=message)
    return Listing(ListingKind.NO_OPENINGS, message="the answer holds no items")


def _feed(value: object, url: str) -> Listing:
    feed = read_json_feed(value, url=url)
    if other := no_jobs_because(feed.jobs, title=feed.title, url=url, recordings=feed.recordings):
        return Listing(ListingKind.NOTHING_FOUND, message=other)
    if feed.jobs:
        return with_unusable(feed.jobs, feed.items, next_in_json(value, url), "items")
    if feed.items:
        return Listing(ListingKind.LAYOUT_CHANGED, message=f"the feed holds {count_items(feed.items)} without a title")
    return Listing(ListingKind.NO_OPENINGS, message="the feed holds no items")


def _is_empty_list(value: object) -> bool:
    """An answer whose only list is empty: of jobs there are none."""
    if isinstance(value, list):
        return not value
    if isinstance(value, dict):
        lists = {key.lower(): inner for key, inner in value.items() if isinstance(inner, list)}
        return bool(lists) and not any(lists.values()) and not lists.keys().isdisjoint(_LISTS_OF_JOBS)
    return False
