"""Structured data of a page: schema.org JobPosting in JSON-LD, microdata or RDFa; takes a tree, returns jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from turbohtml import Document, Element

from comity.extract.jobs.addresses import resolve
from comity.extract.jobs.json_api.mapping import text_of_value
from comity.extract.jobs.text import job, plain
from comity.extract.jobs.words.labels import labelled_fields
from comity.extract.lenient_json import read_lenient
from comity.extract.structured_items import read_item, types_of
from comity.model.job import ExtractionMethod, JobFound

MOST_OBJECTS: Final = 50_000
MOST_POSTINGS: Final = 5_000
_MOST_PLACES: Final = 10
_READ_OF_DESCRIPTION: Final = 8_000
_ADDRESS_PARTS: Final = ("addressLocality", "addressRegion", "addressCountry")


def postings_in(value: object) -> Iterator[dict[str, object]]:
    """Every JobPosting in a value, however deep it lies; the walk is bounded."""
    waiting: list[object] = [value]
    seen = found = 0
    while waiting and seen < MOST_OBJECTS and found < MOST_POSTINGS:
        node = waiting.pop()
        seen += 1
        if isinstance(node, dict):
            if "JobPosting" in types_of(node):
                found += 1
                yield node
            else:
                waiting.extend(inner for inner in reversed(list(node.values())) if isinstance(inner, dict | list))
        elif isinstance(node, list):
            waiting.extend(reversed(node))


def read_posting(
    node: dict[str, object], *, base: str, found_by: ExtractionMethod, language: str = ""
) -> JobFound | None:
    """Read one posting; where it names no address of its own, it gets the page's."""
    title = plain(_text(node.get("title")) or _text(node.get("name")))
    address = ""
    for name in ("url", "sameAs", "@id", "mainEntityOfPage"):
        said = node.get(name)
        said = said[0] if isinstance(said, list) and said else said
        text = said if isinstance(said, str) else _object_address(said)
        if text and not text.startswith("#") and not (name == "@id" and not text.startswith(("http", "/"))):
            address = resolve(text, base)
        if address:
            break
    return job(
        title=title,
        apply_url=address or base,
        found_by=found_by,
        org_name=_organisation(node.get("hiringOrganization")),
        location_raw=_places(node.get("jobLocation")) or _text(node.get("applicantLocationRequirements")),
        description_snippet=_text(node.get("description")),
        deadline_raw=_text(node.get("validThrough"))
        or _text(node.get("applicationDeadline"))
        or labelled_fields(plain(_text(node.get("description")), _READ_OF_DESCRIPTION)).get("deadline_raw", ""),
        posted_raw=_text(node.get("datePosted")),
        employment_raw=", ".join(_texts(node.get("employmentType"))),
        workplace_raw=_text(node.get("jobLocationType")),
        level_raw=_text(node.get("experienceRequirements"))
        if isinstance(node.get("experienceRequirements"), str)
        else "",
        country_raw="; ".join(_countries(node)),
        reference=_reference(node.get("identifier")),
        language=_text(node.get("inLanguage")) or language,
    )


def has_own_address(node: dict[str, object]) -> bool:
    """Whether a posting says where it is found."""
    return any(node.get(name) for name in ("url", "sameAs", "mainEntityOfPage")) or str(node.get("@id", "")).startswith(
        "http"
    )


def _text(value: object) -> str:
    return text_of_value(value)


def _texts(value: object) -> list[str]:
    said = value if isinstance(value, list) else [value]
    return [text for member in said[:20] if (text := _text(member))]


def _object_address(value: object) -> str:
    if isinstance(value, dict):
        said = value.get("@id") or value.get("url")
        return said if isinstance(said, str) else ""
    return ""


def _organisation(value: object) -> str:
    value = value[0] if isinstance(value, list) and value else value
    if isinstance(value, dict):
        return _text(value.get("name")) or _text(value.get("legalName"))
    return _text(value) if not str(value).startswith("http") else ""


def _reference(value: object) -> str:
    value = value[0] if isinstance(value, list) and value else value
    if isinstance(value, dict):
        return _text(value.get("value")) or _text(value.get("propertyID"))
    return _text(value)


def _places(value: object) -> str:
    """Where the job is; several places are separated by semicolons."""
    members = value if isinstance(value, list) else [value]
    return "; ".join(dict.fromkeys(filter(None, map(_place, members[:_MOST_PLACES]))))


def _place(value: object) -> str:
    if not isinstance(value, dict):
        return _text(value)
    address = value.get("address", value)
    address = address[0] if isinstance(address, list) and address else address
    if isinstance(address, str):
        return address.strip()
    if isinstance(address, dict):
        parts = [plain(_text(address.get(part))) for part in _ADDRESS_PARTS]
        said = ", ".join(dict.fromkeys(part for part in parts if part))
        if said:
            return said
    named = _text(value.get("name"))
    return named or (_text(address.get("streetAddress")) if isinstance(address, dict) else "")


def _countries(node: dict[str, object]) -> list[str]:
    """Countries by their own fields: of the places, else of where applicants must be."""
    places = node.get("jobLocation")
    said: dict[str, None] = {}
    for place in (places if isinstance(places, list) else [places])[:_MOST_PLACES]:
        address = place.get("address") if isinstance(place, dict) else None
        if isinstance(address, dict) and (country := _text(address.get("addressCountry"))):
            said[country] = None
    if not said:
        said = dict.fromkeys(_texts(node.get("applicantLocationRequirements")))
    return list(said)


MOST_SCRIPTS: Final = 500
_MOST_NODES: Final = 100_000


def structured_jobs(document: Document, *, base: str, language: str) -> list[tuple[JobFound, bool]]:
    """Jobs that the page describes for machines, and whether each names its own address; one notation counts."""
    for found_by, objects in (
        (ExtractionMethod.JSON_LD, _json_ld),
        (ExtractionMethod.MICRODATA, _microdata),
        (ExtractionMethod.RDFA, _rdfa),
    ):
        jobs: list[tuple[JobFound, bool]] = []
        for value in objects(document):
            for node in postings_in(value):
                found = read_posting(node, base=base, found_by=found_by, language=language)
                if found is not None:
                    jobs.append((found, has_own_address(node)))
        if jobs:
            return jobs
    return []


def _json_ld(document: Document) -> list[object]:
    values: list[object] = []
    for script in document.select('script[type*="ld+json" i]')[:MOST_SCRIPTS]:
        text = script.text
        if "JobPosting" in text or "&quot;" in text:
            value = read_lenient(text)
            if value is not None:
                values.append(value)
    return values


def _microdata(document: Document) -> list[object]:
    found = document.select('[itemtype*="JobPosting"]')[:5000]
    room = [_MOST_NODES]
    return [
        read_item(element, ("itemprop", "itemscope", "itemtype"), room)
        for element in found
        if not _inside(element, "itemtype")
    ]


def _rdfa(document: Document) -> list[object]:
    found = document.select('[typeof*="JobPosting"]')[:5000]
    room = [_MOST_NODES]
    return [
        read_item(element, ("property", "typeof", "typeof"), room)
        for element in found
        if not _inside(element, "typeof")
    ]


def _inside(element: Element, attribute: str) -> bool:
    """Whether a posting lies within another one, as similar jobs sometimes do."""
    parent = element.parent
    for _ in range(64):
        if not isinstance(parent, Element):
            return False
        if "JobPosting" in (parent.attr(attribute) or ""):
            return True
        parent = parent.parent
    return True
