"""Which URLs of a site are crawled: patterns as users write them, and the decision about one URL.

A pattern is a glob, or a regular expression after `re:`. Both become expressions of RE2, which matches in time linear
in the URL whatever the pattern is (docs/decisions/0012). Globs are read as in a .gitignore file: a pattern also
matches everything below what it names.

    /docs/          path from the root of the host, and everything below
    /docs/*/edit    `*` is any characters but `/`; `**` is any characters
    *.pdf           no slash: a name at any depth
    /list?page=*    `?` is itself; without one, the query is not looked at
    example.com/a/  with a host, or a scheme and a host: on this host only; `*.example.com/` is every subdomain
    re:\\?(.*&)?sort= searched in the whole URL

`UrlRules` contains the patterns of a run and of a host's policy. An exclude takes precedence over an include.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

from xxhash import xxh3_64_hexdigest

from comity.model.dataclass import dataclass
from comity.model.errors import BadAddress
from comity.rules.canonical import (
    WebAddress,
    canonical_host,
    has_known_suffix,
    normalize_escapes,
    web_address,
)

REGEX: Final = "re:"
LONGEST_PATTERN: Final = 10_000
MOST_PATTERNS: Final = 10_000  # in one list
MOST_CHARACTERS: Final = 1_000_000  # of all patterns of a list
# The time for one URL is at most proportional to its length times these: of the regular expressions the instructions
# that RE2 makes of them (an ordinary one has 20 to 100), of the globs the stars.
MOST_INSTRUCTIONS: Final = 10_000
MOST_STARS: Final = 20_000
_STARS_MOST: Final = 50  # in one glob
# RE2 keeps the program and the cached states of one expression within this; a larger program is refused.
_MEMORY_BYTES: Final = 4 << 20
# Patterns that are tried as one expression: RE2 looks at a URL once for all of them.
_GROUP_MOST: Final = 100
_GROUP_CHARACTERS: Final = 4_000
_ANY_HOST: Final = r"^https?://[^/]*"
_ANY_PORT: Final = r"(?::\d+)?"
_SCHEMES: Final = {"http": "http", "https": "https", "*": "https?"}
# Characters that the URL parser escapes in some parts of a URL and not in others (WHATWG URL §1.3).
_SOMETIMES_ESCAPED: Final = frozenset("\"'<>^`{|}")
_UNSEEN: Final = re.compile(r"[\x00-\x20\x7f]")
_LABEL: Final = re.compile(r"[a-z0-9_*-]+")
_PORT: Final = re.compile(r"\d{1,5}|\*")


class BadPattern(ValueError):
    """A pattern that cannot be used; the message is for the person who wrote it."""


class UrlPattern(NamedTuple):
    """One pattern: as it was written, and as an expression that is searched in a canonical URL."""

    text: str
    expression: str
    cost: int
    """Instructions of a regular expression, stars of a glob."""

    @property
    def is_regular(self) -> bool:
        """Whether it is searched in the URL as it is; a glob knows hosts by their names without `www.`."""
        return self.text.startswith(REGEX)


class LeftOut(NamedTuple):
    """Why a URL is left out: which rule decided, by which pattern, and who set it."""

    rule: str
    """`exclude`, `include` or `under`."""
    pattern: str
    """The exclude that matches; the includes, if none matches; or the path that it is not below."""
    is_of_policy: bool = False

    @property
    def reason(self) -> str:
        """One sentence without its full stop."""
        where = " of its host's policy" if self.is_of_policy else ""
        if self.rule == "exclude":
            return f"the exclude pattern {self.pattern}{where} matches it"
        if self.rule == "include":
            return f"no include pattern{where} matches it ({self.pattern})"
        return f"it is not below {self.pattern}, to which the crawl is limited"


def parse_pattern(text: str) -> UrlPattern:
    """Read a pattern; raises `BadPattern` with what is wrong if it cannot be used."""
    if not text:
        raise BadPattern("a pattern is empty; write one such as /docs/ or *.pdf")
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    if len(text) > LONGEST_PATTERN:
        raise BadPattern(f"{shown}: longer than {LONGEST_PATTERN:,} characters")
    try:
        if text.startswith(REGEX):
            expression = _regular(text.removeprefix(REGEX))
            return UrlPattern(text, expression, _compiled(expression).programsize)
        expression, stars = _glob(text), text.count("*")
        _compiled(expression)
    except BadPattern as error:
        raise BadPattern(f"{shown}: {error}") from None
    if stars > _STARS_MOST:
        raise BadPattern(f"{shown}: more than {_STARS_MOST} stars")
    return UrlPattern(text, expression, stars)


def parse_patterns(texts: Iterable[str]) -> tuple[UrlPattern, ...]:
    """Read a list of patterns, each once."""
    unique = list(dict.fromkeys(texts))
    if len(unique) > MOST_PATTERNS:
        raise BadPattern(f"{len(unique):,} patterns; at most {MOST_PATTERNS:,} can be used")
    if sum(map(len, unique)) > MOST_CHARACTERS:
        raise BadPattern(f"all patterns together have more than {MOST_CHARACTERS:,} characters")
    patterns = tuple(map(parse_pattern, unique))
    if sum(each.cost for each in patterns if each.is_regular) > MOST_INSTRUCTIONS:
        raise BadPattern("all regular expressions together are too large; write some of them as globs")
    if sum(each.cost for each in patterns if not each.is_regular) > MOST_STARS:
        raise BadPattern(f"all patterns together have more than {MOST_STARS:,} stars")
    return patterns


def _regular(text: str) -> str:
    if not text:
        raise BadPattern("no expression after re:")
    if not text.isprintable():
        raise BadPattern("contains a line break or an invisible character")
    if not text.isascii():
        raise BadPattern("URLs are matched in their escaped form; write %C3%A9 for é, for example")
    return text


def _glob(text: str) -> str:
    """The expression of a glob."""
    if _UNSEEN.search(text):
        raise BadPattern("contains a space or an invisible character; write %20 for a space")
    if "#" in text:
        raise BadPattern("contains #; the part of a URL after # is never sent, so no pattern can match it")
    place, mark, query = text.partition("?")
    place, query = normalize_escapes(place), normalize_escapes(query)
    ending = f"{mark and re.escape(mark)}{_translated(query, in_query=True)}$"
    if "://" in place:
        scheme, _, rest = place.partition("://")
        if scheme.lower() not in _SCHEMES:
            raise BadPattern("only http and https URLs are crawled; *:// matches both")
        host, path = _at_slash(rest)
        return f"^{_SCHEMES[scheme.lower()]}://{_host(host)}{_path(path or '/', ending, has_query=bool(mark))}"
    if place.startswith("/"):
        return _ANY_HOST + _path(place, ending, has_query=bool(mark))
    if not place:  # ?sort=*
        return f"{_ANY_HOST}[^?]*{ending}"
    if "/" not in place:
        _refuse_host_name(place)
        return _ANY_HOST + _path(f"/**/{place}", ending, has_query=bool(mark))
    if place == "**" or place.startswith("**/"):
        return _ANY_HOST + _path(f"/{place}", ending, has_query=bool(mark))
    host, path = _at_slash(place)
    if not ("." in host or ":" in host or host == "localhost"):
        raise BadPattern("begin with / to match from the root of the host, or with **/ to match at any depth")
    return f"^https?://{_host(host)}{_path(path, ending, has_query=bool(mark))}"


def _at_slash(text: str) -> tuple[str, str]:
    """A host and the path behind it."""
    host, slash, path = text.partition("/")
    return host, slash + path


def _refuse_host_name(name: str) -> None:
    """Refuse a pattern that is probably meant as a host: it would match names in paths."""
    bare = name.removeprefix("*.")
    if "." in bare and "*" not in bare and has_known_suffix(bare):
        raise BadPattern(f"write {name}/ for a host, or **/{name} for a file of this name")


def _host(text: str) -> str:
    """The expression of a host with or without a port. As for hosts, a leading `www.` makes no difference."""
    name, port = text.lower(), ""
    colon = name.rfind(":")
    if colon > name.rfind("]"):
        name, port = name[:colon], name[colon + 1 :]
        if not _PORT.fullmatch(port):
            raise BadPattern(f"{port or 'nothing'} is not a port")
    if name == "*" or name == "**":
        written = "[^/:]*"
    elif "*" in name:
        labels = [_label(label) for label in name.removeprefix("www.").split(".")]
        written = r"\.".join(labels)
    else:
        try:
            written = re.escape(canonical_host(name).authority)
        except BadAddress as error:
            raise BadPattern(error.reason) from None
    if port in ("80", "443"):  # canonical URLs have no default port
        return written
    return written + (rf":{port}" if port.isdigit() else _ANY_PORT)


def _label(label: str) -> str:
    encoded = label if label.isascii() else label.encode("idna", "replace").decode()
    if not _LABEL.fullmatch(encoded):
        raise BadPattern(f"{label or 'an empty label'} cannot be part of a host name")
    return re.escape(encoded).replace(r"\*", "[^/:]*")


def _path(path: str, ending: str, *, has_query: bool) -> str:
    """The expression of a path from the root. A pattern matches what it names and everything below."""
    if any(part in (".", "..") for part in path.split("/")):
        raise BadPattern("contains . or .. as a folder, which canonical URLs never contain")
    written = _translated(path, in_query=False)
    if has_query:
        return written + ending
    return written if path.endswith("/") else f"{written}(?:[/?]|$)"


def _translated(text: str, *, in_query: bool) -> str:
    """Translate stars into expressions; everything else is literal."""
    one, any_depth = (".*", ".*") if in_query else ("[^/?]*", "[^?]*")
    parts: list[str] = []
    at = 0
    while at < len(text):
        if text.startswith("**/", at) and not in_query and (at == 0 or text[at - 1] == "/"):
            parts.append("(?:[^?]*/)?")
            at += 3
        elif text.startswith("**", at):
            parts.append(any_depth)
            at += 2
        elif text[at] == "*":
            parts.append(one)
            at += 1
        else:
            at += text.startswith("\\", at) and at + 1 < len(text)  # \* is a star
            parts.append(_literal(text[at]))
            at += 1
    return "".join(parts)


@lru_cache(maxsize=1024)
def _literal(character: str) -> str:
    """One character as it appears in a canonical URL."""
    escaped = "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "replace"))
    if not character.isascii():
        return escaped
    written = re.escape(character)
    return f"(?:{written}|{escaped})" if character in _SOMETIMES_ESCAPED else written


_Url = tuple[bytes, bytes]
"""A URL in the forms that globs and regular expressions are matched against."""


def _as_seen(address: WebAddress) -> _Url:
    url = address.url.encode()
    if b"://www." in url and not address.host.startswith("www."):
        return url.replace(b"://www.", b"://", 1), url
    return url, url


class _Expression(Protocol):
    programsize: int

    def search(self, text: bytes) -> object: ...


def _compiled(expression: str) -> _Expression:
    """Compile an expression with RE2; raises `BadPattern` with RE2's message."""
    import re2  # it takes 30 ms to load, and most crawls have no patterns

    options: Any = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.never_capture = True
    options.encoding = re2.Options.Encoding.LATIN1  # a canonical URL is ASCII; programs for UTF-8 are larger
    options.log_errors = False
    try:
        # Not `re2.compile`, which keeps what it compiled.
        compiled: _Expression = re2._Regexp(expression.encode("ascii"), options)
    except re2.error as error:
        said = error.args[0] if error.args else "not a regular expression"
        said = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise BadPattern(said[:200]) from None
    return compiled


