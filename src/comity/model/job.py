"""Jobs: what a page says of one (JobFound), what we keep of it (JobPosting), and what a careers page turned out to be.

`JobFound` carries the page's own words; `JobPosting` what they mean in one vocabulary. A `Listing` is one page read.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from comity.model.dataclass import dataclass

# The vocabularies of a JobPosting, in order; plain text, as they stand in the database and in the search index.
LEVELS: Final = ("intern", "junior", "mid", "senior", "lead", "director", "executive")
MODALITIES: Final = ("onsite", "hybrid", "remote", "field")
CAREER_TYPES: Final = (
    *("internship", "volunteer", "fellowship", "consultancy", "secondment", "temporary", "fixed-term", "permanent"),
    *("part-time", "full-time"),
)
MISSION_TAGS: Final = (
    *(
        "health",
        "nutrition",
        "education",
        "wash",
        "protection",
        "child-protection",
        "gender",
        "food-security",
        "livelihoods",
    ),
    *(
        "shelter",
        "emergency",
        "climate",
        "environment",
        "agriculture",
        "migration",
        "human-rights",
        "governance",
        "peace",
    ),
    *(
        "disability",
        "youth",
        "mine-action",
        "cash",
        "logistics",
        "procurement",
        "mel",
        "research",
        "data",
        "it",
        "finance",
    ),
    *(
        "administration",
        "human-resources",
        "legal",
        "security",
        "communications",
        "fundraising",
        "advocacy",
        "engineering",
    ),
    *("programme-management", "partnerships", "translation"),
)


class SourceType(StrEnum):
    """What a source's address returns."""

    HTML = "html"
    RSS = "rss"
    API = "api"


class ExtractionMethod(StrEnum):
    """How a job was recognised on its page, the most reliable first."""

    HINT = "hint"
    JSON_LD = "json-ld"
    MICRODATA = "microdata"
    RDFA = "rdfa"
    APPLICANT_SYSTEM = "applicant-system"
    FEED = "feed"
    TABLE = "table"
    LIST = "list"
    CARDS = "cards"


@dataclass(frozen=True, slots=True)
class JobFound:
    """One job in the page's own words; empty where the page says nothing."""

    title: str
    apply_url: str
    org_name: str = ""
    location_raw: str = ""
    description_snippet: str = ""
    description_text: str = ""
    """The whole description as the listing has it, one line a paragraph; the snippet is its beginning."""
    deadline_raw: str = ""
    posted_raw: str = ""
    employment_raw: str = ""
    workplace_raw: str = ""
    level_raw: str = ""
    country_raw: str = ""
    reference: str = ""
    language: str = ""
    found_by: ExtractionMethod = ExtractionMethod.CARDS


class ListingKind(StrEnum):
    """What a page that should list jobs turned out to be."""

    JOBS = "jobs"
    NO_OPENINGS = "no-openings"
    NOTHING_FOUND = "nothing-found"
    LAYOUT_CHANGED = "layout-changed"
    """It has items, but none that can be used: what they are called or how they are built is not known."""
    LOGIN = "login"
    CAPTCHA = "captcha"
    ERROR_PAGE = "error-page"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a source: its jobs, its next page, and why there are none."""

    kind: ListingKind
    jobs: tuple[JobFound, ...] = ()
    next_url: str | None = None
    message: str = ""
    is_cut: bool = False
    """Whether it breaks off: what is not on it may have been meant to be."""
    is_elsewhere: bool = False
    """Whether the jobs are not here but at `next_url`, which may be another host's."""
    is_scripted: bool = False
    """Whether only the page's scripts, which are not run, would put jobs on it."""


@dataclass(frozen=True, slots=True)
class JobPosting:
    """One job as it is stored: the page's words beside their meaning."""

    canonical_hash: str
    title: str
    org_name: str
    apply_url: str
    location_raw: str = ""
    description_snippet: str = ""
    description_text: str = ""
    deadline: datetime | None = None
    posted_at: datetime | None = None
    city: str | None = None
    country_iso: str | None = None
    level_norm: str | None = None
    work_modality: str | None = None
    career_type: str | None = None
    international_eligible: bool | None = None
    mission_tags: tuple[str, ...] = ()
    language: str | None = None
