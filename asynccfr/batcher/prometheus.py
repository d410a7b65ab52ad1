"""Batchers as Prometheus metrics; needs the extra `prometheus`.

Nothing is counted twice: the batcher's own statistics are read when the metrics are scraped.
"""

import os
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import REGISTRY, Collector, CollectorRegistry

from asynccfr.batcher.batcher import Batcher
from asynccfr.batcher.histogram import Histogram
from asynccfr.batcher.statistics import Sizes
from asynccfr.errors import BatcherError, ConfigError

TIME_BOUNDS_US = (10, 30, 100, 300, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7)
OUTCOMES = ("succeeded", "failed", "cancelled", "abandoned", "timed_out", "closed", "refused")
MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"


class Families(NamedTuple):
    items: CounterMetricFamily
    shared: CounterMetricFamily
    batches: CounterMetricFamily
    sizes: HistogramMetricFamily
    waits: HistogramMetricFamily
    executions: HistogramMetricFamily
    now: GaugeMetricFamily
    oldest: GaugeMetricFamily


class BatcherCollector(Collector):
    """Exports every batcher that was added, for as long as it lives, under its name.

    One to a registry, and to a process. Raises BatcherError where the registry has one already,
    and ConfigError where PROMETHEUS_MULTIPROC_DIR is set.
    """

    def __init__(
        self, *batchers: Batcher[Any, Any], registry: CollectorRegistry = REGISTRY
    ) -> None:
        if (folder := os.environ.get(MULTIPROCESS)) is not None:
            raise ConfigError(
                f"{MULTIPROCESS}={folder!r}: expected it not to be set: what prometheus_client "
                "merges from the files of several processes leaves out the metrics of a "
                "collector. Unset it, and scrape each process at a port of its own"
            )
        self._batchers: WeakValueDictionary[str, Batcher[Any, Any]] = WeakValueDictionary()
        for batcher in batchers:
            self.add(batcher)
        try:
            registry.register(self)
        except ValueError as error:
            raise BatcherError(
                f"registry={registry!r}: it has metrics of batchers already; add() batchers to "
                "the collector that is there, or give each collector a registry of its own"
            ) from error

    def add(self, batcher: Batcher[Any, Any]) -> None:
        """Export another batcher, in place of a closed one of the same name.

        Raises BatcherError if one of that name is open: give each a `name` of its own.
        """
        known = self._batchers.get(batcher.name)
        if known is not None and known is not batcher and known.is_open:
            raise BatcherError(
                f"{batcher.name}: another open batcher of that name is exported already, and "
                "metrics could not tell them apart; give each a name= of its own"
            )
        self._batchers[batcher.name] = batcher

    def describe(self) -> Iterable[Metric]:
        """The families without values; by their names a registry tells duplicates."""
        return empty_families()

    def collect(self) -> Iterable[Metric]:
        families = empty_families()
        for batcher in list(self._batchers.values()):
            add_batcher(families, batcher)
        return families


def empty_families() -> Families:
    return Families(
        items=CounterMetricFamily(
            "batcher_items", "Items by what became of them.", labels=["batcher", "outcome"]
        ),
        shared=CounterMetricFamily(
            "batcher_shared_calls", "Calls answered with an equal item.", labels=["batcher"]
        ),
        batches=CounterMetricFamily(
            "batcher_batches", "Batches by why they were started.", labels=["batcher", "reason"]
        ),
        sizes=HistogramMetricFamily(
            "batcher_batch_size", "Sizes of executed batches.", labels=["batcher"]
        ),
        waits=HistogramMetricFamily(
            "batcher_queue_wait_seconds", "Time items were queued.", labels=["batcher"]
        ),
        executions=HistogramMetricFamily(
            "batcher_execution_seconds", "Time batches executed.", labels=["batcher"]
        ),
        now=GaugeMetricFamily(
            "batcher_now", "Items by where they are.", labels=["batcher", "place"]
        ),
        oldest=GaugeMetricFamily(
            "batcher_oldest_seconds", "Age of the oldest work.", labels=["batcher", "place"]
        ),
    )


def add_batcher(families: Families, batcher: Batcher[Any, Any]) -> None:
    name, statistics, health = batcher.name, batcher.statistics(), batcher.health()
    for outcome in OUTCOMES:
        families.items.add_metric([name, outcome], getattr(statistics, outcome))
    families.shared.add_metric([name], statistics.shared)
    for reason, count in statistics.reasons.items():
        families.batches.add_metric([name, reason], count)
    add_sizes(families.sizes, name, statistics.batch_size, batcher.max_batch)
    add_times(families.waits, name, statistics.queue_wait_us)
    add_times(families.executions, name, statistics.execution_us)
    for place in ("waiting", "queued", "in_flight"):
        families.now.add_metric([name, place], getattr(statistics, place))
    families.oldest.add_metric([name, "queued"], health.queued)
    families.oldest.add_metric([name, "executing"], health.executing)


def add_sizes(family: HistogramMetricFamily, name: str, sizes: Sizes, max_batch: int) -> None:
    largest = max(max_batch, sizes.max)
    by_power = [0] * ((largest - 1).bit_length() + 1)
    for size, count in sizes.counts.items():
        by_power[(size - 1).bit_length()] += count
    buckets = [(str(float(2**power)), n) for power, n in enumerate(accumulate(by_power))]
    total = sum(size * count for size, count in sizes.counts.items())
    family.add_metric([name], [*buckets, ("+Inf", sizes.count)], total)


def add_times(family: HistogramMetricFamily, name: str, times: Histogram) -> None:
    below = times.cumulative(TIME_BOUNDS_US)
    buckets = [(str(float(bound / 1e6)), n) for bound, n in zip(TIME_BOUNDS_US, below, strict=True)]
    family.add_metric([name], [*buckets, ("+Inf", times.count)], times.mean * times.count / 1e6)
