"""Which rule decides for a path: the longest match, found without trying every rule.

Patterns are indexed once, when an agent's rules are gathered; each lookup takes a normalized path and returns the rule
of highest rank. No regular expression is ever made from a foreign pattern.

Three kinds of pattern, three lookups:

* ``/path`` (also ``/path*``) is a prefix: a binary search finds the last key not after the path, and every key that
  is a prefix of the path lies on that key's chain of shorter prefixes;
* ``/path$`` is the whole path: a dictionary;
* a pattern with a star inside is filed under its rarest three characters, and tried only for paths that contain them.

A hostile file can still make many starred rules pass that filter. They are then tried against a sorted list of the
path's suffixes, where a literal is found in logarithmic time however the path was built: the cost of one lookup stays
proportional to the number of literals in the file, never to its product with the path.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from heapq import nlargest
from itertools import chain
from typing import Final, TypeAlias

from comity.rules.robots.normalize import is_normalized, normalize
from comity.rules.robots.parse import WrittenRule

_GRAM: Final = 3
# Literals of a starred pattern, the longest, that are considered when its rarest gram is chosen.
_GRAM_SAMPLE: Final = 4
# With more candidates than this, sorting the path's suffixes costs less than searching it again and again.
_MANY_CANDIDATES: Final = 64
_SUFFIX_WINDOW: Final = 1024
# A pattern of more literals than this is walked by plain search: one file has room for few such patterns, and
# each goes through the path but once.
_LONG_PATTERN: Final = 32
_LINE_BITS: Final = 32

_Ranked: TypeAlias = tuple[int, WrittenRule | None]
_NO_RULE: Final[_Ranked] = (0, None)


class StarredPattern:
    """A pattern with a star inside, split at its stars."""

    __slots__ = ("least_length", "literals", "prefix", "rank", "rule", "tail")

    def __init__(self, rank: int, rule: WrittenRule, stretches: list[str], tail: str) -> None:
        self.rank = rank
        self.rule = rule
        self.prefix = stretches[0]
        self.literals = tuple(filter(None, stretches[1:]))
        self.tail = tail
        self.least_length = sum(map(len, stretches)) + len(tail)

    def grams(self) -> list[str]:
        """List short stretches that any matching path must contain."""
        stretches = nlargest(_GRAM_SAMPLE, (*self.literals, self.tail, self.prefix), key=len)
        grams = [gram for each in stretches if len(each) >= _GRAM for gram in (each[-_GRAM:], each[:_GRAM])]
        return grams or stretches[:1]

    def matches(self, path: str) -> bool:
        """Try each literal in turn at its first place, which leaves most room to the next."""
        if len(path) < self.least_length or not path.startswith(self.prefix):
            return False
        if not path.endswith(self.tail):
            return False
        position = len(self.prefix)
        for literal in self.literals:
            position = path.find(literal, position)
            if position < 0:
                return False
            position += len(literal)
        return position + len(self.tail) <= len(path)


class RuleIndex:
    """An agent's rules, arranged so that the deciding one is found quickly."""

    __slots__ = ("_exact", "_prefix_best", "_prefix_parents", "_prefixes", "_starred")

    def __init__(self, rules: Iterable[WrittenRule]) -> None:
        self._exact: dict[str, _Ranked] = {}
        prefixes: dict[str, _Ranked] = {}
        starred: dict[tuple[str, tuple[str, ...], str], StarredPattern] = {}
        for rule in rules:
            for pattern in _patterns(rule):
                if "*" in pattern or pattern.endswith("$"):
                    self._add_special(rule, pattern, prefixes, starred)
                    continue
                prefix = normalize(pattern)
                _keep_higher(prefixes, prefix, (_rank(len(prefix), rule), rule))
        self._prefixes = sorted(prefixes)
        self._prefix_parents: list[int] = []
        self._prefix_best: list[_Ranked] = []
        self._chain_prefixes(prefixes)
        self._starred = _file_by_gram(list(starred.values()))

    def _add_special(
        self,
        rule: WrittenRule,
        pattern: str,
        prefixes: dict[str, _Ranked],
        starred: dict[tuple[str, tuple[str, ...], str], StarredPattern],
    ) -> None:
        """Sort in a pattern with a star or a final dollar; anywhere else a "$" is a character like any other."""
        anchored = pattern.endswith("$")
        stretches = pattern.removesuffix("$").split("*")
        if not is_normalized("".join(stretches)):
            stretches = [normalize(stretch) for stretch in stretches]
        rank = _rank(sum(map(len, stretches)) + len(stretches) - 1 + anchored, rule)
        if len(stretches) == 1:
            _keep_higher(self._exact, stretches[0], (rank, rule))
            return
        tail = stretches.pop() if anchored else ""
        if not tail and not any(stretches[1:]):
            _keep_higher(prefixes, stretches[0], (rank, rule))  # stars at the end say nothing more
            return
        found = StarredPattern(rank, rule, stretches, tail)
        known = starred.setdefault((found.prefix, found.literals, tail), found)
        if rank > known.rank:
            starred[found.prefix, found.literals, tail] = found

    def _chain_prefixes(self, rules: dict[str, _Ranked]) -> None:
        """Link every prefix to the longest shorter one, and carry the best rule of the chain along."""
        ancestors: list[int] = []
        for at, prefix in enumerate(self._prefixes):
            while ancestors and not prefix.startswith(self._prefixes[ancestors[-1]]):
                ancestors.pop()
            best = rules[prefix]
            if ancestors:
                best = max(best, self._prefix_best[ancestors[-1]], key=_rank_of)
            self._prefix_parents.append(ancestors[-1] if ancestors else -1)
            self._prefix_best.append(best)
            ancestors.append(at)

    def deciding_rule(self, path: str) -> WrittenRule | None:
        """Find the matching rule of highest rank for a normalized path."""
        best = self._exact.get(path, _NO_RULE)
        at = bisect_right(self._prefixes, path) - 1
        while at >= 0:
            if path.startswith(self._prefixes[at]):
                found = self._prefix_best[at]
                if found[0] > best[0]:
                    best = found
                break
            at = self._prefix_parents[at]
        if self._starred:
            return self._best_starred(path, best)
        return best[1]

    def _best_starred(self, path: str, best: _Ranked) -> WrittenRule | None:
        """Try the starred rules whose gram occurs in the path, unless they rank below what is known."""
        candidates: list[list[StarredPattern]] = []
        for size, filed in self._starred:
            if len(filed) <= 2 * len(path):
                candidates += [patterns for gram, patterns in filed.items() if gram in path]
            else:
                grams = {path[at : at + size] for at in range(len(path) - size + 1)}
                candidates += [filed[gram] for gram in filed.keys() & grams]
        rank, rule = best
        if not candidates:
            return rule
        many = sum(map(len, candidates)) > _MANY_CANDIDATES
        suffixes = SortedSuffixes(path) if many else None
        for patterns in candidates:
            for pattern in patterns:
                if pattern.rank <= rank:
                    break
                if suffixes.match(pattern) if suffixes else pattern.matches(path):
                    rank, rule = pattern.rank, pattern.rule
                    break
        return rule


