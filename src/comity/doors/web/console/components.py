"""The small components of pages: values enter, escaped HTML leaves. Templates have them all as functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final

from markupsafe import Markup, escape

from comity.doors.schemas import iso_time

# Each badge has a sign besides its colour: colour alone says nothing to one in twelve men.
_SIGNS: Final = {"good": "check", "warn": "alert", "bad": "cross", "busy": "dots", "wait": "clock", "off": "dash"}
_BYTE_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")
_SPANS: Final = ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_UTC: Final = re.compile(r"(\b\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? UTC\b)")
NOTHING: Final = Markup('<span class="nothing">–</span>')

# Strokes on a grid of 16 by 16.
ICONS: Final[Mapping[str, str]] = {
    "activity": "M1.5 8h3l2-5 3 10 2-5h3",
    "alert": "M8 2.5 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.2",
    "arrow-left": "M13 8H3M7 4 3 8l4 4",
    "arrow-right": "M3 8h10M9 4l4 4-4 4",
    "audits": "M4 1.5h8v13H4zM6 5h4M6 8h4M6 11h2",
    "check": "M3 8.5 6.5 12 13 4.5",
    "chevron": "M6 3.5 10.5 8 6 12.5",
    "compare": "M5 13V3M2.5 5.5 5 3l2.5 2.5M11 3v10M8.5 10.5 11 13l2.5-2.5",
    "clock": "M8 1.7a6.3 6.3 0 1 1 0 12.6A6.3 6.3 0 0 1 8 1.7zM8 4.5V8l2.5 1.5",
    "copy": "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
    "crawl": "M8 1.7a6.3 6.3 0 1 1 0 12.6A6.3 6.3 0 0 1 8 1.7zM1.7 8h12.6M8 1.7c4 4 4 8.6 0 12.6-4-4-4-8.6 0-12.6",
    "cross": "M4 4l8 8M12 4l-8 8",
    "dash": "M3.5 8h9",
    "dashboard": "M2 2h5v6H2zM9 2h5v3.5H9zM9 8h5v6H9zM2 10.5h5V14H2z",
    "dots": "M3 8h.1M8 8h.1M13 8h.1",
    "down": "M8 3v9M4.5 8.5 8 12l3.5-3.5",
    "download": "M8 2v8M4.5 6.8 8 10.2l3.5-3.4M2.5 13.5h11",
    "edit": "M2.5 13.5 3 10.8 11 2.8l2.2 2.2-8 8z",
    "external": "M9 2.5h4.5V7M13.5 2.5 7.5 8.5M11.5 9.5v4h-9v-9h4",
    "filter": "M2 3h12L9.5 8.5V13l-3-1.5v-3z",
    "hosts": "M2 2.5h12v4.5H2zM2 9h12v4.5H2zM4.5 4.8h.1M4.5 11.3h.1",
    "info": "M8 1.7a6.3 6.3 0 1 1 0 12.6A6.3 6.3 0 0 1 8 1.7zM8 7.2V11M8 4.8V5",
    "menu": "M2 4h12M2 8h12M2 12h12",
    "pages": "M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3",
    "pause": "M5 3v10M11 3v10",
    "play": "M4.5 2.5v11l9-5.5z",
    "plus": "M8 3v10M3 8h10",
    "postings": "M2 5h12v8.5H2zM5.5 5V2.5h5V5M2 9h12",
    "queue": "M2 3.5h12M2 8h12M2 12.5h7",
    "question": "M5.5 5.8A2.6 2.6 0 1 1 8 8.6v1.2M8 12.2v.2",
    "refresh": "M13.5 3v3.5H10M2.5 13V9.5H6M12.9 6.5A5.3 5.3 0 0 0 3.6 5M3.1 9.5a5.3 5.3 0 0 0 9.3 1.5",
    "search": "M7 2a5 5 0 1 1 0 10A5 5 0 0 1 7 2zM10.7 10.7 14 14",
    "settings": "M2 4.5h7M12 4.5h2M9 2.5h3v4H9zM2 11.5h2M7 11.5h7M4 9.5h3v4H4z",
    "sources": "M3 13.5h.1M3 8.5a5 5 0 0 1 5 5M3 3.5a10 10 0 0 1 10 10",
    "stop": "M3.5 3.5h9v9h-9z",
    "takedowns": "M8 1.7a6.3 6.3 0 1 1 0 12.6A6.3 6.3 0 0 1 8 1.7zM3.6 12.4l8.8-8.8",
    "trash": "M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4",
    "up": "M8 13V4M4.5 7.5 8 4l3.5 3.5",
    "upload": "M8 10.5V2M4.5 5.4 8 2l3.5 3.4M2.5 13.5h11",
    "user": "M8 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM2.5 14c.6-3 2.7-4.5 5.5-4.5s4.9 1.5 5.5 4.5",
}


def icon(name: str) -> Markup:
    """A decoration; the text beside it says the same."""
    return Markup(
        '<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">'
        '<path d="{}"/></svg>'
    ).format(ICONS[name])


def badge(kind: str, text: object, *, title: str = "") -> Markup:
    """A state: `good`, `warn`, `bad`, `busy` (at work), `wait`, `off`, or `plain` without a sign."""
    sign = icon(_SIGNS[kind]) if kind in _SIGNS else ""
    hint = Markup(' title="{}"').format(title) if title else ""
    return Markup('<span class="badge badge-{}"{}>{}{}</span>').format(kind, hint, sign, words(text))


def words(value: object) -> str:
    """A code in words: `rate_limited` is "rate limited", `http_404` is "HTTP 404"."""
    text = str(value.value if isinstance(value, Enum) else value)
    if not text.isidentifier():
        return text
    return text.replace("_", " ").replace("http ", "HTTP ")


def number(value: float | Decimal | None, digits: int = 0) -> Markup:
    """A number with separators of thousands; the cell around it has the class `num`."""
    if value is None:
        return NOTHING
    return Markup('<span class="figure">{}</span>').format(f"{value:,.{digits}f}")


def bounded(value: int, most: int = 10_000) -> Markup:
    """A count that stopped at `most`: "10,000+"."""
    return Markup('<span class="figure">{}</span>').format(f"{most:,}+" if value > most else f"{value:,}")


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: "1 host", "1,200 hosts"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def size(byte_count: float | None) -> Markup:
    """Bytes in a unit that people read, the exact number on hover."""
    if byte_count is None:
        return NOTHING
    return Markup('<span class="figure" title="{} bytes">{}</span>').format(f"{byte_count:,.0f}", size_text(byte_count))


def size_text(byte_count: float) -> str:
    """Bytes in a unit that people read: "1.4 MB"."""
    amount, unit = float(byte_count), 0
    while abs(amount) >= 999.5 and unit < len(_BYTE_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.0f} {_BYTE_UNITS[unit]}" if unit == 0 or amount >= 100 else f"{amount:.1f} {_BYTE_UNITS[unit]}"


def duration(seconds: float | timedelta | None) -> Markup:
    """A span of time in its two largest units: "2 h 5 min"."""
    if seconds is None:
        return NOTHING
    return Markup('<span class="figure">{}</span>').format(duration_text(seconds))


def duration_text(seconds: float | timedelta) -> str:
    """A span of time in its two largest units: "2 h 5 min"; below a minute with what decimals it needs."""
    total = seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)
    if total < 0:
        return f"−{duration_text(-total)}"
    if total < 1:
        return f"{total * 1000:.0f} ms"
    if total < 60:
        return f"{total:.1f} s" if total < 10 and total != int(total) else f"{total:.0f} s"
    left = round(total)
    parts: list[tuple[int, str]] = []
    for length, unit in _SPANS:
        count, left = divmod(left, length)
        if count or parts:
            parts.append((count, unit))
        if len(parts) == 2:
            break
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def when(moment: datetime | None, *, relative_to: datetime | None = None) -> Markup:
    """A moment, in UTC; the script shows it in the viewer's zone. With `relative_to`, as "in 3 h" or "5 min ago"."""
    if moment is None:
        return NOTHING
    exact = moment.astimezone(UTC)
    shown, kind = f"{exact:%Y-%m-%d %H:%M}", "full"
    if relative_to is not None:
        shown, kind = relative_text((exact - relative_to.astimezone(UTC)).total_seconds()), "relative"
    return Markup('<time datetime="{}" title="{} UTC" data-shown="{}">{}</time>').format(
        iso_time(exact), f"{exact:%Y-%m-%d %H:%M:%S}", kind, shown
    )


