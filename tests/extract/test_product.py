"""Title, price, currency and stock of product pages, in the shapes in which shops write them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from comity.extract.product import ProductConfig, parse_config, product_to_json, read_product
from comity.rules.queue.product import FoundIn, Product, read_currency, read_price, read_stock, sign_in

URL = "https://shop.example/p/1"
IN_STOCK = "https://schema.org/InStock"


def ld(*values: Any) -> str:
    return "".join(f'<script type="application/ld+json">{json.dumps(value)}</script>' for value in values)


def meta(**names: str) -> str:
    return "".join(f'<meta property="{name.replace("__", ":")}" content="{said}">' for name, said in names.items())


def product(offers: Any = None, **more: Any) -> dict[str, Any]:
    found = {"@context": "https://schema.org", "@type": "Product", "name": "Lamp"} | more
    return found if offers is None else found | {"offers": offers}


def offer(price: Any = "19.90", currency: str | None = "EUR", available: str | None = IN_STOCK, **more: Any) -> Any:
    found = {"@type": "Offer", "price": price, "priceCurrency": currency, "availability": available} | more
    return {name: value for name, value in found.items() if value is not None}


def found(head: str = "", body: str = "", config: dict[str, Any] | None = None) -> Product:
    page = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"
    read = parse_config(config)
    assert isinstance(read, ProductConfig), read
    return read_product(page.encode(), "text/html; charset=utf-8", URL, read)


def values(each: Product) -> tuple[str | None, str | None, str | None, bool | None]:
    return each.title, None if each.price is None else str(each.price), each.currency, each.in_stock


LAMP = ("Lamp", "19.90", "EUR", True)
SHAPES: dict[str, tuple[str, tuple[str | None, str | None, str | None, bool | None]]] = {
    "one offer": (ld(product(offer())), LAMP),
    "a number": (ld(product(offer(19.9))), ("Lamp", "19.9", "EUR", True)),
    "offers in a list": (ld(product([offer()])), LAMP),
    "a list at the top": (ld([{"@type": "WebSite"}, product(offer())]), LAMP),
    "in a graph": (ld({"@graph": [{"@type": "BreadcrumbList"}, product(offer())]}), LAMP),
    "types in a list": (ld(product(offer()) | {"@type": ["Product", "Thing"]}), LAMP),
    "a type with a prefix": (ld(product(offer()) | {"@type": "schema:Product"}), LAMP),
    "main entity of a page": (ld({"@type": "ItemPage", "mainEntity": product(offer())}), LAMP),
    "offers by reference": (
        ld({"@graph": [product({"@id": "#offer"}), offer() | {"@id": "#offer"}]}),
        LAMP,
    ),
    "cheapest that can be had": (
        ld(product([offer("10", available="OutOfStock"), offer("30"), offer("20")])),
        ("Lamp", "20", "EUR", True),
    ),
    "none can be had": (
        ld(product([offer("30", available="SoldOut"), offer("20", available="http://schema.org/OutOfStock")])),
        ("Lamp", "20", "EUR", False),
    ),
    "aggregate offer": (
        ld(product({"@type": "AggregateOffer", "lowPrice": "5", "highPrice": "9", "priceCurrency": "USD"})),
        ("Lamp", "5", "USD", None),
    ),
    "aggregate of offers": (
        ld(product({"@type": "AggregateOffer", "offerCount": 2, "offers": [offer("7"), offer("6")]})),
        ("Lamp", "6", "EUR", True),
    ),
    "price specification": (
        ld(product({"@type": "Offer", "priceSpecification": {"price": "12.50", "priceCurrency": "CHF"}})),
        ("Lamp", "12.50", "CHF", None),
    ),
    "former price among specifications": (
        ld(
            product(
                {
                    "availability": "InStock",
                    "priceSpecification": [
                        {"priceType": "https://schema.org/ListPrice", "price": 20, "priceCurrency": "EUR"},
                        {"price": 15, "priceCurrency": "EUR"},
                    ],
                }
            )
        ),
        ("Lamp", "15", "EUR", True),
    ),
    "price by weight among specifications": (
        ld(
            product(
                {
                    "priceSpecification": [
                        {"price": 8, "priceCurrency": "EUR", "referenceQuantity": {"value": "1", "unitCode": "KGM"}},
                        {"price": 2, "priceCurrency": "EUR"},
                    ]
                }
            )
        ),
        ("Lamp", "2", "EUR", None),
    ),
    "currency in the specification only": (
        ld(product({"price": "12.50", "priceSpecification": {"priceCurrency": "SEK", "price": "12.50"}})),
        ("Lamp", "12.50", "SEK", None),
    ),
    "variants of a group": (
        ld({"@type": "ProductGroup", "name": "Lamp", "hasVariant": [product(offer("9")), product(offer("8"))]}),
        ("Lamp", "8", "EUR", True),
    ),
    "price for people in data": (ld(product(offer("1.299,00 €", None))), ("Lamp", "1299.00", "EUR", True)),
    "thousands in data": (ld(product(offer("1,299.00", "usd"))), ("Lamp", "1299.00", "USD", True)),
    "dollars of no country": (ld(product(offer("$5.00", None))), ("Lamp", "5.00", None, True)),
    "no such currency": (ld(product(offer("5.00", "XYZ"))), ("Lamp", "5.00", None, True)),
    "back order": (ld(product(offer(available="BackOrder"))), ("Lamp", "19.90", "EUR", False)),
    "no price any more": (ld(product(offer(None, None, "Discontinued"))), ("Lamp", None, None, False)),
    "price without an offer": (ld(product(price="3", priceCurrency="GBP")), ("Lamp", "3", "GBP", None)),
    "related products": (
        ld(product(offer(), isRelatedTo=[product(offer("1"), name="Bulb")])),
        LAMP,
    ),
    "the page's own of several": (
        ld(product(offer("1"), name="Bulb"), product(offer(), url="https://www.shop.example/p/1#buy")),
        LAMP,
    ),
    "trailing comma": (
        '<script type="application/ld+json">{"@type":"Product","name":"Lamp",'
        '"offers":{"price":"19.90","priceCurrency":"EUR","availability":"InStock",},}</script>',
        LAMP,
    ),
    "microdata": (
        '<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Lamp</h1>'
        '<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><span itemprop="price" content="19.90">'
        '19,90</span><meta itemprop="priceCurrency" content="EUR"><link itemprop="availability" '
        'href="https://schema.org/InStock"></div></div>',
        LAMP,
    ),
    "microdata for people": (
        '<div itemscope itemtype="http://schema.org/Product"><b itemprop="name">Lamp</b>'
        '<p itemprop="offers" itemscope itemtype="http://schema.org/Offer"><i itemprop="price">19,90 €</i></p></div>',
        ("Lamp", "19.90", "EUR", None),
    ),
    "opengraph": (
        meta(og__type="product", og__title="Lamp", og__price__amount="19.90", og__price__currency="EUR")
        + meta(og__availability="instock"),
        LAMP,
    ),
    "product tags": (
        meta(og__title="Lamp", product__price__amount="19.90", product__price__currency="EUR")
        + meta(product__availability="in stock"),
        LAMP,
    ),
    "sale price in product tags": (
        meta(og__title="Lamp", product__price__amount="25", product__price__currency="EUR")
        + meta(product__sale_price__amount="19.90", product__availability="out of stock"),
        ("Lamp", "19.90", "EUR", False),
    ),
    "an article": (
        meta(og__type="article", og__title="News") + "<title>A paper</title>",
        ("A paper", None, None, None),
    ),
    "nothing": ("<p>Hello", (None, None, None, None)),
    "broken data": ('<script type="application/ld+json">{"@type": "Prod</script>', (None, None, None, None)),
    "negative price": (ld(product(offer("-5.00"))), ("Lamp", None, None, True)),
    "a price that no column holds": (ld(product(offer("1" + "0" * 20))), ("Lamp", None, None, True)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_product_pages(shape: str) -> None:
    markup, expected = SHAPES[shape]
    assert values(found(markup)) == expected


def test_each_field_says_where_it_was_found() -> None:
    page = ld(product(offer(available=None))) + meta(product__availability="oos", og__title="Lamp, red")
    each = found(page, config={"title": "css 'h1::text'"})
    assert each.found_in == {
        "title": FoundIn.JSON_LD,
        "price": FoundIn.JSON_LD,
        "currency": FoundIn.JSON_LD,
        "in_stock": FoundIn.OPENGRAPH,
    }
    assert values(each) == ("Lamp", "19.90", "EUR", False)
    assert product_to_json(each)["found_in"]["in_stock"] == "opengraph"


def test_a_price_keeps_the_currency_beside_it() -> None:
    each = found(ld(product(offer("5.00", None))) + meta(product__price__amount="6", product__price__currency="USD"))
    assert values(each) == ("Lamp", "5.00", "USD", True)
    each = found(ld(product(None)) + meta(product__price__amount="6", product__price__currency="USD"))
    assert values(each) == ("Lamp", "6", "USD", None)


def test_other_products_of_a_list_are_counted() -> None:
    each = found(ld(product(offer("1"), name="A"), product(offer("2"), name="B"), product(offer("3"), name="C")))
    assert (each.title, each.alternatives) == ("A", 2)


CONFIG = {
    "price": "css '.price::text' | parse_price",
    "currency": "EUR",
    "title": "COALESCE(css 'h1::text', og.title)",
    "in_stock": "css '.stock::attr(data-stock)'",
    "notes": "for bots",
}
CONFIGURED = '<h1> Desk lamp </h1><p class=price>nur 1.299,00 €</p><p class=stock data-stock="no">sold out</p>'


def test_expressions_of_the_policy_come_first() -> None:
    each = found(ld(product(offer())), CONFIGURED, CONFIG)
    assert values(each) == ("Desk lamp", "1299.00", "EUR", False)
    assert set((each.found_in or {}).values()) == {FoundIn.CRAWL_CONFIG}


def test_bare_selectors_are_expressions() -> None:
    config = {"price": ".price", "title": "h1::text", "in_stock": "[data-stock='no']::attr(data-stock)"}
    assert values(found("", CONFIGURED, config)) == ("Desk lamp", "1299.00", "EUR", False)


def test_an_expression_that_finds_nothing_leaves_the_field_to_the_page() -> None:
    each = found(ld(product(offer())), "", CONFIG | {"currency": "css '.currency::text'"})
    assert values(each) == LAMP
    assert (each.found_in or {})["price"] is FoundIn.JSON_LD


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"price": "css '.price::text' | parse_prise"}, "crawl_config.price: column"),
        ({"price": "19.90"}, "crawl_config.price is neither an expression nor"),
        ({"price": ".19"}, "crawl_config.price is neither an expression nor"),
        ({"price": ".a['\"]"}, "crawl_config.price is neither an expression nor"),
        ({"price": ".a["}, "crawl_config.price: column"),
        ({"price": 19}, "crawl_config.price is neither an expression nor"),
        ({"currency": "EURO"}, "a currency code of ISO 4217"),
        ({"in_stock": "maybe"}, "true or false"),
        ({"title": ["a"] * 0}, "crawl_config.title is neither"),
    ],
)
def test_a_config_that_cannot_be_read_is_named(config: dict[str, Any], words: str) -> None:
    said = parse_config(config)
    assert isinstance(said, str)
    assert words in said


@pytest.mark.parametrize(
    ("said", "price"),
    [
        ("19.99", "19.99"),
        (" 19.99 ", "19.99"),
        ("1299", "1299"),
        (0, "0"),
        ("1.23456", "1.2346"),
        ("1 299,50 kr", "1299.50"),
        ("free", None),
        (True, None),
        ({}, None),
        ("NaN", None),
        ("Infinity", None),
        (float("inf"), None),
        (float("nan"), None),
        ("", None),
        (None, None),
    ],
)
def test_prices(said: object, price: str | None) -> None:
    assert read_price(said) == (None if price is None else Decimal(price))


@pytest.mark.parametrize(
    ("said", "stock"),
    [
        ("https://schema.org/InStock", True),
        ("http://schema.org/OutOfStock/", False),
        ("schema:LimitedAvailability", True),
        ("Out of stock", False),
        ("preorder", False),
        ({"@id": "http://purl.org/goodrelations/v1#InStock"}, True),
        (["OutOfStock", "InStock"], True),
        (False, False),
        ("soon", None),
        (None, None),
        (3, None),
    ],
)
def test_stock(said: object, stock: bool | None) -> None:
    assert read_stock(said) is stock


def test_currencies() -> None:
    assert [read_currency(each) for each in ("eur", "€", "EURO", "$", "XXY", None, 7)] == ["EUR", "EUR", *[None] * 5]
    assert [sign_in(each) for each in ("12 EUR", "£3", "$3", "US$ 3", "€ 3 / £ 2", 3)] == [
        "EUR",
        "GBP",
        None,
        "USD",
        None,
        None,
    ]


def test_a_page_of_enormous_data_ends() -> None:
    deep: Any = {"@type": "Product", "name": "deep"}
    for _ in range(200):
        deep = {"mainEntity": deep}
    many = [product(offer(str(number))) for number in range(5_000)]
    assert found(ld(deep)).title is None
    assert found(ld(many)).alternatives > 0
