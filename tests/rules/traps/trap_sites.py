"""Sites in memory, honest and endless, and a crawler that walks them with a trap watch at its side."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from urllib.parse import parse_qsl, quote, urlsplit

from comity.model.traps import TrapCode, TrapTerms
from comity.rules.canonical import resolve_link
from comity.rules.tracking import DEFAULT_TRACKING
from comity.rules.traps.watch import TrapWatch

TODAY = date(2026, 11, 14)
ORIGIN = "https://example.com"
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
WORDS = [
    *("amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour", "iris"),
    *("juniper", "kelp", "larch", "maple", "nectar", "ochre", "pebble", "quartz", "reed"),
    *("sorrel", "thistle", "umber", "violet", "willow", "xenon", "yarrow", "zephyr", "anvil"),
    *("bellows", "chisel", "dovetail", "easel", "forge", "gimlet", "hinge"),
]

# A page: its body, and its links as written. None if there is no such page.
Page = tuple[str, Iterable[str]] | None


def prose(*seed: object, words: int = 12) -> str:
    """Text that differs from page to page in its words, not only in its numbers."""
    chance = random.Random(repr(seed))
    return " ".join(chance.choices(WORDS, k=words))


def slug(*seed: object) -> str:
    chance = random.Random(repr(seed))
    return "-".join(chance.choices(WORDS, k=4))


def token(*seed: object) -> str:
    return hashlib.md5(repr(seed).encode()).hexdigest()


@dataclass
class Site:
    """A site, and the pages on it that are real."""

    answer: Callable[[str], Page]
    real: set[str]
    start: str = "/"
    named: Callable[[str], str] = str  # what a target is called among the real ones


@dataclass
class Walk:
    """What a crawl of a site came to."""

    fetched: list[str] = field(default_factory=list)
    refused: Counter[TrapCode] = field(default_factory=Counter)
    refused_links: set[str] = field(default_factory=set)
    was_stopped: bool = False

    def lost(self, site: Site) -> set[str]:
        """Real pages that were not fetched."""
        return site.real - set(map(site.named, self.fetched))


def walk(
    site: Site,
    *,
    most: int,
    terms: TrapTerms | None = None,
    max_depth: int = 1_000_000,
    with_recheck: bool = True,
    watch: TrapWatch | None = None,
) -> Walk:
    """Crawl breadth first, as the walk does: clean, deduplicate, judge; then recheck, fetch, learn."""
    watch = watch or TrapWatch(terms or TrapTerms(), today=TODAY)
    result = Walk()
    met = {site.start}
    resolved: dict[str, str | None] = {}
    queue = deque([(site.start, 0)])
    while queue:
        target, depth = queue.popleft()
        if with_recheck and (refusal := watch.recheck(target, depth)) is not None:
            result.refused[refusal.code] += 1
            result.refused_links.add(target)
            continue
        if len(result.fetched) >= most:
            result.was_stopped = True
            break
        result.fetched.append(target)
        answer = site.answer(target)
        if answer is None:
            watch.missed(target)
            continue
        body, links = answer
        links = list(links)
        page = watch.fetched(target, hash(body), body.encode(), links)
        for href in links:
            link = _resolved(href, target, resolved)
            if link is None or link in met or depth >= max_depth:
                continue
            met.add(link)
            refusal = page.judge(link, depth + 1)
            if refusal is None:
                queue.append((link, depth + 1))
            else:
                result.refused[refusal.code] += 1
                result.refused_links.add(link)
    return result


def _resolved(href: str, target: str, memory: dict[str, str | None]) -> str | None:
    if href[:1] == "/":
        if href not in memory:
            address = resolve_link(href, ORIGIN + target, tracking=DEFAULT_TRACKING)
            memory[href] = address.path if address else None
        return memory[href]
    address = resolve_link(href, ORIGIN + target, tracking=DEFAULT_TRACKING)
    return address.path if address else None


def query_of(target: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))


# Honest sites.


def shop(products: int = 100_000, on_a_page: int = 50) -> Site:
    """One list of thousands of pages, products that differ in little but their number, and related ones on each."""
    pages = products // on_a_page

    def answer(target: str) -> Page:
        path, _, query = target.partition("?")
        if path.startswith("/p/"):
            number = int(path[3:]) - 100_000
            near = (f"/p/{100_000 + (number * 7 + step) % products}" for step in range(1, 4))
            return f"Product {number}, price {number % 97}", near
        page = int(query.removeprefix("page=") or 1)
        links = [f"/p/{100_000 + (page - 1) * on_a_page + at}" for at in range(on_a_page)]
        if page < pages:
            links.append(f"/list?page={page + 1}")
        return f"Page {page} of {pages}: {prose(page)}", links if path == "/list" else ["/list?page=1"]

    real = {f"/p/{100_000 + number}" for number in range(products)} | {
        f"/list?page={page}" for page in range(1, pages + 1)
    }
    return Site(answer, real | {"/"})


def blog(posts_a_month: int = 25) -> Site:
    """Fifteen years of posts under their dates, with archives by year and month, and answers to comments."""
    months = [(year, month) for year in range(2011, 2027) for month in range(1, 13) if (year, month) <= (2026, 11)]
    posts = {
        (year, month): [f"/{year}/{month:02d}/{at % 28 + 1:02d}/{slug(year, month, at)}" for at in range(posts_a_month)]
        for year, month in months
    }
    every = {post for month in posts.values() for post in month}

    def answer(target: str) -> Page:
        path = target.partition("?")[0]
        if path in every:
            return prose(path), (f"{path}?replytocom={at}" for at in range(3))
        parts = [int(part) for part in path.strip("/").split("/") if part]
        if len(parts) == 2:
            return prose(path), posts[parts[0], parts[1]]
        if len(parts) == 1:
            return prose(path), (f"/{year}/{month:02d}/" for year, month in months if year == parts[0])
        return "The blog", (f"/{year}/" for year in range(2011, 2027))

    archives = {f"/{year}/{month:02d}/" for year, month in months} | {f"/{year}/" for year in range(2011, 2027)}
    return Site(answer, every | archives | {"/"})


def forum(threads: int = 4000, forums: int = 20) -> Site:
    """Threads in forums, each of several pages; posts linked by themselves; profiles; lists in several orders."""
    real: set[str] = {
        "/",
        *(f"/viewforum.php?f={f}&start={start}" for f in range(forums) for start in range(0, threads // forums, 50)),
    }
    for thread in range(threads):
        real |= {
            f"/viewtopic.php?f={thread % forums}&t={thread}&start={start}"
            for start in range(0, thread % 4 * 10 + 1, 10)
        }
    real |= {f"/memberlist.php?mode=viewprofile&u={user}" for user in range(500)}

    def answer(target: str) -> Page:
        asked = query_of(target)
        if target == "/":
            return "Forum", (f"/viewforum.php?f={f}&start=0" for f in range(forums))
        if target.startswith("/viewforum"):
            f, start = int(asked["f"]), int(asked["start"])
            links = [f"/viewtopic.php?f={f}&t={t}&start=0" for t in range(f, threads, forums)][start : start + 50]
            if start + 50 < threads // forums:
                links.append(f"/viewforum.php?f={f}&start={start + 50}")
            return prose(target), links
        if target.startswith("/viewtopic"):
            t, start = int(asked["t"]), int(asked["start"])
            links = [f"/viewtopic.php?f={asked['f']}&t={t}&start={later}" for later in range(0, t % 4 * 10 + 1, 10)]
            links += [f"/memberlist.php?mode=viewprofile&u={(t * 3 + start + step) % 500}" for step in range(3)]
            return prose(target), links
        return prose(target), ()

    return Site(answer, real)


def documentation(levels: int = 12) -> Site:
    """A tree twelve levels deep, two branches at every level."""

    def branches(depth: int) -> list[str]:
        return [f"{WORDS[2 * depth]}/", f"{WORDS[2 * depth + 1]}/"] if depth < levels else []

    real, level = {"/"}, ["/"]
    for depth in range(levels):
        level = [above + branch for above in level for branch in branches(depth)]
        real.update(level)
    return Site(lambda target: (prose(target), branches(target.count("/") - 1)), real)


def wiki(articles: int = 5000) -> Site:
    """Articles that link to each other, each with its history and editor."""
    titles = [f"/wiki/{slug('wiki', number).title()}_{number}" for number in range(articles)]
    number_of = {title: number for number, title in enumerate(titles)}

    def answer(target: str) -> Page:
        if target == "/":
            return "Main page", titles[:20]
        number = number_of.get(target)
        if number is None:
            return prose("tool", target), ()
        near = [titles[(number * 3 + step) % articles] for step in range(1, 8)]
        tools = [f"/index.php?title={target[6:]}&action={action}" for action in ("edit", "history", "info")]
        return prose(target), near + tools

    return Site(answer, {"/", *titles})


def library(items: int = 3000) -> Site:
    """Things under digests: files, and folders with three pages each."""
    real = {"/"}
    for number in range(items):
        digest = token("item", number)
        real |= {f"/file/{digest}", f"/item/{digest}/", f"/item/{digest}/notes", f"/get?id={digest}"}
    real |= {f"/shelf/{shelf}" for shelf in range(items // 50)}

    def answer(target: str) -> Page:
        if target == "/":
            return "Library", (f"/shelf/{shelf}" for shelf in range(items // 50))
        if target.startswith("/shelf/"):
            first = int(target[7:]) * 50
            digests = [token("item", number) for number in range(first, first + 50)]
            return prose(target), [link for d in digests for link in (f"/file/{d}", f"/item/{d}/", f"/get?id={d}")]
        return prose(target), ["notes"] if target.endswith("/") else ()

    return Site(answer, real)


def timetable() -> Site:
    """Every pair of thirty towns on five days: three small parameters, always together, and nothing behind."""
    real = {f"/ride?from={a}&to={b}&day={day}" for a in range(30) for b in range(30) for day in range(5)}

    def answer(target: str) -> Page:
        if target == "/":
            return "Timetable", (f"/town/{a}" for a in range(30))
        if target.startswith("/town/"):
            return prose(target), (f"/ride?from={target[6:]}&to={b}&day={day}" for b in range(30) for day in range(5))
        return prose(target), ()

    return Site(answer, real | {"/", *(f"/town/{a}" for a in range(30))})


def newspaper() -> Site:
    """Old issues by day: dates are the whole address, and every page is a leaf."""
    days = [
        f"/issue/{year}/{month:02d}/{day:02d}"
        for year in range(1851, 1861)
        for month in range(1, 13)
        for day in range(1, 29)
    ]

    def answer(target: str) -> Page:
        if target == "/":
            return "Archive", (f"/year/{year}" for year in range(1851, 1861))
        if target.startswith("/year/"):
            return prose(target), (day for day in days if day.startswith(f"/issue/{target[6:]}/"))
        return prose(target), ()

    return Site(answer, {"/", *days, *(f"/year/{year}" for year in range(1851, 1861))})


def numbered_topics() -> Site:
    """Topics whose numbers happen to look like years, newest first, with pages that look like months."""
    numbers = range(2300, 1300, -1)
    real = {"/", *(f"/topic/{number}/{page}" for number in numbers for page in (1, 2, 3))}
    real |= {f"/recent?page={page}" for page in range(1, 21)}

    def answer(target: str) -> Page:
        if target.startswith("/topic/"):
            number = target.split("/")[2]
            return prose(target), (f"/topic/{number}/{page}" for page in (1, 2, 3))
        page = int(query_of(target).get("page", 0))
        links = [f"/topic/{number}/1" for number in numbers[(page - 1) * 50 : page * 50]] if page else []
        return prose(target), [*links, f"/recent?page={page + 1}"] if page < 20 else links

    return Site(answer, real)


def code_browser() -> Site:
    """Sources of many packages, whose folders repeat the package's name and the layout."""
    real = {"/"}
    for number in range(200):
        real |= {
            f"/{slug(number)}/",
            f"/{slug(number)}/src/main/{slug(number)}/src/",
            f"/{slug(number)}/src/main/{slug(number)}/src/a.py",
        }

    def answer(target: str) -> Page:
        if target == "/":
            return "Packages", (f"/{slug(number)}/" for number in range(200))
        name = target.split("/")[1]
        if target.count("/") == 2:
            return prose(target), [f"/{name}/src/main/{name}/src/"]
        return prose(target), ["a.py"] if target.endswith("/") else ()

    return Site(answer, real)


