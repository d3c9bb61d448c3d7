"""The rules of webhooks: which events a result causes, how a call is signed, and when a failed one is made again.

A signature covers the time of the attempt and the body, so a copied call cannot be sent again later: receivers refuse
a timestamp that is more than five minutes away from their own clock. Each attempt has its own signature. The
id of the delivery stays the same over all attempts, so that a receiver can drop what it has already handled.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

SIGNATURE_VERSION: Final = "v1"
RETRY_AFTER_S: Final = (60.0, 300.0, 1800.0, 7200.0, 43_200.0)
"""The pauses after the first failed attempt, the second, and so on; after that the delivery has failed."""
MOST_FAILURES: Final = 20
"""Failed attempts in a row, of any deliveries, after which a webhook is disabled."""


SHORTEST_SECRET: Final = 16
SECRET_VARIABLES: Final = "WEBHOOK_SECRET_"  # noqa: S105
"""How the variables begin that a webhook may name: no request can have others of the server's environment read."""
_REFERENCE: Final = re.compile(rf"env:({SECRET_VARIABLES}[A-Z0-9_]{{1,100}})")


def variable_of(secret: str) -> str | None:
    """The environment variable that contains a webhook's secret; None if it is the secret itself."""
    found = _REFERENCE.fullmatch(secret)
    return None if found is None else found[1]


def secret_in_force(secret: str, environment: Mapping[str, str]) -> str:
    """What a call is signed with; raises `ValueError` if the variable that holds it cannot be used."""
    variable = variable_of(secret)
    if variable is None:
        return secret
    value = environment.get(variable)
    if value is None:
        raise ValueError(f"the environment variable {variable} is not set here")
    if len(value) < SHORTEST_SECRET:
        raise ValueError(f"the environment variable {variable} has fewer than {SHORTEST_SECRET} characters")
    if not (value.isascii() and value.isprintable()):
        raise ValueError(f"the environment variable {variable} has characters other than printable ASCII")
    return value


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """The value of X-Comity-Signature: HMAC-SHA256 over `<timestamp>.<body>`."""
    signed = str(timestamp).encode("ascii") + b"." + body
    return f"{SIGNATURE_VERSION}={hmac.new(secret.encode('utf-8'), signed, 'sha256').hexdigest()}"


def body_of(delivery_id: str, event: str, created_at: str, payload: Mapping[str, Any]) -> bytes:
    """What is sent: the same bytes at each attempt, on either database."""
    document = {"id": delivery_id, "event": event, "created_at": created_at, "data": payload}
    return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def next_attempt_after_s(attempts: int) -> float | None:
    """How long to wait after the failure of so many attempts; None if the delivery has failed for good."""
    return RETRY_AFTER_S[attempts - 1] if 1 <= attempts <= len(RETRY_AFTER_S) else None


def is_disabled_after(failures: int) -> bool:
    """Whether so many failed attempts in a row disable a webhook."""
    return failures >= MOST_FAILURES


def is_delivered(status: int | None) -> bool:
    """Whether the receiver accepted a call. Redirects are not followed, so they are failures."""
    return status is not None and 200 <= status < 300


def is_price_changed(
    old_price: Decimal | None, old_currency: str | None, price: Decimal | None, currency: str | None
) -> bool:
    """Whether a result has another price or currency than the one before; an unknown one differs from none."""
    if old_price is None or price is None:
        return False
    is_other_currency = None not in (old_currency, currency) and old_currency != currency
    return price != old_price or is_other_currency


def is_back_in_stock(was_in_stock: bool | None, in_stock: bool | None) -> bool:
    """Whether a product is known to have been out of stock, and is in stock now."""
    return was_in_stock is False and in_stock is True
