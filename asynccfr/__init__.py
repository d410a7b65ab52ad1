"""Deep CFR on an asyncio micro-batcher."""
