"""Reading one JSON response: takes text, returns a `Listing` with its jobs, or the reason why there are none.

Items that are plainly there but cannot be used say nothing about openings: an API that renamed `title` has as many jobs
as the day before. The listing then says what is missing and which hint would help.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from comity.extract.jobs.addresses import query_of, resolve
from comity.extract.jobs.feeds import no_jobs_because
from comity.extract.jobs.json_api.items import (
    LIST_NAME,
    MOST_JOBS,
    MOST_NODES,
    counted_jobs,
    fields_of,
    first_value,
    is_keyed_by_number,
    next_in_json,
    trouble_in,
    unwrapped,
)
from comity.extract.jobs.json_api.mapping import (
    first_filled,
    has_items,
    items_of,
    mapped_jobs,
    members_at,
    missing_in,
    text_of_value,
)
from comity.extract.jobs.structured_data import postings_in
from comity.extract.jobs.systems.answers import find_system, missing_in_system, next_offset, system_items, system_jobs
from comity.extract.jobs.text import job, plain
from comity.extract.jobs.words.labels import labelled_fields
from comity.extract.jobs.words.titles import is_job_title
from comity.model.job import ExtractionMethod, JobFound, Listing, ListingKind
from comity.model.parser_hint import MappingHint, ParserHint, SystemHint

_NAMES: Final = "jobs results items data offers content postings jobpostings result vacancies positions openings"
_COUNTED: Final = "the response counts {}, but lists none"
_LISTS_OF_JOBS: Final = frozenset(_NAMES.split())
_LEAST_KEYS: Final = 2
_LONGEST_KEY: Final = 40
_SAMPLE: Final = 20
_SEPARATORS: Final = re.compile(r"[^a-z]+")
_PATH: Final = re.compile(r"(?:\$|[\w-]+)(?:\.[\w-]+)*(?:\[\*\])?")
_COUNT_NAMES: Final = (
    "total totalcount totalfound totaljobs totaljobscount totalresults totalhits totalitems totalelements totalrecords "
    "numfound jobcount jobscount resultcount"
)
_COUNTS: Final = frozenset(_COUNT_NAMES.split())
_HOLDERS: Final = ("meta", "paging", "pagination", "page", "data", "result", "response")
_ONWARD_NAMES: Final = "page p pg offset start from skip startrow startindex first pagenumber pageno pageindex cursor"
_ONWARD: Final = frozenset(_ONWARD_NAMES.split())
_IDENTIFIERS: Final = ("id", "jobid", "slug", "code", "reference", "number", "shortcode", "requisitionid", "key")
CALLBACK: Final = re.compile(r"^[\w$.]{1,80}\(\s*(?=[\[{])")


def read_json(text: str, url: str, hint: ParserHint | None) -> Listing:
    """Read the jobs of an answer."""
    value = parse_json(text)
    if value is None:
        return Listing(ListingKind.UNREADABLE, message="the response is not valid JSON")
    listing = _read(value, url, hint)
    if not listing.jobs and (trouble := trouble_in(value)):
        return Listing(ListingKind.ERROR_PAGE, message=trouble)  # an empty list beside it says nothing about jobs
    if listing.kind is ListingKind.NO_OPENINGS and (count := counts_more(value, url)):
        return Listing(ListingKind.LAYOUT_CHANGED, message=_COUNTED.format(count))
    return listing


def with_unusable(jobs: list[JobFound], items: int, following: str, what: str) -> Listing:
    """The jobs of a page with this many items; if most items cannot be used, closed jobs may be among them."""
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
            message = f"{row.system} returned {count_items(len(items))}, but {missing}"
            return Listing(ListingKind.LAYOUT_CHANGED, message=message)
        following = (
            next_offset(value, row, url)
            or resolve(first_filled(row.mapping.next, value), url)
            or next_in_json(value, url)
        )
        if not jobs:
            return Listing(ListingKind.NO_OPENINGS, message=f"{row.system} lists no jobs")
        return with_unusable(jobs, len(items), following, "items")
    if _is_json_feed(value) and next(postings_in(value), None) is None:
        return _feed(value, url)
    jobs, count = counted_jobs(value, url=url)
    if jobs:
        return with_unusable(jobs, count, next_in_json(value, url), "items")
    if _is_empty_list(value):
        return Listing(ListingKind.NO_OPENINGS, message="the response contains an empty list")
    if unread := unread_items(value, url):
        kind = ListingKind.LAYOUT_CHANGED if unread.is_unusable else ListingKind.NOTHING_FOUND
        return Listing(kind, message=unread.message)
    if count := counts_more(value, url):
        return Listing(ListingKind.LAYOUT_CHANGED, message=_COUNTED.format(count))
    return Listing(ListingKind.NOTHING_FOUND, message="nothing in the response looks like jobs")


def _by_hint(value: object, url: str, hint: MappingHint) -> Listing:
    context = {"origin": "/".join(url.split("/", 3)[:3]), "url": url}
    if jobs := mapped_jobs(value, hint, url=url, found_by=ExtractionMethod.HINT, context=context):
        following = (
            resolve(first_filled(hint.next, value, {"url": url}), url) if hint.next else next_in_json(value, url)
        )
        return with_unusable(jobs, members_at(value, hint), following, "items")
    if not has_items(value, hint):
        kind = ListingKind.LAYOUT_CHANGED if unread_items(value, url) else ListingKind.NOTHING_FOUND
        return Listing(kind, message="the hint's path “items” is not in the response")
    if count := members_at(value, hint):
        missing = missing_in(items_of(value, hint), hint, context)
        message = f"the hint's path “items” leads to {count_items(count)}, but the hint finds no {missing} there"
        return Listing(ListingKind.LAYOUT_CHANGED, message=message)
    return Listing(ListingKind.NO_OPENINGS, message="the response contains no items")


def _feed(value: object, url: str) -> Listing:
    feed = _read_json_feed(value, url=url)
    if other := no_jobs_because(feed.jobs, title=feed.title, url=url, recordings=feed.recordings):
        return Listing(ListingKind.NOTHING_FOUND, message=other)
    if feed.jobs:
        return with_unusable(feed.jobs, feed.items, next_in_json(value, url), "items")
    if feed.items:
        return Listing(
            ListingKind.LAYOUT_CHANGED, message=f"the feed contains {count_items(feed.items)} without a title"
        )
    return Listing(ListingKind.NO_OPENINGS, message="the feed contains no items")


def _is_empty_list(value: object) -> bool:
    """An answer whose only list is empty: of jobs there are none."""
    if isinstance(value, list):
        return not value
    if isinstance(value, dict):
        lists = {key.lower(): inner for key, inner in value.items() if isinstance(inner, list)}
        return bool(lists) and not any(lists.values()) and not lists.keys().isdisjoint(_LISTS_OF_JOBS)
    return False


def parse_json(text: str) -> object | None:
    """Read a JSON answer, also behind the usual guards and callbacks; None if it is none."""
    text = text.strip().removeprefix("\ufeff")
    for guard in (")]}',", ")]}'", "while(1);", "for(;;);"):
        text = text.removeprefix(guard)
    if callback := CALLBACK.match(text):
        text = text[callback.end() :].rstrip().rstrip(";").rstrip().removesuffix(")")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


class UnusableItems(NamedTuple):
    """Why nothing was read from the items of an answer."""

    message: str
    is_unusable: bool
    """Whether something that every job has is missing; else they look like something other than jobs."""


class _Items(NamedTuple):
    path: str
    members: list[dict[str, object]]


def unread_items(value: object, url: str) -> UnusableItems | None:
    """What is wrong with the items of an answer that nothing could be read from; None if it has none."""
    found = _largest(value)
    if found is None:
        return None
    if not found.members:
        return UnusableItems(f"the list “{found.path[:60]}” holds no objects", is_unusable=True)
    members = [unwrapped(member) for member in found.members[:_SAMPLE]]
    fields = fields_of(members)
    titles = fields.get("title", [])
    has_title = any(first_value(member, titles) for member in members)
    has_address = any(resolve(first_value(member, fields.get("apply_url", [])), url) for member in members)
    lack = "a title" if not has_title else "an address" if not has_address else "anything that identifies a job"
    example = _hint(found.path, members, fields, url)
    message = f"{count_items(len(found.members))} without {lack}; if they are jobs, set parser_hint, such as {example}"
    return UnusableItems(message, not (has_title and has_address))


def count_items(count: int) -> str:
    """A number of items in words."""
    return "1 item" if count == 1 else f"{count} items"


def counts_more(value: object, url: str) -> int:
    """How many items an answer counts that lists none; 0 where that is only the page behind the last."""
    if not isinstance(value, dict):
        return 0
    for name, said in query_of(url).items():
        is_first = said in ("", "0") or (said == "1" and "page" in name.lower())
        if name.lower() in _ONWARD and not is_first:
            return 0
    listed = value.get("items")
    first = listed[0] if isinstance(listed, list) and listed else None  # as Oracle wraps its answers
    for holder in (value, first, *(value.get(name) for name in _HOLDERS)):
        for key, count in holder.items() if isinstance(holder, dict) else ():
            is_count = isinstance(count, int) and not isinstance(count, bool) and 0 < count < 10_000_000
            if is_count and _SEPARATORS.sub("", key.lower()) in _COUNTS:
                return int(count)
    return 0


def _largest(value: object) -> _Items | None:
    """The list that most likely holds the items: one that is named after jobs, else the longest."""
    best: tuple[tuple[bool, int], _Items] | None = None
    is_said_empty = False
    for path, members in _lists(value):
        is_named = LIST_NAME.search(path.rpartition(".")[2].removesuffix("[*]")) is not None
        least = 1 if is_named else _LEAST_KEYS
        objects = [member for member in members if isinstance(member, dict) and len(member) >= least]
        is_said_empty = is_said_empty or (is_named and not members)
        rank = (is_named, len(objects))
        if (objects or (is_named and members)) and (best is None or rank > best[0]):
            best = (rank, _Items(path, objects))
    if best is None or (is_said_empty and not best[0][0]):
        return None  # its jobs are none, and the other lists are filters and the like
    return best[1]


def _lists(value: object) -> Iterator[tuple[str, list[object]]]:
    """Every list in a value, with the path that leads to it; the walk is bounded."""
    waiting: list[tuple[str, object]] = [("", value)]
    room = MOST_NODES
    while waiting and room:
        room -= 1
        path, node = waiting.pop()
        if isinstance(node, list):
            yield path or "$", node
            waiting.extend((path, member) for member in node if isinstance(member, dict))
        elif isinstance(node, dict):
            if is_keyed_by_number(node):
                yield f"{path or '$'}[*]", list(node.values())
            nested = ((key, inner) for key, inner in node.items() if isinstance(inner, dict | list))
            waiting.extend((f"{path}.{key}".lstrip(".")[:200], inner) for key, inner in nested)


def _hint(path: str, members: list[dict[str, object]], fields: dict[str, list[str]], url: str) -> str:
    """A hint to begin with: keys that are there, and an address to be filled in where none is."""
    title = _key(members, fields.get("title", [])) or _title_key(members)
    address = _key(
        members, [key for key in fields.get("apply_url", []) if resolve(first_value(members[0], [key]), url)]
    )
    if not address:
        names = {_SEPARATORS.sub("", key.lower()): key for key in members[0]}
        number = next((names[name] for name in _IDENTIFIERS if name in names), "id")
        address = f"{'/'.join(url.split('/', 3)[:3])}/jobs/{{{number[:_LONGEST_KEY]}}}"
    items = path if _PATH.fullmatch(path) else "…"
    hint = {"items": items, "title": title or "…", "url": address}
    return json.dumps(hint, ensure_ascii=False, separators=(",", ":"))


def _key(members: list[dict[str, object]], keys: list[str]) -> str:
    return next((key[:_LONGEST_KEY] for key in keys if any(first_value(member, [key]) for member in members)), "")


def _title_key(members: list[dict[str, object]]) -> str:
    """The key under which the items have texts that read like titles, or at least differ."""
    best: tuple[tuple[int, int], str] = ((0, 0), "")
    for key in list(members[0])[:100]:
        texts = [text for member in members if isinstance(text := member.get(key), str) and len(text) <= 120]
        texts = [text for text in texts if "://" not in text and sum(map(str.isalpha, text)) > len(text) / 2]
        rank = (sum(map(is_job_title, texts)), len(set(texts)))
        if rank > best[0]:
            best = (rank, key[:_LONGEST_KEY])
    return best[1]


class JsonFeedRead(NamedTuple):
    """What a JSON Feed holds (jsonfeed.org, version 1 and 1.1); an item needs no address of its own."""

    jobs: list[JobFound]
    items: int
    title: str
    recordings: int


def _is_json_feed(value: object) -> bool:
    """Whether a value says that it is a feed."""
    return isinstance(value, dict) and "jsonfeed.org/version" in str(value.get("version", ""))[:100]


def _read_json_feed(value: object, *, url: str) -> JsonFeedRead:
    """Take the jobs of a feed."""
    feed = value if isinstance(value, dict) else {}
    said = feed.get("items")
    items = [item for item in said[: 2 * MOST_JOBS] if isinstance(item, dict)] if isinstance(said, list) else []
    home = resolve(text_of_value(feed.get("home_page_url")), url) or url
    language = text_of_value(feed.get("language"))[:20]
    fields = fields_of([{**item, **_extension(item)} for item in items[:20]])
    jobs = [found for item in items if (found := _job(item, fields, url=url, home=home, language=language))]
    recordings = sum(map(_has_recording, items))
    return JsonFeedRead(jobs[:MOST_JOBS], len(items), plain(text_of_value(feed.get("title"))), recordings)


def _job(
    item: dict[str, object], fields: dict[str, list[str]], *, url: str, home: str, language: str
) -> JobFound | None:
    whole = {**item, **_extension(item)}
    said = {field: first_value(whole, keys) for field, keys in fields.items() if field not in ("title", "apply_url")}
    description = text_of_value(item.get("content_text") or item.get("content_html") or item.get("summary"))
    for name, value in labelled_fields(plain(description, 4000)).items():
        if not said.get(name):
            said[name] = value
    said["description_snippet"] = description
    said["posted_raw"] = text_of_value(item.get("date_published")) or said.get("posted_raw", "")
    said["language"] = text_of_value(item.get("language")) or language
    # Version 1 lets an address be the identifier; a name such as a tag: URI is none of the employer's.
    name = text_of_value(item.get("id"))
    addresses = (resolve(text_of_value(item.get(key)), url) for key in ("url", "external_url"))
    address = next(filter(None, addresses), "") or (resolve(name, url) if name.startswith("http") else "")
    said["reference"] = "" if address else name.rstrip("/").replace("/", ":").rpartition(":")[2]
    return job(
        title=text_of_value(item.get("title")), apply_url=address or home, found_by=ExtractionMethod.FEED, **said
    )


def _extension(item: dict[str, object]) -> dict[str, object]:
    """What publishers add: objects whose name begins with an underscore."""
    added: dict[str, object] = {}
    for key, value in item.items():
        if key.startswith("_") and isinstance(value, dict):
            added |= {name: inner for name, inner in value.items() if name not in item}
    return added


def _has_recording(item: dict[str, object]) -> bool:
    attached = item.get("attachments")
    members = attached[:20] if isinstance(attached, list) else []
    types = (str(member.get("mime_type", "")) for member in members if isinstance(member, dict))
    return any(kind.startswith(("audio/", "video/")) for kind in types)
