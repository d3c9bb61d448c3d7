"""`comity web` as a process: it says where it listens, serves, and ends without leaving anything held."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Iterator

import httpx
import pytest
from argon2 import PasswordHasher

from tests.doors.command_line import CommandLine
from tests.doors.web.served import until
from tests.walk.site import Answer, Site, Web
from tests.walk.sourcing import jobs, listing

ENVIRONMENT = {"COMITY_ALLOW_NETWORKS": "127.0.0.0/8", "COMITY_SOURCE_DELAY": "0"}


@pytest.fixture
def site() -> Iterator[Site]:
    with Web() as web:
        yield web.site({"/careers": Answer(body=listing(jobs(4)), after_s=0.3)})


def test_it_serves_runs_what_is_due_and_ends_at_a_signal(comity: CommandLine, site: Site) -> None:
    arguments = ("web", "--port", "0", "--json")
    with comity.started(*arguments, environment=ENVIRONMENT | {"COMITY_SOURCES_EVERY_MINUTES": "0.01"}) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        port = re.search(r"listening on http://127\.0\.0\.1:(\d+); sources are run when due", said)
        assert port is not None, said
        assert "only this machine can use" in process.stderr.readline().decode()
        with httpx.Client(base_url=f"http://127.0.0.1:{port[1]}", trust_env=False, timeout=20) as client:
            added = client.post("/admin/sources", json={"careers_url": site.url("/careers")})
            assert added.status_code == 201
            told = json.loads(process.stdout.readline())
            assert (told["source_id"], told["status"], told["inserted"]) == (added.json()["id"], "ok", 4)
            client.post("/admin/crawl/run", json={"source_id": added.json()["id"]})
            until(lambda: client.get("/admin/crawl/status").json()["in_flight"] == 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        out, err = process.communicate()
    assert json.loads(out)["updated"] == 0  # what was under way came to its end
    assert err == b""
    assert comity.rows("SELECT count(*) FROM crawl_locks") == [(0,)]
    assert comity.rows("SELECT claimed_by FROM domains") == [(None,)]


def test_what_cannot_be_is_refused_before_anything_is_made(
    comity: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answer = comity("web", "--port", str(taken.getsockname()[1]))
    assert (answer.code, "cannot listen on 127.0.0.1" in answer.err) == (1, True), answer
    for arguments, words in (
        (("--port", "65536"), "--port must be between 0 and 65,535"),
        (("--host", "no such host"), "--host: 'no such host' is not an address of this machine"),
        (("--state", ":memory:"), "a state in memory cannot be shared"),
    ):
        answer = comity("web", *arguments)
        assert (answer.code, words in answer.err) == (2, True), answer
    for name, value, words in (
        (
            "COMITY_ADMIN_PASSWORD_HASH",
            "hunter2",
            "must be an Argon2id hash ($argon2id$…); `comity web hash-password` prints one",
        ),
        (
            "COMITY_ADMIN_TOKEN_HASH",
            "hunter2",
            "must be the hash of a token (64 hexadecimal digits); `comity web new-token` prints one",
        ),
        ("AIDJOBS_ENV", "staging", "'dev' or 'prod'"),
    ):
        monkeypatch.setenv(name, value)
        answer = comity("web")
        assert (answer.code, words in answer.err, "hunter2" in answer.err) == (2, True, False), answer
        monkeypatch.delenv(name)
    assert list(comity.folder.iterdir()) == []


def test_a_password_is_hashed_from_a_pipe(comity: CommandLine) -> None:
    answer = comity.finished("web", "hash-password", "--json", given=b"correct horse\n")
    assert answer.code == 0
    known = answer.document["admin_password_hash"]
    assert known.startswith("$argon2id$")
    assert PasswordHasher().verify(known, "correct horse")
    short = comity.finished("web", "hash-password", given=b"short\n")
    assert (short.code, "8 to 1,024 characters" in short.err) == (2, True)


def test_a_token_comes_with_its_hash(comity: CommandLine) -> None:
    from comity.doors.web.logins import is_token

    made = comity.json("web", "new-token")
    assert is_token(made["token"], (made["admin_token_hash"],))
    assert made["token"] != comity.json("web", "new-token")["token"]
    assert made["token"] not in made["admin_token_hash"]


def test_help_explains_the_server(comity: CommandLine) -> None:
    text = comity.done("web", "--help").out
    for piece in ("--host", "--port", "--no-scheduler", "--state", "hash-password", "comity web --no-scheduler"):
        assert piece in text
    assert all(len(line) <= 80 for line in text.splitlines())
