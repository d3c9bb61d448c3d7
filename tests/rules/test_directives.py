"""Robots meta contents and X-Robots-Tag values, read for one agent."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comity.model.page import PageDirectives
from comity.rules.directives import read_directives


def flags(directives: PageDirectives) -> str:
    names = {"noindex": directives.noindex, "nofollow": directives.nofollow, "noarchive": directives.noarchive}
    return " ".join(name for name, asked in names.items() if asked)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ""),
        ("index, follow", ""),
        ("all", ""),
        ("noindex", "noindex"),
        ("NOINDEX", "noindex"),
        ("nofollow", "nofollow"),
        ("noindex,nofollow", "noindex nofollow"),
        ("  noindex ,  NoFollow  ", "noindex nofollow"),
        ("noindex nofollow", "noindex nofollow"),
        ("noindex; nofollow", "noindex nofollow"),
        ("none", "noindex nofollow"),
        ("noarchive", "noarchive"),
        ("nocache", "noarchive"),
        ("index, noindex", "noindex"),
        ("max-snippet:20, noindex", "noindex"),
        ("max-image-preview: large", ""),
        ("nosnippet, notranslate, noimageindex", ""),
        ("noindexed", ""),
        ("no index", ""),
        ("otherbot: noindex", "noindex"),  # in a meta element only its name addresses a crawler
    ],
)
def test_a_meta_content_asks_for(content: str, expected: str) -> None:
    assert flags(read_directives([content], [], "comitybot")) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], ""),
        (["noindex"], "noindex"),
        (["noindex", "nofollow"], "noindex nofollow"),
        (["noindex, nofollow"], "noindex nofollow"),
        (["none"], "noindex nofollow"),
        (["otherbot: noindex, nofollow"], ""),
        (["comitybot: noindex"], "noindex"),
        (["ComityBot : NOINDEX"], "noindex"),
        (["comitybot/1.0: noindex"], "noindex"),
        (["comitybot-news: noindex"], ""),
        (["*: noindex"], "noindex"),
        (["noindex, otherbot: nofollow"], "noindex"),
        (["otherbot: noindex, comitybot: nofollow"], "nofollow"),
        (["otherbot: noindex, nofollow, comitybot: noarchive, nofollow"], "nofollow noarchive"),
        (["otherbot: noindex", "nofollow"], "nofollow"),
        (["googlebot: max-snippet: 5, noindex"], ""),
        (["max-snippet: 5, noindex"], "noindex"),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], "noindex"),
        (["unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, nofollow"], "nofollow"),
    ],
)
def test_header_values_ask_for(values: list[str], expected: str) -> None:
    assert flags(read_directives([], values, "ComityBot/1.0")) == expected


def test_the_most_restrictive_of_all_sources_counts() -> None:
    directives = read_directives(["index, nofollow", "noarchive"], ["comitybot: noindex", "follow"], "comitybot")
    assert flags(directives) == "noindex nofollow noarchive"


def test_the_evidence_is_what_asked_for_something_as_written() -> None:
    directives = read_directives(
        ["index, follow", " NoIndex "], ["otherbot: none", "unavailable_after: 1 Jan 2030", "all"], "comitybot"
    )
    assert directives.evidence == ("meta robots: NoIndex", "X-Robots-Tag: unavailable_after: 1 Jan 2030")


def test_an_agent_without_a_token_is_addressed_by_nobody() -> None:
    assert read_directives([], ["otherbot: noindex", "7: noindex"], "") == PageDirectives()


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("25 Jun 2010 15:00:00 PST", datetime(2010, 6, 25, 23, tzinfo=UTC)),
        ("25-Jun-2010 15:00:00 GMT", datetime(2010, 6, 25, 15, tzinfo=UTC)),
        ("Friday, 25-Jun-10 15:00:00 GMT", datetime(2010, 6, 25, 15, tzinfo=UTC)),
        ("Fri, 25 Jun 2010 15:00:00 GMT", datetime(2010, 6, 25, 15, tzinfo=UTC)),
        ("25 June 2010 15:00 +0200", datetime(2010, 6, 25, 15, tzinfo=timezone(timedelta(hours=2)))),
        ("25 Jun 2010", datetime(2010, 6, 25, tzinfo=UTC)),
        ("2010-06-25", datetime(2010, 6, 25, tzinfo=UTC)),
        ("2010-06-25T15:00:00Z", datetime(2010, 6, 25, 15, tzinfo=UTC)),
        ("2010-06-25T15:00:00-03:00", datetime(2010, 6, 25, 18, tzinfo=UTC)),
        ("2010-06-25 15:00:00", datetime(2010, 6, 25, 15, tzinfo=UTC)),
        ("31 Feb 2010", None),
        ("25 Foo 2010", None),
        ("25 Jun 2010 25:00:00 GMT", None),
        ("25 Jun 2010 15:00:00 +9900", None),
        ("soon", None),
        ("", None),
    ],
)
def test_an_announced_end_is_read_in_the_usual_forms(value: str, moment: datetime | None) -> None:
    for directives in (
        read_directives([f"unavailable_after: {value}"], [], "comitybot"),
        read_directives([], [f"noarchive, UNAVAILABLE_AFTER: {value}"], "comitybot"),
    ):
        assert directives.unavailable_after == moment
        assert not directives.noindex


def test_the_earliest_announced_end_counts() -> None:
    values = [
        "unavailable_after: 2 Jan 2030",
        "unavailable_after: 1 Jan 2030",
        "otherbot: unavailable_after: 1 Jan 2020",
    ]
    directives = read_directives([], values, "comitybot")
    assert directives.unavailable_after == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_page_may_be_kept_until_its_end() -> None:
    end = datetime(2030, 1, 1, tzinfo=UTC)
    directives = PageDirectives(unavailable_after=end)
    assert not directives.forbids_storing(end - timedelta(seconds=1))
    assert directives.forbids_storing(end)
    assert PageDirectives(noindex=True).forbids_storing(end - timedelta(days=1))
    assert not PageDirectives().forbids_storing(end)


words = st.sampled_from(
    ["noindex", "nofollow", "none", "all", "noarchive", "otherbot:", "comitybot:", "a:b", "unavailable_after:"]
)
values = st.lists(st.one_of(st.text(max_size=30), st.lists(words, max_size=6).map(", ".join)), max_size=5)


@given(values, values, st.text(max_size=10))
@example(["unavailable_after: 9999-12-31T23:59:59-23:59"], ["unavailable_after"], "")
@example(["unavailable_after: 0001-01-01T00:00:00+23:59", "unavailable_after: 1 Jan 2030"], [], "")
def test_no_text_raises(meta: list[str], headers: list[str], agent: str) -> None:
    directives = read_directives(meta, headers, agent)
    assert bool(directives.evidence) or directives == PageDirectives()
    end = directives.unavailable_after
    long_ago = datetime(1, 1, 1, 0, 0, 0, tzinfo=UTC)
    if end is not None:
        assert directives.forbids_storing(end)
    if end is None or end > long_ago:
        assert directives.forbids_storing(long_ago) is directives.noindex, "before its end only noindex forbids"


@given(values, values, values)
def test_one_more_source_never_takes_a_request_back(meta: list[str], headers: list[str], more: list[str]) -> None:
    before = flags(read_directives(meta, headers, "comitybot")).split()
    after = flags(read_directives([*meta, *more], [*headers, *more], "comitybot")).split()
    assert set(before) <= set(after)


def test_endless_sources_are_bounded() -> None:
    directives = read_directives(["noindex"] * 5000, ["x," * 500_000] * 5000, "comitybot")
    assert directives.noindex
    assert len(directives.evidence) <= 64
