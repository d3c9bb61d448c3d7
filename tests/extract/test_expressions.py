"""Expressions evaluated on pages: each source, and pages that are made to be slow."""

from __future__ import annotations

from time import thread_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turbohtml import parse

from comity.extract.expressions import columns_of, evaluate, extract_columns, is_unbounded
from comity.extract.fetched_page import FetchedPage
from comity.extract.page_data import STEPS_ON_THE_LOOP, OverBudget, PageData, StepBudget, assigned_values
from tests.servers.waiting import least_of, processor_s
from tests.sizes import sized

PAGE = """<html><head><title>Shop</title>
<meta name=description content="All cups"><meta name="DC.creator" content="Ada"><meta charset=utf-8>
<meta property="og:title" content="Cup"><meta property="og:image" content="/1.png">
<meta property="og:image" content="/2.png"><meta property="og:image:width" content=300>
<meta property="product:price:amount" content="9.99">
<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
 {"@type": ["Product", "Thing"], "name": "Cup",
  "image": ["a.jpg", "b.jpg"], "brand": {"@type": "Brand", "name": "Acme"},
  "offers": [{"@type": "Offer", "price": 12.9, "availability": "https://schema.org/InStock"},
   {"@type": "Offer", "price": 13}],
  "seller": {"@id": "#org"}},
 {"@type": "http://schema.org/Organization", "@id": "#org", "name": "Org", "founder": {"@id": "#org"}}]}</script>
<script type="application/ld+json">[{"@type": "BreadcrumbList",
 "itemListElement": [{"name": "a"}, {"name": "b"}]}, 3]</script>
<script type="application/ld+json">{broken</script>
<script>var siteConfig = {price: 5.5, 'a': [1, 2, {b: !0}], fn: function () { return {x: 1} }, call: foo(1, [2]),
  $k: `t`,
  // a comment
  s: "q\\"z", sum: 1 + 2, last: 'o\\u006b',};
window.App = window.App || {}; App.config = {"shop": {"id": 7}}; let n = -42; if (other == {"a": 1}) {}
window["__STATE__"] = JSON.parse('{"user": {"name": "J\\u00f6"}}'); const f = x => 1; let list = [1,[2,3],]</script>
<script id=__NEXT_DATA__ type="application/json">{"props": {"page": "v"}}</script></head>
<body><div itemscope itemtype="https://schema.org/Product"><span itemprop=name>Mug</span>
<div itemprop=offers itemscope itemtype="https://schema.org/Offer"><meta itemprop=price content=3.5></div>
<a itemprop=url href=/mug>x</a></div>
<p class=price> 1.299,00 € </p><a class=buy href="/x">Buy <b>now</b></a><i class=empty></i></body></html>"""


