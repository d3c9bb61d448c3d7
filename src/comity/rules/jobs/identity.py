"""The identity of a posting: takes organisation, words and link; returns a hash that edits do not change.

The reasons are in docs/decisions/0010-canonical-hash.md. Boards list a posting once per place under one address; its
places are joined into one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from comity.model.job import JobFound
from comity.rules.canonical import resolve_link
from comity.rules.jobs.words import alike
from comity.rules.tracking import TRACKING_PARAMETERS, TrackingRules, clean_query

# Which board sent the applicant; where the answer goes, not what is asked.
_BOARD_PARAMETERS: Final = (
    *(
        "source",
        "src",
        "gh_src",
        "lever-source*",
        "lever-origin",
        "referrer",
        "referer",
        "trk",
        "trackingid",
        "jobboardsource",
    ),
    *(
        "source_id",
        "sourceid",
        "iis",
        "iisn",
        "utm",
        "rx_*",
        "jobsource",
        "job_source",
        "ss_source",
        "codes",
        "_jtochash",
        "feedid",
    ),
)
_TRACKING: Final = TrackingRules(parameters=(*TRACKING_PARAMETERS, *_BOARD_PARAMETERS))
_BASE: Final = "https://relative.invalid/"
_SEPARATOR: Final = "\x1f"

# One form serves many jobs: its number names the form.
_FORM_HOSTS: Final = (
    *(
        "docs.google.com",
        "forms.gle",
        "forms.office.com",
        "forms.microsoft.com",
        "typeform.com",
        "surveymonkey.com",
        "jotform.com",
    ),
    *("kobotoolbox.org", "airtable.com", "bit.ly", "tinyurl.com", "drive.google.com", "dropbox.com", "sharepoint.com"),
)
_ID_NAMES: Final = (
    "id jobid job_id job-id job jid gh_jid vacancyid vacancy_id vacancy vacid vid reqid req "
    "requisitionid requisition positionid position_id position pid postingid posting_id posting nid "
    "jobpostingid job_posting_id jobopeningid openingid opening ref reference refid refno jobreq job_req "
    "jobreqid career_job_req_id jobreference ad adid offerid offer oid annonce oferta stelle "
    "opportunityid code jobcode vacancycode joborderid p rid joid jobad vacancyno vacancynumber "
    "jobnumber job_number reference_number advertid"
)
_ID_PARAMETERS: Final = frozenset(_ID_NAMES.split())
_YEAR_OR_DAY: Final = re.compile(r"(?:19|20)\d\d|(?:19|20)\d\d[01]\d(?:[0-3]\d)?")
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_NUMBER: Final = re.compile(r"\d{3,}")
# Digits and letters in turns, as no one writes words: "8f3a9c21d0", but not "covid19response2026".
_MIXED: Final = re.compile(r"(?=.{8})(?:(?=(?:[a-f]*\d){3})(?=\d*[a-f])[0-9a-f]+|[a-z]*(?:\d+[a-z]+){2,}\d*)")
_MIXED_WORDS: Final = re.compile(r"[a-z]{3,}\d{1,4}(?:[a-z]{3,}(?:\d{1,4})?)?")
_NUMBER_FIRST: Final = re.compile(r"(\d{4,})[-_](?=.*[^\W\d_])")
_NUMBER_LAST: Final = re.compile(r"[-_](\d{4,})$")
_REQUISITION: Final = re.compile(r"(?:^|[-_])((?:jr|req|r|jo|job|vac|va|ref|jid|pos)[-_]?\d{3,}(?:-\d+)?)$")
_EXTENSION: Final = re.compile(r"\.(?:html?|aspx?|php|jsp|pdf|docx?|cfm|json)$")
_ACTIONS: Final = frozenset(
    {
        "apply",
        "application",
        "apply-now",
        "applynow",
        "view",
        "detail",
        "details",
        "login",
        "postuler",
        "bewerben",
        "thanks",
    }
)
_JOB_NAMES: Final = (
    "job jobs vacancy vacancies position positions posting postings opportunity opportunities opening openings "
    "career careers requisition requisitions offre offres oferta ofertas empleo empleos emploi emplois stelle "
    "stellen vaga vagas jobdetail"
)
_JOB_WORDS: Final = frozenset(_JOB_NAMES.split())
_MOST_SEGMENTS: Final = 20
SEPARATOR: Final = "; "
_MOST_PLACES: Final = 20
_LONGEST: Final = 300


class LinkIdentity(NamedTuple):
    """A link reduced to what it names, and whether that is one posting."""

    text: str
    is_posting: bool


def canonical_hash(
    *, org_name: str, title: str, location: str, apply_url: str, reference: str = "", is_link_shared: bool = False
) -> str:
    """The hash of a posting: of its link where that names one posting, else of all its words and the link."""
    link, number = link_identity(apply_url), number_beside(apply_url, reference)
    organisation = alike(org_name)
    if (link.is_posting or number) and not is_link_shared:
        fields: tuple[str, ...] = ("posting", organisation, link.text, number)
    else:
        fields = ("words", organisation, alike(title), _in_any_order(location), link.text, number)
    return sha256(_SEPARATOR.join(fields).encode("utf-8", "replace")).hexdigest()


def number_beside(apply_url: str, reference: str) -> str:
    """A reference number that tells a posting apart where its link does not; empty if the link repeats it."""
    number = _reference(reference)
    return "" if number and number in link_identity(apply_url).text.replace("-", "").replace("_", "") else number


def is_same_link(url: str, other: str) -> bool:
    """Whether two links differ in nothing but tracking and marks of where the visitor came from."""
    return url == other or untracked(url) == untracked(other)


def untracked(url: str) -> str:
    """A link without tracking and marks of where the visitor came from."""
    bare, mark, anchor = clean_query(url, _TRACKING).partition("#")
    path, _, query = bare.partition("?")
    return f"{path}?{'&'.join(filter(_is_telling, query.split('&')))}{mark}{anchor}"


@lru_cache(maxsize=512)
def link_identity(url: str) -> LinkIdentity:
    """Reduce a link: scheme, `www.`, port, case, order of parameters, tracking, anchors, slugs fall away."""
    text = alike_link(url)
    address = resolve_link(text, _BASE, tracking=_TRACKING)
    if address is None:
        return LinkIdentity(alike(text), False)
    path, _, query = address.path.partition("?")
    # Anchors lead to a place on the page; routes of a script ("#/jobs/7", "#!job=7") lead to another one.
    _, _, anchor = text.partition("#")
    if anchor.startswith(("/", "!")):
        path = f"{path}/#/{anchor.lstrip('/!')}"
    segments = [segment for segment in alike(unquote_plus(path)).split("/") if segment][-_MOST_SEGMENTS:]
    parameters = sorted(filter(_is_telling, alike(unquote_plus(query)).split("&"))) if query else []
    is_form = address.host.endswith(_FORM_HOSTS)
    reduced, has_number = _numbered(segments)
    is_posting = not is_form and (has_number or any(map(_is_id_parameter, parameters)))
    if is_posting:
        while reduced and reduced[-1] in _ACTIONS:
            reduced.pop()
        segments = reduced
    return LinkIdentity(f"{address.host}/{'/'.join(segments)}?{'&'.join(parameters)}", is_posting)


def alike_link(url: str) -> str:
    """A link without the white space, invisible characters and entities that a page wraps around it."""
    bare = "".join(url.replace("\u200b", "").replace("\ufeff", "").split())
    while "&amp;" in bare:  # each turn makes it shorter
        bare = bare.replace("&amp;", "&")
    return bare


def _numbered(segments: list[str]) -> tuple[list[str], bool]:
    """The path with the segment that bears the posting's number cut down to it."""
    for at in range(len(segments) - 1, -1, -1):
        bare = _EXTENSION.sub("", segments[at])
        is_after_job = at > 0 and segments[at - 1] in _JOB_WORDS
        number = bare if is_after_job and bare.isdecimal() and not _YEAR_OR_DAY.fullmatch(bare) else _number_in(bare)
        if number:
            after = segments[at + 1 :]
            # "/job/581234/programme-officer": the slug after a job's number is made from the title.
            is_slug = is_after_job and number.isdecimal() and len(after) == 1
            return [*segments[:at], number, *([] if is_slug else after)], True
    return segments, False


