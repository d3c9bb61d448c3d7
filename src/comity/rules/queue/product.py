"""What a page says of its product: takes structured data, returns title, price, currency and stock.

Nodes have the shape of JSON-LD, whether they come from JSON-LD or from microdata; meta elements are a table of names.
Every field remembers where it came from. A price and its currency belong together: a price takes the currency of
another place only where its own place names none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from comity.model.dataclass import dataclass
from comity.rules.expressions.values import parse_price

LONGEST_TITLE: Final = 500
PRICE_DIGITS: Final = 14
PRICE_SCALE: Final = 4
_LONGEST_PRICE: Final = 100
_CENTS: Final = Decimal("0.01")
_MOST_NODES: Final = 20_000
_MOST_OFFERS: Final = 1_000
_DEEPEST: Final = 8
_PRODUCTS: Final = frozenset(
    {"Product", "ProductGroup", "ProductModel", "IndividualProduct", "SomeProducts", "Vehicle", "Car", "Book"}
)
# Other products that a page names beside its own, and what is said about it: neither is the product of the page.
_ELSEWHERE: Final = frozenset(
    {
        *("isRelatedTo", "isSimilarTo", "isAccessoryOrSparePartFor", "isConsumableFor", "itemListElement", "review"),
        *("reviews", "hasVariant", "isVariantOf", "isPartOf", "breadcrumb", "offers", "itemOffered", "additionalType"),
    }
)
# Prices that are not asked for now: what it cost before, or what the maker recommends.
_FORMER: Final = frozenset({"listprice", "srp", "msrp", "strikethroughprice", "regularprice", "invoiceprice"})
_IN_STOCK: Final = frozenset(
    {
        *(
            "instock",
            "limitedavailability",
            "onlineonly",
            "instoreonly",
            "madetoorder",
            "available",
            "availablefororder",
        ),
        *("true", "yes", "1", "lowstock", "inventory"),
    }
)
_NOT_IN_STOCK: Final = frozenset(
    {
        *("outofstock", "soldout", "discontinued", "backorder", "preorder", "presale", "reserved", "oos", "pending"),
        *("unavailable", "notavailable", "false", "no", "0"),
    }
)
# Signs of one currency only; a dollar or a yen sign may be of several.
_SIGNS: Final = {
    "€": "EUR",
    "£": "GBP",
    "₹": "INR",
    "₩": "KRW",
    "₽": "RUB",
    "₺": "TRY",
    "₴": "UAH",
    "₪": "ILS",
    "฿": "THB",
    "₫": "VND",
    "₱": "PHP",
    "₦": "NGN",
    "US$": "USD",
    "R$": "BRL",
    "A$": "AUD",
    "C$": "CAD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "zł": "PLN",
    "Kč": "CZK",
    "CHF": "CHF",
}
_META_PRICES: Final = ("product:sale_price:amount", "product:price:amount", "og:price:amount", "product:price")
_META_CURRENCIES: Final = {
    "product:sale_price:amount": ("product:sale_price:currency", "product:price:currency", "og:price:currency"),
}
_META_CURRENCY: Final = ("product:price:currency", "og:price:currency", "og:currency", "product:currency")
_META_STOCK: Final = ("product:availability", "og:availability", "og:product:availability")


class FoundIn(StrEnum):
    """Where a field of a product was found."""

    CRAWL_CONFIG = "crawl_config"
    JSON_LD = "json-ld"
    MICRODATA = "microdata"
    OPENGRAPH = "opengraph"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class Product:
    """A product, and where each of its fields was found."""

    title: str | None = None
    price: Decimal | None = None
    currency: str | None = None
    in_stock: bool | None = None
    found_in: Mapping[str, FoundIn] | None = None
    alternatives: int = 0
    """How many other products of the page have a price, where none is known to be the page's own."""

    @property
    def is_known(self) -> bool:
        """Whether it says anything that a policy watches."""
        return self.price is not None or self.in_stock is not None