def value(expression: str, page: str = PAGE) -> Any:
    [found] = evaluate(parse(page), columns_of(expression)).values
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("jsonld.Product.name", "Cup"),
        ("jsonld.product.name", "Cup"),
        ("jsonld.Thing.name", "Cup"),
        ("jsonld.Organization.name", "Org"),
        ("jsonld.Product.offers.price", "12.9"),
        ("jsonld.Product.offers[1].price", "13"),
        ("jsonld.Product.offers[*].price", "[12.9,13]"),
        ("jsonld.Product.offers[2].price", None),
        ("jsonld.Product.name[0] AS x", "Cup"),
        ("jsonld.Product.name[1] AS x", None),
        ("jsonld.Offer[1].price", "13"),
        ("jsonld.Product.image[1]", "b.jpg"),
        ("jsonld.Product.image", '["a.jpg","b.jpg"]'),
        ("jsonld.Brand.name", "Acme"),
        ("jsonld.Product.brand", '{"@type":"Brand","name":"Acme"}'),
        ("jsonld.Product.seller.name", "Org"),
        ("jsonld.Organization.founder.founder.name", "Org"),
        ("jsonld.BreadcrumbList.itemListElement[1].name", "b"),
        ("jsonld.name", "Cup"),
        ("jsonld.Nothing.name", None),
        ("x BOOLEAN FROM jsonld.Offer.availability", True),
        ("microdata.Product.name", "Mug"),
        ("microdata.Product.offers.price", "3.5"),
        ("microdata.Offer.price", "3.5"),
        ("microdata.Product.url", "/mug"),
        ("og.title", "Cup"),
        ("og.image", "/1.png"),
        ("og.image[1]", "/2.png"),
        ("og.image[*]", '["/1.png","/2.png"]'),
        ("og.image.width", "300"),
        ("og.product.price.amount", "9.99"),
        ("meta.Description", "All cups"),
        ("meta.dc.creator", "Ada"),
        ("meta.title", "Shop"),
        ("meta.charset", "utf-8"),
        ("js.siteConfig.price", "5.5"),
        ("js.siteConfig.a[2].b", "true"),
        ("js.siteConfig.call AS x", None),
        ("js.siteConfig.sum AS x", None),
        ("js.siteConfig.s", 'q"z'),
        ("js.siteConfig.$k", "t"),
        ("js.siteConfig.last", "ok"),
        ("js.App.config.shop.id", "7"),
        ("js.__STATE__.user.name", "Jö"),
        ("js.n", "-42"),
        ("js.list", "[1,[2,3]]"),
        ("js.other", None),
        ("js.f", None),
        ("js.__NEXT_DATA__.props.page", "v"),
        ("css '.price::text' AS x", " 1.299,00 € "),
        ("css '.price::text' | trim AS x", "1.299,00 €"),
        ("x DECIMAL FROM css '.price::text' | parse_price", "1299.00"),
        ("x DECIMAL FROM css '.price::text'", "1299.00"),
        ("css 'a.buy::attr(href)' AS x", "/x"),
        ("css 'a.buy::text' AS x", "Buy now"),
        ("css 'a.buy' AS x", '<a class="buy" href="/x">Buy <b>now</b></a>'),
        ("css 'a.buy' | strip_html | uppercase AS x", "BUY NOW"),
        ("css '.empty::text' AS x", None),
        ("xpath '//a[@class]/@href' AS x", "/x"),
        ("xpath '//a[@class]' AS x", "Buy now"),
        ("x INTEGER FROM xpath 'count(//p)'", 1),
        ("xpath 'string(//none)' AS x", None),
        ("COALESCE(jsonld.Product.gtin, css '.empty::text', css '.price::text' | parse_price) AS x", "1299.00"),
        ("COALESCE(og.title | parse_price, og.image) AS x", "/1.png"),
    ],
)
def test_a_page_gives_the_value(expression: str, expected: object) -> None:
    assert value(expression) == expected


def test_what_cannot_be_converted_is_null_and_counted() -> None:
    text = "a INTEGER FROM og.title, b DATE FROM og.none, c DECIMAL FROM og.title | parse_price, d INT FROM js.n"
    assert evaluate(parse(PAGE), columns_of(text)) == ([None, None, None, -42], 2)


@given(st.text("{}[](),:'\"`\\/*!01axe=$+-. \n", max_size=120))
@settings(max_examples=sized(60, 20_000), deadline=None)
def test_no_script_crashes_the_reader(script: str) -> None:
    list(assigned_values([f"var a = {script}", f"a={script}"], "a", StepBudget(100_000)))


@given(st.text("<>/abimgscriptpo=\"' {}:[],\\jsonldtype@graph", max_size=300))
@settings(max_examples=sized(30, 5_000), deadline=None)
def test_no_page_crashes_an_expression(markup: str) -> None:
    ld = f'<script type="application/ld+json">{markup}</script>'
    text = "jsonld.a.b, microdata.a.c, og.d, meta.e, js.f.g, css 'a::text' AS h, xpath '//a' AS i"
    for page in (markup, ld, f"<div itemscope itemtype=a>{markup}"):
        assert len(evaluate(parse(page), columns_of(text)).values) == 7