def long_chain(pages: int = 3000) -> Site:
    """Stories that know only the next one: nothing else leads to them."""

    def answer(target: str) -> Page:
        number = int(target.rpartition("/")[2] or 0)
        return prose(target, words=40), [f"/story/{number + 1}"] if number < pages else ()

    return Site(answer, {"/", *(f"/story/{number}" for number in range(1, pages + 1))})


def events_calendar() -> Site:
    """A calendar with something on every day of two years; it has an end."""
    days = [
        f"/events/{year}-{month:02d}-{day:02d}"
        for year in (2026, 2027)
        for month in range(1, 13)
        for day in range(1, 29)
    ]

    def answer(target: str) -> Page:
        if target == "/":
            return "Calendar", (f"/calendar/{year}/{month:02d}/" for year in (2026, 2027) for month in range(1, 13))
        if target.startswith("/calendar/"):
            start = f"/events/{target[10:14]}-{target[15:17]}"
            return prose(target), (day for day in days if day.startswith(start))
        return prose(target), ()

    months = {f"/calendar/{year}/{month:02d}/" for year in (2026, 2027) for month in range(1, 13)}
    return Site(answer, {"/", *days, *months})


def half_empty_shop(products: int = 6000) -> Site:
    """Most products are sold out and look the same; once, three hundred in a row are gone."""

    def answer(target: str) -> Page:
        if target.startswith("/p/"):
            number = int(target[3:])
            if 2000 <= number < 2300:
                return None
            return ("Sold out", ()) if number % 5 else (prose(target), ())
        return prose(target), (f"/p/{number}" for number in range(products))

    return Site(answer, {f"/p/{number}" for number in range(products) if number % 5 == 0})