def product_of_nodes(nodes: Sequence[object], found_in: FoundIn, url: str = "") -> Product:
    """The page's own product, of its JSON-LD or its microdata."""
    by_id = _by_id(nodes)
    found = [_read(node, by_id) for node in _products(nodes)]
    known = [(each, _is_at(node, url)) for each, node in found if each.title is not None or each.is_known]
    if not known:
        return Product()
    own = [each for each, is_own in known if is_own]
    priced = [each for each, _ in known if each.price is not None]
    if own:
        best = next((each for each in own if each.price is not None), own[0])
        return _marked(best, found_in)
    best = priced[0] if priced else next((each for each, _ in known if each.is_known), known[0][0])
    return replace(_marked(best, found_in), alternatives=max(0, len(priced) - 1))


def product_of_metas(metas: Mapping[str, Sequence[str]]) -> Product:
    """The product in Open Graph's meta elements."""

    def said(names: Iterable[str]) -> str | None:
        return next((metas[name][0] for name in names if metas.get(name)), None)

    price = currency = None
    for name in _META_PRICES:
        if metas.get(name) and (price := read_price(metas[name][0])) is not None:
            currency = read_currency(said(_META_CURRENCIES.get(name, _META_CURRENCY))) or sign_in(metas[name][0])
            break
    stock = read_stock(said(_META_STOCK))
    # Every page has a title for sharing; only beside a product's own words is it the product's.
    is_product = price is not None or stock is not None or (said(["og:type"]) or "").lower().startswith("product")
    title = read_title(said(["og:title", "product:title"])) if is_product else None
    return _marked(Product(title, price, currency, stock), FoundIn.OPENGRAPH)


def merged(products: Sequence[Product]) -> Product:
    """One product of several, the first place that names a field counts; a price keeps the currency beside it."""
    found: dict[str, Any] = {}
    where: dict[str, FoundIn] = {}
    for each in products:
        for name, place in (each.found_in or {}).items():
            if name not in found and name != "currency":
                found[name], where[name] = getattr(each, name), place
    beside = [each for each in products if (each.found_in or {}).get("price") == where.get("price")]
    configured = [each for each in products if (each.found_in or {}).get("currency") is FoundIn.CRAWL_CONFIG]
    for each in (*configured, *beside, *products):
        if each.currency is not None:
            found["currency"], where["currency"] = each.currency, (each.found_in or {})["currency"]
            break
    of_price = next((each for each in products if each.price is not None), Product())
    return Product(**found, found_in=where, alternatives=of_price.alternatives)


def read_price(said: object) -> Decimal | None:
    """A price that a column can store; None for anything else.

    Data for machines has a point before its decimals and nothing else (schema.org, "price"); what has other marks was
    written for people.
    """
    if said is None or isinstance(said, bool | dict | list):
        return None
    text = str(said).strip()[:_LONGEST_PRICE]
    is_plain = text.isascii() and text.replace(".", "", 1).isdigit()
    digits = text if is_plain or isinstance(said, int | float) else parse_price(text)
    try:
        price = Decimal(digits or "")
    except InvalidOperation:
        return None
    if not price.is_finite() or price < 0 or price.adjusted() >= PRICE_DIGITS:
        return None
    scale = min(PRICE_SCALE, max(0, -int(price.as_tuple().exponent)))
    return price.quantize(Decimal(1).scaleb(-scale))


def read_currency(said: object) -> str | None:
    """A code of ISO 4217, from the code itself or from a sign that only one currency has."""
    if not isinstance(said, str):
        return None
    code = said.strip().upper()
    return code if code in _currencies() else _SIGNS.get(said.strip())


def sign_in(said: object) -> str | None:
    """The currency that a price is written with: its code, or a sign of one currency only."""
    if not isinstance(said, str):
        return None
    text = said[:_LONGEST_PRICE]
    words = "".join(each if each.isalpha() else " " for each in text).split()
    for word in words:
        if len(word) == 3 and word.isupper() and word in _currencies():
            return word
    found = {code for sign, code in _SIGNS.items() if sign in text}
    return found.pop() if len(found) == 1 else None


