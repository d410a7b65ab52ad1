"""Batching in a few lines."""

import asyncio

from asynccfr import Batcher


async def look_up(words: list[str]) -> list[int]:
    await asyncio.sleep(0.001)  # one query to a database, however many words
    return [len(word) for word in words]


async def main() -> list[int]:
    async with Batcher(look_up, max_batch=64, batch_window_us=200) as letters:
        return await asyncio.gather(*(letters(word) for word in ("many", "awaits", "one", "query")))


print(asyncio.run(main()))
