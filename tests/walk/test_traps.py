"""Endless sites end, with every real page fetched; large honest sites lose nothing."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.walk.crawling import Place
from tests.walk.site import Answer, Asked, Route, Site, Web, page

REAL = 150
MOST = 5000
COLOURS = [f"colour{number}" for number in range(12)]
SIZES = [f"size{number}" for number in range(8)]
BRANDS = [f"brand{number}" for number in range(15)]
PRICES = [f"to-{number}" for number in range(10)]
WORDS = ("amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour", "iris", "juniper", "kelp", "larch")


def prose(*seed: object) -> str:
    return " ".join(random.Random(repr(seed)).choices(WORDS, k=30))


def token(*seed: object) -> str:
    return hashlib.md5(repr(seed).encode()).hexdigest()


def real(number: int) -> str:
    return f"/articles/{WORDS[number % 12]}-{WORDS[number // 12 % 12]}-{number}"


REAL_PATHS = [real(number) for number in range(REAL)]


class TrapSite:
    """Five endless spaces, and 150 real pages behind ordinary links, some of them inside those spaces."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, asked: Asked) -> str | Answer:
        self.asked += 1
        split = urlsplit(asked.path)
        path, query = split.path, dict(parse_qsl(split.query))
        first = path.split("/")[1]
        answer = {
            "calendar": self.month,
            "events": self.month_by_path,
            "shop": self.filters,
            "list": self.pagination,
            "a": self.folders,
            "b": self.folders,
            "session": self.session,
        }.get(first)
        return answer(path, query) if answer is not None else Answer(404, page(title="not here"))

    def month(self, _path: str, query: dict[str, str]) -> str:
        year, month = int(query.get("year", 2026)), int(query.get("month", 1))
        at = year * 12 + month - 1
        links = [f"/calendar?year={near // 12}&month={near % 12 + 1}" for near in (at - 1, at + 1, at + 12, at - 12)]
        if 2024 <= year <= 2026:  # the months in which something happened
            links.append(real(50 + (at - 2024 * 12) % 36))
        return page(*links, title=f"Month {month} of {year}", body="Nothing on this day. " * 30)

    def month_by_path(self, path: str, _query: dict[str, str]) -> str | Answer:
        try:
            year, month = map(int, path.split("/")[2:4])
        except ValueError:
            return Answer(404)
        at = year * 12 + month - 1
        links = [f"/events/{near // 12}/{near % 12 + 1:02}/" for near in (at - 1, at + 1)]
        return page(*links, title=f"{year}-{month:02}", body="No events. " * 40)

    def filters(self, _path: str, query: dict[str, str]) -> str:
        links = []
        chance = random.Random(repr(sorted(query.items())))
        for name, values in (("colour", COLOURS), ("size", SIZES), ("brand", BRANDS), ("price", PRICES)):
            for value in values:
                chosen = list((query | {name: value}).items())
                chance.shuffle(chosen)  # the order in which they were clicked
                links.append("/shop?" + "&amp;".join(f"{key}={each}" for key, each in chosen))
        if len(query) == 1 and "colour" in query:
            links.append(real(86 + COLOURS.index(query["colour"])))
        return page(*links, title=f"Shop {sorted(query.items())}", body=prose("shop", sorted(query.items())))

    def pagination(self, _path: str, query: dict[str, str]) -> str:
        number = int(query.get("page", 1))
        shown = min(number, 10)  # after the last page, the last page
        links = [f"/list?page={number + 1}", *(real(98 + 4 * (shown - 1) + each) for each in range(4))]
        return page(*links, title=f"Page {shown}", body=prose("list", shown))

    def folders(self, _path: str, _query: dict[str, str]) -> str:
        return page("a/", "b/", "a/b/", real(138), title="Folder", body="The same everywhere.")

    def session(self, path: str, query: dict[str, str]) -> str:
        new = token(self.asked)
        item = int(path.split(";")[0].rsplit("/", 1)[-1] or 0) if path.count("/") > 1 else 0
        links = [f"/session/{each}?sid={new}" for each in range(3)]
        links += [f"/session/{each};jsessionid={new}?PHPSESSID={token(new)}" for each in range(3)]
        links += [f"/session/{new}/{each}" for each in range(3)]
        return page(*links, real(139 + item % 3), title=f"Item {item}", body=prose("item", item))


def trap_site(web: Web) -> tuple[Site, TrapSite]:
    trap = TrapSite()
    doors = ["/calendar", "/events/2026/01/", "/shop", "/list", "/a/", "/session/0"]
    routes: dict[str, Route] = {"/": page("/articles/", *doors, title="Home")}
    routes["/articles/"] = page(*REAL_PATHS[:20], title="Articles")
    for number, path in enumerate(REAL_PATHS):
        # The first ones lead on to the next thirty and to the last; the others are only found within the traps.
        onward = [real(20 + number), real(35 + number)] if number < 15 else []
        onward += [real(142 + number)] if number < 8 else []
        routes[path] = page("/", *onward, title=path, body=prose("article", number))
    return web.site(routes, fallback=trap), trap


