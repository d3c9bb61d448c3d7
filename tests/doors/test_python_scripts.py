"""The Python API as scripts use it: every example of docs/python.md, Ctrl-C, loops left behind, a bare import."""

from __future__ import annotations

import ast
import json
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import comity
from comity.doors.python.options import RequestArguments
from tests.documents import blocks, read_page
from tests.doors.command_line import clean_environment
from tests.doors.crawled_site import assert_given_back
from tests.servers.waiting import wait_until
from tests.walk.crawling import LONG_REQUESTS, Place
from tests.walk.site import Answer, Asked, Site, Web, page, tree

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = read_page("python.md")
EXAMPLES = blocks(DOCUMENT, "python")
PATIENCE_S = 60
HEAVY = ("sqlalchemy", "duckdb", "pycurl", "pydantic", "asyncio", "turbohtml", "rich", "typer", "uvloop")


def begin(script: str, place: Place, warnings: str = "error") -> subprocess.Popen[str]:
    environment = clean_environment(place.environment() | {"PYTHONWARNINGS": warnings})
    return subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=place.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(script: str, place: Place) -> tuple[int, str, str]:
    """Run a script in a process that has imported everything; a warning is an error."""
    assert place.server is not None
    asked = {"script": script, "env": clean_environment(place.environment()), "cwd": str(place.folder)}
    with place.server().popen(asked) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def run_alone(script: str, place: Place, warnings: str = "error") -> tuple[int, str, str]:
    """Run a script in an interpreter of its own: what it imports and how it ends are the matter."""
    with begin(script, place, warnings) as process:
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, out, err


def shop(web: Web) -> Site:
    """A site on which every example finds something."""
    goods = "EUR 7.50 <i data-next='/shop/2'></i> price".replace("'", '"')
    return web.site(
        {"/": page("/shop/", "/gone"), "/shop/": page(body=goods), "/shop/2": page(body="EUR 9.90")},
        robots="User-agent: *\nAllow: /\n",
    )


def test_the_document_has_examples() -> None:
    assert len(EXAMPLES) >= 9


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[-1].strip()[:40])
def test_every_example_runs(web: Web, place: Place, example: str) -> None:
    site = shop(web)
    assert "https://example.com/" in example
    code, out, err = run(example.replace("https://example.com/", site.url()), place)
    assert (code, err) == (0, "")
    assert out.strip(), "an example has something to show"
    assert len(site.pages()) > 1
    if "TEMPORARY" not in example:
        assert_given_back(place)


def test_the_example_of_the_readme_runs(web: Web, place: Place) -> None:
    site = shop(web)
    (example,) = blocks((ROOT / "README.md").read_text(encoding="utf-8"), "python")
    code, out, err = run(example.replace("https://example.com/", site.url()).replace("delay=2", "delay=0"), place)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "2 pages; nothing left to visit"


def test_what_the_examples_show(web: Web, place: Place) -> None:
    site = shop(web)
    (extracting,) = [text for text in EXAMPLES if "def prices" in text]
    _code, out, _err = run(extracting.replace("https://example.com/", site.url()), place)
    assert f"{site.url('/shop/2')} {{'prices': ['9.90']}}" in out.splitlines()
    (failing,) = [text for text in EXAMPLES if "errors=True" in text]
    place.state.unlink()
    _code, out, _err = run(failing.replace("https://example.com/", site.url()), place)
    assert out.splitlines() == [f"no page: {site.url('/gone')} http_404 "]


def test_every_option_is_in_the_document() -> None:
    import dataclasses
    import inspect

    table = DOCUMENT.partition("## Options")[2].partition("## Errors")[0]
    parameters = list(inspect.signature(comity.crawl).parameters.values())
    names = [each.name for each in parameters if each.name not in ("seeds", "requests")]
    names += RequestArguments.__annotations__
    missing = [name for name in names if f"`{name}`" not in table]
    assert missing == []
    fields = DOCUMENT.partition("## Pages")[2].partition("## The run")[0]
    assert [each.name for each in dataclasses.fields(comity.Page) if f"`{each.name}`" not in fields] == []


INTERRUPTED = """
import comity, sys
for page in comity.crawl({url!r}):
    print(page.url, flush=True)
"""


