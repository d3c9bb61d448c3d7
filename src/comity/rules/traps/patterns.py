"""Patterns of URLs on one host: what is counted for each, when a pattern is closed, and when it opens again."""

from __future__ import annotations

from typing import Final

from comity.model.traps import TrapCode, TrapTerms
from comity.rules.traps.shapes import DATE, NUMBER, TOKEN, QueryParts, read_iso_date

SAME: Final = 4  # how much a page that brought what is known counts towards closing its pattern
MISSING: Final = 1  # and one that is not there
_VARIANT_MARK: Final = "?~"
_FACET_MARK: Final = "?+"
_OTHERS: Final = "…"
_MOST_SHAPES: Final = 2048
_MOST_PATTERNS: Final = 64  # of one shape
_MOST_FACETED: Final = 64  # shapes whose filters are looked at
_MOST_FILTER_NAMES: Final = 32
_MANY_VALUES: Final = 256  # a filter with more values than this names things instead of choosing among them
_FACET_SETS: Final = 6
_FACETS_AT_ONCE: Final = 3
_LONGEST_NAMES: Final = 200
_FIRST_PROBE: Final = 8
_FEW_DOORS: Final = 20
_NEAR_DATES: Final = 3


class Pattern:
    """One kind of URL."""

    __slots__ = (
        "admitted",
        "closed_for",
        "counter_from",
        "dull",
        "fetched",
        "found_inside",
        "is_blurred",
        "is_dated_query",
        "limit",
        "limit_code",
        "next_probe",
        "passes",
        "productive",
        "recalled",
        "refused",
        "text",
        "useful",
    )

    def __init__(self, text: str, limit: int, limit_code: TrapCode, *, is_blurred: bool, counter_from: int) -> None:
        self.text = text
        self.counter_from = counter_from  # how many there must be before they can be a mere counter
        self.limit = limit
        self.limit_code = limit_code
        self.is_blurred = is_blurred  # whether similar pages count as the same
        self.is_dated_query = False
        self.admitted = 0
        self.found_inside = 0  # admitted from a page of this very pattern
        self.recalled = 0  # admitted by an earlier watch, which did not record from where
        self.fetched = 0
        self.useful = 0
        self.productive = 0  # pages that led to new URLs elsewhere
        self.dull = 0  # weight of the pages in a row that brought nothing
        self.closed_for: TrapCode | None = None
        self.refused = 0
        self.next_probe = _FIRST_PROBE
        self.passes = 0  # links that were admitted although the pattern is closed, to see whether that still holds

    def weigh(self, weight: int, terms: TrapTerms) -> None:
        """Count a page that brought nothing, or open the pattern again for one that did (weight 0)."""
        if not weight:
            self.useful += 1
            self.dull = 0
            self.closed_for = None
            return
        self.dull += weight
        # What proved useful gets more attempts.
        if self.closed_for is None and self.dull >= SAME * (terms.same_in_a_row + self.useful // 4):
            is_counter = self.is_blurred and self.admitted >= self.counter_from
            self.closed_for = TrapCode.COUNTER if is_counter else TrapCode.SAME_CONTENT
            self.refused, self.next_probe = 0, _FIRST_PROBE

    def suspect(self) -> None:
        """From now on, count similar pages as the same if a pattern leads only to itself and little leads to it."""
        admitted = self.admitted - self.recalled
        if not self.is_blurred and admitted >= self.counter_from:
            is_alone = admitted - self.found_inside <= _FEW_DOORS and self.productive * 50 < self.fetched
            self.is_blurred = is_alone

    def names_days(self, shape: FolderGroup) -> bool:
        """Whether these are the days or months of a calendar, which has no end."""
        leaf = self.text[len(shape.text) :]
        return self.is_dated_query or leaf[:1] == DATE or (leaf in ("", NUMBER) and shape.is_dated())

    def bars(self) -> TrapCode | None:
        """Why another link of this kind is not followed; now and then, more and more rarely, one still is."""
        code = self.closed_for
        if code is None:
            if self.admitted < self.limit:
                return None
            code = self.limit_code
        self.refused += 1
        if self.refused >= self.next_probe and code is not TrapCode.PATTERN_FULL:
            self.next_probe *= 2
            self.passes += 1
            return None
        return code

    def bars_again(self) -> TrapCode | None:
        """The same when the turn of an admitted link has come, unless one was let through to look."""
        if self.closed_for is None:
            return None
        if self.passes or self.bars() is None:
            self.passes -= 1
            return None
        return self.closed_for

    def complaint(self, code: TrapCode) -> str:
        """Put the reason into a sentence."""
        if code in (TrapCode.SAME_CONTENT, TrapCode.COUNTER):
            return f"the last {self.dull // SAME} pages like {self.text[:100]} returned nothing new"
        return f"of {self.admitted} links like {self.text[:100]}, {self.productive} led to something new"


class FilterMemory:
    """Which filters were put together in a shape, and with how many values each was met."""

    __slots__ = ("_noted", "_sets", "_values")

    def __init__(self) -> None:
        self._sets: set[str] = set()
        self._noted: set[str] = set()  # the names of whole queries whose filters are among the sets
        self._values: dict[str, set[int]] = {}

    def note(self, parts: QueryParts) -> None:
        """Remember the filters of one query."""
        filters = parts.filters
        if len(self._sets) < _FACET_SETS and parts.names not in self._noted:
            self._sets.add("&".join(sorted([name for name, _value in filters])))
            if len(self._noted) < _MOST_PATTERNS:
                self._noted.add(parts.names)
        for name, value in filters:
            values = self._values.get(name)
            if values is None:
                if len(self._values) >= _MOST_FILTER_NAMES:
                    continue
                values = self._values[name] = set()
            if len(values) <= _MANY_VALUES:
                values.add(hash(value))

    def are_free(self, parts: QueryParts) -> bool:
        """Whether filters are put together freely here, each of those in this query with a few values only."""
        if len(parts.filters) < _FACETS_AT_ONCE or len(self._sets) < _FACET_SETS:
            return False
        return all(len(self._values.get(name, ())) <= _MANY_VALUES for name, _value in parts.filters)


class FolderGroup:
    """Folders of one shape: the patterns in them, and what their dates and filters look like."""

    __slots__ = ("filters", "has_token", "is_calendar", "near_dates", "patterns", "text")

    def __init__(self, text: str, *, has_token: bool) -> None:
        self.text = text
        self.has_token = has_token
        self.patterns: dict[str, Pattern] = {}
        self.near_dates = 0
        self.is_calendar = True  # until a number stands where a calendar has a year near today's
        self.filters: FilterMemory | None = None

    def is_dated(self) -> bool:
        """Whether the numbers in this shape have proved to be years."""
        return self.is_calendar and self.near_dates >= _NEAR_DATES


class PatternTable:
    """The shapes and patterns of one host, as many as are worth telling apart."""

    def __init__(self, terms: TrapTerms) -> None:
        self._terms = terms
        self._shapes: dict[str, FolderGroup] = {}
        self._faceted = 0

    def shape(self, text: str, place: str, *, has_token: bool) -> FolderGroup:
        """Find or make a shape; when there are too many, only the first name and the depth count."""
        shape = self._shapes.get(text)
        if shape is None and len(self._shapes) >= _MOST_SHAPES:
            first = place.split("/", 2)[1][:40] if len(self._shapes) < 2 * _MOST_SHAPES else ""
            text = f"/{first}{_OTHERS}{place.count('/')}/"
            shape = self._shapes.get(text)
        if shape is None:
            shape = self._shapes[text] = FolderGroup(text, has_token=has_token)
        return shape

    def plain(self, shape: FolderGroup, leaf: str) -> Pattern:
        """The pattern of a URL without a query."""
        return shape.patterns.get(leaf) or self._made(shape, leaf, is_blurred=False, leafs=False)

    def queried(self, shape: FolderGroup, leaf: str, parts: QueryParts, *, is_variant: bool) -> Pattern:
        """The pattern of a URL with a query: its own, or the one in which variants or filters are put together."""
        if is_variant:
            key = leaf + _VARIANT_MARK
        elif shape.filters is not None and shape.filters.are_free(parts):
            key = leaf + _FACET_MARK
        else:
            key = f"{leaf}?{parts.names[:_LONGEST_NAMES]}"
        pattern = shape.patterns.get(key)
        if pattern is None:
            pattern = self._made(shape, key, is_blurred=parts.has_token_or_date(), leafs=parts.leafs())
            pattern.is_dated_query = any(read_iso_date(value) is not None for _name, value in parts.filters)
        return pattern

    def note_filters(self, shape: FolderGroup, parts: QueryParts) -> None:
        """Remember the filters of a query, for as many shapes as are worth it."""
        if shape.filters is None:
            if self._faceted >= _MOST_FACETED:
                return
            self._faceted += 1
            shape.filters = FilterMemory()
        shape.filters.note(parts)

    def _made(self, shape: FolderGroup, key: str, *, is_blurred: bool, leafs: bool) -> Pattern:
        terms = self._terms
        limit, code = terms.most_per_pattern, TrapCode.PATTERN_FULL
        if key.endswith(_VARIANT_MARK):
            limit, code = terms.most_variants, TrapCode.VARIANTS
        elif key.endswith(_FACET_MARK):
            limit, code = terms.most_facets, TrapCode.FACETS
        elif len(shape.patterns) >= _MOST_PATTERNS:
            key = _OTHERS
            known = shape.patterns.get(key)
            if known is not None:
                return known
        is_blurred = is_blurred or shape.has_token or key[:1] in (DATE, TOKEN)
        counter_from = terms.leafing_from if leafs else terms.counter_from
        pattern = shape.patterns[key] = Pattern(
            shape.text + key, limit, code, is_blurred=is_blurred, counter_from=counter_from
        )
        return pattern
