"""Which posting is which: spellings of one posting share a hash, edits keep it, other postings have another."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.rules.jobs.identity import canonical_hash, is_same_link, link_identity

NUMBERED = "https://jobs.example.org/careers/48213-programme-officer"
BARE = "https://example.org/careers/programme-officer"


def hashed(
    url: str = BARE,
    title: str = "Programme Officer",
    location: str = "Nairobi, Kenya",
    org: str = "Example Aid",
    reference: str = "",
    shared: bool = False,
) -> str:
    return canonical_hash(
        org_name=org, title=title, location=location, apply_url=url, reference=reference, is_link_shared=shared
    )


SAME_LINK = [
    ("https://example.org/jobs/123", "http://example.org/jobs/123"),
    ("https://example.org/jobs/123", "https://www.example.org/jobs/123"),
    ("https://example.org/jobs/123", "https://EXAMPLE.org/Jobs/123"),
    ("https://example.org/jobs/123", "https://example.org:443/jobs/123"),
    ("https://example.org/jobs/123", "http://example.org:80/jobs/123"),
    ("https://example.org/jobs/123", "https://example.org/jobs/123/"),
    ("https://example.org/jobs/123", "https://example.org/jobs/123?"),
    ("https://example.org/jobs/123", "https://example.org/jobs/123#apply"),
    ("https://example.org/jobs/123", "https://example.org/jobs/123?utm_source=x&utm_campaign=y"),
    ("https://example.org/jobs/123", "https://example.org/jobs/123?gclid=abc&fbclid=def"),
    ("https://example.org/jobs/123", "https://example.org/jobs/123?gh_src=board"),
    ("https://example.org/jobs/123", "https://example.org/jobs/123;jsessionid=ABCDEF0123456789"),
    ("https://example.org/jobs/123", "  https://example.org/jobs/123\n"),
    ("https://example.org/jobs/123", "https://example.org/jobs/\u200b123"),
    ("https://example.org/jobs/123", "https://example.org/jobs/123/apply"),
    ("https://example.org/jobs/123", "https://example.org/./jobs/../jobs/123"),
    ("https://example.org/j?a=1&id=2", "https://example.org/j?id=2&amp;a=1"),
    ("https://example.org/j?id=2", "https://example.org/j?id=2&utm_medium=feed"),
    ("https://example.org/jobs/4821-old-title", "https://example.org/jobs/4821-new-title"),
    ("https://example.org/jobs/old-title-48213", "https://example.org/jobs/new-title-48213"),
    (
        "https://x.wd3.example.com/job/Geneva/Officer_JR-1234",
        "https://x.wd3.example.com/job/Geneva/Senior-Officer_JR-1234",
    ),
    ("https://example.org/en-us/job/581234/old-title", "https://example.org/en-us/job/581234/new-title"),
    ("https://example.org/job/581234", "https://example.org/job/581234/officer"),
    ("https://example.org/caf%C3%A9/job-9/officer", "https://example.org/café/job-9/officer"),
    ("https://example.org/a%20job/officer", "https://example.org/a+job/officer"),
    ("mailto:jobs@example.org", "MAILTO:jobs@example.org "),
]
OTHER_LINK = [
    ("https://example.org/jobs/123", "https://example.org/jobs/124"),
    ("https://example.org/jobs/123", "https://example.com/jobs/123"),
    ("https://example.org/jobs/123", "https://eu.example.org/jobs/123"),
    ("https://example.org/jobs/123", "https://example.org:8443/jobs/123"),
    ("https://example.org/j?id=1", "https://example.org/j?id=2"),
    ("https://example.org/j?id=1", "https://example.org/j?id=1&company=7"),
    ("https://example.org/careers#/job/123", "https://example.org/careers#/job/124"),
    ("https://example.org/officer", "https://example.org/manager"),
    ("https://example.org/company/581234/officer", "https://example.org/company/581234/manager"),
    ("https://example.org/careers/45", "https://example.org/careers/46"),
    ("https://example.org/jobs/123", ""),
    ("https://example.org/2026/officer", "https://example.org/2027/officer"),
]
POSTINGS = [
    "https://boards.example.com/org/jobs/4567890",
    "https://jobs.example.com/org/0b6f1c1e-9f2a-4c58-8d4e-2f1f0a7c9b11",
    "https://apply.example.com/j/8F3A9C21D0",
    "https://careers.example.com/Org/743999812345-officer",
    "https://org.example.com/jobs/12345-officer",
    "https://org.example.com/jobs/officer-12345",
    "https://org.example.com/en/job/Geneva/Officer_JR-10234",
    "https://org.example.com/en/job/Geneva/Officer_R10234-1",
    "https://example.org/vacancy.aspx?VacancyID=77",
    "https://example.org/?p=1234",
    "https://example.org/careers?gh_jid=445566",
    "https://example.org/careers#/jobs/1234",
    "https://example.org/files/48213.pdf",
    "https://example.org/careers/45",
    "https://example.org/job/581234/officer",
]
NO_POSTINGS = [
    "https://example.org/careers",
    "https://example.org/careers/2026/11/programme-officer",
    "https://example.org/careers/officer-2026",
    "https://example.org/careers/officer-20261231",
    "https://example.org/apply?form=contact",
    "https://example.org/jobs?page=2",
    "https://example.org/jobs/page/2",
    "https://example.org/jobs/2026/officer",
    "https://docs.google.com/forms/d/e/1FAIpQLSf0a1b2c3d4e5f6/viewform",
    "https://bit.ly/3xYz12abcd",
    "https://example.org/covid19response2026",
    "mailto:jobs@example.org",
    "javascript:void(0)",
    "not-a-link",
    "",
    "https://[broken/",
    "https://example.org/%zz%",
]


@pytest.mark.parametrize(("one", "other"), SAME_LINK)
def test_spellings_of_one_link_are_one_link(one: str, other: str) -> None:
    assert hashed(one) == hashed(other)


@pytest.mark.parametrize(("one", "other"), OTHER_LINK)
def test_other_links_are_other_postings(one: str, other: str) -> None:
    assert hashed(one) != hashed(other)


@pytest.mark.parametrize("url", POSTINGS)
def test_a_link_with_a_number_names_a_posting_and_edits_keep_the_hash(url: str) -> None:
    assert link_identity(url).is_posting
    assert hashed(url) == hashed(url, title="Senior Programme Officer") == hashed(url, location="Kampala, Uganda")
    assert hashed(url) != hashed(url, org="Another Organisation")


@pytest.mark.parametrize("url", NO_POSTINGS)
def test_a_link_without_a_number_leaves_the_telling_to_the_words(url: str) -> None:
    assert not link_identity(url).is_posting
    hashes = {
        hashed(url),
        hashed(url, title="Senior Programme Officer"),
        hashed(url, location="Kampala, Uganda"),
        hashed(url, org="Another Organisation"),
    }
    assert len(hashes) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Programme Officer", "  programme   OFFICER "),
        ("Officer – Gender", "Officer - Gender"),
        ("Women’s “Health” Officer", 'Women\'s "Health" Officer'),
        ("R&D Officer", "R&amp;D Officer"),
        ("R&D Officer", "R&amp;amp;D Officer"),
        ("Officer", "Off\u200bicer"),
        ("Chargé de projet", "Charge\u0301 de projet"),
        ("Officer (P3)", "Ｏｆｆｉｃｅｒ （Ｐ３）"),
        ("Programme\u00a0Officer", "Programme\tOfficer"),
        ("Straße", "STRASSE"),
    ],
)
def test_spellings_of_one_title_are_one_title(one: str, other: str) -> None:
    assert hashed(title=one) == hashed(title=other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Officer", "Officers"), ("Officer I", "Officer II"), ("Charge", "Chargé"), ("C Engineer", "C++ Engineer")],
)
def test_titles_that_differ_are_other_postings(one: str, other: str) -> None:
    assert hashed(title=one) != hashed(title=other)


def test_a_reference_names_a_posting_where_the_link_does_not() -> None:
    assert hashed(reference="REF-2026/017") == hashed(reference="ref 2026 017", title="Senior Programme Officer")
    assert hashed(reference="REF-2026/017") != hashed(reference="REF-2026/018")
    assert hashed(reference="2026") != hashed(reference="2026", title="Another")  # a year is no reference


def test_a_reference_that_the_link_repeats_adds_nothing() -> None:
    assert hashed(NUMBERED, reference="48213") == hashed(NUMBERED)
    assert hashed(NUMBERED, reference="99-77") != hashed(NUMBERED)


def test_a_link_that_several_jobs_share_names_none_of_them() -> None:
    assert hashed(NUMBERED, shared=True) != hashed(NUMBERED, shared=True, title="Driver")
    assert hashed(NUMBERED, shared=True) != hashed(NUMBERED)


def test_fields_do_not_run_into_each_other() -> None:
    assert hashed(title="a b", location="c") != hashed(title="a", location="b c")
    assert hashed(title="", location="x") != hashed(title="x", location="")


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40)


@settings(deadline=None)  # the first question loads the tables
@given(WORDS, WORDS, WORDS, st.sampled_from([BARE, NUMBERED, "", "mailto:a@example.org"]))
def test_white_space_case_and_tracking_never_change_a_hash(org: str, title: str, location: str, url: str) -> None:
    plain = hashed(url, title, location, org)
    tracked = f"{url}?utm_source=news&gclid=1#top" if url.startswith("https") else url
    assert hashed(tracked, f" {title}\n", f"\t{location} ", f"{org}  ") == plain
    assert hashed(url.upper(), title, location, org) == plain


@settings(deadline=None)  # the first question loads the tables
@given(st.text(max_size=300))
def test_any_link_has_an_identity(url: str) -> None:
    assert len(hashed(url)) == 64
    assert link_identity(url) == link_identity(url)


def test_a_reference_tells_postings_apart_and_where_somebody_came_from_does_not() -> None:
    link = "https://tribunal.example.int/index.cfm?event=vacancy"
    assert link_identity(f"{link}&ref=VA/2026/101") != link_identity(f"{link}&ref=VA/2026/102")
    assert link_identity("https://a.example.org/jobs/4001?ref=home") == link_identity("https://a.example.org/jobs/4001")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("https://a.org/jobs/1", "https://a.org/jobs/1?source=board&utm_medium=x", True),
        ("https://a.org/jobs?id=1&ref=home", "https://a.org/jobs?id=1&ref=footer", True),
        ("https://a.org/jobs/1#apply", "https://a.org/jobs/1?src=x#apply", True),
        ("https://a.org/jobs?ref=17", "https://a.org/jobs?ref=18", False),
        ("http://a.org/jobs/1", "https://a.org/jobs/1", False),
        ("https://a.org/jobs/1#/7", "https://a.org/jobs/1#/8", False),
    ],
)
def test_a_link_is_the_same_but_for_tracking(one: str, other: str, is_same: bool) -> None:
    assert is_same_link(one, other) is is_same
