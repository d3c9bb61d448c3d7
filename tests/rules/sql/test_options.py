"""Options of a CRAWL statement: types, bounds, defaults, and what is said of a wrong one."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal

import pytest

from comity.model.errors import BadInput
from comity.model.statement import OptionValue
from comity.rules.sql.options import OPTIONS, SqlCrawlOptions, read_options


def test_without_options_the_defaults_are_those_of_s4() -> None:
    found = read_options(())
    assert found == SqlCrawlOptions()
    assert (found.follow_links, found.max_response_bytes, found.max_retries) == (False, 10_485_760, 5)
    assert (found.max_retry_backoff_seconds, found.batch_size, found.compress) == (600, 100, True)


def test_every_field_has_an_option_and_every_option_a_field() -> None:
    assert {rule.field or name for name, rule in OPTIONS.items()} == {each.name for each in fields(SqlCrawlOptions)}


@pytest.mark.parametrize(
    ("name", "value", "field", "read"),
    [
        ("user_agent", " MyBot/1.0 ", "user_agent", "MyBot/1.0"),
        ("crawl_delay_ms", 1500, "default_crawl_delay", 1.5),
        ("default_crawl_delay", Decimal("0.25"), "default_crawl_delay", 0.25),
        ("threads", Decimal("4.0"), "threads", 4),
        ("compress", "FALSE", "compress", False),
        ("follow_links", 1, "follow_links", True),
        ("accept_content_types", "text/html, text/*,", "accept_content_types", ("text/html", "text/*")),
        ("reject_content_types", ("image/*",), "reject_content_types", ("image/*",)),
    ],
)
def test_values(name: str, value: OptionValue, field: str, read: object) -> None:
    assert getattr(read_options([(name, value)]), field) == read


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([("user_agnet", "x")], "did you mean user_agent"),
        ([("zzz", 1)], "the options are user_agent, threads"),
        ([("threads", 33)], "a whole number from 1 to 32"),
        ([("threads", True)], "a whole number"),
        ([("threads", "4")], "a whole number"),
        ([("compress", 2)], "true or false"),
        ([("user_agent", "")], "takes a text"),
        ([("default_crawl_delay", -1)], "a number of seconds"),
        ([("accept_content_types", 5)], "a list of types"),
        ([("default_crawl_delay", 1), ("crawl_delay_ms", 5)], "means the same as default_crawl_delay"),
        ([("min_crawl_delay", 5), ("max_crawl_delay", 4)], "longer than max_crawl_delay"),
    ],
)
def test_a_wrong_option_is_named_with_what_it_takes(options: list[tuple[str, OptionValue]], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        read_options(options)
