"""Required properties of structured data, by type."""

from __future__ import annotations

from typing import Any

import pytest

from comity.rules.audit.structured_data import is_judged, missing_properties

OFFER = {"@type": "Offer", "price": 12, "priceCurrency": "EUR"}
RATING = {"@type": "AggregateRating", "ratingValue": "4.5", "reviewCount": 7}
REVIEW = {"@type": "Review", "author": "Ada", "reviewRating": {"@type": "Rating", "ratingValue": 5}}
PLACE = {"@type": "Place", "address": "Main Street 1"}
COMPLETE: dict[str, dict[str, Any]] = {
    "AggregateOffer": {"lowPrice": 0, "priceCurrency": "EUR"},
    "AggregateRating": {**RATING, "itemReviewed": "Lamp"},
    "Article": {"headline": "News"},
    "BreadcrumbList": {
        "itemListElement": [
            {"@type": "ListItem", "position": 1, "name": "Home", "item": "https://a.example/"},
            {"@type": "ListItem", "position": 2, "name": "Here"},
        ]
    },
    "Course": {"name": "Knots", "description": "All of them."},
    "Event": {"name": "Fair", "startDate": "2030-01-01", "location": PLACE},
    "FAQPage": {
        "mainEntity": [{"@type": "Question", "name": "Why?", "acceptedAnswer": {"@type": "Answer", "text": "So."}}]
    },
    "HowTo": {"name": "Tie", "step": [{"@type": "HowToStep", "text": "Pull."}]},
    "JobPosting": {
        "title": "Cook", "description": "Cooks.", "datePosted": "2030-01-01", "hiringOrganization": "Inn",
        "jobLocation": PLACE,
    },
    "LocalBusiness": {"name": "Inn", "address": "Main Street 1"},
    "Offer": OFFER,
    "Organization": {"name": "Inn"},
    "Product": {"name": "Lamp", "offers": OFFER},
    "Recipe": {"name": "Soup", "image": "https://a.example/soup.jpg"},
    "Review": {**REVIEW, "itemReviewed": {"@type": "Book", "name": "Knots"}},
    "SoftwareApplication": {"name": "Editor", "offers": OFFER, "aggregateRating": RATING},
    "VideoObject": {"name": "Knots", "thumbnailUrl": "https://a.example/t.jpg", "uploadDate": "2030-01-01"},
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLETE)
def test_a_complete_item_lacks_nothing_and_each_property_is_missed(name: str) -> None:
    item = COMPLETE[name]
    assert missing_properties(name, item) == ()
    for left_out in item:
        if left_out != "@type":
            rest = {key: value for key, value in item.items() if key != left_out}
            assert missing_properties(name, rest), left_out
            assert missing_properties(name, {**rest, left_out: " "}), left_out


@pytest.mark.parametrize(
    ("name", "item", "missing"),
    [
        ("Product", {"name": "Lamp"}, ("offers or review or aggregateRating",)),
        ("Product", {"name": "Lamp", "offers": {"@type": "Offer", "priceCurrency": "EUR"}}, ("offers.price",)),
        ("Product", {"name": "Lamp", "offers": [OFFER, {"price": "3"}]}, ("offers.priceCurrency",)),
        ("Product", {"name": "Lamp", "review": {"@type": "Review", "author": "Ada"}}, ("review.reviewRating",)),
        (
            "Product",
            {"name": "Lamp", "aggregateRating": {"ratingValue": 4}},
            ("aggregateRating.ratingCount or aggregateRating.reviewCount",),
        ),
        ("https://schema.org/NewsArticle", {}, ("headline",)),
        ("schema:Article", {"name": "As content systems write it"}, ()),
        ("schema:Restaurant", {"name": "Inn"}, ("address",)),
        (
            "MusicEvent",
            {"name": "Fair", "startDate": "2030", "location": {"@type": "Place", "name": "Hall"}},
            ("location.address",),
        ),
        ("Event", {"name": "Fair", "startDate": "2030", "location": {"@type": ["VirtualLocation"]}}, ("location.url",)),
        ("FAQPage", {"mainEntity": [{"@type": "Question", "name": "Why?"}]}, ("mainEntity.acceptedAnswer",)),
        ("BreadcrumbList", {"itemListElement": [{"@type": "ListItem", "name": "Home"}]}, ("itemListElement.position",)),
        ("BreadcrumbList", {"itemListElement": [{"@type": "ListItem", "position": 1, "item": {"name": "Home"}}]}, ()),
        ("Review", {**REVIEW}, ("itemReviewed",)),
        ("Organization", {"@type": "Organization", "@id": "#us"}, ()),
        ("Offer", {"priceSpecification": {"price": 1, "priceCurrency": "EUR"}}, ()),
        ("Event", {"name": "Fair", "startDate": "2030", "location": "Town Hall", "offers": {"url": "/tickets"}}, ()),
        ("Thing", {}, ()),
    ],
)
def test_what_an_item_lacks(name: str, item: dict[str, Any], missing: tuple[str, ...]) -> None:
    assert missing_properties(name, item) == missing


def test_hostile_items_end() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = {"@type": "Product", "offers": [deep], "review": deep}
    assert missing_properties("Product", deep)
    assert len(missing_properties("Product", {"offers": [{"@type": "Offer"}] * 5_000})) <= 100


def test_types_with_required_properties_are_known() -> None:
    assert is_judged("https://schema.org/Hotel")
    assert not is_judged("ImageObject")
