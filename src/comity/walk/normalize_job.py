"""From the jobs of a page in its own words to what is kept of them, with what their source knows beside."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from comity.model.job import JobFound, JobPosting
from comity.model.source import Source
from comity.rules.jobs.normalize import normalize_listing


def normalized(jobs: Sequence[JobFound], source: Source, now: datetime) -> Sequence[JobPosting]:
    """What is kept of the jobs of a page."""
    return normalize_listing(
        jobs, org_name=source.org_name or "", org_type=source.org_type, source_country=source.country, now=now
    )
