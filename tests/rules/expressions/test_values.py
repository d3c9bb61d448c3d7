"""Prices, and values that get a type: what cannot be converted is None, and nothing raises."""

from __future__ import annotations

from decimal import Decimal
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.model.expression import ColumnType, Transform, TypeName
from comity.rules.expressions.values import converted, only_number, parse_price, strip_html, transformed
from tests.sizes import sized

DECIMAL = ColumnType(TypeName.DECIMAL, 18, 2)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1.299,00 €", "1299.00"),
        ("$1,299.00", "1299.00"),
        ("1 299,00 kr", "1299.00"),
        ("1\u00a0299,00\u00a0kr", "1299.00"),
        ("1\u202f299,00 €", "1299.00"),
        ("¥1200", "1200"),
        ("￥１２００", "1200"),
        ("1,200円", "1200"),
        ("CHF 1'299.–", "1299"),
        ("CHF 1’299.50", "1299.50"),
        ("kr 1 299,-", "1299"),
        ("€12⁹⁹", "12.99"),
        ("R$ 1.234,56", "1234.56"),
        ("Rs. 1,23,456.50", "123456.50"),
        ("1 234 567,89 zł", "1234567.89"),
        ("1.000.000 Ft", "1000000"),
        ("٣٬٤٥٦٫٧٨ ر.س", "3456.78"),
        ("was $20.00 now $15.00", "20.00"),
        ("2 for $5", "5"),
        ("Pack of 6: 5,99 EUR", "5.99"),
        ("-20% nur 5,99 €", "5.99"),
        ("-$5.00", "-5.00"),
        ("0.299", "0.299"),
        ("1.299", "1299"),
        ("12,5", "12.5"),
        ("12", "12"),
        ("free", None),
        ("", None),
        ("1,234.567.890", None),
        ("20 %", None),
    ],
)
def test_prices_of_the_world(text: str, amount: str | None) -> None:
    assert parse_price(text) == amount


@pytest.mark.parametrize(
    ("value", "kind", "stored"),
    [
        ("12.345", DECIMAL, "12.35"),
        ("-12.345", DECIMAL, "-12.35"),
        (12.9, DECIMAL, "12.90"),
        ("1e3", DECIMAL, "1000.00"),
        ("€ 12,50", DECIMAL, "12.50"),
        ("-0.001", DECIMAL, "0.00"),
        ("9999999999999999.994", DECIMAL, "9999999999999999.99"),
        ("9999999999999999.995", DECIMAL, None),
        ("1e300", DECIMAL, None),
        ("9" * 5_000, DECIMAL, None),
        ("3 of 4", DECIMAL, None),
        ([12, 13], DECIMAL, "12.00"),
        ({"@value": "3"}, DECIMAL, "3.00"),
        ({"name": "3"}, DECIMAL, None),
        ("0.5", ColumnType(TypeName.DECIMAL, 2, 2), "0.50"),
        ("1", ColumnType(TypeName.DECIMAL, 2, 2), None),
        ("42 items", ColumnType(TypeName.INTEGER), 42),
        ("4.0", ColumnType(TypeName.INTEGER), 4),
        ("4.5", ColumnType(TypeName.INTEGER), None),
        ("2147483648", ColumnType(TypeName.INTEGER), None),
        ("2147483648", ColumnType(TypeName.BIGINT), 2147483648),
        (str(2**63), ColumnType(TypeName.BIGINT), None),
        ("4.5", ColumnType(TypeName.DOUBLE), 4.5),
        ("1e400", ColumnType(TypeName.DOUBLE), None),
        ("nan", ColumnType(TypeName.DOUBLE), None),
        ("Yes", ColumnType(TypeName.BOOLEAN), True),
        ("off", ColumnType(TypeName.BOOLEAN), False),
        (0, ColumnType(TypeName.BOOLEAN), False),
        ("https://schema.org/InStock", ColumnType(TypeName.BOOLEAN), True),
        ("http://schema.org/OutOfStock", ColumnType(TypeName.BOOLEAN), False),
        ("maybe", ColumnType(TypeName.BOOLEAN), None),
        ("2026-05-01", ColumnType(TypeName.DATE), "2026-05-01"),
        ("2026-05-01T23:30:00-05:00", ColumnType(TypeName.DATE), "2026-05-01"),
        ("01.05.2026", ColumnType(TypeName.DATE), "2026-05-01"),
        ("2026/5/1", ColumnType(TypeName.DATE), "2026-05-01"),
        ("1 May 2026", ColumnType(TypeName.DATE), "2026-05-01"),
        ("Sept. 1st, 2026", ColumnType(TypeName.DATE), "2026-09-01"),
        ("03/04/2026", ColumnType(TypeName.DATE), None),
        ("2026-02-30", ColumnType(TypeName.DATE), None),
        ("2026-05-01T23:30:00-05:00", ColumnType(TypeName.TIMESTAMP), "2026-05-02T04:30:00"),
        ("2026-05-01T10:00:00.5Z", ColumnType(TypeName.TIMESTAMP), "2026-05-01T10:00:00.500000"),
        ("Fri, 01 May 2026 10:00:00 GMT", ColumnType(TypeName.TIMESTAMP), "2026-05-01T10:00:00"),
        ("0001-01-01T00:00:00+14:00", ColumnType(TypeName.TIMESTAMP), None),
        ("tomorrow", ColumnType(TypeName.TIMESTAMP), None),
        (["a", {"b": 1}], ColumnType(TypeName.VARCHAR), '["a",{"b":1}]'),
        (True, ColumnType(TypeName.VARCHAR), "true"),
        ("x" * 5_000_000, ColumnType(TypeName.VARCHAR), None),
    ],
)
def test_a_value_gets_its_type_or_is_none(value: object, kind: ColumnType, stored: object) -> None:
    assert converted(value, kind) == stored


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3),
)
every_type = [
    DECIMAL,
    ColumnType(TypeName.DECIMAL, 38, 38),
    *(ColumnType(n) for n in TypeName if n is not TypeName.DECIMAL),
]


@given(json_values, st.sampled_from(every_type))
@settings(max_examples=sized(60, 20_000), deadline=None)
def test_nothing_raises_and_decimals_fit(value: object, kind: ColumnType) -> None:
    stored = converted(value, kind)
    if kind.name is TypeName.DECIMAL and stored is not None:
        _sign, digits, exponent = Decimal(stored).as_tuple()
        assert exponent == -kind.scale
        assert len(digits) <= kind.precision


@given(st.text(max_size=200) | st.text("0123456789.,' -−€$%kr¥⁹", max_size=60))
@settings(max_examples=sized(60, 20_000), deadline=None)
def test_every_price_is_a_plain_number(text: str) -> None:
    for amount in (parse_price(text), only_number(text)):
        if amount is not None:
            assert Decimal(amount).is_finite()


def test_markup_is_removed_in_linear_time() -> None:
    markup = "<p>a <b>H</b>i</p><p>x &amp; y<br>z</p><script>var a='<b>'</script><!-- x > y -->end 1 < 3"
    assert strip_html(markup) == "a Hi x & y z end 1 < 3"
    began_s = thread_time()
    for piece in ("<!--", "<script>", "<", "<a ", "<p", "</", "<script><"):
        strip_html(piece * 40_000)
    assert thread_time() - began_s < 5


def test_steps_change_text() -> None:
    assert transformed("  Ab ", Transform.TRIM) == "Ab"
    assert transformed("Ab", Transform.UPPERCASE) == "AB"
    assert transformed("Ab", Transform.LOWERCASE) == "ab"
    assert transformed("none", Transform.PARSE_PRICE) is None
