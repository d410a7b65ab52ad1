"""A method of a batch, awaited with single items."""

import asyncio

from asynccfr import batched


class Embedder:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @batched(max_batch=32, timeout=1.0, isolate_errors=True)
    def embed(self, texts: list[str]) -> list[float]:  # runs in a thread of its own
        return [self.scale * len(text) for text in texts]


async def main() -> list[float]:
    embedder = Embedder(0.5)
    async with embedder.embed:
        return await asyncio.gather(*map(embedder.embed, ("a", "bcd")))


print(asyncio.run(main()))
