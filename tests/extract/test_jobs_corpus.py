"""The labelled pages of tests/corpus/jobs: whole careers pages, feeds and answers, with what a person sees on them."""

from __future__ import annotations

import pytest

from bench._job_corpus import LabelledPage, Score, labelled_pages
from comity.model.job import ExtractionMethod

PAGES = labelled_pages()
KNOWN = [page for page in PAGES if not page.held_out]
HELD_OUT = [page for page in PAGES if page.held_out]
# What these pages do not say in a way that we read; everything else is asked for exactly.
UNREAD = {
    (name, "location_raw")
    for name in ("single-opening", "numbered-paragraphs", "hotel-chain-filters", "think-tank-simple")
}


def name_of(page: LabelledPage) -> str:
    return page.name


def scored(pages: list[LabelledPage]) -> Score:
    score = Score()
    for page in pages:
        score.add(page, page.read())
    return score


def test_the_corpus_is_large_and_varied() -> None:
    assert len(PAGES) >= 200
    assert len(HELD_OUT) >= 15
    assert sum(not page.jobs for page in PAGES) >= 30
    assert {page.method for page in PAGES} >= set(ExtractionMethod)


@pytest.mark.parametrize("page", KNOWN, ids=name_of)
def test_a_known_page_is_read_as_a_person_reads_it(page: LabelledPage) -> None:
    listing = page.read()
    found = {(job.title, job.apply_url): job for job in listing.jobs}
    wanted = {(job["title"], job["apply_url"]): job for job in page.jobs}
    assert listing.kind == page.kind, listing.message
    assert found.keys() == wanted.keys()
    assert len(listing.jobs) == len(page.jobs)
    assert listing.next_url == page.next_url
    for key, job in found.items():
        for field in ("location_raw", "deadline_raw"):
            if (page.name, field) not in UNREAD:
                assert getattr(job, field) == wanted[key][field], f"{field} of {job.title}"


@pytest.mark.parametrize("page", KNOWN, ids=name_of)
def test_whatever_is_read_is_plain_and_bounded(page: LabelledPage) -> None:
    for job in page.read().jobs:
        for text in (job.title, job.location_raw, job.description_snippet, job.deadline_raw, job.org_name):
            assert text == " ".join(text.split())
            assert "<p" not in text
            assert "&lt;" not in text
        assert len(job.description_snippet) <= 500
        assert job.apply_url.startswith(("http://", "https://"))


def test_known_pages_are_read_almost_without_mistake() -> None:
    score = scored(KNOWN)
    assert score.precision >= 0.97, score.misses
    assert score.recall >= 0.97, score.misses


def test_held_out_pages_stay_as_well_read_as_they_were() -> None:
    score = scored(HELD_OUT)
    assert score.precision >= 0.95, score.misses
    assert score.recall >= 0.85, score.misses
