"""Whether a request wants a page or JSON: one path serves both, as RFC 9110 §12.5.1 has it.

A browser gets a page, a program gets JSON. A program that accepts anything, or says nothing, gets JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VARY: Final = "Accept, HX-Request"  # the headers of a request by which one path serves a page or JSON
FORM: Final = "application/x-www-form-urlencoded"
_MOST_RANGES: Final = 50  # of an Accept header that are read


def wants_page(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a request wants a page; the names of the headers are in lower case."""
    if headers.get("hx-request") == "true":
        return True
    if method in ("GET", "HEAD"):
        return prefers_html(headers.get("accept", ""))
    return method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() == FORM


def prefers_html(accept: str) -> bool:
    """Whether an Accept header prefers HTML to JSON. A draw is decided by the more specific range; then JSON wins."""
    html, json = _quality(accept, "text", "html"), _quality(accept, "application", "json")
    return html > json and html[0] > 0


def _quality(accept: str, kind: str, subtype: str) -> tuple[float, int]:
    """How much a media type is wanted, and how specific the range is that says so."""
    best = (0.0, 0)
    specificity_of = {f"{kind}/{subtype}": 3, f"{kind}/*": 2, "*/*": 1}
    for each in accept.lower().split(",")[:_MOST_RANGES]:
        media_range, *parameters = (part.strip() for part in each.split(";"))
        specificity = specificity_of.get(media_range, 0)
        if specificity > best[1]:
            best = (_weight(parameters), specificity)
    return best


def _weight(parameters: list[str]) -> float:
    for each in parameters:
        name, _, value = each.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
