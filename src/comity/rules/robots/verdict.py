"""Verdicts on URLs by robots.txt (RFC 9309): takes bytes, returns verdicts with evidence.

``parse_robots`` reads a file once; ``RobotsFile.for_agent`` chooses and merges the groups for one product token once;
``AgentRules.verdict`` then answers for any number of URLs. Verdicts for one rule are one shared value.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from heapq import nlargest
from itertools import chain, islice
from typing import Final, TypeAlias

from comity.model.dataclass import dataclass
from comity.model.robots import Confidence, RobotsVerdict
from comity.rules.ledger_chain import content_digest
from comity.rules.robots.parse import ANY_AGENT, MAX_BYTES, Membership, WrittenRobots, WrittenRule, read_lines, readable
from comity.rules.user_agent import agent_token

_ROBOTS_PATH: Final = "/robots.txt"
_OWN_PATH_REASON: Final = "robots.txt itself may always be read (RFC 9309 §2.2.2)"
# Evidence is for reading: a rule or agent longer than this is cut.
_MAX_EVIDENCE_CHARACTERS: Final = 500
# An installation has one agent, or a few; more are answered without being remembered.
_MAX_REMEMBERED_AGENTS: Final = 8
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
_UNRESERVED: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_KEPT_RESERVED: Final = ":/?#[]@!&'()+,;="
_NORMAL: Final = _UNRESERVED + _KEPT_RESERVED
_NORMAL_BYTES: Final = _NORMAL.encode()
_ASKED_MOST: Final = 1000  # of one file, while they wait to be fetched
_HEX: Final = "0123456789ABCDEFabcdef"

# A constant pattern: nothing foreign is ever compiled into it.
_ABNORMAL: Final = re.compile("%[0-9A-Fa-f]{2}|[^%" + re.escape(_NORMAL) + "]")


class AgentRules:
    """The rules of one robots.txt for one product token."""

    __slots__ = ("_asked", "_confidence", "_index", "_memberships", "_verdicts", "_written", "crawl_delay_seconds")

    def __init__(self, written: WrittenRobots, token: str) -> None:
        self._written = written
        own = written.memberships.get(token) if token else None
        # RFC 9309 §2.2.1: the "*" group counts only where no group names the token, however empty that one is.
        memberships = own or written.memberships.get(ANY_AGENT, [])
        self._memberships: list[Membership] = memberships
        self._index = RuleIndex(rule for membership in memberships for rule in written.groups[membership.group].rules)
        self.crawl_delay_seconds = _crawl_delay(written, memberships)
        self._confidence = Confidence.LOW if written.truncated else Confidence.HIGH
        # Targets that are allowed, and were looked up once: most links when found, and again when fetched.
        self._asked: dict[str, RobotsVerdict] = {}
        # By line number, made when first given; 0 stands for no rule.
        self._verdicts: dict[int, RobotsVerdict] = {}

    def verdict(self, target: str) -> RobotsVerdict:
        """Decide for an absolute URL, or for a path with its query."""
        verdict = self._asked.pop(target, None)
        if verdict is None:
            verdict = self._decide(normalized_target(target))
            if verdict.allowed:
                if len(self._asked) >= _ASKED_MOST:
                    self._asked.clear()  # of those that are never looked up again
                self._asked[target] = verdict
        return verdict

    def _decide(self, path: str) -> RobotsVerdict:
        rule = self._index.deciding_rule(path)
        if rule is not None and not rule.allowed and path == _ROBOTS_PATH:
            return RobotsVerdict(True, _OWN_PATH_REASON, crawl_delay_seconds=self.crawl_delay_seconds)
        line_number = rule.line_number if rule else 0
        known = self._verdicts.get(line_number)
        if known is None:
            known = self._verdicts[line_number] = self._verdict(rule)
        return known

    def disallowed(self, most: int = 1000) -> list[str]:
        """List the Disallow patterns of the groups in force, as written, for people to look at."""
        patterns = (
            _evidence(rule.pattern)
            for membership in self._memberships
            for rule in self._written.groups[membership.group].rules
            if not rule.allowed
        )
        return list(islice(patterns, most))

    def _verdict(self, rule: WrittenRule | None) -> RobotsVerdict:
        """Put a rule, or its absence, into words."""
        if not self._memberships:
            reason = "no group of robots.txt applies to this agent"
            return RobotsVerdict(True, reason, confidence=self._confidence)
        line_number = rule.line_number if rule else 0
        above = bisect_right(self._memberships, line_number, key=lambda each: each.line_number)
        membership = self._memberships[max(above - 1, 0)]
        text = _evidence(self._written.line(rule.line_number)) if rule else None
        group = f"the group at line {membership.line_number}"
        return RobotsVerdict(
            allowed=rule.allowed if rule else True,
            reason=f"robots.txt line {line_number}: {text}" if rule else f"no rule of {group} of robots.txt matches",
            rule=text,
            line_number=rule.line_number if rule else None,
            agent=_evidence(membership.agent),
            agent_line_number=membership.line_number,
            crawl_delay_seconds=self.crawl_delay_seconds,
            confidence=self._confidence,
        )


@dataclass(slots=True)
class RobotsFile:
    """A parsed robots.txt."""

    version: str
    """The digest of the part that is read: equal versions hold equal rules."""
    sitemaps: tuple[str, ...]
    """Sitemap addresses as given, without repeats; they belong to no group."""
    truncated: bool
    """Whether a part behind the parsing limit was left unread."""
    _written: WrittenRobots = field(repr=False)
    _agents: dict[str, AgentRules] = field(default_factory=dict, repr=False)

    def for_agent(self, agent: str) -> AgentRules:
        """Gather the rules for a user agent by its product token; remembered, so asking again is cheap."""
        token = agent_token(agent)
        rules = self._agents.get(token)
        if rules is None:
            rules = AgentRules(self._written, token)
            if len(self._agents) < _MAX_REMEMBERED_AGENTS:
                self._agents[token] = rules
        return rules

    def verdict(self, agent: str, target: str) -> RobotsVerdict:
        """Decide for one agent and one absolute URL or path with query."""
        return self.for_agent(agent).verdict(target)


def parsed_part(body: bytes, max_bytes: int = MAX_BYTES) -> bytes:
    """As much of a file as its rules depend on: one more byte than is read, which shows whether a line was cut."""
    return body[: max_bytes + 1]


def parse_robots(body: bytes, *, max_bytes: int = MAX_BYTES, version: str | None = None) -> RobotsFile:
    """Parse robots.txt bytes, whatever they hold; never raises."""
    written = read_lines(body, max_bytes)
    return RobotsFile(
        version=version or content_digest(parsed_part(body, max_bytes)),
        sitemaps=written.sitemaps,
        truncated=written.truncated,
        _written=written,
    )


def _crawl_delay(written: WrittenRobots, memberships: list[Membership]) -> float | None:
    """Find the longest delay that the agent's groups ask for."""
    delays = (written.groups[membership.group].crawl_delay_seconds for membership in memberships)
    return max((delay for delay in delays if delay is not None), default=None)