HOSTILE = {
    "nested JSON-LD": '<script type="application/ld+json">' + "[" * 200_000 + "</script>",
    "JSON-LD with many tails": '<script type="application/ld+json">{}' + ";//" * 80_000 + "</script>",
    "a graph that refers to itself": '<script type="application/ld+json">'
    + '{"@graph":[{"@type":"P","@id":"x","o":[' + ",".join(['{"@id":"x"}'] * 9_000) + "]}]}</script>",
    "an unclosed literal": "<script>var a = " + "[{b:" * 60_000 + "</script>",
    "many assignments": "<script>" + "a={b:[" * 40_000 + "</script>",
    "a literal with calls": "<script>a={" + "b:f(" * 60_000 + "</script>",
    "nested items": "<div itemscope itemprop=o itemtype=P>" * 400 + "x" * 100_000,
    "items with long texts": "<div itemscope itemtype=P>" + "<b itemprop=o>" * 700 + "x" * 80_000,
    "metas": "<meta name=o content=x>" * 10_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_takes_bounded_time(name: str) -> None:
    text = (
        "jsonld.P.o[*].o[*].o[*].o, microdata.P.o.o.o AS m, meta.o AS n, "
        "js.a.b.b.b AS p, js.a.b AS q, css 'b b b::text' AS r"
    )
    document = parse(HOSTILE[name])
    assert least_of(lambda: processor_s(lambda: extract_columns(document, text, on_the_loop=True)), enough=1) < 1
    began_s = thread_time()
    extract_columns(document, text, on_the_loop=False)
    assert thread_time() - began_s < 20


def test_a_page_over_its_budget_is_left_to_a_child() -> None:
    text = "js.a[0].b"
    page = "<script>var a = [" + "{b: 1}," * 20_000 + "]</script>"
    assert extract_columns(parse(page), text, on_the_loop=True) is None
    found = extract_columns(parse(page), text, on_the_loop=False)
    assert found is not None
    assert found == (["1"], 0)
    with pytest.raises(OverBudget):
        evaluate(parse(page), columns_of(text), steps=10)


def test_only_xpath_has_no_bound() -> None:
    assert is_unbounded("COALESCE(og.title, xpath '//a') AS x")
    assert not is_unbounded("COALESCE(og.title, css 'a') AS x")


ITEMREF = """<div itemscope itemtype="https://schema.org/Product" itemref="price seller nowhere price">
<b itemprop=name>Cup</b>
<div itemprop=offers itemscope itemtype="https://schema.org/Offer" itemref="seller"><i itemprop=sku>7</i></div></div>
<p id=price><span itemprop=price>3.50</span></p><p id=seller itemprop=seller>Ann</p>
<p id=price><b itemprop=price>9</b></p>
<div id=loop itemscope itemtype="https://schema.org/Thing" itemref="loop"><u itemprop=name>Loop</u></div>"""


def test_microdata_takes_what_itemref_names() -> None:
    """WHATWG HTML §5.2.2: elements elsewhere on the page that belong to an item; of two with one id, the first."""
    text = (
        "microdata.Product.name, microdata.Product.price, microdata.Product.seller, "
        "microdata.Offer.seller AS nested, microdata.Offer.sku, microdata.Thing.name AS loop"
    )
    assert evaluate(parse(ITEMREF), columns_of(text)).values == ["Cup", "3.50", "Ann", "Ann", "7", "Loop"]


def test_many_references_cost_no_more_than_the_budget() -> None:
    inner = "".join(
        f"<div id=i{n} itemscope itemprop=a itemref='{' '.join(f'i{m}' for m in range(40))}'>" for n in range(40)
    )
    document = parse(f"<div itemscope itemtype=P itemref=i0>{inner}")
    with pytest.raises(OverBudget):
        evaluate(document, columns_of("microdata.P.a.a"))


def test_items_that_refer_to_each_other_do_not_keep_the_code_of_users_waiting() -> None:
    body = b"<div itemscope itemtype=P><b itemprop=a>1</b></div><div itemscope itemtype=Q itemref=x>"
    body += b"<div itemscope itemprop=a itemref='x y' id=x><u id=y>" * 2_000
    page = FetchedPage("https://example.com/", "https://example.com/", 200, "text/html", body, "UTF-8", None)
    assert page.microdata == [{"@type": ["P"], "a": "1"}]
    assert page.meta == {}


def test_items_within_items_are_read_once() -> None:
    document = parse("<div itemscope itemtype=P><b itemprop=a>1</b>" * 4_000)
    budget = StepBudget(STEPS_ON_THE_LOOP)
    assert len(PageData(document, budget).microdata) == 4_000
    assert budget.left > 0
