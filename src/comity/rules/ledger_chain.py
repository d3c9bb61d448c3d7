"""The hash chains of the ledger: each row's digest covers the row and the digest before it.

Any language can repeat the encoding (docs/ledger.md): a JSON array without blanks, ASCII only, times as whole
microseconds since 1970, after the digest of the previous row and a line feed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import lru_cache
from hashlib import blake2b
from json.encoder import encode_basestring_ascii
from math import modf
from typing import Any, Final

from comity.model.ledger import Breach, LedgerRow

START: Final = "0" * 32
"""What the first row of a chain follows."""
DIGEST_BYTES: Final = 16

RowTimes = tuple[int | str, int | str, int | str | None]
"""When a request started, when it ended, and until when its host is blocked, in microseconds or as their digits."""

_encode = json.JSONEncoder(separators=(",", ":")).encode


def microseconds(seconds: float) -> int:
    """An instant as the databases keep it: whole microseconds, half to even as `datetime` rounds."""
    fraction, whole = modf(seconds)
    return int(whole) * 1_000_000 + round(fraction * 1e6)


def chained(previous: str, values: Sequence[Any]) -> str:
    """The digest of a row behind the row whose digest is `previous`."""
    return blake2b(f"{previous}\n{_encode(values)}".encode("ascii"), digest_size=DIGEST_BYTES).hexdigest()


def chained_request(
    previous: str, sequence: int, host_hex: str, row: LedgerRow, times: RowTimes, *, has_fetch: bool
) -> str:
    """The digest of a request: `chained` over its values, spelled out because each page needs one.

    `ledger_reading.request_values` has the same order.
    """
    (
        _host_id,
        _host,
        lease_token,
        request_number,
        url,
        purpose,
        _started_at,
        _ended_at,
        delay,
        max_concurrency,
        policy_interval_ms,
        policy_max_concurrency,
        robots_version,
        rule_line,
        rule,
        status,
        retry_after_s,
        _blocked_until,
    ) = row
    started_us, ended_us, blocked_us = times
    limits = _limits_text(
        delay.seconds + 0.0,  # never an int, and never -0.0, which is another text and the same key
        delay.source,
        max_concurrency,
        policy_interval_ms,
        policy_max_concurrency,
        robots_version,
        rule_line,
        rule,
    )
    text = (
        f'{previous}\n[{sequence},"{host_hex}",{lease_token},{request_number},'
        f'{encode_basestring_ascii(url)},"{purpose}",{started_us},{ended_us},{limits},'
        f"{'null' if status is None else status},"
        f"{'null' if retry_after_s is None else _encode(retry_after_s)},"
        f"{'null' if blocked_us is None else blocked_us},{'true' if has_fetch else 'false'}]"
    )
    return blake2b(text.encode("ascii"), digest_size=DIGEST_BYTES).hexdigest()


@lru_cache(maxsize=4096)
def _limits_text(*limits: Any) -> str:
    """The rules that a request followed, as JSON without brackets; mostly the same for all requests of a host."""
    return _encode(limits)[1:-1]


def content_digest(body: bytes) -> str:
    """The name of a file by its content."""
    return blake2b(body, digest_size=DIGEST_BYTES).hexdigest()


class ChainCheck:
    """Follows one chain in the order of its sequence, and finds rows that are missing, inserted or altered."""

    def __init__(self, host_id: str) -> None:
        self._host_id = host_id
        self._sequence = 0
        self._digest = START

    def row(self, sequence: int, digest: str, values: Sequence[Any]) -> tuple[Breach, str] | None:
        """Check the next row; in the digest, its values follow the sequence and the host."""
        if sequence <= self._sequence:
            return Breach.ROW_INSERTED, f"a row was inserted: number {sequence} is not the next one in the chain"
        missing = sequence - self._sequence - 1
        is_altered = chained(self._digest, (sequence, self._host_id, *values)) != digest
        self._sequence, self._digest = sequence, digest
        if missing:  # without the row before it, this one cannot be checked, but the next can
            return Breach.ROW_MISSING, f"rows before number {sequence:,} are missing: {missing:,}"
        if is_altered:
            return Breach.ROW_ALTERED, f"row {sequence:,} was altered: its digest does not match"
        return None

    def end(self, count: int, digest: str) -> tuple[Breach, str] | None:
        """Compare the end of the chain with its head."""
        if self._sequence < count:
            return (
                Breach.ROW_MISSING,
                f"rows at the end of the chain are missing: {count - self._sequence:,} of {count:,}",
            )
        if self._sequence > count:
            return Breach.ROW_INSERTED, f"the chain has {count:,} rows, but row {self._sequence:,} was found"
        if self._digest != (digest or START):
            return Breach.ROW_ALTERED, "the digest of the last row does not match the end of the chain"
        return None


class RequestNumbers:
    """Whether the requests of each lease are recorded without a gap; they may come in any order."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, int]] = {}  # by lease: the highest number, and how many

    def row(self, lease_token: int, request_number: int) -> None:
        """Count one request."""
        highest, count = self._seen.get(lease_token, (0, 0))
        self._seen[lease_token] = max(highest, request_number), count + 1

    def missing(self, excused: Collection[int], gaps: Collection[int]) -> list[tuple[int, int]]:
        """Leases with missing requests, and how many, but for `excused` ones and those that a noted gap follows."""
        tokens = sorted(self._seen)
        lacking = []
        for at, token in enumerate(tokens):
            highest, count = self._seen[token]
            following = tokens[at + 1] if at + 1 < len(tokens) else None
            is_noted = any(token < gap and (following is None or gap <= following) for gap in gaps)
            if highest > count and token not in excused and not is_noted:
                lacking.append((token, highest - count))
        return lacking
