"""Folders of one host, and what stands against everything in them.

A folder is endless if its path repeats itself, if its names come in any order, if it lies far in the future, or if the
folders above it hold only what others hold: then relative links lead ever deeper into the same pages.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from comity.model.traps import TrapCode, TrapTerms
from comity.rules.traps.memory import RecentMap, RecentSet
from comity.rules.traps.patterns import FolderGroup, PatternTable
from comity.rules.traps.shapes import DATE, NUMBER, FolderShape, folder_shape, read_iso_date

ECHO_REASON: Final = "its parent folders hold only known content"
_MOST_FOLDERS: Final = 8192
_MOST_ORDERS: Final = 2
_FEW_TWINS: Final = 3
_TREE_LEVELS: Final = 4
_ECHOES_ALLOWED: Final = 2
_MANY_ECHOES: Final = 50
_ECHOING, _OWN = 1, -1

Objection = tuple[TrapCode, str]


class Folder:
    """One folder: its shape, the year in its path, and what stands against it."""

    __slots__ = ("has_month", "objection", "shape", "year")

    def __init__(self, shape: FolderGroup, seen: FolderShape, objection: Objection | None) -> None:
        self.shape = shape
        self.year = seen.year
        self.has_month = seen.has_month
        self.objection = objection


class FolderTable:
    """Remembers folders within its memory limit; a forgotten folder is examined again."""

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

    def far_date(self, folder: Folder, leaf: str, leaf_shape: str) -> Objection | None:
        """Object to a calendar page that is far in the future, where the shape has proved to be a calendar."""
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

    def _objection(self, place: str, seen: FolderShape) -> Objection | None:
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
            return TrapCode.ECHOING_FOLDER, ECHO_REASON
        return self._far(seen.iso_date)

    def _far(self, day: date | None) -> Objection | None:
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
