"""Set the limits of one host. An edit takes effect on the next request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from comity.clock import Clock
from comity.database import policies
from comity.database.connection import Database
from comity.model.errors import BadInput
from comity.model.host import HostPolicy
from comity.operate.request_options import policy_options

_LEAST: Final = {"max_concurrency": 1, "min_request_interval_ms": 0, "max_pages": 0, "max_kb_per_page": 1}
_MOST: Final = {
    "max_concurrency": 1000,
    "min_request_interval_ms": 7 * 86_400_000,
    "max_pages": 1_000_000_000,
    "max_kb_per_page": 1_000_000,
}


def get_policy(database: Database, host: str) -> HostPolicy | None:
    """The policy of a host, if an operator made one."""
    with database.read() as connection:
        row = policies.get(connection, host)
    return None if row is None else policies.policy_from(row)


def check_limits(**changes: int | bool | None) -> dict[str, int | bool]:
    """Those limits that were named; `BadInput` if there are none, or one is out of bounds."""
    values = {name: value for name, value in changes.items() if value is not None}
    if not values:
        raise BadInput("nothing to set: name at least one limit, such as min_request_interval_ms")
    for name, least in _LEAST.items():
        value = values.get(name)
        if value is not None and not least <= value <= _MOST[name]:
            raise BadInput(name, f"must be between {least} and {_MOST[name]}, not {value}")
    return values


def set_request_options(
    database: Database, clock: Clock, host: str, text: str, changes: Mapping[str, Any]
) -> HostPolicy:
    """Change what the requests to a host carry; what is not named keeps its value. `text` is the host as it was typed.

    An empty list removes what was there. Only references to secrets are stored.
    """
    with database.write() as connection:
        row = policies.get(connection, host)
        options = policy_options(text, None if row is None else row.request_options, changes)
        return policies.policy_from(policies.put(connection, host, {"request_options": options}, database.now(clock)))


def set_policy(database: Database, clock: Clock, host: str, **changes: int | bool | None) -> HostPolicy:
    """Make or change the policy of a host; what is not named keeps its value."""
    values = check_limits(**changes)
    with database.write() as connection:
        return policies.policy_from(policies.put(connection, host, values, database.now(clock)))
