"""Several addresses of one picture, as ``srcset`` lists them (WHATWG HTML, parsing a srcset attribute)."""

from __future__ import annotations

from typing import Final

MAX_CHARACTERS: Final = 32 * 1024
MAX_CANDIDATES: Final = 100
_BLANKS: Final = " \t\n\f\r"


def largest_candidate(srcset: str) -> str | None:
    """The address of the widest candidate, or of the densest where none says its width; None if there is none."""
    text, place = srcset[:MAX_CHARACTERS], 0
    best: tuple[float, float] | None = None
    chosen: str | None = None
    for _candidate in range(MAX_CANDIDATES):
        while place < len(text) and text[place] in _BLANKS + ",":
            place += 1
        start = place
        while place < len(text) and text[place] not in _BLANKS:
            place += 1
        address = text[start:place]
        if not address:
            break
        descriptor = ""
        if address.endswith(","):
            address = address.rstrip(",")
        else:
            end = _descriptor_end(text, place)
            descriptor, place = text[place:end].strip(_BLANKS), end
        size = _size(descriptor)
        if address and (best is None or size > best):
            best, chosen = size, address
    return chosen


def _descriptor_end(text: str, place: int) -> int:
    """The next comma that is not between parentheses."""
    is_inside = False
    while place < len(text) and (is_inside or text[place] != ","):
        is_inside = text[place] == "(" or (is_inside and text[place] != ")")
        place += 1
    return place


def _size(descriptor: str) -> tuple[float, float]:
    """Width and density; what cannot be read is the picture as it is."""
    width, density = 0.0, 1.0
    for word in descriptor.split()[:4]:
        number = word[:-1]
        if (
            word[-1:] in ("w", "x")
            and len(number) <= 12
            and number.replace(".", "", 1).isdecimal()
            and number.isascii()
        ):
            if word[-1] == "w":
                width = float(number)
            else:
                density = float(number)
    return width, density
