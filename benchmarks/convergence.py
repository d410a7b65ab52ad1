"""How fast NashConv falls: `python -m benchmarks.convergence`.

Every game is trained by its configuration for a fixed CPU time, with three seeds, and evaluated
exactly all along; the time of the evaluations counts. The figures are those of the agent, Single
Deep CFR's average, in the game's units: exploitability is half of NashConv, and in poker a thousand
times that is mA/g. Where dm-tree is installed beside OpenSpiel, its PyTorch Deep CFR runs in turns
with ours (see `benchmarks.openspiel_deep_cfr`).

Everything runs on one thread. Seconds are of the wall, which other programs on the machine slow
down; CPU seconds are what the run itself took of a core, its seconds if it had that to itself.

With `--json`, finished runs are written at once, and those that the file holds are not run again:
an interrupted benchmark goes on where it was, and single games (`--only`) add up in one file.
"""

import asyncio
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple

import click
import msgspec
import torch
from matplotlib.figure import Figure
from msgspec import Struct
from msgspec.structs import replace

from asynccfr.config import TrainConfig
from asynccfr.config.files import load_config
from asynccfr.exact.best_response import nash_conv
from asynccfr.exact.policy import uniform
from asynccfr.games import load_game
from asynccfr.training import train
from benchmarks.common import Machine, machine, report, write

CONFIGS = Path(__file__).parent.parent / "configs"
SD_CFR = "SD-CFR average"
NETWORK = "average network"
OURS, OPENSPIEL = "asynccfr", "OpenSpiel"
RIVAL = find_spec("pyspiel") is not None and find_spec("tree") is not None
ENDLESS = 1_000_000


class Task(NamedTuple):
    """A game, what to train it with for how many CPU seconds, and what to reach."""

    game: str
    config: str
    seconds: float
    thresholds: tuple[float, ...] = ()
    solvers: tuple[str, ...] = (OURS,)
    overrides: tuple[str, ...] = ()


SMALL_LOST_CITIES = "lost_cities(colors=2, numbers=3, wagers=0, hand_size=2, cost=2)"
WIDER = ("solver.network.width=128", "solver.advantage.steps=100")
# Where one action is right, its regret comes down to 0, and the fit's error takes it below as often
# as not: uniform play would then be a blunder.
HIGHEST = "solver.all_negative=highest"

TASKS = (
    Task("kuhn_poker", "kuhn.yaml", 60, (0.02,)),
    Task("leduc_poker", "leduc.yaml", 600, (0.67, 0.20, 0.13), (OURS, OPENSPIEL)),
    Task("openspiel:liars_dice", "leduc.yaml", 600, overrides=(HIGHEST,)),
    Task(SMALL_LOST_CITIES, "leduc.yaml", 600, overrides=(*WIDER, HIGHEST)),
)
QUICK = (
    Task("kuhn_poker", "kuhn.yaml", 15, (0.02,)),
    Task("leduc_poker", "leduc.yaml", 20, (0.67,)),
)


class Point(Struct, frozen=True, kw_only=True):
    """One exact evaluation; seconds since training began."""

    seconds: float
    cpu_seconds: float
    iteration: int
    nodes: int
    nash_conv: dict[str, float]


class Curve(Struct, frozen=True, kw_only=True):
    """The evaluations of one run that was given so many CPU seconds."""

    game: str
    solver: str
    seed: int
    seconds: float
    machine: Machine
    points: list[Point]

    @property
    def policy(self) -> str:
        """The policy that the figures are about."""
        return SD_CFR if self.solver == OURS else NETWORK

    @property
    def last(self) -> float:
        return self.points[-1].nash_conv[self.policy]

    def reached(self, threshold: float) -> Point | None:
        """The first evaluation at or below a threshold."""
        return next((p for p in self.points if p.nash_conv[self.policy] <= threshold), None)