def trap_codes(place: Place) -> dict[str, int]:
    rows = place.rows("SELECT content, count(*) AS kept FROM evidence WHERE type = 'trap' GROUP BY content")
    codes: Counter[str] = Counter()
    for row in rows:
        codes[json.loads(row["content"])["code"]] += row["kept"]
    return codes


def test_a_site_of_traps_is_crawled_to_its_end_with_every_real_page(web: Web, place: Place) -> None:
    site, trap = trap_site(web)
    place.comity("seeds", "add", site.url())
    place.execute("UPDATE domains SET max_pages_per_run = 5000")
    summary = place.crawl(site.url(), max_pages=MOST, per_host=4)
    fetched = Counter(site.pages())
    assert summary.code in ("nothing_left", "too_deep"), summary.reason  # its folders repeat without end
    assert set(REAL_PATHS) <= set(fetched)
    assert set(fetched.values()) == {1}
    assert trap.asked < 2500, "about 1,950: most of them filters, which are many and each different"
    assert sum(path.startswith("/session/") for path in fetched) < 200
    assert sum(path.startswith(("/a/", "/b/")) for path in fetched) < 50
    codes = trap_codes(place)
    assert {"far_date", "facets", "permuted_query", "same_content", "echoing_folder"} <= set(codes)
    assert max(codes.values()) <= 100
    (told,) = (warning for warning in summary.warnings if "endless" in warning)
    assert told.startswith(f"{site.host}: ")
    assert "COMITY_AVOID_TRAPS" in told
    assert place.host(site.host)["status"] == "exhausted"
    assert place.comity("verify-politeness").code == 0


def test_a_site_of_traps_ends_also_when_it_is_crawled_again_and_without_a_bound_of_depth(
    web: Web, place: Place
) -> None:
    """Endless lists and calendars; what an earlier crawl fetched must not count as a door to them."""
    trap = TrapSite()
    site = web.site({"/": page("/list", title="Home")} | {path: page(title=path) for path in REAL_PATHS}, fallback=trap)
    terms = {"max_pages": MOST, "max_depth": 100_000, "enable_per_domain_budget": False}
    first = place.crawl(site.url(), **terms)
    assert (first.reason, trap.asked < 1500) == ("nothing left to visit", True)
    place.execute("UPDATE domains SET status = 'pending', next_crawl_after = NULL")
    again = place.crawl(site.url(), **terms)
    assert again.reason == "nothing left to visit"


def test_without_the_watch_the_same_site_uses_up_its_budget(web: Web, place: Place) -> None:
    site, _trap = trap_site(web)
    summary = place.crawl(site.url(), max_pages=600, avoid_traps=False)
    assert (summary.pages, summary.code) == (600, "page_limit")
    assert trap_codes(place) == {}


@pytest.mark.parametrize(
    ("href", "words"),
    [
        ("/calendar?year=2099&amp;month=1", "far in the future"),
        ("/x/y/x/y/x/y/x/y/", "repeats 3 times in a row"),
        ("/" + "deep/er/" * 14, "folders deep"),
        ("/search?q=" + "z" * 2000, "longer than 2000 characters"),
        ("/go?to=%252525", "URL inside a URL"),
        ("/f?a=1&amp;a=1&amp;a=1&amp;a=1", "parameters"),
    ],
)
def test_why_a_link_was_not_followed_can_be_asked(web: Web, place: Place, href: str, words: str) -> None:
    site = web.site({"/": page("/a"), "/a": page(href)})
    place.crawl(site.url())
    assert site.pages() == ["/", "/a"]
    (row,) = place.rows("SELECT url, content FROM evidence WHERE type = 'trap'")
    assert words in json.loads(row["content"])["reason"]
    told = place.comity("why", row["url"], "--json").json
    assert told["would_be_fetched"] is False
    assert words in told["decision"]
    assert told["code"] in ("trap", "same_page")


def test_a_link_that_was_let_in_and_then_refused_is_not_called_visited(web: Web, place: Place) -> None:
    """Two hundred links to the same text, found at once: what is known when their turn comes decides."""
    copies = [f"/copy/{number}" for number in range(300)]
    site = web.site({"/": page("/all"), "/all": page(*copies)}, fallback=page(title="copy"))
    place.crawl(site.url())
    left = [path for path in copies if path not in site.pages()]
    assert left
    assert len(site.pages()) < 150
    told = place.comity("why", site.url(left[0]), "--json").json
    assert "returned nothing new" in told["decision"]
    assert told["code"] == "trap"


