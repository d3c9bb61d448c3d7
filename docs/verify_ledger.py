"""Check a politeness ledger that `comity verify-politeness --export FILE` wrote. Needs Python 3.11 and nothing else.

    python verify_ledger.py ledger.jsonl [--anchor earlier-ledger.jsonl]

It shares no code with Comity: it has its own reading of the hash chains, of robots.txt (RFC 9309) and of the limits.
docs/ledger.md describes the file. Exit code 0: nothing found. 1: something found. 2: the file cannot be read.
"""

from __future__ import annotations

import base64
import bisect
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

ZERO = "0" * 32
ROUNDING_US = 2
GRACE_US = 120_000_000  # a request that waits for its start may still go by a rule that was replaced meanwhile
STALE_US = 600_000_000
LONGEST_PAUSE_S = 366 * 86_400.0
LONGEST_DELAY_S = 31 * 86_400.0
MAX_ROBOTS_BYTES = 512 * 1024
REQUEST = [
    "lease_token",
    "request_number",
    "url",
    "purpose",
    "started_at",
    "ended_at",
    "delay_s",
    "delay_source",
    "max_concurrency",
    "policy_interval_ms",
    "policy_max_concurrency",
    "robots_version",
    "rule_line",
    "rule",
    "status",
    "retry_after_s",
    "blocked_until",
    "has_fetch",
]
NOTE = ["lease_token", "note", "origin", "version", "valid_from", "valid_until", "detail"]
Record = dict[str, Any]
Finding = tuple[str, str]  # what is wrong, and where


def chained(previous: str, values: list[Any]) -> str:
    """The digest of a row: BLAKE2b, 16 bytes, over the digest before it, a line feed and the row as JSON."""
    text = previous + "\n" + json.dumps(values, separators=(",", ":"))
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


# ---- robots.txt (RFC 9309)


def settled(text: str) -> str:
    """One spelling for equivalent percent-encodings (RFC 9309 §2.2.2); text has one character for each byte."""

    def spell(match: re.Match[str]) -> str:
        found = match[0]
        byte = int(found[1:], 16) if len(found) == 3 else ord(found)
        kept = chr(byte)
        return kept if re.fullmatch(r"[A-Za-z0-9._~-]", kept) else f"%{byte:02X}"

    return re.sub(r"%[0-9A-Fa-f]{2}|[^\x21-\x7e]|[\"$*<>\\^`{|}]", spell, text)


class Rule:
    """One Allow or Disallow line: `*` stands for anything, a final `$` for the end of the path."""

    def __init__(self, allowed: bool, pattern: str) -> None:
        self.allowed = allowed
        self.anchored = pattern.endswith("$")
        self.parts = [settled(part) for part in pattern.removesuffix("$").split("*")]
        self.length = sum(map(len, self.parts)) + len(self.parts) - 1 + self.anchored

    def matches(self, path: str) -> bool:
        """Whether the rule is about a path."""
        first, *middle = self.parts
        if not path.startswith(first):
            return False
        position = len(first)
        if not middle:
            return not self.anchored or position == len(path)
        *middle, last = middle
        for part in middle:
            found = path.find(part, position)
            if found < 0:
                return False
            position = found + len(part)
        if self.anchored:
            return path.endswith(last) and len(path) - len(last) >= position
        return path.find(last, position) >= 0


