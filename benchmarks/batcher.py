"""The batcher against others, its latencies, windows and batches: `python -m benchmarks.batcher`.

All arms of a comparison take turns within one process, on asyncio and on uvloop. Libraries that are
not installed (extra `bench`) are reported as such.
"""

import asyncio
import gc
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click
import uvloop
from msgspec import Struct

from asynccfr.batcher import Batcher
from benchmarks.batcher_rivals import ARMS, Arm, installed, no_op
from benchmarks.batcher_service import ServiceRecord, measure_service
from benchmarks.common import Machine, Spread, machine, options, report, spread

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
CALLERS, AWAITS = 256, 200
WINDOWS_US = (50, 100, 200, 500, 1000)


class AwaitCost(Struct, frozen=True, kw_only=True):
    """256 coroutines that await 200 times each, with a function that does nothing."""

    us_per_await: dict[str, Spread]
    ours_over_aiodataloader: Spread | None  # of the costs within one round


class Latency(Struct, frozen=True, kw_only=True):
    """Of lone requests, one after another, microseconds."""

    p05_us: float
    p50_us: float
    p95_us: float
    p99_us: float


class Realised(Struct, frozen=True, kw_only=True):
    """Random arrivals at a function that costs 500 us and 5 us for each item, in a thread."""

    arrivals_per_second: float
    mean_batch: float
    p50_batch: int
    p95_batch: int
    latency_p50_us: float
    latency_p95_us: float


class LoopRecord(Struct, frozen=True, kw_only=True):
    awaits: AwaitCost
    lone_request: dict[str, Latency]
    window: dict[str, Latency]
    realised: dict[str, Realised]


class BatcherRecord(Struct, frozen=True, kw_only=True):
    machine: Machine
    versions: dict[str, str | None]
    loops: dict[str, LoopRecord]
    service: ServiceRecord | None


def run(loop: str, main: Callable[[], Awaitable[Any]]) -> Any:
    async def entry() -> Any:
        return await main()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(entry())


async def cost_of_awaits(arm: Arm) -> float:
    """Microseconds for each await."""

    async def caller() -> None:
        for item in range(AWAITS):
            await call(item)

    async with AsyncExitStack() as stack:
        call = await arm(stack, CALLERS)
        gc.collect()
        start = time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(CALLERS)))
        return (time.perf_counter() - start) * 1e6 / (CALLERS * AWAITS)


async def lone_requests(call: Callable[[int], Awaitable[int]], count: int) -> Latency:
    times = []
    for item in range(count):
        start = time.perf_counter()
        await call(item)
        times.append((time.perf_counter() - start) * 1e6)
    return latency(times)


def latency(times_us: list[float]) -> Latency:
    times_us.sort()
    p05, p50, p95, p99 = (times_us[int(q * len(times_us))] for q in (0.05, 0.5, 0.95, 0.99))
    return Latency(p05_us=p05, p50_us=p50, p95_us=p95, p99_us=p99)


async def lone_latency(arm: Arm, count: int) -> Latency:
    async with AsyncExitStack() as stack:
        call = await arm(stack, CALLERS)
        await lone_requests(call, 20)
        return await lone_requests(call, count)


async def window_latency(window_us: int, count: int) -> Latency:
    async with Batcher(no_op, max_batch=64, batch_window_us=window_us, inline=True) as batcher:
        await lone_requests(batcher, 20)
        return await lone_requests(batcher, count)


async def realised(rate: float, seconds: float, **window: Any) -> Realised:
    def model(items: list[int]) -> list[int]:
        time.sleep(500e-6 + 5e-6 * len(items))
        return items

    rng = random.Random(1)
    times: list[float] = []

    async def caller(item: int) -> None:
        start = time.perf_counter()
        await batcher(item)
        times.append((time.perf_counter() - start) * 1e6)

    async with Batcher(model, max_batch=64, **window) as batcher, asyncio.TaskGroup() as group:
        start = due = time.perf_counter()
        item = 0
        while due < start + seconds:
            due += rng.expovariate(rate)
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            group.create_task(caller(item))
            item += 1
    taken, sizes = latency(times), batcher.statistics().batch_size
    return Realised(
        arrivals_per_second=item / seconds,
        mean_batch=sizes.mean,
        p50_batch=sizes.p50,
        p95_batch=sizes.p95,
        latency_p50_us=taken.p50_us,
        latency_p95_us=taken.p95_us,
    )


def compare_awaits(loop: str, arms: dict[str, Arm], rounds: int) -> AwaitCost:
    """The arms in turns; the slow ones in every fourth round only."""
    slow = ("async-batcher", "batched")
    costs: dict[str, list[float]] = {name: [] for name in arms}
    for number in range(-1, rounds):
        for name, arm in arms.items():
            if number < 0 or name not in slow or number % 4 == 0:
                cost = run(loop, partial(cost_of_awaits, arm))
                if number >= 0:
                    costs[name].append(cost)
    rival = costs.get("aiodataloader")
    ratios = rival and [ours / theirs for ours, theirs in zip(costs["ours"], rival, strict=True)]
    return AwaitCost(
        us_per_await={name: spread(measured) for name, measured in costs.items()},
        ours_over_aiodataloader=spread(ratios) if ratios else None,
    )


