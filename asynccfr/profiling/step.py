"""One step of the batcher in parts, each measured by itself, and as a whole.

In the whole, tasks that have been woken submit their next row at once, and the phases of its
batches are timed. To take apart what lies between two batches, three are submitted in one go:
between the second and the third is the wake-up alone, for the tasks of the second only go on to
wait for the third.
"""

import asyncio
import time
from collections.abc import Sequence

from msgspec import Struct

from asynccfr.batcher import Batcher, Call
from asynccfr.cfr.query import Query
from asynccfr.cfr.walk import Walk
from asynccfr.event_loop import run
from asynccfr.profiling.lines import Curve, fit
from asynccfr.profiling.measuring import Spread, spread
from asynccfr.profiling.phases import PHASES, PhasedEvaluator, phased
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

    def overhead_us(self, rows: float) -> float:
        """What the batcher itself costs."""
        return self.parts["collect"].at(rows) + self.parts["wake-up"].at(rows)


def measure(subject: Subject, scale: Scale) -> StepCost:
    sizes = [size for size in scale.sizes if 8 <= size <= 1024]
    waiting = subject.waiting(sizes[-1])
    found: dict[int, dict[str, list[float]]] = {}
    for size in sizes:
        walks, evaluator = waiting[:size], phased(subject, size)
        kept = found[size] = {name: [] for name in (*PARTS, "whole", "unaccounted")}
        for repetition in range(2 * scale.repetitions + 1):
            parts = run(apart(walks, evaluator)) | run(whole(walks, evaluator))
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


async def apart(walks: list[Walk], evaluator: PhasedEvaluator) -> dict[str, float]:
    """Seconds to collect a batch and to wake those who wait for it, the mean of several steps."""
    player = walks[0].player
    total = {"collect": 0.0, "wake-up": 0.0}

    async def wait(*calls: Call[Query]) -> None:
        for call in calls:
            await call

    async with Batcher(evaluator, max_batch=len(walks), inline=True) as batcher:
        for _ in range(STEPS):
            evaluator.reset()
            started = time.perf_counter()
            rounds = [[batcher.submit(walk, player) for walk in walks] for _ in range(3)]
            total["collect"] += (time.perf_counter() - started) / 3
            await asyncio.gather(*map(asyncio.ensure_future, map(wait, *rounds)))
            (_, second_end), (third_start, _) = evaluator.spans[1:]
            total["wake-up"] += third_start - second_end
    return {name: seconds / STEPS for name, seconds in total.items()}


async def whole(walks: list[Walk], evaluator: PhasedEvaluator) -> dict[str, float]:
    """Seconds a step, and of each phase of it, of tasks that ask again as soon as answered."""
    player = walks[0].player
    marks: list[float] = []

    async def ask(walk: Walk) -> None:
        for _ in range(STEPS + 1):
            await batcher.submit(walk, player)
            if walk is walks[0]:
                if not marks:
                    evaluator.reset()
                marks.append(time.perf_counter())

    async with (
        Batcher(evaluator, max_batch=len(walks), inline=True) as batcher,
        asyncio.TaskGroup() as group,
    ):
        for walk in walks:
            group.create_task(ask(walk))
    phases = {name: seconds / STEPS for name, seconds in evaluator.seconds.items()}
    return phases | {"whole": (marks[-1] - marks[0]) / STEPS}