class PatternSet:
    """Patterns that are tried together."""

    __slots__ = ("_groups", "_singles", "patterns")

    def __init__(self, patterns: Sequence[UrlPattern]) -> None:
        self.patterns = tuple(patterns)
        self._groups: list[tuple[_Expression, Sequence[UrlPattern]]] = []
        self._singles: dict[str, _Expression] = {}
        for is_regular in (False, True):
            some: list[UrlPattern] = []
            characters = 0
            for pattern in self.patterns:
                if pattern.is_regular is not is_regular:
                    continue
                some.append(pattern)
                characters += len(pattern.expression)
                if len(some) == _GROUP_MOST or characters > _GROUP_CHARACTERS:
                    self._add(some)
                    some, characters = [], 0
            self._add(some)

    def _add(self, some: Sequence[UrlPattern]) -> None:
        """Add a group; one that is too large for one expression is halved."""
        if not some:
            return
        try:
            joined = "|".join(f"(?:{each.expression})" for each in some)
            self._groups.append((_compiled(joined), some))
        except BadPattern:
            half = len(some) // 2
            if not half:
                raise
            self._add(some[:half])
            self._add(some[half:])

    def matches(self, url: _Url) -> bool:
        """Whether any pattern matches."""
        return any(group.search(url[some[0].is_regular]) is not None for group, some in self._groups)

    def first(self, url: _Url) -> UrlPattern | None:
        """The first pattern that matches; of globs and regular expressions, globs come first."""
        for group, some in self._groups:
            text = url[some[0].is_regular]
            if group.search(text) is not None:
                return next((each for each in some if self._single(each).search(text) is not None), some[0])
        return None

    def _single(self, pattern: UrlPattern) -> _Expression:
        found = self._singles.get(pattern.text)
        if found is None:
            found = self._singles[pattern.text] = _compiled(pattern.expression)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PatternRules:
    """The patterns of a run or of a host's policy; None means no restriction."""

    exclude: PatternSet | None
    include: PatternSet | None
    under: Mapping[str, tuple[str, ...]]
    """Paths by host: a URL of one of these hosts must be below one of its paths."""
    fingerprint: str
    is_of_policy: bool = False

    def excluded(self, url: _Url) -> LeftOut | None:
        """The exclude that matches a URL."""
        found = self.exclude.first(url) if self.exclude is not None else None
        return LeftOut("exclude", found.text, self.is_of_policy) if found is not None else None

    def not_included(self, address: WebAddress, url: _Url) -> LeftOut | None:
        """The path that a URL is not below, or the includes if none matches."""
        if self.under and (paths := self.under.get(address.host)) is not None:
            bare = address.path.partition("?")[0]
            if not any(is_below(bare, path) for path in paths):
                return LeftOut("under", _listed([f"{address.host}{path}" for path in paths]))
        if self.include is not None and not self.include.matches(url):
            return LeftOut("include", _listed([each.text for each in self.include.patterns]), self.is_of_policy)
        return None


