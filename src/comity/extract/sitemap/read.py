"""Reading a sitemap or feed: takes body bytes, returns entries in document order, however broken the markup.

Our own scanner instead of an XML parser: broken files are read as far as they go, entities are never expanded, and time
and memory are linear in the body. `iter_entries` works in small steps, between which the caller can do something else.
Addresses are returned as written; the caller resolves and judges them.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

from comity.extract.sitemap.decode import (
    DecodedSitemap,
    Recognised,
    SitemapField,
    decode_part,
    decode_sitemap,
    end_of_special,
    recognise,
    special_end,
)
from comity.model.sitemap import (
    ChangeFrequency,
    SitemapChunk,
    SitemapEntry,
    SitemapKind,
    SitemapLimits,
    SitemapProblem,
)

CHUNK_ENTRIES: Final = 500
_DEFAULT_LIMITS: Final = SitemapLimits()
_TEXT_WINDOW_BYTES: Final = 1 << 18
_LINE: Final = re.compile(rb"[^\s][^\r\n]*")
_COMMENT: Final = b"#"  # not in the format, but generators write a first line of their own
_ADDRESS: Final = re.compile(rb"https?://[^\s/?#]\S*\s*", re.IGNORECASE)
_WINDOW_BYTES: Final = 1 << 15  # a few milliseconds, also where it is nothing but tags
# Either markup that is not an element, or a whole tag: slash, name, attributes.
_TAG: Final = re.compile(
    rb"<(?:([!?])|(/?)([A-Za-z_][\w.:-]*+)((?>[^<>\"']+|\"[^\"<]*\"|'[^'<]*'|[\"'])*+)>)", re.ASCII
)
_REFERENCE: Final = re.compile(rb"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED: Final = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_ATTRIBUTE: Final = re.compile(rb"(?:^|\s)([\w:.-]++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)')", re.ASCII)
_BREAK_IN_ADDRESS: Final = re.compile(r"\s*[\t\r\n]\s*")
# An entry as nearly every generator writes it, which is then read in one step.
_USUAL_ENTRY: Final = re.compile(
    rb"\s*+<url>\s*+<loc>([^<&]*+)</loc>\s*+(?:<lastmod>([^<&]*+)</lastmod>\s*+)?"
    rb"(?:<changefreq>([^<&]*+)</changefreq>\s*+)?(?:<priority>([^<&]*+)</priority>\s*+)?</url>"
)
_MOST_UNUSUAL: Final = 20
_MOST_ALTERNATES: Final = 200
_LINK: Final = b":link"
_FREQUENCIES: Final = {str(frequency): frequency for frequency in ChangeFrequency}
_LONGEST: Final = 100
# Nothing on the web is older, and zero dates ("0001-01-01", "1970-01-01") say that the date is unknown.
_FIRST_YEAR: Final = 1990
_LAST_YEAR: Final = 2199
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_ZONES: Final = dict.fromkeys(("z", "gmt", "utc", "ut"), 0) | {
    name: 60 * hours
    for hours, names in (
        *((-8, ("pst",)), (-7, ("pdt", "mst")), (-6, ("mdt", "cst")), (-5, ("cdt", "est")), (-4, ("edt",))),
        *((1, ("cet", "bst")), (2, ("cest", "eet")), (3, ("eest", "msk")), (9, ("jst", "kst"))),
    )
    for name in names
}
_CLOCK: Final = (
    r"(?:\s*[T,\s]\s*(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:[.,]\d*)?)?)?"
    r"\s*(?P<zone>[A-Za-z]{1,4}|(?:GMT|UTC)?[+-]\d{1,2}:?\d{2}|[+-]\d{1,2})?"
)
_FORMS: Final = tuple(
    re.compile(pattern + _CLOCK, re.ASCII | re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})(?:[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?)?",
        r"(?:[a-z]{2,9}\.?,?\s+)?(?P<day>\d{1,2})[\s-](?P<name>[a-z]{3})[a-z]{0,6}\.?,?[\s-](?P<year>\d{4})",
        r"(?:[a-z]{2,9}\.?,?\s+)?(?P<name>[a-z]{3})[a-z]{0,6}\.?\s+(?P<day>\d{1,2}),?\s+(?P<year>\d{4})",
        # With dots the day comes first wherever dots are used; with slashes it is ambiguous.
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    )
)


def iter_entries(
    body: bytes,
    *,
    content_type: str | None,
    limits: SitemapLimits = _DEFAULT_LIMITS,
    chunk_entries: int = CHUNK_ENTRIES,
    with_alternates: bool = False,
) -> Iterator[SitemapChunk]:
    """Read a sitemap chunk by chunk; there is at least one, and the last one's kind holds."""
    source: DecodedSitemap | None = None
    for source in decode_sitemap(body, content_type, limits.most_bytes):
        if source is None:
            yield SitemapChunk(SitemapKind.NOT_A_SITEMAP)
    assert source is not None
    recognised = recognise(source.data)
    if recognised is not None:
        scanner = MarkupScanner(source, recognised, limits, chunk_entries, with_alternates=with_alternates)
        yield from scanner.chunks()
        return
    yield from iter_lines(source, limits, chunk_entries)


