"""Volatile parameters: sessions, tokens and cache busters that change on every link, recognised by behaviour.

Takes fetched pages with their links; returns which parameters are folded, and which links are copies of others. A
parameter is volatile if its value is new on every link and the page is the same with each. Names decide nothing. All of
these must hold, so that a site whose pages are many, similar or empty is still crawled in full:

* URLs that differ only in the parameter returned the same page, several times and hardly ever another;
* that page links on with the parameter, with values that were met nowhere before. A list of items names the same
  items again and again, and so does a page with pagination;
* it puts the parameter on links to several pages, at most a few values to each. If it leads to one address only,
  as a list of items also does, far more evidence is needed.

A folded parameter is not removed: the first address of each page is visited as written, the others are copies of it.
Parameters that page or sort (`rules.traps.shapes`) are never suspected. Memory is bounded (`RecentMap`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final, Generic, NamedTuple, TypeVar

from xxhash import xxh3_64_intdigest

from comity.rules.traps.shapes import is_filter, read_iso_date

_LOOKED_AT_BYTES: Final = 1 << 17
_MOST_SUSPECTS: Final = 64
_MOST_NAMES: Final = 6  # of one address
_MOST_TOGETHER: Final = 3
_LONGEST_NAME: Final = 64
_LINKS_READ: Final = 300
_LOOKED_AT_ONCE: Final = 32  # pages; after these, one is only looked at when it comes again
_MOST_LOOKS: Final = 1000  # pages of one host that are examined: if nothing was found by then, there is nothing
_MOST_PAGES: Final = 3000
_MOST_DULL: Final = 20  # looks that showed values which were met before
_ENOUGH: Final = 21
_STRONG, _WEAK = 7, 1
_VALUES_PER_PAGE: Final = 3
_DIGITS: Final = b"0123456789"
_WORD: Final = re.compile(rb"[0-9A-Za-z_-]{6,}")
# What forms and scripts change on every view: base64 between quotes, and words of ten and more with digits. Each
# begins where no such word continues, so that a long run is read once.
_TOKEN: Final = re.compile(
    rb"(?<=[\"'])(?=[a-z+/=_-]*[0-9A-Z])[0-9A-Za-z+/=_-]{24,}(?=[\"'])"
    rb"|(?<![0-9A-Za-z_-])(?=[A-Za-z_-]*[0-9])[0-9A-Za-z_-]{10,}"
)
_MACHINE_MADE: Final = re.compile(r"(?=.*[0-9])(?:[0-9a-fA-F]{8,}|[0-9A-Za-z_-]{10,})")
_MATRIX: Final = re.compile(r";([^;/=]+)(?:=([^;/]*))?")

Names = tuple[str, ...]
_Value = TypeVar("_Value")


class _Read(NamedTuple):
    """The parts of an address: its path, and its parameters by name with value and text."""

    path: str
    parameters: list[tuple[str, str, str]]

    def base(self, without: Names) -> str:
        """The address without some parameters, the same for every order of the others."""
        kept = sorted([written for name, _value, written in self.parameters if name not in without])
        return f"{self.path}?{'&'.join(kept)}" if kept else self.path

    def values(self, names: Names) -> tuple[tuple[str, str], ...]:
        """The parameters of these names."""
        return tuple((name, value) for name, value, _written in self.parameters if name in names)


class _Signature(NamedTuple):
    """A page without the parameters of a suspect: as it is, and without what differs between two views of it."""

    exact: int
    blurred: int


class _View:
    """A page that was received; its links are parsed on first use."""

    __slots__ = ("_reads", "_unread", "body", "own", "read")

    def __init__(self, target: str, read: _Read, body: bytes, links: Sequence[str]) -> None:
        self.own = hash(target)
        self.read = read
        self.body = body
        self._unread = iter(links[:_LINKS_READ])
        self._reads: list[_Read] = []

    @property
    def links(self) -> Iterator[_Read]:
        """Its links that have parameters; most often the first of them decides."""
        yield from self._reads
        for href in self._unread:
            if ("?" in href or ";" in href) and (read := read_parameters(href)) is not None:
                self._reads.append(read)
                yield read

    def signature(self, names: Names) -> _Signature:
        """What it looks like without the parameters of these names, wherever they stand in an address."""
        body = _in_addresses(names).sub(b"", self.body[:_LOOKED_AT_BYTES])
        words: set[bytes] = set()
        for read in self.links:
            for _name, value in read.values(names):
                words.update(_WORD.findall(value.encode()))
        blurred = _WORD.sub(lambda found: b"" if found[0] in words else found[0], body) if words else body
        own = {value.encode() for _name, value in self.read.values(names)}  # what a page says of it, the page is about
        blurred = _TOKEN.sub(lambda found: found[0] if found[0] in own else b"", blurred).translate(None, _DIGITS)
        return _Signature(xxh3_64_intdigest(body), xxh3_64_intdigest(blurred))


class _Suspect:
    """Parameters that may be volatile together, with the evidence for and against it."""

    __slots__ = ("against", "bases", "dull", "score", "signatures")

    def __init__(self, remembered: int) -> None:
        self.bases: RecentMap[int] = RecentMap(remembered)  # the address by which each page was visited
        self.signatures: RecentMap[_Signature] = RecentMap(remembered)
        self.score = 0
        self.against = 0
        self.dull = 0

    def is_cleared(self) -> bool:
        """Whether these parameters choose what the page is about."""
        return self.dull > _MOST_DULL or (self.against >= 2 and self.against * _STRONG > self.score)

    def is_convicted(self) -> bool:
        """Whether they change on every link, and nothing else."""
        return self.score >= _ENOUGH and self.score > 10 * self.against


class VolatileParameters:
    """Watches the parameters of one host."""

    def __init__(self, remembered: int) -> None:
        self._remembered = max(64, remembered // 4)
        self._values = RecentSet(remembered)  # of links, by name and value
        self._suspects: dict[Names, _Suspect] = {}
        self._cleared: set[Names] = set()
        self._pages = 0  # with parameters
        self._looks = 0
        self._is_over = False
        self._taken: RecentMap[int] = RecentMap(remembered)  # pages of folded addresses, by the address chosen for each
        self.folded: Names = ()

    def note_link(self, filters: Sequence[tuple[str, str]]) -> None:
        """Remember the values on a link that was found."""
        if not self._is_over:
            add = self._values.add
            for pair in filters:
                add(hash(pair))

    def note_path(self, path: str) -> None:
        """The same for `;name=value` in a path."""
        read = read_parameters(path)
        if read is not None:
            self.note_link([(name, value) for name, value, _written in read.parameters])

    def fetched(self, target: str, body: bytes, links: Sequence[str]) -> None:
        """Learn from a page that was received."""
        read = read_parameters(target)
        if read is None:
            return
        if self.folded:
            self._taken.put(hash(read.base(self.folded)), hash(target))
        if self._is_over:
            return
        names = sorted({name for name, value, _written in read.parameters if value and is_filter(name)})
        names = [name for name in names if (name,) not in self._cleared and name not in self.folded][:_MOST_NAMES]
        view = _View(target, read, body, links)
        self._pages += 1
        for count in range(1, min(len(names), _MOST_TOGETHER) + 1):
            for together in combinations(names, count):
                if together not in self._cleared:
                    self._suspect(together, view)
        if self._looks >= _MOST_LOOKS or self._pages >= _MOST_PAGES:
            self._is_over = True
            self._suspects.clear()

    def copy_of(self, target: str, *, is_known: RecentSet) -> str | None:
        """The page of which a link is a copy, if it is one; otherwise the link is from now on the page's address."""
        read = read_parameters(target)
        if read is None or not any(name in self.folded for name, _value, _written in read.parameters):
            return None
        base = read.base(self.folded)
        key, own = hash(base), hash(target)
        chosen = self._taken.get(key)
        if chosen is None and key not in is_known:
            self._taken.put(key, own)
            return None
        return None if chosen == own else base

    def _suspect(self, names: Names, view: _View) -> None:
        suspect = self._suspects.get(names)
        if suspect is None:
            if len(self._suspects) >= _MOST_SUSPECTS:
                return
            suspect = self._suspects[names] = _Suspect(self._remembered)
        key = hash(view.read.base(names))
        first = suspect.bases.get(key)
        if first is None:
            suspect.bases.put(key, view.own)
        if not view.body or first == view.own or (first is None and self._pages > _LOOKED_AT_ONCE):
            return
        self._looks += 1
        weight = self._freshness(names, view)
        if weight is None or not weight:
            suspect.dull += weight == 0
        else:
            self._compare(suspect, names, view, key, weight)
        if suspect.is_cleared():
            self._cleared.add(names)
            del self._suspects[names]
        elif suspect.is_convicted():
            self._fold(names, suspect)

    def _compare(self, suspect: _Suspect, names: Names, view: _View, key: int, weight: int) -> None:
        """Count whether a page is the same under another value."""
        now, before = view.signature(names), suspect.signatures.get(key)
        if before is None:
            suspect.signatures.put(key, now)
        elif now.blurred != before.blurred:
            suspect.against += 1
        else:
            # Clocks and counters differ on every view. So do records that differ in numbers only, but sites do not
            # give these a new key on every link to several pages.
            is_told_apart = weight == _STRONG and all(
                _is_machine_made(value) for _name, value in view.read.values(names)
            )
            suspect.score += weight if now.exact == before.exact or is_told_apart else 0

    def _freshness(self, names: Names, view: _View) -> int | None:
        """How strongly the links of a page suggest new values on every link; None if none has these parameters."""
        bases: set[str] = set()
        values: set[tuple[tuple[str, str], ...]] = set()
        for read in view.links:
            pairs = read.values(names)
            if len(pairs) < len(names):
                continue
            if any(hash(pair) in self._values for pair in pairs):
                return 0
            bases.add(read.base(names))
            values.add(pairs)
        if not bases:
            return None
        if len(bases) > 1 and len(values) <= _VALUES_PER_PAGE * len(bases):
            return _STRONG
        return _WEAK if len(bases) == len(values) == 1 else 0

    def _fold(self, names: Names, suspect: _Suspect) -> None:
        """From now on, addresses that differ in these parameters are one page; those visited so far are chosen."""
        del self._suspects[names]
        self.folded = tuple(sorted({*self.folded, *names}))
        for key, own in suspect.bases.items():
            self._taken.put(key, own)