def test_ctrl_c_ends_a_script_cleanly(web: Web, place: Place) -> None:
    """While it waits for a page, which is most of the time."""
    site = web.site(tree(200), robots="User-agent: *\nCrawl-delay: 0.05\n")
    with begin(INTERRUPTED.format(url=site.url()), place) as process:
        wait_until(lambda: len(site.pages()) > 5, 60, "some pages")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert_given_back(place)
    printed = out.split()
    assert len(printed) == len(set(printed))
    assert set(printed) <= set(place.kept())
    assert len(place.kept()) == len(site.pages())


def test_a_second_ctrl_c_waits_for_nothing_and_the_next_run_completes(web: Web, place: Place) -> None:
    def slow_once(asked: Asked) -> Answer:
        return Answer(body=page(), after_s=300.0 if asked.count == 1 else 0.0)

    place.env |= LONG_REQUESTS
    site = web.site({"/": page("/a", "/slow"), "/slow": slow_once}, fallback=page())
    with begin(INTERRUPTED.format(url=site.url()), place) as process:
        wait_until(lambda: "/slow" in site.paths, 60, "the slow page")
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None, "it finishes what is in flight"
        process.send_signal(signal.SIGINT)
        try:
            _out, err = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:  # a busy machine: the first two came as one
            process.send_signal(signal.SIGINT)
            _out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in err
    assert run(INTERRUPTED.format(url=site.url()), place)[0] == 0
    assert set(place.kept()) == {site.url(path) for path in ("/", "/a", "/slow")}
    assert place.host(site.host)["claimed_by"] is None


HALF = """
import comity
pages = iter(comity.crawl({url!r}))
print(next(pages).url)
"""


@pytest.mark.roomy
def test_a_script_may_end_with_half_a_loop(web: Web, place: Place) -> None:
    site = web.site(tree(60), robots="User-agent: *\nCrawl-delay: 0.02\n")
    # The interpreter ends without waiting for the crawl, which is a crash to it: files that were open stay so.
    code, out, err = run_alone(HALF.format(url=site.url()), place, "error,ignore::ResourceWarning")
    assert (code, out.split(), err) == (0, [site.url()], "")
    whole = INTERRUPTED.format(url=site.url())
    code, out, err = run(whole, place)
    assert (code, err) == (0, "")
    assert set(place.kept()) == {site.url(path) for path in tree(60)}
    assert site.url() not in out.split()


ASYNC_HALF = """
import asyncio, comity

async def main():
    async for page in comity.crawl({url!r}):
        print(page.url)
        return

asyncio.run(main())
"""


def test_an_async_script_may_return_out_of_its_loop(web: Web, place: Place) -> None:
    site = web.site(tree(60), robots="User-agent: *\nCrawl-delay: 0.02\n")
    code, out, err = run_alone(ASYNC_HALF.format(url=site.url()), place)
    assert (code, out.split(), err) == (0, [site.url()], "")
    assert_given_back(place)


BARE = """
import json, sys
before = set(sys.modules)
import comity
print(json.dumps(sorted(set(sys.modules) - before)))
comity.BadInput, comity.Extraction, dir(comity), comity.__version__
print(json.dumps([name for name in {heavy!r} if name in sys.modules]))
"""


def test_a_bare_import_loads_nothing_else(place: Place) -> None:
    code, out, err = run_alone(BARE.format(heavy=HEAVY), place)
    assert (code, err) == (0, "")
    loaded, heavy = map(json.loads, out.splitlines())
    assert loaded == ["comity"]
    assert heavy == [], "nor do the small names"


def test_the_names_and_their_types_are_the_same() -> None:
    stub = ast.parse((ROOT / "src" / "comity" / "__init__.pyi").read_text())
    typed = {
        alias.asname: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert set(comity.__all__) == {*typed, "__version__"}
    for name, home in typed.items():
        found = getattr(comity, name or "")
        assert getattr(found, "__module__", home) == home
    assert set(comity.__all__) <= set(dir(comity))
    with pytest.raises(AttributeError, match="has no attribute 'crawler'"):
        _ = comity.crawler  # type: ignore[attr-defined]


def test_the_script_whose_types_are_checked_is_the_documented_one() -> None:
    """`make check` holds it to what `mypy --strict` asks, and asserts the types that users get."""
    checked = Path(__file__).with_name("typed_script.py").read_text(encoding="utf-8")
    _, _, own = EXAMPLES[0].partition("import comity\n")
    assert f"import comity\n{own}" in checked
    assert checked.count("assert_type(") == 2
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert configured["modules"] == ["tests.doors.typed_script"]
