"""Admit pictures: the addresses of images on a page become entries for the frontier of the same host, or evidence."""

from __future__ import annotations

from collections.abc import Sequence

from comity.model.evidence import Evidence
from comity.model.frontier import IMAGE_PRIORITY, FoundBy, FrontierEntry, UnqueuedCode
from comity.rules.canonical import resolve_link
from comity.walk.evidence import robots_evidence, taken_down
from comity.walk.session.leased_host import LeasedHost
from comity.walk.visit.context import VisitContext


def admit_images(
    host: LeasedHost, addresses: Sequence[str], *, base: str, depth: int, found_on: int, rooms: VisitContext
) -> tuple[list[FrontierEntry], list[FrontierEntry], list[Evidence]]:
    """The images of a page that are on its host and may be asked for, those of them not met before, and why not others.

    What is on another host is left there: only whoever holds that host may ask it.
    """
    found: dict[int, FrontierEntry] = {}
    new: list[FrontierEntry] = []
    refused: list[Evidence] = []
    takedowns, now, collapse = rooms.takedowns(), rooms.clock(), rooms.scope.collapse_subdomains
    for written in addresses:
        address = resolve_link(written, base, collapse=collapse)
        if address is None or address.key in found:
            continue
        if address.host != host.name:
            host.note_unqueued(address.url, address.key, UnqueuedCode.OTHER_HOST, FoundBy.IMAGE, found_on)
            continue
        is_met = host.work.is_met_as_image(address.key)
        covered = takedowns.covering(address)
        robots = host.robots.get(address.origin)
        verdict = robots.verdict(address.path) if robots is not None and not robots.is_unreachable else None
        if covered is not None:
            if not is_met:
                refused.append(taken_down(host, address, covered, now))
                host.note_unqueued(address.url, address.key, UnqueuedCode.TAKEDOWN, FoundBy.IMAGE, found_on)
        elif verdict is not None and not verdict.allowed:
            if not is_met:
                refused.append(robots_evidence(host, address, verdict, now))
                host.note_unqueued(address.url, address.key, UnqueuedCode.ROBOTS, FoundBy.IMAGE, found_on)
        else:
            entry = found[address.key] = FrontierEntry(
                address.url, address.key, depth, IMAGE_PRIORITY, None, FoundBy.IMAGE, found_on
            )
            if not is_met:
                new.append(entry)
    return list(found.values()), new, refused