def relative_text(seconds: float) -> str:
    """A distance in time from now: "in 3 h", "5 min ago", "now"."""
    if abs(seconds) < 1:
        return "now"
    far = abs(seconds)
    length, unit = next(((length, unit) for length, unit in _SPANS if far >= length), (1, "s"))
    text = f"{far // length:.0f} {unit}"
    return f"in {text}" if seconds > 0 else f"{text} ago"


def shortened(text: str | None, most: int = 80) -> Markup:
    """A text cut to a length, whole on hover."""
    if not text:
        return NOTHING
    if len(text) <= most:
        return escape(text)
    return Markup('<span title="{}">{}</span>').format(text[:2000], cut(text, most))


def cut(text: str, most: int) -> str:
    """A text cut to a length, for places that have no hover."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def coded(text: str) -> Markup:
    """A sentence with commands between backticks, which are shown as code, and times in UTC, which the script shows
    in the viewer's zone.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _timed(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else _timed(part) for number, part in enumerate(parts)
    )


def _timed(text: str) -> Markup:
    pieces = _UTC.split(text)
    return Markup("").join(
        Markup('<time datetime="{}Z" title="{}" data-shown="full">{}</time>').format(
            piece.removesuffix(" UTC").replace(" ", "T"), piece, piece
        )
        if number % 2
        else escape(piece)
        for number, piece in enumerate(pieces)
    )


