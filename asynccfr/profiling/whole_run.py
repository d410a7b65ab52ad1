"""A whole run: where its wall time went, and how much of the forward hid behind the walks."""

import time
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from asynccfr.cfr.crew import Crew, hold
from asynccfr.cfr.query import deliver
from asynccfr.config import AsyncDriver, SyncDriver
from asynccfr.event_loop import run
from asynccfr.inference.drivers import batcher_of
from asynccfr.profiling.measuring import Spread, spread
from asynccfr.profiling.phases import Stopwatch, run_batched
from asynccfr.profiling.step import StepCost
from asynccfr.profiling.subject import OUTPUT_SCALE, Scale, Subject

MOST_REPETITIONS = 3


class Exposure(Struct, frozen=True, kw_only=True):
    """A real run with the batches computed in one place; seconds are medians.

    Fields:
        place: "inline" in the event loop, or in a "thread" beside it.
        batch_seconds: encoding, forward and scatter, as long as they took.
        walk_seconds: computing of everything else.
        exposed_seconds: of the batches' time, how long nothing else was done.
        hidden_seconds: of the batches' time, the rest.
        sum_or_max: where the wall time lies between the longer of the two (0) and their sum (1).
    """

    place: str
    nodes_per_second: Spread
    seconds: float
    batch_seconds: float
    walk_seconds: float
    exposed_seconds: float
    hidden_seconds: float
    sum_or_max: float


class Accounting(Struct, frozen=True, kw_only=True):
    """Wall time of the inline run by what it was spent on, microseconds per node.

    Phases of the batches and the reservoirs are timed in the run itself; the walks, their being
    woken included, and the batcher's collecting are what they cost when measured by themselves.

    Fields:
        unaccounted_us: wall time less the sum of the parts; negative if that is more.
    """

    wall_us: float
    parts_us: dict[str, float]
    unaccounted_us: float
    realised_batch: float

    @property
    def unaccounted_share(self) -> float:
        return self.unaccounted_us / self.wall_us


class WholeRun(Struct, frozen=True, kw_only=True):
    driver: AsyncDriver
    exposures: list[Exposure]
    accounting: Accounting


def measure(subject: Subject, scale: Scale, step: StepCost) -> WholeRun:
    given = subject.config.inference.driver
    most = scale.concurrency
    max_batch = most if isinstance(given, SyncDriver) else min(given.max_batch, most)
    driver = AsyncDriver(concurrency=most, max_batch=max_batch)
    solver = subject.solver(traversals=scale.traversals)
    watch = Stopwatch(subject.device)
    evaluator = subject.evaluator(driver.max_batch, watch=watch)
    found: dict[str, list[dict[str, float]]] = {"inline": [], "thread": []}
    accounts = []
    for iteration in range(min(scale.repetitions, MOST_REPETITIONS) + 1):
        walk_us = node_us(subject, scale)
        for place, kept in found.items():
            watch.reset()
            inline = place == "inline"
            batcher = batcher_of(evaluator, max_batch=driver.max_batch, inline=inline)
            ran = run(
                run_batched(
                    subject, solver, evaluator, driver, iteration=iteration + 1, batcher=batcher
                )
            )
            if iteration == 0:
                continue
            batches = sum(end - start for start, end in watch.spans)
            kept.append(
                {
                    "speed": ran.speed,
                    "seconds": ran.seconds,
                    "batches": batches,
                    "walks": ran.seconds - batches if inline else ran.loop_seconds,
                }
            )
            if inline:
                realised = float(np.mean(ran.inference.batch_sizes))
                parts = {k: s / ran.nodes * 1e6 for k, s in watch.seconds.items()}
                parts["reservoirs"] = ran.reservoir_seconds / ran.nodes * 1e6
                parts["games, coroutines and samples"] = walk_us
                parts["collect"] = step.parts["collect"].at(realised) / realised
                accounts.append((ran.seconds / ran.nodes * 1e6, parts, realised))
    return WholeRun(
        driver=driver,
        exposures=[exposure(place, kept) for place, kept in found.items()],
        accounting=accounting(accounts),
    )


def exposure(place: str, kept: list[dict[str, float]]) -> Exposure:
    for each in kept:
        seconds, batches, walks = each["seconds"], each["batches"], each["walks"]
        longer, together = max(batches, walks), batches + walks
        each["exposed"] = min(batches, max(0.0, seconds - walks))
        each["hidden"] = batches - each["exposed"]
        each["sum or max"] = (seconds - longer) / (together - longer)
    median = {name: float(np.median([each[name] for each in kept])) for name in kept[0]}
    return Exposure(
        place=place,
        nodes_per_second=spread([each["speed"] for each in kept]),
        seconds=median["seconds"],
        batch_seconds=median["batches"],
        walk_seconds=median["walks"],
        exposed_seconds=median["exposed"],
        hidden_seconds=median["hidden"],
        sum_or_max=median["sum or max"],
    )


def accounting(accounts: Sequence[tuple[float, Mapping[str, float], float]]) -> Accounting:
    walls, parts, realised = zip(*accounts, strict=True)
    medians = {name: float(np.median([each[name] for each in parts])) for name in parts[0]}
    wall = float(np.median(walls))
    return Accounting(
        wall_us=wall,
        parts_us=medians,
        unaccounted_us=wall - sum(medians.values()),
        realised_batch=float(np.median(realised)),
    )


def node_us(subject: Subject, scale: Scale) -> float:
    """Microseconds per node of walks alone: rules, regret matching, samples, up to the reservoirs.

    As many walks as in the run are resumed in turns, so that the caches are as cold.
    """
    solver = subject.solver(traversals=scale.traversals)
    collector = subject.collector(solver)
    plan = subject.plan(scale.traversals)
    walks = plan.walks(subject.game, range(plan.traversals), collector.finished)
    outputs = OUTPUT_SCALE * np.random.default_rng(0).standard_normal(
        (scale.concurrency, subject.game.num_actions), np.float32
    )
    crew = Crew(
        plan.scheme,
        enumerate(walks),
        size=scale.concurrency,
        together=scale.concurrency,
        evaluate=hold,
        finish=lambda _, walk: collector.add(walk),
    )
    answering = 0.0
    started = time.perf_counter()
    waiting = crew.go_on()
    while not crew.is_over:
        asked = time.perf_counter()
        for each in waiting:
            deliver(each.queries, outputs)
        answering += time.perf_counter() - asked
        waiting = crew.go_on(waiting)
    walked = time.perf_counter() - started - answering - collector.seconds
    return walked / collector.nodes * 1e6
