"""The columns of a page beyond those of every page: expressions, the extractor of the user, and details of the visit.

Details are answers with their times, links and facts. A run that asks for none of them has no `VisitDetails` in its
trails.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Set
from dataclasses import asdict, is_dataclass
from typing import Any, Final

from comity.model.errors import BadInput
from comity.model.expression import ColumnType, StoredColumn, TypeName
from comity.model.fetch import FetchFailure, Response
from comity.model.frontier import UnqueuedCode
from comity.model.outcome import VisitDetails
from comity.model.page import (
    ANSWER_COLUMNS,
    FOLLOWED,
    LINK_COLUMNS,
    NO_DETAILS,
    Extraction,
    Hop,
    HtmlPage,
    KeptDetails,
    PageLink,
    PageRegion,
)
from comity.rules.admission import Admitted, DenialCode, Terms, admit, of_link
from comity.rules.canonical import resolve_link, resolve_location
from comity.rules.url_secrets import masked_url
from comity.walk.session.leased_host import LeasedHost
from comity.walk.visit.context import VisitContext

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_BATCH: Final = 500
_LONGEST: Final = 2_000
_JSON: Final = ColumnType(TypeName.JSON)
_DOUBLE, _BIGINT = ColumnType(TypeName.DOUBLE), ColumnType(TypeName.BIGINT)
_LINK_COLUMNS: Final = tuple(StoredColumn(name, _JSON) for name in LINK_COLUMNS)
_ANSWER_COLUMNS: Final = tuple(
    StoredColumn(name, kind)
    for name, kind in zip(ANSWER_COLUMNS, (_JSON, _JSON, _DOUBLE, _DOUBLE, _BIGINT, _BIGINT), strict=True)
)
_FACT_COLUMNS: Final = (StoredColumn("facts", _JSON), StoredColumn("depth", ColumnType(TypeName.INTEGER)))
_OUTCOMES: Final = {
    DenialCode.OTHER_HOST: "off_site",
    DenialCode.ROBOTS: "blocked_by_robots",
    DenialCode.ROBOTS_UNREACHABLE: "robots_unreachable",
}
_WITHHELD: Final = {UnqueuedCode.NOFOLLOW_PAGE: "nofollow"}
_DATA_COLUMN: Final = StoredColumn("data", ColumnType(TypeName.JSON))
_MOST_CHARACTERS: Final = 16_000_000
_DEEPEST: Final = 100
_encode_value: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def detail_columns(kept: KeptDetails) -> tuple[StoredColumn, ...]:
    """The columns of a run that stores these details."""
    return (
        *(_LINK_COLUMNS if kept.links else ()),
        *(_ANSWER_COLUMNS if kept.headers else ()),
        *(_FACT_COLUMNS if kept.facts else ()),
    )


def detail_values(details: VisitDetails | None, kept: KeptDetails, depth: int) -> list[Any]:
    """The values of these columns for one visit."""
    found = details or VisitDetails()
    values: list[Any] = [found.links] if kept.links else []
    if kept.headers:
        headers = _encode([_masked(*pair) for pair in found.headers.pairs]) if found.hops else None
        hops = _encode([hop._asdict() for hop in found.hops]) if found.hops else None
        values += [headers, hops, found.first_byte_ms, found.elapsed_ms, found.wire_bytes, found.body_size]
    return [*values, found.facts, depth] if kept.facts else values


def _masked(name: str, value: str) -> tuple[str, str]:
    """A header field without the value of a cookie, which may be as good as a password."""
    if name != "set-cookie":
        return name, value
    pair, end, attributes = value.partition(";")
    return name, f"{pair.partition('=')[0]}=…{end}{attributes}"


def note_answer(details: VisitDetails, result: Response | FetchFailure) -> None:
    """Store one answer of a visit, or the failure in its place."""
    first_byte_ms = round(result.first_byte_s * 1000, 1) if isinstance(result, Response) else None
    elapsed_ms = round(result.elapsed_s * 1000, 1)
    details.hops.append(Hop(result.url, result.status, _location(result), first_byte_ms, elapsed_ms))
    details.headers = result.headers
    details.first_byte_ms, details.elapsed_ms = first_byte_ms, elapsed_ms
    details.wire_bytes = result.wire_bytes
    details.body_size = len(result.body) if isinstance(result, Response) else 0


def _location(result: Response | FetchFailure) -> str | None:
    """Where an answer redirects to: absolute, or as written where it is no web address."""
    if result.status is None or not 300 <= result.status < 400 or not (said := result.headers.get("location")):
        return None
    target = resolve_location(said, result.url)
    return target.url if target is not None else masked_url(said)[:_LONGEST]


async def links_with_outcomes(
    host: LeasedHost, page: HtmlPage, base: str, depth: int, withheld: UnqueuedCode | None, context: VisitContext
) -> str:
    """Every link of a page with what became of it, as JSON; asked after the links were admitted."""
    rules = context.rules_for(host)
    patterns = rules.judge if rules is not None else None
    terms = of_link(host.name, _is_new, context.takedowns(), host.robots.get, None, depth, patterns)
    marked = page.nofollow if context.scope.respect_nofollow else frozenset()
    found: list[PageLink] = []
    known: dict[str, tuple[str, str]] = {}
    for number, (href, text, rel, region) in enumerate(page.page_links or ()):
        if number % _BATCH == _BATCH - 1:
            await asyncio.sleep(0)
        pair = known.get(href)
        if pair is None:
            why = "nofollow" if href in marked else _WITHHELD.get(withheld, str(withheld)) if withheld else None
            pair = known[href] = _outcome(host, href, base, terms, why, context)
        found.append(PageLink(pair[0], text, rel, PageRegion(region), pair[1]))
    return _encode([link._asdict() for link in found])


def _outcome(
    host: LeasedHost, href: str, base: str, terms: Terms, withheld: str | None, context: VisitContext
) -> tuple[str, str]:
    """The address of a link as it would be requested, and what became of it."""
    address = resolve_link(href, base, collapse=context.scope.collapse_subdomains, tracking=context.tracking)
    if address is None:
        return href[:_LONGEST], "not_web"
    if address.host != host.name and context.site is not None and context.site.includes(address.host):
        return address.url, withheld or FOLLOWED
    if address.host == host.name and withheld is not None:
        return address.url, withheld
    decision = admit(address, terms)
    if not isinstance(decision, Admitted):
        return address.url, _OUTCOMES.get(decision.code, str(decision.code))
    trap = host.trapped.get(address.key) if host.trapped is not None else None
    if trap is not None:
        return address.url, trap
    is_too_deep = terms.depth > context.scope.max_depth and not host.work.knows(address.key)
    return address.url, "too_deep" if is_too_deep else FOLLOWED


def _is_new(_key: int) -> bool:
    return False


def stored_columns(columns: str, *, has_extractor: bool, details: KeptDetails = NO_DETAILS) -> tuple[StoredColumn, ...]:
    """The columns that pages of a run have besides those of every page; those of details are the last."""
    found: tuple[StoredColumn, ...] = ()
    if columns:
        from comity.extract.expressions import columns_of  # here and below: most crawls extract nothing

        found = tuple(StoredColumn(column.name, column.type) for column in columns_of(columns))
    more = detail_columns(details)
    taken = {column.name for column in more}
    for column in found:
        if column.name.casefold() in taken:
            raise BadInput(f"the column “{column.name}” stores details of pages; choose another name with AS")
    return (*found, *((_DATA_COLUMN,) if has_extractor else ()), *more)


def extracted_values(page: HtmlPage | None, extraction: Extraction, context: VisitContext) -> tuple[list[Any], int]:
    """The values of these columns for one page, and how many could not be converted."""
    values: list[Any] = []
    unconverted = 0
    if context.columns:
        if page is not None and page.extracted is not None:
            values, unconverted = page.extracted
        else:
            from comity.extract.expressions import columns_of

            values = [None] * len(columns_of(context.columns))
            unconverted = len(values) if page is not None else 0
    if context.extract is not None:
        text = _json_text(extraction.data) if extraction.data is not None else None
        unconverted += text is None and extraction.data is not None
        values = [*values, text]
    return values, unconverted


def _json_text(value: object) -> str | None:
    """The value as JSON; what JSON does not know becomes text. None if it is too long, or cannot be written."""
    try:
        text = _encode_value(value)
    except (TypeError, ValueError, RecursionError):
        try:
            text = _encode_value(_plain(value, 0))
        except Exception:  # a value may be of any class, and its text is that class's own code
            return None
    return text if len(text) <= _MOST_CHARACTERS else None


def _plain(value: Any, depth: int) -> Any:
    """A value in the types of JSON."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > _DEEPEST:
        raise ValueError("the value is nested too deep, or contains itself")
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | Set):
        return [_plain(inner, depth + 1) for inner in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value), depth + 1)
    return value.decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value)