def _key(name: str) -> str:
    """A key by how it begins, with the misspellings that are commonly forgiven."""
    for key, beginnings in (
        ("user-agent", ("user-agent", "useragent", "user agent")),
        ("allow", ("allow",)),
        ("disallow", ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")),
        ("crawl-delay", ("crawl-delay", "crawldelay", "crawl delay")),
    ):
        if name.startswith(beginnings):
            return key
    return ""


class Robots:
    """The groups of one robots.txt."""

    def __init__(self, body: bytes) -> None:
        if len(body) > MAX_ROBOTS_BYTES:  # a line that the limit cuts does not count
            cut = body[:MAX_ROBOTS_BYTES]
            whole = body[MAX_ROBOTS_BYTES : MAX_ROBOTS_BYTES + 1] in (b"\r", b"\n")
            body = cut if whole else cut[: max(cut.rfind(b"\n"), cut.rfind(b"\r")) + 1]
        if body[:3] == b"\xef\xbb\xbf":
            body = body[3:]
        self.groups: list[tuple[list[str], list[Rule], list[float]]] = []
        is_open = False
        for line in re.split(r"\r\n|\r|\n", body.decode("latin-1")):
            line = line.partition("#")[0]
            name, colon, value = line.partition(":")
            if not colon:  # forgiven where two words leave no doubt
                name, value = words if len(words := line.split()) == 2 else ("", "")
            name, value = _key(name.strip(" \t").lower()), value.strip(" \t")
            if name == "user-agent":
                if not is_open:
                    self.groups.append(([], [], []))
                    is_open = True
                token = re.match(r"[A-Za-z_-]+", value)
                everyone = value == "*" or value[:2] in ("* ", "*\t")
                self.groups[-1][0].append("*" if everyone else token[0].lower() if token else "")
            elif name in ("allow", "disallow") and self.groups:
                is_open = False
                if value:
                    self.groups[-1][1].append(Rule(name == "allow", value))
                slash = value.rfind("/")
                if name == "allow" and slash >= 0 and value.startswith("/index.htm", slash):
                    self.groups[-1][1].append(Rule(True, value[: slash + 1] + "$"))  # an index page is its folder
            elif name == "crawl-delay" and self.groups:
                is_open = False
                if re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", value):
                    self.groups[-1][2].append(min(float(value), 86_400.0))

    def _for(self, agent: str) -> list[tuple[list[str], list[Rule], list[float]]]:
        return [group for group in self.groups if agent in group[0]] or [g for g in self.groups if "*" in g[0]]

    def allows(self, agent: str, path: str) -> bool:
        """The longest match decides; of two as long, Allow does."""
        path = settled(path.encode("utf-8", "surrogatepass").decode("latin-1"))
        rules = [rule for group in self._for(agent) for rule in group[1] if rule.matches(path)]
        best = max(((rule.length, rule.allowed) for rule in rules), default=(0, True))
        return best[1] or path == "/robots.txt"

    def delay_s(self, agent: str) -> float:
        """The longest Crawl-delay for an agent."""
        return max([delay for group in self._for(agent) for delay in group[2]], default=0.0)


# ---- one host


class Host:
    """Everything that the file says about one host."""

    def __init__(self, head: Record) -> None:
        self.head = head
        self.policies: dict[str, list[Record]] = {}
        self.notes: list[Record] = []
        self.requests: list[Record] = []
        self.fetches: list[Record] = []

    def check(self, robots: dict[str, bytes]) -> Iterator[Finding]:
        """Everything that is wrong with the host's ledger, but for `fetches`."""
        yield from self._chain("request", self.requests, REQUEST, "requests", "request_digest")
        yield from self._chain("note", self.notes, NOTE, "notes", "note_digest")
        yield from self._numbers()
        lines = sorted(self.requests, key=lambda each: (each["started_at"], each["sequence"]))
        yield from _pace(lines)
        yield from self._robots(lines, robots)
        yield from self._policy(lines)

    def _chain(self, what: str, rows: list[Record], names: list[str], count: str, digest: str) -> Iterator[Finding]:
        previous, sequence = ZERO, 0
        for row in rows:
            number = row["sequence"]
            if number <= sequence:
                yield "row_inserted", f"{what} {number} is not the next of its chain"
                continue
            if number > sequence + 1:
                yield "row_missing", f"{what}s {sequence + 1} to {number - 1} are missing"
            elif chained(previous, [number, self.head["id"]] + [row[name] for name in names]) != row["digest"]:
                yield "row_altered", f"{what} {number} does not fit its digest"
            previous, sequence = row["digest"], number
        if sequence < self.head[count]:
            yield "row_missing", f"{what}s {sequence + 1} to {self.head[count]} are missing"
        elif sequence > self.head[count]:
            yield "row_inserted", f"the chain ends with {what} {self.head[count]}, and {sequence} was found"
        elif previous != (self.head[digest] or ZERO):
            yield "row_altered", f"the chain of {what}s does not end with the digest of its head"

    def _numbers(self) -> Iterator[Finding]:
        """Each lease numbers its requests from 1; a gap is excused while it is open, or where a note says so."""
        highest: dict[int, int] = {}
        count: Counter[int] = Counter()
        numbers = [(row["lease_token"], row["request_number"]) for row in self.requests]
        # A job or a grant that made no request, or whose request was not reported, has a note instead of a row.
        ended = [row for row in self.notes if row["note"] in ("unreported", "unused")]
        numbers += [(row["lease_token"], json.loads(row["detail"])["number"]) for row in ended]
        for token, number in numbers:
            highest[token] = max(highest.get(token, 0), number)
            count[token] += 1
        gaps = [row["lease_token"] for row in self.notes if row["note"] == "gap"]
        tokens = sorted(highest)
        for at, token in enumerate(tokens):
            later = tokens[at + 1] if at + 1 < len(tokens) else None
            excused = token == self.head["open_lease"] or any(
                token < gap and (later is None or gap <= later) for gap in gaps
            )
            if highest[token] > count[token] and not excused:
                missing = highest[token] - count[token]
                yield "request_unrecorded", f"{missing} requests under lease {token} are not recorded"

    def _robots(self, lines: list[Record], files: dict[str, bytes]) -> Iterator[Finding]:
        notes = sorted((note for note in self.notes if note["note"] == "robots"), key=lambda note: note["valid_from"])
        parsed: dict[str, Robots] = {}
        for version in {note["version"] for note in notes if note["version"]}:
            body = files.get(version)
            if body is None:
                yield "robots_missing", f"the robots.txt {version} is not in the file"
            elif hashlib.blake2b(body, digest_size=16).hexdigest() != version:
                yield "robots_altered", f"the robots.txt {version} is not the one that was in force"
            else:
                parsed[version] = Robots(body)
        by_origin: dict[str, list[Record]] = {}
        for note in notes:
            by_origin.setdefault(note["origin"], []).append(note)
        for line in lines:
            if line["purpose"] == "robots":
                continue
            origin, path = _split(line["url"])
            note = _in_force(by_origin.get(origin, []), line)
            if note is None:
                yield "robots_unknown", f"no robots.txt of {origin} had been read before {_where(line)}"
                continue
            detail = json.loads(note["detail"])
            agent = line["purpose"].partition(":")[2] or detail["agent"]
            if line["started_at"] > note["valid_until"] + STALE_US + line["delay_s"] * 1e6:
                yield "robots_stale", f"robots.txt was too old for {_where(line)}"
            if note["version"] != line["robots_version"]:
                yield "robots_mismatch", f"another robots.txt was in force for {_where(line)}"
            if note["version"] is None and detail["access"] == "disallow_all":
                yield "disallowed", f"everything was disallowed, also {_where(line)}"
            robots = parsed.get(note["version"] or "")
            if robots is not None and not robots.allows(agent, path):
                yield "disallowed", f"robots.txt disallows {_where(line)}"
            if robots is not None and line["delay_s"] < robots.delay_s(agent) - 2e-6:
                yield "delay_too_short", f"robots.txt asks for a longer delay before {_where(line)}"

    def _policy(self, lines: list[Record]) -> Iterator[Finding]:
        names = list(self.policies) or [""]
        last: dict[int, int] = {}
        awake: dict[int, int] = {}
        for line in lines:
            limits = None
            if line["policy_interval_ms"] is not None:
                limits = [line["policy_interval_ms"], line["policy_max_concurrency"]]
            if not any(_agrees(self.policies.get(name, []), limits, line, last, awake) for name in names):
                yield "policy_mismatch", f"the history has another policy for {_where(line)}"
            last[line["lease_token"]] = line["started_at"]
            if limits is not None and line["delay_s"] < min(limits[0] / 1000, LONGEST_DELAY_S) - 2e-6:
                yield "delay_too_short", f"the policy asks for a longer delay before {_where(line)}"
            if limits is not None and line["max_concurrency"] > max(1, limits[1]):
                yield "concurrency_too_high", f"the policy allows fewer requests at once than {_where(line)}"


def _agrees(history: list[Record], limits: Any, line: Record, last: dict[int, int], awake: dict[int, int]) -> bool:
    """Whether a request went by the policy in force, by one just replaced, or by one replaced while it slept."""
    start, token = line["started_at"], line["lease_token"]
    history = [{"valid_from": -(10**18), "limits": None}, *sorted(history, key=lambda each: each["valid_from"])]
    for at in range(len(history) - 1, -1, -1):
        if history[at]["valid_from"] > start + GRACE_US or history[at]["limits"] != limits:
            continue
        if at + 1 == len(history) or start <= history[at + 1]["valid_from"] + GRACE_US or start <= awake.get(token, 0):
            return True
        if token in last and last[token] <= history[at + 1]["valid_from"] + GRACE_US:
            awake[token] = start + GRACE_US
            return True
        return False
    return False


def _in_force(notes: list[Record], line: Record) -> Record | None:
    newest = bisect.bisect_right(notes, line["started_at"] + ROUNDING_US, key=lambda note: note["valid_from"]) - 1
    grace = GRACE_US + 2 * line["delay_s"] * 1e6
    for at in range(newest, -1, -1):
        if at < newest and notes[at + 1]["valid_from"] < line["started_at"] - grace:
            break
        if notes[at]["version"] == line["robots_version"]:
            return notes[at]
    return notes[newest] if newest >= 0 else None


def _pace(lines: list[Record]) -> Iterator[Finding]:
    """Delays, concurrent requests, pauses and leases, in the order of the starts."""
    before: Record | None = None
    under_way: list[int] = []
    pauses: list[tuple[int, float]] = []
    for line in lines:
        start, end = line["started_at"], line["ended_at"]
        if end < start - ROUNDING_US:
            yield "ends_before_start", _where(line)
        if before is not None:
            if start - before["started_at"] < line["delay_s"] * 1e6 - ROUNDING_US:
                yield "too_soon", f"{(start - before['started_at']) / 1e6:.6f} s before {_where(line)}"
            if line["lease_token"] < before["lease_token"]:
                yield "late_hand", f"a lease that was over was used for {_where(line)}"
            elif line["lease_token"] > before["lease_token"]:
                # A process that slept noted its ends late; the next holder could not know of them.
                under_way = []
                pauses = [pause for pause in pauses if pause[0] <= start]
        is_of_client = line["purpose"].partition(":")[0] in ("job", "grant")  # only its client sees it end
        under_way = [each for each in under_way if each > start + ROUNDING_US] + ([] if is_of_client else [end])
        if len(under_way) > line["max_concurrency"]:
            yield "too_many_at_once", f"{len(under_way)} with {_where(line)}"
        for set_at, until in pauses:
            if set_at <= start < until - ROUNDING_US:
                yield "inside_a_block", f"the host had asked for a pause before {_where(line)}"
        pauses = [pause for pause in pauses if pause[1] > start]
        asked, kept = 0.0, line["blocked_until"] or 0
        if line["status"] in (429, 503) and (line["retry_after_s"] or 0) > 0:
            asked = end + min(line["retry_after_s"], LONGEST_PAUSE_S) * 1e6
            if kept < asked - ROUNDING_US:
                yield "block_too_short", f"a shorter pause than asked for was kept after {_where(line)}"
        if max(asked, kept) > 0:
            pauses.append((end, max(asked, kept)))
        before = line


def _split(url: str) -> tuple[str, str]:
    match = re.match(r"([a-z][a-z0-9+.-]*://[^/?#]*)([^#]*)", url)
    origin, path = (match[1], match[2]) if match else (url, "")
    return origin, path if path.startswith("/") else "/" + path


def _where(line: Record) -> str:
    return f"request {line['sequence']} ({line['url']})"


# ---- the file


def _visits(hosts: list[Host]) -> Iterator[tuple[str, Finding]]:
    """Each stored visit has a request that started then, and each request that says so has its visit."""
    for host in hosts:
        if host.head["merged_into"] is not None:
            continue
        family = [each for each in hosts if host.head["id"] in (each.head["id"], each.head["merged_into"])]
        rows = [row for each in family for row in each.requests]
        starts = Counter(row["started_at"] for row in rows)
        visits = Counter(fetch["started_at"] for fetch in host.fetches)
        stored = {(fetch["started_at"], fetch["url"]) for fetch in host.fetches}
        for at, count in visits.items():
            if count > starts[at]:
                yield host.head["host"], ("fetch_without_request", f"a visit at {at} has no request")
        for row in rows:
            if row["has_fetch"] and (row["started_at"], row["url"]) not in stored:
                yield host.head["host"], ("request_without_fetch", f"the visit of {_where(row)} is missing")


def read(path: str) -> tuple[list[Host], dict[str, bytes], list[Finding]]:
    """The file as hosts and robots.txt files, and what is wrong with its frame."""
    hosts: list[Host] = []
    robots: dict[str, bytes] = {}
    problems: list[Finding] = []
    end: Record | None = None
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            said = json.loads(line)
            kind = said["kind"]
            if number == 0 and (kind != "comity-ledger" or said["format"] != 1):
                raise ValueError("this is not a ledger of format 1")
            if kind == "host":
                hosts.append(Host(said))
            elif kind == "robots":
                robots[said["version"]] = base64.b64decode(said["body"])
            elif kind == "policy":
                hosts[-1].policies.setdefault(said["host"], []).append(said)
            elif kind == "note":
                hosts[-1].notes.append(said)
            elif kind == "request":
                hosts[-1].requests.append(said)
            elif kind == "fetch":
                hosts[-1].fetches.append(said)
            elif kind == "missing":
                problems.append(("ledger_missing", f"{said['host']} was asked, and has no chain"))
            elif kind == "end":
                end = said
    digest = ZERO
    for host in hosts:
        ends = [host.head[name] for name in ("requests", "request_digest", "notes", "note_digest")]
        digest = chained(digest, [host.head["id"], *ends])
    if end is None or end["hosts"] != len(hosts) or end["requests"] != sum(len(host.requests) for host in hosts):
        problems.append(("file_cut", "the file is not whole"))
    elif end["digest"] != digest:
        problems.append(("file_altered", "the heads of the chains do not give the digest in the last line"))
    return hosts, robots, problems


def _anchored(hosts: list[Host], earlier: list[Host]) -> Iterator[tuple[str, Finding]]:
    known = {host.head["id"]: host for host in hosts}
    for before in earlier:
        now = known.get(before.head["id"])
        for rows, count, digest in (("requests", "requests", "request_digest"), ("notes", "notes", "note_digest")):
            wanted = before.head[count]
            found = [row["digest"] for row in getattr(now, rows, []) if row["sequence"] == wanted]
            if wanted and before.head[digest] not in found:
                yield before.head["host"], ("anchor_mismatch", f"the {rows} of the earlier file are not in this one")


def verify(path: str, anchor: str | None = None) -> list[tuple[str, Finding]]:
    """All findings, each with its host."""
    hosts, robots, problems = read(path)
    found = [("", problem) for problem in problems]
    for host in hosts:
        found += [(host.head["host"], finding) for finding in host.check(robots)]
    found += _visits(hosts)
    if anchor is not None:
        found += _anchored(hosts, read(anchor)[0])
    return found


def main(arguments: list[str]) -> int:
    """Check the file that is named."""
    if len(arguments) not in (1, 3) or (len(arguments) == 3 and arguments[1] != "--anchor"):
        print(__doc__)
        return 2
    try:
        found = verify(arguments[0], arguments[2] if len(arguments) == 3 else None)
        hosts = read(arguments[0])[0]
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        print(f"cannot read the ledger: {error}")
        return 2
    for host, (what, where) in found:
        print(f"{host or '-'}: {what}: {where}")
    for host in hosts:
        for note in host.notes:
            if note["note"] == "gap":
                seconds = (note["valid_until"] - note["valid_from"]) / 1e6
                print(f"{host.head['host']}: a lease ended without a release; {seconds:,.0f} s may lack requests")
        unreported = sum(note["note"] == "unreported" for note in host.notes)
        if unreported:
            print(f"{host.head['host']}: jobs or grants that ran out without a report: {unreported:,}")
    requests = sum(len(host.requests) for host in hosts)
    print(f"{requests:,} requests to {len(hosts):,} hosts checked: {len(found):,} problems found.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
