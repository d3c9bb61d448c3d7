"""One posting in several places, and several postings with one title and reference: kept apart, and stable."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.extract.jobs.read import distinct
from comity.model.job import ExtractionMethod, JobFound, JobPosting
from comity.rules.jobs.identity import are_same_places, canonical_hash, is_elsewhere, joined_over_pages, joined_places
from comity.rules.jobs.normalize import normalize_listing

URL = "https://example.org/careers"
PLACES = ("Nairobi, Kenya", "Kampala, Uganda", "Arusha, Tanzania")
OFFICER = JobFound(
    "Programme Officer", f"{URL}/programme-officer", reference="PO-2026-1", found_by=ExtractionMethod.FEED
)


def kept(*jobs: JobFound) -> tuple[JobPosting, ...]:
    found = distinct(jobs, URL)
    return normalize_listing(found, org_name="Aid", org_type=None, source_country=None, now=datetime.now(UTC))


def per_place(url: str, **more: str) -> list[JobFound]:
    return [
        replace(OFFICER, location_raw=place, apply_url=url.format(at, place[:3].lower()), **more)
        for at, place in enumerate(PLACES, 1)
    ]


@pytest.mark.parametrize(
    "url",
    [
        URL + "/programme-officer-{1}",
        URL + "/{0}",
        URL + "?id=4{0}",
        "https://example.org/{1}/jobs/4711",
        "https://example.org/job/4711/programme-officer-{1}",
        "https://example.org/jobs/4711-officer-{1}",
        "https://{1}.example.org/jobs/4711",
        URL,
    ],
)
@pytest.mark.parametrize("reference", ["PO-2026-1", "4711", ""])
@pytest.mark.parametrize("found_by", [ExtractionMethod.FEED, ExtractionMethod.TABLE])
def test_postings_with_other_links_or_places_stay_apart(url: str, reference: str, found_by: ExtractionMethod) -> None:
    jobs = [replace(job, reference=reference, found_by=found_by) for job in per_place(url)]
    postings = kept(*jobs)
    assert [posting.location_raw for posting in postings] == list(PLACES)
    assert len({posting.canonical_hash for posting in postings}) == 3


@pytest.mark.parametrize("url", [URL + "/programme-officer", URL + "/4711", URL + "#officer", "https://forms.gle/x1"])
@pytest.mark.parametrize("found_by", [ExtractionMethod.FEED, ExtractionMethod.TABLE, ExtractionMethod.JSON_LD])
def test_one_posting_per_place_under_one_link_is_one_in_all_its_places(url: str, found_by: ExtractionMethod) -> None:
    hashes = set()
    for jobs in permutations(replace(job, found_by=found_by) for job in per_place(url)):
        [posting] = kept(*jobs)
        assert are_same_places(posting.location_raw, "; ".join(PLACES))
        hashes.add(posting.canonical_hash)
    assert len(hashes) == 1


def test_one_link_for_all_jobs_of_a_feed_names_none_of_them() -> None:
    jobs = [replace(OFFICER, title=title, reference="") for title in ("Nurse", "Driver", "Nurse")]
    assert [posting.title for posting in kept(*jobs)] == ["Nurse", "Driver"]
    numbered = [replace(OFFICER, reference=f"VA-{at}7") for at in range(3)]
    assert len({posting.canonical_hash for posting in kept(*numbered)}) == 3


def test_another_job_on_the_same_link_does_not_change_what_a_number_names() -> None:
    one, other = replace(OFFICER, reference="VA-17"), replace(OFFICER, title="Driver", reference="VA-18")
    assert kept(one)[0].canonical_hash == kept(one, other)[0].canonical_hash


def test_what_says_less_is_no_other_place() -> None:
    twice = [
        replace(OFFICER, location_raw="Nairobi", apply_url="https://example.org/job/4711"),
        replace(OFFICER, location_raw="Nairobi, Kenya", apply_url="https://example.org/job/4711/officer"),
    ]
    assert len(kept(*twice)) == 1
    assert joined_places(["Nairobi", "Nairobi, Kenya", "", "kenya, NAIROBI", "Juba"]) == "Nairobi, Kenya; Juba"
    assert not is_elsewhere("Nairobi", "Nairobi, Kenya")
    assert not is_elsewhere("", "Nairobi, Kenya")
    assert not is_elsewhere("Juba; Nairobi", "Nairobi, Kenya; Goma")
    assert is_elsewhere("Juba; Goma", "Nairobi")


def test_a_job_without_a_place_hides_no_difference_between_others() -> None:
    unsaid = replace(OFFICER, apply_url=URL)
    postings = kept(unsaid, *(replace(job, apply_url=URL) for job in per_place(URL)))
    assert [posting.location_raw for posting in postings] == ["", *PLACES]


def test_countries_are_joined_with_their_places() -> None:
    [posting] = kept(
        replace(OFFICER, location_raw="Nairobi", country_raw="Kenya"),
        replace(OFFICER, location_raw="Kampala", country_raw="Uganda"),
    )
    assert (posting.location_raw, posting.country_iso) == ("Nairobi; Kampala", None)


def test_pages_of_one_listing_share_the_places_of_a_posting() -> None:
    first, second, third = per_place(f"{URL}/programme-officer")
    other = replace(OFFICER, title="Driver", location_raw="Goma")
    pages = joined_over_pages([(URL, [first, other]), (f"{URL}?page=2", [second]), (f"{URL}?page=3", [third])])
    assert [len(page) for page in pages] == [2, 1, 1]
    assert all(are_same_places(page[0].location_raw, "; ".join(PLACES)) for page in pages)
    assert pages[0][1].location_raw == "Goma"
    linkless = [replace(job, apply_url=URL) for job in per_place(URL)]
    assert joined_over_pages([(URL, linkless[:2]), (f"{URL}?page=2", linkless[2:])]) == [linkless[:2], linkless[2:]]


NAMES = st.lists(st.sampled_from(["Juba", "Goma", "Nairobi, Kenya", "Nairobi", "Oslo; Bergen", "", " ; "]), max_size=6)


@settings(deadline=None)
@given(NAMES.flatmap(lambda names: st.tuples(st.just(names), st.permutations(names))))
def test_the_order_of_places_changes_neither_line_nor_hash(orders: tuple[list[str], list[str]]) -> None:
    line, again = map(joined_places, orders)
    assert are_same_places(line, again)
    assert joined_places([line]) == line
    hashes = {canonical_hash(org_name="Aid", title="Nurse", location=each, apply_url=URL) for each in (line, again)}
    assert len(hashes) == 1


def test_a_line_of_places_is_bounded() -> None:
    line = joined_places(f"Place number {at}, Country" for at in range(1000))
    assert len(line) <= 300
    assert line.endswith("Country")
