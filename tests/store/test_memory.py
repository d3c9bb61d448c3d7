"""A crawl's process stays small, however many and however large its pages are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.store.samples import FOLDER, PLACES
from tests.store.test_crashes import PATIENCE_S, start

MOST_MB = 60  # for pages under way, what is compressed at the moment, and the libraries that do it


def measured(what: str, place: Path) -> dict[str, Any]:
    with start(what, place, module="tests.store.measuring") as process:
        out, problems = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, problems
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize("name", [name for name in PLACES if name != "pages.duckdb"])
def test_thousands_of_pages_pass_through_little_memory(tmp_path: Path, name: str) -> None:
    found = measured("many pages", tmp_path / name)
    assert found["most"] - found["before"] < MOST_MB
    assert found["heavy"] == []


def test_recovering_inflates_one_large_body_at_a_time(tmp_path: Path) -> None:
    found = measured("large bodies", tmp_path / FOLDER)
    assert found["most"] - found["before"] < 3 * MOST_MB  # 1.5 GB in all