def read_stock(said: object) -> bool | None:
    """Whether a product is available: schema.org's ItemAvailability, Open Graph's words, or yes and no."""
    if isinstance(said, bool):
        return said
    if isinstance(said, dict):
        said = said.get("@id") or said.get("name")
    if isinstance(said, list):
        each = [read_stock(one) for one in said[:20]]
        return True if True in each else False if False in each else None
    if not isinstance(said, str):
        return None
    word = said.strip().rstrip("/").replace("#", "/").rpartition("/")[2].rpartition(":")[2].lower()
    word = "".join(letter for letter in word if letter.isalnum())
    return True if word in _IN_STOCK else False if word in _NOT_IN_STOCK else None


def read_title(said: object) -> str | None:
    """A title in one line, as long as a column holds."""
    if isinstance(said, list):
        said = next((each for each in said if isinstance(each, str | dict)), None)
    if isinstance(said, dict):
        said = said.get("@value")
    if not isinstance(said, str):
        return None
    words = " ".join(said.replace("\0", " ").encode("utf-8", "replace").decode().split())
    return words[:LONGEST_TITLE].rstrip() or None


@lru_cache(maxsize=1)
def _currencies() -> frozenset[str]:
    import pycountry

    return frozenset(currency.alpha_3 for currency in pycountry.currencies)


def _marked(product: Product, found_in: FoundIn) -> Product:
    names = ("title", "price", "currency", "in_stock")
    return replace(product, found_in={name: found_in for name in names if getattr(product, name) is not None})


def _types(node: Mapping[str, Any]) -> set[str]:
    said = node.get("@type")
    kinds = said if isinstance(said, list) else [said]
    return {kind.replace(":", "/").rstrip("/").rpartition("/")[2] for kind in kinds if isinstance(kind, str)}


