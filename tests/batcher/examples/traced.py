"""Batches as spans of OpenTelemetry, with links to the spans of their callers."""

from opentelemetry import trace
from opentelemetry.context import Context

from asynccfr import Batcher, BatchRecord

tracer = trace.get_tracer("inference")


def caller() -> trace.SpanContext:
    return trace.get_current_span().get_span_context()


def trace_batch(record: BatchRecord) -> None:
    callers = {caller.span_id: caller for caller in record.marks if caller.is_valid}
    span = tracer.start_span(
        f"batch {record.batcher}",
        context=Context(),  # a batch has many callers, and no parent
        links=[trace.Link(caller) for caller in callers.values()],
        attributes={"batch.items": record.items, "batch.reason": record.reason},
        start_time=record.started_unix_ns,
    )
    if record.error is not None:
        span.record_exception(record.error)
        span.set_status(trace.StatusCode.ERROR)
    span.end(record.ended_unix_ns)


async def reciprocals(numbers: list[float]) -> list[float]:
    return [1 / number for number in numbers]


def traced() -> Batcher[float, float]:
    return Batcher(reciprocals, max_batch=64, mark=caller, on_batch=trace_batch)
