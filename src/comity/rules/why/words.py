"""Times and addresses as explanations write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from comity.model.frontier import FoundBy

_FOUND: Final = {
    FoundBy.LINK: "a link on",
    FoundBy.SITEMAP: "the sitemap",
    FoundBy.REDIRECT: "a redirect of",
    FoundBy.CANONICAL: "the canonical address of",
    FoundBy.IMAGE: "an image on",
    FoundBy.SOURCE: "the source",
    FoundBy.EXTRACTOR: "your extractor, from",
}


def minute(at: datetime | None) -> str:
    """A time for people, to the minute."""
    return "an unknown time" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def second(at: datetime) -> str:
    """A time for people that is near, to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def named_by(found_by: FoundBy, found_at: str | None) -> str:
    """What named a URL: a page, a sitemap, a seed, a redirect or a source."""
    if found_by is FoundBy.SEED:
        return "a seed"
    if found_by is FoundBy.UNKNOWN:
        return "an earlier run, which did not record how"
    return f"{_FOUND[found_by]} {found_at or 'a page that is no longer known'}"


def sentence(text: str) -> str:
    """Foreign text as a sentence on one line."""
    plain = " ".join(text.split()).rstrip(".")
    return f"{plain[:1].upper()}{plain[1:]}." if plain else ""
