"""What each limit of a host's policy applies to: takes a policy row, returns the kinds of work that it limits.

Concurrency and interval are politeness: where an operator made a row, they apply to crawls, sources, audits and
queries. `max_pages` limits a run of a source; a whole-site run has `domains.max_pages_per_run`. `max_kb_per_page` is
1024 for sources unless the operator sets it; it limits other requests only if it was set, so that a policy made to
slow a host down does not truncate the pages of a crawl.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from comity.model.host import HostPolicy


class Reach(StrEnum):
    """What a limit applies to."""

    EVERY_DOOR = "crawls, sources, audits and queries"
    SOURCE_RUNS = "source runs"
    NO_DOOR = "nothing yet"


LIMITS: Final = ("max_concurrency", "min_request_interval_ms", "max_pages", "max_kb_per_page", "allow_js")


def reach_of(limit: str, *, is_page_size_set: bool) -> Reach:
    """What a limit applies to, given whether the operator set the page size."""
    match limit:
        case "max_concurrency" | "min_request_interval_ms":
            return Reach.EVERY_DOOR
        case "max_pages":
            return Reach.SOURCE_RUNS
        case "max_kb_per_page":
            return Reach.EVERY_DOOR if is_page_size_set else Reach.SOURCE_RUNS
        case "allow_js":  # scripts are not run
            return Reach.NO_DOOR
    raise ValueError(f"{limit} is not a policy limit")


def reaches(*, is_page_size_set: bool) -> dict[str, str]:
    """Every limit of a policy with what it applies to."""
    return {limit: str(reach_of(limit, is_page_size_set=is_page_size_set)) for limit in LIMITS}


def page_bytes_for_any_door(policy: HostPolicy | None) -> int | None:
    """The largest page that a policy allows for any request; None where it sets no size."""
    if policy is None or not policy.is_page_size_set:
        return None
    return policy.max_kb_per_page * 1024
