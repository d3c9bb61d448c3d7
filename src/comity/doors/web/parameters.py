"""Parameters of a query are those that a route has, each once: a misspelt filter must not show everything."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fastapi import Request
from pydantic.fields import FieldInfo

from comity.doors.web.refusals import Refused


def only_known_parameters(request: Request) -> None:
    """Refuse what a route does not know, and what it knows if it comes twice where one value is meant."""
    given = Counter(name for name, _ in request.query_params.multi_items())
    if not given:
        return
    known = {each.alias: each.field_info for each in request.scope["route"].dependant.query_params}
    for name, times in given.items():
        if name not in known:
            raise Refused(422, "bad_input", f"there is no parameter {name[:80]!r} here")
        if times > 1 and not _takes_many(known[name]):
            raise Refused(422, "bad_input", f"the parameter {name} may be given once")


def _takes_many(info: FieldInfo) -> bool:
    kind: Any = info.annotation
    return "list[" in str(kind)
