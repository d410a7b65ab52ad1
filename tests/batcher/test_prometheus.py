"""The Prometheus exporter."""

import asyncio
import gc

import pytest

from asynccfr.batcher import Batcher, BatcherError
from asynccfr.errors import ConfigError
from tests.batcher.support import Gate, Recorder, until

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


async def test_the_sizes_of_a_batcher_that_is_configured_anew():
    from asynccfr.batcher.prometheus import BatcherCollector

    registry = prometheus.CollectorRegistry()
    async with Batcher(Recorder(), max_batch=5, inline=True, name="model") as batcher:
        BatcherCollector(batcher, registry=registry)
        await batcher.many(range(5))
        batcher.configure(max_batch=2)
        await batcher.many(range(3))
        bounds = {"1.0": 1, "2.0": 2, "4.0": 2, "8.0": 3, "+Inf": 3}
        for bound, count in bounds.items():
            labels = {"batcher": "model", "le": bound}
            assert registry.get_sample_value("batcher_batch_size_bucket", labels) == count
        assert registry.get_sample_value("batcher_batch_size_sum", {"batcher": "model"}) == 8


async def test_equal_items_and_the_age_of_the_oldest_are_exported():
    from asynccfr.batcher.prometheus import BatcherCollector

    registry = prometheus.CollectorRegistry()
    gate = Gate()

    def value(metric, **labels):
        return registry.get_sample_value(metric, {"batcher": "model", **labels})

    async with Batcher(gate, max_batch=1, same=int, name="model") as batcher:
        BatcherCollector(batcher, registry=registry)
        assert value("batcher_oldest_seconds", place="executing") == 0
        calls = [batcher(1), batcher(1), batcher(2)]
        await until(lambda: gate.batches)
        await asyncio.sleep(0.01)
        assert value("batcher_shared_calls_total") == 1
        assert 0.01 <= value("batcher_oldest_seconds", place="executing") < 30
        assert 0.01 <= value("batcher_oldest_seconds", place="queued") < 30
        gate.let_through(2)
        assert await asyncio.gather(*calls) == [2, 2, 4]
        assert value("batcher_oldest_seconds", place="queued") == 0


def test_a_registry_takes_one_collector():
    from asynccfr.batcher.prometheus import BatcherCollector

    registry = prometheus.CollectorRegistry()
    BatcherCollector(registry=registry)
    with pytest.raises(BatcherError, match="has metrics of batchers already; add\\(\\) batchers"):
        BatcherCollector(registry=registry)
    assert prometheus.generate_latest(registry).count(b"# TYPE batcher_now gauge") == 1


def test_where_processes_write_their_metrics_to_files_collectors_are_refused(monkeypatch, tmp_path):
    from asynccfr.batcher.prometheus import BatcherCollector

    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match="PROMETHEUS_MULTIPROC_DIR='.*'.*Unset it"):
        BatcherCollector(registry=prometheus.CollectorRegistry())
