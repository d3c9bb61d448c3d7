"""What is said of a URL that is in no queue: that it was seen and left, or that no crawl has seen it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from comity.model.discovery import UnqueuedCode
from comity.model.explanation import Decision, UrlFacts
from comity.rules.why.words import minute, named_by

_IMAGES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".avif", ".ico", ".bmp", ".tif", ".tiff")
_ASSETS: Final = (".css", ".js", ".mjs", ".woff", ".woff2", ".ttf", ".map")
_LONGEST_HREF: Final = 4096

RobotsDecision = Callable[[UrlFacts, str, datetime | None], Decision]


def sighting_decision(facts: UrlFacts, robots: RobotsDecision) -> Decision:
    """Why a URL that was seen was not queued; of several sightings, one of its own host counts first."""
    own = [each for each in facts.sightings if each.host == facts.host_name]
    seen = (own or list(facts.sightings))[-1]
    code, host, at = seen.code, facts.host_name, minute(seen.at)
    by = named_by(seen.found_by, seen.found_at)
    if code == UnqueuedCode.ROBOTS:
        return robots(facts, "the line is no longer recorded", seen.at)
    if code == UnqueuedCode.TAKEDOWN:
        text = f"It was taken down when {by} named it, at {at}; that takedown is no longer in force."
        return Decision("was_taken_down", text, f"`comity domains reset {host}` crawls the host anew.")
    text, remedy = _WORDS[code]
    stored = {"own": seen.host, "host": host, "by": by, "url": facts.url}
    return Decision(_NAMES.get(code, code), text.format(**stored), remedy.format(**stored))


_NAMES: Final[dict[str, str]] = {UnqueuedCode.NOFOLLOW_LINK: "nofollow", UnqueuedCode.NOFOLLOW_PAGE: "nofollow"}
_NO_RESPECT: Final = "`comity crawl {host} --no-respect-nofollow` follows it; `comity crawl {url}` begins there."
_WORDS: Final[dict[str, tuple[str, str]]] = {
    UnqueuedCode.OTHER_HOST: (
        "It is out of scope: on {host}, while the crawl of {own} stays on its own host. It was named by {by}.",
        "`comity crawl {host}` crawls that host.",
    ),
    UnqueuedCode.NOFOLLOW_LINK: ("The only link to it says rel=nofollow: {by}.", _NO_RESPECT),
    UnqueuedCode.NOFOLLOW_PAGE: (
        "The page that links to it asks that its links are not followed (nofollow): {by}.",
        _NO_RESPECT,
    ),
    UnqueuedCode.TOO_DEEP: (
        "It is too deep: further from a seed than --max-depth allows. It was named by {by}.",
        "`comity crawl {host} --max-depth N` with a larger N reaches it.",
    ),
    UnqueuedCode.LINKS_OFF: (
        "Links are not followed (--no-follow-links). It was named by {by}.",
        "`comity crawl {host} --follow-links` follows it.",
    ),
    UnqueuedCode.CANONICAL_OFF: (
        "It is the canonical address of a page, and these are not followed (--no-follow-canonical): {by}.",
        "`comity crawl {host} --follow-canonical` follows it.",
    ),
    UnqueuedCode.TRAP: (
        "It looks like one of endlessly many: too many like it were met. It was named by {by}.",
        "`comity crawl {url}` begins there, if it is a page of its own.",
    ),
    UnqueuedCode.SITEMAP_LIMIT: (
        "Sitemaps of its host name more pages than are taken. It was named by {by}.",
        "A larger COMITY_MAX_SITEMAPS, or `comity crawl {url}`.",
    ),
    UnqueuedCode.REDIRECT_TARGET: (
        "It was reached by {by}; its content is kept under that address.",
        "`comity crawl {url}` visits it under its own address.",
    ),
}


def never_found(facts: UrlFacts) -> Decision:
    """No crawl has named it."""
    host = facts.host
    assert host is not None, "an unknown host was answered before"
    begin = f"`comity crawl {facts.url}` begins there."
    bare = facts.path.partition("?")[0].lower()
    if facts.variants:
        text = f"No crawl has found it under this spelling; {facts.variants[0]} is known."
        return Decision("other_spelling", text, f"`comity why {facts.variants[0]}` explains that one.")
    if host.status == "pending":
        return Decision(
            "waits_for_first_crawl",
            f"Its host was seeded at {minute(host.first_seen_at)} and waits to be crawled.",
            begin,
        )
    if bare.endswith(_IMAGES):
        text = "It looks like an image, and no page links to it; images are asked for with --images only."
        return Decision("images_off", text, f"`comity crawl {facts.host_name} --images` asks for images.")
    if bare.endswith(_ASSETS):
        text = "It looks like a script, style or font, which are not fetched, and no page links to it."
        return Decision("asset", text, begin)
    if len(facts.url) > _LONGEST_HREF:
        text = f"No crawl has found it; addresses longer than {_LONGEST_HREF:,} characters are not read from pages."
        return Decision("too_long", text, begin)
    if host.unrecorded:
        text = (
            "No crawl has queued it, and no record says that it was seen; "
            f"{host.unrecorded:,} sightings on this host were not recorded."
        )
        return Decision("never_found", text, begin)
    return Decision("never_found", "No page, sitemap or seed of its host has named it.", begin)
