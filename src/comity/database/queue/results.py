"""Statements on `crawl_results` and `late_submissions`: what bots submitted."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import zstandard
from sqlalchemy import Connection

from comity.database.bulk import Encoding, insert_rows, placed
from comity.database.queue.tables import crawl_results, late_submissions
from comity.model.queue import Submission

_LEVEL: Final = 3
_RESULT: Final = (
    "id",
    "job_id",
    "policy_id",
    "url",
    "price",
    "currency",
    "title",
    "in_stock",
    "parsed_data",
    "raw_html",
    "raw_html_bytes",
    "bot_id",
    "crawled_at",
    "created_at",
)
_SCALE: Final = Decimal("0.0001")


class PackedPage:
    """A page as it is stored: compressed, with its length in bytes of UTF-8. Made outside of any transaction."""

    __slots__ = ("compressed", "length")

    def __init__(self, raw_html: str | None) -> None:
        body = None if raw_html is None else raw_html.encode("utf-8", "surrogatepass")
        self.length = None if body is None else len(body)
        self.compressed = None if body is None else zstandard.ZstdCompressor(level=_LEVEL).compress(body)


def add(
    connection: Connection,
    result_id: UUID,
    submission: Submission,
    page: PackedPage,
    *,
    policy_id: UUID | None,
    url: str,
    now: float,
) -> None:
    """Store the result of a job."""
    encode = Encoding(connection)
    price: Any = submission.price
    if price is not None:
        price = price.quantize(_SCALE)
        price = price if connection.dialect.name == "postgresql" else format(price, "f")
    row = (
        encode.uuid(result_id),
        encode.uuid(submission.job_id),
        encode.uuid_or_none(policy_id),
        url,
        price,
        submission.currency,
        submission.title,
        submission.in_stock,
        None if submission.parsed_data is None else encode.json(submission.parsed_data),
        page.compressed,
        page.length,
        submission.bot_id,
        encode.time(now),
        encode.time(now),
    )
    insert_rows(connection, crawl_results, _RESULT, [row])


_LATE: Final = (
    "job_id",
    "bot_id",
    "submission_digest",
    "content",
    "raw_html",
    "raw_html_bytes",
    "received_at",
)


def keep_late(connection: Connection, submission: Submission, page: PackedPage, digest: str, now: float) -> None:
    """Store what came too late, once, for operators."""
    encode = Encoding(connection)
    content = {
        "success": submission.success,
        "price": None if submission.price is None else format(submission.price, "f"),
        "currency": submission.currency,
        "title": submission.title,
        "in_stock": submission.in_stock,
        "parsed_data": submission.parsed_data,
        "error_msg": submission.error_msg,
        "http_status": submission.http_status,
    }
    row = (
        encode.uuid(submission.job_id),
        submission.bot_id,
        digest,
        json.dumps(content, ensure_ascii=False),
        page.compressed,
        page.length,
        encode.time(now),
    )
    insert_rows(connection, late_submissions, _LATE, [row], unless=("job_id", "bot_id", "submission_digest"))


def late_of_job(connection: Connection, job_id: UUID, limit: int) -> int:
    """How many late submissions of a job are stored, counted up to a limit."""
    key = Encoding(connection).uuid(job_id)
    return int(connection.exec_driver_sql(_late_text(connection.dialect.name), (key, limit)).scalar_one())


@lru_cache(maxsize=2)
def _late_text(dialect: str) -> str:
    return placed(dialect, "SELECT count(*) FROM (SELECT 1 FROM late_submissions WHERE job_id = ? LIMIT ?) AS kept")
