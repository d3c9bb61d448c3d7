"""Sites whose links carry something that is new each time, and honest ones that look a little like it.

Every page is real HTML: what changes on its links stands in its body, as it does on the web.
"""

from __future__ import annotations

import random
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterable
from urllib.parse import quote

from tests.rules.traps.trap_sites import Page, Site, prose, query_of, token

PAGES = 11


def html(title: str, links: Iterable[str], more: str = "") -> Page:
    """A page with its links in the body."""
    written = list(links)
    anchors = "".join(f'<li><a href="{link.replace("&", "&amp;")}">more</a>' for link in written)
    return f"<title>{title}</title><h1>{title}</h1><p>{prose(title)}</p>{more}<ul>{anchors}</ul>", written


class Fresh:
    """Values that never come again."""

    def __init__(self) -> None:
        self.count = 0
        self.chance = random.Random(11)

    def hexadecimal(self) -> str:
        return f"{self.chance.getrandbits(60):015x}"

    def digits(self) -> str:
        return f"{self.chance.randrange(10**11, 10**12)}"

    def counter(self) -> str:
        self.count += 1
        return str(self.count)

    def milliseconds(self) -> str:
        self.count += self.chance.randrange(3, 900)
        return str(1_790_000_000_000 + self.count)

    def base64(self) -> str:
        return quote(f"{self.chance.getrandbits(50):x}+/==", safe="")

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128)))


def marked(
    mark: Callable[[Fresh], str],
    *,
    per_link: bool = False,
    pages: int = PAGES,
    address: Callable[[int, str], str] = lambda number, mark: f"/p{number}?{mark}" if number else f"/?{mark}",
    name: Callable[[str], str] = lambda target: target.partition("?")[0],
    more: Callable[[Fresh, str], str] = lambda _fresh, _mark: "",
    repeats: int = 1,
    links_of: Callable[[int], Iterable[int]] | None = None,
) -> Site:
    """A site of a few pages; every view puts a new mark on its links, or on each of them."""
    fresh = Fresh()
    number_of = {name(address(number, "x=1")): number for number in range(pages)} | {"/": 0}

    def answer(target: str) -> Page:
        number = number_of.get(name(target))
        if number is None:
            return None
        one = mark(fresh)
        to = range(pages) if links_of is None else links_of(number)
        links = [address(each, mark(fresh) if per_link else one) for each in to for _ in range(repeats)]
        return html(f"page {prose(number, words=3)}", links, more(fresh, one))

    return Site(answer, set(number_of), named=name)


def without(*names: str) -> Callable[[str], str]:
    """What a page is called: its address without these parameters."""

    def name(target: str) -> str:
        path, _, query = target.partition("?")
        kept = [each for each in query.split("&") if each and each.partition("=")[0] not in (*names, "x")]
        return f"{path}?{'&'.join(kept)}" if kept else path

    return name


def with_logout() -> Site:
    """A session on every link, and beside it a link that carries a token of its own."""
    fresh, site = Fresh(), marked(lambda fresh: f"sid={fresh.hexadecimal()}")

    def answer(target: str) -> Page:
        if target.startswith("/out"):
            return html("bye", ["/"])
        page = site.answer(target)
        leave = f"/out?token={fresh.uuid()}"
        return page and (f'{page[0]}<a href="{leave}">leave</a>', [*page[1], leave])

    return Site(answer, site.real | {"/out"}, named=site.named)


def in_turns() -> Site:
    """A session on every second link, a token on the others."""
    fresh, number_of = Fresh(), {f"/p{number}": number for number in range(PAGES)} | {"/": 0}

    def answer(target: str) -> Page:
        number = number_of.get(target.partition("?")[0])
        if number is None:
            return None
        marks = [f"sid={fresh.hexadecimal()}", f"token={fresh.uuid()}"]
        return html(f"page {prose(number, words=3)}", [f"/p{each}?{marks[each % 2]}" for each in range(PAGES)])

    return Site(answer, set(number_of), named=lambda target: target.partition("?")[0])


