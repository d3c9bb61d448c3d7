"""The command line, ready to be used."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.doors.command_line import CONTACT, STATE, STEERING, CommandLine
from tests.walk.conftest import place, web, without_state  # noqa: F401  # fixtures are found by name


@pytest.fixture
def comity(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> CommandLine:
    """The command in an empty folder: there is no state yet."""
    for name in os.environ:
        if name.startswith(STEERING):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COMITY_CONTACT", CONTACT)  # without one, every command that asks a site says so
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return CommandLine(folder, capsys, partial(request.getfixturevalue, "fork_server"))


@pytest.fixture
def with_state(comity: CommandLine, migrated_sqlite_file: Path) -> CommandLine:
    """The command beside a state that is migrated and empty."""
    path = comity.folder / STATE
    path.parent.mkdir()
    shutil.copy(migrated_sqlite_file, path)
    return comity