def iter_lines(source: DecodedSitemap, limits: SitemapLimits, chunk_entries: int) -> Iterator[SitemapChunk]:
    """Read a list whose first line, comments aside, is an address; later lines that are none are passed over.

    A plain list has one address per line (sitemaps.org, "Text file").
    """
    data, problems = source.data, set(source.problems)
    lines = _LINE.finditer(data, 0, _TEXT_WINDOW_BYTES)
    first = next((line[0] for line in lines if not line[0].startswith(_COMMENT)), b"")
    if not _ADDRESS.fullmatch(first):
        yield SitemapChunk(SitemapKind.NOT_A_SITEMAP, problems=frozenset(problems))
        return
    entries: list[SitemapEntry] = []
    room, start = limits.most_entries, 0
    while start < len(data):
        end = min(start + _TEXT_WINDOW_BYTES, len(data))
        if end < len(data):
            # A line is not cut in two, unless it is longer than any address.
            end = max(data.rfind(b"\n", start, end), data.rfind(b"\r", start, end)) + 1 or end
        for line in _LINE.finditer(data, start, end):
            if not _ADDRESS.fullmatch(line[0]):
                continue
            if len(line[0]) > limits.most_loc_characters:
                problems.add(SitemapProblem.LOC_CHARACTERS)
                continue
            if not room:
                problems.add(SitemapProblem.ENTRIES)
                yield SitemapChunk(SitemapKind.TEXT, tuple(entries), problems=frozenset(problems))
                return
            room -= 1
            entries.append(SitemapEntry(decode_part(line[0], source.encoding, problems).strip()))
            if len(entries) >= chunk_entries:
                yield SitemapChunk(SitemapKind.TEXT, tuple(entries))
                entries.clear()
        start = end
        yield SitemapChunk(SitemapKind.TEXT, tuple(entries))
        entries.clear()
    yield SitemapChunk(SitemapKind.TEXT, problems=frozenset(problems))


