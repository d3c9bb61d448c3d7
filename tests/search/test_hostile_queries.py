"""Whatever the public types is an answer: never an error, never slow, and never more than was asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comity.database.connection import Database, open_database
from comity.database.schema import ensure_current
from comity.model.errors import BadInput
from comity.model.search import SearchQuery, SearchSort
from comity.rules.search.highlight import SNIPPET_LENGTH, Marker
from comity.rules.search.terms import LONGEST_WORD, MOST_TERMS, indexed, read_terms, words_of
from comity.search_engine.database_engine import DatabaseSearch
from comity.search_engine.job_search import SearchEngine
from tests.search.postings import NOW, POSTINGS, plain
from tests.servers.waiting import least_of
from tests.sizes import sized

NASTY = (
    '"',
    "'",
    '"""',
    "\x00",
    "a\x00b",
    "\ud800",
    "* * *",
    "a* OR b*",
    "NEAR(a b, 5)",
    "title:water",
    "{title org}: x",
    "^water",
    "water AND",
    "NOT",
    "-",
    "--",
    "- -a",
    "-" * 500,
    "(((((((",
    "'; DROP TABLE search_documents; --",
    "a & b | !c <-> d:*",
    "\\",
    "%_%",
    "water " * 2000,
    "w" * 10_000,
    '"' + "a " * 5000,
    "-a " * 3000,
    "é" * 10_000,
    "国" * 10_000,
    "\u0301" * 5000,
    "ﷺ" * 600,
    "🦺 👷",
    "\u202e\u200b\ufeff",
)
# What is worth mixing: the signs of each engine's own language among words that are there.
SIGNS = st.sampled_from(['"', "-", "*", "(", ")", ":", "^", "'", "\\", "|", "&", "!", "<->", "\x00", "\n", " ", "  "])
TEXTS = st.lists(
    st.one_of(
        SIGNS, st.sampled_from(["water", "geneve", "AND", "OR", "NOT", "NEAR", "müller", "国"]), st.text(max_size=8)
    ),
    max_size=30,
).map("".join)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseSearch]:
    database = open_database(tmp_path_factory.mktemp("search") / "state.db")
    ensure_current(database)
    engine = DatabaseSearch(database)
    engine.put(POSTINGS)
    yield engine
    database.close()


@pytest.fixture(scope="module")
def shared(migrated_postgresql: Database) -> Iterator[DatabaseSearch]:
    engine = DatabaseSearch(migrated_postgresql)
    engine.put(POSTINGS)
    yield engine
    engine.clear()


def test_nothing_that_is_typed_is_an_error_or_slow(filled: SearchEngine) -> None:
    for text in NASTY:

        def took_s(text: str = text) -> float:
            begun = time.monotonic()
            assert filled.query(SearchQuery(text), NOW).total <= len(POSTINGS)
            return time.monotonic() - begun

        assert least_of(took_s, enough=2) < 20, text[:40]
    assert filled.query(SearchQuery(open_only=False), NOW).total == len(POSTINGS)  # and nothing was harmed


@given(TEXTS, st.sampled_from(SearchSort))
@settings(max_examples=sized(25, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_databases_give_the_same_answer_to_anything(
    embedded: DatabaseSearch, shared: DatabaseSearch, text: str, sort: SearchSort
) -> None:
    query = SearchQuery(text, open_only=False, sort=sort, country_iso=(text[:5],) if len(text) % 5 == 4 else ())
    here, there = embedded.query(query, NOW), shared.query(query, NOW)
    assert {hit.posting for hit in here.hits} == {hit.posting for hit in there.hits}
    for name in here.facets:
        assert (name, here.facets[name]) == (name, there.facets[name])
    assert here.total == there.total
    assert here.total == len(here.hits)


@given(st.text(max_size=600))
@settings(max_examples=sized(30, 1000), deadline=None)
def test_terms_are_bounded_and_hold_only_folded_words(text: str) -> None:
    terms = read_terms(text)
    every = [word for term in (*terms.wanted, *terms.unwanted) for run in term.runs for word in run]
    assert len(terms.wanted) + len(terms.unwanted) <= MOST_TERMS
    for word in every:
        assert 0 < len(word) <= LONGEST_WORD
        assert word.isalnum(), word
        assert words_of(word) == [word]  # folding what is folded changes nothing


@given(st.text(max_size=400), TEXTS)
@settings(max_examples=sized(30, 1000), deadline=None)
def test_marking_changes_no_text(text: str, query: str) -> None:
    marker = Marker(read_terms(query))
    assert plain(marker.marked(text)) == text
    snippet = plain(marker.snippet(text))
    assert snippet.strip("…") in text or "…" in text
    assert len(snippet) <= SNIPPET_LENGTH + 2


@given(st.text(alphabet=st.characters(categories=["L", "N", "Zs"]), min_size=1, max_size=40))
@settings(max_examples=sized(30, 1000), deadline=None)
def test_a_text_is_found_by_its_own_words(text: str) -> None:
    kept = f" {indexed(text)} "
    for term in read_terms(text).wanted:
        assert any(f" {' '.join(run)}" in kept for run in term.runs)


@pytest.mark.parametrize(
    "bad",
    [
        {"limit": 0},
        {"limit": 101},
        {"limit": -1},
        {"offset": -1},
        {"offset": 10_001},
        {"country_iso": ("KE",) * 51},
        {"facets": ("apply_url",)},
    ],
)
def test_what_has_no_bound_is_refused_in_words(bad: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(bad))):
        SearchQuery(**bad)


def test_a_quote_that_is_still_open_is_somebody_typing(embedded: DatabaseSearch, shared: DatabaseSearch) -> None:
    """Not so on Meilisearch, which knows no phrase that goes on: it finds the words apart, too."""
    for engine in (embedded, shared):
        assert [hit.posting.id.int for hit in engine.query(SearchQuery('"water engin'), NOW).hits] == [1]


def test_a_search_waits_for_no_writer(embedded: DatabaseSearch) -> None:
    with embedded._database.write():  # which nobody else could be at the same time
        assert embedded.query(SearchQuery("water"), NOW).total == 2
