"""Exposes a run's metrics to Prometheus; the only module that knows its client library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from .families import FAMILIES, Family, LabelValues
from .run_metrics import RunMetrics
from .totals import Buckets

LABEL_LIMIT = 200  # characters of a label's value


class RunCollector(Collector):
    """Computes every family when it is scraped; nothing of it walks episodes."""

    def __init__(self, metrics: RunMetrics) -> None:
        self._metrics = metrics

    def describe(self) -> Iterator[Metric]:
        """Its names, so that a registry finds a second collector of the same ones."""
        for family in FAMILIES:
            yield _metric(family)

    def collect(self) -> Iterator[Metric]:
        metrics = self._metrics
        gauges, histograms = metrics.gauges(), metrics.histograms()
        for family in FAMILIES:
            match family.kind:
                case "counter":
                    yield _counter(family, metrics.totals.counters[family.name])
                case "histogram":
                    yield _histogram(family, histograms[family.name])
                case "gauge":
                    if family.name in gauges:
                        yield _gauge(family, gauges[family.name])
                case "info":
                    told = {name: _safe(metrics.identity.get(name, "")) for name in family.labels}
                    info = InfoMetricFamily(_bare(family, "_info"), family.help)
                    info.add_metric((), told)
                    yield info


def registered(metrics: RunMetrics, registry: CollectorRegistry | None = None) -> CollectorRegistry:
    """The registry, by default one of its own, with this run's collector."""
    registry = registry or CollectorRegistry()
    registry.register(RunCollector(metrics))
    return registry


def exposition(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """The body of a scrape in the format that its Accept header asks for, and its content type."""
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def _counter(family: Family, values: Mapping[LabelValues, float]) -> Metric:
    metric = CounterMetricFamily(_bare(family, "_total"), family.help, labels=family.labels)
    for labels, value in values.items():
        metric.add_metric(labels, value)
    return metric


def _gauge(family: Family, values: Mapping[LabelValues, float]) -> Metric:
    metric = GaugeMetricFamily(family.full_name, family.help, labels=family.labels)
    for labels, value in values.items():
        metric.add_metric(labels, value)
    return metric


def _histogram(family: Family, values: Mapping[LabelValues, Buckets]) -> Metric:
    metric = HistogramMetricFamily(family.full_name, family.help, labels=family.labels)
    for labels, kept in values.items():
        bounds, buckets, below = [*(str(float(each)) for each in kept.bounds), "+Inf"], [], 0
        for bound, count in zip(bounds, kept.counts, strict=True):
            below += count
            buckets.append((bound, float(below)))
        metric.add_metric(labels, buckets, kept.sum)
    return metric


def _metric(family: Family) -> Metric:
    bare = _bare(family, {"counter": "_total", "info": "_info"}.get(family.kind, ""))
    return Metric(bare, family.help, family.kind)


def _bare(family: Family, suffix: str) -> str:
    """Its name as the library wants it: it adds this suffix itself."""
    return family.full_name.removesuffix(suffix)


def _safe(value: str) -> str:
    """What can be encoded; quotes and newlines are escaped by the library."""
    return value.encode("utf-8", "replace").decode()[:LABEL_LIMIT]
