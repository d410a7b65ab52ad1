"""Items are written straight into the array that the function gets."""

import asyncio
from typing import Any

import numpy as np
import numpy.typing as npt

from asynccfr import Batcher, Rows


def write(text: str, row: npt.NDArray[Any]) -> None:
    row[:] = np.frombuffer(text.ljust(8).encode()[:8], np.uint8)


def classify(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:  # [n, 8] uint8
    found: npt.NDArray[Any] = (rows == ord("x")).any(axis=1)
    return found


async def main() -> list[bool]:
    batcher: Batcher[str, Any] = Batcher(
        classify, max_batch=64, inline=True, rows=Rows((8,), np.uint8, write=write)
    )
    async with batcher:
        return [bool(found) for found in await asyncio.gather(batcher("box"), batcher("bag"))]


print(asyncio.run(main()))