# Each with the most fetches that it may take: its pages, and the few that show what goes on.
VOLATILE: dict[str, tuple[Callable[[], Site], int]] = {
    "sid of 15 hexadecimal digits": (lambda: marked(lambda fresh: f"sid={fresh.hexadecimal()}"), 20),
    "sid of 12 digits": (lambda: marked(lambda fresh: f"sid={fresh.digits()}"), 20),
    "a counter on each link": (lambda: marked(lambda fresh: f"v={fresh.counter()}", per_link=True), 20),
    "a token on each link": (lambda: marked(lambda fresh: f"token={fresh.base64()}", per_link=True), 20),
    "milliseconds": (lambda: marked(lambda fresh: f"t={fresh.milliseconds()}"), 20),
    "a uuid": (lambda: marked(lambda fresh: f"visit={fresh.uuid()}"), 20),
    "two at once": (lambda: marked(lambda fresh: f"sid={fresh.hexadecimal()}&v={fresh.counter()}"), 20),
    "three at once": (
        lambda: marked(lambda fresh: f"a={fresh.hexadecimal()}&b={fresh.digits()}&c={fresh.counter()}"),
        20,
    ),
    "in front of ids": (
        lambda: marked(
            lambda fresh: f"sid={fresh.digits()}",
            address=lambda number, mark: f"/item?{mark}&id={number}" if number else f"/?{mark}",
            name=without("sid"),
        ),
        25,
    ),
    "behind ids of one path": (
        lambda: marked(
            lambda fresh: f"k={fresh.hexadecimal()}",
            address=lambda number, mark: f"/?article={number}&{mark}",
            name=without("k"),
        ),
        25,
    ),
    "mixed with leafing": (
        lambda: marked(
            lambda fresh: f"sid={fresh.hexadecimal()}",
            address=lambda number, mark: f"/list?page={number}&{mark}" if number else f"/?{mark}",
            name=without("sid"),
        ),
        25,
    ),
    "in the path": (
        lambda: marked(
            lambda fresh: f"ses={fresh.hexadecimal()}",
            address=lambda number, mark: f"/p{number};{mark}" if number else f"/;{mark}",
            name=lambda target: target.partition(";")[0],
        ),
        20,
    ),
    "jsessionid and PHPSESSID, which go by their names": (
        lambda: marked(
            lambda fresh: f"jsessionid={fresh.hexadecimal()}?PHPSESSID={fresh.digits()}",
            address=lambda number, mark: f"/p{number};{mark}" if number else f"/;{mark}",
            name=lambda target: target.partition(";")[0],
        ),
        11,
    ),
    "with a clock on every page": (
        lambda: marked(
            lambda fresh: f"sid={fresh.hexadecimal()}",
            more=lambda fresh, _mark: f"<p>Now {fresh.count}:{fresh.counter()}</p>",
        ),
        25,
    ),
    "shown on the page and in a form": (
        lambda: marked(
            lambda fresh: f"sid={fresh.hexadecimal()}",
            more=lambda _fresh, mark: f"<input type=hidden name=sid value={mark[4:]}>You are {mark[4:]}.",
        ),
        25,
    ),
    "every link three times": (
        lambda: marked(lambda fresh: f"token={fresh.hexadecimal()}", per_link=True, repeats=3),
        60,
    ),
    "three hundred pages": (
        lambda: marked(
            lambda fresh: f"sid={fresh.hexadecimal()}",
            pages=300,
            links_of=lambda number: [0, *range(20 * number + 1, min(20 * number + 21, 300)), 299 - number],
        ),
        330,
    ),
    "leaves that only lead home": (
        lambda: marked(
            lambda fresh: f"sid={fresh.hexadecimal()}",
            links_of=lambda number: range(1, PAGES) if not number else [0],
        ),
        60,
    ),
    "beside a form's token": (
        lambda: marked(
            lambda fresh: f"sid={fresh.hexadecimal()}",
            more=lambda fresh, _mark: f"<input type=hidden name=csrf value={fresh.uuid()}>",
        ),
        25,
    ),
    "beside a script's token in base64": (
        lambda: marked(
            lambda fresh: f"sid={fresh.hexadecimal()}",
            more=lambda fresh, _mark: f'<meta name=csrf content="{b64encode(fresh.chance.randbytes(48)).decode()}">',
        ),
        25,
    ),
    "beside a link with another token": (with_logout, 40),
    "in turns with another": (in_turns, 30),
    "one page": (lambda: marked(lambda fresh: f"r={fresh.hexadecimal()}", pages=1), 40),
}


