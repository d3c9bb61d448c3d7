"""Whole postings: the page's words in, one vocabulary out; whatever a page says."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.model.job import CAREER_TYPES, LEVELS, MISSION_TAGS, MODALITIES, JobFound, JobPosting
from comity.rules.jobs.normalize import normalize, normalize_listing
from tests.servers.waiting import least_of, processor_s
from tests.sizes import sized

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def normalized(found: JobFound, org_type: str | None = "un", source_country: str | None = "IT") -> JobPosting:
    return normalize(found, org_name="World Food Body", org_type=org_type, source_country=source_country, now=NOW)


def test_a_posting_of_the_united_nations_is_understood() -> None:
    found = normalized(
        JobFound(
            title="Programme Policy Officer (Nutrition),&nbsp;P-3",
            apply_url="https://jobs.example.org/careers/48213-officer?utm_source=board",
            location_raw="Nairobi,  Kenya",
            description_snippet="The officer will lead the nutrition team.",
            deadline_raw="30 November 2026",
            posted_raw="3 days ago",
            employment_raw="Fixed-term appointment",
            language="en-GB",
        )
    )
    assert found == JobPosting(
        canonical_hash=found.canonical_hash,
        title="Programme Policy Officer (Nutrition), P-3",
        org_name="World Food Body",
        apply_url="https://jobs.example.org/careers/48213-officer",
        location_raw="Nairobi, Kenya",
        description_snippet="The officer will lead the nutrition team.",
        deadline=datetime(2026, 11, 30, 20, 59, 59, tzinfo=UTC),
        posted_at=datetime(2026, 11, 11, 21, tzinfo=UTC),
        city="Nairobi",
        country_iso="KE",
        level_norm="mid",
        work_modality=None,
        career_type="fixed-term",
        international_eligible=True,
        mission_tags=("nutrition", "advocacy"),
        language="en",
    )


def test_a_posting_in_french_is_understood() -> None:
    found = normalized(
        JobFound(
            title="Consultant(e) national(e) en suivi et évaluation",
            apply_url="https://example.org/offres/consultant",
            location_raw="Dakar, Sénégal",
            description_snippet="Le ou la consultante assure le suivi des activités. Recrutement local.",
            deadline_raw="30 novembre 2026 à 17h00",
        ),
        org_type="ngo",
        source_country="FR",
    )
    assert (found.city, found.country_iso, found.career_type, found.language) == ("Dakar", "SN", "consultancy", "fr")
    assert found.deadline == datetime(2026, 11, 30, 17, tzinfo=UTC)
    assert found.mission_tags == ("mel",)
    assert found.international_eligible is False


def test_the_page_names_the_organisation_before_the_source_does() -> None:
    job = JobFound(title="Officer", apply_url="https://example.org/jobs/4821")
    assert normalized(job).org_name == "World Food Body"
    assert normalized(replace(job, org_name="Partner Aid")).org_name == "Partner Aid"
    assert normalized(replace(job, org_name="Partner Aid")).canonical_hash == normalized(job).canonical_hash


def test_a_source_may_tell_its_country_by_name_or_code() -> None:
    job = JobFound(title="Officer", apply_url="", deadline_raw="11/12/2026")
    found = {normalized(job, source_country=name).deadline for name in ("KE", "KEN", "Kenya")}
    assert found == {datetime(2026, 12, 11, 20, 59, 59, tzinfo=UTC)}
    assert normalized(job, source_country="US").deadline == datetime(2026, 11, 12, 23, 59, 59, tzinfo=UTC)


def test_links_that_run_scripts_are_not_kept() -> None:
    for url in ("javascript:alert(1)", " JaVaScRiPt:alert(1)", "data:text/html,x", "java\nscript:alert(1)"):
        assert normalized(JobFound(title="Officer", apply_url=url)).apply_url == ""


def test_an_edit_keeps_the_hash_and_another_day_changes_nothing() -> None:
    job = JobFound(title="Officer", apply_url="https://example.org/jobs/4821", deadline_raw="in 5 days")
    edited = replace(job, title="Senior Officer", location_raw="Rome", description_snippet="More.")
    assert normalized(job).canonical_hash == normalized(edited).canonical_hash
    next_day = normalize(
        replace(job, deadline_raw="in 4 days"),
        org_name="World Food Body",
        org_type="un",
        source_country="IT",
        now=NOW + timedelta(days=1),
    )
    assert next_day == normalized(job)


def test_jobs_that_share_a_numbered_link_are_told_apart_and_repeated_ones_kept_once() -> None:
    form = "https://example.org/apply?id=7"
    jobs = [
        JobFound(title="Officer", apply_url=form),
        JobFound(title="Driver", apply_url=form),
        JobFound(title="OFFICER ", apply_url=form + "&utm_source=x"),
        JobFound(title="Nurse", apply_url="https://example.org/apply?id=8"),
        JobFound(title="nurse", apply_url="https://www.example.org/apply?id=8"),
    ]
    found = normalize_listing(jobs, org_name="Aid", org_type=None, source_country=None, now=NOW)
    assert [posting.title for posting in found] == ["Officer", "Driver", "Nurse"]
    assert len({posting.canonical_hash for posting in found}) == 3


ANY = st.text(max_size=80)
REAL = st.sampled_from(
    [
        "Officer, P-3",
        "Nairobi, Kenya",
        "31 December 2026",
        "31/12/26",
        "https://example.org/j?id=7",
        "&amp;amp;",
        "Congo",
        "Full-time",
    ]
)
FOUND = st.builds(
    JobFound,
    **{
        name: st.one_of(ANY, REAL)
        for name in (
            *("title", "apply_url", "org_name", "location_raw", "description_snippet", "deadline_raw", "posted_raw"),
            *("employment_raw", "workplace_raw", "level_raw", "country_raw", "reference", "language"),
        )
    },
)


@settings(max_examples=sized(30, 1000), deadline=None)
@given(
    FOUND,
    st.text(max_size=20),
    st.sampled_from([None, "un", "ngo", "?"]),
    st.sampled_from([None, "US", "Kenya", "\x00"]),
)
def test_whatever_a_page_says_is_normalized(
    found: JobFound, org_name: str, org_type: str | None, source_country: str | None
) -> None:
    posting = normalize(found, org_name=org_name, org_type=org_type, source_country=source_country, now=NOW)
    for moment in (posting.deadline, posting.posted_at):
        assert moment is None or moment.tzinfo is UTC
    assert posting.level_norm in (None, *LEVELS)
    assert posting.work_modality in (None, *MODALITIES)
    assert posting.career_type in (None, *CAREER_TYPES)
    assert set(posting.mission_tags) <= set(MISSION_TAGS)
    assert posting.country_iso is None or len(posting.country_iso) == 2
    assert all(text.isprintable() for text in (posting.title, posting.org_name, posting.location_raw) if text.isascii())
    posting.title.encode()
    posting.apply_url.encode()


@settings(max_examples=sized(30, 1000), deadline=None)
@given(FOUND)
def test_what_is_normalized_stays_as_it_is(found: JobFound) -> None:
    once = normalized(found)
    again = normalized(
        replace(
            found,
            title=once.title,
            org_name=once.org_name,
            apply_url=once.apply_url or found.apply_url,
            location_raw=once.location_raw,
            description_snippet=once.description_snippet,
        )
    )
    assert again == once


HOSTILE = (
    *("a" * 1_000_000, "&amp;" * 200_000, "-1111" * 100_000, "chief officer " * 50_000, "senior " * 100_000),
    *(
        "1a" * 300_000,
        "nationals of " * 50_000,
        "\u0301" * 500_000,
        "(" * 500_000,
        "Congo, " * 100_000,
        "\ud800" * 10_000,
    ),
    *("https://example.org/" + "x-" * 200_000, "https://example.org/?" + "id=1&" * 200_000, "31 12 2026 ab " * 50_000),
    "\ud800" * 10_000,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_fields_of_any_size_are_read_in_bounded_time(text: str) -> None:
    normalized(JobFound(title="Officer", apply_url="", location_raw="Nairobi", deadline_raw="31. prosince 2026"))
    job = JobFound(text, text, text, text, text, text, text, text, text, text, text, text, text)
    assert least_of(lambda: processor_s(lambda: normalized(job)), enough=1) < 1
    found = normalized(job)
    assert len(found.title) <= 300
    assert len(found.description_snippet) <= 4000


def test_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    script = (
        "import sys, comity.rules.jobs.normalize\n"
        "assert not {'pycountry', 'dateparser'} & set(sys.modules), 'loaded by importing'\n"
        "from datetime import UTC, datetime\n"
        "from comity.model.job import JobFound\n"
        "job = JobFound(title='Officer', apply_url='', location_raw='Nairobi, Kenya', deadline_raw='31 "
        "December 2026')\n"
        "comity.rules.jobs.normalize.normalize("
        "job, org_name='', org_type=None, source_country=None, now=datetime(2026, 11, 15, tzinfo=UTC))\n"
        "assert 'dateparser' not in sys.modules, 'loaded for a usual date'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
