"""Numbers: counted, joined over processes, and written as a monitoring system reads them."""

from __future__ import annotations

import json
import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from comity.telemetry import metrics
from comity.telemetry.meter import (
    Meter,
    MeterReading,
    ReadingCollector,
    Reporter,
    counters_only,
    merge_readings,
    reading_of,
    render_readings,
)
from comity.telemetry.metrics import METRICS, MetricKind, Origin

SECONDS = st.lists(st.floats(0, 200), max_size=30)


def samples(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = prometheus(text.decode())
    return {(each.name, tuple(each.labels.items())): each.value for family in families for each in family.samples}


def test_every_name_follows_the_conventions_and_is_said_once() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert metric.name.startswith("comity_")
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER)
        assert bool(metric.buckets) == (metric.kind is MetricKind.HISTOGRAM)
        assert list(metric.buckets) == sorted(set(metric.buckets))
        assert metric.text.endswith(".")


def test_what_is_known_beforehand_begins_at_zero() -> None:
    found = samples(render_readings([Meter().read()], "")[0])
    for outcome in metrics.OUTCOMES:
        assert found["comity_pages_total", (("outcome", outcome),)] == 0
    assert found["comity_fetch_seconds_count", ()] == 0


def test_a_label_that_nobody_expected_is_shown_too() -> None:
    meter = Meter()
    meter.add(metrics.RUNS, 2, 'new "kind"\n')
    assert samples(render_readings([meter.read()], "")[0])["comity_runs_total", (("status", 'new "kind"\n'),)] == 2


@given(SECONDS)
def test_a_histogram_counts_every_duration_once_and_never_falls(seconds: list[float]) -> None:
    meter = Meter()
    meter.observe(metrics.FETCH_SECONDS, seconds)
    found = samples(render_readings([meter.read()], "")[0])
    buckets = [value for (name, _), value in found.items() if name == "comity_fetch_seconds_bucket"]
    assert all(a <= b for a, b in pairwise(buckets))
    assert buckets[-1] == found["comity_fetch_seconds_count", ()] == len(seconds)
    assert found["comity_fetch_seconds_sum", ()] == pytest.approx(sum(seconds))
    for bound, reached in zip(metrics.FETCH_SECONDS.buckets, buckets, strict=False):
        assert reached == sum(each <= bound for each in seconds)


def test_both_formats_are_well_formed() -> None:
    readings = [Meter(origin).read() for origin in Origin]
    text, media_type = render_readings(readings, "application/openmetrics-text;version=1.0.0")
    assert media_type.startswith("application/openmetrics-text")
    assert {family.name for family in openmetrics(text.decode())} >= {"comity_pages", "comity_state_hosts"}
    text, media_type = render_readings(readings, "*/*")
    assert media_type.startswith("text/plain")
    assert len(list(prometheus(text.decode()))) == len(METRICS) + 1  # and the version


def reading(pages: float, held: float, lag: float) -> MeterReading:
    meter = Meter()
    meter.add(metrics.PAGES, pages, "fetched")
    meter.set(metrics.HOSTS_HELD, held)
    meter.set(metrics.LOOP_LAG, lag)
    meter.observe(metrics.SETTLE_SECONDS, [lag])
    return meter.read()


def test_processes_are_summed_but_the_worst_lag_is_the_lag() -> None:
    total = merge_readings([reading(3, 2, 0.5), reading(4, 1, 0.25)])
    assert total.numbers["comity_pages_total"]["fetched"] == 7
    assert total.numbers["comity_hosts_held"][""] == 3
    assert total.numbers["comity_loop_lag_seconds"][""] == 0.5
    assert total.histograms["comity_settle_seconds"][-1] == 0.75


def test_a_process_that_is_gone_leaves_what_it_counted_and_nothing_else() -> None:
    left = counters_only(reading(3, 2, 0.5))
    assert left.numbers["comity_pages_total"]["fetched"] == 3
    assert "comity_hosts_held" not in left.numbers
    assert left.histograms["comity_settle_seconds"][-1] == 0.5