def _evidence(text: str) -> str:
    """Make untrusted bytes readable and short."""
    shown = readable(text)
    return shown if len(shown) <= _MAX_EVIDENCE_CHARACTERS else shown[:_MAX_EVIDENCE_CHARACTERS] + "…"


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
    """An agent's rules, arranged so that the deciding one is found quickly.

    The longest match decides, and is found without trying every rule. Patterns are indexed once, when an agent's rules
    are gathered; each lookup takes a normalized path and returns the rule of highest rank. No regular expression is
    ever made from a foreign pattern.

    Three kinds of pattern, three lookups:

    * ``/path`` (also ``/path*``) is a prefix: a binary search finds the last key not after the path, and every key that
      is a prefix of the path lies on that key's chain of shorter prefixes;
    * ``/path$`` is the whole path: a dictionary;
    * a pattern with a star inside is filed under its rarest three characters, and tried only for paths that contain
      them.

    A hostile file can still make many starred rules pass that filter. They are then tried against a sorted list of the
    path's suffixes, where a literal is found in logarithmic time however the path was built: the cost of one lookup
    stays proportional to the number of literals in the file, never to its product with the path.
    """

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
        if not _is_normalized("".join(stretches)):
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


def _normal_forms() -> dict[str, str]:
    """The normal form of every escape and of every byte that needs one."""
    table = {chr(byte): f"%{byte:02X}" for byte in range(256) if chr(byte) not in _NORMAL}
    for high in _HEX:
        for low in _HEX:
            byte = int(high + low, 16)
            table[f"%{high}{low}"] = chr(byte) if chr(byte) in _UNRESERVED else f"%{byte:02X}"
    return table


_NORMAL_FORMS: Final = _normal_forms()


def _is_normalized(text: str) -> bool:
    """Whether normalizing would change nothing; nearly always true, and faster than normalizing."""
    return not text.encode("utf-8", "surrogatepass").translate(None, _NORMAL_BYTES)


def normalize(text: str) -> str:
    r"""The normal form of a path, or of a part of a pattern without wildcards.

    Equivalent percent-encodings become equal, so that comparing characters decides a match. Bytes are held as text with
    one character per byte, because text is searched faster than bytes; the result is always ASCII.

    RFC 9309 §2.2.2 requires bytes outside ASCII to be encoded and encoded unreserved characters to be decoded. Reserved
    characters keep the form they came in: RFC 3986 §2.2 lets ``/a%2Fb`` and ``/a/b`` name different things, and the
    RFC's own example of encoding ``://`` inside a query cannot be applied to a pattern whose ``*`` hides where the
    query begins. What RFC 3986 allows in no URL (space, quotes, controls, ``<>\^`{|}``) is encoded, as every client
    does before it sends. ``*`` and ``$`` are encoded too, because §2.2.3 gives ``%2A`` and ``%24`` as their literal
    forms, so neither stands for itself in a normalized text. A ``%`` without two digits stays.
    """
    return text if _is_normalized(text) else _ABNORMAL.sub(lambda match: _NORMAL_FORMS[match[0]], text)


def normalized_target(target: str) -> str:
    """The normalized path and query of an absolute URL, or of a path that begins with a slash."""
    if target[:1] != "/":
        target = _path_and_query(target)
    if "#" in target:
        target = target.partition("#")[0]
    written = target.encode("utf-8", "surrogatepass")
    if not written.translate(None, _NORMAL_BYTES):  # nearly always; asked of every address, so without a call
        return target
    # A lone surrogate cannot come from a parsed URL, but a verdict must not raise on it either.
    return normalize(written.decode("latin-1"))


def _path_and_query(url: str) -> str:
    """Drop scheme and authority; a URL without a path has the path ``/``."""
    url = url.partition("#")[0]
    scheme_end = url.find("://")
    # A "://" behind the first slash or question mark belongs to the path or query.
    start = scheme_end + 3 if scheme_end >= 0 and not {"/", "?"} & set(url[:scheme_end]) else 0
    ends = [end for end in (url.find("/", start), url.find("?", start)) if end >= 0]
    if not ends:
        return "/"
    rest = url[min(ends) :]
    return rest if rest[0] == "/" else "/" + rest
