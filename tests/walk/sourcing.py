"""Careers pages for tests, and an office that runs sources on either database, over HTTP on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import text

from comity.assemble import State, open_state
from comity.model.source import Source, SourceReport, SourceSkipped
from comity.operate.sources import add_source
from comity.reports.sources import LoggedRun, find_source, list_runs
from comity.settings import read_settings
from comity.upkeep.due_sources import PassReport
from comity.walk.sources.runner import SourceRunner
from tests.walk.site import Answer

LOOPBACK = "127.0.0.0/8"
Given = TypeVar("Given")


def day_in(days: int) -> str:
    """A day to come."""
    return (datetime.now(UTC) + timedelta(days=days)).date().isoformat()


@dataclass(frozen=True, slots=True)
class Job:
    """One opening."""

    title: str
    place: str = "Nairobi, Kenya"
    closes: str = field(default_factory=partial(day_in, 60))
    words: str = "Helps people who need it."

    @property
    def path(self) -> str:
        return f"/jobs/{self.title.lower().replace(' ', '-')}"


def jobs(count: int, *, start: int = 1, **said: Any) -> list[Job]:
    """So many different openings."""
    fields = ("Water", "Health", "Shelter", "Logistics", "Finance", "Protection", "Nutrition", "Education")
    return [Job(f"{fields[number % 8]} Officer {number}", **said) for number in range(start, start + count)]


def listing(openings: Sequence[Job], *, following: str | None = None, say: str = "") -> str:
    """A careers page that names its openings the way search engines ask for."""
    posted = [
        {
            "@context": "https://schema.org/",
            "@type": "JobPosting",
            "title": job.title,
            "url": job.path,
            "description": job.words,
            "validThrough": job.closes,
            "hiringOrganization": {"@type": "Organization", "name": "Relief House"},
            "jobLocation": {"@type": "Place", "address": job.place},
        }
        for job in openings
    ]
    script = f'<script type="application/ld+json">{json.dumps(posted)}</script>' if posted else ""
    rows = "".join(f'<li><a href="{job.path}">{job.title}</a> {job.place}</li>' for job in openings)
    link = f'<a rel="next" href="{following}">Next</a>' if following else ""
    return (
        f"<!doctype html><html lang=en><head><title>Careers at Relief House</title>{script}</head>"
        f"<body><h1>Current vacancies</h1><p>{say}</p><ul>{rows}</ul>{link}</body></html>"
    )


NO_OPENINGS = (
    "<!doctype html><html lang=en><head><title>Careers</title></head><body><h1>Vacancies</h1>"
    "<p>There are currently no open positions. Please check back later.</p></body></html>"
)
NOTHING = (
    "<!doctype html><html lang=en><head><title>Relief House</title></head><body><h1>About us</h1>"
    "<p>We have been helping people since 1971, in every part of the country.</p></body></html>"
)
LOGIN = (
    "<!doctype html><html lang=en><head><title>Sign in</title></head><body><h1>Sign in</h1>"
    '<form action="/login" method="post"><input name="user"><input type="password" name="password">'
    "<button>Sign in</button></form></body></html>"
)
CAPTCHA = (
    "<!doctype html><html lang=en><head><title>Just a moment...</title></head><body><h1>Verify you are human</h1>"
    '<p>Please complete the security check to continue.</p><div class="g-recaptcha" data-sitekey="x"></div>'
    "</body></html>"
)
ERROR_PAGE = (
    "<!doctype html><html lang=en><head><title>500 Internal Server Error</title></head><body>"
    "<h1>Internal Server Error</h1><p>Something went wrong. Please try again later.</p></body></html>"
)


def feed(openings: Sequence[Job], site: str) -> Answer:
    """The same as RSS."""
    items = "".join(
        f"<item><title>{job.title}</title><link>{site}{job.path}</link>"
        f"<description>{job.words} Location: {job.place}</description></item>"
        for job in openings
    )
    body = f'<?xml version="1.0"?><rss version="2.0"><channel><title>Jobs</title>{items}</channel></rss>'
    return Answer(body=body, type="application/rss+xml")


@dataclass(slots=True)
class Office:
    """One state, and whoever runs sources on it."""

    state: State

    @property
    def database(self) -> Any:
        return self.state.database

    def add(self, url: str, **columns: Any) -> Source:
        return add_source(self.state.database, self.state.clock, url, **({"org_name": "Relief House"} | columns))

    def run(self, source: Source, **options: Any) -> SourceReport:
        """Run a source to its end, which must be a run."""
        result = self.do(lambda desk: desk.run(source.id, **options))
        assert isinstance(result, SourceReport), result
        return result

    def skip(self, source: Source, **options: Any) -> SourceSkipped:
        """Try to run a source that is to be left alone."""
        result = self.do(lambda desk: desk.run(source.id, **options))
        assert isinstance(result, SourceSkipped), result
        return result

    def run_due(self, most: int | None = 20) -> PassReport:
        return self.do(lambda desk: self.state.due_sources(desk).run_due(most))

    def do(self, act: Callable[[SourceRunner], Awaitable[Given]], within_s: float = 60.0) -> Given:
        return asyncio.run(asyncio.wait_for(self.at_desk(act), within_s))

    async def at_desk(self, act: Callable[[SourceRunner], Awaitable[Given]]) -> Given:
        async with self.state.fetcher() as fetcher, self.state.source_runner(fetcher) as desk:
            return await act(desk)

    def again(self, source: Source) -> Source:
        """The source as its row is now."""
        return find_source(self.state.database, str(source.id))

    def logs(self, source: Source) -> list[LoggedRun]:
        return list_runs(self.state.database, source.id)

    def rows(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        with self.state.database.read() as connection:
            return [dict(row._mapping) for row in connection.execute(text(statement), values)]

    def execute(self, statement: str, **values: Any) -> int:
        with self.state.database.write() as connection:
            return connection.execute(text(statement), values).rowcount

    def make_due(self) -> None:
        self.execute("UPDATE sources SET next_run_at = NULL")

    def titles(self, *, is_open: bool = True) -> list[str]:
        word = "IS NULL" if is_open else "IS NOT NULL"
        return [
            row["title"] for row in self.rows(f"SELECT title FROM job_postings WHERE closed_at {word} ORDER BY title")
        ]

    def outbox(self) -> list[str]:
        return [row["action"] for row in self.rows("SELECT action FROM search_outbox ORDER BY id")]


@contextmanager
def office(database_url: str, **settings: Any) -> Iterator[Office]:
    """Open an office on an empty database of either kind; a shared one has its tables already."""
    given = {"database_url": database_url, "source_delay_s": 0.0, "allow_networks": (LOOPBACK,)}
    with open_state(read_settings(**(given | settings))) as state:
        yield Office(state)
