"""Postings to be found, and engines to find them with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from comity.model.search import Marked, SearchDocument, SearchPage

NOW = datetime(2026, 2, 7, 12, tzinfo=UTC)
SOURCES = (UUID(int=9001), UUID(int=9002))


def days(number: float) -> datetime:
    return NOW + timedelta(days=number)


def posting(number: int, title: str, **given: Any) -> SearchDocument:
    values = {
        "org_name": "Relief House",
        "apply_url": f"https://jobs.example/{number}",
        "location_raw": "",
        "description_snippet": "",
        "first_seen_at": days(-number),
        "source_id": SOURCES[0],
        "source_url": "https://jobs.example/careers",
    } | given
    return SearchDocument(id=UUID(int=number), title=title, **values)


POSTINGS = (
    posting(
        1,
        "Water Engineer",
        location_raw="Nairobi, Kenya",
        city="Nairobi",
        country_iso="KE",
        level_norm="mid",
        work_modality="field",
        career_type="fixed-term",
        mission_tags=("wash", "engineering"),
        language="en",
        international_eligible=True,
        deadline=days(10),
        description_snippet="Design and build wells. You will work with a nurse and a driver.",
    ),
    posting(
        2,
        "Infirmière spécialisée",
        org_name="Médecins du Lac",
        location_raw="Genève, Suisse",
        city="Genève",
        country_iso="CH",
        level_norm="senior",
        work_modality="onsite",
        career_type="permanent",
        mission_tags=("health",),
        language="fr",
        international_eligible=False,
        deadline=days(3),
        source_id=SOURCES[1],
    ),
    posting(
        3,
        "Nurse",
        location_raw="Geneva",
        country_iso="CH",
        level_norm="junior",
        mission_tags=("health", "nutrition"),
        language="en",
        description_snippet="The water supply of the hospital is not your duty; an engineer cares for it.",
    ),
    posting(
        4,
        "Leiter Öffentlichkeitsarbeit",
        org_name="Müller Stiftung",
        location_raw="Große Straße 1, Köln",
        country_iso="DE",
        level_norm="lead",
        work_modality="hybrid",
        language="de",
        mission_tags=("communications",),
        deadline=days(40),
    ),
    posting(5, "Closed Engineer", country_iso="KE", closed_at=days(-1), language="en"),
    posting(6, "Late Engineer", country_iso="KE", deadline=days(-2), language="en"),
    posting(7, "联合国志愿人员", location_raw="北京", country_iso="CN", language="zh", first_seen_at=days(-30)),
    posting(8, "Инженер по водоснабжению", country_iso="UA", language="uk", org_name='O"Hara\\ & Söhne'),
)


def found(page: SearchPage) -> list[int]:
    """The numbers of the postings, in their order."""
    return [hit.posting.id.int for hit in page.hits]


def numbers(page: SearchPage) -> set[int]:
    return set(found(page))


def shown(marked: Marked) -> str:
    """Marked text with brackets around what matched."""
    return "".join(f"[{piece.text}]" if piece.is_match else piece.text for piece in marked)


def plain(marked: Marked) -> str:
    return "".join(piece.text for piece in marked)