def translations(pages: int = 300) -> Site:
    """Three languages under three folders; half of the pages were never translated and are the same in each."""

    def answer(target: str) -> Page:
        if target == "/":
            return "Choose", ["/en/", "/de/", "/fr/"]
        language, _, rest = target[1:].partition("/")
        if not rest:
            return prose(target), (f"/{language}/guide/chapter-{at // 10}/page-{at}" for at in range(pages))
        number = int(rest.rpartition("-")[2])
        return prose(rest if number % 2 else target), ()

    real = {f"/{language}/guide/chapter-{at // 10}/page-{at}" for language in ("en", "de", "fr") for at in range(pages)}
    return Site(answer, {"/", "/en/", "/de/", "/fr/"} | real)


def nearly_equal_chain(pages: int = 900) -> Site:
    """A gallery whose pages differ in their number alone, each knowing the next."""

    def answer(target: str) -> Page:
        number = int(target.rpartition("/")[2] or 0)
        return f"Picture {number}", [f"/picture/{number + 1}"] if number < pages else ()

    return Site(answer, {"/", *(f"/picture/{number}" for number in range(1, pages + 1))})


def numbered_tree(pages: int = 10_000, address: str = "/p{}") -> Site:
    """Pages that differ in their number alone, and that nothing but themselves leads to, each to three more."""

    def answer(target: str) -> Page:
        number = int("".join(filter(str.isdecimal, target)) or 0)
        below = [address.format(child) for child in range(3 * number + 1, 3 * number + 4) if child < pages]
        return f"This is page {number}", below

    return Site(answer, {"/", *(address.format(number) for number in range(1, pages))})


