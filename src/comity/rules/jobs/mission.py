"""What a job is about: its title and description enter, tags of one vocabulary leave."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from comity.model.job import MISSION_TAGS
from comity.rules.jobs.mission_words import TAG_WORDS
from comity.rules.jobs.words import plain

MOST_TAGS: Final = 6
_MOST_WORDS: Final = 100  # a description is read so far
_SHORTEST_STEM: Final = 3
_LONGEST_PHRASE: Final = 4
_WORDS: Final = re.compile(r"[^\W\d_]+")
_ORDER: Final = {tag: at for at, tag in enumerate(MISSION_TAGS)}
_HAN_OR_KANA: Final = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


def mission_tags(title: str, description: str) -> tuple[str, ...]:
    """Tags of a job, from folded texts.

    What its title says counts; of its description what is said twice, or once if nothing else is.
    """
    in_title = _tags(title)
    in_description = _tags(description)
    found = in_title.keys() | {tag for tag, count in in_description.items() if count > 1} or in_description.keys()
    ranked = sorted(found, key=lambda tag: (tag not in in_title, -in_description.get(tag, 0), _ORDER[tag]))[:MOST_TAGS]
    return tuple(sorted(ranked, key=_ORDER.__getitem__))


def _tags(text: str) -> dict[str, int]:
    """How often a text speaks of each tag."""
    words = _WORDS.findall(text)[:_MOST_WORDS]
    found: dict[str, int] = {}
    for at, word in enumerate(words):
        tags, phrases = _meaning(word)
        for tag in tags:
            found[tag] = found.get(tag, 0) + 1
        for phrase, tag in phrases:
            if _is_said(phrase, words[at : at + len(phrase)]):
                found[tag] = found.get(tag, 0) + 1
    return found


def _is_said(phrase: tuple[str, ...], words: list[str]) -> bool:
    if len(words) < len(phrase) or words[1:-1] != list(phrase[1:-1]):
        return False
    last = phrase[-1]
    return words[-1].startswith(last[:-1]) if last[-1] == "*" else words[-1] == last


@lru_cache(maxsize=16384)
def _meaning(word: str) -> tuple[tuple[str, ...], list[tuple[tuple[str, ...], str]]]:
    """The tags that a word alone speaks of, and the phrases that it may begin."""
    whole, stems = _vocabulary()
    found = list(whole.get(word, ()))
    for end in range(_SHORTEST_STEM, len(word) + 1):
        found += stems.get(word[:end], ())
    if _HAN_OR_KANA.match(word):  # written without blanks
        found += [
            tag
            for known, tags in whole.items()
            if len(known) > 1 and not known.isascii() and known in word
            for tag in tags
        ]
    return tuple(dict.fromkeys(found)), _phrases().get(word, [])


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    whole: dict[str, tuple[str, ...]] = {}
    stems: dict[str, tuple[str, ...]] = {}
    for tag, words in TAG_WORDS.items():
        for word in map(plain, words.split()):
            if "_" in word.strip("_"):
                continue
            table, name = (stems, word[:-1]) if word.endswith("*") else (whole, word)
            table[name] = (*table.get(name, ()), tag)
    return whole, stems


@lru_cache(maxsize=1)
def _phrases() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for tag, words in TAG_WORDS.items():
        for phrase in map(plain, words.split()):
            parts = tuple(phrase.strip("_").split("_"))[:_LONGEST_PHRASE]
            if len(parts) > 1:
                phrases.setdefault(parts[0], []).append((parts, tag))
    return phrases
