"""Applicant systems that list jobs only by POST: takes an address, returns the request body that their own pages send.

Workday lists jobs at /wday/cxs/TENANT/SITE/jobs, twenty at a time, and takes the offset from the body. The same figures
are put into the address, so that every page has an address of its own.
"""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import parse_qsl, urlsplit

PAGE_LENGTH: Final = 20  # more are refused
_WORKDAY: Final = re.compile(r"/wday/cxs/[^/]+/[^/]+/jobs/?", re.IGNORECASE)
_LONGEST_NUMBER: Final = 6
_LONGEST_SEARCH: Final = 200


def post_body_for(url: str) -> bytes | None:
    """What is posted to an address to read its list of jobs; None where it is asked for like any page."""
    try:
        parts = urlsplit(url)
        given = dict(parse_qsl(parts.query, max_num_fields=50))
    except ValueError:
        return None
    if _WORKDAY.fullmatch(parts.path) is None:
        return None
    limit = min(_number(given.get("limit"), PAGE_LENGTH) or PAGE_LENGTH, PAGE_LENGTH)
    search = given.get("searchText", "")[:_LONGEST_SEARCH]
    question = {"appliedFacets": {}, "limit": limit, "offset": _number(given.get("offset"), 0), "searchText": search}
    return json.dumps(question).encode()


def _number(text: str | None, default: int) -> int:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
    return int(text) if is_number and text is not None else default
