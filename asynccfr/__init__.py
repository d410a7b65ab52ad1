"""Deep CFR on an asyncio micro-batcher."""

from asynccfr.batcher import Batcher

__all__ = ["Batcher"]
