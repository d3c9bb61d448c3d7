"""Pages under docs/ and their blocks of code, for the tests that run them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import comity
from tests.walk.crawling import Place

DOCS = Path(__file__).resolve().parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read_page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """The blocks of a page in one language."""
    return [block for kind, block in _BLOCK.findall(page) if kind == language]


def commands(page: str) -> list[list[str]]:
    """The words of every command of a page, without `comity` itself; a backslash continues a line."""
    lines = [line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("comity ")]


def run_script(script: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a Python block here, with the settings of a place: a process of its own would cost far more."""
    for name, value in place.environment().items():
        monkeypatch.setenv(name, value)
    exec(compile(script, "docs", "exec"), {"comity": comity, "__name__": "__main__"})  # our own page
