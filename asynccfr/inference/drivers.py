"""Who drives a traversal's coroutine: alone and blocking, or by the thousand through the batcher.

Both hand finished walks to `collect` in the order in which they were given, not that of completion,
so that reservoirs do not depend on scheduling.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import TYPE_CHECKING, Any

from asynccfr.batcher import Batcher, Call
from asynccfr.batcher.functions import is_async
from asynccfr.cfr.crew import Crew, Waiting, hold
from asynccfr.cfr.query import Query
from asynccfr.cfr.traversal import Scheme, Traversal
from asynccfr.config import AsyncDriver, SyncDriver

if TYPE_CHECKING:  # traversal processes run walks without torch
    from asynccfr.inference.evaluator import Evaluator

Answers = tuple[Waiting, ...]
"""What has been answered together."""

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
        batcher = batcher_of(
            evaluator,
            max_batch=driver.max_batch,
            batch_window_us=driver.batch_window_us,
            inline=evaluator.device.type == "cpu",
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


def batcher_of(evaluate: Callable[[list[Query]], Any], **options: Any) -> Batcher[Waiting, Answers]:
    """A batcher for `traverse_batched`; `evaluate` answers queries of one group in place.

    The options are those of `Batcher`.
    """

    def function(items: list[Waiting]) -> list[Answers]:
        evaluate(queries_of(items))
        return everything_to_the_first(items)

    async def coroutine_function(items: list[Waiting]) -> list[Answers]:
        await evaluate(queries_of(items))
        return everything_to_the_first(items)

    chosen = coroutine_function if is_async(evaluate) else function
    return Batcher(chosen, size_of=len, **options)


def submitted_together(max_batch: int) -> int:
    """How many decisions are one item for the batcher: a part of a batch, so that batches fill."""
    return max(1, max_batch // 8)


def queries_of(items: list[Waiting]) -> list[Query]:
    return [query for item in items for query in item.queries]


def everything_to_the_first(items: list[Waiting]) -> list[Answers]:
    """An answer for each item: all go on together, so that they may wait together again."""
    return [tuple(items), *[()] * (len(items) - 1)]


async def traverse_batched(
    concurrency: int,
    scheme: Scheme[Traversal],
    walks: Iterable[Traversal],
    batcher: Batcher[Waiting, Answers],
    collect: Collect[Traversal],
    known: Callable[[Query], bool] | None = None,
) -> None:
    """Run `concurrency` walks at once, their decisions answered in place by the batcher.

    `known` may answer a decision at once, and tells whether it did. Raises ValueError if not even
    one walk may run.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency={concurrency}: expected at least 1")
    finished: dict[int, Traversal] = {}
    collected = 0

    def finish(index: int, walk: Traversal) -> None:
        nonlocal collected
        finished[index] = walk
        while collected in finished:
            collect(finished.pop(collected))
            collected += 1

    def ask(query: Query) -> Query | Answered:
        return ANSWERED if known is not None and known(query) else query

    together = submitted_together(batcher.max_batch)
    evaluate = hold if known is None else ask
    crew = Crew(scheme, enumerate(walks), concurrency, together, evaluate, finish)
    async with batcher:
        await Driving(crew, batcher).over


class Driving:
    """A crew at work: goes on with whatever has been answered, within the turn of its batch.

    Attributes:
        over: done when every traversal is, or one has failed.
    """

    def __init__(self, crew: Crew[Any], batcher: Batcher[Waiting, Answers]) -> None:
        self.crew = crew
        self.batcher = batcher
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.in_flight = 0
        self.go_on(())

    def go_on(self, answered: Answers) -> None:
        if self.over.done():  # another failed, or whoever waits for the end has been cancelled
            return
        try:
            for waiting in self.crew.go_on(answered):
                self.batcher.submit(waiting, waiting.group).add_done_callback(self.take)
                self.in_flight += 1
        except StopIteration as error:  # which a future does not take
            failure = RuntimeError(f"a traversal, or what collects them, raised {error!r}")
            failure.__cause__ = error
            self.over.set_exception(failure)
            return
        except BaseException as error:
            self.over.set_exception(error)
            return
        if self.crew.is_over:
            self.over.set_result(None)
        elif self.in_flight == 0:  # every decision was known already; let others have their turn
            self.over.get_loop().call_soon(self.go_on, ())

    def take(self, call: Call[Answers]) -> None:
        """Called back when some of those who wait have been answered."""
        self.in_flight -= 1
        if (error := call.exception()) is None:
            self.go_on(call.result())
        elif not self.over.done():
            self.over.set_exception(error)
