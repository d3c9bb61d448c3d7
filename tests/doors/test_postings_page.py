"""docs/postings.md: its example runs as it is written."""

from __future__ import annotations

from typing import Any

import pytest

from tests.documents import blocks, read_page


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = blocks(read_page("postings.md"), "python")
    names: dict[str, Any] = {}
    exec(compile(script, "docs", "exec"), names)  # our own page
    assert capsys.readouterr().out.startswith("KE senior 2026-03-31")
    assert names["posting"].apply_url == "https://aid.example/jobs/7"
