"""docs/walkthrough.md names functions that a real run calls, in the order in which it calls them first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.doors.web.served import TOKEN_HASH, WITH_TOKEN, served
from tests.house.tracing import Trace, traced
from tests.walk.crawling import Place
from tests.walk.site import Web, page
from tests.walk.sourcing import jobs, listing

PAGE = Path(__file__).parent.parent.parent / "docs" / "walkthrough.md"
_STEP = re.compile(r"^\d+\. `([\w.]+:[\w.]+)`", re.MULTILINE)


def steps(section: str) -> list[str]:
    """The functions that a section of the page names, in order."""
    found = re.search(rf"^## {section}$(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return _STEP.findall(found[1])


def assert_followed(section: str, trace: Trace) -> None:
    first_calls = trace.first_calls
    named = steps(section)
    assert named
    assert [step for step in named if step not in first_calls] == []
    assert named == sorted(named, key=first_calls.__getitem__)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_one_url(place: Place) -> None:
    with Web() as web:
        site = web.site({"/": page("/a"), "/a": page()})
        with traced() as trace:
            assert place.comity("crawl", site.url("/")).code == 0
    assert_followed("One URL", trace)


def test_one_source(place: Place) -> None:
    with Web() as web:
        site = web.site({"/careers": listing(jobs(2))})
        added = place.comity("sources", "add", site.url("/careers"), "--org-name", "Example", "--org-type", "ngo")
        assert added.code == 0
        with traced() as trace:
            assert place.comity("sources", "run-due").code == 0
    assert_followed("One source", trace)


def test_one_web_request(place: Place) -> None:
    assert place.comity("seeds", "add", "example.com").code == 0
    api = served(f"sqlite:///{place.state}", env="prod", admin_token_hash=(TOKEN_HASH,))
    with traced() as trace, api as running, running.client(headers=WITH_TOKEN) as client:
        assert client.get("/admin/hosts/example.com").json()["domain"] == "example.com"
    assert_followed("One web request", trace)
