"""--help teaches, and comes quickly."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from comity import __version__
from comity.doors.cli.main import ORDER, app
from comity.settings import Settings
from tests.doors.command_line import CommandLine, clean_environment

HEAVY = ("sqlalchemy", "alembic", "pyarrow", "pycurl", "comity.settings", "psycopg", "fastapi", "uvicorn", "argon2")


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that can be typed, with the words that name it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))
ALONE = {("demo",)}  # it is an example itself, with a state of its own


@pytest.mark.parametrize("path", sorted(COMMANDS.keys() - ALONE), ids=lambda words: " ".join(words))
def test_every_command_explains_itself_with_an_example(comity: CommandLine, path: tuple[str, ...]) -> None:
    text = comity.done(*path, "--help").out
    assert f"Usage: comity {' '.join(path)} " in text
    example = text[text.index("Example") :]
    assert f"comity {' '.join(path)}" in example
    assert COMMANDS[path].help[0].isupper()
    for line in (*text.splitlines(), *COMMANDS[path].epilog.splitlines()):
        assert len(line) <= 80, "an example that is wrapped cannot be copied"


@pytest.mark.parametrize("name", ["crawl", "work"])
def test_the_defaults_that_help_names_are_those_of_the_settings(name: str) -> None:
    called = {
        "delay": "delay_s",
        "refresh": "enable_refresh_mode",
        "timeout": "fetch_timeout_s",
        "connect_timeout": "connect_timeout_s",
        "first_byte_timeout": "first_byte_timeout_s",
        "max_retry_backoff": "max_retry_backoff_seconds",
        "idle_timeout": "idle_timeout_s",
    }
    options = {param.name: param for param in COMMANDS[name,].params if param.param_type_name == "option"}
    told = {option: re.search(r"Default (\S+)\.$", param.help or "") for option, param in options.items()}
    defaults = {option: match[1] for option, match in told.items() if match}
    assert len(defaults) >= 6
    for option, default in defaults.items():
        value = Settings.model_fields[called.get(option, option)].default
        shown = ("no", "yes")[value] if isinstance(value, bool) else f"{value:,}".removesuffix(".0")
        assert default == shown, option


@pytest.mark.parametrize("path", sorted(COMMANDS.keys() - ALONE), ids=lambda words: " ".join(words))
def test_every_command_takes_the_options_of_every_command(path: tuple[str, ...]) -> None:
    assert {"--state", "--json"} <= {option for param in COMMANDS[path].params for option in param.opts}


def test_the_commands_come_in_groups(comity: CommandLine) -> None:
    text = comity.done("--help").out
    places = [text.index(f" {name} ") for name in ORDER]
    assert places == sorted(places)
    titles = ("Hosts", "Limits", "State", "Older names", "First steps", "Exit codes")
    assert [text.index(title) for title in titles] == sorted(text.index(title) for title in titles)


@pytest.mark.parametrize("words", [(), ("domains",), ("seeds",), ("takedown",), ("policy",), ("db",), ("simulate",)])
def test_a_name_without_a_command_shows_what_there_is(comity: CommandLine, words: tuple[str, ...]) -> None:
    answer = comity(*words)
    assert (answer.code, answer.err) == (2, "")
    assert answer.out.rstrip() == comity.done(*words, "--help").out.rstrip()


def test_the_version_is_told(comity: CommandLine) -> None:
    assert comity.done("--version").out == f"comity {__version__}\n"


def test_the_command_is_installed_and_a_module_too(comity: CommandLine) -> None:
    installed = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlib.metadata import entry_points as e; print(e(name='comity')['comity'].value)",
        ],
        capture_output=True,
        check=True,
        text=True,
    )
    assert installed.stdout == "comity.__main__:main\n"
    assert comity.finished("--version").out == f"comity {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["domains", "list", "--help"], ["--version"], ["nonsense"]])
def test_help_does_not_wait_for_what_only_work_needs(comity: CommandLine, arguments: list[str]) -> None:
    program = f"""
import sys
from comity.doors.cli.main import run
run({arguments!r})
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=comity.folder, env=clean_environment(), capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "[]"
