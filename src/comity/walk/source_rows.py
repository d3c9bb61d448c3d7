"""Rows of a source's run: what `fetches` keeps of each page that was asked for."""

from __future__ import annotations

from comity.model.fetch import FetchFailure, Response
from comity.model.outcome import FetchRow, Trail
from comity.model.source import Obstacle
from comity.rules.canonical import WebAddress
from comity.walk.session.leased_host import LeasedHost
from comity.walk.settle.rows import pages_asked

BY_SOURCE = "source"
"""`fetches.discovery_type` of a page that was asked for by the run of a source, not by a crawl."""


def source_fetch(
    host: LeasedHost,
    address: WebAddress,
    trail: Trail,
    result: Response | FetchFailure | None,
    obstacle: Obstacle | None,
) -> FetchRow | None:
    """The row of one attempt at a page; None where nothing was asked."""
    asked = pages_asked(trail)
    if not asked:
        return None
    first, last = asked[0], asked[-1]
    response = result if isinstance(result, Response) else None
    outcome, error = _outcome(result, obstacle)
    return FetchRow(
        host.lease.host_id,
        host.name,
        address.url,
        address.key,
        outcome,
        last.status,
        error,
        first.started_at,
        max(0.0, last.ended_at - first.started_at),
        result.wire_bytes if result is not None else 0,
        0,
        last.url,
        len(asked) - 1,
        response.content_type if response is not None else None,
        discovery_type=BY_SOURCE,
    )


def _outcome(result: Response | FetchFailure | None, obstacle: Obstacle | None) -> tuple[str, str | None]:
    """The word of `fetches.outcome`, and the error with its code in front as a crawl writes it."""
    if isinstance(result, FetchFailure):
        ending = "refused" if result.kind.is_refusal and result.status is None else "rejected"
        return "failed" if result.kind.is_network else ending, f"{result.kind}: {result.detail}"
    if obstacle is None:
        return "not_modified" if result is not None and result.status == 304 else "fetched", None
    if result is None:
        return "refused", f"{obstacle.trouble}: {obstacle.reason}"
    status = result.status
    if status == 429 or obstacle.until is not None:
        return "rate_limited", f"http_{status}"
    if status >= 500:
        return "failed", f"http_{status}: {obstacle.reason}"
    return ("gone", f"http_{status}") if status >= 400 else ("refused", f"bad_redirect: {obstacle.reason}")
