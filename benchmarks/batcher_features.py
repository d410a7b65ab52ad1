"""Batchers in situations that occur in production: `python -m benchmarks.batcher_features`.

Every cell is the outcome of a probe against the installed library, never of its documentation.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from msgspec import Struct

from asynccfr.batcher import Batcher
from benchmarks.batcher_rivals import PACKAGES, installed
from benchmarks.common import options, report

Function = Callable[[list[int]], Coroutine[Any, Any, list[Any]]]
Call = Callable[[int], Awaitable[Any]]
Make = Callable[[AsyncExitStack, Function], Awaitable[Call]]
MAX_BATCH, PATIENCE = 4, 1.0


class FeatureRecord(Struct, frozen=True, kw_only=True):
    versions: dict[str, str | None]
    features: dict[str, dict[str, str]]


async def ours(stack: AsyncExitStack, function: Function) -> Call:
    batcher: Batcher[int, Any] = Batcher(function, max_batch=MAX_BATCH)
    stack.push_async_callback(batcher.aclose, cancel=True)
    return batcher


async def aiodataloader(stack: AsyncExitStack, function: Function) -> Call:
    from aiodataloader import DataLoader

    loader: Any = DataLoader(function, max_batch_size=MAX_BATCH, cache=False)
    return loader.load  # type: ignore[no-any-return]


async def async_batcher(stack: AsyncExitStack, function: Function) -> Call:
    from async_batcher.batcher import AsyncBatcher

    class Probe(AsyncBatcher[int, Any]):  # type: ignore[misc]
        async def process_batch(self, batch: list[int]) -> list[Any]:
            return await function(batch)

    batcher = Probe(max_batch_size=MAX_BATCH)
    stack.push_async_callback(batcher.stop, force=True)
    return batcher.process  # type: ignore[no-any-return]


async def batched(stack: AsyncExitStack, function: Function) -> Call:
    from batched.aio import AsyncBatchProcessor

    processor: Any = AsyncBatchProcessor(function, batch_size=MAX_BATCH)
    stack.callback(lambda: processor._task and processor._task.cancel())
    return processor  # type: ignore[no-any-return]


async def ray_serve(stack: AsyncExitStack, function: Function) -> Call:
    """Outside of a cluster: all that a batch asks of its replica is its names and one setting."""
    from ray import serve
    from ray.serve import context

    names = dict.fromkeys(("app_name", "deployment", "replica_tag", "replica_id"), "probe")
    settings = SimpleNamespace(max_ongoing_requests=1000)
    replica = SimpleNamespace(_deployment_config=settings, **names)
    stack.enter_context(patch.object(context, "_INTERNAL_REPLICA_CONTEXT", replica))

    @serve.batch(max_batch_size=MAX_BATCH, batch_wait_timeout_s=0.01)
    async def call(items: list[int]) -> list[Any]:
        return await function(items)

    return call


LIBRARIES: dict[str, Make] = {
    "ours": ours,
    "aiodataloader": aiodataloader,
    "async-batcher": async_batcher,
    "batched": batched,
    "ray": ray_serve,
}


class Model:
    """A batch function that waits to be let go, then fails in a chosen way."""

    def __init__(self, answer: Callable[[list[int]], list[Any]], held: bool = False) -> None:
        self.answer = answer
        self.batches: list[list[int]] = []
        self.go = asyncio.Event()
        if not held:
            self.go.set()

    async def __call__(self, items: list[int]) -> list[Any]:
        self.batches.append(list(items))
        await self.go.wait()
        return self.answer(items)


def echo(items: list[int]) -> list[Any]:
    return list(items)


async def started(make: Make, stack: AsyncExitStack, model: Model) -> Call:
    async def function(items: list[int]) -> list[Any]:
        return await model(items)

    return await make(stack, function)


async def gather(call: Call, items: range) -> list[Any]:
    async def one(item: int) -> Any:
        return await call(item)

    async with asyncio.timeout(PATIENCE):
        return await asyncio.gather(*map(one, items), return_exceptions=True)


async def never_above_max(make: Make, stack: AsyncExitStack) -> bool:
    model = Model(echo)
    call = await started(make, stack, model)
    return await gather(call, range(10)) == list(range(10)) and max(map(len, model.batches)) <= 4


async def no_wait_alone(make: Make, stack: AsyncExitStack) -> bool:
    call = await started(make, stack, Model(echo))
    await gather(call, range(1))
    start = asyncio.get_running_loop().time()
    for _ in range(5):
        await gather(call, range(1))
    return (asyncio.get_running_loop().time() - start) / 5 < 0.004


async def one_growing_batch(make: Make, stack: AsyncExitStack) -> bool:
    model = Model(echo, held=True)
    call = await started(make, stack, model)
    tasks = []
    for item in range(4):
        tasks.append(asyncio.ensure_future(gather(call, range(item, item + 1))))
        await asyncio.sleep(0.03)
    model.go.set()
    await asyncio.gather(*tasks)
    return model.batches == [[0], [1, 2, 3]]


async def cancelled_is_dropped(make: Make, stack: AsyncExitStack) -> bool:
    model = Model(echo, held=True)
    call = await started(make, stack, model)
    tasks = [asyncio.ensure_future(gather(call, range(i, i + 1))) for i in range(4)]
    await asyncio.sleep(0.03)
    late = asyncio.ensure_future(gather(call, range(9, 10)))
    await asyncio.sleep(0.001)
    late.cancel()
    model.go.set()
    await asyncio.gather(*tasks)
    await asyncio.sleep(0.05)
    return not any(9 in batch for batch in model.batches)


async def cancelled_harms_nobody(make: Make, stack: AsyncExitStack) -> bool:
    model = Model(echo, held=True)
    call = await started(make, stack, model)
    tasks = [asyncio.ensure_future(gather(call, range(i, i + 1))) for i in range(4)]
    await asyncio.sleep(0.03)
    tasks[0].cancel()
    model.go.set()
    rest = await asyncio.gather(*tasks[1:])
    return rest == [[1], [2], [3]] and await gather(call, range(2)) == [0, 1]


async def own_exceptions(make: Make, stack: AsyncExitStack) -> bool:
    def fail(items: list[int]) -> list[Any]:
        raise ValueError("no")

    call = await started(make, stack, Model(fail))
    errors = await gather(call, range(3))
    return len({id(error) for error in errors}) == 3 and isinstance(errors[0], ValueError)


async def exception_for_one(make: Make, stack: AsyncExitStack) -> bool:
    call = await started(make, stack, Model(lambda items: [ValueError(), *items[1:]]))
    first, *rest = await gather(call, range(3))
    return isinstance(first, ValueError) and rest == [1, 2]


async def may_empty_its_list(make: Make, stack: AsyncExitStack) -> bool:
    call = await started(make, stack, Model(lambda items: [items.pop(0) for _ in list(items)]))
    return await gather(call, range(3)) == [0, 1, 2]


def all_told_then_serving(answer: Callable[[list[int]], list[Any]]) -> Callable[..., Any]:
    async def probe(make: Make, stack: AsyncExitStack) -> bool:
        model = Model(answer)
        call = await started(make, stack, model)
        errors = await gather(call, range(3))
        model.answer = echo
        told = all(isinstance(error, Exception) for error in errors)
        return told and await gather(call, range(3)) == [0, 1, 2]

    return probe


def cancel_itself(items: list[int]) -> list[Any]:
    raise asyncio.CancelledError


PROBES: dict[str, Callable[[Make, AsyncExitStack], Awaitable[bool]]] = {
    "batches never exceed the maximum": never_above_max,
    "a lone request does not wait": no_wait_alone,
    "arrivals during execution share one batch": one_growing_batch,
    "a cancelled item is not computed": cancelled_is_dropped,
    "cancelling one harms no other": cancelled_harms_nobody,
    "every caller has its own exception": own_exceptions,
    "an exception for one item": exception_for_one,
    "the function may empty its list": may_empty_its_list,
    "too few results: all are told": all_told_then_serving(lambda items: items[1:]),
    "no sequence: all are told": all_told_then_serving(lambda items: None),  # type: ignore[arg-type,return-value]
    "CancelledError from the function: all are told": all_told_then_serving(cancel_itself),
}


async def verdict(make: Make, probe: Callable[[Make, AsyncExitStack], Awaitable[bool]]) -> str:
    try:
        async with AsyncExitStack() as stack:
            return "yes" if await probe(make, stack) else "no"
    except TimeoutError:
        return "hangs"
    except (Exception, asyncio.CancelledError) as error:
        return f"no ({type(error).__name__})"


@options
def main(quick: bool, json: Path | None) -> None:
    """Probe each installed batcher in situations that occur in production."""
    logging.disable()
    versions = installed((*PACKAGES, "ray"))
    libraries = {
        name: make
        for name, make in LIBRARIES.items()
        if name not in versions or versions[name] is not None
    }
    features = {
        feature: {name: asyncio.run(verdict(make, probe)) for name, make in libraries.items()}
        for feature, probe in PROBES.items()
    }
    record = FeatureRecord(versions=versions, features=features)
    rows = [(feature, *cells.values()) for feature, cells in features.items()]
    report("Each cell is a probe", ("feature", *libraries), rows, record, json)


if __name__ == "__main__":
    main()
