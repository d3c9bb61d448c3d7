"""What robots.txt allows the known agents of search engines, AI companies, archives and SEO tools.

Operators and purposes are as the operators document them. A token such as Google-Extended sends no requests of its own:
it decides what may be done with pages that another agent of the operator reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from comity.model.audit import AgentAccess, AgentRule, AuditedRobots
from comity.model.robots import RobotsAccess
from comity.rules.robots.access import read_status
from comity.rules.robots.verdict import parse_robots

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


def agents(robots: Sequence[AuditedRobots], sections: Sequence[str]) -> tuple[AgentAccess, ...]:
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