class SortedSuffixes:
    """Places of literals in one path, each found in logarithmic time whatever the path repeats."""

    __slots__ = ("_found", "_path", "_starts", "_suffixes")

    def __init__(self, path: str) -> None:
        self._path = path
        window = _SUFFIX_WINDOW
        pairs = sorted((path[at : at + window], at) for at in range(len(path)))
        self._suffixes = [suffix for suffix, _ in pairs]
        self._starts = [start for _, start in pairs]
        self._found: dict[str, list[int]] = {}

    def match(self, pattern: StarredPattern) -> bool:
        """Try a pattern as its own ``matches`` does, but look literals up instead of searching for them."""
        path = self._path
        if len(pattern.literals) > _LONG_PATTERN:
            return pattern.matches(path)
        if len(path) < pattern.least_length or not path.startswith(pattern.prefix):
            return False
        if not path.endswith(pattern.tail):
            return False
        position = len(pattern.prefix)
        found = self._found
        for literal in pattern.literals:
            places = found.get(literal)
            if places is None:
                places = found[literal] = self._places(literal)
            at = bisect_left(places, position)
            if at == len(places):
                return False
            position = places[at] + len(literal)
        return position + len(pattern.tail) <= len(path)

    def _places(self, literal: str) -> list[int]:
        """List every place of a literal in order; suffixes that begin with it lie side by side."""
        head = literal[:_SUFFIX_WINDOW]
        low = bisect_left(self._suffixes, head)
        if low == len(self._suffixes) or not self._suffixes[low].startswith(head):
            return []
        # A normalized path is visible ASCII, so one DEL sorts behind everything that begins with the head.
        high = bisect_left(self._suffixes, head + "\x7f", low)
        places = sorted(self._starts[low:high])
        if len(literal) > _SUFFIX_WINDOW:
            return [place for place in places if self._path.startswith(literal, place)]
        return places


def _patterns(rule: WrittenRule) -> tuple[str, ...]:
    """Give a rule's pattern; an allowed index page also allows its folder, as in Google's matcher."""
    if rule.allowed:
        slash = rule.pattern.rfind("/")
        if slash >= 0 and rule.pattern.startswith("/index.htm", slash):
            return rule.pattern, rule.pattern[: slash + 1] + "$"
    return (rule.pattern,)


def _rank(length: int, rule: WrittenRule) -> int:
    """Order rules by RFC 9309 §2.2.2: longest pattern, then Allow; of equals, the earlier line is named."""
    return ((length * 2 + rule.allowed) << _LINE_BITS) - rule.line_number


def _rank_of(ranked: _Ranked) -> int:
    return ranked[0]


def _keep_higher(rules: dict[str, _Ranked], key: str, ranked: _Ranked) -> None:
    """Keep one rule for patterns that match the same paths."""
    known = rules.get(key)
    if known is None or ranked[0] > known[0]:
        rules[key] = ranked


def _file_by_gram(patterns: list[StarredPattern]) -> list[tuple[int, dict[str, list[StarredPattern]]]]:
    """File patterns under their rarest gram: for each gram size, the patterns by gram, highest rank first."""
    if not patterns:
        return []
    grams = [pattern.grams() for pattern in patterns]
    frequency = Counter(chain.from_iterable(grams))
    by_size: dict[int, dict[str, list[StarredPattern]]] = {}
    for pattern, choices in zip(patterns, grams, strict=True):
        gram = min(choices, key=frequency.__getitem__)
        by_size.setdefault(len(gram), {}).setdefault(gram, []).append(pattern)
    for filed in by_size.values():
        for filed_patterns in filed.values():
            filed_patterns.sort(key=lambda pattern: -pattern.rank)
    return sorted(by_size.items())
