"""One explanation out of the facts about a URL."""

from __future__ import annotations

from typing import Final

from comity.model.explanation import Decision, Explanation, UrlFacts
from comity.rules.why.chain import chain_of
from comity.rules.why.decide import decide

_IS_NEXT: Final = frozenset({"queued", "waits_for_first_crawl", "budget"})
"""Codes after which the next crawl of the host asks for the URL."""


def explain_url(facts: UrlFacts, folded: UrlFacts | None = None, parameters: str = "") -> Explanation:
    """Name what decided last, the chain from discovery to now, and what would change it (spec 2.10).

    `folded` is known where `parameters` of the URL do not name a page: the URL is visited without them, under
    another address. It decides unless the URL was met as it is.
    """
    if folded is not None and not _is_known(facts) and facts.takedown is None:
        decided = _folded(folded, parameters)
        return _explanation(facts, decided, folded)
    return _explanation(facts, decide(facts), facts)


def _explanation(asked: UrlFacts, decided: Decision, told: UrlFacts) -> Explanation:
    return Explanation(
        asked.url,
        asked.host_name,
        decided.code,
        decided.sentence,
        chain_of(told),
        decided.remedy,
        decided.code in _IS_NEXT,
    )


def _is_known(facts: UrlFacts) -> bool:
    return bool(facts.queue or facts.visits or facts.decisions or facts.source or facts.image or facts.sitemap)


def _folded(folded: UrlFacts, parameters: str) -> Decision:
    below = decide(folded)
    sentence = f"It is taken for {folded.url}: {parameters} does not name a page. {below.sentence}"
    return Decision("folded", sentence, below.remedy)
