"""What the pages say can be followed: their links lead somewhere, their commands and settings exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import AliasChoices

from comity.doors.cli.main import app
from comity.model.errors import NotFound, Remedy, RemedyCode
from comity.model.run import EndReason
from comity.model.wording import Action, action
from comity.run.remedies import in_full, in_words
from comity.settings import Settings
from tests.documents import commands

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), REPOSITORY / "bench" / "README.md"],
)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
VARIABLE = re.compile(r"\bCOMITY_[A-Z_]+\b(?!…)")
INLINE = re.compile(r"(?<!`)`comity ([a-z][^`\n]*)`(?!`)")
ROOT: Any = typer.main.get_command(app)
# Read before the settings are, or by the tests alone.
OTHER_VARIABLES = {
    "COMITY_TRACEBACK",
    "COMITY_TEST_CHROMIUM",
    "COMITY_TEST_DATABASE_URL",
    "COMITY_TEST_REDIS_URL",
    "COMITY_TEST_HOSTS",
    "COMITY_TEST_LONG",
    # Settings of Scrapy, for the middleware.
    "COMITY_URL",
    "COMITY_KEY",
    "COMITY_CLIENT_ID",
    "COMITY_OWN_ROBOTS",
}


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def assert_it_exists(words: list[str]) -> None:
    """A command and its options, as they are typed."""
    command, rest = ROOT, list(words)
    while rest and hasattr(command, "commands") and rest[0] in command.commands:
        command = command.commands[rest.pop(0)]
    assert command is not ROOT or rest[0].startswith("-"), words
    is_group = hasattr(command, "commands")
    assert not (is_group and rest and re.fullmatch("[a-z][a-z-]*", rest[0])), f"no such command: {words}"
    options = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    assert {word.partition("=")[0] for word in rest if word.startswith("--")} <= options, words


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_their_options_exist(page: Path) -> None:
    for words in commands(page.read_text(), "", "sh"):
        assert_it_exists(words)
    for words in INLINE.findall(page.read_text()):
        assert_it_exists([word for word in words.split() if not word.startswith("-")])


def test_examples_of_help_exist() -> None:
    groups = [ROOT, *(command for command in ROOT.commands.values() if hasattr(command, "commands"))]
    explained = [*groups, *(command for group in groups for command in group.commands.values())]
    examples = [words for each in explained for words in commands(f"```\n{each.epilog or ''}\n```", "")]
    assert len(examples) > 80
    for words in examples:
        assert_it_exists(words)


def test_commands_that_remedies_name_exist() -> None:
    texts = [in_full(NotFound("", remedy=Remedy(code, "a.example"))) for code in RemedyCode]
    texts += [in_words(action(each, "a.example", "3")) for each in Action]
    named = [shlex.split(words) for text in texts for words in re.findall(r"`comity ([^`]+)`", text)]
    assert len(named) > 20
    for words in named:
        assert_it_exists(words)


def test_there_are_commands_to_look_at() -> None:
    assert sum(len(commands(page.read_text(), "", "sh")) for page in PAGES) > 60


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_settings_that_are_named_exist(page: Path) -> None:
    aliases = [field.validation_alias for field in Settings.model_fields.values()]
    known = {str(name) for alias in aliases if isinstance(alias, AliasChoices) for name in alias.choices}
    assert set(VARIABLE.findall(page.read_text())) <= known | OTHER_VARIABLES


def test_every_end_reason_is_documented_in_its_order() -> None:
    text = (REPOSITORY / "docs/endings.md").read_text(encoding="utf-8")
    listed = text[text.index("<!-- reasons -->") : text.index("<!-- end of reasons -->")]
    lines = [line for line in listed.splitlines() if line.startswith("| `")]
    assert lines == [f"| `{reason}` | {reason.sentence} |" for reason in EndReason]


def test_the_index_of_the_pages_names_every_page() -> None:
    docs = REPOSITORY / "docs"
    listed = set(LINK.findall((docs / "README.md").read_text()))
    assert listed == {page.name for page in docs.glob("*.md")} - {"README.md"} | {"decisions"}
    decisions = set(LINK.findall((docs / "decisions" / "README.md").read_text()))
    assert decisions == {page.name for page in (docs / "decisions").glob("0*.md")}


def test_blocks_of_code_are_read_in_one_way() -> None:
    """Two ways would disagree about which examples there are, and one of them would run fewer than the page has."""
    own_way = re.compile(r"re\.(?:compile|find\w+)\([^)]*?```")
    tests = sorted((REPOSITORY / "tests").rglob("*.py"))
    found = [name_of(path) for path in tests if own_way.search(path.read_text(encoding="utf-8"))]
    assert found == ["tests/documents.py"]
