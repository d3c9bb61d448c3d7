"""Read a fetched page: what it forbids, where it leads, whether it is a login wall."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime
from time import thread_time
from types import coroutine
from typing import TYPE_CHECKING, Final

from xxhash import xxh3_128_hexdigest

from comity.extract.html import read_html, scan_html
from comity.extract.html_pool import Hardship, TooHard, is_light
from comity.model.evidence import Evidence, EvidenceType
from comity.model.fetch import Response
from comity.model.frontier import FoundBy, FrontierEntry, QueuedUrl, UnqueuedCode
from comity.model.outcome import Answered, Fetched, Trail, VisitDetails
from comity.model.page import MISSES_LINKS, Extraction, HtmlPage, PageDirectives
from comity.rules.canonical import resolve_link
from comity.rules.content_type import media_type
from comity.rules.directives import read_directives
from comity.rules.responses import is_login_wall
from comity.rules.traps.watch import PageWatch
from comity.rules.url_secrets import masked_url
from comity.walk.session.leased_host import LeasedHost
from comity.walk.visit.admit import admit_images, admit_links, withhold_links
from comity.walk.visit.columns import extracted_values, links_with_outcomes
from comity.walk.visit.context import VisitContext

if TYPE_CHECKING:
    from comity.extract.fetched_page import FetchedPage

_NOTHING = Extraction()
_UNSAID: Final = ((), ())
_NO_IMAGES: Final[tuple[Sequence[FrontierEntry], Sequence[FrontierEntry]]] = ((), ())
_NO_LINKS: Final[frozenset[str]] = frozenset()
# Processor time: on a busy machine any page takes long by the clock.
_HELD_UP_S = 0.05
_HARD_PAGES_MOST = 20  # of one host in one run: each may take seconds of the child process


@coroutine
def next_turn() -> Generator[None, None, None]:
    """Let the event loop do other work: `asyncio.sleep(0)` without a coroutine around it, for every page."""
    yield


@coroutine
def in_a_task() -> Generator[None, None, None]:
    """Wait until this is done by a task: visits begin without one, and limits of time need one."""
    while asyncio.current_task() is None:
        yield


async def read_page(
    host: LeasedHost, entry: QueuedUrl, response: Response, answer: Answered, trail: Trail, context: VisitContext
) -> Fetched:
    """Make an outcome of a page: its links as frontier entries, what it asks of crawlers as evidence."""
    if context.explains_any:
        _remember(host, context)
    body, headers = response.body, response.headers
    said = headers.get_all("x-robots-tag") if "x-robots-tag" in headers.first else ()
    content_hash = xxh3_128_hexdigest(body)
    page = None
    if is_html(answer.content_type, body):
        page = await _read(host, entry, response, answer, trail, context)
        if page is None or (page.limits and not page.limits.isdisjoint(MISSES_LINKS)):
            _count_unread(host, response.url)
    await next_turn()  # answers that came together are all scanned first: that suits the processor's caches
    links: list[FrontierEntry] = []
    directives = read_directives(page.meta_robots if page is not None else (), said, context.agent)
    hrefs = page.links if page is not None else ()
    watch = host.traps.fetched(target_of(entry.url), content_hash, body, hrefs) if host.traps is not None else None
    extraction, extracted, unconverted = _NOTHING, None, 0
    if context.extract is not None or context.columns:
        if context.extract is not None:
            extraction = context.extract(_fetched_page(entry, response, answer, page))
        extracted, unconverted = extracted_values(page, extraction, context)
    images, new_images = _NO_IMAGES
    if page is not None and page.images and not _withholds_images(directives, answer.at):
        images, new_images = _images(host, entry, page, response.url, trail, context)
    if page is not None:
        links, refused = await _links(host, entry, page, watch, directives, answer, context)
        trail.evidence.extend(refused)
    if extraction.links:
        more, refused = await _extracted(host, entry, extraction, watch, response.url, context)
        links += more
        trail.evidence.extend(refused)
    if trail.details is not None and page is not None:
        await _note_details(host, entry, page, directives, answer, trail.details, context)
    wall = page is not None and page.has_password_field and _is_wall(entry, response, page)
    is_last = entry.depth >= context.scope.max_depth  # its links are too deep
    if directives.evidence or wall:
        trail.evidence.extend(_directive_evidence(host, entry, answer, directives, wall))
    return Fetched(
        entry=entry,
        trail=trail,
        answer=answer,
        body=body,
        encoding=page.encoding if page is not None else None,
        content_hash=content_hash,
        title=page.title if page is not None else None,
        links=() if is_last else tuple(links),
        keep=not directives.evidence or _may_keep(directives, answer, context),
        is_login_wall=wall,
        coded=response.coded_body,
        coding=response.content_encoding or None,
        data=extraction.data,
        text=page.text if page is not None else None,
        markdown=page.markdown if page is not None else None,
        images=tuple(images),
        new_images=tuple(new_images),
        images_read=page is not None and context.finds_images,
        too_deep=tuple(links) if is_last else (),
        links_found=len(hrefs),
        skipped=host.skipped.pop(entry.key, {}) if host.skipped is not None else None,
        extracted=extracted,
        unconverted=unconverted,
        columns_key=context.columns_key or None,
        is_gzip_member=response.is_gzip_member,
    )


def _count_unread(host: LeasedHost, url: str) -> None:
    """Count a page whose links may be unknown: a run that has visited every known URL reports it (§4.8)."""
    host.tally.unread_pages += 1
    if host.tally.unread_page is None:
        host.tally.unread_page = masked_url(url)[:200]


def _remember(host: LeasedHost, context: VisitContext) -> None:
    """Make a host remember what becomes of links, if that is wanted."""
    if context.explains_links and host.skipped is None:
        host.skipped = {}
    if context.details.links and host.trapped is None:
        host.trapped = {}


def _may_keep(directives: PageDirectives, answer: Answered, context: VisitContext) -> bool:
    """Whether a page is stored with its body although it asks for something."""
    return context.keeps_noindex or not directives.forbids_storing(datetime.fromtimestamp(answer.at, UTC))


def _is_wall(entry: QueuedUrl, response: Response, page: HtmlPage) -> bool:
    return is_login_wall(
        status=response.status,
        requested_url=entry.url,
        final_url=response.url,
        has_password_field=page.has_password_field,
        link_count=len(page.links),
        title=page.title,
    )


async def _read(
    host: LeasedHost, entry: QueuedUrl, response: Response, answer: Answered, trail: Trail, context: VisitContext
) -> HtmlPage | None:
    """Read a page here if it is surely light, else in a child process; None, with evidence, if it cannot be read."""
    body = response.body
    wants_text = context.reads_text and not (
        context.reads_markdown or context.columns or context.details.links or context.details.facts
    )
    scanned: HtmlPage | None = None
    if not context.finds_images and (wants_text or not context.reads_more):  # then it may need no tree
        scanned = scan_html(body, content_type=answer.content_type, agent_token=context.agent, with_text=wants_text)
    if scanned is not None and (scanned.text is not None or not wants_text):
        return scanned
    # On another core, a child is faster.
    only_text = context.html_pool.shares_core and not context.columns and not context.details
    only_links = only_text and not context.reads_content
    is_here = host.hard_pages == 0 and not context.reads_apart
    if is_here and is_light(body, only_links=only_links, only_text=only_text):
        page = _read_here(host, response, answer, scanned, context)
        if page is not None:
            return page
    if host.hard_pages > _HARD_PAGES_MOST:
        found: HtmlPage | TooHard = TooHard(Hardship.TOO_SLOW, "earlier pages of this host were too hard to read")
    else:
        await in_a_task()
        host.unread += 1
        try:
            found = await context.html_pool.read(
                body,
                content_type=answer.content_type,
                agent_token=context.agent,
                with_images=context.finds_images,
                with_text=context.reads_text,
                with_markdown=context.reads_markdown,
                url=response.url,
                columns=context.columns,
                with_links=context.details.links,
                with_facts=context.details.facts,
                said=_said(response) if context.details.facts else _UNSAID,
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


def _read_here(
    host: LeasedHost, response: Response, answer: Answered, scanned: HtmlPage | None, context: VisitContext
) -> HtmlPage | None:
    """Read a page on the event loop; None if it takes a child process."""
    began_s = thread_time()
    try:
        page = read_html(
            response.body,
            content_type=answer.content_type,
            agent_token=context.agent,
            with_images=context.finds_images,
            with_text=context.reads_text,
            with_markdown=context.reads_markdown,
            url=response.url,
            columns=context.columns,
            with_links=context.details.links,
            with_facts=context.details.facts,
            said=_said(response) if context.details.facts else _UNSAID,
            scanned=scanned,
        )
    except Exception:  # no page may end the crawl: the child process reads it, or fails and the page is given up
        return None
    if thread_time() - began_s > _HELD_UP_S:
        host.hard_pages = 1  # from now on its pages are read in the child process, where they hold up no other host
    has_columns = page.extracted is not None or not context.columns
    has_content = page.text is not None or page.markdown is not None or not context.reads_content
    return page if has_columns and has_content else None


def _said(response: Response) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Header fields that say what a page could say itself."""
    return response.headers.get_all("link"), response.headers.get_all("x-robots-tag")


