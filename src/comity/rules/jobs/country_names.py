"""What countries are called beside their names in ISO 3166: a table, folded as `words.key` folds."""

from __future__ import annotations

from typing import Final

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
