"""Feeds and job files in XML: a tree enters, jobs leave. RSS 0.9 to 2.0, RDF, Atom, Personio's file, lists of <job>.

Elements count by their name without the prefix, because every job namespace chose another one for the same words.
"""

from __future__ import annotations

import re
from typing import Final

from comity.extract.jobs.addresses import resolve
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
            "closingdate",
            "validthrough",
            "expires",
            "expirationdate",
            "expirydate",
            "expiry",
            "enddate",
            "enddate",
            "applicationdeadline",
            "dateclosing",
            "closedate",
        ),
    ),
    ("posted_raw", ("pubdate", "published", "date", "dateposted", "createdat", "issued", "created", "updated")),
    ("employment_raw", ("employmenttype", "jobtype", "jobtype", "type", "contracttype", "schedule", "jobtypes")),
    ("workplace_raw", ("remotestatus", "remote", "workplacetype", "worklocationtype", "workplace")),
    ("level_raw", ("seniority", "experience", "level", "grade", "careerlevel")),
    ("reference", ("referencenumber", "reference", "requisitionid", "jobid", "jobid", "refnumber", "id")),
)
_PLACES: Final = (
    "location",
    "joblocation",
    "joblocation",
    "office",
    "dutystation",
    "dutystation",
    "place",
    "regionname",
)
_PERSONIO: Final = re.compile(r"^(https?://[^/]+)/")


def read_feed(root: XmlNode, *, url: str) -> tuple[list[JobFound], str]:
    """Take the jobs of a feed, and the address of its next page."""
    channel = root.first("channel") or root
    base = root.attributes.get("xml:base") or channel.attributes.get("xml:base") or url
    base = resolve(base, url) or url
    language = (channel.say("language") or root.attributes.get("xml:lang") or "")[:20]
    found: list[JobFound] = []
    for item in _items(root):
        job_found = _job(item, base=base, url=url, language=language)
        if job_found is not None:
            found.append(job_found)
        if len(found) >= MOST_JOBS:
            break
    return found, _next(root, channel, base)


def is_feed(root: XmlNode) -> bool:
    """Whether the root is one that holds items, even none of them."""
    return root.name in ("rss", "feed", "rdf", "workzagjobs", "source", "jobs", "channel", "positions", "vacancies")


def _items(root: XmlNode) -> list[XmlNode]:
    """Elements that stand for a job; the outermost of them where they nest."""
    items: list[XmlNode] = []
    waiting = list(reversed(root.children))
    while waiting and len(items) < MOST_JOBS * 2:
        node = waiting.pop()
        if node.name in _ITEMS and (node.first("title", "name", "jobtitle", "jobtitle", "position")):
            items.append(node)
        else:
            waiting.extend(reversed(node.children))
    return items


def _job(item: XmlNode, *, base: str, url: str, language: str) -> JobFound | None:
    title = plain(item.say("title", "jobtitle", "jobtitle", "name", "position"))
    fields = {name: item.say(*elements) for name, elements in _FIELDS}
    description = item.say("description", "summary", "encoded", "content", "body")
    if not description:
        blocks = item.first("jobdescriptions")
        description = blocks.say("jobdescription") if blocks else ""
    for name, value in labelled_fields(plain(description, 4000)).items():
        # Feeds of ordinary sites write place and deadline into the text.
        if not fields.get(name) and name in ("deadline_raw", "location_raw"):
            fields[name] = value
    if place := _place(item):
        fields["location_raw"] = place
    fields["country_raw"] = item.say("country")
    return job(
        title=title,
        apply_url=_link(item, base, url),
        found_by=FoundBy.FEED,
        description_snippet=description,
        language=item.attributes.get("xml:lang") or language,
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


def _link(item: XmlNode, base: str, url: str) -> str:
    """Where the job is found: its link, else a guid that is an address, else what the system is known to use."""
    best = ""
    for node in item.all("link"):
        href = node.attributes.get("href") or node.own_text
        if href and node.attributes.get("rel", "alternate") == "alternate" and not best:
            best = resolve(href, base)
    for name in ("url", "applyurl", "applyurl", "joburl", "applicationurl", "applicationurl"):
        if not best and (said := item.say(name)):
            best = resolve(said, base)
    if not best:
        guid = item.first("guid", "id")
        said = guid.own_text if guid else ""
        if said.startswith(("http://", "https://")):
            best = resolve(said, base)
    if not best and item.attributes.get("rdf:about"):
        best = resolve(item.attributes["rdf:about"], base)
    if not best and (origin := _PERSONIO.match(url)) and (number := item.say("id")) and number.isdigit():
        best = f"{origin[1]}/job/{number}"
    return best


def _next(root: XmlNode, channel: XmlNode, base: str) -> str:
    """The next page of a feed (RFC 5005 §3)."""
    for node in (*root.all("link"), *channel.all("link")):
        if node.attributes.get("rel") == "next" and (href := node.attributes.get("href")):
            return resolve(href, base)
    return ""
