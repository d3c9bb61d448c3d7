"""Pages under docs/ and their blocks of code, for the tests that run them: no test reads them in another way."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

import comity
from tests.walk.crawling import Place

DOCS = Path(__file__).resolve().parents[1] / "docs"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^[ $]*(\w+=\S+ )*comity ")


def read_page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


class Block(NamedTuple):
    """A block of code, and where it is in its page."""

    language: str
    code: str
    start: int
    end: int


def all_blocks(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    return [Block(found[1], found[2], found.start(), found.end()) for found in _BLOCK.finditer(page)]


def blocks(page: str, language: str) -> list[str]:
    """The blocks of a page in one language."""
    return [block.code for block in all_blocks(page) if block.language == language]


def commands(page: str, *languages: str) -> list[list[str]]:
    """The words of every command of a page, without `comity` itself; a backslash continues a line."""
    found = []
    for block in all_blocks(page):
        lines = block.code.replace("\\\n", " ").splitlines() if block.language in (languages or ("sh",)) else []
        for line in filter(_COMMAND.match, lines):
            words = shlex.split(line, comments=True)
            found.append(words[words.index("comity") + 1 :])
    return found


def run_script(script: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a Python block here, with the settings of a place: a process of its own would cost far more."""
    for name, value in place.environment().items():
        monkeypatch.setenv(name, value)
    exec(compile(script, "docs", "exec"), {"comity": comity, "__name__": "__main__"})  # our own page