def tree_of_equal_names(names: Iterable[str], levels: int) -> Site:
    """Folders in folders, in each of them the same names."""
    names = list(names)
    floors = [["/"]]
    for _ in range(levels):
        floors.append([f"{folder}{name}/" for folder in floors[-1] for name in names])

    def answer(target: str) -> Page:
        return f"This is {target}", [f"{target}{name}/" for name in names] if target.count("/") <= levels else ()

    return Site(answer, {folder for floor in floors for folder in floor})


def listed_leaves(address: Callable[[int], str], lists: int = 20, on_a_list: int = 60) -> Site:
    """Lists of pages that lead nowhere, and that differ in nothing but what they are called."""
    leaves = [address(number) for number in range(lists * on_a_list)]
    number_of = {leaf: number for number, leaf in enumerate(leaves)}

    def answer(target: str) -> Page:
        if target == "/":
            return "Lists", [f"/list/{number}" for number in range(lists)]
        if target.startswith("/list/"):
            first = int(target.rpartition("/")[2]) * on_a_list
            return f"From {first} on", leaves[first : first + on_a_list]
        return f"Number {number_of[target]} is {target}", ()

    return Site(answer, {"/", *(f"/list/{number}" for number in range(lists)), *leaves})


HONEST: dict[str, Callable[[], Site]] = {
    "a shop of 100,000 products": shop,
    "a blog of fifteen years": blog,
    "a forum": forum,
    "a documentation tree twelve levels deep": documentation,
    "a wiki": wiki,
    "a library of digests": library,
    "a timetable": timetable,
    "a newspaper's archive": newspaper,
    "topics with numbers like years": numbered_topics,
    "a browser of sources": code_browser,
    "a chain of three thousand stories": long_chain,
    "a calendar with an end": events_calendar,
    "a shop that is mostly sold out": half_empty_shop,
    "a site in three languages": translations,
    "a gallery of nearly equal pages": nearly_equal_chain,
    "a tree of nearly equal pages": numbered_tree,
    "folders with equal names": lambda: tree_of_equal_names((f"dir{number}" for number in range(10)), 3),
    "folders with equal numbers": lambda: tree_of_equal_names("0123456789", 3),
    "nearly equal pages named by digests": lambda: listed_leaves(lambda number: f"/item/{token(number)}"),
    "nearly equal records named by digests": lambda: listed_leaves(lambda number: f"/item?id={token(number)}"),
    "nearly equal posts under dates": lambda: listed_leaves(
        lambda number: f"/{2010 + number // 120}/{number // 10 % 12 + 1:02}/post-{number}"
    ),
    "a tree of nearly equal records": lambda: numbered_tree(address="/record?id={}"),
}


