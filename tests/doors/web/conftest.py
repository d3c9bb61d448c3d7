"""A web of careers pages, and the API on each of the two databases."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from comity.database.connection import Database
from tests.doors.web.served import PASSWORD_HASH, TOKEN_HASH, WITH_TOKEN, Served, served
from tests.servers.postgres import PostgresDatabases


@pytest.fixture
def sqlite_url(migrated_sqlite_file: Path, tmp_path: Path) -> str:
    """A SQLite file that is migrated already."""
    path = tmp_path / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", "postgresql"])
def api_url(request: pytest.FixtureRequest) -> str:
    """An empty state on each of the two kinds of databases: the test runs twice."""
    if request.param == "sqlite":
        url: str = request.getfixturevalue("sqlite_url")
        return url
    database: Database = request.getfixturevalue("shared_database")
    return database.engine.url.render_as_string(hide_password=False)


@pytest.fixture
def api(api_url: str) -> Iterator[Served]:
    """The API with a login, on each of the two databases, without the scheduler."""
    with served(api_url, env="prod", admin_password_hash=PASSWORD_HASH, admin_token_hash=(TOKEN_HASH,)) as running:
        yield running


@pytest.fixture
def admin(api: Served) -> Iterator[httpx.Client]:
    """A program with a token."""
    with api.client(headers=WITH_TOKEN) as client:
        yield client


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """One server for many requests that leave nothing behind."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('api') / 'state.db'}"
    else:  # dropped with its server
        databases: PostgresDatabases = request.getfixturevalue("postgres_server")
        url = databases.create_database(request.getfixturevalue("migrated_template"))
    kept = served(url, env="prod", admin_token_hash=(TOKEN_HASH,))
    with kept as running, running.client(headers=WITH_TOKEN) as client:
        yield client
