"""Explanations of a URL's own history: what a visit resulted in, why it was seen but not queued, or never found."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from comity.model.explanation import Decision, DecisionFacts, UrlFacts, VisitFacts
from comity.model.frontier import FoundBy, UnqueuedCode
from comity.model.wording import Action, Words, action, filled
from comity.rules.address_guard import decide_port
from comity.rules.canonical import resolve_link

_IMAGES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".avif", ".ico", ".bmp", ".tif", ".tiff")
_ASSETS: Final = (".css", ".js", ".mjs", ".woff", ".woff2", ".ttf", ".map")
_LONGEST_HREF: Final = 4096
_PORT: Final = re.compile(r":(\d+)$")

RobotsDecision = Callable[[UrlFacts, str, datetime | None], Decision]
_FOUND: Final = {
    FoundBy.LINK: "a link on",
    FoundBy.SITEMAP: "the sitemap",
    FoundBy.REDIRECT: "a redirect from",
    FoundBy.CANONICAL: "the canonical address of",
    FoundBy.IMAGE: "an image on",
    FoundBy.SOURCE: "the source",
    FoundBy.EXTRACTOR: "your extractor, from",
}


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
        return Decision("was_taken_down", text, action(Action.RESET_HOST, host) + " crawls the host again.")
    if code == UnqueuedCode.LEFT_OUT:
        reason = seen.reason or "a pattern"
        return left_out_decision(facts, reason, seen.at, is_of_policy=" of its host's policy" in reason)
    if code == UnqueuedCode.OTHER_HOST and host.partition(":")[0].endswith(f".{seen.host.partition(':')[0]}"):
        text = f"It is out of scope: on a subdomain of {seen.host}. It was found through {by}."
        subdomains, this = action(Action.CRAWL_WITH_SUBDOMAINS, seen.host), action(Action.CRAWL, host)
        return Decision(code, text, subdomains + " crawls subdomains; " + this + " crawls this one.")
    words, remedy = _WORDS[code]
    stored = {"own": seen.host, "host": host, "by": by, "url": facts.url}
    return Decision(_NAMES.get(code, code), filled(words, **stored), filled(remedy, **stored))


def left_out_decision(facts: UrlFacts, reason: str, at: datetime, *, is_of_policy: bool) -> Decision:
    """That a pattern left a URL out, and how to crawl it after all."""
    text = f"It was left out at {minute(at)}: {reason}."
    host = facts.host_name
    if is_of_policy:
        return Decision("left_out", text, action(Action.CLEAR_PATTERNS, host) + " removes the patterns of its host.")
    starts = action(Action.CRAWL, facts.url) + " starts there; "
    remedy = starts + f"a crawl of {host} without that pattern queues it."
    return Decision("left_out", text, remedy)


_NAMES: Final[dict[str, str]] = {UnqueuedCode.NOFOLLOW_LINK: "nofollow", UnqueuedCode.NOFOLLOW_PAGE: "nofollow"}
_NO_RESPECT: Final = (
    action(Action.CRAWL_IGNORING_NOFOLLOW, "{host}")
    + " follows it; "
    + action(Action.CRAWL, "{url}")
    + " starts there."
)
_WORDS: Final[dict[str, tuple[Words, Words]]] = {
    UnqueuedCode.OTHER_HOST: (
        "It is out of scope: on {host}, while the crawl of {own} stays on its own host. It was found through {by}.",
        action(Action.CRAWL, "{host}") + " crawls that host.",
    ),
    UnqueuedCode.NOFOLLOW_LINK: ("The only link to it says rel=nofollow: {by}.", _NO_RESPECT),
    UnqueuedCode.NOFOLLOW_PAGE: (
        "The page that links to it asks crawlers not to follow its links (nofollow): {by}.",
        _NO_RESPECT,
    ),
    UnqueuedCode.LINKS_OFF: (
        "Links are not followed (" + action(Action.NO_FOLLOW_LINKS) + "). It was found through {by}.",
        action(Action.CRAWL_FOLLOWING_LINKS, "{host}") + " follows it.",
    ),
    UnqueuedCode.CANONICAL_OFF: (
        "It is the canonical address of a page, and these are not followed ("
        + action(Action.NO_FOLLOW_CANONICAL)
        + "): {by}.",
        action(Action.CRAWL_FOLLOWING_CANONICAL, "{host}") + " follows it.",
    ),
    UnqueuedCode.TRAP: (
        "It looks like part of an endless space: too many URLs like it were found. It was found through {by}.",
        action(Action.CRAWL, "{url}") + " starts there, if it is a distinct page.",
    ),
    UnqueuedCode.SITEMAP_LIMIT: (
        "The sitemaps of its host list more pages than the limit. It was found through {by}.",
        "Raise COMITY_MAX_SITEMAPS, or run " + action(Action.CRAWL, "{url}") + ".",
    ),
    UnqueuedCode.REDIRECT_TARGET: (
        "It was reached by {by}; its content is stored under that address.",
        action(Action.CRAWL, "{url}") + " visits it under its own address.",
    ),
}


def never_found(facts: UrlFacts) -> Decision:
    """No crawl has found it."""
    host = facts.host
    assert host is not None, "an unknown host was answered before"
    begin = action(Action.CRAWL, facts.url) + " starts there."
    bare = facts.path.partition("?")[0].lower()
    if facts.variants:
        text = f"No crawl has found it in this form; {facts.variants[0]} is known."
        return Decision("other_spelling", text, action(Action.EXPLAIN, facts.variants[0]) + " explains that one.")
    if host.status == "pending":
        return Decision(
            "waits_for_first_crawl",
            f"Its host was seeded at {minute(host.first_seen_at)} and waits to be crawled.",
            begin,
        )
    if bare.endswith(_IMAGES):
        named = "It looks like an image, and no page links to it; images are fetched only with "
        only_with = named + action(Action.WITH_IMAGES) + "."
        return Decision("images_off", only_with, action(Action.CRAWL_IMAGES, facts.host_name) + " fetches images.")
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
    text = (
        "No link, sitemap or seed of its host mentions it; frames, forms, feeds, scripts and link elements "
        "such as next and alternate are not followed."
    )
    return Decision("never_found", text, begin)


_AGAIN: Final = action(Action.RESET_HOST, "{host}") + " queues it again"
_SERVER: Final = "Nothing on your side: the site has to respond differently. " + _AGAIN + "."
_NETWORK: Final = "Nothing on your side: the host has to be reachable. " + _AGAIN + "."
_BROKEN: Final = "Nothing on your side: the site has to send a valid response. " + _AGAIN + "."

# By the code that is stored in front of the reason: what happened, and what would change it.
CODES: Final[dict[str, tuple[str, Words]]] = {
    "dns_failure": ("Its host name cannot be resolved", _NETWORK),
    "connect_failure": ("Its host refused the connection, or cannot be reached", _NETWORK),
    "proxy_failure": (
        "The proxy failed",
        "Check COMITY_PROXY, or the proxy in " + action(Action.SHOW_POLICY, "{host}") + ".",
    ),
    "credentials_missing": (
        "A secret or file that its requests need could not be read",
        "Check what " + action(Action.SHOW_POLICY, "{host}") + " refers to.",
    ),
    "tls_failure": ("The TLS handshake with its host failed", _NETWORK),
    "certificate_refused": ("The TLS certificate of its host is not valid", _BROKEN),
    "connect_timeout": ("Its host did not accept a connection in time", _NETWORK),
    "first_byte_timeout": ("The server did not start its response in time", _SERVER),
    "idle_timeout": ("The server stopped in the middle of its response", _SERVER),
    "total_timeout": ("The response took longer than COMITY_FETCH_TIMEOUT allows", "Raise COMITY_FETCH_TIMEOUT."),
    "reset": ("The server closed the connection before its response was complete", _NETWORK),
    "protocol_error": ("The server broke the HTTP protocol", _BROKEN),
    "bad_encoding": ("The body does not match its Content-Encoding", _BROKEN),
    "too_large": (
        "The response is larger than the limit",
        "Raise COMITY_MAX_RESPONSE_BYTES, or the limit in the host's policy.",
    ),
    "decompression_bomb": ("The body expands to far more than was sent", _BROKEN),
    "header_flood": ("The response header is too long", _BROKEN),
    "wrong_type": (
        "Its content type is not accepted",
        action(Action.CRAWL_ACCEPTING_TYPE, "{host}") + " accepts that type.",
    ),
    "address_refused": (
        "Its host has an address that is not public",
        action(Action.ALLOW_NETWORK) + " allows a network.",
    ),
    "scheme_refused": ("Its scheme is not http or https", "Nothing: only http and https are crawled."),
    "invalid_url": ("It is not a URL that can be requested", "Nothing: the address itself is wrong."),
    "invalid_header": ("The response header is not valid HTTP", _BROKEN),
    "cancelled": ("The request was cut off when the run ended", "The next crawl of the host requests it again."),
    "not_an_image": ("The response is not an image", _BROKEN),
    "too_many_redirects": (
        "It redirects too often, or in a circle",
        "Raise COMITY_MAX_REDIRECTS, or fix the site.",
    ),
    "bad_redirect": ("It redirects to something that is not a web address", _BROKEN),
    "robots_denied": ("It redirects to a page that robots.txt forbids", _SERVER),
    "robots_unreachable": ("It redirects to a host whose robots.txt cannot be read", _SERVER),
    "left_out": (
        "It redirects to a page that a pattern leaves out",
        "A crawl of {host} without that pattern visits the page.",
    ),
    "taken_down": (
        "It redirects to a page that is taken down",
        action(Action.LIFT_TAKEDOWN, "ENTRY") + " lifts the takedown.",
    ),
    "host_busy": ("Another process holds its host", "Wait until that process ends."),
    "asked_to_wait": ("Its host asked Comity to wait", "Wait until the block ends."),
    "http_401": ("It needs a login: the server answered 401", _SERVER),
    "http_403": ("The server refused it: it answered 403", _SERVER),
    "http_404": ("There is no such page: the server answered 404", _SERVER),
    "http_410": ("The page is gone: the server answered 410", _SERVER),
    "http_429": ("The host is rate-limited: the server answered 429", "Wait; crawls keep the host's pace."),
}
_REVISIT: Final = (
    action(Action.REFRESH, "{host}")
    + " visits it again; "
    + action(Action.RESET_HOST, "{host}")
    + " crawls the whole host again."
)


def visit_decision(facts: UrlFacts, visit: VisitFacts) -> Decision:
    """What the last visit of a URL decided."""
    if visit.outcome in ("fetched", "not_modified"):
        return _came(facts, visit)
    code = visit.code or visit.outcome
    known: tuple[str, Words]
    if code.startswith("http_5") or code in ("http_408", "http_425"):
        known = (f"The server failed: it answered {visit.status}", _SERVER)
    elif visit.status is not None and code == f"http_{visit.status}" and 300 <= visit.status < 400:
        known = (f"The server answered {visit.status}, a redirect, without a usable address to go to", _SERVER)
    elif code in ("", "gone", "failed", "rejected", "refused") or code not in CODES:
        known = (f"The server answered {visit.status}" if visit.status else f"The visit ended as {code}", _SERVER)
    else:
        known = CODES[code]
    what, remedy = known
    if code == "address_refused" and visit.final_url is not None:  # it was requested itself, so a redirect was refused
        what = "It redirects to a host whose address is not public"
    elif code == "address_refused" and has_refused_port(facts.host_name):
        what, remedy = "It was not requested", "Nothing: web servers use other ports."
    # A status says it all: `what` names it.
    reason = f" ({visit.reason})" if visit.reason and not code.startswith("http_") else ""
    tries = _tries(facts, visit)
    text = f"{what}{reason}, at {minute(visit.at)}{_where(facts, visit)}{tries}."
    if facts.queue is not None and facts.queue.state == "queued":
        remedy = "Nothing is needed: the next crawl of the host tries it again when it is due."
    return Decision(code or visit.outcome, text, filled(remedy, host=facts.host_name))


def has_refused_port(host: str) -> bool:
    """Whether a canonical host names a port that belongs to another protocol."""
    port = _PORT.search(host)
    return port is not None and not decide_port(int(port[1])).allowed


def _tries(facts: UrlFacts, visit: VisitFacts) -> str:
    """How often it was tried, for what is tried more than once."""
    if visit.outcome not in ("failed", "rate_limited") or visit.is_by_source:
        return ""
    queue = facts.queue
    if queue is not None and queue.state == "queued":
        if queue.not_before is not None and queue.not_before > facts.now:
            again = f"it is tried again at {minute(queue.not_before)}"
        else:
            again = "it is due to be tried again"
        return f"; try {queue.attempts} of {facts.retry_limit + 1}, {again}"
    failed = 0
    for each in reversed(facts.visits):
        if each.outcome not in ("failed", "rate_limited"):
            break
        failed += 1
    return f"; it was tried {failed} times and then given up" if failed > 1 else ""


def _where(facts: UrlFacts, visit: VisitFacts) -> str:
    if visit.final_url is None or visit.final_url == facts.url or visit.outcome == "refused":
        return ""
    return f", after a redirect to {visit.final_url}"


def _came(facts: UrlFacts, visit: VisitFacts) -> Decision:
    """A page was fetched: its own directives decide, else the fetch itself."""
    host, at, status = facts.host_name, minute(visit.at), visit.status
    said = {each.type: each for each in facts.decisions if each.at >= visit.at}
    revisit = _REVISIT.filled(host=host)
    if (wall := said.get("login_wall")) is not None:
        text = f"It requires a login instead of showing a page (HTTP {status} at {at})."
        return Decision(wall.type, text, "Nothing on your side: the site would have to show the page without a login.")
    if (noindex := said.get("noindex")) is not None:
        text = f"It asks not to be indexed ({noindex.reason}): fetched at {at} (HTTP {status}), but not stored."
        return Decision("noindex", text, "Nothing on your side: the site would have to remove that. " + revisit)
    if (hard := said.get("unreadable")) is not None:
        text = f"It could not be read ({hard.reason}): fetched at {at} (HTTP {status}); its links are not known."
        return Decision("unreadable", text, revisit)
    moved = _moved(facts, visit, said.get("canonical"))
    if moved is not None:
        return moved
    if visit.outcome == "not_modified":
        text = f"It has not changed since the visit before (HTTP 304 at {at})."
        return Decision("not_modified", text, revisit)
    by = " by the run of a source" if visit.is_by_source else ""
    kind = f", {visit.content_type.partition(';')[0].strip()}" if visit.content_type else ""
    text = f"It was fetched at {at}{by} (HTTP {status}{kind})"
    if (nofollow := said.get("nofollow")) is not None:
        return Decision("fetched", f"{text}; its links were not followed ({nofollow.reason}).", revisit)
    return Decision("fetched", f"{text} and is not visited twice in one crawl.", revisit)


def _moved(facts: UrlFacts, visit: VisitFacts, canonical: DecisionFacts | None) -> Decision | None:
    """The page is, or says it is, elsewhere."""
    host, at, status, final = facts.host_name, minute(visit.at), visit.status, visit.final_url
    if final is not None and final != facts.url:
        target = resolve_link(final, final)
        if target is not None and target.host != host:
            text = f"It redirects off-site, to {final} (HTTP {status} there, at {at})."
            return Decision("redirected_off_site", text, action(Action.CRAWL, target.host) + " crawls that host.")
        text = f"It redirects to {final}, which was fetched at {at} (HTTP {status})."
        return Decision("redirected", text, _REVISIT.filled(host=host))
    if canonical is not None:
        there = canonical.content.get("canonical", "another address")
        text = f"It names {there} as its canonical address; it was fetched itself at {at} (HTTP {status})."
        return Decision("canonical_elsewhere", text, action(Action.EXPLAIN, there) + " explains that address.")
    return None


def minute(at: datetime | None) -> str:
    """A time for people, to the minute."""
    return "an unknown time" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def second(at: datetime) -> str:
    """A time in the near future for people, to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def named_by(found_by: FoundBy, found_at: str | None) -> str:
    """How a URL was found: on a page, in a sitemap, as a seed, by a redirect or by a source."""
    if found_by is FoundBy.SEED:
        return "a seed"
    if found_by is FoundBy.UNKNOWN:
        return "an earlier run, which did not record how"
    return f"{_FOUND[found_by]} {found_at or 'a page that is no longer known'}"


def _sentence(text: str) -> str:
    """Foreign text as a sentence on one line."""
    plain = " ".join(text.split()).rstrip(".")
    return f"{plain[:1].upper()}{plain[1:]}." if plain else ""