class Record(Struct, kw_only=True):
    """All runs, written to a file whenever one has finished."""

    curves: list[Curve] = msgspec.field(default_factory=list)

    @classmethod
    def read(cls, path: Path | None) -> "Record":
        if path is None or not path.exists():
            return cls()
        return msgspec.json.decode(path.read_bytes(), type=cls)

    def find(self, task: Task, solver: str, seed: int) -> Curve | None:
        wanted = (task.game, solver, seed, task.seconds)
        found = (c for c in self.curves if (c.game, c.solver, c.seed, c.seconds) == wanted)
        return next(found, None)


class Clock:
    """Wall and CPU seconds since it was made, less those that are taken back."""

    def __init__(self) -> None:
        self._wall, self._cpu = perf_counter(), process_time()

    @property
    def wall(self) -> float:
        return perf_counter() - self._wall

    @property
    def cpu(self) -> float:
        return process_time() - self._cpu

    def turn_back(self, wall: float, cpu: float) -> None:
        """Set the clock to what it read before."""
        self._wall, self._cpu = perf_counter() - wall, process_time() - cpu


def configuration(task: Task, seed: int) -> TrainConfig:
    overrides = [f"game={task.game}", f"seed={seed}", f"solver.iterations={ENDLESS}"]
    config = load_config(CONFIGS / task.config, [*overrides, *task.overrides])
    evaluation = replace(config.evaluation, every=0, opponents=("random",))
    return replace(config, evaluation=evaluation)


async def trained(config: TrainConfig, seconds: float) -> list[Point]:
    """Train until the CPU time is over."""
    points = []
    clock = Clock()
    async with aclosing(train(config)) as reports:
        async for done in reports:
            if not done.nash_conv:
                continue
            points.append(
                Point(
                    seconds=clock.wall,
                    cpu_seconds=clock.cpu,
                    iteration=done.iteration,
                    nodes=done.nodes_total,
                    nash_conv=done.nash_conv,
                )
            )
            if clock.cpu >= seconds:
                break
    return points


def run_openspiel(task: Task, seed: int) -> list[Point]:
    """Train OpenSpiel's solver until the time is over, and judge it whenever that has doubled."""
    from benchmarks.openspiel_deep_cfr import OpenSpielDeepCFR

    points: list[Point] = []
    clock = Clock()
    solver = OpenSpielDeepCFR(task.game, seed)
    due = task.seconds / 4
    while not points or clock.cpu < task.seconds:
        solver.iterate()
        if clock.cpu < min(due, task.seconds):
            continue
        due = 2 * clock.cpu
        before = clock.wall, clock.cpu
        solver.fit_average()
        after = clock.wall, clock.cpu
        points.append(
            Point(
                seconds=after[0],
                cpu_seconds=after[1],
                iteration=solver.iterations,
                nodes=solver.nodes,
                nash_conv={NETWORK: nash_conv(solver.game, solver.policy).nash_conv},
            )
        )
        clock.turn_back(*(after if before[1] >= task.seconds else before))
    return points


def run(task: Task, solver: str, seed: int) -> Curve:
    if solver == OURS:
        points = asyncio.run(trained(configuration(task, seed), task.seconds))
    else:
        points = run_openspiel(task, seed)
    return Curve(
        game=task.game,
        solver=solver,
        seed=seed,
        seconds=task.seconds,
        machine=machine(),
        points=points,
    )


def plot(curves: Sequence[Curve], path: Path) -> None:
    """One game's curves: every policy of every seed over seconds, iterations and nodes."""
    scale = nash_conv(load_game(curves[0].game), uniform).nash_conv
    lowest = min(curve.last for curve in curves)
    policies = sorted({(c.solver, name) for c in curves for name in c.points[-1].nash_conv})
    figure = Figure(figsize=(13, 4.5), layout="constrained")
    figure.suptitle(curves[0].game)
    over: dict[str, Callable[[Point], float]] = {
        "CPU seconds": lambda point: point.cpu_seconds,
        "iterations": lambda point: point.iteration,
        "nodes": lambda point: point.nodes,
    }
    for axes, (name, x) in zip(figure.subplots(1, 3, sharey=True), over.items(), strict=True):
        for curve in curves:
            for policy in curve.points[-1].nash_conv:
                axes.plot(
                    [x(point) for point in curve.points],
                    [point.nash_conv[policy] for point in curve.points],
                    color=f"C{policies.index((curve.solver, policy))}",
                    marker="o" if curve.solver == OPENSPIEL else "",
                    label=f"{curve.solver}: {policy}" if curve.seed == 0 else None,
                )
        axes.axhline(scale, color="grey", linestyle="--", label="uniform")
        axes.set(xscale="log", yscale="log", xlabel=name)
        axes.grid(alpha=0.3, which="both")
    # A current profile that is an equilibrium, up to rounding, does not set the scale.
    figure.axes[0].set_ylim(bottom=lowest / 2)
    figure.axes[0].set_ylabel("NashConv")
    figure.axes[0].legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80)


