"""Options of the Python API as settings: a value that cannot be used is a `BadInput` that names the option."""

from __future__ import annotations

import os
import warnings
from typing import Any, Final

from comity.model.errors import BadInput
from comity.run.remedies import with_remedies
from comity.run.settings_warnings import unknown_variables
from comity.settings import Settings, read_settings

TEMPORARY: Final = ":temporary:"
"""As `state`: remember nothing. The state is in a folder that is deleted when the crawl ends."""

_OPTIONS: Final = {
    "pages": "into",
    "delay_s": "delay",
    "fetch_timeout_s": "timeout",
    "connect_timeout_s": "connect_timeout",
    "first_byte_timeout_s": "first_byte_timeout",
    "max_retry_backoff_seconds": "max_retry_backoff",
    "accept_types": "accept",
    "reject_types": "reject",
    "idle_timeout_s": "idle_timeout",
}

Place = str | os.PathLike[str]


@with_remedies()
def settings_for(state: Place | None, **options: Any) -> Settings:
    """The environment with options on top, as on the command line; opens nothing."""
    where = None if state is None else os.fspath(state)
    if where == ":memory:":
        raise BadInput("state: a crawl needs a file; state=comity.TEMPORARY uses one that is deleted afterwards")
    if where is not None and "://" in where:
        options["database_url"] = where
    elif where is not None:  # it overrides both variables of the environment
        options |= {"state": where, "database_url": "", "redis_url": ""}
    for warning in unknown_variables(os.environ):
        warnings.warn(warning, stacklevel=4)
    try:
        return read_settings(**options)
    except BadInput as problem:
        if problem.field is None:
            raise
        raise problem.renamed(_OPTIONS.get(problem.field, problem.field)) from None
