"""The numbers of one process, or of several as one: counting costs a dictionary look-up, a batch at a time.

A `MeterReading` is what they are at one moment, as a document that a worker sends to the process that answers for all;
`render_readings` writes them in the text formats of Prometheus and OpenMetrics.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from comity import __version__
from comity.model.dataclass import dataclass
from comity.telemetry.metrics import BY_NAME, CPU, MEMORY, METRICS, Joins, Metric, MetricKind, Origin

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

Numbers = dict[str, dict[str, float]]  # by metric and value of its label
Histograms = dict[str, list[float]]  # by metric: a count for each bucket, one above all of them, and the sum

_RESIDENT_UNIT: Final = 1 if sys.platform == "darwin" else 1024
_LINE_MOST: Final = 65_536


class MeterReading:
    """The metrics of a process at one moment."""

    __slots__ = ("histograms", "numbers", "process")

    def __init__(self, numbers: Numbers, histograms: Histograms, process: int = 0) -> None:
        self.numbers = numbers
        self.histograms = histograms
        self.process = process

    def document(self) -> dict[str, Any]:
        """The reading as a JSON document."""
        return {"numbers": self.numbers, "histograms": self.histograms, "process": self.process}


class Meter:
    """Counts. Nothing here is locked: it belongs to the thread of the event loop."""

    def __init__(self, origin: Origin = Origin.WORKER) -> None:
        ours = [metric for metric in METRICS if metric.origin is origin]
        self._numbers: Numbers = {
            metric.name: dict.fromkeys(metric.values or ([] if metric.label else [""]), 0.0)
            for metric in ours
            if metric.kind is not MetricKind.HISTOGRAM
        }
        self._histograms: Histograms = {
            metric.name: [0.0] * (len(metric.buckets) + 2) for metric in ours if metric.kind is MetricKind.HISTOGRAM
        }
        self.before_reading: Callable[[], None] | None = None
        """Called before every reading, to bring gauges up to date."""

    def add(self, metric: Metric, number: float = 1.0, value: str = "") -> None:
        """Count; `value` is that of the label."""
        found = self._numbers[metric.name]
        found[value] = found.get(value, 0.0) + number

    def set(self, metric: Metric, number: float, value: str = "") -> None:
        """Set a gauge."""
        self._numbers[metric.name][value] = number

    def observe(self, metric: Metric, seconds: Iterable[float]) -> None:
        """Add durations to a histogram."""
        counts, buckets = self._histograms[metric.name], metric.buckets
        for each in seconds:
            counts[bisect_left(buckets, each)] += 1
            counts[-1] += each

    def read(self) -> MeterReading:
        """The current values."""
        if self.before_reading is not None:
            self.before_reading()
        if CPU.name in self._numbers:
            used = resource.getrusage(resource.RUSAGE_SELF)
            self.set(CPU, round(used.ru_utime + used.ru_stime, 3))
            self.set(MEMORY, used.ru_maxrss * _RESIDENT_UNIT)
        numbers = {name: dict(values) for name, values in self._numbers.items()}
        return MeterReading(numbers, {name: list(counts) for name, counts in self._histograms.items()}, os.getpid())


def reading_of(document: Any) -> MeterReading:
    """Read a document of another process; `ValueError` for one that no `MeterReading` wrote."""
    try:
        numbers = {
            name: {str(value): float(number) for value, number in values.items()}
            for name, values in document["numbers"].items()
            if name in BY_NAME
        }
        histograms = {
            name: [float(count) for count in counts]
            for name, counts in document["histograms"].items()
            if name in BY_NAME and len(counts) == len(BY_NAME[name].buckets) + 2
        }
        return MeterReading(numbers, histograms, int(document["process"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError("not a reading") from None


def merge_readings(readings: Iterable[MeterReading]) -> MeterReading:
    """One reading of several processes."""
    numbers: Numbers = {}
    histograms: Histograms = {}
    for reading in readings:
        for name, values in reading.numbers.items():
            total = numbers.setdefault(name, {})
            takes_most = BY_NAME[name].joins is Joins.MAX
            for value, number in values.items():
                known = total.get(value, 0.0)
                total[value] = max(known, number) if takes_most else known + number
        for name, counts in reading.histograms.items():
            sums = histograms.get(name)
            histograms[name] = list(counts) if sums is None else [a + b for a, b in zip(sums, counts, strict=True)]
    return MeterReading(numbers, histograms)


def counters_only(reading: MeterReading) -> MeterReading:
    """What is kept of a process that has ended: its counters and histograms, but not its gauges."""
    numbers = {name: values for name, values in reading.numbers.items() if BY_NAME[name].kind is MetricKind.COUNTER}
    return MeterReading(numbers, reading.histograms)


def render_readings(readings: Iterable[MeterReading], accept: str) -> tuple[bytes, str]:
    """The text of all readings together, and its media type, as the one who asks accepts it."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(list(readings)))
    encode, media_type = choose_encoder(accept)
    return encode(registry), media_type


