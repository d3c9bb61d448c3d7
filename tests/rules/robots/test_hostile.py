"""Files made to be slow: the largest that is read, with rules and paths made for each other."""

import itertools
import random
import time
from collections.abc import Iterable, Iterator

import pytest

from comity.rules.robots.parse import MAX_BYTES
from comity.rules.robots.verdict import parse_robots

PATH = "/" + "a" * 2047
chance = random.Random(9309)
MIXED = "/" + "".join(chance.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(2047))


def fill(lines: Iterable[str]) -> bytes:
    """Write lines until no more is read."""
    body = ["user-agent: *"]
    room = MAX_BYTES - len(body[0])
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        body.append(line)
    return "\n".join(body).encode()


def out_of_order() -> Iterator[str]:
    """Two literals that both occur in the path, never in this order."""
    for late, early in itertools.product(range(1800, 2040), range(1, 240)):
        yield f"disallow *{MIXED[late : late + 4]}*{MIXED[early : early + 4]}"


EARLY = "".join(chance.choice("bcdefghijklmnopqrstuvwxyz") for _ in range(1000))
MISPLACED = "/" + EARLY + "a" * 1047


def misplaced_storms(stars: int) -> Iterator[str]:
    """Many stars that match, and last a literal that stands before all of them."""
    for number in itertools.count():
        yield "disallow /" + "*a" * (stars + number // 990) + f"*{EARLY[number % 990 : number % 990 + 4]}"


HOSTILE = {
    "one line over and over": (itertools.repeat("disallow /b"), PATH),
    "all prefixes": ((f"disallow /{number:x}z" for number in itertools.count()), PATH),
    "a chain of prefixes": (("disallow /" + "a" * length + "b" for length in itertools.count()), PATH),
    "literals that nearly match": (
        (f"disallow *{'a' * (number % 40)}b{'a' * (number // 40)}" for number in itertools.count()),
        PATH,
    ),
    "literals out of order": (out_of_order(), MIXED),
    "long storms of stars": (("disallow /" + "*a" * 1000 + f"*b{number:x}" for number in itertools.count()), PATH),
    "short storms of stars": (("disallow /" + "*a" * 12 + f"*b{number:x}" for number in itertools.count()), PATH),
    "short storms made for the path": (misplaced_storms(10), MISPLACED),
    "long storms made for the path": (misplaced_storms(500), MISPLACED),
    "ten thousand stars": (("disallow " + "*a" * 8000 + f"{number}" for number in itertools.count()), PATH),
    "nothing but stars": (("disallow /b" + "*" * (length % 16_000) for length in itertools.count()), PATH),
    "pinned tails": ((f"disallow *a*{number:x}b$" for number in itertools.count()), PATH),
    "escapes": ((f"disallow /{'%7e' * 9}{number}b" for number in itertools.count()), "/" + "%7e" * 680),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_largest_hostile_file_is_answered_in_bounded_time(name: str) -> None:
    """The bounds are far above what is measured, and far below what trying every rule at every place takes."""
    lines, path = HOSTILE[name]
    body = fill(lines)
    assert len(body) > MAX_BYTES - 20_000
    started = time.process_time()
    rules = parse_robots(body).for_agent("bot")
    gathered = time.process_time()
    verdict = rules.verdict(path)
    answered = time.process_time()
    assert verdict.allowed
    assert gathered - started < 4.0
    assert answered - gathered < 0.6


def test_many_agents_with_many_delays_take_no_square_of_time() -> None:
    body = fill(itertools.chain(["user-agent: b"] * 15_000, itertools.repeat("crawl-delay: 3")))
    started = time.process_time()
    assert parse_robots(body).for_agent("b").crawl_delay_seconds == 3.0
    assert time.process_time() - started < 2.0


def test_a_storm_of_stars_that_matches_is_found() -> None:
    body = fill("disallow /" + "*a" * 12 + f"*b{number:x}" for number in itertools.count())
    rules = parse_robots(body).for_agent("bot")
    assert rules.verdict(PATH + "b1f3").rule == "disallow /" + "*a" * 12 + "*b1f3"
