"""JSON that plainly has items, none of which can be used: a value enters; what is missing, and what a hint would say.

Such an answer says nothing about openings: an interface that renamed `title` has as many as the day before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from comity.extract.jobs.addresses import query_of, resolve
from comity.extract.jobs.json_api.items import (
    LIST_NAME,
    MOST_NODES,
    fields_of,
    first_value,
    is_keyed_by_number,
    unwrapped,
)
from comity.extract.jobs.words.titles import is_job_title

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
    lack = "a title" if not has_title else "an address" if not has_address else "anything that tells a job"
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
