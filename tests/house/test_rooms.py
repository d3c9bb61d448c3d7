"""The source keeps its shape: rooms with a sentence each, no drawers for odds and ends, small modules and functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_no_module_is_a_drawer_for_odds_and_ends(module: Path) -> None:
    assert not ODDS_AND_ENDS & {part.lstrip("_") for part in module.relative_to(SOURCE).with_suffix("").parts}


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_modules_and_functions_are_small(module: Path) -> None:
    text = module.read_text()
    assert len(text.splitlines()) <= LONGEST_MODULE_LINES, f"{name_of(module)} is too long: split it"
    for function in functions(ast.parse(text)):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        assert lines <= LONGEST_FUNCTION_LINES, f"{name_of(module)}:{function.lineno} {function.name} has {lines} lines"
