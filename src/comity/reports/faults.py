"""Errors of fetches by their kind: how many, where, when last, and some of the URLs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

_URLS_A_KIND: Final = 3
_LONGEST_CODE: Final = 60


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """One kind of error: `host` and `at` are those of the last, `urls` the first few."""

    code: str
    count: int
    host: str
    at: datetime
    urls: tuple[str, ...] = ()


def errors_by_kind(rows: Sequence[Any], most: int) -> tuple[ErrorLine, ...]:
    """Errors by their code, the most frequent first; the rows come newest first."""
    found: dict[str, ErrorLine] = {}
    for row in reversed(rows):
        code = row.error.partition(":")[0][:_LONGEST_CODE]
        known = found.get(code)
        urls, count = (known.urls, known.count) if known is not None else ((), 0)
        if len(urls) < _URLS_A_KIND and row.page_url not in urls:
            urls = (*urls, row.page_url)
        found[code] = ErrorLine(code, count + 1, row.domain, row.crawled_at, urls)
    return tuple(sorted(found.values(), key=lambda line: (-line.count, line.code))[:most])
