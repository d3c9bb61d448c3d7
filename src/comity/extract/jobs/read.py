"""One body of a source, read: octets enter; a `Listing` leaves, with its jobs or the reason why there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from comity.extract.jobs.addresses import posting_key, resolve, same_page
from comity.extract.jobs.feed import is_feed, read_feed
from comity.extract.jobs.html_listing import read_page
from comity.extract.jobs.mapping import has_items, mapped_jobs
from comity.extract.jobs.octets import BodyKind, json_of, kind_of, text_of, tree_of
from comity.extract.jobs.paging import is_onward
from comity.extract.jobs.plain_json import next_in_json, plain_jobs, trouble_in, without_addresses
from comity.extract.jobs.systems import find_system, next_offset, system_jobs
from comity.extract.jobs.values import first_said
from comity.extract.jobs.xml_tree import is_ended, read_xml
from comity.model.job import FoundBy, JobFound, Listing, ListingKind, SourceType
from comity.model.parser_hint import MappingHint, ParserHint, SystemHint

MOST_JOBS: Final = 5_000


def read_listing(
    body: bytes, *, url: str, content_type: str | None, source_type: SourceType, hint: ParserHint | None = None
) -> Listing:
    """Read the jobs of one page, feed or answer; the body decides what it is, the source's type only in doubt."""
    kind = kind_of(body, content_type)
    if kind is BodyKind.UNREADABLE:
        return Listing(
            ListingKind.UNREADABLE, message="neither a page, nor a feed, nor JSON" if body else "the body is empty"
        )
    if kind is BodyKind.JSON:
        listing = _read_json(text_of(body, content_type), url, hint)
    elif kind is BodyKind.XML:
        listing = _read_xml(body, url, content_type, source_type, hint)
    else:
        listing = read_page(tree_of(body, content_type), body=body, url=url, hint=hint)
    return _tidied(listing, url)


def _read_json(text: str, url: str, hint: ParserHint | None) -> Listing:
    value = json_of(text)
    if value is None:
        return Listing(ListingKind.UNREADABLE, message="the answer is not JSON that can be read")
    listing = _read_value(value, url, hint)
    if not listing.jobs and (trouble := trouble_in(value)):
        return Listing(ListingKind.ERROR_PAGE, message=trouble)  # an empty list beside it says nothing about jobs
    return listing


def _read_value(value: object, url: str, hint: ParserHint | None) -> Listing:
    if isinstance(hint, MappingHint):
        jobs = mapped_jobs(
            value, hint, url=url, found_by=FoundBy.HINT, context={"origin": "/".join(url.split("/", 3)[:3]), "url": url}
        )
        following = resolve(first_said(hint.next, value, {"url": url}), url) if hint.next else next_in_json(value, url)
        if not jobs and not has_items(value, hint):
            return Listing(ListingKind.NOTHING_FOUND, message="the hint's path “items” is not in the answer")
        return _listed(jobs, following, empty=ListingKind.NO_OPENINGS, message="the answer holds no items")
    known = find_system(value, url, hint.system if isinstance(hint, SystemHint) else None)
    if known is not None:
        row, context = known
        jobs = system_jobs(value, row, context, url=url)
        following = (
            next_offset(value, row, url)
            or resolve(first_said(row.mapping.next, value), url)
            or next_in_json(value, url)
        )
        return _listed(jobs, following, empty=ListingKind.NO_OPENINGS, message=f"{row.system} answers with no jobs")
    jobs = plain_jobs(value, url=url)
    if not jobs and _is_empty_list(value):
        return Listing(ListingKind.NO_OPENINGS, message="the answer holds an empty list")
    message = "" if jobs else without_addresses(value, url=url)
    return _listed(
        jobs,
        next_in_json(value, url),
        empty=ListingKind.NOTHING_FOUND,
        message=message or "nothing in the answer looks like jobs",
    )


def _is_empty_list(value: object) -> bool:
    """An answer whose only list is empty: of jobs there are none."""
    if isinstance(value, list):
        return not value
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
        names = [key.lower() for key, inner in value.items() if isinstance(inner, list)]
        known = (
            "jobs",
            "results",
            "items",
            "data",
            "offers",
            "content",
            "postings",
            "jobpostings",
            "result",
            "vacancies",
            "positions",
        )
        return bool(lists) and not any(lists) and any(name in known for name in names)
    return False


def _read_xml(
    body: bytes, url: str, content_type: str | None, source_type: SourceType, hint: ParserHint | None
) -> Listing:
    text = text_of(body, content_type)
    root = read_xml(text)
    if root.name == "html" or (not is_feed(root) and source_type is SourceType.HTML):
        return read_page(tree_of(body, content_type), body=body, url=url, hint=hint)
    jobs, following = read_feed(root, url=url)
    if jobs or is_feed(root):
        listing = _listed(jobs, following, empty=ListingKind.NO_OPENINGS, message="the feed holds no items")
        if is_ended(text, root):
            return listing
        if jobs[1:]:  # the last may be torn in the middle of its address
            return replace(listing, jobs=tuple(jobs[:-1]), message="the feed breaks off", is_cut=True)
        return Listing(ListingKind.UNREADABLE, message="the feed breaks off")
    return Listing(ListingKind.UNREADABLE, message="not a feed that can be read")


def _listed(jobs: list[JobFound], following: str, *, empty: ListingKind, message: str) -> Listing:
    if jobs:
        return Listing(ListingKind.JOBS, tuple(jobs), following or None)
    return Listing(empty, (), None, message)


def _tidied(listing: Listing, url: str) -> Listing:
    """Each posting once, at most so many, and a next page that leads on."""
    following = listing.next_url
    if following is not None and not (is_onward(following, url) or listing.is_elsewhere):
        following = None
    return replace(listing, jobs=tuple(distinct(listing.jobs, url))[:MOST_JOBS], next_url=following)


def distinct(jobs: tuple[JobFound, ...] | list[JobFound], url: str) -> list[JobFound]:
    """Postings with one address, or one reference and title, are one; the fuller one stays."""
    places: dict[str, int] = {}
    kept: list[JobFound] = []
    for found in jobs:
        # Where jobs have no address of their own they share the page's, and only the title tells them apart.
        shared = same_page(found.apply_url, url) and "#" not in found.apply_url
        # One document may hold two calls: what is called differently is something else.
        title = found.title.lower()
        keys = [f"url {title} {found.location_raw}" if shared else f"{posting_key(found.apply_url)} {title}"]
        if found.reference and len(found.reference) > 2:
            keys.append(f"reference {found.reference} {title}")
        place = next((places[key] for key in keys if key in places), None)
        if place is None:
            place = len(kept)
            kept.append(found)
        elif _fullness(found) > _fullness(kept[place]):
            kept[place] = found
        for key in keys:
            places.setdefault(key, place)
    return kept


def _fullness(found: JobFound) -> int:
    return sum(
        map(bool, (found.location_raw, found.deadline_raw, found.employment_raw, found.org_name, found.reference))
    )
