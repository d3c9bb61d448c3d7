"""What every engine does alike: SQLite, PostgreSQL and (against a stand-in) Meilisearch."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from comity.database import search
from comity.database.connection import Database
from comity.model.errors import BadInput
from comity.model.search import FacetCount, SearchQuery, SearchSort
from comity.rules.search.terms import plan_of
from comity.search_engine import database_engine
from comity.search_engine.database_engine import DatabaseSearch
from comity.search_engine.job_search import SearchEngine
from tests.search.postings import NOW, POSTINGS, SOURCES, days, found, numbers, plain, posting, shown

NEWEST = SearchSort.NEWEST
DEADLINE = SearchSort.DEADLINE


WORDS: tuple[tuple[str, set[int]], ...] = (
    ("water", {1, 3}),
    ("WATER engineer", {1, 3}),
    ("wat", {1, 3}),  # the last word may go on
    ("wat engineer", set()),  # the others may not
    ('"water engineer"', {1}),
    ('"engineer water"', set()),
    ("water -driver", {3}),
    ('-"water engineer" water', {3}),
    ("-health -water -nairobi", {4, 7, 8}),
    ("Geneve", {2}),
    ("Genève", {2}),
    ("GENÈVE", {2}),
    ("gene", {2, 3}),
    ("medecins", {2}),
    ("infirmiere", {2}),
    ("Mueller", {4}),
    ("Muller", {4}),
    ("Müller", {4}),
    ("strasse", {4}),
    ("STRASSE", {4}),
    ("große", {4}),
    ("grosse strasse koeln", {4}),
    ("oeffentlichkeitsarbeit", {4}),
    ('"muller stiftung"', {4}),
    ('"mueller stiftung"', {4}),
    ("联合国", {7}),
    ("国联", set()),
    ("北京", {7}),
    ("инженер", {8}),
    ("ИНЖЕНЕР водо", {8}),
    ("o'hara", {8}),
    ('o"hara', {8}),
    ("wash", {1}),
    ("kenya", {1}),
    ("nowhere", set()),
    ("", {1, 2, 3, 4, 7, 8}),
    ("   ", {1, 2, 3, 4, 7, 8}),
    ('"" - * ( ) :', {1, 2, 3, 4, 7, 8}),
)
FILTERS: tuple[tuple[dict[str, Any], set[int]], ...] = (
    ({"country_iso": ("KE",)}, {1}),
    ({"country_iso": ("ke", "CH")}, {1, 2, 3}),
    ({"level_norm": ("senior", "lead")}, {2, 4}),
    ({"work_modality": ("field",)}, {1}),
    ({"career_type": ("permanent", "nonsense")}, {2}),
    ({"mission_tags": ("health",)}, {2, 3}),
    ({"mission_tags": ("heal", "_ealth", "%")}, set()),
    ({"mission_tags": ("nutrition", "wash")}, {1, 3}),
    ({"language": ("en",)}, {1, 3}),
    ({"language": ("en",), "open_only": False}, {1, 3, 5, 6}),
    ({"org_name": ("medecins DU lac",)}, {2}),
    ({"org_name": ("medecins",)}, set()),
    ({"org_name": ('O"Hara\\ & Söhne',)}, {8}),
    ({"source_id": (SOURCES[1],)}, {2}),
    ({"source_id": (UUID(int=1),)}, set()),
    ({"international_eligible": True}, {1}),
    ({"international_eligible": False}, {2}),
    ({"deadline_after": days(3)}, {1, 2, 4}),
    ({"deadline_after": days(3.1)}, {1, 4}),
    ({"deadline_before": days(10)}, {1, 2}),
    ({"deadline_after": days(-5), "deadline_before": days(9), "open_only": False}, {2, 6}),
    ({"country_iso": ("KE",), "open_only": False}, {1, 5, 6}),
    ({"country_iso": ("CH",), "mission_tags": ("health",), "language": ("fr",)}, {2}),
    ({"country_iso": ("\x00", "\ud800", '" OR 1=1', "K" * 10_000)}, set()),
    ({"org_name": ("\x00\ud800",)}, set()),
)


def test_words_find_postings(filled: SearchEngine) -> None:
    for text, expected in WORDS:
        page = filled.query(SearchQuery(text), NOW)
        assert (text, numbers(page), page.total) == (text, expected, len(expected))


def test_filters_narrow_what_is_found(filled: SearchEngine) -> None:
    for filters, expected in FILTERS:
        page = filled.query(SearchQuery(**filters), NOW)
        assert (filters, numbers(page), page.total) == (filters, expected, len(expected))


def test_a_document_comes_back_as_it_was_given(filled: SearchEngine) -> None:
    page = filled.query(SearchQuery(open_only=False), NOW)
    assert {hit.posting for hit in page.hits} == set(POSTINGS)


def test_the_title_counts_more_than_who_than_where_than_the_rest(engine: SearchEngine) -> None:
    engine.put(
        [
            posting(1, "Clerk", description_snippet="Grants are paid out by others."),
            posting(2, "Clerk", location_raw="Grants Pass"),
            posting(3, "Clerk", org_name="House of Grants"),
            posting(4, "Grants Clerk"),
        ]
    )
    assert found(engine.query(SearchQuery("grants"), NOW)) == [4, 3, 2, 1]


def test_postings_are_sorted_by_age_or_deadline(filled: SearchEngine) -> None:
    assert found(filled.query(SearchQuery(sort=NEWEST), NOW)) == [1, 2, 3, 4, 8, 7]
    assert found(filled.query(SearchQuery(), NOW)) == [1, 2, 3, 4, 8, 7]
    assert found(filled.query(SearchQuery(sort=DEADLINE), NOW)) == [2, 1, 4, 3, 8, 7]
    assert found(filled.query(SearchQuery("engineer", sort=DEADLINE, open_only=False), NOW)) == [6, 1, 3, 5]
    filled.put([replace(POSTINGS[6], posted_at=days(1))])  # what the page says goes before when we saw it
    assert found(filled.query(SearchQuery(sort=NEWEST), NOW))[0] == 7


def test_the_result_comes_in_parts(filled: SearchEngine) -> None:
    whole = found(filled.query(SearchQuery(sort=NEWEST, limit=100), NOW))
    parts = [found(filled.query(SearchQuery(sort=NEWEST, limit=2, offset=start), NOW)) for start in (0, 2, 4, 6)]
    assert [each for part in parts for each in part] == whole
    far = filled.query(SearchQuery(offset=10_000), NOW)
    assert (far.hits, far.total) == ((), 6)


def test_facets_count_what_was_found(filled: SearchEngine) -> None:
    page = filled.query(SearchQuery(country_iso=("CH", "KE")), NOW)
    facets = {name: {each.value: each.count for each in counts} for name, counts in page.facets.items()}
    assert facets == {
        "country_iso": {"CH": 2, "KE": 1},
        "level_norm": {"junior": 1, "mid": 1, "senior": 1},
        "work_modality": {"field": 1, "onsite": 1},
        "career_type": {"fixed-term": 1, "permanent": 1},
        "mission_tags": {"health": 2, "engineering": 1, "nutrition": 1, "wash": 1},
        "international_eligible": {"false": 1, "true": 1},
        "language": {"en": 2, "fr": 1},
        "org_name": {"Relief House": 2, "Médecins du Lac": 1},
    }
    assert page.facets["country_iso"] == (FacetCount("CH", 2), FacetCount("KE", 1))
    words = filled.query(SearchQuery("water -kenya", facets=("language",), limit=1), NOW)
    assert words.facets == {"language": (FacetCount("en", 1),)}
    assert filled.query(SearchQuery("nowhere", facets=("language",)), NOW).facets == {"language": ()}
    assert filled.query(SearchQuery(facets=()), NOW).facets == {}


def test_what_matched_is_marked(filled: SearchEngine) -> None:
    (hit,) = filled.query(SearchQuery("geneve infirm"), NOW).hits
    assert shown(hit.title) == "[Infirmière] spécialisée"
    assert shown(hit.location) == "[Genève], Suisse"
    by_id = {each.posting.id.int: each for each in filled.query(SearchQuery("water"), NOW).hits}
    assert shown(by_id[3].snippet).startswith("The [water] supply")
    for each in by_id.values():
        assert plain(each.title) == each.posting.title


def test_putting_again_replaces_and_deleting_forgets(filled: SearchEngine) -> None:
    filled.put([replace(POSTINGS[0], title="Road Builder", description_snippet="")])
    assert numbers(filled.query(SearchQuery("road"), NOW)) == {1}
    assert numbers(filled.query(SearchQuery("water"), NOW)) == {3}
    for _ in range(2):
        filled.delete([UUID(int=1), UUID(int=4), UUID(int=777)])
    assert numbers(filled.query(SearchQuery(), NOW)) == {2, 3, 7, 8}
    assert filled.query(SearchQuery("road"), NOW).total == 0
    filled.put([POSTINGS[0], POSTINGS[0]])
    assert numbers(filled.query(SearchQuery("water engineer"), NOW)) == {1, 3}
    filled.put([])
    filled.delete([])
    filled.clear()
    assert filled.query(SearchQuery(open_only=False), NOW).total == 0


def test_what_is_open_depends_on_when_it_is_asked(filled: SearchEngine) -> None:
    assert numbers(filled.query(SearchQuery(), days(3))) == {1, 2, 3, 4, 7, 8}
    assert numbers(filled.query(SearchQuery(), days(3.01))) == {1, 3, 4, 7, 8}
    assert numbers(filled.query(SearchQuery(), days(-3))) == {1, 2, 3, 4, 6, 7, 8}


def test_the_counts_of_a_large_result_are_kept_for_a_while(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_engine, "LARGE_RESULT", 3)
    engine = DatabaseSearch(database)
    engine.put(POSTINGS[:3])
    assert (engine.query(SearchQuery(), NOW).total, engine.query(SearchQuery("water"), NOW).total) == (3, 2)
    engine.put([POSTINGS[3], posting(20, "Water Carrier")])
    soon, later = NOW + timedelta(seconds=29), NOW + timedelta(seconds=30)
    page = engine.query(SearchQuery(), soon)
    assert (page.total, len(page.hits)) == (3, 5)  # what is shown is as it is
    assert engine.query(SearchQuery("water"), soon).total == 3  # a small result is counted every time
    assert engine.query(SearchQuery(), later).total == 5
    assert engine.query(SearchQuery(facets=()), soon).total == 5


def test_words_are_looked_up_first_whatever_the_filters(embedded_database: Database) -> None:
    plan = plan_of(SearchQuery("water -nurse", org_name=("Relief House",), deadline_after=NOW))
    with embedded_database.read() as connection:
        statement = search._matching(connection, plan, NOW, [search._DOCUMENT.number])
        text = statement.compile(connection, compile_kwargs={"render_postcompile": True})
        values = [text.params[name] for name in text.positiontup or ()]
        values = [str(value) for value in values]
        steps = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", tuple(values)).all()
    assert "search_words VIRTUAL TABLE INDEX" in steps[0].detail
    assert "INTEGER PRIMARY KEY" in steps[1].detail


def test_postgresql_finds_words_by_their_index(shared_database: Database) -> None:
    plan = plan_of(SearchQuery("water engin"))
    with shared_database.read() as connection:
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        statement = search._matching(connection, plan, NOW, [search._DOCUMENT.number])
        compiled = statement.compile(connection, compile_kwargs={"literal_binds": True})
        steps = connection.exec_driver_sql(f"EXPLAIN {compiled}".replace("%", "%%")).scalars().all()
    assert any("idx_search_documents_words" in step for step in steps), steps


def pages(engine: SearchEngine, query: SearchQuery, size: int) -> list[int]:
    """Every number in order, page after page by cursor."""
    seen: list[int] = []
    for _ in range(1000):
        page = engine.query(query, NOW)
        assert len(page.hits) == size or page.next is None
        seen += found(page)
        if page.next is None:
            return seen
        query = replace(query, cursor=page.next, offset=0)
    raise AssertionError("the pages do not end")


MANY = tuple(
    posting(
        number,
        "Water Engineer" if number % 3 else "Water water",
        first_seen_at=days(-(number // 4)),  # many are from the same moment
        deadline=days(number % 5 + 1) if number % 2 else None,
    )
    for number in range(1, 38)
)


@pytest.mark.parametrize("sort", list(SearchSort))
@pytest.mark.parametrize("text", ["", "water"])
def test_cursors_give_every_posting_once_in_the_order_of_one_page(
    engine: SearchEngine, sort: SearchSort, text: str
) -> None:
    engine.put(MANY)
    query = SearchQuery(text, sort=sort, limit=100)
    whole = engine.query(query, NOW)
    assert (len(whole.hits), whole.next) == (37, None)
    for size in (1, 5, 36, 37):
        assert pages(engine, replace(query, limit=size), size) == found(whole)
    after_offset = engine.query(replace(query, limit=7, offset=7), NOW)
    rest = engine.query(replace(query, cursor=after_offset.next, facets=()), NOW)
    assert (found(rest), rest.total) == (found(whole)[14:], 37)


@pytest.mark.parametrize("sort", [NEWEST, DEADLINE])
def test_postings_that_come_and_go_between_pages_move_no_others(engine: SearchEngine, sort: SearchSort) -> None:
    engine.put(MANY)
    query = SearchQuery(sort=sort, limit=10)
    first = engine.query(query, NOW)
    whole = found(engine.query(replace(query, limit=100), NOW))
    engine.put([posting(90, "New", first_seen_at=NOW, deadline=days(0.5))])
    engine.delete([UUID(int=whole[9]), UUID(int=whole[20])])
    rest = engine.query(replace(query, limit=100, cursor=first.next), NOW)
    assert found(rest) == [number for number in whole[10:] if number != whole[20]]


def test_since_goes_by_the_date_of_the_page_or_else_by_the_first_sight(engine: SearchEngine) -> None:
    engine.put(
        [
            posting(1, "Old", first_seen_at=days(-30)),
            posting(2, "Seen lately", first_seen_at=days(-2)),
            posting(3, "Seen lately, posted long ago", first_seen_at=days(-2), posted_at=days(-20)),
            posting(4, "At the very moment", first_seen_at=days(-7)),
        ]
    )
    assert numbers(engine.query(SearchQuery(since=days(-7)), NOW)) == {2, 4}
    assert numbers(engine.query(SearchQuery("lately", since=days(-25)), NOW)) == {2, 3}
    assert engine.query(SearchQuery(since=days(1)), NOW).total == 0


def test_the_whole_description_is_searched(engine: SearchEngine) -> None:
    text = "Build wells. " + "You travel. " * 1600 + "Knowledge of hydrogeology in Schlösser is required."
    engine.put([posting(1, "Engineer", description_snippet=text[:500], description_text=text), posting(2, "Nurse")])
    for words in ("hydrogeology", '"knowledge of hydrogeology"', "schlosser", "schloesser wells"):
        page = engine.query(SearchQuery(words), NOW)
        assert (words, numbers(page)) == (words, {1})
    assert page.hits[0].posting.description_text is None


@pytest.mark.parametrize(
    "cursor", ["", "x", "e30", "W10", "a" * 500, "é", "W251bGwsMSwyXQ", "WyJuZXdlc3QiLCJ4IiwieSJd"]
)
def test_a_cursor_that_no_search_gave_is_refused(filled: SearchEngine, cursor: str) -> None:
    with pytest.raises(BadInput, match="cursor: must be the `next` of an earlier result"):
        filled.query(SearchQuery(cursor=cursor), NOW)


def test_a_cursor_of_another_order_is_refused(filled: SearchEngine) -> None:
    page = filled.query(SearchQuery(sort=NEWEST, limit=2), NOW)
    with pytest.raises(BadInput, match="cursor: belongs to a result sorted by newest, not by deadline"):
        filled.query(SearchQuery(sort=DEADLINE, cursor=page.next), NOW)
