"""`--text` and `--markdown`: the main content by every door, of light and heavy pages; the examples of docs/text.md."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

import comity as api
from comity.doors.python.page import page_of
from comity.extract.html_pool import LIGHT_TAGS, is_light
from tests.documents import blocks, read_page
from tests.doors.command_line import CommandLine
from tests.doors.crawled_site import crawl
from tests.doors.test_python_scripts import run
from tests.store.light import nothing, page
from tests.walk.crawling import LOOPBACK, Place
from tests.walk.site import Answer, Site, Web

DOCUMENT = read_page("text.md")
SCRIPTS = blocks(DOCUMENT, "python")
COMMANDS = re.findall(r"^comity .*$", DOCUMENT, re.MULTILINE)

NAV = "<nav><a href=/heavy>Heavy page</a> <a href=/plain>Plain page</a> <a href=/noindex>No index</a>"
NAV += "<a href=/latin>Latin</a><a href=/latin-text>Latin text</a></nav>"
WORDS = "The council voted on Tuesday to keep the old bridge open for another year, after weeks of argument. "
ARTICLE = f"<title>Bridge</title>{NAV}<main><h1>Bridge stays</h1><p>{WORDS}<a href=/plain>More about it</a>.</p></main>"
HEAVY = f"<title>Heavy</title>{NAV}<main>" + "<p>One of <b>very</b> many paragraphs.</p>" * LIGHT_TAGS + "</main>"
TEXT = f"Bridge stays\n\n{WORDS}More about it."


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture
def site(web: Web) -> Site:
    assert not is_light(HEAVY.encode())
    return web.site(
        {
            "/": ARTICLE,
            "/heavy": HEAVY,
            "/plain": Answer(body=b"plain\n  words\n", type="text/plain"),
            "/latin": Answer(
                body="<main><p>Straße, für alle gesperrt".encode("latin-1"), type="text/html; charset=iso-8859-1"
            ),
            "/latin-text": Answer(body="Straße".encode("latin-1"), type="text/plain; charset=iso-8859-1"),
            "/noindex": f"<meta name=robots content=noindex>{ARTICLE}",
        },
        robots="User-agent: *\nAllow: /\n",
    )


def rows(path: Path) -> dict[str, dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {row["url"].rpartition("/")[2]: row for row in map(json.loads, lines)}


def crawl_command(comity: CommandLine, site: Site, *options: str) -> dict[str, dict[str, Any]]:
    arguments = ("crawl", site.url(), "--delay", "0", "--allow-network", LOOPBACK, "--into", "pages.jsonl", *options)
    answer = comity(*arguments)
    assert answer.code == 0, answer.err
    return rows(comity.folder / "pages.jsonl")


def test_a_crawl_stores_text_and_markdown(comity: CommandLine, site: Site) -> None:
    found = crawl_command(comity, site, "--text", "--markdown")
    assert found[""]["text"] == TEXT
    assert found[""]["markdown"] == f"# Bridge stays\n\n{WORDS}[More about it]({site.url('/plain')})."
    assert found["heavy"]["text"].count("One of very many paragraphs.") == LIGHT_TAGS
    assert found["heavy"]["markdown"].count("One of **very** many paragraphs.") == LIGHT_TAGS
    assert "Heavy page" not in found["heavy"]["text"]
    assert (found["plain"]["text"], found["plain"]["markdown"]) == (None, None)
    assert (found["noindex"]["error"], found["noindex"]["text"]) == ("noindex", None)


def test_each_option_stores_its_own_column(comity: CommandLine, site: Site) -> None:
    found = crawl_command(comity, site, "--markdown")
    assert {row["text"] for row in found.values()} == {None}
    assert found[""]["markdown"].startswith("# Bridge stays")


def test_without_the_options_nothing_is_read_or_stored(
    comity: CommandLine, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comity.extract.main_content.read_main_content", None)
    found = crawl_command(comity, site)
    assert {(row["text"], row["markdown"]) for row in found.values()} == {(None, None)}


def test_several_processes_store_text(comity: CommandLine, site: Site) -> None:
    answer = comity.finished(
        *("crawl", site.url(), "--delay", "0", "--allow-network", LOOPBACK, "--into", "pages.jsonl", "--text"),
        *("--processes", "2"),
    )
    assert answer.code == 0, answer.err
    assert rows(comity.folder / "pages.jsonl")[""]["text"] == TEXT


def test_pages_in_python_have_their_content_when_asked(place: Place, site: Site) -> None:
    seen: dict[str, str] = {}

    def extract(page: api.FetchedPage) -> None:
        seen[page.url] = page.text

    found = {page.url: page for page in crawl(place, site, extract=extract)}
    assert set(found) == {site.url(path) for path in ("/", "/heavy", "/plain", "/latin", "/latin-text")}
    home = found[site.url()]
    assert (home.text, home.html) == (TEXT, ARTICLE)
    assert home.markdown.startswith("# Bridge stays")
    assert found[site.url("/plain")].text == "plain\n  words\n"
    assert {url: seen[url] for url in found} == {url: page.text for url, page in found.items()}
    stored = {page.url: page for page in api.read_pages(place.pages)}
    assert {url: page.text for url, page in stored.items()} == {url: page.text for url, page in found.items()}
    assert stored[site.url("/latin")].text == "Straße, für alle gesperrt"
    assert stored[site.url("/latin-text")].text == "Straße"


class Kept:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.pages: list[api.Page] = []

    def write(self, pages: Sequence[api.Page], /) -> None:
        self.pages += pages


def test_the_options_in_python_store_what_sinks_and_stores_show(place: Place, site: Site) -> None:
    sink = Kept()
    into = place.folder / "pages.duckdb"
    found = {page.url: page for page in crawl(place, site, into=into, sink=sink, text=True, markdown=True)}
    assert {page.url: page.text for page in sink.pages} == {url: page.text for url, page in found.items()}
    with duckdb.connect(str(into), read_only=True) as connection:
        stored = connection.execute("SELECT url, text, markdown FROM pages WHERE error IS NULL").fetchall()
    assert {url for url, *_ in stored} == set(found)
    for url, text, markdown in stored:
        if not url.endswith(("/plain", "/latin-text")):
            assert (text, markdown) == (found[url].text, found[url].markdown)
    assert {page.url: page.text for page in api.read_pages(into)} == {url: page.text for url, page in found.items()}


def test_a_page_that_could_not_be_read_is_not_read_again() -> None:
    """The crawl gave it up (decision 9): it has no encoding, and reading it here would have no limits."""
    given_up = page_of(page(1, ARTICLE.encode(), encoding=None))
    assert (given_up.text, given_up.markdown) == ("", "")
    assert page_of(page(1, ARTICLE.encode())).text == TEXT
    assert page_of(nothing(1)).text == ""


def test_the_document_has_examples() -> None:
    assert len(SCRIPTS) == 2
    assert len(COMMANDS) == 4


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda text: text.splitlines()[2][:60])
def test_every_script_runs(site: Site, place: Place, script: str) -> None:
    code, out, err = run(script.replace("https://example.com/", site.url()), place)
    assert (code, err) == (0, "")
    assert "Bridge" in out


def test_every_command_runs(comity: CommandLine, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_ALLOW_NETWORKS", LOOPBACK)
    monkeypatch.setenv("COMITY_DELAY", "0")
    for command in COMMANDS:
        state = ("--state", f"{COMMANDS.index(command)}.db") if " crawl " in command else ()
        answer = comity(*shlex.split(command.replace("https://example.com/", site.url()))[1:], *state)
        assert answer.code == 0, answer.err
        assert answer.out.strip()
    assert "markdown" in answer.out


def test_text_of_a_page_that_would_hold_up_the_crawl_comes_from_a_child(web: Web, place: Place) -> None:
    """60 elements that 1,200 paragraphs reopen are 72,000, of 8 kB."""
    opened = "".join(f"<b class=post-content id=a{number}>" for number in range(60))
    site = web.site({"/": f"<title>t</title><p>{opened}{'<p>lorem ipsum dolor' * 1_200}"})
    for option in ("--text", "--markdown"):
        target = place.folder / f"{option[2:]}.jsonl"
        assert place.comity("crawl", site.url(), option, "--into", target, "--refresh").code == 0
        assert json.loads(target.read_text())[option[2:]].count("lorem ipsum") >= 500
