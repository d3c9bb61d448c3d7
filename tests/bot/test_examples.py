"""The example bots: they compile, and the one that needs only httpx reads a page as it says."""

from __future__ import annotations

import importlib.util
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from comity.bot import Failure, Job, Result

EXAMPLES = Path(__file__).parents[2] / "examples"
NOW = datetime(2025, 1, 7, tzinfo=UTC)
JOB = Job("id", "https://shop.example/1", "shop.example", 5, 0, 3, 600.0, NOW, NOW, NOW, 1.0, None, 0.0, 0.0)
PAGE = '<title> Widget </title><meta itemprop="price" content="19.90"><meta itemprop="priceCurrency" content="EUR">'


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_compiles(path: Path) -> None:
    compile(path.read_text(encoding="utf-8"), str(path), "exec")


def price_bot() -> Any:
    spec = importlib.util.spec_from_file_location("price_bot", EXAMPLES / "price_bot.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(answer: httpx.Response) -> Any:
    with httpx.Client(transport=httpx.MockTransport(lambda _request: answer)) as http:
        return price_bot().read(http, JOB)


def test_the_price_bot_reads_a_price_and_reports_a_wait() -> None:
    found = read(httpx.Response(200, text=PAGE))
    assert isinstance(found, Result)
    assert (found.price, found.currency, found.title, found.in_stock) == (Decimal("19.90"), "EUR", "Widget", True)
    assert read(httpx.Response(429, headers={"Retry-After": "30"})) == Failure("HTTP 429", 429, 30.0)