class MarkupScanner:
    """Walks the tags of one document and gathers its entries.

    It reads what it can from any bytes. Every pattern stops at the next `<`, so no byte is read more than a few times;
    a missing end is searched for only once.
    """

    def __init__(
        self,
        source: DecodedSitemap,
        recognised: Recognised,
        limits: SitemapLimits,
        chunk_entries: int,
        *,
        with_alternates: bool = False,
    ) -> None:
        self._with_alternates = with_alternates and recognised.kind is SitemapKind.URLSET
        self._alternates: list[tuple[str, str]] = []
        self._data = source.data
        self._encoding = source.encoding
        self._problems = set(source.problems)
        self._kind = recognised.kind
        self._fields = recognised.fields
        self._root = recognised.root
        self._start = recognised.start
        self._limits = limits
        self._room = limits.most_entries
        self._chunk_entries = chunk_entries
        self._entries: list[SitemapEntry] = []
        self._nested: list[SitemapEntry] = []
        self._open = SitemapField.NONE
        self._values: dict[int, str] = {}
        self._foreign = b""  # the outermost element inside an entry that is not ours, and how often it is open
        self._foreign_depth = 0
        self._unfinished: set[bytes] = set()  # ends that are known not to come any more
        self._is_ended = False
        # How many entries in a row may still be written in an unusual way before the short way is given up.
        self._usual = _MOST_UNUSUAL if recognised.kind is SitemapKind.URLSET else 0

    def chunks(self) -> Iterator[SitemapChunk]:
        """Read the document; a chunk is yielded when it is full, and after every window of bytes."""
        data, position, whole = self._data, self._start, len(self._data)
        while position < whole and not self._is_ended:
            # A window ends before a tag that might be cut, unless that tag is larger than the window.
            end = whole if whole - position <= _WINDOW_BYTES else data.rfind(b"<", position, position + _WINDOW_BYTES)
            end = end if end > position else min(position + _WINDOW_BYTES, whole)
            while position < end and not self._is_ended:
                position = self._scan(position, end)
                if self._is_full():
                    yield self._chunk()
            yield self._chunk()
        if not self._is_ended:
            self._finish_entry()
            if self._root:
                self._problems.add(SitemapProblem.TRUNCATED)
        yield self._chunk(last=True)

    def _chunk(self, *, last: bool = False) -> SitemapChunk:
        problems = frozenset(self._problems) if last else frozenset()
        chunk = SitemapChunk(self._kind, tuple(self._entries), tuple(self._nested), problems)
        self._entries.clear()
        self._nested.clear()
        return chunk

    def _is_full(self) -> bool:
        return len(self._entries) + len(self._nested) >= self._chunk_entries

    def _scan(self, position: int, end: int) -> int:
        """Read tags up to the end of the window or of a chunk; returns where to continue."""
        fields, data = self._fields, self._data
        if self._usual and not self._open:
            position = self._take_usual(position, end)
            if self._is_full():
                return position
        for tag in _TAG.finditer(data, position, end):
            special, slash, name, attributes = tag.groups()
            if special:
                after = self._pass_special(tag.start())
                if after > tag.end():
                    return after
                continue
            name = name.lower()
            field = fields.get(name, SitemapField.NONE)
            if slash:
                if field is SitemapField.PAGE or field is SitemapField.NESTED:
                    self._finish_entry()
                    if self._usual or self._is_full():
                        return end if self._is_ended else tag.end()
                elif name == self._foreign:
                    self._close_foreign()
                elif name == self._root:
                    self._finish_entry()
                    self._is_ended = True
                if self._is_ended:
                    return end
            elif field is SitemapField.PAGE or field is SitemapField.NESTED:
                self._finish_entry()
                self._begin_entry(field, attributes)
            elif self._open:
                is_empty = attributes.endswith(b"/")
                if self._foreign:
                    if name == self._foreign and not is_empty:
                        self._foreign_depth += 1
                elif field is SitemapField.LINK:
                    self._take_link(attributes)
                elif self._with_alternates and is_empty and name.endswith(_LINK):
                    self._take_alternate(attributes)
                elif field and not is_empty:
                    after = self._take_text(field, attributes, tag.end())
                    if after:
                        return after
                elif not is_empty:
                    self._foreign, self._foreign_depth = name, 1
                    if self._with_alternates and name.endswith(_LINK):
                        self._take_alternate(attributes)
        return end

    def _take_usual(self, position: int, end: int) -> int:
        """Read entries of the usual form; returns where the first other thing begins."""
        data = self._data
        while not self._is_ended and not self._is_full():
            entry = _USUAL_ENTRY.match(data, position, end)
            if entry is None:
                self._usual -= 1
                return position
            self._usual = _MOST_UNUSUAL
            loc, lastmod, frequency, priority = entry.groups()
            self._add(
                SitemapField.PAGE,
                self._text(loc),
                self._text(lastmod) if lastmod else None,
                self._text(frequency) if frequency else None,
                self._text(priority) if priority else None,
            )
            position = entry.end()
        return end if self._is_ended else position

    def _pass_special(self, start: int) -> int:
        """Step over a comment, CDATA section, declaration or instruction; one without an end is only its mark."""
        mark = special_end(self._data, start)
        if mark not in self._unfinished:
            after = end_of_special(self._data, start, mark)
            if after > 0:
                return after
            self._unfinished.add(mark)
        return start + 2

    def _close_foreign(self) -> None:
        self._foreign_depth -= 1
        if not self._foreign_depth:
            self._foreign = b""

    def _begin_entry(self, field: SitemapField, attributes: bytes) -> None:
        self._open = field
        about = _attribute(attributes, b"rdf:about") if self._kind is SitemapKind.FEED and attributes else None
        if about is not None:
            self._values[SitemapField.GUID] = self._text(about)

    def _take_link(self, attributes: bytes) -> None:
        """Atom names a page by a link element; of several the alternate one counts (RFC 4287 §4.2.7.2)."""
        href = _attribute(attributes, b"href")
        rel = _attribute(attributes, b"rel")
        if href and (rel is None or rel.strip().lower() == b"alternate"):
            self._values.setdefault(SitemapField.LOC, self._text(_unescaped(href)))

    def _take_alternate(self, attributes: bytes) -> None:
        """Store a translation, which sitemaps name by xhtml:link, as Google defines it."""
        href, language = _attribute(attributes, b"href"), _attribute(attributes, b"hreflang")
        rel = _attribute(attributes, b"rel")
        is_alternate = rel is None or rel.strip().lower() == b"alternate"
        if href and language and is_alternate and len(self._alternates) < _MOST_ALTERNATES:
            self._alternates.append((self._text(_unescaped(language)).strip(), self._text(_unescaped(href)).strip()))

    def _take_text(self, field: SitemapField, attributes: bytes, start: int) -> int:
        """Store the text of an element; returns where to continue if that is not the next tag."""
        data = self._data
        end = data.find(b"<", start)
        if end < 0:
            # The file was cut here: half an address would be a wrong one.
            if field is SitemapField.LOC:
                self._values.pop(SitemapField.LOC, None)
            self._problems.add(SitemapProblem.TRUNCATED)
            return len(data)
        after = 0
        if data[end + 1 : end + 2] == b"/":
            text = data[start:end]
            if b"&" in text:
                text = _unescaped(text)
        else:
            text, after = self._mixed_text(start, end)
        if field is SitemapField.GUID and (_attribute(attributes, b"ispermalink") or b"").lower() == b"false":
            return after
        self._values.setdefault(field, self._text(text))
        return after

    def _mixed_text(self, start: int, end: int) -> tuple[bytes, int]:
        """Text with CDATA sections, comments or stray `<` in it, and where the next tag begins."""
        data, pieces = self._data, []
        room = 4 * self._limits.most_loc_characters
        while True:
            pieces.append(_unescaped(data[start:end]))
            is_cdata = data.startswith(b"<![CDATA[", end)
            if is_cdata or data.startswith(b"<!--", end):
                after = self._pass_special(end)
                if after <= end + 2:
                    return b"".join(pieces), after
                if is_cdata:
                    pieces.append(data[end + 9 : after - 3])
            elif _TAG.match(data, end):
                return b"".join(pieces), end
            else:
                pieces.append(b"<")
                after = end + 1
            room -= after - start
            start, end = after, data.find(b"<", after)
            if end < 0 or room < 0:
                return b"", start

    def _text(self, data: bytes) -> str:
        return decode_part(data, self._encoding, self._problems)

    def _finish_entry(self) -> None:
        """Turn the gathered values into an entry, if they hold an address."""
        kind, values = self._open, self._values
        self._open, self._foreign = SitemapField.NONE, b""
        alternates, self._alternates = tuple(self._alternates), []
        if not kind or not values:
            return
        self._values = {}
        loc = values.get(SitemapField.LOC, "")
        if not loc.strip():
            loc = values.get(SitemapField.GUID, "").strip()
            if not loc.lower().startswith(("http://", "https://")):
                return
        lastmod = values.get(SitemapField.LASTMOD) or values.get(SitemapField.PUBLISHED)
        frequency, priority = values.get(SitemapField.CHANGEFREQ), values.get(SitemapField.PRIORITY)
        self._add(kind, loc, lastmod, frequency, priority, alternates)

    def _add(
        self,
        kind: SitemapField,
        loc: str,
        lastmod: str | None,
        frequency: str | None,
        priority: str | None,
        alternates: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Note an entry, unless it is one too many."""
        loc = loc.strip()
        if "\n" in loc or "\r" in loc or "\t" in loc:
            loc = _BREAK_IN_ADDRESS.sub("", loc)
        if not loc:
            return
        if len(loc) > self._limits.most_loc_characters:
            self._problems.add(SitemapProblem.LOC_CHARACTERS)
            return
        if not self._room:
            self._problems.add(SitemapProblem.ENTRIES)
            self._is_ended = True
            return
        self._room -= 1
        when = read_date(lastmod) if lastmod else None
        if kind is SitemapField.NESTED:
            self._nested.append(SitemapEntry(loc, when))
            return
        self._entries.append(
            SitemapEntry(
                loc,
                when,
                _FREQUENCIES.get(frequency.strip().lower()) if frequency else None,
                _priority(priority) if priority else None,
                alternates,
            )
        )


def _unescaped(text: bytes) -> bytes:
    """Undo character references and the five names of XML; whatever else follows an ampersand is an address's own."""
    return _REFERENCE.sub(_referred, text) if b"&" in text else text


def _referred(found: re.Match[bytes]) -> bytes:
    decimal, hexadecimal, name = found.groups()
    if name is not None:
        return _NAMED[name]
    number = int(decimal) if decimal is not None else int(hexadecimal, 16)
    if not 0 < number < 0x110000 or 0xD800 <= number < 0xE000:
        return b""
    return chr(number).encode()


def _attribute(attributes: bytes, name: bytes) -> bytes | None:
    for found in _ATTRIBUTE.finditer(attributes):
        if found[1].lower() == name:
            return found[2] if found[2] is not None else found[3]
    return None


def _priority(text: str) -> float | None:
    """A number from 0 to 1; values outside become the nearer end."""
    try:
        number = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return min(max(number, 0.0), 1.0) if number == number else None


def read_date(text: str) -> datetime | None:
    """Read a date; one without a zone counts as UTC, one without a day as the first.

    Reads W3C dates of every length, RFC 822 as feeds write it, and the most common mistakes in both. Gives a time in
    UTC, or None.
    """
    return _read(text.strip()) if len(text) <= _LONGEST else None


@lru_cache(maxsize=4096)
def _read(text: str) -> datetime | None:
    if text[4:5] == "-" and len(text) >= 10:
        try:
            return _plausible(datetime.fromisoformat(text))
        except ValueError:
            pass
    for form in _FORMS:
        found = form.fullmatch(text)
        if found is not None:
            return _built(found.groupdict())
    return None


def _plausible(moment: datetime) -> datetime | None:
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _built(parts: dict[str, str | None]) -> datetime | None:
    """Put the parts of a date together, if there is such a day."""
    offset = _offset(parts["zone"])
    name = parts.get("name")
    month = _MONTHS.get(name.lower()) if name else int(parts.get("month") or 1)
    if offset is None or month is None:
        return None
    year, day, hour, minute, second = (int(parts[part] or 0) for part in ("year", "day", "hour", "minute", "second"))
    try:
        moment = datetime(year, month, day or 1, hour, minute, second, tzinfo=timezone(offset))
    except ValueError:
        return None
    return _plausible(moment)


def _offset(zone: str | None) -> timedelta | None:
    """How far a zone is from UTC; None if it is unknown."""
    if not zone:
        return timedelta()
    sign_at = max(zone.find("+"), zone.find("-"))
    if sign_at < 0:
        minutes = _ZONES.get(zone.lower())
        return None if minutes is None else timedelta(minutes=minutes)
    digits = zone[sign_at + 1 :].replace(":", "")
    hours, rest = (digits, "0") if len(digits) <= 2 else (digits[:-2], digits[-2:])
    minutes = int(hours) * 60 + int(rest)
    if minutes >= 24 * 60:
        return None
    return timedelta(minutes=-minutes if zone[sign_at] == "-" else minutes)
