"""JSON Feed (jsonfeed.org, version 1 and 1.1): takes a value, returns jobs; an item needs no address of its own."""

from __future__ import annotations

from typing import NamedTuple

from comity.extract.jobs.addresses import resolve
from comity.extract.jobs.json_api.items import MOST_JOBS, fields_of, first_value
from comity.extract.jobs.json_api.values import text_of_value
from comity.extract.jobs.text import job, plain
from comity.extract.jobs.words.labels import labelled_fields
from comity.model.job import ExtractionMethod, JobFound


class JsonFeedRead(NamedTuple):
    """What a feed holds."""

    jobs: list[JobFound]
    items: int
    title: str
    recordings: int


def is_json_feed(value: object) -> bool:
    """Whether a value says that it is a feed."""
    return isinstance(value, dict) and "jsonfeed.org/version" in str(value.get("version", ""))[:100]


def read_json_feed(value: object, *, url: str) -> JsonFeedRead:
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
