"""Public suffixes: the names below which anyone may register one, such as `com`, `co.uk` and `github.io`.

The list is the one that the package `publicsuffixlist` carries (publicsuffix.org). It is read here because every start
of a crawl needs it: the package encodes each of its 10,000 rules one by one, which takes five times as long.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from typing import Final

import ada_url

_COMMENT: Final = "//"
_EXCEPTION: Final = "!"
_WILDCARD: Final = "*."


class PublicSuffixes:
    """The rules, and what they say of a name in lower case."""

    def __init__(self, rules: frozenset[str]) -> None:
        self.rules = rules
        """As the list writes them, such as `co.uk` and `*.ck`; names of other scripts also as they are requested."""
        self._most_labels = max(rule.count(".") for rule in rules) + 2

    def registered(self, name: str) -> str | None:
        """The registrable name, one label longer than its suffix; None for a suffix."""
        labels = name.removesuffix(".").split(".")
        length = self._suffix_labels(labels) or 1  # a top level that is not listed is a suffix, too
        if "" in labels or len(labels) <= length:
            return None
        return ".".join(labels[-length - 1 :])

    def is_suffix(self, name: str) -> bool:
        """Whether the whole name is a suffix."""
        labels = name.removesuffix(".").split(".")
        return "" not in labels and len(labels) == (self._suffix_labels(labels) or 1)

    def ends_in_one(self, name: str) -> bool:
        """Whether a name ends in a suffix that is listed."""
        labels = name.removesuffix(".").split(".")
        return "" not in labels and self._suffix_labels(labels) > 0

    def _suffix_labels(self, labels: list[str]) -> int:
        """How many labels of a name are its suffix by the longest rule; 0 where none is listed."""
        count = len(labels)
        for length in range(min(count, self._most_labels), 0, -1):
            name = ".".join(labels[-length:])
            if _EXCEPTION + name in self.rules:
                return length - 1
            if _WILDCARD + name in self.rules:  # what a wildcard stands below is a suffix as well
                return min(length + 1, count)
            if name in self.rules:
                return length
        return 0


@cache
def public_suffixes() -> PublicSuffixes:
    """The list, read on first use."""
    data = pkgutil.get_data("publicsuffixlist", "public_suffix_list.dat")
    if data is None:
        raise RuntimeError("the package publicsuffixlist lacks its list")
    lines = data.decode().lower().split("\n")
    rules = [line.partition(" ")[0].rstrip() for line in lines if line and not line.startswith(_COMMENT)]
    in_other_scripts = [rule for rule in rules if not rule.isascii()]
    return PublicSuffixes(frozenset(rules) - {""} | frozenset(map(_as_requested, in_other_scripts)))


def _as_requested(rule: str) -> str:
    """A rule with its labels in ASCII, as they are in a URL."""
    name = rule.lstrip(_EXCEPTION + _WILDCARD)
    return rule[: len(rule) - len(name)] + str(ada_url.idna.encode(name), "ascii")