def test_the_bounds_of_a_link_can_be_set(web: Web, place: Place) -> None:
    links = ["/a/b/c/d/e", "/a/b/c", "/" + "q" * 120, "/short"]
    site = web.site({"/": page(*links)}, fallback=lambda asked: page(title=asked.path))
    place.crawl(site.url(), max_path_segments=3, max_url_length=100)
    assert sorted(site.pages()) == ["/", "/a/b/c", "/short"]


# Honest sites.


def test_three_thousand_products_that_differ_in_little_are_all_fetched(web: Web, place: Place) -> None:
    count, on_a_page = 3000, 60

    def shop(asked: Asked) -> str | Answer:
        kind, number = asked.path.split("/")[1:3]
        at = int(number)
        if kind == "p" and at < count:
            near = [f"/p/{(at + step) % count}" for step in (1, 7)]
            return page(*near, f"/list/{at // on_a_page}", title=f"Product {at}", body=f"Costs {at} crowns.")
        if kind == "list" and at < count // on_a_page:
            products = [f"/p/{each}" for each in range(at * on_a_page, (at + 1) * on_a_page)]
            return page(*products, f"/list/{at + 1}", title=f"Products, page {at}")
        return Answer(404, page(title="not here"))

    site = web.site({"/": page("/list/0")}, fallback=shop)
    summary = place.crawl(site.url(), enable_per_domain_budget=False, per_host=4, max_depth=100)
    fetched = set(site.pages())
    assert {f"/p/{number}" for number in range(count)} <= fetched
    assert summary.pages == count + count // on_a_page + 1
    assert trap_codes(place) == {}


def test_an_archive_of_twelve_years_and_a_long_list_are_fetched_to_their_ends(web: Web, place: Place) -> None:
    def answer(asked: Asked) -> str | Answer:
        split = urlsplit(asked.path)
        if split.path == "/archive":
            return page(*(f"/archive/{year}/" for year in range(2015, 2027)))
        if split.path == "/news":
            number = int(dict(parse_qsl(split.query)).get("page", 1))
            onward = [f"/news?page={number + 1}"] if number < 500 else []
            return page(*onward, title=f"News {number}", body=prose("news", number))
        parts = [part for part in split.path.split("/") if part]
        if len(parts) == 2:
            return page(*(f"/archive/{parts[1]}/{month:02}/" for month in range(1, 13)), title=parts[1])
        if len(parts) == 3:
            posts = [f"/archive/{parts[1]}/{parts[2]}/{day:02}/post-{day}" for day in (3, 17)]
            return page(*posts, title=f"{parts[1]}-{parts[2]}", body=prose(parts))
        return page("/archive", title=split.path, body=prose(split.path))

    site = web.site({"/": page("/archive", "/news")}, fallback=answer)
    place.crawl(site.url(), enable_per_domain_budget=False, per_host=4, max_depth=1000)
    fetched = Counter(site.pages())
    posts = [path for path in fetched if "/post-" in path]
    assert len(posts) == 12 * 12 * 2
    assert sum(path.startswith("/news") for path in fetched) == 500
    assert set(fetched.values()) == {1}
    assert trap_codes(place) == {}


@pytest.mark.parametrize("mark", ["sid={:015x}", "v={}", "token={:x}zz", "sid={:012d}&v={}"])
def test_a_parameter_that_changes_on_every_link_is_folded_and_told(web: Web, place: Place, mark: str) -> None:
    """Eleven pages whose links are new on every view: they are fetched, and a few copies that show what goes on."""
    count = 0

    def answer(asked: Asked) -> str | Answer:
        nonlocal count
        path = asked.path.partition("?")[0]
        if path not in ("/", *(f"/p{number}" for number in range(1, 11))):
            return Answer(404)
        count += 7919
        new = mark.format(count * 104_729, count)
        links = ["/", *(f"/p{number}" for number in range(1, 11))]
        return page(*(f"{link}?{new}".replace("&", "&amp;") for link in links), title=path, body=prose(path))

    site = web.site(fallback=answer)
    summary = place.crawl(site.url(), max_pages=300)
    assert {path.partition("?")[0] for path in site.pages()} == {"/", *(f"/p{number}" for number in range(1, 11))}
    assert len(site.pages()) <= 20
    assert summary.refused == 0, "copies are no pages that were refused"
    (warning,) = summary.warnings
    assert "changes on every link and the pages stay the same" in warning
    folded = place.rows("SELECT content FROM evidence WHERE type = 'trap'")
    assert folded
    assert all(json.loads(row["content"])["code"] == "volatile_parameter" for row in folded)
    assert all(state == 1 for state in place.frontier(site.host).values()), "nothing is left to visit"
