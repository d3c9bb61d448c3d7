"""Set the limits of one host. An edit takes effect on the next request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from comity.clock import Clock
from comity.database import policies
from comity.database.connection import Database
from comity.model.errors import BadInput
from comity.model.host import HostPolicy
from comity.operate.request_options import policy_options
from comity.rules.url_patterns import BadPattern, parse_patterns

PolicyValue = int | bool | Sequence[str]
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


def check_limits(**changes: PolicyValue | None) -> dict[str, PolicyValue]:
    """The limits that were set; raises `BadInput` if there are none, or if a limit or a pattern cannot be used."""
    values = {name: value for name, value in changes.items() if value is not None}
    if not values:
        raise BadInput("nothing to set: give at least one limit, such as min_request_interval_ms")
    for name, least in _LEAST.items():
        value = values.get(name)
        if isinstance(value, int) and not least <= value <= _MOST[name]:
            raise BadInput(name, f"must be between {least} and {_MOST[name]}, not {value}")
    for name in ("include", "exclude"):
        if name in values:
            values[name] = _checked_patterns(name, values[name])
    return values


def _checked_patterns(name: str, value: PolicyValue) -> tuple[str, ...]:
    """A list of patterns; an empty one removes the patterns that were set."""
    patterns = tuple(text for text in value if text) if not isinstance(value, int) else ()
    try:
        parse_patterns(patterns)
    except BadPattern as error:
        raise BadInput(name, str(error)) from None
    return patterns


def set_request_options(
    database: Database, clock: Clock, host: str, text: str, changes: Mapping[str, Any]
) -> HostPolicy:
    """Change what the requests to a host carry; options that are not named stay. `text` is the host as typed.

    An empty list removes an option. Only references to secrets are stored.
    """
    with database.write() as connection:
        row = policies.get(connection, host)
        options = policy_options(text, None if row is None else row.request_options, changes)
        return policies.policy_from(policies.put(connection, host, {"request_options": options}, database.now(clock)))


def set_policy(database: Database, clock: Clock, host: str, **changes: PolicyValue | None) -> HostPolicy:
    """Make or change the policy of a host; what is not named keeps its value."""
    values = check_limits(**changes)
    with database.write() as connection:
        return policies.policy_from(policies.put(connection, host, values, database.now(clock)))
