"""The trap watch of one host: endless URL spaces, distinguished from large sites by shape and content.

Takes links as paths with queries, and pages as they are fetched; returns a refusal, or None to follow. URLs are not
refused for their number: only for repetition, for leading nowhere new, or for returning known content. Memory is
bounded; time is an argument.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from datetime import date, timedelta
from typing import Final

from xxhash import xxh3_64_intdigest

from comity.model.traps import TrapCode, TrapRefusal, TrapTerms
from comity.rules.traps.patterns import MISSING, SAME, FolderGroup, Pattern, PatternTable
from comity.rules.traps.shapes import (
    DATE,
    NUMBER,
    FolderShape,
    QueryParts,
    folder_shape,
    is_far_date,
    leaf_shape,
    read_iso_date,
    read_query,
)
from comity.rules.traps.volatile_parameters import RecentMap, RecentSet, VolatileParameters, format_names

_FORMAT: Final = 1
try:
    from comity.rules.traps import _blur as _in_c

    _blurred_in_c = _in_c.blurred if _in_c.FORMAT == _FORMAT else None  # compiled from an older source
except ImportError:  # installed where there was no C compiler
    _blurred_in_c = None

_DEFAULT_TERMS: Final = TrapTerms()
_BLUR_BYTES: Final = 1 << 16
# Whatever differs between two views of one page: counts and clocks, and words too long for people (digests, sessions).
_DIGITS: Final = b"0123456789"
_AS_LETTER: Final = bytes(0x61 if byte < 128 and chr(byte).isalnum() else byte for byte in range(256))
_LONG: Final = b"a" * 16
_NO_LETTER: Final = re.compile(b"[^a]")
_NESTED_ESCAPE: Final = "%2525"
_ECHO_REASON: Final = "its parent folders hold only known content"
_MOST_FOLDERS: Final = 8192
_MOST_ORDERS: Final = 2
_FEW_TWINS: Final = 3
_TREE_LEVELS: Final = 4
_ECHOES_ALLOWED: Final = 2
_MANY_ECHOES: Final = 50
_ECHOING, _OWN = 1, -1
_RECHECKED_MOST: Final = 256

_Objection = tuple[TrapCode, str]
_Place = tuple[Pattern, FolderGroup, str, int]


class TrapWatch:
    """Judges the links of one host, one after the other, and learns from fetched pages."""

    def __init__(self, terms: TrapTerms = _DEFAULT_TERMS, *, today: date) -> None:
        self._terms = terms
        self._today = today
        self._patterns = PatternTable(terms)
        self._folders = FolderTable(terms, self._patterns, today)
        self._known = RecentSet(terms.remembered)  # admitted, by path and ordered query
        self._orders: RecentMap[int] = RecentMap(terms.remembered // 2)
        self._contents: RecentMap[tuple[int, int]] = RecentMap(terms.remembered)  # with the URL and folder of the first
        self._likenesses = RecentSet(terms.remembered // 2)
        self._volatile = VolatileParameters(terms.remembered)
        self._rechecked: dict[str, _Place] = {}  # targets without a query whose page is being fetched
        self.refusals: Counter[TrapCode] = Counter()

    def judge(self, target: str, depth: int) -> TrapRefusal | None:
        """Decide about a link that was found on no page of this host: a seed's, a sitemap's."""
        return self.judge_from(None, target, depth)

    @property
    def folded(self) -> tuple[str, ...]:
        """Parameters that change on every link, so that addresses which differ in them alone are one page."""
        return self._volatile.folded

    def fetched(self, target: str, content_hash: Hashable, body: bytes = b"", links: Sequence[str] = ()) -> PageWatch:
        """Learn from a page that was received, before its links are judged; they are judged by the returned object.

        `body` and `links`, as written, are looked at only where the kind of page is under suspicion.
        """
        if "?" in target or ";" in target:
            self._volatile.fetched(target, body, links)
        placed = self._rechecked.pop(target, None)
        pattern, shape, place, known = placed if placed is not None else self._placed(target)
        self._known.add(known)
        pattern.fetched += 1
        pattern.suspect()
        content = hash(content_hash)
        first = self._contents.get(content)
        if first is None:
            self._contents.put(content, (known, hash(place)))
        # A page that is requested again is not a copy of itself.
        is_copy = first is not None and first[0] != known
        self._folders.note_page(place, first[1] if first is not None and is_copy else None)
        is_blurred = pattern.is_blurred or shape.is_dated()
        is_alike = not is_copy and is_blurred and bool(body) and self._is_alike(pattern, body)
        # A page that is only alike, and leads to no more of its kind, is no step into an endless space.
        is_pardoned = is_alike and not pattern.names_days(shape)
        if not is_pardoned:
            pattern.weigh(SAME if is_copy or is_alike else 0, self._terms)
        return PageWatch(self, pattern, shape, is_pardoned=is_pardoned)

    def missed(self, target: str) -> None:
        """Learn that there is no such page."""
        self._placed(target)[0].weigh(MISSING, self._terms)

    def recheck(self, target: str, depth: int) -> TrapRefusal | None:
        """Decide once more about a link that was admitted, when its turn has come: more is known by now."""
        if depth and self._volatile.folded and (copied := self._copied(target)) is not None:
            return copied
        if depth <= 1:
            return None
        placed = pattern, _shape, place, _known = self._placed(target)
        if self._folders.echoes(place):
            return self._refuse(TrapCode.ECHOING_FOLDER, _ECHO_REASON, place)
        code = pattern.bars_again()
        if code is not None:
            return self._refuse(code, pattern.complaint(code), pattern.text)
        if "?" not in target:
            if len(self._rechecked) >= _RECHECKED_MOST:
                self._rechecked.clear()  # of pages that did not come
            self._rechecked[target] = placed
        return None

    def recall(self, pages: Iterable[tuple[str, Hashable]]) -> None:
        """Learn again what an earlier watch of this host saw: targets with the hashes of their contents."""
        refusals = self.refusals.copy()
        for target, content_hash in pages:
            if self.judge_from(None, target, 0) is None:
                self._placed(target)[0].recalled += 1
            self.fetched(target, content_hash)
        self.refusals = refusals

    def judge_from(self, page: PageWatch | None, target: str, depth: int) -> TrapRefusal | None:
        """Decide about a new link; links of the start page get every benefit of the doubt."""
        if len(target) > self._terms.longest_target:
            reason = f"longer than {self._terms.longest_target} characters"
            return self._refuse(TrapCode.URL_TOO_LONG, reason, target)
        mark = target.find("?")
        path = target if mark < 0 else target[:mark]
        if ";" in path:
            self._volatile.note_path(path)
        cut = path.rfind("/") + 1
        place, leaf = path[:cut], path[cut:]
        folder = self._folders.known.get(place) or self._folders.folder_at(place)
        shape = folder.shape
        if folder.objection is not None:
            return self._refuse(*folder.objection, shape.text)
        kind = leaf_shape(leaf)
        if folder.year is not None or kind == DATE:
            far = self._folders.far_date(folder, leaf, kind)
            if far is not None:
                return self._refuse(*far, shape.text)
        if mark < 0:
            known = hash(target)
            pattern = shape.patterns.get(kind) or self._patterns.plain(shape, kind)
        else:
            parts = read_query(target[mark + 1 :])
            if parts.filters:
                self._volatile.note_link(parts.filters)
            known = hash(f"{path}?{parts.ordered}")
            refusal = self._judge_query(shape, target, parts, known)
            if refusal is not None:
                return refusal
            pattern = self._queried(shape, kind, path, parts)
        if self._volatile.folded and depth and known not in self._known:
            copied = self._copied(target)
            if copied is not None:
                return copied
        if depth > 1 and (pattern.closed_for is not None or pattern.admitted >= pattern.limit):
            code = pattern.bars()
            if code is not None:
                return self._refuse(code, pattern.complaint(code), pattern.text)
        pattern.admitted += 1
        self._known.add(known)
        if mark >= 0 and len(parts.parameters) > 1:
            self._orders.put(known, hash(target))
        if page is not None:
            page.note_admitted(pattern, shape, self._terms)
        return None

    def _copied(self, target: str) -> TrapRefusal | None:
        """Refuse a link that differs from a page's address only in parameters that change on every link."""
        page = self._volatile.copy_of(target, is_known=self._known)
        if page is None:
            return None
        names = format_names(self._volatile.folded)
        reason = (
            f"{names} changes on every link and the page stays the same; {page[:100]} was visited with another value"
        )
        return self._refuse(TrapCode.VOLATILE_PARAMETER, reason, page)

    def _judge_query(self, shape: FolderGroup, target: str, parts: QueryParts, known: int) -> TrapRefusal | None:
        """Look for signs of an endless space in a query alone."""
        parameters, terms = parts.parameters, self._terms
        count = len(parameters)
        if count > terms.most_parameters or (count > 2 and len(set(parameters)) < count - 1):
            reason = f"{count} parameters, {len(set(parameters))} of them different"
            return self._refuse(TrapCode.REPEATED_PARAMETERS, reason, shape.text)
        if _NESTED_ESCAPE in target:
            reason = "a URL inside a URL inside a URL"
            return self._refuse(TrapCode.NESTED_ESCAPES, reason, shape.text)
        for name, value in parts.filters:
            if len(value) >= 4 and is_far_date(name, value, self._today, terms.years_ahead):
                return self._refuse(TrapCode.FAR_DATE, f"{name[:40]}={value[:20]} is far in the future", shape.text)
        if count > 1:
            other = self._orders.get(known)
            if other is not None and other != hash(target):
                reason = "the same parameters were found in another order"
                return self._refuse(TrapCode.PERMUTED_QUERY, reason, shape.text)
        if parts.filters:
            self._patterns.note_filters(shape, parts)
        return None

    def _queried(self, shape: FolderGroup, kind: str, path: str, parts: QueryParts) -> Pattern:
        base = parts.base
        is_variant = base is not None and hash(f"{path}?{base}" if base else path) in self._known
        return self._patterns.queried(shape, kind, parts, is_variant=is_variant)

    def _placed(self, target: str) -> _Place:
        """The pattern, shape and folder of a URL, and the key by which it is known."""
        path, _mark, query = target.partition("?")
        cut = path.rfind("/") + 1
        place, kind = path[:cut], leaf_shape(path[cut:])
        shape = (self._folders.known.get(place) or self._folders.folder_at(place)).shape
        if not query:
            return shape.patterns.get(kind) or self._patterns.plain(shape, kind), shape, place, hash(path)
        parts = read_query(query)
        return self._queried(shape, kind, path, parts), shape, place, hash(f"{path}?{parts.ordered}")

    def _is_alike(self, pattern: Pattern, body: bytes) -> bool:
        """Whether a page of this pattern was met that differs from this one only where any two views differ."""
        start = body[:_BLUR_BYTES]
        blurred = _blurred_in_c(start) if _blurred_in_c is not None else _blurred(start)
        likeness = hash((pattern.text, xxh3_64_intdigest(blurred)))
        if likeness in self._likenesses:
            return True
        self._likenesses.add(likeness)
        return False

    def _refuse(self, code: TrapCode, reason: str, pattern: str) -> TrapRefusal:
        self.refusals[code] += 1
        return TrapRefusal(code, reason, pattern[:200], self.refusals[code])


