"""docs/patterns.md: every row of its table, every command and every script in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from comity.rules.canonical import web_address
from comity.rules.url_patterns import LeftOut, pattern_rules, url_rules
from tests.documents import blocks, read_page, run_script
from tests.walk.crawling import Place
from tests.walk.site import Asked, Site, Web, page

PAGE = read_page("patterns.md")
CODE = re.compile(r"`([^`]+)`")
LINKS = ("/docs/a", "/docs/old/b", "/blog/c", "/private/a", "/d.pdf", "/e?sort=1", "/2024/f", "/g")


def _rows() -> Iterator[tuple[str, list[str], list[str]]]:
    """The table of patterns: a pattern, what it matches, what it does not."""
    table = PAGE[PAGE.index("| pattern | matches |") :].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        pattern, matched, unmatched, _ = (cell.strip() for cell in line.replace(r"\|", "\0").strip("|").split("|"))
        yield CODE.findall(pattern)[0].replace("\0", "|"), CODE.findall(matched), CODE.findall(unmatched)


ROWS = list(_rows())


def is_excluded(pattern: str, url: str) -> bool:
    rules = url_rules(pattern_rules([], [pattern]), None)
    assert rules is not None
    found = rules.judge(web_address(url if "://" in url else f"https://example.com{url}"))
    assert found in (None, LeftOut("exclude", pattern))
    return found is not None


@pytest.mark.parametrize(("pattern", "matched", "unmatched"), ROWS, ids=[row[0] for row in ROWS])
def test_the_table_is_true(pattern: str, matched: list[str], unmatched: list[str]) -> None:
    assert matched
    assert unmatched
    assert [url for url in matched if not is_excluded(pattern, url)] == []
    assert [url for url in unmatched if is_excluded(pattern, url)] == []


def example(web: Web) -> Site:
    """example.com, shop.example.com and blog.example.com, on one port."""

    def start(asked: Asked) -> str:
        port = asked.headers["host"].partition(":")[2]
        return page(*LINKS, f"http://shop.example.localhost:{port}/s", f"http://blog.example.localhost:{port}/t")

    return web.site({"/": start, "/docs/": start}, fallback=page(), robots="")


def local(text: str, site: Site) -> str:
    return re.sub(r"(https://)?(\w+\.)?example\.com", rf"http://\2example.localhost:{site.port}", text)


def asked(site: Site) -> set[str]:
    return {seen.host.partition(".")[0] + seen.path for seen in site.log if not seen.path.endswith((".txt", ".xml"))}


ALL = {f"example{path}" for path in ("/", *LINKS)}
DOCS = {"example/docs/", "example/docs/a", "example/docs/old/b"}
REQUESTED = [
    {"example/", "example/docs/a", "example/docs/old/b", "example/blog/c"},
    ALL - {"example/d.pdf", "example/e?sort=1"},
    ALL - {"example/2024/f"},
    DOCS,
    ALL | {"shop/s", "blog/t"},
    ALL | {"shop/s", "blog/t"},
]


@pytest.mark.parametrize(("number", "wanted"), list(enumerate(REQUESTED)))
def test_the_first_commands_request_what_they_say(number: int, wanted: set[str], web: Web, place: Place) -> None:
    commands = blocks(PAGE, "sh")[0].splitlines()
    assert len(commands) == len(REQUESTED)
    site = example(web)
    words = shlex.split(local(commands[number], site))[1:]
    words = [word.removeprefix("http://") if words[at - 1] == "--site-hosts" else word for at, word in enumerate(words)]
    assert place.comity(*words).code == 0
    assert asked(site) == wanted


def test_the_other_commands_run_and_name_the_pattern(web: Web, place: Place) -> None:
    site = example(web)
    said = ""
    for block in blocks(PAGE, "sh")[1:]:
        for command in block.splitlines():
            answer = place.comity(*shlex.split(local(command, site))[1:])
            assert answer.code == 0, (command, answer.err)
            said += answer.out
    assert "1 URL left out by patterns: 1 by exclude /private/." in said
    assert "the exclude pattern /private/ matches it" in said
    assert "/search, ?*sort=*" in said
    assert "example/private/a" not in asked(site)


def test_the_script_runs(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = example(web)
    (script,) = blocks(PAGE, "python")
    run_script(local(script, site), place, monkeypatch)
    assert asked(site) == {"example/docs/", "example/docs/a"}
    assert "exclude /docs/old/" in capsys.readouterr().out
