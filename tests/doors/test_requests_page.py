"""Every example of docs/requests.md runs, and what it says is sent arrives."""

from __future__ import annotations

import base64
import os
import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import comity
from tests.documents import blocks, read_page
from tests.doors.test_python_scripts import run
from tests.hostile.proxy import LoopbackProxy
from tests.walk.crawling import Place
from tests.walk.login_site import PASSWORD, SESSION, USER, behind_login
from tests.walk.site import Site, Web, tree

DOCUMENT = read_page("requests.md")
SHELL = blocks(DOCUMENT, "sh")
PYTHON = blocks(DOCUMENT, "python")
LOGIN, ENDED = blocks(DOCUMENT, "toml")
SECRETS = {
    "SITE_TOKEN": "t0ken-of-site",
    "SITE_SESSION": "s3ssion-in-env",
    "SITE_USER": USER,
    "SITE_PASSWORD": PASSWORD,
    "PROXY_PASSWORD": "pr0xy-pass",
}
BASIC = base64.b64encode(f"reader:{PASSWORD}".encode()).decode()
# What an example names, and how it arrives.
ARRIVES = {
    "Bearer env:SITE_TOKEN": ("authorization", "Bearer t0ken-of-site"),
    "bearer env:SITE_TOKEN": ("authorization", "Bearer t0ken-of-site"),
    "basic reader env:SITE_PASSWORD": ("authorization", f"Basic {BASIC}"),
    'auth=("reader", "env:SITE_PASSWORD")': ("authorization", f"Basic {BASIC}"),
    "X-Token: env:SITE_TOKEN": ("x-token", "t0ken-of-site"),
    '"X-Token": "env:SITE_TOKEN"': ("x-token", "t0ken-of-site"),
    "Accept-Language: de": ("accept-language", "de"),
    "session=env:SITE_SESSION": ("cookie", "session=s3ssion-in-env"),
    "--cookies cookies.txt": ("cookie", "filed=c00kie"),
    "--login": ("cookie", f"session={SESSION}"),
    "login=login": ("cookie", f"session={SESSION}"),
}


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture
def site(web: Web, request: pytest.FixtureRequest) -> Site:
    return behind_login(web, pages=5) if "login" in request.node.callspec.params["example"] else web.site(tree(5))