def pattern_rules(
    include: Sequence[str], exclude: Sequence[str], under: Sequence[str] = (), *, is_of_policy: bool = False
) -> PatternRules | None:
    """The rules of a run or a policy; None if it has none."""
    if not (include or exclude or under):
        return None
    return _rules(tuple(include), tuple(exclude), tuple(under), is_of_policy)


@lru_cache(maxsize=64)  # many hosts may have the same policy
def _rules(
    include: tuple[str, ...], exclude: tuple[str, ...], under: tuple[str, ...], is_of_policy: bool
) -> PatternRules:
    return PatternRules(
        PatternSet(parse_patterns(exclude)) if exclude else None,
        PatternSet(parse_patterns(include)) if include else None,
        _paths_by_host(under),
        xxh3_64_hexdigest(repr((include, exclude, under)).encode()),
        is_of_policy,
    )


@dataclass(frozen=True, slots=True, eq=False)
class UrlRules:
    """The rules of a run and of a host's policy: a URL must pass both."""

    run: PatternRules | None
    policy: PatternRules | None

    @property
    def fingerprint(self) -> str:
        """A short text that changes if any pattern changes."""
        return "/".join(rules.fingerprint if rules is not None else "" for rules in (self.run, self.policy))

    def judge(self, address: WebAddress) -> LeftOut | None:
        """Whether a URL is left out, and why. Excludes are checked first."""
        url = _as_seen(address)
        found = self._excluded(url)
        if found is not None:
            return found
        for rules in (self.run, self.policy):
            if rules is not None and (found := rules.not_included(address, url)) is not None:
                return found
        return None

    def judge_hop(self, address: WebAddress) -> LeftOut | None:
        """The same for where a seed redirects to: like the seed, it is fetched for its links, unless it is excluded."""
        return self._excluded(_as_seen(address))

    def judge_seed(self, address: WebAddress) -> LeftOut | None:
        """The same for a seed: it was named explicitly, so only an exclude of the operator's policy applies."""
        return self.policy.excluded(_as_seen(address)) if self.policy is not None else None

    def _excluded(self, url: _Url) -> LeftOut | None:
        for rules in (self.run, self.policy):
            if rules is not None and (found := rules.excluded(url)) is not None:
                return found
        return None


