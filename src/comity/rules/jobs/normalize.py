"""The meaning of a posting: takes `JobFound` in the page's words, returns `JobPosting` in one vocabulary.

Nothing here raises because of what a page says: a value that cannot be understood is None, and the page's words are
stored beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from comity.model.job import JobFound, JobPosting
from comity.rules.canonical import LONGEST_URL
from comity.rules.jobs.cities import only_zone_of
from comity.rules.jobs.countries import country_of
from comity.rules.jobs.dates import deadline_of, posted_of, zone_named
from comity.rules.jobs.identity import alike_link, canonical_hash, is_elsewhere, link_identity, number_beside
from comity.rules.jobs.mission import mission_tags
from comity.rules.jobs.place import locate
from comity.rules.jobs.terms import career_of, grade_in, is_open_to_foreigners, level_of, modality_of
from comity.rules.jobs.words import LONGEST_SNIPPET, LONGEST_TITLE, alike, plain, tidy, tidy_lines
from comity.rules.tracking import DEFAULT_TRACKING, clean_query

_READ_OF_SNIPPET: Final = 1_000  # terms and tags stand at the beginning of a description
_UNSAFE_SCHEMES: Final = ("javascript:", "data:", "vbscript:", "file:", "blob:")
# Phrases that are true only on the day they are read ("Posted 3 days ago", "12 views"). In a stored snippet they
# would be wrong the next day, and every run would find every posting changed.

_UNIT: Final = (
    r"(?:sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|months?|heures?|jours?|semaines?|mois|minutos?|horas?|"
    r"d[ií]as?|semanas?|m[eê]s(?:es)?|minuten|stunden?|tag(?:en?)?|wochen?|monat(?:en?)?|minut[oi]|or[ae]|giorn[oi]|"
    r"settiman[ae]|mes[ei]|uur|uren|dag(?:en)?|weken|maand(?:en)?)"
)
_COUNT: Final = r"(?:\d{1,3}\+?|an?|one|une?|un[oa]|eine[mnr]?|uma?)"
_SAID: Final = (
    r"(?:posted|published|updated|added|listed|advertised|publi[ée]e?s?|publicad[oa]|actualizad[oa]|atualizad[oa]|"
    r"veröffentlicht|pubblicat[oa]|geplaatst)"
)
_DAY: Final = (
    r"(?:just now|today|tomorrow|yesterday|recently|hoy|ayer|aujourd['’]hui|hier|heute|gestern|hoje|ontem|oggi|ieri)"
)
_CLOSES: Final = r"(?:clos(?:es|ing|ed)|end(?:s|ing|ed)|expir(?:es|ing|ed)|ferme|expire|cierra|vence|encerra|endet)"
_FLEETING: Final = re.compile(
    rf"\b(?:{_SAID}\s*:?\s*)?(?:(?:more than|over|about)\s+)?{_COUNT}\s*{_UNIT}\s*(?:ago|atr[áa]s|fa|geleden)\b"
    rf"|\b(?:{_SAID}\s*:?\s*)?(?:il y a|hace|há|vor)\s+(?:(?:más de|plus de|mais de|mehr als)\s+)?{_COUNT}\s*{_UNIT}\b"
    rf"(?:\s+{_SAID}\b)?"
    rf"|\b(?:just posted|new today)\b|\b{_SAID}\s*:?\s*{_DAY}\b|\b{_SAID}(?:\s+on)?\s*:?\s*\d{{1,3}}\s?[dhw]\b"
    rf"|\b(?:only\s+)?{_COUNT}\s*{_UNIT}\s+(?:left|remaining|to go|restants?|restantes)\b(?:\s+to apply\b)?"
    rf"|\b{_CLOSES}\s*:?\s*(?:(?:in|dans|en|em|tra|fra)\s+{_COUNT}\s*{_UNIT}|{_DAY}|soon)\b"
    r"|\b\d[\d,.]{0,12}\s*(?:views?|applicants?|visits?|hits|vues|visitas|aufrufe|bewerber)\b"
    r"|\b(?:views?|visits?|hits|vues|visitas|aufrufe)\s*:\s*\d[\d,.]{0,12}",
    re.IGNORECASE,
)
# Looking for these first costs a twentieth of the pattern above.
_STEMS: Final = (
    *(" ago", "atrás", "atras", " fa ", " fa.", " fa,", "geleden", "il y a", "hace ", "há ", "vor ", "new today"),
    *("posted", "published", "publi", "updated", "added", "listed", "advertised", "actualizad", "atualizad"),
    *("veröffentlicht", "pubblicat", "geplaatst", " left", "remaining", " to go", "restant", "closes", "closing"),
    *("closed", "ends ", "ends:", "ending", "ended", "expir", "ferme", "cierra", "vence", "encerra", "endet"),
    *("view", "applicant", "visit", "hits", "vues", "aufrufe", "bewerber"),
)
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


def normalize(
    found: JobFound,
    *,
    org_name: str,
    org_type: str | None,
    source_country: str | None,
    now: datetime,
    is_link_shared: bool = False,
) -> JobPosting:
    """Put one job into the common vocabulary; `is_link_shared` says that other jobs have the same apply link."""
    title, location = tidy(found.title, LONGEST_TITLE), tidy(found.location_raw)
    snippet = without_fleeting(tidy(found.description_snippet, LONGEST_SNIPPET))
    employment = tidy(found.employment_raw)
    home = country_of(source_country) if source_country else None
    place = locate(location, tidy(found.country_raw), home)
    zone = zone_named(place.zone) or zone_named(only_zone_of(home) if home else None)
    order_country = home or place.country_iso
    level_text = tidy(found.level_raw)
    grade = (grade_in(level_text, org_type, is_field=True) if level_text else None) or grade_in(title, org_type)
    said_title, said, said_employment = plain(title), plain(snippet[:_READ_OF_SNIPPET]), plain(employment)
    language = language_of(found.language, said_title, said)
    return JobPosting(
        canonical_hash=canonical_hash(
            org_name=org_name or found.org_name,
            title=title,
            location=location,
            apply_url=found.apply_url[:LONGEST_URL],
            reference=found.reference,
            is_link_shared=is_link_shared,
        ),
        title=title,
        org_name=tidy(found.org_name) or tidy(org_name),
        apply_url=_apply_url(found.apply_url),
        location_raw=location,
        description_snippet=snippet,
        description_text=tidy_lines(found.description_text),
        deadline=deadline_of(
            tidy(found.deadline_raw),
            now=now,
            zone=zone,
            country=place.country_iso or home,
            order_country=order_country,
            language=language or "",
        ),
        posted_at=posted_of(
            tidy(found.posted_raw),
            now=now,
            zone=zone,
            country=place.country_iso or home,
            order_country=order_country,
            language=language or "",
        ),
        city=place.city,
        country_iso=place.country_iso,
        level_norm=level_of(title, level_text, said_employment, org_type),
        work_modality=modality_of(plain(tidy(found.workplace_raw)), plain(location), said_title, said),
        career_type=career_of(said_employment, said_title, said),
        international_eligible=is_open_to_foreigners(said_title, said, said_employment, grade),
        mission_tags=mission_tags(said_title, said),
        language=language,
    )


def normalize_listing(
    jobs: Iterable[JobFound], *, org_name: str, org_type: str | None, source_country: str | None, now: datetime
) -> tuple[JobPosting, ...]:
    """Normalize the jobs of one listing, each but once: by their words where what names them names others, too."""
    jobs = tuple(jobs)
    shared = _shared(jobs)
    postings: dict[str, JobPosting] = {}
    for job in jobs:
        posting = normalize(
            job,
            org_name=org_name,
            org_type=org_type,
            source_country=source_country,
            now=now,
            is_link_shared=_named_by(job) in shared,
        )
        before = postings.setdefault(posting.canonical_hash, posting)
        if posting.location_raw and not before.location_raw:
            postings[posting.canonical_hash] = posting
    return tuple(postings.values())


def _named_by(job: JobFound) -> tuple[str, str]:
    """What names a posting whatever its words are: its link, and a number that the link does not have."""
    url = job.apply_url[:LONGEST_URL]
    return link_identity(url).text, number_beside(url, job.reference)


def _shared(jobs: Iterable[JobFound]) -> set[tuple[str, str]]:
    """Names that several jobs of a listing share: those differ in their titles, or in where they are."""
    first: dict[tuple[str, str], JobFound] = {}
    shared: set[tuple[str, str]] = set()
    for job in jobs:
        name = _named_by(job)
        other = first.setdefault(name, job)
        is_other_title = alike(tidy(other.title, LONGEST_TITLE)) != alike(tidy(job.title, LONGEST_TITLE))
        if is_other_title or is_elsewhere(other.location_raw, job.location_raw):
            shared.add(name)
        if not other.location_raw:  # says nothing that another place could differ from
            first[name] = job
    return shared


def _apply_url(url: str) -> str:
    """The link to show: without tracking, and never one that runs a script."""
    bare = alike_link(url[:LONGEST_URL]).encode("utf-8", "replace").decode()
    if bare.lower().startswith(_UNSAFE_SCHEMES):
        return ""
    return clean_query(bare, DEFAULT_TRACKING)


def is_same_text(before: str, now: str) -> bool:
    """Whether two descriptions say the same, apart from what is true only on the day it is read."""
    return _words_alone(before) == _words_alone(now)


def _words_alone(text: str) -> str:
    return " ".join(without_fleeting(" ".join(text.split())).split())


def without_fleeting(text: str) -> str:
    """The text without what the next day makes untrue; blanks around it closed up."""
    lower = f" {text.lower()} "
    if not any(stem in lower for stem in _STEMS):
        return text
    shorter = _FLEETING.sub(" ", text)
    return " ".join(shorter.split()) if shorter != text else text


def _weights() -> dict[str, tuple[tuple[str, int], ...]]:
    """Languages by word; a word of one language tells more than one of many."""
    languages: dict[str, list[str]] = {}
    for language, words in _STOP_WORDS.items():
        for word in words.split():
            languages.setdefault(word, []).append(language)
    return {word: tuple((name, _FULL_WEIGHT // len(names)) for name in names) for word, names in languages.items()}


_WEIGHTS: Final = _weights()


def language_of(declared: str, title: str, description: str) -> str | None:
    """The language that the page declares, else that of its folded words; None if too few of them tell.

    It is a code of two letters.
    """
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