def read_parameters(address: str) -> _Read | None:
    """Take an address apart, also `;name=value` in its path; None if it has no parameters."""
    address = address.partition("#")[0]
    path, _mark, query = address.partition("?")
    parameters: list[tuple[str, str, str]] = []
    if ";" in path:
        parameters += [
            (f";{found[1].lower()[:_LONGEST_NAME]}", found[2], found[0])
            for found in _MATRIX.finditer(path)
            if found[2] is not None
        ]
        path = _MATRIX.sub(lambda found: "" if found[2] is not None else found[0], path)
    if query:
        for written in query.split("&"):
            name, _equals, value = written.partition("=")
            parameters.append((name.lower()[:_LONGEST_NAME], value, written))
    return _Read(path, parameters) if parameters else None


def format_names(names: Names) -> str:
    """Parameters as messages name them: `sid=`, or `sid= and v=`."""
    return " and ".join(f"{name[:40]}=" for name in names)


@lru_cache(maxsize=256)
def _in_addresses(names: Names) -> re.Pattern[bytes]:
    """Where these parameters stand in markup: behind `?`, `&`, `&amp;` or `;`."""
    either = b"|".join(re.escape(name.removeprefix(";").encode()) for name in names)
    return re.compile(rb"(?<=[?&;])(?:" + either + rb")=[^&\"'<>\s#;]*", re.IGNORECASE)