@lru_cache(maxsize=1024)
def url_rules(run: PatternRules | None, policy: PatternRules | None) -> UrlRules | None:
    """The rules in force for the URLs of a host; None if everything is crawled."""
    return UrlRules(run, policy) if run is not None or policy is not None else None


def path_of_seed(address: WebAddress) -> str:
    """The host and path below which a crawl of one folder stays: the seed's folder.

    `/docs/` and `/docs` are folders; `/docs/start.html`, whose name has a dot, lies in `/docs/`.
    """
    path = address.path.partition("?")[0]
    folder, _, name = path.rpartition("/")
    return f"{address.host}{folder}/" if "." in name else f"{address.host}{path}"


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder itself, or below it."""
    bare = folder.removesuffix("/")
    return path == bare or path.startswith(f"{bare}/")


def _paths_by_host(under: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    paths: dict[str, tuple[str, ...]] = {}
    for text in under:
        address = web_address(text)
        paths[address.host] = (*paths.get(address.host, ()), address.path.partition("?")[0])
    return paths


def _listed(texts: Sequence[str]) -> str:
    """The first of some texts, and how many more there are."""
    more = f" and {len(texts) - 3:,} more" if len(texts) > 3 else ""
    return ", ".join(text[:200] for text in texts[:3]) + more
