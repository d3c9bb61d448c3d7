"""Sites on loopback, and a server that gives grants for them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.web.served import Served, served
from tests.walk.conftest import web  # noqa: F401  # fixtures are found by name

DELAY_S = 0.3


@pytest.fixture
def server(migrated_sqlite_file: Path, tmp_path: Path) -> Iterator[Served]:
    path = tmp_path / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)
    with served(f"sqlite:///{path}", env="dev", queue_delay_s=DELAY_S) as running:
        yield running
