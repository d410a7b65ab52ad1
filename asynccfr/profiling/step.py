"""One step of the batcher in parts, each measured by itself, and as a whole.

The walks stay where they are, and ask for the same decision again as soon as it is answered. In the
whole, the driver of training runs them, and the phases of the batches are timed. What lies between
two batches is taken apart by hand: waking up begins where a batch ends, collecting ends where one
begins.
"""

import time
from collections.abc import Sequence

from msgspec import Struct

from asynccfr.cfr.crew import Crew, hold
from asynccfr.cfr.traversal import Evaluate
from asynccfr.cfr.walk import Walk
from asynccfr.event_loop import run
from asynccfr.inference.drivers import batcher_of, lot_size, traverse_batched
from asynccfr.inference.evaluator import PHASES, Evaluator
from asynccfr.profiling.lines import Curve, fit
from asynccfr.profiling.measuring import Spread, spread
from asynccfr.profiling.phases import Stopwatch
from asynccfr.profiling.subject import Scale, Subject

PARTS = ("collect", *PHASES, "wake-up")
STEPS = 4


class StepCost(Struct, frozen=True, kw_only=True):
    """A step of the batcher: `parts` by name, and the `whole`.

    On a CPU launching and computing are one: it is all in `forward`.

    Fields:
        sum_over_whole: sum of the parts over the whole, at each number of rows.
        unaccounted_us: the whole less the parts, at each number of rows.
    """

    parts: dict[str, Curve]
    whole: Curve
    sum_over_whole: list[float]
    unaccounted_us: list[float]


def measure(subject: Subject, scale: Scale) -> StepCost:
    sizes = [size for size in scale.sizes if 8 <= size <= 1024]
    waiting = subject.waiting(sizes[-1])
    found: dict[int, dict[str, list[float]]] = {}
    for size in sizes:
        walks, watch = waiting[:size], Stopwatch(subject.device)
        evaluator = subject.evaluator(size, watch=watch)
        kept = found[size] = {name: [] for name in (*PARTS, "whole", "unaccounted")}
        for repetition in range(2 * scale.repetitions + 1):
            parts = run(apart(walks, evaluator, watch)) | run(whole(walks, evaluator, watch))
            parts["unaccounted"] = parts["whole"] - sum(parts[name] for name in PARTS)
            for name, seconds in parts.items() if repetition else ():
                kept[name].append(seconds * 1e6)
    spreads = {
        size: {name: spread(us) for name, us in kept.items()} for size, kept in found.items()
    }
    curves = {
        name: to_curve(sizes, [spreads[size][name] for size in sizes]) for name in (*PARTS, "whole")
    }
    whole_step = curves.pop("whole")
    rest = [spreads[size]["unaccounted"].median for size in sizes]
    ratios = [1 - us / total for us, total in zip(rest, whole_step.us, strict=True)]
    return StepCost(parts=curves, whole=whole_step, sum_over_whole=ratios, unaccounted_us=rest)


def to_curve(sizes: list[int], found: Sequence[Spread]) -> Curve:
    medians = [max(each.median, 1e-3) for each in found]
    return Curve(
        rows=sizes,
        us=medians,
        p05=[each.p05 for each in found],
        p95=[each.p95 for each in found],
        line=fit(sizes, medians),
    )


async def ask_again(walk: Walk, evaluate: Evaluate) -> None:
    """A traversal that stays where it is: it asks for the same decision again and again."""
    for _ in range(STEPS + 1):
        await evaluate(walk)


async def apart(walks: list[Walk], evaluator: Evaluator, watch: Stopwatch) -> dict[str, float]:
    """Seconds to collect a batch and to wake those who wait for it, the mean of several steps."""
    size = len(walks)
    total = {"collect": 0.0, "wake-up": 0.0}
    crew = Crew(ask_again, enumerate(walks), size, lot_size(size), hold, lambda *_: None)
    waiting = crew.go_on()
    async with batcher_of(evaluator, max_batch=size, inline=True) as batcher:
        for _ in range(STEPS):
            watch.reset()
            started = time.perf_counter()
            calls = [batcher.submit(each, each.group) for each in waiting]
            waiting = crew.go_on([await call for call in calls])
            [(batch_start, batch_end)] = watch.spans
            total["collect"] += batch_start - started
            total["wake-up"] += time.perf_counter() - batch_end
    return {name: seconds / STEPS for name, seconds in total.items()}


async def whole(walks: list[Walk], evaluator: Evaluator, watch: Stopwatch) -> dict[str, float]:
    """Seconds per step, and of each phase of it, of traversals that ask again once answered."""
    size = len(walks)
    watch.reset()
    batcher = batcher_of(evaluator, max_batch=size, inline=True)
    await traverse_batched(size, ask_again, walks, batcher, lambda _: None)
    starts = [start for start, _ in watch.spans]
    phases = {name: seconds / len(starts) for name, seconds in watch.seconds.items()}
    return phases | {"whole": (starts[-1] - starts[0]) / (len(starts) - 1)}
