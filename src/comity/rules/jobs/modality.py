"""Where the work is done: words of a posting enter; onsite, hybrid, remote or field leaves, None if nothing says."""

from __future__ import annotations

import re
from typing import Final

_HYBRID: Final = (
    r"hybrid\w*|hibrid\w+|ibrid[oa]|partially remote|partly remote|flexible (?:working )?location|teilweise remote|"
    r"гибридн\w+|هجين"
)
_REMOTE: Final = (
    r"remote\w*|home[- ]?based|home office|work from home|wfh|tele-?(?:work\w*|commut\w*)|teletravail|teletrabajo|"
    r"a distance|a distancia|remot[oa]|fernarbeit|homeoffice|удаленн\w+|дистанционн\w+|عن بعد|worldwide|anywhere|"
    r"virtual|远程|在宅"
)
_ONSITE: Final = (
    r"on[- ]?site|in[- ]?office|in[- ]person|office[- ]based|sur site|presentiel\w*|presencial|vor ort|in presenza|"
    r"in sede|حضوري|очно"
)
_FIELD: Final = (
    r"field[- ]?based|field (?:position|office|location|site|work)|in the field(?! of)|non[- ]family|deep field|"
    r"sur le terrain|en terreno|en campo|camp[- ]based|hardship"
)
# Stations that lie far away, and things done from afar, are no work from home.
_NOT_REMOTE: Final = re.compile(
    r"(?:no|not|non)[- ](?:a )?(?:fully )?remote|remote (?:areas?|locations?|field|communit\w+|"
    r"villages?|regions?|sensing|"
    r"sites?|support|management|monitoring|islands?)|not home-?based"
)
_SHORT: Final = tuple(
    (modality, re.compile(rf"(?<!\w)(?:{words})(?!\w)"))
    for modality, words in (("hybrid", _HYBRID), ("remote", _REMOTE), ("onsite", _ONSITE), ("field", _FIELD))
)
# Every ASCII alternative above holds one of these; looking for them is cheaper.
_SHORT_STEMS: Final = (
    *("brid", "remot", "home", "wfh", "tele", "distan", "fern", "where", "wide", "virtual", "site", "offic", "person"),
    *("presen", "ort", "sede", "field", "flexible", "family", "terr", "camp", "hardship"),
)
# A description speaks of hybrid seeds, remote villages and the field of health: there only phrases count.
_LONG: Final = (
    ("hybrid", ("hybrid",), re.compile(r"\bhybrid (?:work\w*|position|role|model|schedule|arrangement|mode)\b")),
    (
        "remote",
        ("remote", "home", "telework", "teletra", "distanc"),
        re.compile(
            r"\b(?:fully|100 ?%|entirely|completely) remote\b|\bremote (?:position|role|job|work|working|contract)\b|"
            r"\bhome-?based\b|\bwork(?:ing)? (?:from home|remotely)\b|\bteleworking\b|\bteletravail\b|\bteletrabajo\b"
        ),
    ),
    (
        "onsite",
        ("site", "office-based"),
        re.compile(r"\b(?:fully |100 ?% )on-?site\b|\bon-?site (?:position|role)\b|\boffice-based\b"),
    ),
    ("field", ("field", "family"), re.compile(r"\bfield-based\b|\bnon-family duty|\bdeep field\b")),
)


def modality_of(workplace: str, location: str, title: str, description: str) -> str | None:
    """Where the work is done, from folded texts; the page's own field comes first, the description last."""
    if workplace and "field" in workplace:
        return "field"
    for text in (workplace, location, title):
        if text and (not text.isascii() or any(stem in text for stem in _SHORT_STEMS)):
            bare = _NOT_REMOTE.sub(" ", text)
            for modality, words in _SHORT:
                if words.search(bare):
                    return modality
    for modality, stems, words in _LONG:
        if any(stem in description for stem in stems) and words.search(description):
            return modality
    return None
