"""Reading a page that came: what it forbids, where it leads, whether it is only a door."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from time import thread_time

from xxhash import xxh3_128_hexdigest

from comity.extract.apart import Hardship, TooHard, is_light
from comity.extract.html import read_html
from comity.model.evidence import Evidence, EvidenceType
from comity.model.extraction import Extraction, PageShown
from comity.model.fetch import Response
from comity.model.frontier import FrontierEntry, QueuedUrl
from comity.model.outcome import Answered, Fetched, Trail
from comity.model.page import HtmlPage, PageDirectives
from comity.rules.canonical import resolve_link
from comity.rules.content_type import media_type
from comity.rules.directives import read_directives
from comity.rules.login_wall import is_login_wall
from comity.rules.traps import PageWatch
from comity.walk.admit import admit_links
from comity.walk.admit_images import admit_images
from comity.walk.leased_host import LeasedHost
from comity.walk.visit_rooms import VisitRooms

_NOTHING = Extraction()
# Of processor time: on a busy machine any page takes long by the clock, and that is not the page's fault.
_HELD_UP_S = 0.05
_HARD_PAGES_MOST = 20  # of one host in one run: each may take seconds of the process apart


async def read_page(
    host: LeasedHost,
    entry: QueuedUrl,
    response: Response,
    answer: Answered,
    trail: Trail,
    rooms: VisitRooms,
) -> Fetched:
    """Make an outcome of a page, with its links as entries for the frontier and its wishes as evidence."""
    body, said = response.body, response.headers.get_all("x-robots-tag")
    content_hash = xxh3_128_hexdigest(body)
    page = await _read(host, entry, response, answer, trail, rooms) if is_html(answer.content_type, body) else None
    links: list[FrontierEntry] = []
    directives = read_directives(page.meta_robots if page is not None else (), said, rooms.agent)
    watch = host.traps.fetched(target_of(entry.url), content_hash, body) if host.traps is not None else None
    extraction = _NOTHING
    if rooms.extract is not None:
        extraction = rooms.extract(_shown(entry, response, answer, page))
    images: list[FrontierEntry] = []
    new_images: list[FrontierEntry] = []
    if page is not None and page.images and not _keeps_images_back(directives, answer.at):
        base = _base(page.base_href, response.url)
        images, new_images, refused = admit_images(host, page.images, base=base, depth=entry.depth + 1, rooms=rooms)
        trail.evidence.extend(refused)
    if page is not None:
        links, refused = await _links(host, entry, page, watch, directives, response.url, rooms)
        trail.evidence.extend(refused)
    if extraction.links:
        more, refused = await admit_links(
            host, extraction.links, watch, base=response.url, depth=entry.depth + 1, rooms=rooms
        )
        links += more
        trail.evidence.extend(refused)
    wall = page is not None and is_login_wall(
        status=answer.status,
        requested_url=entry.url,
        final_url=response.url,
        has_password_field=page.has_password_field,
        link_count=len(page.links),
        title=page.title,
    )
    is_last = entry.depth >= rooms.scope.max_depth  # what it links to lies too deep
    if directives.evidence or wall:
        trail.evidence.extend(_wishes(host, entry, answer, directives, wall))
    return Fetched(
        entry=entry,
        trail=trail,
        answer=answer,
        body=body,
        encoding=page.encoding if page is not None else None,
        content_hash=content_hash,
        title=page.title if page is not None else None,
        links=() if is_last else tuple(links),
        keep=not directives.evidence or not directives.forbids_keeping(datetime.fromtimestamp(answer.at, UTC)),
        is_login_wall=wall,
        coded=response.coded_body,
        coding=response.content_encoding or None,
        extracted=extraction.data,
        images=tuple(images),
        new_images=tuple(new_images),
        images_read=page is not None and rooms.finds_images,
        too_deep=tuple(links) if is_last else (),
    )


async def _read(
    host: LeasedHost, entry: QueuedUrl, response: Response, answer: Answered, trail: Trail, rooms: VisitRooms
) -> HtmlPage | None:
    """Read a page here if it is surely light, and apart otherwise; None, with evidence, if it cannot be read."""
    body = response.body
    if host.hard_pages == 0 and is_light(body):
        began_s = thread_time()
        page = read_html(
            body, content_type=answer.content_type, agent_token=rooms.agent, with_images=rooms.finds_images
        )
        if thread_time() - began_s > _HELD_UP_S:
            host.hard_pages = 1  # from now on, this host's pages cannot hold up anybody else
        return page
    if host.hard_pages > _HARD_PAGES_MOST:
        found: HtmlPage | TooHard = TooHard(Hardship.TOO_SLOW, "pages of this host were too hard to read before")
    else:
        host.unread += 1
        try:
            found = await rooms.apart.read(
                body, content_type=answer.content_type, agent_token=rooms.agent, with_images=rooms.finds_images
            )
        finally:
            host.unread -= 1
    if isinstance(found, HtmlPage):
        return found
    host.hard_pages += 1
    content = {"code": str(found.code), "reason": found.reason}
    metadata = {"url": entry.url, "finalUrl": response.url}
    trail.evidence.append(
        Evidence(
            host.lease.host_id, entry.url, entry.key, EvidenceType.UNREADABLE, content, metadata, "high", answer.at
        )
    )
    return None


def _wishes(
    host: LeasedHost, entry: QueuedUrl, answer: Answered, directives: PageDirectives, wall: bool
) -> Iterator[Evidence]:
    """What a page asks of those who read it, as evidence."""
    wishes = {"said": list(directives.evidence)}
    metadata = {"url": entry.url, "finalUrl": answer.final_url}
    for holds, kind, content in (
        (directives.noindex, EvidenceType.NOINDEX, wishes),
        (directives.nofollow, EvidenceType.NOFOLLOW, wishes),
        (wall, EvidenceType.LOGIN_WALL, {"reason": "it asks for a login"}),
    ):
        if holds:
            yield Evidence(host.lease.host_id, entry.url, entry.key, kind, content, metadata, "high", answer.at)


def _shown(entry: QueuedUrl, response: Response, answer: Answered, page: HtmlPage | None) -> PageShown:
    return PageShown(
        url=entry.url,
        final_url=response.url,
        status=answer.status,
        content_type=answer.content_type,
        body=response.body,
        encoding=page.encoding if page is not None else None,
        title=page.title if page is not None else None,
    )


async def _links(
    host: LeasedHost,
    entry: QueuedUrl,
    page: HtmlPage,
    watch: PageWatch | None,
    directives: PageDirectives,
    url: str,
    rooms: VisitRooms,
) -> tuple[list[FrontierEntry], list[Evidence]]:
    """Where a page leads, as far as we may follow: its links, and the address that it calls its own."""
    scope = rooms.scope
    hrefs: Sequence[str] = ()
    if scope.follow_links and not (directives.nofollow and scope.respect_nofollow):
        hrefs = page.links
        if page.nofollow and scope.respect_nofollow:
            hrefs = [href for href in hrefs if href not in page.nofollow]
        if page.frames or page.refresh_href is not None:  # where a reader is taken without a click
            hrefs = [*([page.refresh_href] if page.refresh_href is not None else []), *hrefs, *page.frames]
    base = _base(page.base_href, url)
    entries, refused = await admit_links(host, hrefs, watch, base=base, depth=entry.depth + 1, rooms=rooms)
    if page.canonical_href is not None and scope.follow_canonical:
        # A step like a link: names that lead to ever more names come to an end like links that do.
        more, also = await admit_links(
            host, (page.canonical_href,), watch, base=base, depth=entry.depth + 1, rooms=rooms
        )
        entries += more
        refused += also
    return entries, refused


def _keeps_images_back(directives: PageDirectives, at: float) -> bool:
    """Whether a page asks not to have its images taken."""
    return directives.noimageindex or directives.forbids_keeping(datetime.fromtimestamp(at, UTC))


def target_of(url: str) -> str:
    """The path and query of a canonical URL."""
    return url[url.index("/", 8) :]


def is_html(content_type: str | None, body: bytes) -> bool:
    """Whether a body is to be read as HTML; one without a type is looked at."""
    kind = media_type(content_type)
    return kind in ("text/html", "application/xhtml+xml") or (not kind and body[:512].lstrip()[:1] == b"<")


def _base(base_href: str | None, url: str) -> str:
    if base_href is None:
        return url
    base = resolve_link(base_href, url)
    return base.url if base is not None else url
