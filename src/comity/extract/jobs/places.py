"""Telling a place from other short texts, without knowing every town: countries, words, shapes like "City, Country"."""

from __future__ import annotations

import re
from typing import Final

from comity.extract.jobs.words_pages import EMPLOYMENT, WORKPLACE
from comity.extract.jobs.words_titles import is_generic, is_job_title, is_navigation

_COUNTRIES: Final = """
Afghanistan|Albania|Algeria|Angola|Argentina|Armenia|Australia|Austria|Azerbaijan|Bahrain|Bangladesh|Belarus|
Belgium|Belize|Benin|Bhutan|
Bolivia|Bosnia|Botswana|Brazil|Bulgaria|Burkina Faso|Burundi|Cambodia|Cameroon|Canada|Cape Verde|
Central African Republic|CAR|Chad|Chile|China|
Colombia|Comoros|Congo|Costa Rica|C[oô]te d['’]Ivoire|Ivory Coast|Croatia|Cuba|Cyprus|Czech(?:ia| Republic)|
Denmark|Djibouti|Dominican Republic|DRC|RDC|
Ecuador|Egypt|El Salvador|Eritrea|Estonia|Eswatini|Ethiopia|EU|Europe|Fiji|Finland|France|Gabon|Gambia|Georgia|
Germany|Ghana|Greece|Guatemala|Guinea|
Guyana|Haiti|Honduras|Hungary|Iceland|India|Indonesia|Iran|Iraq|Ireland|Israel|Italy|Jamaica|Japan|Jordan|
Kazakhstan|Kenya|Kosovo|Kuwait|Kyrgyzstan|
Laos?|Latvia|Lebanon|Lesotho|Liberia|Libya|Lithuania|Luxembourg|Madagascar|Malawi|Malaysia|Maldives|Mali|Malta|
Mauritania|Mauritius|Mexico|Moldova|
Mongolia|Montenegro|Morocco|Mozambique|Myanmar|Namibia|Nepal|Netherlands|New Zealand|Nicaragua|Niger|Nigeria|
North Macedonia|Norway|Oman|Pakistan|
Palestine|oPt|Panama|Papua New Guinea|PNG|Paraguay|Peru|Philippines|Poland|Portugal|Qatar|Romania|Russia|Rwanda|
Saudi Arabia|Senegal|Serbia|Sierra Leone|
Singapore|Slovakia|Slovenia|Solomon Islands|Somalia|South Africa|South Korea|Korea|South Sudan|Spain|Sri Lanka|
Sudan|Suriname|Sweden|Switzerland|
Syria|Taiwan|Tajikistan|Tanzania|Thailand|Timor-Leste|Togo|Tunisia|Turkey|Türkiye|Turkmenistan|UAE|Uganda|UK|
Ukraine|United Arab Emirates|
United Kingdom|United States|USA?|Uruguay|Uzbekistan|Vanuatu|Venezuela|Viet ?nam|Yemen|Zambia|Zimbabwe|Global|
Worldwide|Multiple locations|Various|
Allemagne|Belgique|Suisse|Sénégal|Niger|Tchad|Mauritanie|Maroc|Tunisie|Liban|Cameroun|Guinée|Bénin|Haïti|
Centrafrique|République [\\w’' ]{3,30}|Royaume-Uni|
Alemania|España|México|Perú|Bolivia|Chile|Ecuador|Haití|Honduras|Panamá|Deutschland|Österreich|Schweiz|
bundesweit|Frankreich|
Brasil|Moçambique|Angola|Cabo Verde|Italia|Svizzera|Germania|Nederland|België|Россия|Казахстан|Украина|Кыргызстан
"""
_COUNTRY: Final = re.compile(r"(?<!\w)(?:" + _COUNTRIES.replace("\n", "") + r")(?!\w)")
_PARTS: Final = re.compile(
    r"^[^\W\d_][\w'’.\- ()]{1,40}(?:,|，|、|/| - | – )\s?[^\W\d_][\w'’.\- ()]{1,40}(?:(?:,|"
    r"/)\s?[\w'’.\- ]{2,40}){0,2}$"
)
_NOT_PLACE: Final = re.compile(
    r"[:€$£%@]|\b(?:and|und|et|y|posted|salary|grade|team|department|months?|years?|hours?|days?|weeks?|contract|"
    r"ago|with|for|you|we|our)\b|\d{4}",
    re.I,
)
_EASTERN: Final = re.compile(
    r"[省市区県府都道町]$|^(?:北京|上海|广州|深圳|香港|台北|東京|大阪|京都|名古屋|福岡|オンライン)"
)
_LINKING: Final = frozenset(
    (
        *("a", "al", "am", "an", "and", "auf", "da", "das", "de", "del", "den", "der", "des", "di", "do", "du", "e"),
        *("el", "en", "et", "im", "in", "la", "las", "le", "les", "los", "of", "on", "or", "ou", "sur", "the", "u"),
        *("und", "upon", "y"),
    )
)
_LONGEST: Final = 70


def is_name(text: str) -> bool:
    """Whether a text is written like names: words that begin with a capital, and those that link them."""
    words = [word for word in re.split(r"[\s(),/'’–-]+", text) if word]
    return bool(words) and not any(word[0].islower() and word not in _LINKING for word in words)


def is_place(text: str) -> bool:
    """Whether a short text on its own names a place, or says that the place does not matter."""
    if not 2 <= len(text) <= _LONGEST or _NOT_PLACE.search(text):
        return False
    if is_generic(text) or is_navigation(text) or is_job_title(text):
        return False
    if _COUNTRY.search(text) or _EASTERN.search(text):
        return True
    if WORKPLACE.search(text):
        return len(text) <= 50
    return _PARTS.match(text) is not None and is_name(text) and EMPLOYMENT.search(text) is None and text[0].isupper()
