"""Webhooks: signatures, back-off, and which events a result causes."""

from __future__ import annotations

import hashlib
import hmac
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.queue.webhook import (
    MOST_FAILURES,
    body_of,
    is_back_in_stock,
    is_delivered,
    is_disabled_after,
    is_price_changed,
    next_attempt_after_s,
    signature,
)
from tests.receiver import REPLAY_WINDOW_S, is_authentic

SECRET = "a secret of the receiver"
BODY = b'{"id":"1"}'


def test_a_signature_is_an_hmac_over_the_timestamp_and_the_body() -> None:
    expected = hmac.new(SECRET.encode(), b"1700000000." + BODY, hashlib.sha256).hexdigest()
    assert signature(SECRET, 1_700_000_000, BODY) == f"v1={expected}"


def test_a_signature_has_a_known_value() -> None:
    """So that receivers in other languages can check themselves against it."""
    assert signature("key", 1, b"{}") == "v1=1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224"


@pytest.mark.parametrize(
    ("age_s", "accepted"),
    [(0, True), (REPLAY_WINDOW_S, True), (-REPLAY_WINDOW_S, True), (REPLAY_WINDOW_S + 1, False), (-301, False)],
)
def test_a_call_is_accepted_only_within_the_replay_window(age_s: int, accepted: bool) -> None:
    signed = signature(SECRET, 1000, BODY)
    assert is_authentic(SECRET, 1000, BODY, signed, 1000.0 + age_s) is accepted


@given(body=st.binary(max_size=50), secret=st.text(min_size=1, max_size=20), timestamp=st.integers(0, 2**40))
def test_whatever_differs_is_refused(body: bytes, secret: str, timestamp: int) -> None:
    signed = signature(secret, timestamp, body)
    assert is_authentic(secret, timestamp, body, signed, float(timestamp))
    assert not is_authentic(secret + "x", timestamp, body, signed, float(timestamp))
    assert not is_authentic(secret, timestamp, body + b" ", signed, float(timestamp))
    assert not is_authentic(secret, timestamp + 1, body, signed, float(timestamp))
    assert not is_authentic(secret, timestamp, body, signed.removeprefix("v1="), float(timestamp))
    assert not is_authentic(secret, timestamp, body, "v1=é", float(timestamp))


def test_the_body_does_not_depend_on_the_order_in_which_a_database_keeps_fields() -> None:
    one = body_of("7", "job.done", "2026-02-07T12:00:00.000Z", {"url": "https://é.example/", "price": "19.90"})
    other = body_of("7", "job.done", "2026-02-07T12:00:00.000Z", {"price": "19.90", "url": "https://é.example/"})
    assert one == other
    assert json.loads(one)["data"] == {"price": "19.90", "url": "https://é.example/"}


@pytest.mark.parametrize(
    ("attempts", "wait_s"),
    [(1, 60), (2, 300), (3, 1800), (4, 7200), (5, 43_200), (6, None), (7, None), (0, None)],
)
def test_the_back_off_grows_and_ends(attempts: int, wait_s: float | None) -> None:
    assert next_attempt_after_s(attempts) == wait_s


@pytest.mark.parametrize(
    ("status", "delivered"),
    [(200, True), (204, True), (299, True), (199, False), (301, False), (404, False), (500, False), (None, False)],
)
def test_only_2xx_is_delivered(status: int | None, delivered: bool) -> None:
    assert is_delivered(status) is delivered


def test_a_webhook_is_disabled_by_the_twentieth_failure() -> None:
    assert [is_disabled_after(number) for number in (0, MOST_FAILURES - 1, MOST_FAILURES, MOST_FAILURES + 1)] == [
        False,
        False,
        True,
        True,
    ]
    assert MOST_FAILURES == 20


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (("19.9", "EUR"), ("19.90", "EUR"), False),
        (("19.9000", "EUR"), ("19.9", None), False),
        (("19.90", "EUR"), ("19.91", "EUR"), True),
        (("19.90", "EUR"), ("19.90", "USD"), True),
        (("19.90", None), ("19.90", "USD"), False),
        (("19.90", None), ("20", "USD"), True),
        ((None, None), ("19.90", "EUR"), False),
        (("19.90", "EUR"), (None, None), False),
        (("0.1", "EUR"), ("0.1000", "EUR"), False),
        (("0", "EUR"), ("0.0001", "EUR"), True),
        (("9007199254740993", "EUR"), ("9007199254740992", "EUR"), True),
    ],
)
def test_prices_are_compared_as_decimals(
    before: tuple[str | None, str | None], after: tuple[str | None, str | None], changed: bool
) -> None:
    def price(text: str | None) -> Decimal | None:
        return None if text is None else Decimal(text)

    assert is_price_changed(price(before[0]), before[1], price(after[0]), after[1]) is changed


@pytest.mark.parametrize(
    ("before", "after", "is_back"),
    [(False, True, True), (None, True, False), (True, True, False), (False, None, False), (False, False, False)],
)
def test_stock_is_back_when_it_was_known_to_be_out(before: bool | None, after: bool | None, is_back: bool) -> None:
    assert is_back_in_stock(before, after) is is_back
