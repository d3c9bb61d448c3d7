"""Reading robots.txt and asking it: ours beside Protego, which Scrapy uses.

    python bench/robots.py [--repeat 7]

Both get the same files and the same URLs, in turns, in one process. "read" is from the file to the first possible
answer: for ours, parsing and gathering the rules of one agent. "ask" is one URL; ours also names the rule, its line and
the crawl delay. The hostile files are the largest that ours reads, made so that many rules come close to
matching a path of 2 KB; where Protego does not finish a file within the time given, it is left out. The answer decides
whether a check can stand before every link that a page holds: the aim is under 5 µs with 360 rules, and a bound for
any file.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from protego import Protego

from comity.rules.robots.parse import MAX_BYTES
from comity.rules.robots.verdict import parse_robots

AGENT = "comitybot"
ORIGIN = "https://example.org"
WORDS = ["admin", "login", "search", "cart", "checkout", "user", "profile", "api", "print", "feed", "tag", "private"]
PATHS = [
    "/",
    "/products/shoes/item-1234.html",
    "/admin/export17/x",
    "/list/shoes?page=2&sort=asc",
    "/search/tag99/deeper/path/to/some/page.html",
]
LONG_PATH = "/" + "a" * 2047
PEER_SECONDS = 4
SMALL = """User-agent: *
Disallow: /admin/
Disallow: /*?sort=
Allow: /admin/help
Crawl-delay: 2
Sitemap: https://example.org/sitemap.xml
"""


def shop_rules(count: int, starred_share: float) -> str:
    """A file as shops have them: mostly folders, some stars."""
    chance = random.Random(9309)
    lines = ["User-agent: *"]
    for number in range(count):
        key = "Allow" if number % 7 == 0 else "Disallow"
        first, second = chance.choice(WORDS), chance.choice(WORDS)
        starred = [
            f"/*?{first}{number}=",
            f"/*/{first}{number}/",
            f"/{first}/*/{second}{number}",
            f"/*.{first}{number}$",
        ]
        plain = f"/{first}/{second}{number}/"
        lines.append(f"{key}: {chance.choice(starred) if number < count * starred_share else plain}")
    chance.shuffle(lines[1:])
    return "\n".join(lines)


def filled(lines: Iterable[str]) -> str:
    """As many lines as are read."""
    kept = ["user-agent: *"]
    room = MAX_BYTES - len(kept[0])
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def files() -> dict[str, tuple[str, list[str]]]:
    """Each question: the file and the paths asked about."""
    count = itertools.count
    chance = random.Random(9309)
    early = "".join(chance.choices("bcdefghijklmnopqrstuvwxyz", k=1000))
    misplaced = "/" + early + "a" * 1047
    storms = ("disallow /" + "*a" * (10 + at // 990) + f"*{early[at % 990 : at % 990 + 4]}" for at in count())
    long_storms = ("disallow /" + "*a" * (500 + at // 9) + f"*{early[at % 9 : at % 9 + 4]}" for at in count())
    nearly = (f"disallow *{'a' * (at % 40)}b{'a' * (at // 40)}" for at in count())
    return {
        "6 lines": (SMALL, PATHS),
        "360 rules, no star": (shop_rules(360, 0), PATHS),
        "360 rules, 72 with stars": (shop_rules(360, 0.2), PATHS),
        "360 rules, all with stars": (shop_rules(360, 1), PATHS),
        "512 KiB of prefixes": (filled(f"disallow /{at:x}z" for at in count()), [LONG_PATH]),
        "512 KiB of near matches": (filled(nearly), [LONG_PATH]),
        "512 KiB of short star storms": (filled(storms), [misplaced]),
        "512 KiB of long star storms": (filled(long_storms), [misplaced]),
    }


def timed(action: Callable[[], object], repeat: int, least_seconds: float = 0.01) -> tuple[float, float]:
    """Best and median microseconds of one call, from rounds long enough to be timed."""
    started = time.perf_counter()
    action()
    first = time.perf_counter() - started
    calls = max(1, int(least_seconds / max(first, 1e-7)))
    rounds = []
    for _ in range(repeat):
        started = time.perf_counter()
        for _ in range(calls):
            action()
        rounds.append((time.perf_counter() - started) / calls)
    return min(rounds) * 1e6, statistics.median(rounds) * 1e6


def ours(text: str, paths: list[str], repeat: int) -> dict[str, tuple[float, float]]:
    body = text.encode()
    rules = parse_robots(body).for_agent(AGENT)
    ask = timed(lambda: [rules.verdict(path) for path in paths], repeat)
    read = timed(lambda: parse_robots(body).for_agent(AGENT), repeat)
    return {"read": read, "ask": (ask[0] / len(paths), ask[1] / len(paths))}


def theirs(text: str, paths: list[str], repeat: int) -> dict[str, tuple[float, float]]:
    urls = [ORIGIN + path for path in paths]
    rules = Protego.parse(text)
    ask = timed(lambda: [rules.can_fetch(url, AGENT) for url in urls], repeat)
    read = timed(lambda: Protego.parse(text), repeat)
    return {"read": read, "ask": (ask[0] / len(urls), ask[1] / len(urls))}


def theirs_if_it_ends(name: str, repeat: int) -> dict[str, tuple[float, float]] | None:
    """Measure a hostile file in a process that can be given up."""
    command = [sys.executable, __file__, "--peer-only", name, "--repeat", str(repeat)]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=PEER_SECONDS, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return {key: (value[0], value[1]) for key, value in json.loads(finished.stdout).items()}


def shown(microseconds: float) -> str:
    return f"{microseconds / 1000:,.1f} ms" if microseconds >= 1000 else f"{microseconds:,.2f} µs"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repeat", type=int, default=7)
    arguments.add_argument("--peer-only", help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.peer_only:
        text, paths = files()[chosen.peer_only]
        print(json.dumps(theirs(text, paths, chosen.repeat)))
        return
    results = {}
    print(f"{'file':30} {'':5} {'ours best':>11} {'median':>11} {'protego best':>13} {'median':>11} {'ratio':>7}")
    for name, (text, paths) in files().items():
        hostile = len(text) > 100_000
        repeat = min(chosen.repeat, 3) if hostile else chosen.repeat
        mine = ours(text, paths, repeat)
        peer = theirs_if_it_ends(name, 1) if hostile else theirs(text, paths, repeat)
        results[name] = {"ours": mine, "protego": peer}
        for what, (best, median) in mine.items():
            line = f"{name:30} {what:5} {shown(best):>11} {shown(median):>11}"
            if peer is None:
                print(f"{line} {f'over {PEER_SECONDS} s':>13}")
            else:
                peer_best, peer_median = peer[what]
                print(f"{line} {shown(peer_best):>13} {shown(peer_median):>11} {peer_best / best:>6.1f}×")
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / "robots.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