def _blurred(body: bytes) -> bytes:
    """A page without what differs between two views of it: digits, and words of 16 letters and digits or more.

    `_blur.c` gives the same.
    """
    letters = body.translate(_AS_LETTER)
    start = letters.find(_LONG)
    if start < 0:
        return body.translate(None, _DIGITS)
    # Regular expressions would look at each byte, in ten times the time; long words are few.
    kept, done = [], 0
    while start >= 0:
        kept.append(body[done:start])
        after = _NO_LETTER.search(letters, start + len(_LONG))
        done = after.start() if after is not None else len(body)
        start = letters.find(_LONG, done)
    kept.append(body[done:])
    return b"".join(kept).translate(None, _DIGITS)


class PageWatch:
    """A page that was received, whose links are judged now."""

    __slots__ = ("_is_pardoned", "_is_productive", "_pattern", "_shape", "_watch")

    def __init__(self, watch: TrapWatch, pattern: Pattern, shape: FolderGroup, *, is_pardoned: bool) -> None:
        self._watch = watch
        self._pattern = pattern
        self._shape = shape
        self._is_productive = False
        self._is_pardoned = is_pardoned  # returned nothing new, which counts only if it leads to more of its kind

    def judge(self, target: str, depth: int) -> TrapRefusal | None:
        """Decide about a link of this page that was not met before."""
        return self._watch.judge_from(self, target, depth)

    def note_admitted(self, pattern: Pattern, shape: FolderGroup, terms: TrapTerms) -> None:
        """Count in a page's favour that it leads elsewhere."""
        own = self._pattern
        if pattern is own:
            own.found_inside += 1
            if self._is_pardoned:
                self._is_pardoned = False
                own.weigh(SAME, terms)
        elif not self._is_productive and shape is not self._shape:
            self._is_productive = True
            own.productive += 1
            own.limit += terms.gain