# Endless sites. Each has real pages among the endless ones.


def _articles(count: int = 40) -> list[str]:
    return [f"/article/{slug('article', number)}" for number in range(count)]


def _with_articles(endless: Callable[[str], Page], more: Iterable[str], count: int = 40) -> Site:
    """A home page that leads to articles and into the trap."""
    articles = _articles(count)
    known, first = set(articles), list(more)

    def answer(target: str) -> Page:
        if target == "/":
            return "Home", [*first, *articles]
        if target in known:
            return prose(target), ["/", *first]
        return endless(target)

    return Site(answer, {"/", *articles})


def relative_maze(sections: int = 8) -> Site:
    """Links without a leading slash, and a server that answers any path by its last folder."""
    names = WORDS[:sections]
    links = [f"{name}/" for name in names]

    def answer(target: str) -> Page:
        last = target.rstrip("/").rpartition("/")[2]
        return ("Home", links) if not last else (prose(last), links) if last in names else None

    return Site(answer, {"/", *(f"/{name}/" for name in names)})


def relative_maze_with_crumbs(sections: int = 4) -> Site:
    """The same, but every page shows the way to it, so that no two are equal."""
    names = WORDS[:sections]
    links = [f"{name}/" for name in names]
    return Site(
        lambda target: (f"You are here: {target} {prose(target)}", links), {"/", *(f"/{name}/" for name in names)}
    )


def doubling_paths() -> Site:
    """Two relative links that append each other for ever."""

    def endless(target: str) -> Page:
        return prose(target), ["news/" if target.endswith("old/") else "old/"]

    return _with_articles(endless, ["/news/"])


def endless_calendar_in_paths() -> Site:
    """Months and days without end, both ways; nothing ever happens."""

    def endless(target: str) -> Page:
        parts = [int(part) for part in target.split("/")[2:] if part]
        if len(parts) == 3:
            return f"<h1>{parts[2]} {MONTHS[parts[1] - 1]} {parts[0]}</h1>No events.", ()
        year, month = parts
        before, after = (year - (month == 1), (month - 2) % 12 + 1), (year + (month == 12), month % 12 + 1)
        days = [f"/calendar/{year}/{month:02d}/{day:02d}" for day in range(1, 29)]
        return f"<h1>{MONTHS[month - 1]} {year}</h1>No events.", [
            *(f"/calendar/{y}/{m:02d}/" for y, m in (before, after)),
            *days,
        ]

    return _with_articles(endless, ["/calendar/2026/11/"])


