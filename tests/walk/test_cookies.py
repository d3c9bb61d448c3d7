"""Sites that set a cookie and send the visitor back: the page is reached, and the cookie goes nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.walk.crawling import Place
from tests.walk.site import Answer, Asked, Web, page, redirect


def behind_a_cookie(
    content: str, *, cookie: str = "visit=s3cret-42; Path=/"
) -> tuple[Callable[[Asked], Answer | str], Callable[[Asked], Answer]]:
    """A route that wants a cookie, and one that sets it."""

    def wanted(asked: Asked) -> Answer | str:
        if "visit=s3cret-42" in asked.headers.get("cookie", ""):
            return content
        return redirect(f"/set?to={asked.path}")

    def setting(asked: Asked) -> Answer:
        return Answer(302, headers={"Location": asked.path.partition("=")[2], "Set-Cookie": cookie})

    return wanted, setting


def test_a_site_behind_a_cookie_is_crawled_and_the_cookie_lives_for_one_visit(web: Web, place: Place) -> None:
    home, setting = behind_a_cookie(page("/a"))
    other, _setting = behind_a_cookie(page(title="a"))
    routes = {"/": home, "/a": other, "/set?to=/": setting, "/set?to=/a": setting}
    site = web.site(routes)
    summary = place.crawl(site.url())
    assert (summary.pages, summary.errors) == (2, 0)
    assert site.pages() == ["/", "/set?to=/", "/", "/a", "/set?to=/a", "/a"]
    assert [seen.headers.get("cookie") for seen in site.log if seen.path != "/robots.txt"] == [
        None,
        None,
        "visit=s3cret-42",
        None,
        None,
        "visit=s3cret-42",
    ]
    kept = place.kept()
    assert (kept[site.url("/a")]["final_url"], kept[site.url("/a")]["redirect_count"]) == (site.url("/a"), 2)
    for file in place.folder.rglob("*"):
        assert not file.is_file() or b"s3cret" not in file.read_bytes(), f"{file} has the cookie"


def test_a_page_that_sets_a_cookie_and_redirects_to_itself_is_no_loop(web: Web, place: Place) -> None:
    def itself(asked: Asked) -> Answer | str:
        if "seen=1" in asked.headers.get("cookie", ""):
            return page(title="home")
        return Answer(302, headers={"Location": "/", "Set-Cookie": "seen=1"})

    site = web.site({"/": itself})
    assert place.crawl(site.url()).pages == 1
    assert site.pages() == ["/", "/"]


def test_a_cookie_is_not_sent_to_another_host(web: Web, place: Place) -> None:
    other = web.site({"/": page(title="other")})
    site = web.site({"/": Answer(302, headers={"Location": other.url(), "Set-Cookie": "visit=s3cret-42; Path=/"})})
    assert place.crawl(site.url()).pages == 1
    assert [seen.headers.get("cookie") for seen in other.log] == [None, None]


def test_robots_txt_and_sitemaps_behind_a_cookie_are_read(web: Web, place: Place) -> None:
    robots, setting = behind_a_cookie("")

    def rules(asked: Asked) -> Answer:
        answer = robots(asked)
        return (
            answer
            if isinstance(answer, Answer)
            else Answer(body="User-agent: *\nDisallow: /private\n", type="text/plain")
        )

    listing, _setting = behind_a_cookie("")

    def sitemap(asked: Asked) -> Answer:
        answer = listing(asked)
        return answer if isinstance(answer, Answer) else Answer(body=site.url("/listed"), type="text/plain")

    site = web.site(
        {
            "/": page("/private"),
            "/listed": page(),
            "/set?to=/robots.txt": setting,
            "/set?to=/sitemap.xml": setting,
            "/sitemap.xml": sitemap,
        },
        robots=rules,
    )
    assert place.crawl(site.url(), sitemaps=True).pages == 2
    assert "/private" not in site.paths
    assert "/listed" in site.paths


@pytest.mark.parametrize("cookie", ["visit=s3cret-42; Path=/elsewhere", "visit=s3cret-42; Secure", "visit=; Max-Age=0"])
def test_a_cookie_that_may_not_come_back_still_ends_after_five_redirects(web: Web, place: Place, cookie: str) -> None:
    home, setting = behind_a_cookie(page(), cookie=cookie)
    site = web.site({"/": home, "/set?to=/": setting})
    summary = place.crawl(site.url())
    assert (summary.pages, summary.errors) == (0, 1)
    assert len(site.pages()) == 6
