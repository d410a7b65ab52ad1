"""What a batcher has done so far; the difference of two records is what happened in between."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from asynccfr.batcher.histogram import Histogram

REASONS = ("full", "idle", "window", "closing")


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of executed batches; above 1024 to three digits.

    Attributes:
        counts: how often each size occurred.
    """

    counts: Mapping[int, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """The realised batch; 0.0 before the first."""
        total = sum(size * count for size, count in self.counts.items())
        return total / self.count if self.counts else 0.0

    @property
    def p50(self) -> int:
        return self.percentile(50)

    @property
    def p95(self) -> int:
        return self.percentile(95)

    @property
    def max(self) -> int:
        return max(self.counts, default=0)

    def percentile(self, percent: float) -> int:
        """The smallest size that `percent` of all batches do not exceed; 0 if there are none."""
        left = percent / 100 * self.count
        for size in sorted(self.counts):
            left -= self.counts[size]
            if left <= 1e-9:
                return size
        return self.max

    def __sub__(self, earlier: "Sizes") -> "Sizes":
        left = {size: n - earlier.counts.get(size, 0) for size, n in self.counts.items()}
        return Sizes({size: n for size, n in left.items() if n})


@dataclass(frozen=True, slots=True)
class Health:
    """How long the batcher's oldest work has been there, seconds; 0 where there is none.

    Attributes:
        queued: age of the item that waits longest.
        executing: how long the batch that started first has been executing.
    """

    queued: float
    executing: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """A snapshot; `later - earlier` covers the time between two.

    Every accepted item is counted once among succeeded, failed, cancelled, abandoned, timed_out,
    closed, waiting, queued and in_flight.

    Attributes:
        items: accepted so far.
        succeeded, failed: whose caller got a result, or the function's error.
        cancelled, abandoned: whose caller gave up before, or during, their execution.
        timed_out: that missed their deadline.
        closed: whose caller got BatcherClosed.
        refused: not accepted, because the queue was full.
        shared: calls that got the answer of an equal item, and are not counted as items.
        waiting: callers in line for room in the queue, now.
        queued: items in the queue, now.
        in_flight: items that execute, now.
        batches: executed so far.
        reasons: why each was started, as in `BatchRecord`.
        batch_size: their sizes, in items or in the unit of `size_of`.
        queue_wait_us: how long items waited for their batch to start, microseconds.
        execution_us: how long batches took, microseconds.
    """

    items: int
    succeeded: int
    failed: int
    cancelled: int
    abandoned: int
    timed_out: int
    closed: int
    refused: int
    shared: int
    waiting: int
    queued: int
    in_flight: int
    batches: int
    reasons: Mapping[str, int]
    batch_size: Sizes
    queue_wait_us: Histogram
    execution_us: Histogram

    def __sub__(self, earlier: Self) -> "Statistics":
        state = ("waiting", "queued", "in_flight")
        changes = {
            each.name: subtract(getattr(self, each.name), getattr(earlier, each.name))
            for each in fields(self)
            if each.name not in state
        }
        return replace(self, **changes)

    def __str__(self) -> str:
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.reasons.items() if count)
        size, wait, execution = self.batch_size, self.queue_wait_us, self.execution_us
        return (
            f"{self.items} items in {self.batches} batches ({reasons or 'none'}): "
            f"realised batch mean {size.mean:.1f} p50 {size.p50} p95 {size.p95} max {size.max}; "
            f"queue wait p50 {wait.p50:.0f} p95 {wait.p95:.0f} p99 {wait.p99:.0f} us; "
            f"execution p50 {execution.p50:.0f} p95 {execution.p95:.0f} "
            f"p99 {execution.p99:.0f} us; "
            f"{self.failed} failed, {self.cancelled} cancelled, {self.timed_out} timed out"
        )


def subtract(later: Any, earlier: Any) -> Any:
    if isinstance(later, Mapping):
        return {key: count - earlier.get(key, 0) for key, count in later.items()}
    return later - earlier


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One executed batch, for the `on_batch` hook; the times suit a span of OpenTelemetry.

    Attributes:
        batcher: its name.
        key: the group.
        reason: "full", "idle" (nobody else could join), "window" or "closing".
        items, size: how many items; their size in the unit of `size_of`.
        failed: how many of them got an error.
        error: the first of these.
        queue_wait_us: how long the oldest item waited, microseconds.
        execution_us: microseconds.
        ended_unix_ns: when execution ended, nanoseconds since the epoch.
        marks: what `mark` returned for each item, in its caller's context.
    """

    batcher: str
    key: object
    reason: str
    items: int
    size: int
    failed: int
    error: BaseException | None
    queue_wait_us: float
    execution_us: float
    ended_unix_ns: int
    marks: Sequence[Any]

    @property
    def started_unix_ns(self) -> int:
        return self.ended_unix_ns - int(self.execution_us * 1e3)


def rounded(size: int) -> int:
    """A size to ten binary digits, rounded up, so that there are few of them."""
    step = 1 << max(0, size.bit_length() - 10)
    return -(-size // step) * step
