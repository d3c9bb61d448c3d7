"""What a link and a page's URL cost: ours, beside w3lib, courlan and surt where they are installed.

    python bench/urls.py [--repeat 7] [--links 5000]

All get the same links, as pages have them: mostly plain paths, some with queries, a few with tracking, on a site of a
hundred folders. "link" is one link, resolved against the page that holds it; "trap" is judging it afterwards, each for
the first time, on a host that is well known by then; "key" is the archive's key of a page. "sitemap" is one entry of
a file with 50,000 of them. The answers decide whether every link of a page can pass all of this: the aim is under
5 µs for resolving, 3 µs for judging.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import random
import statistics
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from urllib.parse import urljoin

from comity.extract.sitemap.read import iter_entries
from comity.rules.canonical import resolve_link
from comity.rules.surt import surt_key
from comity.rules.tracking import DEFAULT_TRACKING, clean_query
from comity.rules.traps.watch import TrapWatch

ORIGIN = "https://www.example.com"
PAGE = ORIGIN + "/products/shoes/index.html"
TODAY = date(2026, 11, 14)
WORDS = ["shoes", "boots", "news", "blog", "help", "about", "archive", "topics", "reviews", "sale"]


def links(count: int) -> dict[str, list[str]]:
    """Hrefs by kind; `all` has them in the proportion of a shop's pages."""
    chance = random.Random(4)
    folders = [f"/{chance.choice(WORDS)}/{chance.choice(WORDS)}-{at}/" for at in range(100)]
    plain = [f"{chance.choice(folders)}item-{at}.html" for at in range(count)]
    queries = [f"{chance.choice(folders)}list?page={at}&sort=price&brand={at % 30}" for at in range(count)]
    tracked = [
        f"{chance.choice(folders)}item-{at}?id={at}&utm_source=feed&utm_medium=x&gclid=abc{at}" for at in range(count)
    ]
    mixed = chance.sample(
        [*plain[: count * 7 // 10], *queries[: count // 4], *tracked[: count // 20]],
        count * 7 // 10 + count // 4 + count // 20,
    )
    return {"plain paths": plain, "queries": queries, "tracking": tracked, "all": mixed}


def sitemap(entries: int) -> bytes:
    """A file as generators write it."""
    entry = (
        "  <url>\n    <loc>https://www.example.com/products/shoes/item-{0}.html</loc>\n"
        "    <lastmod>2026-{1:02d}-{2:02d}T12:30:15+00:00</lastmod>\n"
        "    <changefreq>weekly</changefreq>\n    <priority>0.8</priority>\n  </url>\n"
    )
    inside = "".join(entry.format(at, at % 12 + 1, at % 28 + 1) for at in range(entries))
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inside}</urlset>'.encode()


def timed(action: Callable[[], object], pieces: int, repeat: int) -> tuple[float, float]:
    """Best and median microseconds of processor time for one piece."""
    rounds = []
    for _ in range(repeat):
        started = time.process_time()
        action()
        rounds.append((time.process_time() - started) / pieces * 1e6)
    return min(rounds), statistics.median(rounds)


def judging(targets: list[str]) -> Callable[[], object]:
    """Judge new links on a host that has been crawled for a while; one page in thirty links was fetched in between."""
    watch = TrapWatch(today=TODAY)
    for number in range(5000):
        watch.judge(f"/{WORDS[number % 10]}/{WORDS[number % 7]}-{number % 100}/item-{number}.html", 3)

    def action() -> None:
        for start in range(0, len(targets), 30):
            page = watch.fetched(targets[start], start)
            judge = page.judge
            for target in targets[start : start + 30]:
                judge(target, 3)

    return action


def ours(hrefs: dict[str, list[str]], repeat: int) -> dict[str, tuple[float, float]]:
    results = {}
    for kind, some in hrefs.items():
        urls = [ORIGIN + href for href in some]
        results[f"link, {kind}"] = timed(
            lambda some=some: [resolve_link(href, PAGE) for href in some], len(some), repeat
        )
        results[f"link cleaned, {kind}"] = timed(
            lambda some=some: [resolve_link(href, PAGE, tracking=DEFAULT_TRACKING) for href in some], len(some), repeat
        )
        results[f"query, {kind}"] = timed(
            lambda urls=urls: [clean_query(url, DEFAULT_TRACKING) for url in urls], len(urls), repeat
        )
        cleaned = [clean_query(href, DEFAULT_TRACKING) for href in some]
        results[f"trap, {kind}"] = timed(judging(cleaned), len(some), repeat)
        results[f"key, {kind}"] = timed(lambda urls=urls: [surt_key(url) for url in urls], len(urls), repeat)
    body = sitemap(50_000)
    for name, wire in (("sitemap", body), ("sitemap, gzip", gzip.compress(body))):
        results[name] = timed(lambda wire=wire: list(iter_entries(wire, content_type=None)), 50_000, min(repeat, 3))
    return results


def theirs(hrefs: dict[str, list[str]], repeat: int) -> dict[str, dict[str, tuple[float, float]]]:
    """The same work by others, as far as they do it and are here."""
    found: dict[str, dict[str, tuple[float, float]]] = {}

    def imported(name: str) -> object | None:
        try:
            return importlib.import_module(name)
        except ImportError:
            return None

    w3lib, courlan, archive = imported("w3lib.url"), imported("courlan"), imported("surt")
    for kind, some in hrefs.items():
        urls = [ORIGIN + href for href in some]
        if w3lib is not None:
            action = lambda some=some: [w3lib.canonicalize_url(urljoin(PAGE, href)) for href in some]  # noqa: E731
            found.setdefault("w3lib", {})[f"link, {kind}"] = timed(action, len(some), repeat)
        if courlan is not None:
            action = lambda some=some: [courlan.clean_url(urljoin(PAGE, href)) for href in some]  # noqa: E731
            found.setdefault("courlan", {})[f"link cleaned, {kind}"] = timed(action, len(some), repeat)
        if archive is not None:
            action = lambda urls=urls: [archive.surt(url) for url in urls]  # noqa: E731
            found.setdefault("surt", {})[f"key, {kind}"] = timed(action, len(urls), repeat)
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repeat", type=int, default=7)
    arguments.add_argument("--links", type=int, default=5000)
    chosen = arguments.parse_args()
    hrefs = links(chosen.links)
    mine, others = ours(hrefs, chosen.repeat), theirs(hrefs, chosen.repeat)
    print(f"{'µs each':28} {'ours best':>10} {'median':>8}   others, best")
    for name, (best, median) in mine.items():
        beside = ", ".join(f"{who} {figures[name][0]:.2f}" for who, figures in others.items() if name in figures)
        print(f"{name:28} {best:>10.2f} {median:>8.2f}   {beside}")
    if not others:
        print("w3lib, courlan and surt are not installed; ours stands alone.")
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / "urls.json").write_text(json.dumps({"ours": mine, "others": others}, indent=1))


if __name__ == "__main__":
    main()
