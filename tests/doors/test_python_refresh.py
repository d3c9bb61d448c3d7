"""`comity.crawl` that looks for what changed, and for images."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import comity
from tests.doors.crawled_site import no_thread_stays
from tests.walk.crawling import LOOPBACK
from tests.walk.pictures import png
from tests.walk.site import Answer, Web, page


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.chdir(tmp_path)
    with no_thread_stays(), Web() as web:
        yield web


def run(url: str, **options: Any) -> tuple[list[str], Any]:
    crawl = comity.crawl(url, state="state.db", delay=0, sitemaps=False, allow_networks=[LOOPBACK], **options)
    titles = [str(each.title) for each in crawl]
    return titles, crawl.summary


def test_only_what_changed_is_given_again(web: Web) -> None:
    routes: dict[str, Any] = {"/": Answer(body=page("/a", title="one"), etag='"1"'), "/a": page(title="two")}
    site = web.site(routes)
    assert sorted(run(site.url())[0]) == ["one", "two"]
    assert run(site.url())[0] == []
    site.routes["/a"] = page(title="three")
    titles, summary = run(site.url(), refresh=True)
    assert (titles, summary.pages, summary.unchanged) == (["three"], 2, 1)
    assert run(site.url(), update_stale=True)[0] == [], "nothing of it is old"


def test_images_are_kept_beside_the_pages(web: Web) -> None:
    site = web.site(
        {"/": page(body="<img src=/a.png>"), "/a.png": Answer(body=png(), type="image/png")},
    )
    titles, summary = run(site.url(), into="kept", images=True)
    assert (titles, summary.images_found, summary.images_stored) == (["page"], 1, 1)
    (file,) = Path("kept/images").rglob("*.png")
    assert file.read_bytes() == png()
    with pytest.raises(comity.BadInput, match="max_image_bytes"):
        comity.crawl(site.url(), images=True, max_image_bytes=3)
