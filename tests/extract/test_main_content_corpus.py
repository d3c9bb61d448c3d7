"""The main content of the labelled pages in bench/corpus: what `bench/text.py` measures may not get worse unseen."""

from __future__ import annotations

import importlib.util
import statistics
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "text.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_text", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("half", "least"), [("dev", 0.97), ("held", 0.93)])
def test_the_content_of_labelled_pages_is_found(bench: ModuleType, half: str, least: float) -> None:
    pages = bench.corpus(half)
    assert len(pages) == 33
    assert all(len(bench.words(page.label)) > 30 for page in pages)
    assert not any(b"<!--content" in page.body for page in pages)
    found = [bench.scores(bench.ours(page.body), page.label)[2] for page in pages]
    assert statistics.mean(found) >= least
    assert min(found) > 0.5


def test_scores_are_those_of_bags_of_words(bench: ModuleType) -> None:
    assert bench.scores("a b b c", "b b d") == pytest.approx((0.5, 2 / 3, 4 / 7))
    assert bench.scores("", "") == (0.0, 0.0, 1.0)
    assert bench.scores("x", "") == (0.0, 0.0, 0.0)
    assert bench.words("古い橋 old_bridge") == {"古": 1, "い": 1, "橋": 1, "old_bridge": 1}
