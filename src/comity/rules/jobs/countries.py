"""Countries by name or code, in many languages: a folded name enters, ISO 3166 codes leave.

Names come from pycountry (ISO 3166-1 with the translations of Debian's iso-codes), loaded at the first question.
"""

from __future__ import annotations

import gettext
import re
from functools import lru_cache
from typing import Final

from comity.rules.jobs.country_names import LANGUAGES, NAMES_TO_ADD, SHARED_NAMES, WORDS_NOT_CODES
from comity.rules.jobs.words import key

_LEADING_ARTICLE: Final = re.compile(r"^(?:the|la|le|les|el|los|die|der|den|il|o|a|l) ")
_BEFORE_COMMA: Final = re.compile(r"^([^,]+), (.+)$")
_IN_BRACKETS: Final = re.compile(r"\s*[(\[].*$")


@lru_cache(maxsize=4096)
def countries_called(name_key: str) -> tuple[str, ...]:
    """Codes of the countries that answer to a name folded by `words.key`; several where the name is shared."""
    if not name_key:
        return ()
    shared = SHARED_NAMES.get(name_key)
    if shared:
        return shared
    names = _names()
    code = names.get(name_key) or names.get(_LEADING_ARTICLE.sub("", name_key))
    return (code,) if code else ()


@lru_cache(maxsize=4096)
def country_of_code(code: str) -> str | None:
    """The country of an ISO code of two or three letters in capitals, also `UK` and `XK`."""
    return _codes().get(code)


def country_of(text: str) -> str | None:
    """The one country that a text of a field for countries names, by name or code; None if none or several."""
    bare = text.strip()
    if len(bare) in (2, 3) and bare.isascii() and bare.isalpha():
        found = country_of_code(bare.upper())
        if found:
            return found
    codes = countries_called(key(bare)) or countries_called(key(_IN_BRACKETS.sub("", bare)))
    return codes[0] if len(codes) == 1 else None


def country_names() -> tuple[str, ...]:
    """The usual English names of all countries."""
    import pycountry

    return tuple(getattr(country, "common_name", country.name) for country in pycountry.countries)


def is_word_and_code(code: str) -> bool:
    """Whether three letters are an everyday word, too."""
    return code.lower() in WORDS_NOT_CODES


@lru_cache(maxsize=1)
def _codes() -> dict[str, str]:
    import pycountry

    codes = {country.alpha_2: country.alpha_2 for country in pycountry.countries}
    codes |= {country.alpha_3: country.alpha_2 for country in pycountry.countries}
    return codes | {"UK": "GB", "XK": "XK", "XKX": "XK", "EL": "GR"}


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    import pycountry

    spoken = [
        gettext.translation("iso3166-1", pycountry.LOCALES_DIR, languages=[language], fallback=True).gettext
        for language in LANGUAGES
    ]
    names: dict[str, str] = {}
    doubtful: set[str] = set()
    for country in pycountry.countries:
        own = [country.name, getattr(country, "common_name", ""), getattr(country, "official_name", "")]
        for name in {*own, *(say(name) for say in spoken for name in own[:2] if name)}:
            for spelling in _spellings(name):
                if names.setdefault(spelling, country.alpha_2) != country.alpha_2:
                    doubtful.add(spelling)
    # A name that two countries share after folding names neither, unless the table below decides.
    for spelling in doubtful:
        del names[spelling]
    for code, more in NAMES_TO_ADD.items():
        names.update((key(name), code) for name in more.split("|"))
    for name in SHARED_NAMES:
        names.pop(name, None)
    return names


def _spellings(name: str) -> set[str]:
    """A name as it stands, without its brackets, and turned round at its comma: "Korea, Republic of"."""
    found = {key(name), key(_IN_BRACKETS.sub("", name))}
    turned = _BEFORE_COMMA.match(name)
    if turned:
        found.add(key(f"{turned[2]} {turned[1]}"))
    return {spelling for spelling in found if len(spelling) > 1}
