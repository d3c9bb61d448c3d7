"""Expressions are read, printed and refused as docs/extract.md says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.model.expression import (
    VARCHAR,
    Coalesce,
    ColumnType,
    CssSelection,
    DataPath,
    EveryElement,
    Expression,
    ExpressionProblem,
    ExtractColumn,
    PathRoot,
    Transform,
    TypeName,
    Wanted,
    XpathSelection,
)
from comity.rules.expressions.parse import (
    DEEPEST,
    LONGEST_TEXT,
    MOST_COLUMNS,
    describe,
    looks_like_expression,
    parse_columns,
    parse_expression,
)
from comity.rules.expressions.printing import print_columns
from tests.sizes import sized

PRICE = DataPath(PathRoot.JSONLD, ("Product", "offers", "price"))


def column(text: str) -> ExtractColumn:
    columns = parse_columns(text)
    assert not isinstance(columns, ExpressionProblem), columns
    [only] = columns
    return only


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jsonld.Product.offers.price", ExtractColumn("price", VARCHAR, Expression(PRICE))),
        ("JSONLD.Product.offers.price as Cost", ExtractColumn("Cost", VARCHAR, Expression(PRICE))),
        ("jsonld->'Product'->'offers'->>'price'", ExtractColumn("price", VARCHAR, Expression(PRICE))),
        (
            'price DECIMAL FROM css ".price::text" | parse_price',
            ExtractColumn(
                "price",
                ColumnType(TypeName.DECIMAL, 18, 2),
                Expression(CssSelection(".price", Wanted.TEXT), (Transform.PARSE_PRICE,)),
            ),
        ),
        (
            "css 'a.x::attr(HREF)' AS link",
            ExtractColumn("link", VARCHAR, Expression(CssSelection("a.x", Wanted.ATTRIBUTE, "href"))),
        ),
        ("css 'h1' AS \"my title\"", ExtractColumn("my title", VARCHAR, Expression(CssSelection("h1")))),
        ("css VARCHAR FROM css 'it''s'", None),
        ("x int from js.a[0]['b c'][*].$d", None),
        (
            "xpath '//h1/text()' | trim | uppercase AS t",
            ExtractColumn(
                "t", VARCHAR, Expression(XpathSelection("//h1/text()"), (Transform.TRIM, Transform.UPPERCASE))
            ),
        ),
        (
            "COALESCE(og.title | trim, meta.title) AS t",
            ExtractColumn(
                "t",
                VARCHAR,
                Expression(
                    Coalesce(
                        (
                            Expression(DataPath(PathRoot.OPENGRAPH, ("title",)), (Transform.TRIM,)),
                            Expression(DataPath(PathRoot.META, ("title",))),
                        )
                    )
                ),
            ),
        ),
        (
            "meta.twitter:title",
            ExtractColumn("twitter:title", VARCHAR, Expression(DataPath(PathRoot.META, ("twitter:title",)))),
        ),
        ("a DECIMAL(10) FROM og.x", None),
        ("a NUMERIC(38,38) FROM og.x", None),
        ("a FROM og.x", ExtractColumn("a", VARCHAR, Expression(DataPath(PathRoot.OPENGRAPH, ("x",))))),
        ("a VARCHAR(20) FROM og.x", ExtractColumn("a", VARCHAR, Expression(DataPath(PathRoot.OPENGRAPH, ("x",))))),
        ("jsonld", ExtractColumn("jsonld", VARCHAR, Expression(DataPath(PathRoot.JSONLD)))),
        (
            "jsonld.ItemList[*].name",
            ExtractColumn(
                "name", VARCHAR, Expression(DataPath(PathRoot.JSONLD, ("ItemList", EveryElement.EVERY, "name")))
            ),
        ),
    ],
)
def test_a_column_is_read_and_printed(text: str, expected: ExtractColumn | None) -> None:
    found = column(text) if "it''s" not in text else None
    if found is None:  # it's is no selector
        assert isinstance(parse_columns(text), ExpressionProblem)
        return
    if expected is not None:
        assert found == expected
    assert parse_columns(print_columns((found,))) == (found,)


def test_columns_are_separated_by_commas_or_lines() -> None:
    text = """
    -- what a shop says
    jsonld.Product.name | trim AS name, og.title
    # and what it shows
    price DECIMAL
      FROM COALESCE(
        jsonld.Product.offers.price,  -- the best
        css '.price::text' | parse_price
      )
    meta.description,
    """
    columns = parse_columns(text)
    assert not isinstance(columns, ExpressionProblem), columns
    assert [each.name for each in columns] == ["name", "title", "price", "description"]
    assert parse_columns(print_columns(columns)) == columns


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("jsonl.Product.name", "column 1: “jsonl” is not a known source; did you mean jsonld?"),
        ("x DECMAL FROM og.title", "column 3: “DECMAL” is not a known type; did you mean DECIMAL?"),
        ("x INT FROM og.t | parse_pric", "column 19: “parse_pric” is not a known step; did you mean parse_price?"),
        ("css '.price::text'", "column 1: this column has no name; add AS and a name"),
        ("css '.a::txt' AS b", "column 5: after :: expected text or attr(name), at the end of the selector"),
        ("css 'a[' AS b", "column 5: it is not a CSS selector: expected an identifier at position 2"),
        ("css .price AS b", "column 5: css needs a text in quotes, such as css '.price::text'"),
        ("x INT FROM css 'a", "column 16: the quote is not closed"),
        ("x INT og.title", "column 7: expected FROM after the type, not “og”"),
        ("og.title og.image", "column 10: expected |, AS, a comma or the end, not “og”"),
        (
            "og.title,\nog.image,\n  og.title",
            "line 3, column 3: there are two columns “title”; choose another name with AS",
        ),
        ("og.url", "column 1: “url” is a column of every page; choose another name with AS"),
        (
            "x DECIMAL(39,2) FROM og.x",
            "column 3: DECIMAL has 1 to 38 digits, and no more of them after the point than in all",
        ),
        ("x DATE(3) FROM og.x", "column 3: DATE has no size"),
        ("COALESCE(og.x", "column 14: expected a comma or ), not the end"),
        ("og.x[", "column 6: expected a number, not the end"),
        ("jsonld.", "column 8: expected a name after the dot, not the end"),
        (
            "xpath '//p[' AS x",
            "column 7: it is not an XPath expression: expected a node test at the end of the expression",
        ),
        (
            "",
            "column 1: there is no expression; write one such as: price DECIMAL FROM css '.price::text' | parse_price",
        ),
        ("og.x AS 'a\nb'", "line 1, column 9: a name has 1 to 63 printable characters"),
    ],
)
def test_a_mistake_has_its_place_and_the_nearest_name(text: str, sentence: str) -> None:
    problem = parse_columns(text, taken=("url",))
    assert isinstance(problem, ExpressionProblem)
    assert describe(text, problem) == sentence


def test_everything_has_a_limit() -> None:
    deep = "COALESCE(" * (DEEPEST + 1) + "og.x" + ")" * (DEEPEST + 1)
    for text in (
        deep + " AS x",
        "COALESCE(" * 20_000,
        ",".join(f"og.x AS c{number}" for number in range(MOST_COLUMNS + 1)),
        "og.x" + ".y" * 40,
        "og.x" + " | trim" * 20,
        "COALESCE(" + ",".join(["og.x"] * 20) + ") AS x",
        "css '" + "a" * 3_000 + "' AS x",
        "x" * (LONGEST_TEXT + 1),
        "og.x AS " + "n" * 64,
    ):
        assert isinstance(parse_columns(text), ExpressionProblem)


def test_what_may_be_a_selector_is_told_apart_by_its_beginning() -> None:
    for text in ("css 'h1::text'", "jsonld.JobPosting.title", "COALESCE(og.title, meta.title)", ' xpath "//a"'):
        assert looks_like_expression(text)
    for text in ("h1", "css", "div.jsonld", "a[href]", "js", ".og", "time@datetime"):
        assert not looks_like_expression(text)


@given(st.text(max_size=80) | st.text("'\"()[]|.,->*:\n #ogcsxpathmetaASFROMINT09", max_size=80))
@settings(max_examples=sized(60, 20_000), deadline=None)
def test_no_text_crashes_the_parser(text: str) -> None:
    for read in (parse_columns, parse_expression):
        found = read(text)
        if isinstance(found, ExpressionProblem):
            assert 0 <= found.offset <= len(text)
            assert describe(text, found)


names = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=30).filter(str.strip)
steps = st.lists(names | st.integers(0, 999_999) | st.just(EveryElement.EVERY), max_size=6).map(tuple)
paths = st.builds(DataPath, st.sampled_from(PathRoot), steps)
selections = st.sampled_from(
    [
        CssSelection("a"),
        CssSelection('a[title="it\'s"]'),
        CssSelection("p > b", Wanted.TEXT),
        CssSelection("", Wanted.TEXT),
        CssSelection("a", Wanted.ATTRIBUTE, "data-x"),
        XpathSelection("//a[@title='x']"),
    ]
)


def expressions(sources: st.SearchStrategy[object]) -> st.SearchStrategy[Expression]:
    return st.builds(Expression, sources, st.lists(st.sampled_from(Transform), max_size=3).map(tuple))


sources = st.recursive(
    paths | selections,
    lambda inner: st.builds(Coalesce, st.lists(expressions(inner), min_size=1, max_size=3).map(tuple)),
    max_leaves=4,
)
types = st.sampled_from(
    [ColumnType(name) for name in TypeName if name not in (TypeName.DECIMAL, TypeName.JSON)]
) | st.builds(
    lambda precision, scale: ColumnType(TypeName.DECIMAL, precision, min(precision, scale)),
    st.integers(1, 38),
    st.integers(0, 38),
)
columns = st.lists(
    st.builds(ExtractColumn, names, types, expressions(sources)),
    min_size=1,
    max_size=4,
    unique_by=lambda c: c.name.casefold(),
).map(tuple)


@given(columns)
@settings(max_examples=sized(40, 5_000), deadline=None)
def test_what_is_printed_is_read_as_the_same(said: tuple[ExtractColumn, ...]) -> None:
    assert parse_columns(print_columns(said)) == said


@pytest.mark.parametrize("step", ["--", "--x", "a--b", "-", "a-", "->", "#", "a b", "it's", ""])
def test_a_step_is_quoted_where_it_would_be_read_as_something_else(step: str) -> None:
    path = DataPath(PathRoot.JSONLD, (step, "a"))
    said = (ExtractColumn("a", ColumnType(TypeName.VARCHAR), Expression(path, (Transform.TRIM,))),)
    assert parse_columns(print_columns(said)) == said
