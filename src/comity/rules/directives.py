"""Page directives: takes robots meta contents and X-Robots-Tag values, returns what this crawler must not do.

Directives for all crawlers and for this agent add up: the most restrictive wins, as Google documents for both.
So ``index``, ``follow`` and ``all`` have no effect. Directives about the look of a search result (snippets,
previews, translation) do not concern a crawler and are ignored; ``noimageindex`` matters where images are fetched, and
does not restrict the page itself.
"""

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

from comity.model.page import PageDirectives
from comity.rules.robots.parse import product_token
from comity.rules.user_agent import agent_token

_MAX_SOURCES: Final = 64
_MAX_SOURCE_CHARACTERS: Final = 4096
_MAX_EVIDENCE_CHARACTERS: Final = 500

_NOINDEX: Final = frozenset({"noindex", "none"})
_NOFOLLOW: Final = frozenset({"nofollow", "none"})
_NOARCHIVE: Final = frozenset({"noarchive", "nocache"})
_UNAVAILABLE_AFTER: Final = "unavailable_after"
_RESTRICTIVE: Final = _NOINDEX | _NOFOLLOW | _NOARCHIVE | {_UNAVAILABLE_AFTER}
# Names that take a value behind a colon; any other name before a colon is a crawler's.
_VALUED: Final = frozenset({_UNAVAILABLE_AFTER, "max-snippet", "max-image-preview", "max-video-preview"})
_AGENT_NAME: Final = re.compile(r"\*|[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]*)?")

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# RFC 822 and RFC 850 dates: day, month by name, year, perhaps a time and a zone; the weekday decides nothing.
_NAMED_DATE: Final = re.compile(
    r"(?:[a-z]{3,9}\.?,?\s*)?(?P<day>[0-9]{1,2})[\s-](?P<month>[a-z]{3})[a-z]{0,6}[\s-](?P<year>[0-9]{4}|[0-9]{2})"
    r"(?:\s+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?)?"
    r"(?:\s*(?P<zone>[a-z]{1,5}|[+-][0-9]{2}:?[0-9]{2}))?"
)
# RFC 822 §5 names; a zone that is not here is read as UTC.
_ZONE_HOURS: Final = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}


_NOTHING_SAID: Final = PageDirectives()
_LONG_CHARACTERS: Final = 500


def read_directives(meta: Collection[str], headers: Collection[str], agent: str) -> PageDirectives:
    """Add up robots meta contents (already chosen for the agent) and X-Robots-Tag header values."""
    if not meta and not headers:
        return _NOTHING_SAID
    if sum(map(len, meta)) + sum(map(len, headers)) > _LONG_CHARACTERS:
        return _added_up(meta, headers, agent)
    return _read_before(tuple(meta), tuple(headers), agent)


def _added_up(meta: Collection[str], headers: Collection[str], agent: str) -> PageDirectives:
    sums = _Sums(agent_token(agent))
    for at, content in enumerate(meta):
        if at < _MAX_SOURCES:
            sums.add("meta robots", content, may_name_agent=False)
    for at, value in enumerate(headers):
        if at < _MAX_SOURCES:
            sums.add("X-Robots-Tag", value, may_name_agent=True)
    return PageDirectives(
        noindex=bool(sums.words & _NOINDEX),
        nofollow=bool(sums.words & _NOFOLLOW),
        noarchive=bool(sums.words & _NOARCHIVE),
        noimageindex=sums.noimageindex,
        unavailable_after=sums.unavailable_after,
        evidence=tuple(sums.evidence),
    )


_read_before: Final = lru_cache(maxsize=512)(_added_up)  # most pages of a site say the same


class _Sums:
    """The words that applied so far."""

    __slots__ = ("_agent_token", "evidence", "noimageindex", "unavailable_after", "words")

    def __init__(self, agent_token: str) -> None:
        self._agent_token = agent_token
        self.words: set[str] = set()
        self.noimageindex = False
        self.unavailable_after: datetime | None = None
        self.evidence: list[str] = []

    def add(self, source: str, text: str, *, may_name_agent: bool) -> None:
        """Read one value: a list of words, in a header under the crawler name that stands before them."""
        found: set[str] = set()
        applies = True
        items = re.split("[,;]", text[:_MAX_SOURCE_CHARACTERS])
        for item, following in zip(items, [*items[1:], ""], strict=True):
            name, colon, rest = item.partition(":")
            name = name.strip().lower()
            if colon and name in _VALUED:
                if applies and name == _UNAVAILABLE_AFTER:
                    self._end(rest, following)
                    found.add(name)
                continue
            if colon and may_name_agent and _AGENT_NAME.fullmatch(name):
                # Headers of one name may arrive joined by commas: a crawler's name holds until the next.
                applies = name == "*" or (bool(self._agent_token) and product_token(name) == self._agent_token)
                item = rest
            if applies:
                found.update(item.lower().split())
        self.noimageindex |= "noimageindex" in found
        if found & _RESTRICTIVE:
            self.words |= found
            self.evidence.append(f"{source}: {text.strip()[:_MAX_EVIDENCE_CHARACTERS]}")

    def _end(self, value: str, following: str) -> None:
        """Note the earliest announced end; a weekday's comma has cut its date in two."""
        if not any(character.isdigit() for character in value):
            value = f"{value},{following}"
        moment = _moment(value)
        if moment is not None and (self.unavailable_after is None or moment < self.unavailable_after):
            self.unavailable_after = moment


def _moment(text: str) -> datetime | None:
    """Read a date by RFC 822, RFC 850 or ISO 8601; without a zone it is UTC."""
    text = text.strip().lower()
    found = _NAMED_DATE.fullmatch(text)
    try:
        if found is None:
            moment = datetime.fromisoformat(text.upper())
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        year = int(found["year"])
        return datetime(
            year if len(found["year"]) == 4 else 2000 + year,
            _MONTHS.index(found["month"]) + 1,
            int(found["day"]),
            int(found["hour"] or 0),
            int(found["minute"] or 0),
            min(int(found["second"] or 0), 59),
            tzinfo=_zone(found["zone"] or "utc"),
        )
    except ValueError:
        return None


def _zone(text: str) -> timezone:
    """Read a zone by name or offset."""
    if text[0] not in "+-":
        return timezone(timedelta(hours=_ZONE_HOURS.get(text, 0)))
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