def calendar_with_events() -> Site:
    """Days without end, every twentieth of them this year and next with an event that nothing else leads to."""
    happy = {date.fromordinal(day) for day in range(date(2026, 1, 1).toordinal(), date(2027, 12, 1).toordinal(), 20)}

    def endless(target: str) -> Page:
        if target.startswith("/event/"):
            return prose(target), ()
        parts = [int(part) for part in target.split("/")[2:] if part]
        if len(parts) == 3:
            day = date(*parts)
            event = [f"/event/{slug(day)}"] if day in happy else []
            return f"<h1>{parts[2]} {MONTHS[parts[1] - 1]} {parts[0]}</h1>{event or 'No events.'}", event
        year, month = parts
        around = (year - (month == 1), (month - 2) % 12 + 1), (year + (month == 12), month % 12 + 1)
        days = [f"/calendar/{year}/{month:02d}/{day:02d}" for day in range(1, 29)]
        return f"<h1>{MONTHS[month - 1]} {year}</h1>", [*(f"/calendar/{y}/{m:02d}/" for y, m in around), *days]

    site = _with_articles(endless, ["/calendar/2026/11/"])
    site.real |= {f"/event/{slug(day)}" for day in happy if day.day < 29}
    return site


def endless_calendar_in_queries() -> Site:
    """The same with parameters, and a link that jumps ten years ahead."""

    def endless(target: str) -> Page:
        asked = query_of(target)
        if "date" in asked:
            return f"<h1>{asked['date']}</h1>No events.", ()
        year, month = int(asked["year"]), int(asked["month"])
        around = [
            (year - (month == 1), (month - 2) % 12 + 1),
            (year + (month == 12), month % 12 + 1),
            (year + 10, month),
        ]
        links = [f"/cal?year={y}&month={m}" for y, m in around] + [
            f"/cal?date={year}-{month:02d}-{day:02d}" for day in range(1, 29)
        ]
        return f"<h1>{MONTHS[month - 1]} {year}</h1>No events.", links

    return _with_articles(endless, ["/cal?year=2026&month=11"])


class _Counted:
    """Makes a new token for every page that is asked for."""

    def __init__(self) -> None:
        self.count = 0

    def next(self) -> str:
        self.count += 1
        return token("session", self.count)


def sessions_in_queries(name: str = "visit") -> Site:
    """Every page gives every link a new mark, under a name that nobody knows."""
    counted = _Counted()

    def answer(target: str) -> Page:
        path, mark = target.partition("?")[0], counted.next()
        links = [f"/page-{letter}?{name}={mark}" for letter in "abcdefghij"]
        return f"{prose(path)} <a href='?{name}={mark}'>", links

    return Site(answer, {f"/page-{letter}" for letter in "abcdefghij"}, named=lambda target: target.partition("?")[0])


def sessions_in_paths() -> Site:
    """The same as a folder."""
    counted = _Counted()

    def answer(target: str) -> Page:
        name, mark = target.rpartition("/")[2], counted.next()
        return f"{prose(name)} <a href='/{mark}/x'>", [f"/{mark}/page-{letter}" for letter in "abcdefghij"]

    return Site(answer, {f"page-{letter}" for letter in "abcdefghij"}, named=lambda target: target.rpartition("/")[2])


FILTERS = {"colour": 9, "size": 12, "brand": 40, "price": 6, "material": 8, "season": 4}


