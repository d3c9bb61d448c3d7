"""What the crawl service knows of one URL: its policy and its last job, each by an index."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select

from comity.database.queue.tables import crawl_jobs, crawl_policies

_JOB: Final = ("id", "status", "locked_by", "lock_ends_at", "not_before", "finished_at", "error_msg", "created_at")


class UrlJob(NamedTuple):
    """The rows of a URL's policy and of its last job; None where there is none."""

    policy: Any
    job: Any


def of_url(connection: Connection, url: str) -> UrlJob:
    """The policy and the last job of a URL."""
    table = crawl_policies.c
    policy = select(table.enabled, table.created_at, table.next_run_at).where(table.url == url)
    columns = [crawl_jobs.c[name] for name in _JOB]
    job = select(*columns).where(crawl_jobs.c.url == url).order_by(crawl_jobs.c.created_at.desc()).limit(1)
    return UrlJob(connection.execute(policy).first(), connection.execute(job).first())
