"""The lines of a robots.txt, parsed into groups, rules, delays and sitemaps.

Takes any bytes; returns plain values in file order with 1-based line numbers. Nothing is matched here. Text is held
with one character per byte, whatever the file's encoding was.

Leniency follows what Google's open-source parser accepts, since that is what webmasters test against: key typos,
a missing colon, a byte order mark, any line ending. ``MAX_BYTES`` alone bounds work and memory: every line is read
once and produces at most one record.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from comity.model.dataclass import dataclass

# RFC 9309 §2.5: parse at least 500 KiB; what lies behind the limit is not read.
MAX_BYTES: Final = 512 * 1024
# Bytes read of one line: eight times the longest URL that old browsers accepted, less one.
MAX_LINE_BYTES: Final = 2083 * 8 - 1
# A longer wait than a day is taken for a day: the host would otherwise never be visited.
MAX_CRAWL_DELAY_SECONDS: Final = 86_400.0
ANY_AGENT: Final = "*"

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# Only ASCII blanks are trimmed: others may be half of a character.
_BLANKS: Final = " \t\v\f"
_PRODUCT_TOKEN: Final = re.compile(r"[A-Za-z_-]+")
_DELAY: Final = re.compile(r"[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30}", re.ASCII)

_USER_AGENT, _ALLOW, _DISALLOW, _SITEMAP, _CRAWL_DELAY, _OTHER = range(1, 7)
_RULE_KEYS: Final = (_DISALLOW, _ALLOW)
# Keys are known by how they begin, in any case; the misspellings are those that Google's parser takes.
_KEY_BEGINNINGS: Final = (
    (_USER_AGENT, ("user-agent", "useragent", "user agent")),
    (_ALLOW, ("allow",)),
    (_DISALLOW, ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")),
    (_SITEMAP, ("sitemap", "site-map")),
    (_CRAWL_DELAY, ("crawl-delay", "crawldelay", "crawl delay")),
)
# The forms that nearly every line uses skip the search above.
_USUAL_KEYS: Final = {
    "User-agent": _USER_AGENT,
    "User-Agent": _USER_AGENT,
    "user-agent": _USER_AGENT,
    "Allow": _ALLOW,
    "allow": _ALLOW,
    "Disallow": _DISALLOW,
    "disallow": _DISALLOW,
    "Sitemap": _SITEMAP,
    "Crawl-delay": _CRAWL_DELAY,
}


class WrittenRule(NamedTuple):
    """One Allow or Disallow line with a value."""

    allowed: bool
    pattern: str
    line_number: int


class Membership(NamedTuple):
    """The first User-agent line by which a token belongs to a group."""

    group: int
    agent: str
    line_number: int


@dataclass(slots=True)
class WrittenGroup:
    """Rules under one run of User-agent lines."""

    rules: list[WrittenRule]
    crawl_delay_seconds: float | None
    """The longest crawl delay that the group asks for."""
    closed: bool
    """Whether a rule or a crawl delay has been seen, so that a further User-agent line starts a new group."""


@dataclass(frozen=True, slots=True)
class WrittenRobots:
    """Everything a robots.txt says, before any agent is chosen."""

    groups: list[WrittenGroup]
    memberships: dict[str, list[Membership]]
    """By lower-case product token, or ``*``: the groups that name it, in file order."""
    sitemaps: tuple[str, ...]
    truncated: bool
    lines: list[str]

    def line(self, line_number: int) -> str:
        """Give a line as written, without comment and outer blanks."""
        return _bare(self.lines[line_number - 1])


@lru_cache(maxsize=64)
def product_token(agent: str) -> str:
    """Reduce a user agent to its product token in lower case; empty when it has none (RFC 9309 §2.2.1)."""
    match = _PRODUCT_TOKEN.match(agent)
    return match[0].lower() if match else ""


def readable(text: str) -> str:
    """Show bytes as the UTF-8 text they should be; anything else is escaped."""
    return text.encode("latin-1").decode("utf-8", "backslashreplace")


def read_lines(body: bytes, max_bytes: int = MAX_BYTES) -> WrittenRobots:
    """Parse robots.txt bytes; lines that make no sense are skipped."""
    truncated = len(body) > max_bytes
    if truncated:
        body = _whole_lines(body, max_bytes)
    text = _decoded(body).decode("latin-1")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    reader = _LineReader()
    for line_number, line in enumerate(lines, 1):
        if line:
            reader.take(line_number, line)
    return WrittenRobots(reader.groups, reader.memberships, tuple(reader.sitemaps), truncated, lines)


def _whole_lines(body: bytes, max_bytes: int) -> bytes:
    """Cut to the limit and drop a line that the cut went through: half a rule may say the opposite."""
    kept = body[:max_bytes]
    if body[max_bytes : max_bytes + 1] in (b"\r", b"\n"):
        return kept
    return kept[: max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1]


def _decoded(body: bytes) -> bytes:
    """Drop a byte order mark, whole or started; bridge UTF-16 (RFC 9309 §2.2.2 permits bridging)."""
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return body.decode("utf-16", "replace").encode("utf-8", "replace")
    for length in (3, 2, 1):
        if body.startswith(_BYTE_ORDER_MARK[:length]):
            return body[length:]
    return body


def _bare(line: str) -> str:
    """Drop what is behind the length limit, a comment, outer blanks, and all from a NUL inside on."""
    bare = line[:MAX_LINE_BYTES].partition("#")[0].strip(_BLANKS + "\0")
    return bare.partition("\0")[0].rstrip(_BLANKS)


class _LineReader:
    """Collects lines; remembers only which group is open."""

    __slots__ = ("groups", "memberships", "sitemaps")

    def __init__(self) -> None:
        self.groups: list[WrittenGroup] = []
        self.memberships: dict[str, list[Membership]] = {}
        self.sitemaps: dict[str, None] = {}

    def take(self, line_number: int, line: str) -> None:
        """Read one line; its key decides where it goes."""
        if "#" in line or "\0" in line or len(line) > MAX_LINE_BYTES:
            line = _bare(line)
        name, colon, value = line.partition(":")
        if not colon:
            # A forgotten colon is forgiven where exactly two words leave no doubt.
            words = [word for word in line.replace("\t", " ").split(" ") if word]
            if len(words) != 2:
                return
            name, value = words
        key = _USUAL_KEYS.get(name) or _key(name)
        if key in _RULE_KEYS:
            if self.groups:
                group = self.groups[-1]
                group.closed = True
                if value := value.strip(_BLANKS):
                    group.rules.append(WrittenRule(key == _ALLOW, value, line_number))
        elif key == _USER_AGENT:
            self._take_agent(line_number, value.strip(_BLANKS))
        elif key == _SITEMAP:
            self._take_sitemap(name, value)
        elif key == _CRAWL_DELAY and self.groups:
            group = self.groups[-1]
            group.closed = True
            delay_seconds = _delay_seconds(value.strip(_BLANKS))
            if delay_seconds is not None:
                group.crawl_delay_seconds = max(group.crawl_delay_seconds or 0.0, delay_seconds)

    def _take_agent(self, line_number: int, agent: str) -> None:
        """Open a group, or add to the open one while no rule has been seen.

        Allow, Disallow and Crawl-delay end a run of User-agent lines. RFC 9309 §2.2.4 forbids other records, such as
        Sitemap, to end it. It does not know Crawl-delay; Protego and Python's urllib take it for a rule of its group,
        and so do webmasters: "User-agent: *, Crawl-delay: 5, User-agent: OtherBot, Disallow: /" closes nothing to us.
        """
        if not self.groups or self.groups[-1].closed:
            self.groups.append(WrittenGroup([], None, closed=False))
        # A star followed by more words still means every agent, as in Google's parser.
        everyone = agent == "*" or (agent[:1] == "*" and agent[1] in _BLANKS)
        token = ANY_AGENT if everyone else product_token(agent)
        if not token:
            return
        index = len(self.groups) - 1
        memberships = self.memberships.setdefault(token, [])
        if not memberships or memberships[-1].group != index:
            memberships.append(Membership(index, agent, line_number))

    def _take_sitemap(self, name: str, value: str) -> None:
        """Store the address as written; sitemaps belong to no group."""
        words = name.split(None, 1)
        if len(words) == 2 and words[1].lower() in ("http", "https"):
            value = words[1] + ":" + value  # the colon found was the address's own
        if address := readable(value.strip(_BLANKS)):
            self.sitemaps[address] = None


def _key(name: str) -> int:
    """Recognise a line by the text before its colon."""
    name = name.strip(_BLANKS).lower()
    for key, beginnings in _KEY_BEGINNINGS:
        if name.startswith(beginnings):
            return key
    return _OTHER


def _delay_seconds(value: str) -> float | None:
    """Read a plain decimal number of seconds; signs, exponents, units and words are no delay."""
    if not _DELAY.fullmatch(value):
        return None
    return min(float(value), MAX_CRAWL_DELAY_SECONDS)