def faceted_shop(products: int = 600) -> Site:
    """Six filters that can be put together in any way, in three orders, over the same six hundred products."""

    def answer(target: str) -> Page:
        if target == "/":
            return "Shop", ["/shop?page=1"]
        if target.startswith("/product/"):
            return prose(target), ["/shop?page=1"]
        asked = query_of(target)
        page = int(asked.pop("page", 1))
        chance = random.Random(repr(sorted(asked.items())))
        if asked:
            shown = [f"/product/{chance.randrange(products)}" for _ in range(10)]
        else:
            shown = [f"/product/{number}" for number in range((page - 1) * 20, min(page * 20, products))]
        links = [*shown, f"/shop?page={page + 1}"] if not asked and page * 20 < products else list(shown)
        for name, count in FILTERS.items():
            if name not in asked:
                kept = "".join(f"&{key}={value}" for key, value in asked.items())
                links += [f"/shop?{name}={value}{kept}" for value in chance.sample(range(count), 3)]
        links += [f"{target}&sort={order}" for order in ("price", "name", "new") if "sort" not in asked]
        return f"{prose(target)} {shown}", links

    lists = {f"/shop?page={page}" for page in range(1, products // 20 + 1)}
    return Site(answer, {"/", *lists, *(f"/product/{number}" for number in range(products))})


def filters_as_folders() -> Site:
    """Filters as folders, in whatever order they were chosen."""
    filters = ["red", "blue", "small", "large", "cotton", "wool", "summer", "winter"]

    def endless(target: str) -> Page:
        chosen = target.strip("/").split("/")[1:]
        return prose(target), (f"{target}{name}/" for name in filters if name not in chosen)

    return _with_articles(endless, ["/wear/"])


def dressed_articles() -> Site:
    """Every article for the printer, in every order of its comments, and as an answer to each of them."""
    articles = _articles(200)
    known = set(articles)

    def answer(target: str) -> Page:
        path = target.partition("?")[0]
        if path == "/":
            return "Home", articles
        if path not in known:
            return None
        dresses = ["?print=1", "?sort=new", "?sort=old&view=tree", *(f"?replytocom={at}" for at in range(25))]
        return f"{prose(path)} {target}", [path, *(path + dress for dress in dresses)]

    return Site(answer, {"/", *articles})


def same_page_counter() -> Site:
    """A number in the address that nobody reads."""

    def endless(target: str) -> Page:
        number = int(target.rpartition("/")[2])
        return "Nothing here", (f"/next/{number + step}" for step in range(1, 21))

    return _with_articles(endless, ["/next/1"])


def boastful_counter() -> Site:
    """The same, but the page shows its number."""

    def endless(target: str) -> Page:
        number = int(target.rpartition("/")[2])
        return f"You have come to page {number} of very many", (f"/next/{number * 3 + step}" for step in range(1, 21))

    return _with_articles(endless, ["/next/1"])


def growing_addresses() -> Site:
    """Every page sends the way back along."""

    def endless(target: str) -> Page:
        return f"Please log in to see {target}", [
            f"/login?back={quote(target, safe='')}",
            f"/help?from={quote(target, safe='')}",
        ]

    return _with_articles(endless, ["/login?back=%2F"])


def piling_parameters() -> Site:
    """Every page appends what is there already."""

    def endless(target: str) -> Page:
        return prose(target), [f"{target}&tag=a", f"{target}&tag=b"]

    return _with_articles(endless, ["/find?tag=a"])


def soft_not_found() -> Site:
    """Whatever is asked for, the same page comes, with new names on it."""

    def endless(target: str) -> Page:
        chance = random.Random(target)
        return "Sorry, we looked everywhere.", (
            f"/maze/{chance.choice(WORDS)}{chance.choice(WORDS)}{chance.random()}" for _ in range(15)
        )

    return _with_articles(endless, ["/maze/start"])


def shuffled_parameters() -> Site:
    """Three parameters, written in another order on every page."""
    chance = random.Random(3)

    def endless(target: str) -> Page:
        links = []
        for number in range(20):
            parameters = [f"id={number}", "lang=en", "shop=1", "cur=eur", "zone=4"]
            chance.shuffle(parameters)
            links.append("/view?" + "&".join(parameters))
        return f"{prose(query_of(target).get('id'))} {target}", links

    return _with_articles(endless, ["/view?id=0&lang=en&shop=1&cur=eur&zone=4"])


# Each with the number of fetches within which it must be over.
ENDLESS: dict[str, tuple[Callable[[], Site], int]] = {
    "a maze of relative links": (relative_maze, 500),
    "a maze of relative links with crumbs": (relative_maze_with_crumbs, 800),
    "paths that double": (doubling_paths, 100),
    "a calendar in paths": (endless_calendar_in_paths, 1000),
    "a calendar with events": (calendar_with_events, 2000),
    "a calendar in queries": (endless_calendar_in_queries, 2000),
    "sessions in queries": (sessions_in_queries, 500),
    "sessions in paths": (sessions_in_paths, 500),
    "a shop with filters": (faceted_shop, 4000),
    "filters as folders": (filters_as_folders, 1000),
    "articles in every dress": (dressed_articles, 600),
    "a counter that shows the same page": (same_page_counter, 300),
    "a counter that shows its number": (boastful_counter, 11_000),
    "addresses that grow": (growing_addresses, 300),
    "parameters that pile up": (piling_parameters, 300),
    "one page for every address": (soft_not_found, 300),
    "parameters in every order": (shuffled_parameters, 100),
}