async def _note_details(
    host: LeasedHost,
    entry: QueuedUrl,
    page: HtmlPage,
    directives: PageDirectives,
    answer: Answered,
    details: VisitDetails,
    context: VisitContext,
) -> None:
    """Store what was read from a page besides the page itself; its links are admitted already."""
    details.facts = page.facts
    if context.details.links:
        base = _base(page.base_href, answer.final_url)
        withheld = _why_withheld(directives, context)
        details.links = await links_with_outcomes(host, page, base, entry.depth + 1, withheld, context)


def _directive_evidence(
    host: LeasedHost, entry: QueuedUrl, answer: Answered, directives: PageDirectives, wall: bool
) -> Iterator[Evidence]:
    """What a page asks of crawlers, as evidence."""
    wishes = {"said": list(directives.evidence)}
    metadata = {"url": entry.url, "finalUrl": answer.final_url}
    for holds, kind, content in (
        (directives.forbids_storing(datetime.fromtimestamp(answer.at, UTC)), EvidenceType.NOINDEX, wishes),
        (directives.nofollow, EvidenceType.NOFOLLOW, wishes),
        (wall, EvidenceType.LOGIN_WALL, {"reason": "it requires a login"}),
    ):
        if holds:
            yield Evidence(host.lease.host_id, entry.url, entry.key, kind, content, metadata, "high", answer.at)