class _Collected:
    """Called by the registry at a scrape."""

    def __init__(self, readings: list[MeterReading]) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Family]:
        """Every metric with a value, in the order of the table."""
        from prometheus_client.core import InfoMetricFamily

        yield InfoMetricFamily("comity_build", "The running version.", {"version": __version__})
        for metric in METRICS:
            for reading in self._readings:
                if metric.name in reading.numbers or metric.name in reading.histograms:
                    yield _family(metric, reading)
                    break


def _family(metric: Metric, reading: MeterReading) -> Family:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    labels = [metric.label] if metric.label else []
    if metric.kind is MetricKind.HISTOGRAM:
        histogram = HistogramMetricFamily(metric.name, metric.text)
        *counts, total = reading.histograms[metric.name]
        reached, buckets = 0.0, []
        for bound, count in zip((*map(str, metric.buckets), "+Inf"), counts, strict=True):
            reached += count
            buckets.append((bound, reached))
        histogram.add_metric([], buckets, total)
        return histogram
    kind = CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily
    family = kind(metric.name, metric.text, labels=labels)
    for value, number in reading.numbers[metric.name].items():
        family.add_metric([value] if labels else [], number)
    return family


class Reporter:
    """The write end of the pipe for readings; never waits for the reader."""

    def __init__(self, file: int) -> None:
        os.set_blocking(file, False)
        self._file = file
        self._rest = b""

    def report(self, reading: MeterReading) -> None:
        """Send a reading, unless the previous one has not been read yet."""
        line = self._rest or json.dumps(reading.document(), separators=(",", ":")).encode() + b"\n"
        with suppress(OSError):  # the reader is gone, or busy
            self._rest = line[os.write(self._file, line) :]
            return
        self._rest = line if self._rest else b""


@dataclass(slots=True)
class _Member:
    reading: MeterReading | None
    at: float
    rest: bytes = b""


class ReadingCollector:
    """The read ends of the pipes for readings, by process id.

    Each process writes lines into a pipe, and one process merges them. What a process counted stays counted when it
    ends, so that no counter ever goes back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._living: dict[int, _Member] = {}
        self._former = MeterReading({}, {})

    def begin(self, number: int) -> None:
        """A process was started."""
        self._living[number] = _Member(None, self._clock())

    def receive(self, number: int, piece: bytes) -> None:
        """A piece of a process's readings arrived; the last whole line counts."""
        member = self._living[number]
        *lines, member.rest = (member.rest + piece).split(b"\n")
        if len(member.rest) > _LINE_MOST:
            member.rest = b""
        for line in lines[-1:]:
            with suppress(ValueError):
                member.reading = reading_of(json.loads(line))
                member.at = self._clock()

    def end(self, number: int) -> None:
        """A process is gone."""
        member = self._living.pop(number)
        if member.reading is not None:
            self._former = merge_readings([self._former, counters_only(member.reading)])

    def reading(self) -> MeterReading:
        """The readings of all processes as one."""
        return merge_readings(
            [self._former, *(member.reading for member in self._living.values() if member.reading is not None)]
        )

    @property
    def reporting(self) -> int:
        """How many processes have reported."""
        return sum(member.reading is not None for member in self._living.values())

    def silence_s(self) -> dict[int, float]:
        """How long each process has been silent, by process id."""
        now = self._clock()
        return {number: now - member.at for number, member in self._living.items()}
