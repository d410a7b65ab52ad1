"""Batchers as Prometheus metrics; needs the extra `prometheus`.

Nothing is counted twice: the batcher's own statistics are read when the metrics are scraped.
"""

from collections.abc import Iterator
from typing import Any
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
from asynccfr.errors import BatcherError

TIME_BOUNDS_US = (10, 30, 100, 300, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7)
OUTCOMES = ("succeeded", "failed", "cancelled", "abandoned", "timed_out", "closed", "refused")


class BatcherCollector(Collector):
    """Exports every batcher that was added, for as long as it lives, under its name."""

    def __init__(
        self, *batchers: Batcher[Any, Any], registry: CollectorRegistry = REGISTRY
    ) -> None:
        self._batchers: WeakValueDictionary[str, Batcher[Any, Any]] = WeakValueDictionary()
        for batcher in batchers:
            self.add(batcher)
        registry.register(self)

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

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        items = CounterMetricFamily(
            "batcher_items", "Items by what became of them.", labels=["batcher", "outcome"]
        )
        batches = CounterMetricFamily(
            "batcher_batches", "Batches by why they were started.", labels=["batcher", "reason"]
        )
        sizes = HistogramMetricFamily(
            "batcher_batch_size", "Sizes of executed batches.", labels=["batcher"]
        )
        waits = HistogramMetricFamily(
            "batcher_queue_wait_seconds", "Time items were queued.", labels=["batcher"]
        )
        executions = HistogramMetricFamily(
            "batcher_execution_seconds", "Time batches executed.", labels=["batcher"]
        )
        now = GaugeMetricFamily(
            "batcher_now", "Items by where they are.", labels=["batcher", "place"]
        )
        for batcher in list(self._batchers.values()):
            statistics = batcher.statistics()
            name = batcher.name
            for outcome in OUTCOMES:
                items.add_metric([name, outcome], getattr(statistics, outcome))
            for reason, count in statistics.reasons.items():
                batches.add_metric([name, reason], count)
            counts = statistics.batch_size.counts
            powers = [2**i for i in range(batcher.max_batch.bit_length())]
            sizes.add_metric(
                [name],
                [
                    *(
                        (str(float(p)), sum(n for size, n in counts.items() if size <= p))
                        for p in powers
                    ),
                    ("+Inf", statistics.batch_size.count),
                ],
                sum(size * n for size, n in counts.items()),
            )
            add_times(waits, name, statistics.queue_wait_us)
            add_times(executions, name, statistics.execution_us)
            for place in ("waiting", "queued", "in_flight"):
                now.add_metric([name, place], getattr(statistics, place))
        yield from (items, batches, sizes, waits, executions, now)


def add_times(family: HistogramMetricFamily, name: str, times: Histogram) -> None:
    below = times.cumulative(TIME_BOUNDS_US)
    buckets = [(str(float(bound / 1e6)), n) for bound, n in zip(TIME_BOUNDS_US, below, strict=True)]
    family.add_metric([name], [*buckets, ("+Inf", times.count)], times.mean * times.count / 1e6)
