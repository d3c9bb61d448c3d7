"""Countries by name or code, in many languages: takes a folded name, returns ISO 3166 codes.

Names come from pycountry (ISO 3166-1 with the translations of Debian's iso-codes), loaded on first use, and from a
table of common names that ISO 3166 lacks, folded by `words.key`.
"""

from __future__ import annotations

import gettext
import re
from functools import lru_cache
from typing import Final

from comity.rules.jobs.words import key

# Kosovo has no code in ISO 3166; XK is what the European Union and the banks use.
NAMES_TO_ADD: Final = {
    "AE": "uae|u a e|emirates|emirats arabes unis|eau|dubai uae|emiratos arabes unidos",
    "BA": "bosnia|bosnia herzegovina|bosnia & herzegovina|bih|bosnie|bosnien",
    "BN": "brunei",
    "BO": "bolivia",
    "CD": (
        "drc|dr congo|d r congo|rdc|r d c|rd congo|congo drc|congo kinshasa|congo dr|congo dem rep|"
        "democratic republic of congo|"
        "democratic republic of the congo|dem rep congo|dem rep of the congo|congo democratic republic of|"
        "congo the democratic republic of|republique democratique du congo|rep dem du congo|congo rdc|"
        "republica democratica del congo|republica democratica do congo|repubblica democratica del congo|"
        "demokratische republik kongo|dr kongo|جمهورية الكونغو الديمقراطية|الكونغو الديمقراطية|zaire"
    ),
    "CF": "car|central african rep|rca|centrafrique|republique centrafricaine|republica centroafricana|zentralafrika",
    "CG": (
        "congo brazzaville|republic of congo|republic of the congo|congo republic|congo rep|congo republic of the|"
        "republique du congo|republica del congo|republica do congo|repubblica del congo|republik kongo|جمهورية الكونغو"
    ),
    "CI": (
        "ivory coast|cote d ivoire|cote divoire|cote d ivoire ivory coast|costa de marfil|"
        "elfenbeinkuste|ساحل العاج|كوت ديفوار"
    ),
    "CN": "prc|p r china|mainland china|people s republic of china|الصين",
    "CV": "cape verde|cabo verde|cap vert|kap verde",
    "CZ": "czech republic|republique tcheque|republica checa|tschechische republik|repubblica ceca",
    "EH": "western sahara",
    "FM": "micronesia|federated states of micronesia|fsm",
    "GB": (
        "uk|u k|great britain|britain|england|scotland|wales|northern ireland|royaume uni|reino unido|grossbritannien|"
        "regno unito|vereinigtes konigreich|angleterre|inglaterra|england uk|بريطانيا|المملكة المتحدة"
    ),
    "GM": "gambia|the gambia",
    "GN": "guinea conakry|guinee conakry|guinee|guinea republic|republic of guinea|republique de guinee",
    "GW": "guinea bissau|guinee bissau|guine bissau",
    "GQ": "equatorial guinea|guinee equatoriale|guinea ecuatorial|guine equatorial",
    "HK": "hong kong sar|hongkong|hong kong china|hong kong s a r",
    "IR": "iran|islamic republic of iran|ايران",
    "KG": "kyrgyz republic|kirghizistan|kirgizstan|kirghizstan",
    "KP": "north korea|dprk|dpr korea|coree du nord|corea del norte|nordkorea|democratic people s republic of korea",
    "KR": "south korea|republic of korea|rok|coree du sud|corea del sur|sudkorea|korea republic of|korea rep",
    "LA": "laos|lao pdr|lao p d r|lao people s democratic republic|laos pdr",
    "LY": "libya|libye|libia|libyen|ليبيا",
    "MD": "moldova|republic of moldova|moldavie|moldavia|moldau|moldawien",
    "MK": "north macedonia|macedonia|fyrom|fyr macedonia|republic of north macedonia|macedoine|nordmazedonien",
    "MM": "myanmar|burma|birmanie|birmania|myanmar burma|birma",
    "MO": "macau|macao sar",
    "NL": "netherlands|the netherlands|holland|pays bas|paises bajos|niederlande|nederland|paesi bassi",
    "PG": "papua new guinea|png|papouasie nouvelle guinee|papua nueva guinea",
    "PS": (
        "palestine|opt|o p t|occupied palestinian territory|occupied palestinian territories|palestinian territories|"
        "palestinian territory|state of palestine|west bank|gaza|gaza strip|west bank and gaza|west bank gaza|wbgs|"
        "the west bank|cisjordanie|cisjordania|bande de gaza|territoires palestiniens|territoire palestinien occupe|"
        "territorios palestinos|palastina|east jerusalem|palestinian authority|occupied palestine|"
        "فلسطين|الاراضي الفلسطينية|الضفة الغربية|قطاع غزة|غزة"
    ),
    "RU": "russia|russie|rusia|russland|россия|росія|rossiya|俄罗斯|ロシア",
    "ST": "sao tome|sao tome & principe",
    "SV": "el salvador",
    "SY": "syria|syrie|siria|syrien|syrian arab republic|سوريا|سورية",
    "SZ": "swaziland|eswatini|kingdom of eswatini",
    "TL": "timor leste|east timor|timor oriental|osttimor",
    "TR": "turkey|turkiye|turquie|turquia|turkei|turchia|turkiye cumhuriyeti|turkey turkiye|türkiye|تركيا",
    "TW": "taiwan|taiwan roc|chinese taipei",
    "TZ": "tanzania|united republic of tanzania|tanzanie|tansania|zanzibar",
    "US": (
        "usa|u s a|u s|united states|united states of america|the united states|etats unis|estados unidos|ee uu|eeuu|"
        "vereinigte staaten|stati uniti|estados unidos da america|us of a|america usa|الولايات المتحدة|"
        "الولايات المتحدة الامريكية|"
        "сша|美国|アメリカ"
    ),
    "VA": "vatican|vatican city|holy see",
    "VE": "venezuela",
    "VN": "vietnam|viet nam",
    "XK": "kosovo|kosova|republic of kosovo|kosovo xk|kosovo unscr 1244|kosovo under unscr 1244|xkx|كوسوفو",
    "SA": "ksa|k s a|kingdom of saudi arabia|saudi arabia|saudi",
    "AF": "afghanistan|افغانستان",
    "BF": "burkina",
    "BH": "bahrain",
    "BY": "belarus|bielorussie|bielorrusia|weissrussland|belarus republic",
    "CH": "switzerland|suisse|schweiz|svizzera|suiza|suica|swiss confederation",
    "DE": "germany|deutschland|allemagne|alemania|alemanha|germania",
    "DO": "dominican republic|dominican rep|rep dominicana|republica dominicana",
    "EG": "egypt|egypte|مصر",
    "GR": "greece|hellas",
    "JO": "jordan|jordanie|jordania|jordanien|giordania|الاردن",
    "LB": "lebanon|liban|libano|libanon|لبنان",
    "LK": "sri lanka",
    "SD": "sudan|soudan|republic of the sudan|السودان",
    "SS": "south sudan|soudan du sud|sudan del sur|sudsudan|s sudan|rss|sudao do sul|sud sudan|جنوب السودان",
    "SO": "somaliland|somalia|puntland",
    "TD": "chad|tchad|tschad|ciad|chade|تشاد",
    "IQ": "iraq|irak|krg|kri|kurdistan region of iraq|kurdistan iraq|iraqi kurdistan|العراق",
    "YE": "yemen|jemen|اليمن",
    "CY": "cyprus|northern cyprus",
}
# Names that several countries answer to; only a city or another word can tell.
SHARED_NAMES: Final = {
    "congo": ("CD", "CG"),
    "kongo": ("CD", "CG"),
    "الكونغو": ("CD", "CG"),
    "korea": ("KP", "KR"),
    "coree": ("KP", "KR"),
    "corea": ("KP", "KR"),
    "samoa": ("AS", "WS"),
    "virgin islands": ("VG", "VI"),
    "saint martin": ("MF", "SX"),
    "st martin": ("MF", "SX"),
    "ireland and uk": ("GB", "IE"),
}
# Where a country's name or code is also a part of another one.
LANGUAGES: Final = ("fr", "es", "de", "pt", "it", "ar", "nl", "ru", "zh_CN", "ja", "uk", "tr", "sv", "pl", "pt_BR")
# Codes that are everyday words in lower case, or mean something else in postings.
_WORDS: Final = "and are per can cog fin ago mac mar nor gin guy ben bra cub dom dna lie mus pan ton tun vat hun"
WORDS_NOT_CODES: Final = frozenset(_WORDS.split())


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


@lru_cache(maxsize=512)
def name_of_country(code: str) -> str:
    """The usual English name of a country of two letters; the code itself if there is none."""
    import pycountry

    country = pycountry.countries.get(alpha_2=code)
    return code if country is None else str(getattr(country, "common_name", country.name))


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