def _number_in(segment: str) -> str | None:
    if _UUID.fullmatch(segment):
        return segment
    for pattern in (_NUMBER_FIRST, _REQUISITION, _NUMBER_LAST):
        found = pattern.search(segment) if pattern is not _NUMBER_FIRST else pattern.match(segment)
        if found and not _YEAR_OR_DAY.fullmatch(found[1]):
            return found[1]
    is_number = _NUMBER.fullmatch(segment) and not _YEAR_OR_DAY.fullmatch(segment)
    is_mixed = _MIXED.fullmatch(segment) and not _MIXED_WORDS.fullmatch(segment)
    return segment if is_number or is_mixed else None


def _is_telling(parameter: str) -> bool:
    """Not so of "ref=homepage": without a digit, that is where the visitor came from."""
    name, _, value = parameter.partition("=")
    return bool(parameter) and not (name == "ref" and not any(map(str.isdigit, value)))


def _is_id_parameter(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name in _ID_PARAMETERS and any(map(str.isdigit, value))


def _in_any_order(location: str) -> str:
    """Places as they are compared: a board that lists one posting for each of them changes their order."""
    places = alike(location).split(";")
    return ";".join(sorted(place.strip() for place in places)) if len(places) > 1 else places[0]


def _reference(text: str) -> str:
    """A reference number, bare of what is around its letters and digits; empty if it cannot be one."""
    bare = "".join(letter for letter in alike(text[:80]) if letter.isalnum())
    digits = sum(map(str.isdigit, bare))
    return bare if digits >= 2 and len(bare) <= 40 and not _YEAR_OR_DAY.fullmatch(bare) else ""


def joined_places(places: Iterable[str]) -> str:
    """Places in one line, each once, as many as a field holds.

    A place that says less than another ("Nairobi" beside "Nairobi, Kenya") is the same place.
    """
    kept: dict[frozenset[str], str] = {}
    for place in (part.strip() for said in places for part in said.split(";")):
        words = _words(place)
        if not words or any(words <= known for known in kept):
            continue
        for less in [known for known in kept if known < words]:
            del kept[less]
        if len(kept) >= _MOST_PLACES or sum(map(len, kept.values())) + 2 * len(kept) + len(place) > _LONGEST:
            break
        kept[words] = place
    return SEPARATOR.join(kept.values())


def is_elsewhere(place: str, other: str) -> bool:
    """Whether two lines name places and none in common."""
    here, there = ([_words(part) for part in said.split(";")] for said in (place, other))
    return (
        any(here) and any(there) and not any(one <= two or two <= one for one in here for two in there if one and two)
    )


def are_same_places(places: str, other: str) -> bool:
    """Whether two lines name the same places in any order."""
    here, there = ({_words(part) for part in said.split(";")} for said in (places, other))
    return here == there


def joined(one: JobFound, other: JobFound) -> JobFound:
    """One posting in the places of both."""
    return replace(
        one,
        location_raw=joined_places((one.location_raw, other.location_raw)),
        country_raw=joined_places((one.country_raw, other.country_raw)),
    )


def joined_over_pages(pages: Sequence[tuple[str, Sequence[JobFound]]]) -> list[list[JobFound]]:
    """Join the places of postings that pages of one listing share; each page comes with its own address.

    Jobs without their own address have a page's; only their places tell them apart, so those stay.
    """
    own = {untracked(url.partition("#")[0]).rstrip("/?") for url, _ in pages}
    whole: dict[tuple[str, str, str], JobFound] = {}
    if len(pages) > 1:
        for _, jobs in pages:
            for found in jobs:
                key = _key(found)
                whole[key] = joined(whole[key], found) if key in whole else found
    listed: list[list[JobFound]] = []
    for _, jobs in pages:
        listed.append(
            [
                found
                if untracked(found.apply_url).rstrip("/?") in own or (one := whole.get(_key(found))) is None
                else replace(found, location_raw=one.location_raw, country_raw=one.country_raw)
                for found in jobs
            ]
        )
    return listed


def _key(found: JobFound) -> tuple[str, str, str]:
    return untracked(found.apply_url), alike(found.title), found.reference


def _words(place: str) -> frozenset[str]:
    return frozenset(filter(None, (part.strip() for part in alike(place).split(","))))
