"""The Prometheus exporter."""

import asyncio
import gc

import pytest

from asynccfr.batcher import Batcher, BatcherError
from tests.batcher.support import Recorder

prometheus = pytest.importorskip("prometheus_client")


async def test_a_batcher_is_exported_for_as_long_as_it_lives():
    from asynccfr.batcher.prometheus import BatcherCollector

    registry = prometheus.CollectorRegistry()
    collector = BatcherCollector(registry=registry)
    async with Batcher(Recorder(), max_batch=4, inline=True, name="model") as batcher:
        collector.add(batcher)
        await asyncio.gather(*map(batcher, range(10)))

        def value(metric, **labels):
            return registry.get_sample_value(metric, {"batcher": "model", **labels})

        assert value("batcher_items_total", outcome="succeeded") == 10
        assert value("batcher_items_total", outcome="failed") == 0
        assert value("batcher_batches_total", reason="full") == 2
        assert value("batcher_batch_size_bucket", le="2.0") == 1
        assert value("batcher_batch_size_bucket", le="4.0") == 3
        assert value("batcher_batch_size_sum") == 10
        assert value("batcher_queue_wait_seconds_count") == 10
        assert value("batcher_execution_seconds_bucket", le="+Inf") == 3
        assert value("batcher_now", place="in_flight") == 0
        assert b"batcher_execution_seconds_bucket" in prometheus.generate_latest(registry)
    del batcher
    gc.collect()
    assert value("batcher_items_total", outcome="succeeded") is None


async def test_names_tell_batchers_apart():
    from asynccfr.batcher.prometheus import BatcherCollector

    registry = prometheus.CollectorRegistry()
    first = Batcher(Recorder(), max_batch=4, name="model")
    collector = BatcherCollector(first, registry=registry)
    collector.add(first)
    second = Batcher(Recorder(), max_batch=4, name="model")
    with pytest.raises(BatcherError, match="model: another open batcher of that name"):
        collector.add(second)
    await first.aclose()
    collector.add(second)
    assert prometheus.generate_latest(registry).count(b'outcome="succeeded"') == 1
