"""Readings in the text formats of Prometheus and OpenMetrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from comity import __version__
from comity.telemetry.meter import MeterReading
from comity.telemetry.metrics import METRICS, Metric, MetricKind

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family


def render_readings(readings: Iterable[MeterReading], accept: str) -> tuple[bytes, str]:
    """The text of all readings together, and its media type, as the one who asks accepts it."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(list(readings)))
    encode, media_type = choose_encoder(accept)
    return encode(registry), media_type


class _Collected:
    """What the registry asks for at a scrape."""

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
