"""Reading a page that came: what it forbids, where it leads, whether it is only a door."""

from __future__ import annotations

from xxhash import xxh3_128_hexdigest

from comity.extract.html import read_html
from comity.model.evidence import Evidence, EvidenceType
from comity.model.fetch import Response
from comity.model.frontier import FrontierEntry, QueuedUrl
from comity.model.outcome import Answered, Fetched, Trail
from comity.model.scope import CrawlScope
from comity.rules.canonical import resolve_link
from comity.rules.directives import read_directives
from comity.rules.login_wall import is_login_wall
from comity.rules.takedown import Takedowns
from comity.walk.admit import admit_links
from comity.walk.leased_host import LeasedHost


def read_page(
    host: LeasedHost,
    entry: QueuedUrl,
    response: Response,
    answer: Answered,
    trail: Trail,
    scope: CrawlScope,
    takedowns: Takedowns,
    agent: str,
    now: float,
) -> Fetched:
    """Make an outcome of a page, with its links as entries for the frontier and its wishes as evidence."""
    body, said = response.body, response.headers.get_all("x-robots-tag")
    page = None
    if is_html(answer.content_type, body):
        page = read_html(body, content_type=answer.content_type, agent_token=agent)
    links: list[FrontierEntry] = []
    directives = read_directives(page.meta_robots if page is not None else (), said, agent)
    if page is not None and not (directives.nofollow and scope.respect_nofollow):
        base = _base(page.base_href, response.url)
        links, refused = admit_links(
            host, page.links, base=base, depth=entry.depth + 1, scope=scope, takedowns=takedowns, now=now
        )
        trail.evidence.extend(refused)
    wall = page is not None and is_login_wall(
        status=answer.status,
        requested_url=entry.url,
        final_url=response.url,
        has_password_field=page.has_password_field,
        link_count=len(page.links),
        title=page.title,
    )
    wishes = {"said": list(directives.evidence)}
    for holds, kind, content in (
        (directives.noindex, EvidenceType.NOINDEX, wishes),
        (directives.nofollow, EvidenceType.NOFOLLOW, wishes),
        (wall, EvidenceType.LOGIN_WALL, {"reason": "it asks for a login"}),
    ):
        if holds:
            metadata = {"url": entry.url, "finalUrl": response.url}
            trail.evidence.append(
                Evidence(host.lease.host_id, entry.url, entry.key, kind, content, metadata, "high", answer.at)
            )
    return Fetched(
        entry=entry,
        trail=trail,
        answer=answer,
        body=body,
        encoding=page.encoding if page is not None else None,
        content_hash=xxh3_128_hexdigest(body),
        title=page.title if page is not None else None,
        links=tuple(links),
        keep=not directives.noindex,
        is_login_wall=wall,
        coded=response.coded_body,
        coding=response.content_encoding or None,
    )


def is_html(content_type: str | None, body: bytes) -> bool:
    """Whether a body is to be read as HTML; one without a type is looked at."""
    if content_type is None:
        return body[:512].lstrip()[:1] == b"<"
    return content_type.partition(";")[0].strip().lower() in ("text/html", "application/xhtml+xml")


def _base(base_href: str | None, url: str) -> str:
    if base_href is None:
        return url
    base = resolve_link(base_href, url)
    return base.url if base is not None else url
