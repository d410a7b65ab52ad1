"""Who drives a traversal's coroutine: alone and blocking, or by the thousand through the batcher.

Both hand finished walks to `collect` in the order in which they were given, not that of completion,
so that reservoirs do not depend on scheduling.
"""

import asyncio
import operator
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import TYPE_CHECKING, Any

from asynccfr.batcher import Batcher, Call
from asynccfr.cfr.query import Query
from asynccfr.cfr.traversal import Scheme, Traversal
from asynccfr.config import AsyncDriver, SyncDriver
from asynccfr.errors import first_failure

if TYPE_CHECKING:  # traversal processes run walks without torch
    from asynccfr.inference.evaluator import Evaluator

GROUP = operator.attrgetter("group")

Collect = Callable[[Traversal], None]


async def traverse(
    driver: SyncDriver | AsyncDriver,
    scheme: Scheme[Traversal],
    walks: Iterable[Traversal],
    evaluator: "Evaluator",
    collect: Collect[Traversal],
) -> None:
    """Run every walk to its end and hand it to `collect`, in order."""
    if isinstance(driver, SyncDriver):
        await traverse_blocking(scheme, walks, evaluator, collect)
    else:
        batcher: Batcher[Query, Query] = Batcher(
            evaluator,
            max_batch=driver.max_batch,
            batch_window_us=driver.batch_window_us,
            inline=evaluator.device.type == "cpu",
            key=GROUP,
        )
        known = evaluator.answer if evaluator.caches else None
        await traverse_batched(driver.concurrency, scheme, walks, batcher, collect, known)


class Answered:
    """What a policy call returns that is answered already: awaiting it never suspends."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


ANSWERED = Answered()


def run_blocking(coroutine: Coroutine[Any, Any, object]) -> None:
    """Run a coroutine that never suspends. Raises RuntimeError if it does."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise RuntimeError(
        "the traversal suspended: the sync driver needs policy calls that return answered"
    )


async def traverse_blocking(
    scheme: Scheme[Traversal],
    walks: Iterable[Traversal],
    evaluator: "Evaluator",
    collect: Collect[Traversal],
) -> None:
    def evaluate(walk: Query) -> Answered:
        evaluator([walk])
        return ANSWERED

    for walk in walks:
        run_blocking(scheme(walk, evaluate))
        collect(walk)
        await asyncio.sleep(0)


async def traverse_batched(
    concurrency: int,
    scheme: Scheme[Traversal],
    walks: Iterable[Traversal],
    batcher: Batcher[Query, Query],
    collect: Collect[Traversal],
    known: Callable[[Query], bool] | None = None,
) -> None:
    """Run `concurrency` walks at once, their decisions answered in place by the batcher.

    `known` may answer a decision at once, and tells whether it did.
    """
    numbered = enumerate(walks)
    finished: dict[int, Traversal] = {}
    collected = 0

    def finish(index: int, walk: Traversal) -> None:
        nonlocal collected
        finished[index] = walk
        while collected in finished:
            collect(finished.pop(collected))
            collected += 1

    def evaluate(walk: Query) -> Call[Query] | Answered:
        if known is not None and known(walk):
            return ANSWERED
        return batcher.submit(walk)

    async def worker() -> None:
        for index, walk in numbered:
            await scheme(walk, batcher.submit if known is None else evaluate)
            finish(index, walk)
            if known is not None:  # perhaps nothing had to wait; let others have their turn
                await asyncio.sleep(0)

    try:
        async with batcher, asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(worker())
    except BaseExceptionGroup as failures:
        raise first_failure(failures) from None
