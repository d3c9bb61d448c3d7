"""docs/web-api.md: its requests, its commands and its Python run as they are written."""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple

import pytest

from comity.doors.web.audiences import Audience, rules_of
from comity.settings import read_settings
from tests.documents import all_blocks, blocks, commands, read_page
from tests.doors.command_line import CommandLine
from tests.doors.web.served import PASSWORD_HASH, TOKEN, TOKEN_HASH, served

PAGE = read_page("web-api.md")


class Curl(NamedTuple):
    """A request of the page."""

    method: str
    path: str
    headers: dict[str, str]
    body: str | None


def requests() -> list[Curl]:
    """The requests of the page, with the token of the tests."""
    found = []
    for block in all_blocks(PAGE):
        for line in block.code.replace("\\\n", " ").splitlines():
            if not line.startswith("$ curl "):
                continue
            words = shlex.split(line.removeprefix("$ "))
            (url,) = (word for word in words if word.startswith("https://jobs.example"))
            options = {
                name: [words[at + 1] for at, word in enumerate(words) if word == name] for name in ("-H", "-X", "-d")
            }
            lines = [each.replace("$AUTH", f"Authorization: Bearer {TOKEN}") for each in options["-H"]]
            headers = dict(re.sub(r"Bearer .*", f"Bearer {TOKEN}", each).split(": ", 1) for each in lines)
            body = options["-d"][0] if options["-d"] else None
            method = options["-X"][0] if options["-X"] else "POST" if body else "GET"
            found.append(Curl(method, url.removeprefix("https://jobs.example"), headers, body))
    return found


def test_every_request_is_answered(sqlite_url: str) -> None:
    asked = requests()
    assert len(asked) == 5
    with (
        served(sqlite_url, env="prod", admin_password_hash=PASSWORD_HASH, admin_token_hash=(TOKEN_HASH,)) as running,
        running.client() as client,
    ):
        answers = [client.request(each.method, each.path, headers=each.headers, content=each.body) for each in asked]
        queued = next(answer for each, answer in zip(asked, answers, strict=True) if each.path.endswith("run_due"))
        assert [answer.status_code for answer in answers] == [200, 201, 202, 200, 202]
        assert queued.json() == {"queued": 1}
        search = re.search(r"`GET (/search\?\S+)`", PAGE)
        assert search is not None
        assert client.get(search[1]).json()["total"] == 0


def test_the_commands_are_known(comity: CommandLine) -> None:
    found = commands(PAGE, "")
    assert len(found) >= 6
    for words in found:
        place = words.index("web") + 1
        is_command = len(words) > place and not words[place].startswith("-")
        assert comity(*words[: place + is_command], "--help").code == 0
        text = comity(*words[: place + is_command], "--help").out
        assert all(word in text for word in words[place:] if word.startswith("--")), words


def test_the_settings_of_a_proxy_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = (each.code for each in all_blocks(PAGE) if "COMITY_TRUSTED_PROXIES" in each.code)
    for name, value in re.findall(r"^export (\w+)=(\S+)$", block, re.MULTILINE):
        monkeypatch.setenv(name, value)
    settings = read_settings()
    assert (settings.env, settings.allowed_hosts) == ("prod", ("jobs.example",))


def test_the_router_of_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    (script,) = blocks(PAGE, "python")
    names: dict[str, Any] = {}
    exec(compile(script, "docs", "exec"), names)  # our own page
    assert rules_of(names["router"]).audience is Audience.ADMIN