def outside_link(address: str | None, most: int = 60) -> Markup:
    """A link to another site, which learns nothing of the console. Anything but http and https stays text."""
    if not address:
        return NOTHING
    if not address.lower().startswith(("http://", "https://")):
        return shortened(address, most)
    text = address.split("://", 1)[1].removesuffix("/")
    return Markup('<a class="outside" href="{}" rel="noreferrer noopener nofollow" target="_blank">{}</a>').format(
        address, shortened(text, most)
    )


def address_lines(address: str) -> Markup:
    """A URL in a table: its host, and below it its path, which is cut where the column ends."""
    host, slash, rest = address.partition("://")[2].partition("/")
    if not host:
        return shortened(address, 70)
    return Markup('<span class="title">{}</span><span class="sub is-cut" title="{}">{}</span>').format(
        shortened(host, 60), address[:2000], slash + rest[:300]
    )


def holder(name: str, most: int = 40) -> Markup:
    """The holder of a lease: of a process of ours its machine and number, whole on hover."""
    machine, *parts = name.split(":")
    if len(parts) != 3 or not parts[0].isdecimal():
        return shortened(name, most)
    return Markup('<span title="{}">{}</span>').format(name[:2000], f"{cut(machine, most)}, process {parts[0]}")


def meter(value: float, most: float, label: str = "") -> Markup:
    """A bar that is full at `most`; the text beside it says the numbers."""
    width = 0.0 if most <= 0 else min(max(value / most, 0.0), 1.0) * 100
    return Markup(
        '<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="meter-track" width="100" height="6"/><rect class="meter-value" width="{}" height="6"/></svg>'
    ).format(label or f"{width:.0f} %", f"{width:.1f}")
