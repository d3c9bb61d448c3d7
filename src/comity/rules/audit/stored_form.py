"""What an audit keeps of a page, as JSON in columns of the page store, and back.

Values that are the default are left out, so most pages take a few hundred bytes. Unknown keys are ignored: a store may
be newer than its reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from typing import Any, Final

from comity.model.audit import (
    Alternate,
    Directive,
    Heading,
    Hop,
    PageFacts,
    PageLink,
    PageRegion,
    Resource,
    StructuredItem,
)

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_DEFAULTS: Final = {each.name: each.default for each in fields(PageFacts) if each.default is not MISSING}
_ROWS: Final[dict[str, Any]] = {
    "headings": Heading,
    "alternates": Alternate,
    "directives": Directive,
    "insecure_resources": Resource,
}
_TEXTS: Final = ("titles", "descriptions", "canonicals", "images_without_alt", "policies")


def facts_to_json(facts: PageFacts) -> str:
    """The facts of a page as one JSON object."""
    values = {name: getattr(facts, name) for name in _DEFAULTS}
    return _encode({name: value for name, value in values.items() if value != _DEFAULTS[name]})


def facts_from_json(text: str) -> PageFacts:
    """The facts that `facts_to_json` wrote."""
    found = {name: value for name, value in json.loads(text).items() if name in _DEFAULTS}
    for name, kind in _ROWS.items():
        if name in found:
            found[name] = tuple(kind(*row) for row in found[name])
    for name in _TEXTS:
        if name in found:
            found[name] = tuple(found[name])
    if "structured" in found:
        rows = found["structured"]
        found["structured"] = tuple(
            StructuredItem(kind, syntax, tuple(missing), problem) for kind, syntax, missing, problem in rows
        )
    return PageFacts(**found)


def links_to_json(links: Iterable[PageLink]) -> str:
    """The links of a page as a list of objects."""
    return _encode([link._asdict() for link in links])


def links_from_json(text: str) -> list[PageLink]:
    """The links that `links_to_json` wrote."""
    return [
        PageLink(row["url"], row["text"], tuple(row["rel"]), PageRegion(row["region"]), row["outcome"])
        for row in json.loads(text)
    ]


def hops_to_json(hops: Iterable[Hop]) -> str:
    """The requests of a visit as a list of objects."""
    return _encode([hop._asdict() for hop in hops])


def hops_from_json(text: str) -> tuple[Hop, ...]:
    """The hops that `hops_to_json` wrote."""
    return tuple(Hop(*(row[name] for name in Hop._fields)) for row in json.loads(text))


def headers_to_json(pairs: Sequence[tuple[str, str]]) -> str:
    """Header fields as a list of pairs: a field may come more than once."""
    return _encode(pairs)


def headers_from_json(text: str) -> tuple[tuple[str, str], ...]:
    """The fields that `headers_to_json` wrote."""
    return tuple((name, value) for name, value in json.loads(text))