def measure_loop(loop: str, arms: dict[str, Arm], quick: bool) -> LoopRecord:
    count = 200 if quick else 1000
    windows = {
        "none": {},
        "500 us": {"batch_window_us": 500},
        "2000 us, adaptive": {"batch_window_us": 2000, "adaptive": True},
    }
    return LoopRecord(
        awaits=compare_awaits(loop, arms, rounds=8 if quick else 25),
        lone_request={
            name: run(loop, partial(lone_latency, ARMS[name], count))
            for name in ("ours", "ours, async def", "ours, thread")
        },
        window={
            str(asked): run(loop, partial(window_latency, asked, count)) for asked in WINDOWS_US
        },
        realised={
            name: run(loop, partial(realised, 2000, 1 if quick else 4, **window))
            for name, window in windows.items()
        },
    )


def plot(record: BatcherRecord, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, (costs, windows, batches) = plt.subplots(1, 3, figsize=(16, 4.5))
    names = list(next(iter(record.loops.values())).awaits.us_per_await)
    for offset, (loop, measured) in enumerate(record.loops.items()):
        places = [i + 0.4 * offset for i in range(len(names))]
        spreads = [measured.awaits.us_per_await[name] for name in names]
        errors = [
            [s.median - s.p05 for s in spreads],
            [s.p95 - s.median for s in spreads],
        ]
        costs.barh(places, [s.median for s in spreads], 0.4, xerr=errors, label=loop)
        asked = list(map(int, measured.window))
        p50 = [each.p50_us for each in measured.window.values()]
        p95 = [each.p95_us for each in measured.window.values()]
        [line] = windows.plot(asked, p50, "o-", label=f"{loop}, p50")
        windows.plot(asked, p95, "o:", color=line.get_color(), label=f"{loop}, p95")
        batches.bar(
            [i + 0.4 * offset for i in range(len(measured.realised))],
            [each.mean_batch for each in measured.realised.values()],
            0.4,
            label=loop,
        )
    costs.set(xscale="log", xlabel="us per await", title="256 coroutines, no-op function")
    costs.set_yticks([i + 0.2 for i in range(len(names))], names)
    windows.plot(WINDOWS_US, WINDOWS_US, "k--", label="asked")
    windows.set(xscale="log", yscale="log", xlabel="window asked, us", title="Lone request, us")
    batches.set(title="Realised batch, 2000 random arrivals/s")
    batches.set_xticks([i + 0.2 for i in range(3)], list(measured.realised))
    for axes in (costs, windows, batches):
        axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


@click.option("--plot", "figure", type=click.Path(path_type=Path), help="Draw a PNG here.")
@options
def main(quick: bool, json: Path | None, figure: Path | None) -> None:
    """The batcher against other libraries; its latencies, windows, batches and a web service."""
    versions = installed()
    arms = {name: arm for name, arm in ARMS.items() if versions.get(name, "") is not None}
    record = BatcherRecord(
        machine=machine(),
        versions=versions,
        loops={loop: measure_loop(loop, arms, quick) for loop in LOOPS},
        service=measure_service(quick),
    )
    report_all(record, json)
    if figure is not None:
        plot(record, figure)


def report_all(record: BatcherRecord, json: Path | None) -> None:
    loops = record.loops
    costs = [
        (name, *(loops[loop].awaits.us_per_await[name] for loop in loops))
        for name in loops["asyncio"].awaits.us_per_await
    ]
    costs += [(name, *["not installed"] * 2) for name, v in record.versions.items() if v is None]
    ratios = [loops[loop].awaits.ours_over_aiodataloader for loop in loops]
    costs.append(("ours / aiodataloader", *(ratio or "unknown" for ratio in ratios)))
    title = f"us per await: median (p05 to p95), {CALLERS} coroutines"
    report(title, ("arm", *loops), costs, record, None)

    def row(name: str, each: Latency) -> tuple[object, ...]:
        figures = (each.p05_us, each.p50_us, each.p95_us, each.p99_us)
        return (name, *(f"{figure:.0f}" for figure in figures))

    rows = [
        row(f"{loop}: {name}", each)
        for loop, measured in loops.items()
        for name, each in [
            *measured.lone_request.items(),
            *((f"window of {asked} us", each) for asked, each in measured.window.items()),
        ]
    ]
    report("Lone requests, us", ("arm", "p05", "p50", "p95", "p99"), rows, record, None)
    rows = [
        (
            f"{loop}: window {name}",
            f"{each.mean_batch:.1f}",
            each.p50_batch,
            each.p95_batch,
            f"{each.latency_p50_us:.0f}",
            f"{each.latency_p95_us:.0f}",
        )
        for loop, measured in loops.items()
        for name, each in measured.realised.items()
    ]
    columns = ("arm", "mean batch", "p50", "p95", "latency p50 us", "latency p95 us")
    report("Realised batches, 2000 random arrivals a second", columns, rows, record, json)
    if record.service is None:
        print("service: not measured, install the extra `test`")
    else:
        record.service.report()


if __name__ == "__main__":
    main()
