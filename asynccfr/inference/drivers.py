"""Who drives a traversal's coroutine: alone and blocking, or by the thousand through the batcher.

Both hand finished walks to `collect` in the order in which they were given, not that of completion,
so that reservoirs do not depend on scheduling.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import TYPE_CHECKING, Any

from asynccfr.batcher import Batcher, Call
from asynccfr.cfr.crew import Crew, Waiting, hold
from asynccfr.cfr.query import Query
from asynccfr.cfr.traversal import Scheme, Traversal
from asynccfr.config import AsyncDriver, SyncDriver

if TYPE_CHECKING:  # traversal processes run walks without torch
    from asynccfr.inference.evaluator import Evaluator

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


def batcher_of(
    evaluate: Callable[[list[Query]], object], **options: Any
) -> Batcher[Waiting, Waiting]:
    """A batcher for `traverse_batched`; `evaluate` answers queries of one group in place.

    The options are those of `Batcher`.
    """

    def answer(items: list[Waiting]) -> list[Waiting]:
        evaluate(queries_of(items))
        return items

    return Batcher(answer, size_of=len, **options)


def queries_of(items: list[Waiting]) -> list[Query]:
    return [query for item in items for query in item.queries]


async def traverse_batched(
    concurrency: int,
    scheme: Scheme[Traversal],
    walks: Iterable[Traversal],
    batcher: Batcher[Waiting, Waiting],
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

    evaluate = hold if known is None else ask
    lot = lot_size(batcher.max_batch)
    crew = Crew(scheme, enumerate(walks), concurrency, lot, evaluate, finish)
    async with batcher:
        await Driving(crew, batcher).over


def lot_size(max_batch: int) -> int:
    """How many decisions are an item of the batcher: a call for each would cost as much as play."""
    return max(1, max_batch // 8)


class Driving:
    """A crew at work: goes on with whatever has been answered, within the turn of its batch.

    Attributes:
        over: done when every traversal is, or one has failed.
    """

    def __init__(self, crew: Crew[Any], batcher: Batcher[Waiting, Waiting]) -> None:
        self.crew = crew
        self.batcher = batcher
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.calls: list[Call[Waiting]] = []
        self.go_on([])

    def take(self, call: Call[Waiting]) -> None:
        """Called back by every call of a batch, when all are done: the first goes on for all."""
        if (error := call.exception()) is not None:
            if not self.over.done():
                self.over.set_exception(error)
        elif call in self.calls:
            done = [call for call in self.calls if call.done()]
            self.calls = [call for call in self.calls if not call.done()]
            self.go_on(done)

    def go_on(self, done: list[Call[Waiting]]) -> None:
        if self.over.done():  # another failed, or whoever waits for the end has been cancelled
            return
        try:
            for waiting in self.crew.go_on([call.result() for call in done]):
                call = self.batcher.submit(waiting, waiting.group)
                call.add_done_callback(self.take)
                self.calls.append(call)
        except StopIteration as error:  # which a future does not take
            failure = RuntimeError(f"a traversal, or what collects them, raised {error!r}")
            failure.__cause__ = error
            self.over.set_exception(failure)
        except BaseException as error:
            self.over.set_exception(error)
        else:
            if self.crew.is_over:
                self.over.set_result(None)
            elif not self.calls:  # every decision was known already; let others have their turn
                self.over.get_loop().call_soon(self.go_on, [])