def _is_machine_made(value: str) -> bool:
    return _MACHINE_MADE.fullmatch(value) is not None and read_iso_date(value) is None


class RecentMap(Generic[_Value]):
    """Remembers at least the last `most` keys, at most twice as many, and what was noted with them.

    The oldest fall out together.
    """

    __slots__ = ("_most", "_new", "_old")

    def __init__(self, most: int) -> None:
        self._most = most
        self._new: dict[int, _Value] = {}
        self._old: dict[int, _Value] = {}

    def get(self, key: int) -> _Value | None:
        """What was noted with a key; None if it is not remembered."""
        value = self._new.get(key)
        return value if value is not None else self._old.get(key)

    def put(self, key: int, value: _Value) -> None:
        """Note something with a key."""
        new = self._new
        new[key] = value
        if len(new) > self._most:
            self._old, self._new = new, {}

    def items(self) -> Iterator[tuple[int, _Value]]:
        """Everything that is remembered, the oldest first."""
        yield from self._old.items()
        yield from self._new.items()

    def __len__(self) -> int:
        return len(self._new) + len(self._old)


class RecentSet:
    """Remembers at least the last `most` keys, at most twice as many."""

    __slots__ = ("_most", "_new", "_old")

    def __init__(self, most: int) -> None:
        self._most = most
        self._new: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, key: int) -> bool:
        return key in self._new or key in self._old

    def add(self, key: int) -> None:
        """Remember a key."""
        new = self._new
        new.add(key)
        if len(new) > self._most:
            self._old, self._new = new, set()

    def __len__(self) -> int:
        return len(self._new) + len(self._old)
