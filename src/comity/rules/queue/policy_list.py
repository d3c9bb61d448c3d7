"""Lists of crawl policies: the columns that they may have, and the names that people give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from comity.rules.row_list import ListReader

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "url": ("link", "address", "page", "product_url", "page_url"),
    "frequency_hours": ("frequency", "every_hours", "hours", "interval_hours"),
    "priority": (),
    "max_retries": ("retries",),
    "retry_backoff_minutes": ("backoff_minutes", "retry_backoff"),
    "timeout_minutes": ("timeout",),
    "crawl_config": ("config",),
    "enabled": ("active",),
    "schedule": (),
    "importance": ("weight",),
}
_READER: Final = ListReader(
    noun="policies",
    key="url",
    key_in_words="url",
    columns=COLUMNS,
    of_a_state=frozenset(
        {
            *("id", "domain", "next_run_at", "failure_count", "last_success_at", "last_failed_at", "last_price"),
            *("last_currency", "last_in_stock", "change_statistics", "created_at", "updated_at"),
        }
    ),
    whole={
        "frequency_hours": " of hours",
        "priority": "",
        "max_retries": "",
        "retry_backoff_minutes": " of minutes",
        "timeout_minutes": " of minutes",
    },
    numbers=frozenset({"importance"}),
    flags=frozenset({"enabled"}),
    as_objects=frozenset({"crawl_config"}),
)
read_policy_list: Final = _READER.read
rows_of_policies: Final = _READER.rows_of_objects
