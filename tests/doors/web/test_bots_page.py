"""docs/bots.md: its generated parts are up to date, and its quick start is a program."""

from __future__ import annotations

from comity.model.queue import BotError
from tests.documents import blocks
from tests.doors.web.bots_page import PAGE, described, page_with


def test_the_reference_and_the_diagram_are_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page_with(text, described()) == text, "run python -m tests.doors.web.bots_page"


def test_every_code_is_explained() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Errors")[2].partition("\n## ")[0]
    assert {code for code in BotError if f"| `{code}` |" not in section} == set()


def test_the_programs_of_the_page_compile() -> None:
    programs = blocks(PAGE.read_text(encoding="utf-8"), "python")
    assert len(programs) == 3
    for program in programs:
        compile(program, "docs/bots.md", "exec")
