"""A processor is busy if it idled next to never since the last look."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from comity.store.processor_load import ProcessorLoad, ProcessorTicks, ticks_of

STATISTICS = """\
cpu  1000 10 200 5000 90 1 2 3 40 5
cpu0 600 10 100 2000 40 1 1 2 30 5
cpu1 400 0 100 3000 50 0 1 1 10 0
intr 12345
"""


@pytest.mark.parametrize(
    ("processors", "ticks"),
    [
        ({0}, ProcessorTicks(2754, 2040)),
        ({1}, ProcessorTicks(3552, 3050)),
        ({0, 1}, ProcessorTicks(6306, 5090)),
        ({0, 7}, ProcessorTicks(2754, 2040)),
        ({7}, None),
        (set(), None),
    ],
)
def test_ticks_are_those_of_the_processors_that_may_be_used(processors: set[int], ticks: ProcessorTicks | None) -> None:
    assert ticks_of(STATISTICS, processors) == ticks


def lines(busy: int, idle: int) -> str:
    """What every processor says."""
    return "".join(f"cpu{number} {busy} 0 0 {idle} 0 0 0 0 0 0\n" for number in range(os.cpu_count() or 1))


def test_each_look_is_at_the_time_since_the_last_one(tmp_path: Path) -> None:
    statistics = tmp_path / "stat"
    statistics.write_text(lines(1000, 1000))
    load = ProcessorLoad(statistics)
    seen = []
    for busy, idle in [(1100, 1000), (1186, 1014), (1270, 1030), (1270, 1030), (1370, 1030)]:
        statistics.write_text(lines(busy, idle))
        seen.append(load.is_busy())
    assert seen == [True, True, False, False, True]


@pytest.mark.parametrize("content", [None, "", "cpu0 one two\n", "something else\n"])
def test_what_is_not_known_is_not_busy(tmp_path: Path, content: str | None) -> None:
    statistics = tmp_path / "stat"
    if content is not None:
        statistics.write_text(content)
    load = ProcessorLoad(statistics)
    assert not load.is_busy()


PROGRAM = """
import os, time
from comity.store.processor_load import ProcessorLoad
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
load = ProcessorLoad()
end = time.monotonic() + 0.5
while time.monotonic() < end:
    pass
print(load.is_busy())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says how busy each processor is")
def test_a_process_that_uses_all_of_its_processor_is_busy() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "True\n"