def _fetched_page(entry: QueuedUrl, response: Response, answer: Answered, page: HtmlPage | None) -> FetchedPage:
    from comity.extract.fetched_page import FetchedPage, with_content  # for users' extractors alone

    fetched = FetchedPage(
        url=entry.url,
        final_url=response.url,
        status=answer.status,
        content_type=answer.content_type,
        body=response.body,
        encoding=page.encoding if page is not None else None,
        title=page.title if page is not None else None,
    )
    if page is not None:
        return with_content(fetched, page.text, page.markdown)
    if is_html(answer.content_type, response.body):  # it could not be read
        return with_content(fetched, "", "")
    return fetched


async def _extracted(
    host: LeasedHost,
    entry: QueuedUrl,
    extraction: Extraction,
    watch: PageWatch | None,
    base: str,
    context: VisitContext,
) -> tuple[list[FrontierEntry], list[Evidence]]:
    """The links that the user's extractor found, as far as they may be followed."""
    hrefs, found_on = extraction.links, entry.key
    found_by, depth = FoundBy.EXTRACTOR, entry.depth + 1
    return await admit_links(
        host, hrefs, watch, base=base, depth=depth, found_on=found_on, context=context, found_by=found_by
    )


async def _links(
    host: LeasedHost,
    entry: QueuedUrl,
    page: HtmlPage,
    watch: PageWatch | None,
    directives: PageDirectives,
    answer: Answered,
    context: VisitContext,
) -> tuple[list[FrontierEntry], list[Evidence]]:
    """Where a page leads, as far as that may be followed: its links, and its canonical address."""
    scope = context.scope
    hrefs: Sequence[str] = page.links
    if page.frames or page.refresh_href is not None:  # where a browser goes without a click
        hrefs = [*([page.refresh_href] if page.refresh_href is not None else []), *hrefs, *page.frames]
    base = answer.final_url if page.base_href is None else _base(page.base_href, answer.final_url)
    without: frozenset[str] = _NO_LINKS
    withheld = _why_withheld(directives, context)
    if withheld is not None:
        await withhold_links(host, hrefs, withheld, base=base, found_on=entry.key, context=context)
        hrefs = ()
    elif page.nofollow and scope.respect_nofollow:
        without, code = page.nofollow, UnqueuedCode.NOFOLLOW_LINK  # all of them are among its links
        await withhold_links(host, without, code, base=base, found_on=entry.key, context=context)
    depth, found_on = entry.depth + 1, entry.key
    entries, refused = await admit_links(
        host, hrefs, watch, base=base, depth=depth, found_on=found_on, context=context, without=without
    )
    said = page.canonical_href
    own = _canonical_elsewhere(host, entry, said, base, answer, context) if said is not None else None
    if said is not None and own is not None:
        refused.append(own)
        if scope.follow_canonical:
            # A step like a link: a chain of canonical addresses ends at the maximum depth.
            more, also = await admit_links(
                host,
                (said,),
                watch,
                base=base,
                depth=depth,
                found_on=found_on,
                context=context,
                found_by=FoundBy.CANONICAL,
            )
            entries += more
            refused += also
        else:
            code = UnqueuedCode.CANONICAL_OFF
            await withhold_links(host, (said,), code, base=base, found_on=found_on, context=context)
    if page.alternates and withheld is None:
        # An audit can judge only translations that it read: whether they exist and link back.
        more, also = await admit_links(
            host, page.alternates, watch, base=base, depth=depth, found_on=found_on, context=context
        )
        entries += more
        refused += also
    return entries, refused


