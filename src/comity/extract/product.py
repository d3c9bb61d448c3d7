"""The product of a page: takes its bytes and a policy's `crawl_config`, returns title, price, currency and stock.

`crawl_config` may name an expression for each field, or the field's value itself where every page has the same:

    {"price": "css '.price::text' | parse_price", "currency": "EUR", "in_stock": "css '.buy::attr(data-stock)'"}

A bare CSS selector that begins with `.`, `#` or `[`, or has `::` in it, means the text of what it selects.
Fields that it does not name come from JSON-LD, microdata and Open Graph, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from turbohtml import Document

from comity.extract.decode import MAX_BODY_BYTES, parse_html
from comity.extract.expressions import Evaluator
from comity.extract.page_data import STEPS_IN_A_CHILD, OverBudget, PageData, StepBudget
from comity.model.dataclass import dataclass
from comity.model.expression import Expression, ExpressionProblem
from comity.rules.expressions.parse import describe, looks_like_expression, parse_expression
from comity.rules.expressions.values import text_of
from comity.rules.queue.product import (
    FoundIn,
    Product,
    merged,
    product_of_metas,
    product_of_nodes,
    read_currency,
    read_price,
    read_stock,
    read_title,
    sign_in,
)

FIELDS: Final = ("title", "price", "currency", "in_stock")


@dataclass(frozen=True, slots=True)
class ProductConfig:
    """What `crawl_config` says about the fields of a product: expressions, and values that every page has."""

    expressions: Mapping[str, Expression]
    values: Mapping[str, Any]


def parse_config(config: Mapping[str, Any] | None) -> ProductConfig | str:
    """Read the fields of a `crawl_config`; a sentence if one cannot be read. Other names are the bots' business."""
    expressions: dict[str, Expression] = {}
    values: dict[str, Any] = {}
    for name in FIELDS:
        said = (config or {}).get(name)
        if said is None:
            continue
        text = _expression_of(name, said)
        if text is not None:
            found = parse_expression(text)
            if isinstance(found, ExpressionProblem):
                return f"crawl_config.{name}: {describe(text, found)}"
            expressions[name] = found
            continue
        value = _fixed(name, said)
        if value is None:
            return f"crawl_config.{name} is neither an expression nor {_WANTED[name]}"
        values[name] = value
    return ProductConfig(expressions, values)


def _expression_of(name: str, said: object) -> str | None:
    """A text as an expression; a bare CSS selector means the text of what it selects."""
    if not isinstance(said, str) or looks_like_expression(said):
        return said if isinstance(said, str) else None
    selector = said.strip()
    is_selector = selector.startswith((".", "#", "[")) or "::" in selector
    if not is_selector or ("'" in selector and '"' in selector) or (name == "price" and read_price(said) is not None):
        return None
    quote = '"' if "'" in selector else "'"
    return f"css {quote}{selector}{'' if '::' in selector else '::text'}{quote}"


_WANTED: Final = {
    "title": "a text",
    "price": "anything that a page can differ in; use an expression such as css '.price::text' | parse_price",
    "currency": "a currency code of ISO 4217, such as EUR",
    "in_stock": "true or false",
}


def _fixed(name: str, said: object) -> Any:
    if name == "currency":
        return read_currency(said)
    if name == "title":
        return read_title(said)
    return said if name == "in_stock" and isinstance(said, bool) else None


def read_product(body: bytes, content_type: str | None, url: str, config: ProductConfig | None = None) -> Product:
    """The product of a page; nothing but what is known of it."""
    document = parse_html(body[:MAX_BODY_BYTES], content_type)
    data = PageData(document, StepBudget(STEPS_IN_A_CHILD))
    found = [_configured(document, config)] if config is not None else []
    try:
        found.append(product_of_nodes(data.jsonld, FoundIn.JSON_LD, url))
        found.append(product_of_nodes(data.microdata, FoundIn.MICRODATA, url))
        found.append(product_of_metas(data.metas))
    except OverBudget:  # what came before counts
        pass
    found.append(_of_html(document))
    return merged(found)


def _configured(document: Document, config: ProductConfig) -> Product:
    evaluator = Evaluator(document)
    said: dict[str, str] = {}
    for name, expression in config.expressions.items():
        try:
            value = evaluator.value(expression)
        except OverBudget:
            break
        if value is not None:
            said[name] = text_of(value)
    fields: dict[str, Any] = {
        "title": read_title(said.get("title")),
        "price": read_price(said.get("price")),
        "currency": read_currency(said.get("currency")) or sign_in(said.get("currency")) or sign_in(said.get("price")),
        "in_stock": read_stock(said.get("in_stock")),
    }
    fields |= config.values
    found_in = {name: FoundIn.CRAWL_CONFIG for name, value in fields.items() if value is not None}
    return Product(**fields, found_in=found_in)


def _of_html(document: Document) -> Product:
    """A page without any title for machines has one for people."""
    element = document.select_one("title")
    title = read_title(element.text) if element is not None else None
    return Product(title, found_in={"title": FoundIn.HTML} if title else {})


def product_to_json(product: Product) -> dict[str, Any]:
    """A product as values for JSON, for the process that requested it."""
    return {
        "title": product.title,
        "price": None if product.price is None else format(product.price, "f"),
        "currency": product.currency,
        "in_stock": product.in_stock,
        "found_in": {name: str(place) for name, place in (product.found_in or {}).items()},
        "alternatives": product.alternatives,
    }
