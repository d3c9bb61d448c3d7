"""The folder of an audit: its tables are replaced as a whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from comity.reports.audit.gather import TABLES, replace_tables


def folder_with(path: Path, text: str) -> Path:
    path.mkdir()
    (path / "robots.jsonl").write_text(text)
    return path


def test_tables_that_another_process_put_there_meanwhile_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, made = tmp_path / TABLES, folder_with(tmp_path / ".tables-1", "ours")
    folder_with(tables, "old")
    removed = []
    remove = shutil.rmtree

    def remove_and_let_another_write(path: Path, **options: Any) -> None:
        remove(path, **options)
        removed.append(path)
        if len(removed) == 1:
            folder_with(tables, "theirs")

    monkeypatch.setattr(shutil, "rmtree", remove_and_let_another_write)
    replace_tables(tables, made)
    assert (tables / "robots.jsonl").read_text() == "ours"
    assert removed == [tables, tables]
