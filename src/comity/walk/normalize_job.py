"""From a job in its page's words to what is kept of it, with what its source knows of the organisation."""

from __future__ import annotations

from datetime import datetime

from comity.model.job import JobFound, JobPosting
from comity.model.source import Source
from comity.rules.jobs.normalize import normalize


def normalized(found: JobFound, source: Source, now: datetime) -> JobPosting:
    """What is kept of a job."""
    return normalize(
        found, org_name=source.org_name or "", org_type=source.org_type, source_country=source.country, now=now
    )
