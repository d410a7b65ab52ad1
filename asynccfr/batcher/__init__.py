"""An embeddable micro-batcher for asyncio: many awaits, one call of a batch function."""

from asynccfr.batcher.batcher import Batcher
from asynccfr.batcher.call import Call
from asynccfr.errors import BatcherClosed, BatcherError, QueueFull

__all__ = ["Batcher", "BatcherClosed", "BatcherError", "Call", "QueueFull"]