# Honest sites: every page is to be fetched.


def catalogue(
    addresses: list[str],
    content: Callable[[int], str],
    around: Callable[[int], Iterable[int]] = lambda _number: (),
    on_a_list: int = 20,
) -> Site:
    """Records behind lists, each of which may lead to others."""
    number_of = {address: number for number, address in enumerate(addresses)}
    lists = [f"/list/{at}" for at in range(0, len(addresses), on_a_list)]

    def answer(target: str) -> Page:
        if target == "/":
            return html("home", lists)
        if target in lists:
            first = int(target[6:])
            return html(target, [*addresses[first : first + on_a_list], "/"])
        number = number_of.get(target)
        if number is None:
            return None
        return f"{content(number)}{html('', [addresses[each] for each in around(number)])[0]}", [  # type: ignore[index]
            addresses[each] for each in around(number)
        ]

    return Site(answer, {"/", *lists, *addresses})


def chained(addresses: list[str], content: Callable[[int], str]) -> Site:
    """Pages that know only the next one."""
    number_of = {address: number for number, address in enumerate(addresses)}

    def answer(target: str) -> Page:
        number = -1 if target == "/" else number_of[target]
        links = addresses[number + 1 : number + 2]
        return content(number) + "".join(f'<a href="{link}">next</a>' for link in links), links

    return Site(answer, {"/", *addresses})


def random_others(count: int, most: int = 5) -> Callable[[int], list[int]]:
    return lambda number: random.Random(number).sample(range(count), most)


def in_languages() -> Site:
    """Every link carries the language; half of the pages are not translated."""
    real = {f"/{name}?lang={lang}" for name in "abcdefghij" for lang in ("en", "de", "fr")}

    def answer(target: str) -> Page:
        if target == "/":
            return html("home", sorted(real))
        lang, name = query_of(target)["lang"], target[1]
        links = [f"/{each}?lang={lang}" for each in "abcdefghij"] + [
            f"/{name}?lang={each}" for each in ("en", "de", "fr")
        ]
        title = name if name < "f" else f"{name} {lang}"
        return html(title, links)

    return Site(answer, real | {"/"})


def searches() -> Site:
    """Words to look for; most of them find nothing, and every page suggests others."""
    words = [prose(number, words=1) + str(number) for number in range(200)]

    def answer(target: str) -> Page:
        if target == "/":
            return html("search", [f"/find?q={word}" for word in words[:40]])
        at = words.index(query_of(target)["q"])
        found = prose(at) if at % 7 == 0 else "Nothing was found."
        return html("search", [f"/find?q={word}" for word in words[at : at + 6]], found)

    return Site(answer, {"/", *(f"/find?q={word}" for word in words)})


def sticky_sessions() -> Site:
    """Whoever comes without a session gets one, and keeps it: there is nothing endless in it."""
    fresh = Fresh()

    def answer(target: str) -> Page:
        sid = query_of(target).get("sid") or fresh.hexadecimal()
        return html(target.partition("?")[0], [f"/p{number}?sid={sid}" for number in range(20)])

    return Site(answer, {"/", *(f"/p{number}" for number in range(20))}, named=lambda target: target.partition("?")[0])


def referrers() -> Site:
    """Links say from where they lead: as many addresses as pairs of pages, and an end."""
    names = [f"/p{number}" for number in range(12)]

    def answer(target: str) -> Page:
        path = target.partition("?")[0]
        return html(path, [f"{name}?from={path[1:] or 'home'}" for name in names])

    return Site(answer, {"/", *names}, named=lambda target: target.partition("?")[0])


NOT_AVAILABLE = "<h1>Not available</h1><p>This item is not available any more.</p>"


