"""Titles, headings and texts: what a page lacks by itself, and what it shares with others.

What pages share is judged for pages that may be indexed under their own address: of a copy that names its original, or
asks not to be indexed, nothing needs to be fixed. Pages of a series, a list that is split over several addresses, share
a title and are in no sitemap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final
from unicodedata import combining, normalize

from comity.model.audit import FindingCode, PageFacts
from comity.model.wording import counted
from comity.rules.audit.similarity import near_duplicates
from comity.rules.audit.site_rows import MAX_SOURCES, Found, SiteRow

# Bing Webmaster Tools warn of titles over 70 characters; Google shows about 600 pixels, which are fewer.
LONGEST_TITLE: Final = 70
# A quarter of the 200 words that tools commonly ask for: those count menus too, which are left out here, and a notice
# on every short page would hide the few that are really empty.
FEWEST_WORDS: Final = 50
# Fewer words than this are alike by chance, and are reported as a thin page.
FEWEST_WORDS_COMPARED: Final = 30
# An error page says so in few words; a long text with such a title is about error pages.
MOST_WORDS_OF_ERROR_PAGE: Final = 200
_MOST_WORDS_OF_ERROR_TITLE: Final = 8

# What error pages call themselves; read in the title and in the first heading.
_NOT_FOUND: Final = re.compile(
    r"^\W*(?:(?:http|error|fehler|erreur|status)\W*){0,2}404\W*(?:error|page|fehler|erreur|(?:page )?not found)?\W*$"
    r"|^(?:error\W+)?not found\b|\bnot found\W*$|\bno such page\b|\bnothing (?:was )?found\b"
    r"|\b(?:can.?t|cannot|could ?n.?t|could not|unable to) find (?:the|that|this|your|what)\b"
    r"|\bpage you .{0,20}looking for\b"
    r"|\b(?:page|file|site|product|item|article|document|content|url)s?\b.{0,20}?\b(?:not found|not exist|doesn.t exist"
    r"|no longer (?:exists?|available)|(?:cannot|can.t|could not|couldn.t) be found|missing|unavailable|is gone"
    r"|not available)\b"
    r"|\b(?:page|seite|p[áa]gina|contenido|contenu|inhalt|artikel|article|produkt|produit|producto)\b.{0,20}?"
    r"\b(?:existiert nicht|n.existe (?:pas|plus)|no existe|ya no existe)\b"
    r"|nicht gefunden|introuvable|non trouv[ée]e|no encontrad[ao]|non trovat[ao]"
    r"|n[ãa]o encontrad[ao]|niet gevonden|ikke fundet|ikke funnet|hittades inte|ei l[öo]ydy|nie znaleziono|nenalezena"
    r"|nem tal[áa]lhat[óo]|не найдена?|見つかりません|找不到|未找到",
    re.IGNORECASE,
)
_TITLE_PARTS: Final = re.compile(r"\s+[|–—·:»-]\s+|\s*\|\s*")
_WORD: Final = re.compile(r"[\w+#]+")  # C, C++ and C# are three things
_SMALL_WORDS: Final = frozenset({"an", "the", "and"})  # not "a", for plan A is not plan B
_SHORTEST_PLURAL: Final = 5
_EDGES: Final = " .,;:!?|–—-…"
_SHOWN: Final = 3
# As shops, blogs and forums write them. "p" is left out: WordPress names posts by it.
_NUMBER: Final = re.compile(
    r"(?<=[?&])(page|paged|pg|page_?no|page_?num(?:ber)?|pagina|seite|offset|start)=([0-9]{1,9})(?=&|$)"
    r"|/(?:page|pagina|seite)[/-]([0-9]{1,9})(?=[/?]|$)",
    re.IGNORECASE,
)


def is_soft_404(facts: PageFacts) -> bool:
    """Whether a page that answered well says that there is no such page."""
    if facts.word_count > MOST_WORDS_OF_ERROR_PAGE:
        return False
    said = [part for title in facts.titles[:1] for part in _TITLE_PARTS.split(title)]
    said += [heading.text for heading in facts.headings if heading.level == 1][:1]
    return any(len(text.split()) <= _MOST_WORDS_OF_ERROR_TITLE and _NOT_FOUND.search(text) for text in said)


def judge_text(facts: PageFacts, row: SiteRow, found: Found) -> None:
    """Report what a page lacks by itself."""
    url = row.url
    titles = [title for title in facts.titles if title.strip()]
    if not titles:
        found.add(FindingCode.MISSING_TITLE, url)
    elif len(titles) > 1:
        found.add(FindingCode.MULTIPLE_TITLES, url, " / ".join(titles[:_SHOWN]))
    if titles and len(titles[0]) > LONGEST_TITLE and row.is_indexable:
        found.add(FindingCode.LONG_TITLE, url, f"{len(titles[0])} characters: {titles[0]}")
    if not any(map(str.strip, facts.descriptions)) and row.is_indexable:
        found.add(FindingCode.MISSING_DESCRIPTION, url)
    _judge_headings(facts, url, found)
    if row.is_indexable and facts.word_count < FEWEST_WORDS:
        found.add(FindingCode.THIN_PAGE, url, counted(facts.word_count, "word"))
    if facts.images_without_alt:
        missing = facts.images_without_alt
        found.add(FindingCode.MISSING_ALT, url, f"{len(missing)} of {facts.images}: {', '.join(missing[:_SHOWN])}")
    if not (facts.language or "").strip():
        found.add(FindingCode.MISSING_LANGUAGE, url)
    if not facts.has_viewport:
        found.add(FindingCode.MISSING_VIEWPORT, url)


def _judge_headings(facts: PageFacts, url: str, found: Found) -> None:
    first = [heading.text for heading in facts.headings if heading.level == 1 and heading.text.strip()]
    if not first:
        found.add(FindingCode.MISSING_H1, url)
    elif len(first) > 1:
        found.add(FindingCode.MULTIPLE_H1, url, " / ".join(first[:_SHOWN]))
    for above, below in pairwise(facts.headings):
        if below.level > above.level + 1:
            found.add(FindingCode.SKIPPED_HEADING_LEVEL, url, f"h{above.level} then h{below.level}: {below.text}")
            break


class _Sharing:
    """The pages that share a title or a description, to the letter or nearly."""

    __slots__ = ("is_exact", "text", "urls")

    def __init__(self, text: str) -> None:
        self.text = _key(text)
        self.urls: list[str] = []
        self.is_exact = True

    def add(self, text: str, url: str) -> None:
        """Note one more page."""
        self.urls.append(url)
        self.is_exact = self.is_exact and _key(text) == self.text

    @property
    def detail(self) -> str:
        """What they share."""
        return self.text if self.is_exact else f"{self.text} (nearly the same)"


class SharedTexts:
    """Titles, descriptions and texts of the pages that may be indexed, gathered to find equal ones."""

    def __init__(self) -> None:
        self._titles: dict[str, _Sharing] = {}
        self._descriptions: dict[str, _Sharing] = {}
        self._texts: dict[str, list[str]] = {}
        self._hashes: dict[str, int] = {}
        """Similarity hashes by URL."""

    def take(self, facts: PageFacts, row: SiteRow) -> None:
        """Gather what one page says."""
        if not row.is_indexable:
            return
        title = next(filter(str.strip, facts.titles), None)
        if title is not None:
            self._titles.setdefault(_likeness(title), _Sharing(title)).add(title, row.url)
        description = next(filter(str.strip, facts.descriptions), None)
        if description is not None:
            self._descriptions.setdefault(_likeness(description), _Sharing(description)).add(description, row.url)
        if facts.text_hash is not None and facts.word_count:
            self._texts.setdefault(facts.text_hash, []).append(row.url)
        if facts.similarity is not None and facts.word_count >= FEWEST_WORDS_COMPARED:
            self._hashes[row.url] = facts.similarity

    def judge(self, found: Found) -> None:
        """Report what pages share. Equal pages have equal titles, too: that is reported once."""
        group_of = {url: number for number, urls in enumerate(self._texts.values()) if len(urls) > 1 for url in urls}
        for urls in self._texts.values():
            _add_group(found, FindingCode.DUPLICATE_CONTENT, urls, "the same text")
        for code, groups in (
            (FindingCode.DUPLICATE_TITLE, self._titles),
            (FindingCode.DUPLICATE_DESCRIPTION, self._descriptions),
        ):
            for shared in groups.values():
                urls = shared.urls
                # The pages of a list share both by nature: search engines join them.
                if len({group_of.get(url, url) for url in urls}) > 1 and len(set(map(series_of, urls))) > 1:
                    _add_group(found, code, urls, shared.detail)
        # Of equal pages the first stands for all.
        seconds = {url for urls in self._texts.values() for url in urls[1:]}
        hashed = ((url, value) for url, value in self._hashes.items() if url not in seconds)
        for urls in near_duplicates(hashed):
            _add_group(found, FindingCode.NEAR_DUPLICATE_CONTENT, urls, "differs in a few words")


def _key(text: str) -> str:
    """A text as it is compared: case, spaces and marks at its ends make no difference to a reader."""
    folded = " ".join(text.casefold().split())
    return folded.strip(_EDGES) or folded


def _likeness(text: str) -> str:
    """What nearly equal titles share: words without accents, marks, articles and plurals; parts in any order.

    Numbers and the order of words count, since "chapter 1" and "chapter 2" are different pages, and so are flights to
    Paris and from there.
    """
    plain = "".join(each for each in normalize("NFKD", text.casefold()) if not combining(each))
    parts = [_plain_words(part) for part in _TITLE_PARTS.split(plain)]
    return "|".join(sorted(filter(None, parts))) or plain


def _plain_words(text: str) -> str:
    words = _WORD.findall(text)
    kept = [word for word in words if word not in _SMALL_WORDS] or words
    return " ".join(word.removesuffix("s") if len(word) >= _SHORTEST_PLURAL else word for word in kept)


def _add_group(found: Found, code: FindingCode, urls: Sequence[str], detail: str) -> None:
    if len(urls) < 2:
        return
    for url in urls:
        found.add(code, url, detail, list(_others(url, urls)))


def _others(url: str, urls: Sequence[str]) -> Iterator[str]:
    return (each for each in urls[: MAX_SOURCES + 1] if each != url)


def series_of(url: str) -> str:
    """The address that all pages of a series share; other addresses are their own series."""
    return _NUMBER.sub("", url.partition("#")[0]).replace("?&", "?").rstrip("?&/")


def is_later_page(url: str) -> bool:
    """Whether an address is the second page of a series or a later one."""
    found = _NUMBER.search(url)
    if found is None:
        return False
    first = 0 if (found[1] or "").lower() in ("offset", "start") else 1
    return int(found[2] or found[3]) > first
