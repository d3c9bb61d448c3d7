"""Translations (hreflang): language codes, links back, and translations that do not work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from comity.model.audit import Alternate, FindingCode
from comity.rules.audit.site_rows import Answer, Found, Row, Site

X_DEFAULT: Final = "x-default"
_SHOWN: Final = 3
_SEPARATOR: Final = ", "

# ISO 639-1, the languages that search engines document for hreflang.
_LANGUAGES: Final = frozenset(
    re.findall(
        "..",
        "aaabaeafakamanarasavayazbabebgbibmbnbobrbscacechcocrcscucvcydadedvdzeeeleneoeseteufafffifjfofrfygagdglgngugvha"
        "hehihohrhthuhyhziaidieigiiikioisitiujajvkakgkikjkkklkmknkokrkskukvkwkylalblglilnloltlulvmgmhmimkmlmnmrmsmtmyna"
        "nbndnengnlnnnonrnvnyocojomorospapiplpsptqurmrnrorurwsascsdsesgshsiskslsmsnsosqsrssstsusvswtatetgthtitktltntotr"
        "tstttwtyugukuruzvevivowawoxhyiyozazhzu",
    )
)
# ISO 3166-1 alpha-2.
_REGIONS: Final = frozenset(
    re.findall(
        "..",
        "ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCLCMCNCOCRCUCVCWCXCY"
        "CZDEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGYHKHMHNHRHTHUIDIEILIMINIOIQIRISIT"
        "JEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNGNI"
        "NLNONPNRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTK"
        "TLTMTNTOTRTTTVTWTZUAUGUMUSUYUZVAVCVEVGVIVNVUWFWSYEYTZAZMZW",
    )
)
_SCRIPT: Final = re.compile(r"[A-Z][a-z]{3}")
# "es-419" is not among the documented codes, but widely used, and does no harm.
_AREA: Final = re.compile(r"[0-9]{3}")


def is_language(code: str) -> bool:
    """Whether a hreflang value is valid: a language, perhaps with a script and a region, or x-default."""
    if code.strip().lower() == X_DEFAULT:
        return True
    language, *rest = code.strip().split("-")
    if language.lower() not in _LANGUAGES or len(rest) > 2:
        return False
    if rest and _SCRIPT.fullmatch(rest[0].capitalize()):
        rest = rest[1:]
    return not rest or (len(rest) == 1 and (rest[0].upper() in _REGIONS or _AREA.fullmatch(rest[0]) is not None))


class Translations:
    """Which pages name which translations."""

    def __init__(self) -> None:
        self._by_url: dict[str, tuple[Alternate, ...]] = {}
        self._invalid: set[str] = set()  # pages with codes that are none

    def take(self, alternates: Sequence[Alternate], row: Row, found: Found) -> None:
        """Keep what a page names, or its entry in a sitemap, and report codes that are none."""
        if not alternates:
            return
        self._by_url[row.url] = (*self._by_url.get(row.url, ()), *alternates)
        invalid = dict.fromkeys(each.language for each in alternates if not is_language(each.language))
        if invalid and row.url not in self._invalid:
            self._invalid.add(row.url)
            found.add(FindingCode.HREFLANG_INVALID, row.url, _SEPARATOR.join(repr(each) for each in invalid))

    def judge(self, site: Site, found: Found) -> None:
        """Report translations that do not work, or do not link back."""
        for url, alternates in self._by_url.items():
            row = site.find(url)
            if row is None or not row.is_indexable:
                continue
            broken: dict[str, None] = {}
            one_way: dict[str, None] = {}
            for alternate in alternates:
                target = site.find(alternate.url)
                if target is None or target is row or target.final_url == url:
                    continue
                if target.has_failed or target.answer is Answer.LOOP:
                    broken[f"{alternate.language}: {alternate.url} ({target.failure})"] = None
                elif target.answer is Answer.OK and not self._names(target, row):
                    one_way[f"{alternate.language}: {alternate.url}"] = None
            if broken:
                found.add(FindingCode.HREFLANG_TO_ERROR, url, _SEPARATOR.join(list(broken)[:_SHOWN]))
            if one_way:
                found.add(FindingCode.HREFLANG_NO_RETURN, url, _SEPARATOR.join(list(one_way)[:_SHOWN]))

    def _names(self, target: Row, row: Row) -> bool:
        back = self._by_url.get(target.final_url) or self._by_url.get(target.url, ())
        return any(each.url.partition("#")[0] == row.url for each in back)
