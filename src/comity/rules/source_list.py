"""Lists of sources: the columns that they may have, and the names that people give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from comity.rules.row_list import ListReader, format_of

__all__ = ["COLUMNS", "format_of", "read_source_list", "rows_of_objects"]

# Every column of a source that may be in a list, with the other names that people give it.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "careers_url": (
        *("url", "link", "address", "website", "page", "source", "source_url", "careers", "careers_page"),
        *("career_url", "career_page", "jobs_url", "job_url", "jobs_page"),
    ),
    "org_name": (
        *("organisation", "organization", "org", "name", "organisation_name", "organization_name"),
        *("employer", "company", "company_name"),
    ),
    "source_type": ("type", "format"),
    "org_type": ("organisation_type", "organization_type", "kind", "category"),
    "parser_hint": ("hint", "parser"),
    "crawl_frequency_days": ("frequency_days", "crawl_frequency", "frequency", "days", "every_days"),
    "time_window": ("window", "hours"),
    "country": ("country_code", "country_iso", "iso", "iso2"),
    "time_zone": ("timezone", "tz", "zone"),
    "schedule": (),
    "importance": ("weight", "priority"),
}
# Columns of `comity sources list --json` that say what happened, which a list cannot set.
_OF_A_STATE: Final = frozenset(
    {
        *("id", "status", "next_run_at", "last_crawled_at", "last_crawl_status", "last_crawl_message", "created_at"),
        *("consecutive_failures", "consecutive_nochange", "last_found", "empty_reads", "change_statistics"),
        "updated_at",
    }
)
_READER: Final = ListReader(
    noun="sources",
    key="careers_url",
    key_in_words="careers_url (or url)",
    columns=COLUMNS,
    of_a_state=_OF_A_STATE,
    whole={"crawl_frequency_days": " of days"},
    numbers=frozenset({"importance"}),
    as_text=frozenset({"parser_hint"}),
)
read_source_list: Final = _READER.read
rows_of_objects: Final = _READER.rows_of_objects
