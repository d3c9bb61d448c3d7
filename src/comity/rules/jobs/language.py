"""The language of a posting: takes its declared language or its words, returns a code of two letters."""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 500
_CODE: Final = re.compile(r"([a-z]{2})(?:[-_][a-z0-9]+)*", re.IGNORECASE)
_SCRIPTS: Final = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("bn", re.compile("[\u0980-\u09ff]")),
    ("ka", re.compile("[\u10a0-\u10ff]")),
    ("hy", re.compile("[\u0530-\u058f]")),
)
_OTHER_SCRIPT: Final = re.compile("[\u0370-\u1fff\u3040-\ud7ff]")
_ARABIC: Final = re.compile("[\u0600-\u06ff]")
_PERSIAN: Final = re.compile("[\u067e\u0686\u06af\u06a9\u06cc]")
_CYRILLIC: Final = re.compile("[\u0400-\u04ff]")
_UKRAINIAN: Final = re.compile("[\u0456\u0457\u0454\u0491]", re.IGNORECASE)
_STOP_WORDS: Final = {
    "en": (
        "the of and to in for with on is are will we you our as at by an be this that from or officer "
        "manager coordinator adviser head"
    ),
    "fr": (
        "le la les des du de et en un une pour dans avec sur est sont au aux qui nous vous par ce cette "
        "poste charge responsable offre"
    ),
    "es": (
        "el la los las de del y en un una para con por es son que se al como su oficial asistente "
        "puesto vacante coordinador coordinadora"
    ),
    "de": (
        "der die das und in zu mit fur von ist im auf ein eine den dem wir sie bei als oder des zur zum "
        "leiter referent mitarbeiter stelle"
    ),
    "pt": (
        "o a os as de do da dos das e em um uma para com por que se ao na no nas nos nao vaga oficial "
        "assistente coordenador"
    ),
    "it": (
        "il lo la i gli le di del della dei e in un una per con su che al nel alla sono responsabile "
        "coordinatore addetto posizione"
    ),
    "nl": "de het een en van in op te met voor is zijn aan bij als wij je naar om medewerker functie beleidsmedewerker",
    "sv": "och att det som en pa ar av for med till den har inte om ett vi du handlaggare",
    "pl": "i w na z do sie jest oraz dla od nie ze po przez specjalista koordynator",
    "tr": "ve bir bu icin ile de da olarak olan veya en gibi uzmani sorumlusu",
    "id": "dan yang di untuk dengan pada dari ini adalah dalam akan sebagai",
    "sw": "na ya wa kwa ni katika za la cha kazi",
    "ro": "si in de la cu pentru pe un o este sunt din ale",
}
_FULL_WEIGHT: Final = 60


def _weights() -> dict[str, tuple[tuple[str, int], ...]]:
    """Languages by word; a word of one language tells more than one of many."""
    languages: dict[str, list[str]] = {}
    for language, words in _STOP_WORDS.items():
        for word in words.split():
            languages.setdefault(word, []).append(language)
    return {word: tuple((name, _FULL_WEIGHT // len(names)) for name in names) for word, names in languages.items()}


_WEIGHTS: Final = _weights()


def language_of(declared: str, title: str, description: str) -> str | None:
    """The language that the page declares, else that of its folded words; None if too few of them tell."""
    stated = _CODE.fullmatch(declared.strip()[:35])
    if stated:
        return stated[1].lower()
    text = f"{title} {description}"[:_LONGEST]
    return (_by_script(text) if _OTHER_SCRIPT.search(text) else None) or _by_words(text)


def _by_script(text: str) -> str | None:
    enough = max(2, len(text) // 5)
    if len(_ARABIC.findall(text)) >= enough:
        return "fa" if len(_PERSIAN.findall(text)) * 20 > len(text) else "ar"
    if len(_CYRILLIC.findall(text)) >= enough:
        return "uk" if _UKRAINIAN.search(text) else "ru"
    for language, letters in _SCRIPTS:
        # Japanese holds a few kana among many Chinese signs.
        if len(letters.findall(text)) >= (2 if language == "ja" else enough):
            return language
    return None


def _by_words(text: str) -> str | None:
    score: dict[str, int] = {}
    for word in _WEIGHTS.keys() & text.split():
        for language, weight in _WEIGHTS[word]:
            score[language] = score.get(language, 0) + weight
    if not score:
        return None
    best = max(score.values())
    leaders = [language for language, weight in score.items() if weight == best]
    return leaders[0] if best >= _FULL_WEIGHT and len(leaders) == 1 else None
