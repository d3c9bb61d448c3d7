"""Request retries: which answers are worth another try, and after how long.

A status and the tries so far go in; RetryAt or GiveUp comes out. Retries of jobs and of sources are other rules.
"""

from __future__ import annotations

from typing import Final

from comity.model.gate import GiveUp, GiveUpReason, RetryAt

RETRIES_PER_URL: Final = 5
MAX_RETRY_BACKOFF_S: Final = 600.0


def retry_delay(attempt: int, cap_s: float = MAX_RETRY_BACKOFF_S) -> float:
    """Seconds before retry number `attempt`: 1, 1, 2, 3, 5, 8, 13 …, up to the cap."""
    before, current = 0, 1
    for _ in range(attempt - 1):
        if current >= cap_s:
            break
        before, current = current, before + current
    return min(float(current), cap_s)


def is_retryable(status: int | None) -> bool:
    """Whether an answer may be better next time; None or 0 and below is a failed connection."""
    return status is None or status <= 0 or status == 429 or 500 <= status <= 599


def retry_decision(
    status: int | None,
    retries_done: int,
    retry_limit: int = RETRIES_PER_URL,
    retry_after_s: float | None = None,
    cap_s: float = MAX_RETRY_BACKOFF_S,
) -> RetryAt | GiveUp:
    """Decide on another try; the site's own Retry-After lengthens the wait and is not capped."""
    if not is_retryable(status):
        return GiveUp(GiveUpReason.FINAL_STATUS)
    if retries_done >= retry_limit:
        return GiveUp(GiveUpReason.RETRIES_SPENT)
    delay_s = retry_delay(retries_done + 1, cap_s)
    if retry_after_s is not None and retry_after_s > delay_s:
        delay_s = retry_after_s
    return RetryAt(delay_s)
