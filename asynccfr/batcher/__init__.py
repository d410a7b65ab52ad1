"""An embeddable micro-batcher for asyncio: many awaits, one call of a batch function."""

from asynccfr.batcher.batcher import Batcher
from asynccfr.batcher.call import Call
from asynccfr.batcher.decorator import batched
from asynccfr.batcher.statistics import BatchRecord, Statistics
from asynccfr.errors import BatcherClosed, BatcherError, QueueFull

__all__ = [
    "BatchRecord",
    "Batcher",
    "BatcherClosed",
    "BatcherError",
    "Call",
    "QueueFull",
    "Statistics",
    "batched",
]
