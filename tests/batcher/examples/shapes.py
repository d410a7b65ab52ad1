"""Few shapes, for an accelerator that compiles a program for each of them."""

import asyncio

from asynccfr import Batcher


def padded_length(tokens: list[int]) -> int:
    return 1 << (len(tokens) - 1).bit_length()


def encode(texts: list[list[int]], *, key: int = 0) -> list[int]:
    rows = [tokens + [0] * (key - len(tokens)) for tokens in texts]
    print(f"{len(rows)} x {key}")
    return [sum(row) for row in rows]


async def main() -> list[int]:
    async with Batcher(
        encode, max_batch=8, allowed_sizes=(1, 4, 8), key=padded_length, inline=True
    ) as batcher:
        return await batcher.many([[1, 2, 3], [4] * 4, [5] * 7])


print(asyncio.run(main()))
