"""robots.txt in an audit: its faults, line by line, and what it allows the known agents.

The parser of `rules/robots` is lenient, as Google's is: it takes misspelt keys and forgotten colons. An audit is not,
since other crawlers skip such lines.

The operators and purposes of agents (search engines, AI companies, archives, SEO tools) are as the operators document
them. A token such as Google-Extended sends no requests of its own: it decides what may be done with pages that another
agent of the operator reads.

"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from comity.model.audit import AgentAccess, AgentRule, AuditedRobots, FindingCode
from comity.model.robots import RobotsAccess
from comity.rules.audit.site_rows import Found, Site
from comity.rules.robots.access import read_status
from comity.rules.robots.parse import WrittenRobots, WrittenRule, read_lines
from comity.rules.robots.verdict import AgentRules, RobotsFile, parse_robots
from comity.rules.suggestions import nearest

# RFC 9309 §2.5: a crawler must read at least 500 KiB, and may stop there.
MAX_ROBOTS_BYTES: Final = 500 * 1024
_MAX_FAULTS: Final = 100
"""Faulty lines that are reported of one file."""
_MAX_TRIED: Final = 5_000
"""Rules that are tried against the others. In a file with more, none is called overruled: not all would be known."""
_MAX_QUOTED: Final = 100

_RULES: Final = ("allow", "disallow")
_OF_GROUP: Final = (*_RULES, "crawl-delay")
_DIRECTIVES: Final = frozenset({"user-agent", "sitemap", *_OF_GROUP})
# Lines that one crawler or another reads: Yandex, Seznam, Cloudflare's content signals, the IETF's AI preferences.
_OF_SOME_CRAWLERS: Final = frozenset(
    {"clean-param", "content-signal", "content-usage", "host", "license", "request-rate", "visit-time"}
)
_DELAY: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_WEB_ADDRESS: Final = re.compile(r"https?://[^/\s]+", re.IGNORECASE)
_HTML: Final = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml|script|meta)\b", re.IGNORECASE)
_ENDINGS: Final = ("", "x", "/x7.html", "?x=7")


class LineFault(NamedTuple):
    """A line that does not do what it was written for."""

    line: int
    code: FindingCode
    detail: str


def judge_robots(site: Site, files: Sequence[AuditedRobots], found: Found) -> None:
    """Report the robots.txt of each origin of the site; one that is the same by http and https is reported once."""
    reported: set[tuple[int | None, str | None]] = set()
    for file in sorted(files, key=lambda file: not site.info.site.startswith(file.origin)):
        if not site.has(file.origin) or (file.status, file.text) in reported or _is_only_tried(site, file):
            continue
        reported.add((file.status, file.text))
        url = f"{file.origin.rstrip('/')}/robots.txt"
        if file.status is None or file.status >= 500 or file.status == 429:
            found.add(FindingCode.ROBOTS_UNREACHABLE, url, file.reason)
        elif file.text is not None and 200 <= file.status < 300:
            size = len(file.text.encode("utf-8", "replace"))
            if size > MAX_ROBOTS_BYTES:
                found.add(FindingCode.ROBOTS_TOO_LARGE, url, f"{size / 1024:,.0f} KiB")
            for fault in robots_faults(file.text):
                found.add(fault.code, url, f"line {fault.line}: {fault.detail}")


def _is_only_tried(site: Site, file: AuditedRobots) -> bool:
    """Whether a file was asked for by https only to see whether a site that has http alone speaks TLS."""
    origin = file.origin.rstrip("/") + "/"
    if file.status is not None or not origin.startswith("https:") or site.is_secure:
        return False
    start = "https:" + site.info.site.partition(":")[2]
    return start.startswith(origin) and not any(
        row.url.startswith(origin) and row.url != start for row in site.visited()
    )


def parsed_files(files: Sequence[AuditedRobots]) -> Mapping[str, RobotsFile]:
    """The files that have rules, by origin."""
    return {
        file.origin.rstrip("/"): parse_robots(file.text.encode("utf-8", "replace"))
        for file in files
        if file.text is not None and file.status is not None and 200 <= file.status < 300
    }


def robots_faults(text: str) -> list[LineFault]:
    """Every faulty line of a robots.txt, in the order of the file."""
    if _HTML.match(text.lstrip("\ufeff")):
        return [LineFault(1, FindingCode.ROBOTS_SYNTAX, "an HTML page instead of rules")]
    written = read_lines(text.encode("utf-8", "replace"))
    faults = []
    if text.startswith("\ufeff"):
        detail = "a byte order mark, for which some crawlers skip the first line"
        faults.append(LineFault(1, FindingCode.ROBOTS_SYNTAX, detail))
    faults += _line_faults(text.lstrip("\ufeff"), written)
    lines_of_faults = {fault.line for fault in faults}
    faults += [fault for fault in _overruled(written) if fault.line not in lines_of_faults]
    return sorted(faults)[:_MAX_FAULTS]


def _line_faults(text: str, written: WrittenRobots) -> Iterator[LineFault]:
    """Faults of single lines."""
    agent_lines = [each.line_number for memberships in written.memberships.values() for each in memberships]
    first_agent = min(agent_lines, default=len(written.lines) + 1)
    for number in range(1, min(len(written.lines), text.count("\n") + text.count("\r") + 1) + 1):
        line = written.line(number).encode("latin-1").decode("utf-8", "replace")
        if not line:
            continue
        name, colon, value = (part.strip() for part in line.partition(":"))
        key = name.lower()
        problem = _syntax(key, colon, value)
        if problem is not None:
            yield LineFault(number, FindingCode.ROBOTS_SYNTAX, f"{line[:_MAX_QUOTED]}: {problem}")
        elif key in _OF_GROUP and number < first_agent:
            detail = f"{line[:_MAX_QUOTED]}: it is above the first User-agent line"
            yield LineFault(number, FindingCode.ROBOTS_RULE_WITHOUT_EFFECT, detail)


def _syntax(key: str, colon: str, value: str) -> str | None:
    """What is wrong with a line by itself; None if nothing is."""
    if not colon:
        return "there is no colon"
    if key == "noindex":
        return "search engines do not read Noindex in robots.txt"
    if key not in _DIRECTIVES:
        if key in _OF_SOME_CRAWLERS:
            return None
        meant = nearest(key, _DIRECTIVES)
        return f"unknown directive; {meant.capitalize()} was probably meant" if meant else "unknown directive"
    if key == "user-agent" and not value:
        return "it names no agent"
    if key == "crawl-delay" and not _DELAY.fullmatch(value):
        return "it is not a number of seconds"
    if key == "sitemap" and not _WEB_ADDRESS.match(value):
        return "it is not an absolute URL"
    if key in _RULES and value and value[0] not in "/*$":
        return "a path begins with a slash"
    return None


def _overruled(written: WrittenRobots) -> Iterator[LineFault]:
    """Rules over which a rule of the opposite kind always wins (RFC 9309 §2.2.2: the longest match, then Allow).

    A group can be in force for several agents, each with its own further groups: the rule must lose for all.
    """
    reasons: dict[int, str | None] = {}
    left = _MAX_TRIED
    for token, memberships in written.memberships.items():
        rules = AgentRules(written, token)
        first_lines: dict[tuple[bool, str], int] = {}
        for rule in (rule for membership in memberships for rule in written.groups[membership.group].rules):
            left -= 1
            if left < 0:
                return
            first = first_lines.setdefault((rule.allowed, rule.pattern), rule.line_number)
            if reasons.get(rule.line_number, "") is not None:
                repeats = f"it repeats line {first}" if first != rule.line_number else None
                reasons[rule.line_number] = repeats or _reason(rule, rules)
    for line, reason in reasons.items():
        if reason is not None:
            detail = f"{written.line(line)[:_MAX_QUOTED]}: {reason}"
            yield LineFault(line, FindingCode.ROBOTS_RULE_WITHOUT_EFFECT, detail)


def _reason(rule: WrittenRule, rules: AgentRules) -> str | None:
    """Why a rule never decides, as far as some addresses that it matches tell; None if it does."""
    winner = 0
    is_whole = rule.pattern.endswith("$")
    for filling in ("", "q7"):
        path = rule.pattern.removesuffix("$").replace("*", filling)
        for ending in ("",) if is_whole else _ENDINGS:
            verdict = rules.verdict("/" + (path + ending).lstrip("/"))
            winner = verdict.line_number or 0
            if winner in (0, rule.line_number) or verdict.allowed is rule.allowed:
                return None
    return f"line {winner} always wins over it"


SEARCH: Final = "search"
TRAINING: Final = "AI training"
ANSWERS: Final = "AI answers"
ARCHIVE: Final = "archive"
SEO: Final = "SEO"
PREVIEW: Final = "link previews"


class KnownAgent(NamedTuple):
    """An agent by the token that robots.txt knows it by."""

    token: str
    operator: str
    purpose: str


KNOWN_AGENTS: Final = (
    KnownAgent("Googlebot", "Google", SEARCH),
    KnownAgent("Googlebot-Image", "Google", SEARCH),
    KnownAgent("Bingbot", "Microsoft", SEARCH),
    KnownAgent("DuckDuckBot", "DuckDuckGo", SEARCH),
    KnownAgent("Applebot", "Apple", SEARCH),
    KnownAgent("Slurp", "Yahoo", SEARCH),
    KnownAgent("YandexBot", "Yandex", SEARCH),
    KnownAgent("Baiduspider", "Baidu", SEARCH),
    KnownAgent("SeznamBot", "Seznam", SEARCH),
    KnownAgent("Yeti", "Naver", SEARCH),
    KnownAgent("PetalBot", "Huawei", SEARCH),
    KnownAgent("MojeekBot", "Mojeek", SEARCH),
    KnownAgent("Qwantbot", "Qwant", SEARCH),
    KnownAgent("GPTBot", "OpenAI", TRAINING),
    KnownAgent("ClaudeBot", "Anthropic", TRAINING),
    KnownAgent("anthropic-ai", "Anthropic", TRAINING),
    KnownAgent("Google-Extended", "Google", TRAINING),
    KnownAgent("Applebot-Extended", "Apple", TRAINING),
    KnownAgent("CCBot", "Common Crawl", TRAINING),
    KnownAgent("meta-externalagent", "Meta", TRAINING),
    KnownAgent("Amazonbot", "Amazon", TRAINING),
    KnownAgent("Bytespider", "ByteDance", TRAINING),
    KnownAgent("cohere-ai", "Cohere", TRAINING),
    KnownAgent("AI2Bot", "Allen Institute for AI", TRAINING),
    KnownAgent("Diffbot", "Diffbot", TRAINING),
    KnownAgent("omgili", "Webz.io", TRAINING),
    KnownAgent("GoogleOther", "Google", TRAINING),
    KnownAgent("OAI-SearchBot", "OpenAI", ANSWERS),
    KnownAgent("ChatGPT-User", "OpenAI", ANSWERS),
    KnownAgent("Claude-SearchBot", "Anthropic", ANSWERS),
    KnownAgent("Claude-User", "Anthropic", ANSWERS),
    KnownAgent("PerplexityBot", "Perplexity", ANSWERS),
    KnownAgent("Perplexity-User", "Perplexity", ANSWERS),
    KnownAgent("MistralAI-User", "Mistral", ANSWERS),
    KnownAgent("DuckAssistBot", "DuckDuckGo", ANSWERS),
    KnownAgent("meta-externalfetcher", "Meta", ANSWERS),
    KnownAgent("YouBot", "You.com", ANSWERS),
    KnownAgent("archive.org_bot", "Internet Archive", ARCHIVE),
    KnownAgent("ia_archiver", "Internet Archive", ARCHIVE),
    KnownAgent("Arquivo-web-crawler", "Arquivo.pt", ARCHIVE),
    KnownAgent("AhrefsBot", "Ahrefs", SEO),
    KnownAgent("SemrushBot", "Semrush", SEO),
    KnownAgent("MJ12bot", "Majestic", SEO),
    KnownAgent("DotBot", "Moz", SEO),
    KnownAgent("rogerbot", "Moz", SEO),
    KnownAgent("DataForSeoBot", "DataForSEO", SEO),
    KnownAgent("SERankingBacklinksBot", "SE Ranking", SEO),
    KnownAgent("BLEXBot", "WebMeUp", SEO),
    KnownAgent("Screaming Frog SEO Spider", "Screaming Frog", SEO),
    KnownAgent("facebookexternalhit", "Meta", PREVIEW),
    KnownAgent("Twitterbot", "X", PREVIEW),
    KnownAgent("LinkedInBot", "LinkedIn", PREVIEW),
)


def agent_access(robots: Sequence[AuditedRobots], sections: Sequence[str]) -> tuple[AgentAccess, ...]:
    """What each known agent may read in each section, by the site's robots.txt: that by https where there are two.

    A section is a path such as "/blog/"; its start is what is decided about.
    """
    if not robots:
        return ()
    file = next((each for each in robots if each.origin.startswith("https:")), robots[0])
    if file.text is None or file.status is None or not 200 <= file.status < 300:
        # RFC 9309 §2.3.1: a file that is not there allows everything, one that cannot be read allows nothing.
        is_allowed = file.status is not None and read_status(file.status).access is RobotsAccess.ALLOW_ALL
        everywhere = dict.fromkeys(sections, AgentRule(is_allowed, None, None))
        return tuple(AgentAccess(*agent, by_section=everywhere) for agent in KNOWN_AGENTS)
    parsed = parse_robots(file.text.encode("utf-8", "replace"))
    table = []
    for agent in KNOWN_AGENTS:
        rules = parsed.for_agent(agent.token)
        verdicts = {section: rules.verdict(section or "/") for section in sections}
        by_section = {
            section: AgentRule(verdict.allowed, verdict.line_number, verdict.rule)
            for section, verdict in verdicts.items()
        }
        table.append(AgentAccess(*agent, by_section=by_section))
    return tuple(table)
