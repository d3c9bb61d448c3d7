"""HTML built from elements: texts enter, markup leaves. Every text is escaped; only `Html` is taken as markup.

Texts come from strangers. Control characters and those that reorder a line (bidirectional overrides) are written as
escapes, so that what a reader sees is what is there; what cannot be written as UTF-8 becomes U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_special: Final = re.compile("[&<>\"']")
# C0 and C1 controls, marks and overrides of direction, invisible separators, and halves of characters.
_unseen: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_VOID: Final = frozenset({"meta", "br", "input"})
LONGEST_TEXT: Final = 300
_LONGEST_ADDRESS: Final = 2_000


class Html(str):
    """Markup, which is not escaped again."""

    __slots__ = ()


def element(name: str, /, *children: str | None, **attributes: str | int | float | bool | None) -> Html:
    """One element. `class_` and the like lose their underscore; other underscores become hyphens."""
    opening = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        opening.append(attribute if value is True else f'{attribute}="{escaped(str(value))}"')
    if name in _VOID:
        return Html(f"<{' '.join(opening)}>")
    return Html(f"<{' '.join(opening)}>{joined(children)}</{name}>")


def joined(children: Iterable[str | None]) -> Html:
    """Several texts and elements, one after another."""
    return Html("".join([escaped(child) for child in children if child is not None]))


def escaped(text: str) -> Html:
    """A text as markup; markup stays as it is."""
    if isinstance(text, Html):
        return text
    text = _unseen.sub(_as_escape, text)
    return Html(_special.sub(lambda found: _ESCAPES[found[0]], text))


def foreign(text: str, longest: int = LONGEST_TEXT) -> Html:
    """A text from the site: cut to a length, and kept from reordering what stands around it."""
    return element("bdi", cut(text, longest))


def link(url: str, longest: int = LONGEST_TEXT) -> Html:
    """A URL as a link, if it is a web address; else as text."""
    shown = cut(url, longest)
    if not url.lower().startswith(("http://", "https://")) or len(url) > _LONGEST_ADDRESS or _unseen.search(url):
        return element("bdi", shown, class_="url")
    return element("a", shown, class_="url", href=url, rel="noopener noreferrer nofollow", dir="ltr")


def cut(text: str, longest: int) -> str:
    """A text that is not longer than that; the middle of a long one is left out, as its end tells URLs apart."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def _as_escape(found: re.Match[str]) -> str:
    char = found[0]
    if char in "\t\n\r":
        return " "
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return char.encode("unicode_escape").decode("ascii")
