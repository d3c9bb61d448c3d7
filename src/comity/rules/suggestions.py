"""Suggestions for an unknown word: the known one that was probably meant, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

from comity.model.errors import BadInput

_ALIKE: Final = 0.7
_LISTED_MOST: Final = 12
_MAX_QUOTED: Final = 40


def nearest(word: str, known: Collection[str]) -> str | None:
    """The known word that is most similar, ignoring case; None if none is similar."""
    folded = {each.casefold(): each for each in known}
    found = get_close_matches(word.casefold()[:100], folded, n=1, cutoff=_ALIKE)
    return folded[found[0]] if found else None


def one_of(name: str, word: str, known: Collection[str]) -> str:
    """The known word that this is, ignoring case; else raises `BadInput` with the nearest, and all if they are few."""
    folded = word.strip().casefold()
    found = next((each for each in known if each.casefold() == folded), None)
    if found is not None:
        return found
    meant = nearest(word, known)
    remedy = f"; did you mean {meant}?" if meant is not None else ""
    if len(known) <= _LISTED_MOST or not remedy:
        remedy += f" It is one of {', '.join(known)}." if remedy else f"; it is one of {', '.join(known)}"
    raise BadInput(name, f"{word[:_MAX_QUOTED]!r} is not known{remedy}")