def documents() -> Site:
    """Documents that show little but their number, each in two forms; a page names only the next one."""
    numbers = [str(uuid.UUID(int=random.Random(at).getrandbits(128), version=4)) for at in range(200)]
    at_of = {number: at for at, number in enumerate(numbers)}
    forms = ("doc", "raw")

    def answer(target: str) -> Page:
        at = -1 if target == "/" else at_of[query_of(target)["id"]]
        links = [f"/{form}?id={number}" for number in numbers[at + 1 : at + 2] for form in forms]
        title = "home" if at < 0 else f"{target[1:4]} {numbers[at]}"
        anchors = "".join(f'<a href="{link}">next</a>' for link in links)
        return f"<h1>{title}</h1>{anchors}", links

    return Site(answer, {"/", *(f"/{form}?id={number}" for form in forms for number in numbers)})


HONEST_LOOKALIKES: dict[str, Callable[[], Site]] = {
    "leafing by page": lambda: chained([f"/list?page={n}" for n in range(200)], lambda n: f"<h1>{prose(n)}</h1>"),
    "leafing by offset and limit": lambda: chained(
        [f"/list?offset={n * 10}&limit=10" for n in range(200)], lambda n: f"<h1>Items from {n * 10 + 1}</h1>"
    ),
    "leafing by an opaque cursor": lambda: chained(
        [f"/list?after={token(n)}" for n in range(200)], lambda n: f"<h1>{prose(n)}</h1>"
    ),
    "a chain of records by id": lambda: chained([f"/r?id={n}" for n in range(300)], lambda n: f"<h1>Record {n}</h1>"),
    "a chain of documents by uuid, in two forms": documents,
    "a chain of empty days": lambda: chained(
        [f"/day?date=2026-{n // 28 + 1:02}-{n % 28 + 1:02}" for n in range(90)], lambda n: f"<h1>Day {n}</h1>No events."
    ),
    "products by id": lambda: catalogue([f"/p?id={n}" for n in range(500)], prose, random_others(500)),
    "near-identical stubs by id": lambda: catalogue(
        [f"/p?id={n}" for n in range(500)], lambda n: f"<h1>Item {n}</h1>No description.", random_others(500)
    ),
    "near-identical stubs by uuid": lambda: catalogue(
        [f"/p?id={uuid.UUID(int=random.Random(n).getrandbits(128))}" for n in range(500)],
        lambda n: f"<h1>Item {n}</h1>No description.",
        random_others(500),
    ),
    "items that are not available, byte by byte the same": lambda: catalogue(
        [f"/p?id={n}" for n in range(600)],
        lambda n: NOT_AVAILABLE if n % 600 < 400 else prose(n),
        random_others(600),
    ),
    "items that are not available, under tokens, with two views": lambda: catalogue(
        [f"/{view}?key={token(n)}" for n in range(200) for view in ("show", "buy")],
        lambda n: NOT_AVAILABLE if n < 250 else prose(n),
        random_others(400, 3),
    ),
    "links that are signed": lambda: catalogue(
        [f"/f{n}?sig={token(n)}" for n in range(200)], prose, random_others(200)
    ),
    "files by name and version": lambda: catalogue(
        [f"/get?file={prose(n, words=1)}{n}&v=3" for n in range(200)], prose, random_others(200)
    ),
    "categories and ids": lambda: catalogue(
        [f"/p?cat={n % 9}&id={n}" for n in range(300)], lambda n: f"<h1>Thing</h1>{prose(n)}", random_others(300)
    ),
    "lists in several orders with the same few items": lambda: catalogue(
        [f"/c{n}?sort={order}" for n in range(40) for order in ("new", "old", "name")],
        lambda n: prose(n // 3),
        lambda n: [n - n % 3, n - n % 3 + 1, n - n % 3 + 2],
    ),
    "tags that bring the same": lambda: catalogue(
        [f"/c{n}?tag={tag}" for n in range(40) for tag in ("red", "blue", "green")],
        lambda n: prose(n // 3),
        random_others(120),
    ),
    "a site in three languages, half translated": in_languages,
    "searches that find nothing": searches,
    "sessions that stay": sticky_sessions,
    "where a link was": referrers,
}
