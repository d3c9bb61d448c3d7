"""Pages that stand for each other: canonical addresses and translations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from comity.model.audit import Alternate, AuditedPage, FindingCode
from comity.rules.audit.site_rows import Found, Site, SiteRow, UrlResult

_X_DEFAULT: Final = "x-default"
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


def judge_canonicals(page: AuditedPage, subject: str, found: Found) -> None:
    """Report a page that names several different canonical addresses."""
    named = dict.fromkeys(page.facts.canonicals if page.facts is not None else ())
    if len(named) > 1:
        found.add(FindingCode.MULTIPLE_CANONICALS, subject, ", ".join(named))


def judge_canonical_targets(site: Site, found: Found) -> None:
    """Report pages whose canonical address does not lead to a page that stands for itself."""
    for row in site.visited():
        if row.canonical is None or row.answer is not UrlResult.OK or row.redirects or row.has_noindex:
            continue
        target = site.find(row.canonical)
        code = canonical_fault(row, target)
        if code is not None and target is not None:
            found.add(code, row.url, _detail(target))


def canonical_fault(row: SiteRow, target: SiteRow | None) -> FindingCode | None:
    """What is wrong with the page that stands for another; None where it is right or was not visited."""
    if target is None or target is row or target.answer in (UrlResult.UNKNOWN, UrlResult.BLOCKED):
        return None
    if target.has_failed or target.answer is UrlResult.LOOP:
        return FindingCode.CANONICAL_TO_ERROR
    if target.redirects:
        return FindingCode.CANONICAL_TO_REDIRECT
    if target.has_noindex:
        return FindingCode.CANONICAL_TO_NOINDEX
    return FindingCode.CANONICAL_CHAIN if target.canonical is not None else None


def _detail(target: SiteRow) -> str:
    if target.has_failed:
        return f"{target.url}: {target.failure}"
    if target.redirects:
        return f"{target.url} redirects to {target.final_url}"
    if target.has_noindex:
        return f"{target.url} is noindex"
    return f"{target.url} names {target.canonical}" if target.canonical else target.url


def _is_language(code: str) -> bool:
    """Whether a hreflang value is valid: a language, perhaps with a script and a region, or x-default."""
    if code.strip().lower() == _X_DEFAULT:
        return True
    language, *rest = code.strip().split("-")
    if language.lower() not in _LANGUAGES or len(rest) > 2:
        return False
    if rest and _SCRIPT.fullmatch(rest[0].capitalize()):
        rest = rest[1:]
    return not rest or (len(rest) == 1 and (rest[0].upper() in _REGIONS or _AREA.fullmatch(rest[0]) is not None))


class Translations:
    """Which pages name which translations.

    By hreflang: language codes, links back, and translations that do not work.
    """

    def __init__(self) -> None:
        self._by_url: dict[str, tuple[Alternate, ...]] = {}
        self._invalid: set[str] = set()  # pages with invalid codes

    def take(self, alternates: Sequence[Alternate], row: SiteRow, found: Found) -> None:
        """Keep what a page names, or its entry in a sitemap, and report invalid codes."""
        if not alternates:
            return
        self._by_url[row.url] = (*self._by_url.get(row.url, ()), *alternates)
        invalid = dict.fromkeys(each.language for each in alternates if not _is_language(each.language))
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
                if target.has_failed or target.answer is UrlResult.LOOP:
                    broken[f"{alternate.language}: {alternate.url} ({target.failure})"] = None
                elif target.answer is UrlResult.OK and not self._names(target, row):
                    one_way[f"{alternate.language}: {alternate.url}"] = None
            if broken:
                found.add(FindingCode.HREFLANG_TO_ERROR, url, _SEPARATOR.join(list(broken)[:_SHOWN]))
            if one_way:
                found.add(FindingCode.HREFLANG_NO_RETURN, url, _SEPARATOR.join(list(one_way)[:_SHOWN]))

    def _names(self, target: SiteRow, row: SiteRow) -> bool:
        back = self._by_url.get(target.final_url) or self._by_url.get(target.url, ())
        return any(each.url.partition("#")[0] == row.url for each in back)