def rows_of(task: Task, curves: Sequence[Curve]) -> Iterator[Sequence[object]]:
    """A row for each threshold of a task, and one for the end: medians, and every seed's."""
    solver = curves[0].solver
    for threshold in task.thresholds:
        points = [curve.reached(threshold) for curve in curves]
        yield (
            task.game,
            solver,
            f"seconds to {threshold:g}",
            seconds([point.seconds if point else math.inf for point in points]),
            seconds([point.cpu_seconds if point else math.inf for point in points]),
        )
    ends = [curve.points[-1] for curve in curves]
    found = ", ".join(f"{curve.last:#.3g}" for curve in curves)
    cpu = median(point.cpu_seconds for point in ends)
    yield (
        task.game,
        solver,
        f"NashConv after {median(point.seconds for point in ends):.0f} s, "
        f"{median(point.iteration for point in ends):.0f} iterations, "
        f"{median(point.nodes for point in ends) / 1e6:.2f} M nodes",
        f"{median(curve.last for curve in curves):#.3g} ({found})",
        f"after {cpu:.0f}",
    )


def available(task: Task) -> bool:
    return not task.game.startswith("openspiel:") or find_spec("pyspiel") is not None


def seconds(times: Sequence[float]) -> str:
    """A median and what it is of."""
    texts = ["never" if math.isinf(time) else f"{time:.1f}" for time in (median(times), *times)]
    return f"{texts[0]} ({', '.join(texts[1:])})"


@click.command()
@click.option("--quick", is_flag=True, help="One seed, Kuhn and Leduc only, within a minute.")
@click.option("--json", type=click.Path(path_type=Path), help="Keep the runs here, and go on.")
@click.option("--plots", type=click.Path(path_type=Path), help="Draw the curves into this folder.")
@click.option("--only", default="", help="Only games whose name contains this.")
@click.option("--seconds", type=float, help="Give every run so many CPU seconds.")
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True)
def main(
    quick: bool, json: Path | None, plots: Path | None, only: str, seconds: float | None, seeds: int
) -> None:
    """Train, evaluate exactly, and tell how long NashConv took to fall how far."""
    torch.set_num_threads(1)
    chosen = [task for task in (QUICK if quick else TASKS) if only in task.game]
    tasks = [task._replace(seconds=seconds or task.seconds) for task in chosen if available(task)]
    record = Record.read(json)
    try:
        for task in tasks:
            for seed, solver in product(range(1 if quick else seeds), task.solvers):
                if record.find(task, solver, seed) or (solver == OPENSPIEL and not RIVAL):
                    continue
                click.echo(f"{task.game}: {solver}, seed {seed}", err=True)
                record.curves.append(run(task, solver, seed))
                write(record, json)
    except KeyboardInterrupt:
        click.echo("stopped; what has finished:", err=True)
    rows: list[Sequence[object]] = []
    for task in tasks:
        curves = [c for c in record.curves if (c.game, c.seconds) == (task.game, task.seconds)]
        for solver in task.solvers:
            if theirs := [curve for curve in curves if curve.solver == solver]:
                rows += rows_of(task, theirs)
        if plots is not None and curves:
            name = "_".join("".join(c if c.isalnum() else " " for c in task.game).split())
            plot(curves, plots / f"{name}.png")
    columns = ("game", "solver", "figure", "median (seeds)", "CPU seconds")
    report("Convergence", columns, rows, record, None)
    for where in dict.fromkeys(str(curve.machine) for curve in record.curves):
        click.echo(where)


if __name__ == "__main__":
    main()
