"""The small components: what people read, from values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from comity.doors.web.console import components
from comity.doors.web.console.forms import Field, Form, FormInvalid, FormValues
from comity.doors.web.requests import CrawlRequest, SourceRequest
from comity.model.errors import BadInput

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_a_time_within_a_sentence_is_shown_in_the_viewers_zone() -> None:
    said = "held until 2026-11-19 14:12:04 UTC & `at 2026-11-19 14:12 UTC`; not 26-11-19 14:12 UTC"
    assert components.coded(said) == (
        'held until <time datetime="2026-11-19T14:12:04Z" title="2026-11-19 14:12:04 UTC" data-shown="full">'
        "2026-11-19 14:12:04 UTC</time> &amp; <code>at 2026-11-19 14:12 UTC</code>; not 26-11-19 14:12 UTC"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_843_200, "1.8 MB"), (999_600, "1.0 MB"), (48.2e9, "48.2 GB")],
)
def test_bytes_have_a_unit(value: float, text: str) -> None:
    assert components.size_text(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0123, "12 ms"),
        (1.5, "1.5 s"),
        (59.6, "60 s"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (90_000, "1 d 1 h"),
        (timedelta(days=400), "1 y 35 d"),
        (-90, "−1 min 30 s"),
    ],
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert components.duration_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "now"), (5, "in 5 s"), (-65, "1 min ago"), (7300, "in 2 h"), (-200_000, "2 d ago")]
)
def test_relative_times(seconds: float, text: str) -> None:
    assert components.relative_text(seconds) == text


def test_a_moment_is_in_utc_until_the_script_knows_better() -> None:
    shown = components.when(datetime(2026, 3, 2, 15, 4, 5, tzinfo=UTC))
    assert 'datetime="2026-03-02T15:04:05.000Z"' in shown
    assert 'title="2026-03-02 15:04:05 UTC"' in shown
    assert ">2026-03-02 15:04<" in shown
    assert ">in 3 h<" in components.when(NOW + timedelta(hours=3), relative_to=NOW)
    assert components.when(None) == components.NOTHING


def test_codes_are_words_and_commands_are_code() -> None:
    assert [components.words(code) for code in ("rate_limited", "http_404", "no code")] == [
        "rate limited",
        "HTTP 404",
        "no code",
    ]
    assert components.coded("`comity why <b>` says it.") == "<code>comity why &lt;b&gt;</code> says it."
    assert components.coded("one ` alone <b>") == "one ` alone &lt;b&gt;"


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "//elsewhere", " https://x"])
def test_only_web_addresses_become_links(address: str) -> None:
    assert "<a" not in components.outside_link(address)


def test_what_was_crawled_is_escaped_everywhere() -> None:
    hostile = '"><script>alert(1)</script>'
    for shown in (
        components.badge("good", hostile, title=hostile),
        components.shortened(hostile, 10),
        components.outside_link(f"https://example.org/{hostile}"),
        components.meter(1, 2, hostile),
    ):
        assert "<script" not in shown


FORM = Form((Field("careers_url", "Address"), Field("org_name", "Name"), Field("approved", "Approved", "check")))


def test_a_form_becomes_the_schema_of_the_api() -> None:
    entered = FormValues(
        [
            ("careers_url", "https://example.org/jobs"),
            ("org_name", ""),
            ("crawl_frequency_days", "3"),
            ("approved", "on"),
        ]
    )
    body = entered.parse(SourceRequest, boxes=["approved"])
    assert (body.careers_url, body.org_name, body.crawl_frequency_days) == ("https://example.org/jobs", None, 3)
    assert body.approved is True
    assert "org_name" not in body.model_fields_set
    assert "org_name" in entered.parse(SourceRequest, keep_empty=True).model_fields_set
    assert FormValues([("careers_url", "https://x.example")]).parse(SourceRequest, boxes=["approved"]).approved is False


def test_a_form_that_cannot_be_used_says_where() -> None:
    entered = FormValues([("careers_url", "ftp://x"), ("org_name", "kept"), ("crawl_frequency_days", "often")])
    with pytest.raises(FormInvalid) as caught:
        entered.parse(SourceRequest)
    assert set(caught.value.errors) == {"careers_url", "crawl_frequency_days"}
    form = FORM.refused(entered, caught.value)
    assert form.error("careers_url")
    assert form.value("org_name") == "kept"
    assert form.error().startswith("crawl_frequency_days: ")  # the form has no such field, so it stands on top


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("careers_url", "ftp://x", "Not in the expected format, such as https://"),
        ("careers_url", "https://x.example/" + "a" * 5000, "Must have at most 2,000 characters."),
        ("crawl_frequency_days", "often", "Must be a whole number."),
        ("crawl_frequency_days", "0", "Must be at least 1."),
        ("country", "Kenya", "Must have at most 2 characters."),
        ("country", "K1", "Not in the expected format"),
        ("importance", "much", "Not a number."),
        ("importance", "5000", "Must be at most 1,000."),
    ],
)
def test_an_error_of_a_field_is_a_sentence_for_people(name: str, value: str, sentence: str) -> None:
    entered = FormValues(list(({"careers_url": "https://example.org/jobs"} | {name: value}).items()))
    with pytest.raises(FormInvalid) as caught:
        entered.parse(SourceRequest)
    assert caught.value.errors[name].startswith(sentence)


def test_an_empty_list_is_a_field_that_is_required() -> None:
    with pytest.raises(FormInvalid) as caught:
        FormValues([("seeds", " \n")]).parse(CrawlRequest, lists=["seeds"])
    assert caught.value.errors == {"seeds": "This field is required."}


def test_a_url_is_shown_as_its_host_above_its_path() -> None:
    shown = components.address_lines("https://shop.example:8080/a/b?c=<b>")
    assert '<span class="title">shop.example:8080</span>' in shown
    assert ">/a/b?c=&lt;b&gt;</span>" in shown
    assert "<b>" not in shown
    assert components.address_lines("shop.example") == "shop.example"


def test_the_holder_of_a_lease_is_a_machine_and_a_process() -> None:
    assert ">worker-3, process 4711<" in components.holder("worker-3:4711:88123456:a1b2c3")
    assert 'title="worker-3:4711:88123456:a1b2c3"' in components.holder("worker-3:4711:88123456:a1b2c3")
    assert components.holder("bot:shop-bot-1") == "bot:shop-bot-1"
    assert "<script" not in components.holder("<script>:1:2:3")


def test_a_form_over_values_that_have_changed_is_refused_once() -> None:
    opened = FORM.filled({"careers_url": "https://a.example", "org_name": "A"})
    now = FORM.filled({"careers_url": "https://a.example", "org_name": "B"})
    entered = FormValues([("careers_url", "https://a.example"), ("org_name", "C"), ("opened_with", opened.opened_with)])
    opened.require_same(entered)
    now.require_same(FormValues([("org_name", "C")]))  # a program that sends the form without its digest
    with pytest.raises(FormInvalid) as caught:
        now.require_same(entered)
    again = FORM.refused(entered, caught.value)
    assert (again.value("org_name"), again.error()[:20]) == ("C", "Someone changed this")
    now.require_same(FormValues([("org_name", "C"), ("opened_with", again.opened_with)]))
    kept = FORM.refused(entered, BadInput("org_name", "it is too long"))
    assert kept.opened_with == opened.opened_with
    empty = FORM.filled({"careers_url": "https://a.example", "org_name": None})
    assert empty.opened_with == FORM.filled({"careers_url": "https://a.example", "org_name": ""}).opened_with


def test_an_error_of_the_state_stands_at_its_field() -> None:
    entered = FormValues([("careers_url", "https://x.example")])
    assert FORM.refused(entered, BadInput("careers_url", "it exists")).error("careers_url") == "It exists."
    assert FORM.refused(entered, BadInput("it exists")).error() == "It exists."
    named = FORM.refused(entered, BadInput("careers_url", "https://x.example already exists"))
    assert named.error("careers_url") == "https://x.example already exists."