@pytest.fixture
def place(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Place:
    """A folder with the files that the examples name, and an environment with their secrets."""
    (tmp_path / "login.toml").write_text(LOGIN.replace("https://example.com", site.url("")) + ENDED)
    (tmp_path / "cookies.txt").write_text("127.0.0.1\tFALSE\t/\tFALSE\t0\tfiled\tc00kie\n")
    place = Place(tmp_path, partial(request.getfixturevalue, "fork_server"))
    place.env |= SECRETS
    monkeypatch.chdir(tmp_path)
    return place


def assert_it_arrived(example: str, site: Site) -> None:
    """What an example names is in some request to the site's pages, and no secret is on disk."""
    for text, (name, value) in ARRIVES.items():
        if text in example:
            assert [seen for seen in site.log if value in seen.headers.get(name, "")], text
    secrets = [*SECRETS.values(), SESSION, BASIC]
    for path in Path.cwd().rglob("*"):
        if path.is_file() and path.suffix != ".txt" and "cookies" not in path.parts:
            data = path.read_bytes()
            assert [each for each in secrets if each != USER and each.encode() in data] == [], path


@pytest.mark.parametrize("example", SHELL, ids=lambda text: text.split("comity", 1)[1].splitlines()[0].strip()[-40:])
def test_every_command_runs(place: Place, site: Site, example: str) -> None:
    target = ("127.0.0.1", site.port)
    if "policy" in example:  # the first one would ask for three seconds between requests
        place.comity("policy", "set", site.host, "--min-request-interval-ms", 0)
    way = "socks5h"
    with LoopbackProxy(target, way, ("me", "pr0xy-pass")) as guarded, LoopbackProxy(target, way) as one:
        with LoopbackProxy(target, way) as two:
            Path("proxies.txt").write_text(f"{one.url}\n{two.url}\n")
            text = example.replace("http://me:env:PROXY_PASSWORD@proxy1.example:3128", _with_user(guarded.url))
            text = text.replace("http://proxy1.example:3128", one.url).replace("http://proxy2.example:3128", two.url)
            text = text.replace("https://example.com", site.url("")).replace(" example.com", f" {site.host}")
            for line in text.replace("\\\n", " ").splitlines():
                if line.startswith("comity "):
                    told = place.comity(*shlex.split(line)[1:])
                    assert (told.code, told.err) == (0, ""), told
        if "proxy" in example:
            assert guarded.logins == ["me"]
            assert bool(one.asked) != bool(two.asked), "the host keeps its proxy"
    if "crawl" in example:
        assert len(site.pages()) >= 5
    assert_it_arrived(example, site)


@pytest.mark.parametrize("example", PYTHON, ids=lambda text: text.splitlines()[2][:20])
def test_every_script_runs(place: Place, site: Site, example: str) -> None:
    script = example.replace("https://example.com", site.url(""))
    code, out, err = run(script, place)
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == 5
    assert_it_arrived(example, site)


def test_there_are_examples() -> None:
    assert (len(SHELL), len(PYTHON)) >= (7, 2)
    assert {text for text in ARRIVES if text in DOCUMENT} == set(ARRIVES)
    assert os.environ.get("SITE_TOKEN") is None


def _with_user(url: str) -> str:
    return url.replace("://", "://me:env:PROXY_PASSWORD@")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"heders": {}}, TypeError, "unexpected keyword argument 'heders'"),
        ({"headers": {"X-A": "s3cret\r\nHost: evil"}}, comity.BadInput, "headers: a value contains a line break"),
        ({"headers": {"Host": "s3cret"}}, comity.BadInput, "headers: the header Host may not be set"),
        ({"headers": {"X-A": 1}}, TypeError, "headers: names and values must be strings"),
        ({"cookies": {"a": "s3cret; b=c"}}, comity.BadInput, "cookies: the value of the cookie a contains"),
        ({"auth": ("me", "env:NOT_SET_ANYWHERE")}, comity.BadInput, "auth: the environment variable NOT_SET_ANYWHERE"),
        ({"proxy": "gopher://me:s3cret@proxy:70"}, comity.BadInput, "proxy: a proxy must be scheme://host:port"),
        ({"login": "nowhere.toml"}, comity.BadInput, "login: cannot read nowhere.toml"),
        (
            {"login": {"page": "https://other.example/in", "fields": {"a": "s3cret"}, "check": {"text": "x"}}},
            comity.BadInput,
            "login: https://other.example/in is not on one of the hosts to crawl",
        ),
        ({"idle_timeout": -1}, comity.BadInput, "idle_timeout: "),
    ],
)
def test_what_cannot_be_sent_is_refused_at_once_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=re.escape(words)) as refusal:
        comity.crawl("https://example.com/", **arguments)
    assert "s3cret" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--auth", "basic me s3cret"), "--auth: a password on the command line can be read by others"),
        (("--proxy", "http://me:s3cret@proxy:3128"), "--proxy: a password on the command line can be read by others"),
        (("--header", "Connection: s3cret"), "--header: the header Connection may not be set"),
        (
            ("--header", "User-Agent: s3cret"),
            "--header: the header User-Agent may not be set: it is set by COMITY_USER_AGENT",
        ),
        (("--header", "X-A: s3cret\nB: c"), "--header: "),
        (("--cookie", "s3cret"), "--cookie: a cookie is written as"),
        (("--cookies", "nowhere.txt"), "--cookies: cannot read nowhere.txt"),
        (("--auth", "bearer env:NOT_SET_ANYWHERE"), "--auth: the environment variable NOT_SET_ANYWHERE is not set"),
        (("--login", "nowhere.toml"), "--login: cannot read nowhere.toml"),
        (("--idle-timeout", "-1"), "--idle-timeout: "),
    ],
)
def test_a_command_refuses_them_before_anything_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: tuple[str, str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told = Place(tmp_path).comity("crawl", "https://example.com/", *option)
    assert told.code == 2
    assert told.err.startswith(f"comity: {words}"), told.err
    assert "s3cret" not in told.out + told.err
    assert list(tmp_path.iterdir()) == []
