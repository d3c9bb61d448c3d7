"""No answer makes the fetcher hold more than the cap and a little: measured as peak memory of a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.bombs import BOMB_BYTES, KINDS
from tests.hostile.web import HostileWeb

CAP_BYTES = 10_000_000  # FetchLimits' default
# The cap, the room into which a growing body is copied, and one step of the greediest decoder.
ALLOWED_BYTES = 3 * CAP_BYTES
ROOT = Path(__file__).parents[2]


def cost_of(*urls: str) -> dict[str, Any]:
    finished = subprocess.run(
        [sys.executable, "-m", "tests.fetch.bomb_squad", *urls],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    told: dict[str, Any] = json.loads(finished.stdout)
    return told


@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb_is_stopped_at_the_cap(web: HostileWeb, kind: str) -> None:
    assert BOMB_BYTES > 20 * CAP_BYTES
    told = cost_of(web.url(f"/bomb/{kind}"))
    assert told["kinds"] == ["decompression_bomb"]
    assert told["grown_bytes"] < ALLOWED_BYTES
    assert told["seconds"] < 30


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("/bomb/inner", "decompression_bomb"),
        ("/bomb/members", "bad_encoding"),
        ("/bomb/frames", "bad_encoding"),
        ("/bomb/zstd-window", "bad_encoding"),
        ("/bomb/zstd-lie", "bad_encoding"),
        ("/endless", "too_large"),
        ("/endless?chunked", "too_large"),
        ("/endless-headers", "header_flood"),
        ("/interim/20000", "header_flood"),
        ("/size?bytes=9900000", "answer"),
        ("/size?bytes=1000", "answer"),
        ("/large/gzip?rows=600000", "answer"),
        ("/large/zstd?rows=600000", "answer"),
        ("/large/br?rows=600000", "answer"),
    ],
)
def test_whatever_comes_is_held_within_bounds(web: HostileWeb, path: str, outcome: str) -> None:
    told = cost_of(web.url(path))
    assert told["kinds"] == [outcome]
    assert told["grown_bytes"] < ALLOWED_BYTES
    assert told["seconds"] < 30


def test_the_measure_sees_what_is_held(web: HostileWeb) -> None:
    assert cost_of(web.url("/size?bytes=9900000"))["grown_bytes"] > 5_000_000
    assert cost_of(web.url("/size?bytes=1000"))["grown_bytes"] < 2_000_000


def test_one_attack_after_another_leaves_nothing_behind(web: HostileWeb) -> None:
    once = cost_of(*(web.url(f"/bomb/{kind}") for kind in KINDS))
    thrice = cost_of(*(web.url(f"/bomb/{kind}") for kind in KINDS * 3))
    assert set(thrice["kinds"]) == {"decompression_bomb"}
    assert thrice["grown_bytes"] < once["grown_bytes"] + CAP_BYTES