def _why_withheld(directives: PageDirectives, context: VisitContext) -> UnqueuedCode | None:
    """Why no link of a page is followed; None if they are."""
    scope = context.scope
    if not scope.follow_links:
        return UnqueuedCode.LINKS_OFF
    if directives.nofollow and scope.respect_nofollow:
        return UnqueuedCode.NOFOLLOW_PAGE
    return None


def _canonical_elsewhere(
    host: LeasedHost, entry: QueuedUrl, said: str, base: str, answer: Answered, context: VisitContext
) -> Evidence | None:
    """Evidence that a page names another address as its canonical one; None if it names its own."""
    if said == entry.url and not ("?" in said or ";" in said or "/(" in said):
        return None  # as most pages do; what may be tracking is looked at
    own = resolve_link(said, base, collapse=context.scope.collapse_subdomains, tracking=context.tracking)
    if own is None or own.key == entry.key or own.url == answer.final_url:
        return None
    content = {"canonical": own.url, "reason": f"it names {own.url} as its canonical address"}
    metadata = {"url": entry.url}
    return Evidence(
        host.lease.host_id, entry.url, entry.key, EvidenceType.CANONICAL, content, metadata, "high", answer.at
    )


def _images(
    host: LeasedHost, entry: QueuedUrl, page: HtmlPage, url: str, trail: Trail, context: VisitContext
) -> tuple[Sequence[FrontierEntry], Sequence[FrontierEntry]]:
    """The images that a page shows, and those of them that are to be fetched."""
    base = _base(page.base_href, url)
    images, new_images, refused = admit_images(
        host, page.images, base=base, depth=entry.depth + 1, found_on=entry.key, context=context
    )
    trail.evidence.extend(refused)
    return images, new_images


def _withholds_images(directives: PageDirectives, at: float) -> bool:
    """Whether a page asks that its images are not indexed."""
    return directives.noimageindex or directives.forbids_storing(datetime.fromtimestamp(at, UTC))


def target_of(url: str) -> str:
    """The path and query of a canonical URL."""
    return url[url.index("/", 8) :]


def is_html(content_type: str | None, body: bytes) -> bool:
    """Whether a body is HTML; without a content type its first bytes decide."""
    kind = media_type(content_type)
    return kind in ("text/html", "application/xhtml+xml") or (not kind and body[:512].lstrip()[:1] == b"<")


def _base(base_href: str | None, url: str) -> str:
    if base_href is None:
        return url
    base = resolve_link(base_href, url)
    return base.url if base is not None else url
