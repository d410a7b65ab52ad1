"""The batchers that ours is measured against, each as `await call(item)` with a no-op function."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from asynccfr.batcher import Batcher

Call = Callable[[int], Awaitable[int]]
# Builds a batcher inside a running loop; what it leaves running is closed with the stack.
Arm = Callable[[AsyncExitStack, int], Awaitable[Call]]


def no_op(items: list[int]) -> list[int]:
    return items


async def async_no_op(items: list[int]) -> list[int]:
    return items


async def bare_coroutine(stack: AsyncExitStack, max_batch: int) -> Call:
    async def call(item: int) -> int:
        return item

    return call


async def ours(stack: AsyncExitStack, max_batch: int) -> Call:
    return await stack.enter_async_context(Batcher(no_op, max_batch=max_batch, inline=True))


async def ours_async_def(stack: AsyncExitStack, max_batch: int) -> Call:
    return await stack.enter_async_context(Batcher(async_no_op, max_batch=max_batch))


async def ours_in_thread(stack: AsyncExitStack, max_batch: int) -> Call:
    return await stack.enter_async_context(Batcher(no_op, max_batch=max_batch))


async def aiodataloader(stack: AsyncExitStack, max_batch: int) -> Call:
    from aiodataloader import DataLoader

    loader: Any = DataLoader(async_no_op, max_batch_size=max_batch, cache=False)
    return loader.load  # type: ignore[no-any-return]


async def async_batcher(stack: AsyncExitStack, max_batch: int) -> Call:
    from async_batcher.batcher import AsyncBatcher

    class NoOp(AsyncBatcher[int, int]):  # type: ignore[misc]
        async def process_batch(self, batch: list[int]) -> list[int]:
            return batch

    batcher = NoOp(max_batch_size=max_batch)
    stack.push_async_callback(batcher.stop, force=True)
    return batcher.process  # type: ignore[no-any-return]


async def batched(stack: AsyncExitStack, max_batch: int) -> Call:
    from batched.aio import AsyncBatchProcessor

    processor: Any = AsyncBatchProcessor(async_no_op, batch_size=max_batch)
    stack.callback(lambda: processor._task and processor._task.cancel())
    return processor  # type: ignore[no-any-return]


ARMS: dict[str, Arm] = {
    "bare coroutine": bare_coroutine,
    "ours": ours,
    "ours, async def": ours_async_def,
    "ours, thread": ours_in_thread,
    "aiodataloader": aiodataloader,
    "async-batcher": async_batcher,
    "batched": batched,
}
PACKAGES = ("aiodataloader", "async-batcher", "batched", "uvloop")


def installed(packages: tuple[str, ...] = PACKAGES) -> dict[str, str | None]:
    """The version of each library; None where it is not installed."""

    def find(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    return {package: find(package) for package in packages}
