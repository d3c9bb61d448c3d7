"""What a URL asks of a table, and what the table makes of it; nothing that a URL holds is an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from comity.doors.web.console.tables import DEFAULT_LIMIT, MOST_SKIPPED, Column, Table, TablePage, choice, search
from comity.model.host import HostStatus


@dataclass(frozen=True)
class Row:
    name: str
    pages: int = 0


TABLE = Table(
    "hosts",
    [Column("name", "Name", sorts=True), Column("pages", "Pages", sorts=True, is_number=True)],
    [search(), choice("status", "Status", HostStatus)],
    default_sort="-pages",
    key=lambda row: row.name,
)
BY_KEY = Table(
    "moves", [Column("name", "Name")], key=lambda row: row.name, pages_by_key=True, goes_back=True, default_sort="name"
)


def test_a_query_has_filters_an_order_and_a_page() -> None:
    query = TABLE.query_of(parse_qsl("q= news &status=blocked&sort=name&limit=25&offset=75"))
    assert (query.get("q"), query.get("status"), query.get("other")) == ("news", "blocked", None)
    assert (query.sort, query.descending, query.limit, query.offset) == ("name", False, 25, 75)
    assert query.ignored == ()
    assert query.is_filtered


def test_a_choice_may_be_in_force_without_a_value_in_the_url() -> None:
    doors = choice("door", "Command", ["crawl", "sources"], default="crawl")
    states = choice("state", "State", ["queued", "done"], default="queued", has_all=False)
    table = Table("runs", [Column("name", "Name")], [doors, states])

    def found(text: str) -> tuple[str | None, str | None, bool]:
        query = table.query_of(parse_qsl(text))
        return query.get("door"), query.get("state"), query.is_filtered

    assert found("") == found("door=crawl&state=queued") == ("crawl", "queued", False)
    assert found("door=all") == (None, "queued", True)
    assert found("door=sources&state=done") == ("sources", "done", True)
    assert table.query_of(parse_qsl("state=all")).ignored == ("state",)
    assert TABLE.query_of(parse_qsl("status=all")).ignored == ("status",)
    assert doors.options == [("all", "all"), ("", "crawl"), ("sources", "sources")]
    assert states.options == [("", "queued"), ("done", "done")]
    assert choice("status", "Status", ["active"]).options == [("", "all"), ("active", "active")]
    everything = table.listing(table.query_of(parse_qsl("door=all")), [])
    assert everything.href() == "?door=all"


def test_without_parameters_the_defaults_hold() -> None:
    query = TABLE.query_of([])
    assert (query.sort, query.descending, query.limit, query.offset) == ("pages", True, DEFAULT_LIMIT, 0)
    assert not query.is_filtered
    assert not query.wants_csv


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ("status=nonsense", ("status",)),
        ("sort=colour", ("sort",)),
        ("sort=-", ("sort",)),
        ("limit=0", ("limit",)),
        ("limit=99999", ("limit",)),
        ("limit=-5", ("limit",)),
        ("limit=5e3", ("limit",)),
        ("offset=99999999999999999999", ("offset",)),
        ("offset=-1", ("offset",)),
        (f"offset={MOST_SKIPPED + 1}", ("offset",)),
        ("limit=٣", ("limit",)),
        ("colour=red&q=x", ("colour",)),
        (f"q={'x' * 501}", ("q",)),
        ("q=a%00b", ("q",)),
    ],
)
def test_what_cannot_be_used_is_ignored_and_named(text: str, ignored: tuple[str, ...]) -> None:
    query = TABLE.query_of(parse_qsl(text))
    assert query.ignored == ignored
    assert 1 <= query.limit <= 200
    assert 0 <= query.offset <= MOST_SKIPPED


@given(
    st.lists(st.tuples(st.sampled_from(["q", "status", "sort", "limit", "offset", "after", "format", "x"]), st.text()))
)
def test_no_query_is_an_error_and_its_links_lead_back_to_it(parameters: list[tuple[str, str]]) -> None:
    query = TABLE.query_of(parameters)
    listing = TABLE.listing(query, [Row(str(number)) for number in range(query.limit + 1)], total=1000)
    again = TABLE.query_of(parse_qsl(urlsplit(listing.href()).query))
    assert (again.values, again.sort, again.descending, again.limit) == (
        query.values,
        query.sort,
        query.descending,
        query.limit,
    )


def test_one_row_more_says_that_a_page_follows() -> None:
    rows = [Row(str(number)) for number in range(51)]
    first = TABLE.listing(TABLE.query_of([]), rows, total=10_000, total_is_exact=False)
    assert (len(first.rows), first.next_href, first.previous_href) == (50, "?offset=50", "")
    assert first.span == "1–50 of 10,000+"
    last = TABLE.listing(TABLE.query_of([("offset", "50"), ("status", "active")]), rows[:20], total=70)
    assert (last.next_href, last.previous_href, last.span) == ("", "?status=active", "51–70 of 70")
    deepest = TABLE.listing(TABLE.query_of([("offset", str(MOST_SKIPPED))]), rows)
    assert (deepest.next_href, deepest.is_cut) == ("", True)
    assert not any(each.is_cut for each in (first, last))


def test_pages_by_key_go_both_ways() -> None:
    rows = [Row(f"{number:03}") for number in range(60)]

    def page(text: str, shown: list[Row]) -> TablePage:
        return BY_KEY.listing(BY_KEY.query_of(parse_qsl(text)), shown)

    first = page("", rows[:51])
    assert (first.previous_href, first.next_href) == ("", "?after=049")
    second = page("after=049", rows[50:])
    assert (second.previous_href, second.next_href) == ("?before=050", "")
    # A query for what stands before a key reads backwards, so the row too many is the first one.
    before = page("before=055", rows[4:55])
    assert (before.rows[0].name, before.rows[-1].name) == ("005", "054")
    assert (before.previous_href, before.next_href) == ("?before=005", "?after=054")
    back = page("before=050", rows[:50])
    assert (back.previous_href, back.next_href) == ("", "?after=049")


def test_a_header_sorts_and_then_turns_the_order() -> None:
    name, pages = TABLE.columns
    listing = TABLE.listing(TABLE.query_of([("sort", "name"), ("q", "x")]), [])
    assert listing.sort_href(name) == "?q=x&sort=-name"
    assert listing.sort_href(pages) == "?q=x&sort=pages"
    assert (listing.sorted_as(name), listing.sorted_as(pages)) == ("ascending", "")


def test_csv_has_bare_values_and_no_formula() -> None:
    table = Table(
        "samples",
        [
            Column("name", "Name", lambda row: Markup("<b>{}</b>").format(row["name"]), lambda row: row["name"]),
            Column("at", "At", csv=lambda row: row["at"]),
            Column("price", "Price", csv=lambda row: row["price"]),
            Column("status", "Status", csv=lambda row: row["status"]),
            Column("secret", "Secret", in_csv=False),
        ],
    )
    row = {
        "name": "=SUM(A1)",
        "at": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        "price": Decimal("1.10"),
        "status": HostStatus.ACTIVE,
    }
    text = b"".join(table._lines([row])).decode()
    assert text.splitlines() == ["name,at,price,status", "'=SUM(A1),2026-01-02T03:04:00.000Z,1.10,active"]


async def test_a_file_begins_before_the_first_row_is_found() -> None:
    asked: list[str] = []

    def rows() -> Iterator[dict[str, str] | None]:
        asked.append("a row")
        yield {"name": "a"}
        yield None
        yield None
        yield {"name": "b"}

    table = Table("t", [Column("name", "Name", csv=lambda row: row["name"])])
    lines = aiter(table.csv(rows(), is_begun=True).body_iterator)
    assert await anext(lines) == b"name\r\n"
    assert not asked
    assert [line async for line in lines] == [b"a\r\n", b"", b"b\r\n"]


def test_csv_ends_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.doors.web.console.tables.MOST_CSV_ROWS", 450)
    lines = b"".join(TABLE._lines(Row(str(number)) for number in range(10_000))).count(b"\n")
    assert lines == 451


def test_cells_escape_what_rows_hold() -> None:
    name, pages = TABLE.columns
    assert name.html(Row("<script>")) == Markup("&lt;script&gt;")
    assert "1,234" in str(pages.html(Row("x", 1234)))
    assert "nothing" in str(name.html(Row("")))
