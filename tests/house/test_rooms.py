"""The source keeps its shape: rooms with a sentence each, no drawers for odds and ends, small modules and functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from comity.doors.cli.main import COMMANDS

SOURCE = Path(__file__).resolve().parents[2] / "src" / "comity"
MODULES = sorted(SOURCE.rglob("*.py"))
ODDS_AND_ENDS = {"common", "helper", "helpers", "misc", "util", "utils"}
LONGEST_MODULE_LINES = 700  # most are near 150; a module is as long as its thought
LONGEST_FUNCTION_LINES = 70


def rooms() -> list[Path]:
    """Every folder that holds a module, and the folders on the way to it."""
    folders = {SOURCE, *(parent for module in MODULES for parent in module.parents if SOURCE in parent.parents)}
    return sorted(folders)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE.parent).as_posix()


def test_there_are_rooms_to_look_at() -> None:
    assert {"comity", "comity/model", "comity/rules"} <= set(map(name_of, rooms()))


@pytest.mark.parametrize("room", rooms(), ids=name_of)
def test_a_room_says_what_it_is_for(room: Path) -> None:
    opening = room / "__init__.py"
    assert opening.is_file(), f"{name_of(room)} has no __init__.py"
    assert ast.get_docstring(ast.parse(opening.read_text())), f"{name_of(opening)} has no docstring"


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    assert MODULES
    parts = {name_of(module): module.relative_to(SOURCE).with_suffix("").parts for module in MODULES}
    assert [name for name, each in parts.items() if ODDS_AND_ENDS & {part.lstrip("_") for part in each}] == []


def test_modules_and_functions_are_small() -> None:
    found = []
    for module in MODULES:
        text = module.read_text()
        if len(text.splitlines()) > LONGEST_MODULE_LINES:
            found.append(f"{name_of(module)} is too long: split it")
        for function in functions(ast.parse(text)):
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines > LONGEST_FUNCTION_LINES:
                found.append(f"{name_of(module)}:{function.lineno} {function.name} has {lines} lines")
    assert found == []


# Rooms that may name commands and options of the command line. A module beside them needs a reason.
MAY_NAME_COMMANDS = {"doors", "run", "__main__.py"}
NAMES_COMMANDS = {
    "rules/address_guard.py": "its refusals are evidence, stored as text, and the address is all that a remedy needs",
    "database/supabase.py": "it writes a script for psql, whose messages no door of ours renders",
}
COMMAND_OR_OPTION = re.compile(rf"(?<![\w-])--[a-z]|\bcomity ({'|'.join(map(re.escape, COMMANDS))})\b")


def texts(module: Path) -> Iterator[tuple[int, str]]:
    """Every string of a module that is not a docstring."""
    tree = ast.parse(module.read_text())
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def test_only_doors_and_what_they_run_name_commands_and_options() -> None:
    found = {
        f"{module.relative_to(SOURCE).as_posix()}:{line}: {text}"
        for module in MODULES
        if module.relative_to(SOURCE).parts[0] not in MAY_NAME_COMMANDS
        for line, text in texts(module)
        if COMMAND_OR_OPTION.search(text)
    }
    assert {each for each in found if each.partition(":")[0] not in NAMES_COMMANDS} == set()
    assert {each.partition(":")[0] for each in found} == set(NAMES_COMMANDS), "an exception that is not needed any more"