def test_no_counter_goes_back_when_a_process_is_replaced() -> None:
    gathered = ReadingCollector(lambda: 0.0)
    for number, pages in ((0, 3), (1, 4)):
        gathered.begin(number)
        gathered.receive(number, json.dumps(reading(pages, 1, 0).document()).encode() + b"\n")
    gathered.end(0)
    assert gathered.reading().numbers["comity_pages_total"]["fetched"] == 7
    assert gathered.reading().numbers["comity_hosts_held"][""] == 1
    gathered.begin(0)
    assert gathered.reporting == 1
    gathered.receive(0, json.dumps(reading(1, 1, 0).document()).encode() + b"\n")
    assert gathered.reading().numbers["comity_pages_total"]["fetched"] == 8


@given(st.integers(1, 40))
def test_lines_are_understood_however_they_are_cut(size: int) -> None:
    gathered = ReadingCollector(lambda: 0.0)
    gathered.begin(0)
    text = b"".join(json.dumps(reading(pages, 1, 0).document()).encode() + b"\n" for pages in (1, 2))
    for start in range(0, len(text), size * 50):
        gathered.receive(0, text[start : start + size * 50])
    assert gathered.reading().numbers["comity_pages_total"]["fetched"] == 2


@pytest.mark.parametrize(
    "piece",
    [
        b"nonsense\n",
        b"[]\n",
        b"{}\n",
        b'{"numbers": {"comity_pages_total": 3}, "histograms": {}, "process": 1}\n',
        b'{"numbers": {"comity_pages_total": {"fetched": "x"}}, "histograms": {}, "process": 1}\n',
        b'{"numbers": {}, "histograms": {"comity_fetch_seconds": 7}, "process": 1}\n',
        b"\xff\xfe\n",
        b"x" * 200_000,
    ],
)
def test_what_is_no_reading_is_passed_over(piece: bytes) -> None:
    gathered = ReadingCollector(lambda: 0.0)
    gathered.begin(0)
    gathered.receive(0, json.dumps(reading(5, 1, 0).document()).encode() + b"\n")
    gathered.receive(0, piece)
    assert gathered.reading().numbers["comity_pages_total"]["fetched"] == 5


def test_a_reading_of_another_version_gives_what_both_know() -> None:
    document = {"numbers": {"comity_new": {"": 1}}, "histograms": {"comity_fetch_seconds": [1, 2]}, "process": 3}
    assert reading_of(document).numbers == {}
    assert reading_of(document).histograms == {}


def test_telling_never_waits_and_never_leaves_half_a_line() -> None:
    ours, theirs = os.pipe()
    try:
        reporter = Reporter(theirs)
        for pages in range(200):  # far more than a pipe holds
            reporter.report(reading(pages, 1, 0))
        heard = os.read(ours, 1 << 20)
        reporter.report(reading(0, 1, 0))
        reporter.report(reading(777, 1, 0))
        heard += os.read(ours, 1 << 20)
        *lines, rest = heard.split(b"\n")
        assert rest == b""
        told = [reading_of(json.loads(line)).numbers["comity_pages_total"]["fetched"] for line in lines]
        assert told[:3] == [0, 1, 2]
        assert told[-1] == 777
    finally:
        os.close(ours)
        os.close(theirs)


def test_telling_nobody_is_no_failure() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        Reporter(theirs).report(reading(1, 1, 0))
    finally:
        os.close(theirs)


def test_silence_is_measured_from_the_last_word() -> None:
    now = [100.0]
    gathered = ReadingCollector(lambda: now[0])
    gathered.begin(0)
    now[0] = 130.0
    assert gathered.silence_s() == {0: 30.0}
    gathered.receive(0, json.dumps(reading(1, 1, 0).document()).encode() + b"\n")
    assert gathered.silence_s() == {0: 0.0}
