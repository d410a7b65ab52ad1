"""The policy boundary: what each call between a game and its network costs, one at a time."""

import asyncio
import time
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from asynccfr.batcher import Batcher
from asynccfr.event_loop import run
from asynccfr.games.contract import State
from asynccfr.profiling.measuring import microseconds
from asynccfr.profiling.subject import Subject


class BoundaryCall(Struct, frozen=True, kw_only=True):
    """One kind of call, timed singly; the clock's own cost is taken off."""

    name: str
    p50_us: float
    p95_us: float
    calls: int


def measure(subject: Subject, calls: int) -> list[BoundaryCall]:
    """Cost of a call from Python, in the order in which a traversal meets them."""
    game = subject.game
    walks = subject.waiting(min(calls, 256))
    states = [walks[i % len(walks)].state for i in range(calls)]
    row = np.zeros(game.information_state_tensor_size, np.float32)
    evaluator = subject.evaluator(1)
    clock = microseconds(time.perf_counter)
    actions = {id(walk.state): walk.state.legal_actions()[0] for walk in walks}
    clones = iter([state.clone() for state in states])

    def tensor(state: State) -> None:
        state.information_state_tensor(state.current_player, row)

    timed: list[tuple[str, Callable[[int], object]]] = [
        ("game step", lambda i: next(clones).apply(actions[id(states[i])])),
        ("legal mask", lambda i: states[i].legal_actions_mask()),
        ("encode", lambda i: tensor(states[i])),
        ("batch of one forward", lambda i: evaluator([walks[i % len(walks)]])),
    ]
    found = [summary(name, singly(action, calls), clock) for name, action in timed]
    loop_turn, batcher = run(futures(calls))
    return [
        *found,
        summary("future through the event loop", loop_turn, clock),
        summary("await through the batcher, alone", batcher, clock),
    ]


def singly(action: Callable[[int], object], calls: int) -> list[float]:
    """Seconds of each call."""
    times = []
    for number in range(calls):
        started = time.perf_counter()
        action(number)
        times.append(time.perf_counter() - started)
    return times


def summary(name: str, seconds: list[float], clock: float) -> BoundaryCall:
    p50, p95 = (max(0.0, float(np.percentile(seconds, q)) * 1e6 - clock) for q in (50, 95))
    return BoundaryCall(name=name, p50_us=p50, p95_us=p95, calls=len(seconds))


async def futures(calls: int) -> tuple[list[float], list[float]]:
    """Seconds from making to having a plain future, and one of a batcher that does nothing."""
    loop = asyncio.get_running_loop()
    plain, batched = [], []
    for _ in range(calls):
        started = time.perf_counter()
        future = loop.create_future()
        loop.call_soon(future.set_result, None)
        await future
        plain.append(time.perf_counter() - started)
    alone: Batcher[int, int] = Batcher(list, max_batch=1, inline=True)
    async with alone as batcher:
        for number in range(calls):
            started = time.perf_counter()
            await batcher(number)
            batched.append(time.perf_counter() - started)
    return plain, batched