def _walk(nodes: Sequence[object], but: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Every object within some data but those behind these names; outermost first, bounded in number and depth."""
    waiting: list[tuple[object, int]] = [(each, 0) for each in nodes]
    for place in range(_MOST_NODES):
        if place >= len(waiting):
            return
        node, depth = waiting[place]
        if isinstance(node, list):
            waiting += [(each, depth) for each in node[:_MOST_OFFERS]]
        elif isinstance(node, dict):
            yield node
            if depth < _DEEPEST:
                inner = [each for name, each in node.items() if name not in but and isinstance(each, dict | list)]
                waiting += [(each, depth + 1) for each in inner]


def _products(nodes: Sequence[object]) -> list[dict[str, Any]]:
    return [node for node in _walk(nodes, _ELSEWHERE) if _types(node) & _PRODUCTS]


def _by_id(nodes: Sequence[object]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for node in _walk(nodes, frozenset()):
        name = node.get("@id")
        if isinstance(name, str) and not node.keys() <= {"@id", "@type"}:
            found.setdefault(name, node)
    return found


def _is_at(node: Mapping[str, Any], url: str) -> bool:
    """Whether a node says that it is about this page."""
    wanted = _bare(url)
    names = (node.get("url"), node.get("@id"), node.get("mainEntityOfPage"))
    texts = (each.get("@id") if isinstance(each, dict) else each for each in names)
    return bool(wanted) and any(isinstance(each, str) and _bare(each) == wanted for each in texts)


def _bare(url: str) -> str:
    return url.partition("#")[0].partition("://")[2].removeprefix("www.").rstrip("/")


def _read(node: dict[str, Any], by_id: Mapping[str, dict[str, Any]]) -> tuple[Product, dict[str, Any]]:
    offers = [_offer(each, by_id) for each in _offers_of(node, by_id)]
    best = _best(offers)
    return Product(read_title(node.get("name")), best.price, best.currency, best.in_stock), node


def _offers_of(node: Mapping[str, Any], by_id: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The offers of a product; a group of variants without any has those of its variants."""
    offers = _resolved(node.get("offers"), by_id)
    for variant in () if offers else _resolved(node.get("hasVariant"), by_id):
        offers += _resolved(variant.get("offers"), by_id)
    if not offers and node.get("price") is not None:  # careless pages leave the offer out
        offers = [dict(node)]
    found: list[dict[str, Any]] = []
    for offer in offers[:_MOST_OFFERS]:
        inner = _resolved(offer.get("offers"), by_id) if read_price(offer.get("lowPrice")) is None else []
        found += inner[:_MOST_OFFERS] or [offer]
    return found[:_MOST_OFFERS]


def _resolved(said: object, by_id: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    members = said if isinstance(said, list) else [said]
    found = [each for each in members if isinstance(each, dict)]
    return [by_id.get(str(each.get("@id")), each) if each.keys() <= {"@id", "@type"} else each for each in found]


def _offer(offer: Mapping[str, Any], by_id: Mapping[str, dict[str, Any]]) -> Product:
    """The price of one offer, and whether it is available."""
    currency = read_currency(_one(offer.get("priceCurrency")))
    stock = read_stock(offer.get("availability"))
    for name in ("lowPrice", "price") if "AggregateOffer" in _types(offer) else ("price", "lowPrice"):
        said = _one(offer.get(name))
        price = read_price(said)
        if price is not None:
            return Product(None, price, currency or _specified(offer, by_id).currency or sign_in(said), stock)
    found = _specified(offer, by_id)
    return Product(None, found.price, found.currency or currency, stock)


def _specified(offer: Mapping[str, Any], by_id: Mapping[str, dict[str, Any]]) -> Product:
    """The price of an offer's specifications: what everyone pays now, before prices by weight or for members."""
    ranked: list[tuple[int, Product]] = []
    for each in _resolved(offer.get("priceSpecification"), by_id)[:_MOST_OFFERS]:
        said = next((each[name] for name in ("price", "minPrice") if each.get(name) is not None), None)
        price = read_price(_one(said))
        kind = str(_one(each.get("priceType")) or "").replace("#", "/").rpartition("/")[2].lower()
        if price is None or kind in _FORMER:
            continue
        is_special = bool(each.get("validForMemberTier") or each.get("membershipPointsEarned"))
        rank = 2 * is_special + ("referenceQuantity" in each)
        ranked.append((rank, Product(None, price, read_currency(_one(each.get("priceCurrency"))) or sign_in(said))))
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else Product()


def _best(offers: Sequence[Product]) -> Product:
    """The cheapest available offer, else the cheapest; a product is available if one of its offers is."""
    if not offers:
        return Product()
    stocks = {each.in_stock for each in offers}
    stock = True if True in stocks else False if False in stocks else None
    priced = [each for each in offers if each.price is not None]
    if not priced:
        return Product(in_stock=stock)
    # Prices in different currencies cannot be compared: the first one counts.
    alike = [each for each in priced if each.currency == priced[0].currency]
    there = [each for each in alike if each.in_stock is not False] or alike
    return replace(min(there, key=lambda each: each.price or Decimal(0)), in_stock=stock)


def _one(said: object) -> object:
    """The first of several values; the value of an object that only wraps one."""
    if isinstance(said, list):
        said = said[0] if said else None
    return said.get("@value") if isinstance(said, dict) else said


def plain_price(price: Decimal) -> Decimal:
    """A stored price without the zeros that only its column adds: 19.9900 is 19.99, 18.5000 is 18.50, 20.0000 is 20."""
    shortest = price.normalize()
    exponent = int(shortest.as_tuple().exponent)
    if exponent >= 0:
        return shortest.quantize(Decimal(1))
    return shortest.quantize(_CENTS) if exponent == -1 else shortest
