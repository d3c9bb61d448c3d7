"""A web, and a place to crawl into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.walk.crawling import Place
from tests.walk.site import Web


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
