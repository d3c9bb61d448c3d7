"""Feeds and job files in XML: a tree enters, jobs leave. RSS 0.9 to 2.0, RDF, Atom, Personio's file, lists of <job>.

Elements count by their name without the prefix, because every job namespace chose another one for the same words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from comity.extract.jobs.addresses import resolve
from comity.extract.jobs.feed_links import FeedPage, identifier_of, link_of
from comity.extract.jobs.text import job, plain
from comity.extract.jobs.words_labels import labelled_fields
from comity.extract.jobs.xml_tree import XmlNode
from comity.model.job import FoundBy, JobFound

MOST_JOBS: Final = 5_000
_ITEMS: Final = frozenset({"item", "entry", "position", "job", "vacancy", "jobposting", "offer", "offre", "stelle"})
_FIELDS: Final = (
    (
        "org_name",
        ("company", "employer", "organisation", "organization", "hiringorganization", "companyname", "subcompany"),
    ),
    (
        "deadline_raw",
        (
            "deadline",
            "closingdate",
            "validthrough",
            "expires",
            "expirationdate",
            "expirydate",
            "expiry",
            "enddate",
            "applicationdeadline",
            "dateclosing",
            "closedate",
        ),
    ),
    ("posted_raw", ("pubdate", "published", "date", "dateposted", "createdat", "issued", "created", "updated")),
    ("employment_raw", ("employmenttype", "jobtype", "type", "contracttype", "schedule", "jobtypes")),
    ("workplace_raw", ("remotestatus", "remote", "workplacetype", "worklocationtype", "workplace")),
    ("level_raw", ("seniority", "experience", "level", "grade", "careerlevel")),
    ("reference", ("referencenumber", "reference", "requisitionid", "jobid", "refnumber")),
)
_TITLES: Final = ("title", "jobtitle", "name", "position")
_PLACES: Final = ("location", "joblocation", "office", "dutystation", "place", "regionname")
_ROOTS: Final = frozenset(
    {"rss", "feed", "rdf", "workzagjobs", "source", "jobs", "channel", "positions", "vacancies", "joblist", "jobfeed"}
)
# What a feed says of itself: with elements inside, and yet no item.
_ABOUT_THE_FEED: Final = frozenset(
    {"image", "textinput", "cloud", "author", "contributor", "owner", "skiphours", "skipdays", "items", "category"}
    | {"generator", "publisher", "license", "group", "managingeditor", "info"}
)
_LEAST_OF_AN_ITEM: Final = 2


class FeedRead(NamedTuple):
    """What a feed holds."""

    jobs: list[JobFound]
    items: int
    """How many items are there, whether or not they can be used."""
    item_name: str
    next_url: str
    is_whole: bool
    """Whether it goes on to its end; a server that falls over in the middle leaves that out."""
    title: str
    recordings: int
    """How many items bring sound or film."""


class _Item(NamedTuple):
    node: XmlNode
    base: str
    language: str


def read_feed(root: XmlNode, *, url: str) -> FeedRead:
    """Take the jobs of a feed; of one that breaks off, those that came whole."""
    channel = root.first("channel") or root
    base = resolve(root.attributes.get("xml:base", ""), url) or url
    base = resolve(channel.attributes.get("xml:base", ""), base) or base
    page = FeedPage(url, link_of(channel, base) or url, is_personio=root.name == "workzagjobs")
    language = (channel.say("language") or root.attributes.get("xml:lang") or "")[:20]
    is_whole = root.is_closed or channel.is_closed
    items = [item for item in _items(root, url, language) if is_whole or item.node.is_closed]
    found: list[JobFound] = []
    for item in items:
        job_found = _job(item, page)
        if job_found is not None:
            found.append(job_found)
        if len(found) >= MOST_JOBS:
            break
    name, count = (items[0].node.name, len(items)) if items else _unknown_items(channel)
    recordings = sum(any(map(_is_recording, item.node.children)) for item in items)
    return FeedRead(found, count, name, _next(root, channel, base), is_whole, plain(channel.say("title")), recordings)


def is_feed(root: XmlNode) -> bool:
    """Whether the root is one that holds items, even none of them."""
    return root.name in _ROOTS


def _items(root: XmlNode, url: str, language: str) -> Iterator[_Item]:
    """Elements that stand for a job, with what their addresses are relative to; the outermost where they nest."""
    waiting = [_Item(root, url, language)]
    count = 0
    while waiting and count < MOST_JOBS * 2:
        node, base, spoken = waiting.pop()
        # XML Base §4: each one is relative to that of the element around it.
        base = resolve(node.attributes.get("xml:base", ""), base) or base
        spoken = node.attributes.get("xml:lang", spoken)[:20]
        if node.name in _ITEMS and node is not root and _is_outermost(node):
            count += 1
            yield _Item(node, base, spoken)
        else:
            waiting.extend(_Item(child, base, spoken) for child in reversed(node.children))


def _is_outermost(node: XmlNode) -> bool:
    """Whether an element is an item itself, and not one around others."""
    if node.first(*_TITLES):
        return True
    return bool(node.children) and not any(child.name in _ITEMS and child.children for child in node.children)


def _unknown_items(channel: XmlNode) -> tuple[str, int]:
    """Elements that are built like items, but have no name that we know."""
    names: dict[str, int] = {}
    for child in channel.children:
        if len(child.children) >= _LEAST_OF_AN_ITEM and child.name not in _ABOUT_THE_FEED:
            names[child.name] = names.get(child.name, 0) + 1
    return max(names.items(), key=lambda pair: pair[1], default=("", 0))


def _is_recording(node: XmlNode) -> bool:
    return node.name == "enclosure" and node.attributes.get("type", "").startswith(("audio/", "video/"))


def _job(item: _Item, page: FeedPage) -> JobFound | None:
    node = item.node
    fields = {name: node.say(*elements) for name, elements in _FIELDS}
    description = node.say("description", "summary", "encoded", "content", "body")
    if not description:
        blocks = node.first("jobdescriptions")
        description = blocks.say("jobdescription") if blocks else ""
    for name, value in labelled_fields(plain(description, 4000)).items():
        # Feeds of ordinary sites write place and deadline into the text.
        if not fields.get(name) and name in ("deadline_raw", "location_raw"):
            fields[name] = value
    if place := _place(node):
        fields["location_raw"] = place
    fields["country_raw"] = node.say("country")
    address = link_of(node, item.base, page)
    # A name that the feed made up for itself is no number of the employer; without a link it is all there is.
    identifier = node.say("id") if address else identifier_of(node)
    if not fields["reference"] and not (address and ":" in identifier):
        fields["reference"] = identifier.rstrip("/").replace("/", ":").rpartition(":")[2]
    return job(
        title=node.say(*_TITLES),
        apply_url=address or page.home,
        found_by=FoundBy.FEED,
        description_snippet=description,
        language=item.language,
        **fields,
    )


def _place(item: XmlNode) -> str:
    """Where the job is: one element, several, or city and country apart."""
    places = [_address(node) for node in item.all(*_PLACES)]
    for group in item.all("locations", "additionaloffices", "offices"):
        places += [_address(node) for node in group.children]
    said = list(dict.fromkeys(filter(None, map(plain, places))))
    if said:
        return "; ".join(said[:20])
    parts = [plain(item.say(name)) for name in ("city", "state", "region", "country")]
    return ", ".join(dict.fromkeys(filter(None, parts)))


def _address(node: XmlNode) -> str:
    if not node.children or node.own_text:
        return node.own_text
    named = node.say("name", "title", "formatted")
    parts = [
        node.say(name) for name in ("city", "addresslocality", "region", "addressregion", "country", "addresscountry")
    ]
    joined = ", ".join(dict.fromkeys(filter(None, parts)))
    return joined or named or node.text


def _next(root: XmlNode, channel: XmlNode, base: str) -> str:
    """The next page of a feed (RFC 5005 §3)."""
    for node in (*root.all("link"), *channel.all("link")):
        if node.attributes.get("rel") == "next" and (href := node.attributes.get("href")):
            return resolve(href, base)
    return ""
