"""The recipe for OpenTelemetry: every batch is a span that links to the spans of its callers."""

import asyncio

import pytest

pytest.importorskip("opentelemetry.sdk")


@pytest.fixture
def spans(monkeypatch):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from tests.batcher.examples import traced

    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(traced, "tracer", provider.get_tracer("test"))
    return exporter


def sorted_out(spans):
    """The spans of batches, and those of callers by name."""
    finished = spans.get_finished_spans()
    batches = [span for span in finished if span.name.startswith("batch ")]
    return batches, {span.name: span for span in finished if span not in batches}


def linked(batch):
    return {link.context.span_id for link in batch.links}


async def test_a_batch_links_to_the_spans_of_its_callers(spans):
    from tests.batcher.examples import traced

    async def ask(number):
        with traced.tracer.start_as_current_span(f"caller {number:g}"):
            return await batcher(number)

    async def unseen(number):
        return await batcher(number)

    with traced.tracer.start_as_current_span("start-up"):
        batcher = traced.traced()
    async with batcher:
        with traced.tracer.start_as_current_span("the first caller of all"):
            await batcher(1.0)
        assert await asyncio.gather(ask(2.0), ask(4.0), unseen(5.0)) == [0.5, 0.25, 0.2]
    (first, second), callers = sorted_out(spans)
    assert linked(first) == {callers["the first caller of all"].context.span_id}
    assert linked(second) == {callers[f"caller {n}"].context.span_id for n in (2, 4)}
    assert first.parent is second.parent is None
    assert (second.attributes["batch.items"], second.attributes["batch.reason"]) == (3, "idle")
    assert callers["caller 2"].start_time <= second.end_time <= callers["caller 2"].end_time
    assert second.start_time <= second.end_time


async def test_many_items_of_one_caller_are_one_link(spans):
    from tests.batcher.examples import traced

    async with traced.traced() as batcher:
        with traced.tracer.start_as_current_span("caller"):
            assert await batcher.many([1.0, 2.0]) == [1.0, 0.5]
    [batch], callers = sorted_out(spans)
    assert [link.context for link in batch.links] == [callers["caller"].context]


async def test_a_batch_that_failed_shows_its_error(spans):
    from tests.batcher.examples import traced

    async with traced.traced() as batcher:
        with pytest.raises(ZeroDivisionError):
            await batcher(0.0)
    [batch], _ = sorted_out(spans)
    assert not batch.status.is_ok
    assert batch.events[0].attributes["exception.type"] == "ZeroDivisionError"