class Folder:
    """One folder: its shape, the year in its path, and what stands against it."""

    __slots__ = ("has_month", "objection", "shape", "year")

    def __init__(self, shape: FolderGroup, seen: FolderShape, objection: _Objection | None) -> None:
        self.shape = shape
        self.year = seen.year
        self.has_month = seen.has_month
        self.objection = objection


class FolderTable:
    """Remembers folders within its memory limit; a forgotten folder is examined again.

    A folder is endless if its path repeats itself, if its names come in any order, if it lies far in the future, or if
    the folders above it hold only what others hold: then relative links lead ever deeper into the same pages.
    """

    def __init__(self, terms: TrapTerms, patterns: PatternTable, today: date) -> None:
        self._terms = terms
        self._patterns = patterns
        self._farthest = today + timedelta(days=366 * terms.years_ahead)
        self.known: dict[str, Folder] = {}
        self._orders: RecentMap[tuple[int, ...]] = RecentMap(terms.remembered // 4)
        self._repeating = RecentSet(terms.remembered // 4)
        self._repeating_count = 0
        self._twins = 0  # folders in whose path a name stands twice
        self._echoing: RecentMap[int] = RecentMap(terms.remembered // 2)
        self._echoes = 0
        self._useful = 0

    def folder_at(self, place: str) -> Folder:
        """What is known of a folder, such as `/shop/shoes/`."""
        folder = self.known.get(place)
        if folder is not None:
            return folder
        seen = folder_shape(place)
        shape = self._patterns.shape(seen.text, place, has_token=seen.has_token)
        if seen.has_loose_number:
            shape.is_calendar = False
        folder = Folder(shape, seen, self._objection(place, seen))
        if len(self.known) >= _MOST_FOLDERS:
            self.known.clear()
        self.known[place] = folder
        return folder

    def far_date(self, folder: Folder, leaf: str, leaf_shape: str) -> _Objection | None:
        """Refuse a calendar page that is far in the future, if the shape has proved to be a calendar."""
        if leaf_shape == DATE:
            return self._far(read_iso_date(leaf))
        year, shape = folder.year, folder.shape
        if year is None or not (folder.has_month or not leaf or (leaf_shape == NUMBER and len(leaf) <= 2)):
            return None
        if year <= self._farthest.year:
            shape.near_dates += 1
        elif shape.is_dated():
            return TrapCode.FAR_DATE, f"the year {year} is far in the future"
        else:
            shape.is_calendar = False  # calendars begin with today
        return None

    def note_page(self, place: str, first_met_in: int | None) -> None:
        """Note a page of a folder: new, or the same as one that was first met in some folder, given by its hash."""
        here = hash(place)
        if first_met_in is None:
            self._useful += 1
            self._echoing.put(here, _OWN)
            return
        self._echoes += 1
        if first_met_in != here and self._echoing.get(here) is None:
            self._echoing.put(here, _ECHOING)

    def echoes(self, place: str) -> bool:
        """Whether too many of the folders down to this one hold only what others hold."""
        if not self._echoes:
            return False
        count, end = 0, place.find("/", 1)
        while end > 0:
            count += self._echoing.get(hash(place[: end + 1])) == _ECHOING
            end = place.find("/", end + 1)
        is_rife = self._echoes > _MANY_ECHOES and self._echoes > self._useful
        return count >= (1 if is_rife else _ECHOES_ALLOWED)

    def _objection(self, place: str, seen: FolderShape) -> _Objection | None:
        terms = self._terms
        if seen.has_twin:
            self._twins += 1
        if seen.segments > terms.most_segments:
            return TrapCode.PATH_TOO_DEEP, f"more than {terms.most_segments} folders deep"
        if seen.repetition is not None:
            return TrapCode.REPEATED_SEGMENTS, seen.repetition
        if seen.repeats > 1 and self._is_one_repetition_too_many(place):
            reason = f"more than {terms.most_repeating_folders} folders of this host repeat names of their path"
            return TrapCode.REPEATED_SEGMENTS, reason
        if seen.segments > 2 and self._is_permuted(place):
            return TrapCode.PERMUTED_SEGMENTS, f"the names of {place[:100]} also occur in other orders"
        if self.echoes(place):
            return TrapCode.ECHOING_FOLDER, _ECHO_REASON
        return self._far(seen.iso_date)

    def _far(self, day: date | None) -> _Objection | None:
        return (TrapCode.FAR_DATE, f"{day} is far in the future") if day is not None and day > self._farthest else None

    def _is_one_repetition_too_many(self, place: str) -> bool:
        if hash(place) not in self._repeating:
            if self._repeating_count >= self._terms.most_repeating_folders:
                return True
            self._repeating.add(hash(place))
            self._repeating_count += 1
        return False

    def _is_permuted(self, place: str) -> bool:
        """Whether the same names were met in two other orders: filters written as folders.

        Numbers come in any order. So do the names of a tree in which every folder has the same ones; but there a name
        also occurs within itself, while no one chooses a filter twice. Deep down, such a tree is a maze.
        """
        segments = place.split("/")[1:-1]
        if len({segment for segment in segments if not segment.isdecimal()}) < 3:
            return False
        if self._twins >= _FEW_TWINS and len(segments) <= _TREE_LEVELS:
            return False
        together, order = hash(tuple(sorted(segments))), hash(place)
        orders = self._orders.get(together) or ()
        if order in orders:
            return False
        if len(orders) >= _MOST_ORDERS:
            return True
        self._orders.put(together, (*orders, order))
        return False
