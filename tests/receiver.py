"""A receiver of webhooks, as docs/bots.md describes it: which calls it accepts."""

from __future__ import annotations

import hmac

from comity.rules.queue.webhook import signature

REPLAY_WINDOW_S = 300


def is_authentic(secret: str, timestamp: int, body: bytes, claimed: str, now: float) -> bool:
    """Whether a call is accepted: signed with the secret, and sent within the replay window."""
    is_recent = abs(now - timestamp) <= REPLAY_WINDOW_S
    expected = signature(secret, timestamp, body).encode("ascii")
    return hmac.compare_digest(expected, claimed.encode("utf-8", "replace")) and is_recent
