"""How fast NashConv falls, in wall time: `python -m benchmarks.convergence`.

Every game is trained by its configuration for a fixed time, with three seeds, and evaluated exactly
all along; the time of the evaluations counts. The figures are those of the agent, Single Deep CFR's
average, in the game's units: exploitability is half of NashConv, and in poker a thousand times that
is mA/g. With OpenSpiel and its `torch` extra installed, its Deep CFR runs beside ours with the
settings of its example.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import click
from matplotlib.figure import Figure
from msgspec import Struct
from msgspec.structs import replace

from asynccfr.cfr.best_response import nash_conv
from asynccfr.cfr.policy import uniform
from asynccfr.config import TrainConfig
from asynccfr.config_files import load
from asynccfr.games import load_game
from asynccfr.training import train
from benchmarks.common import Machine, machine, report

CONFIGS = Path(__file__).parent.parent / "configs"
AGENT = "SD-CFR average"
ENDLESS = 1_000_000


class Task(NamedTuple):
    """A game, the configuration to train it with, and what to reach in how many seconds."""

    game: str
    config: str
    seconds: float
    thresholds: tuple[float, ...] = ()
    overrides: tuple[str, ...] = ()


TASKS = (
    Task("kuhn_poker", "kuhn.yaml", 60, (0.02,)),
    Task("leduc_poker", "leduc.yaml", 600, (0.67, 0.20, 0.13)),
    Task("openspiel:liars_dice", "leduc.yaml", 600),
    Task("lost_cities(colors=2, numbers=3, wagers=0, hand_size=2, cost=2)", "leduc.yaml", 600),
)
QUICK = (
    Task("kuhn_poker", "kuhn.yaml", 15, (0.02,)),
    Task("leduc_poker", "leduc.yaml", 20, (0.67,)),
)


class Point(Struct, frozen=True, kw_only=True):
    """One exact evaluation; seconds since training began."""

    seconds: float
    iteration: int
    nodes: int
    nash_conv: dict[str, float]


class Curve(Struct, frozen=True, kw_only=True):
    """The evaluations of one run."""

    game: str
    solver: str
    seed: int
    points: list[Point]

    @property
    def policy(self) -> str:
        """The policy that the figures are about."""
        return AGENT if AGENT in self.points[-1].nash_conv else "average network"

    def reached(self, threshold: float) -> float:
        """Seconds to the first evaluation at or below a threshold; infinity if never."""
        found = (p.seconds for p in self.points if p.nash_conv[self.policy] <= threshold)
        return next(found, math.inf)

    @property
    def last(self) -> float:
        return self.points[-1].nash_conv[self.policy]


class Record(Struct, frozen=True, kw_only=True):
    machine: Machine
    curves: list[Curve]


def configuration(task: Task, seed: int) -> TrainConfig:
    overrides = [f"game={task.game}", f"seed={seed}", f"solver.iterations={ENDLESS}"]
    config = load(CONFIGS / task.config, [*overrides, "solver.average=sd_cfr", *task.overrides])
    evaluation = replace(config.evaluation, every=0, opponents=("random",))
    return replace(config, evaluation=evaluation)


async def run_ours(task: Task, seed: int) -> Curve:
    """Train until the time is over."""
    points = []
    async with aclosing(train(configuration(task, seed))) as reports:
        async for done in reports:
            if done.nash_conv:
                points.append(
                    Point(
                        seconds=done.elapsed_seconds,
                        iteration=done.iteration,
                        nodes=done.nodes_total,
                        nash_conv=done.nash_conv,
                    )
                )
            if points and done.elapsed_seconds >= task.seconds:
                break
    return Curve(game=task.game, solver="asynccfr", seed=seed, points=points)


def run_openspiel(task: Task, seed: int) -> Curve:
    """OpenSpiel's PyTorch Deep CFR, its loop cut into iterations to look at the clock."""
    import pyspiel
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability
    from open_spiel.python.pytorch.deep_cfr import DeepCFRSolver

    game = pyspiel.load_game(task.game.removeprefix("openspiel:"))
    solver = DeepCFRSolver(
        game,
        policy_network_layers=(64, 64, 64, 64),
        advantage_network_layers=(64, 64, 64, 64),
        num_iterations=1,
        num_traversals=1500,
        learning_rate=1e-3,
        batch_size_advantage=2048,
        batch_size_strategy=2048,
        memory_capacity=1_000_000,
        policy_network_train_steps=5000,
        advantage_network_train_steps=750,
        reinitialize_advantage_networks=True,
        seed=seed,
    )
    points: list[Point] = []
    started = perf_counter()
    iteration = 0
    while (seconds := perf_counter() - started) < task.seconds:
        for player in range(2):
            for _ in range(1500):
                solver._traverse_game_tree(solver._root_node, player)
            solver._reinitialize_advantage_network(player)
            solver._learn_advantage_network(player)
        iteration += 1
        solver._iteration += 1
    solver._learn_strategy_network()
    average = policy.tabular_policy_from_callable(game, solver.action_probabilities)
    seconds = perf_counter() - started
    found = exploitability.nash_conv(game, average)
    points.append(
        Point(seconds=seconds, iteration=iteration, nodes=0, nash_conv={"average network": found})
    )
    return Curve(game=task.game, solver="OpenSpiel", seed=seed, points=points)


def plot(curves: Sequence[Curve], path: Path) -> None:
    """One game's curves: every policy of every seed over seconds, iterations and nodes."""
    scale = nash_conv(load_game(curves[0].game), uniform, ENDLESS * 10).nash_conv
    figure = Figure(figsize=(13, 4.5), layout="constrained")
    figure.suptitle(curves[0].game)
    over: dict[str, Callable[[Point], float]] = {
        "seconds": lambda point: point.seconds,
        "iterations": lambda point: point.iteration,
        "nodes": lambda point: point.nodes,
    }
    for axes, (name, x) in zip(figure.subplots(1, 3, sharey=True), over.items(), strict=True):
        for curve in curves:
            for number, policy in enumerate(sorted(curve.points[-1].nash_conv)):
                axes.plot(
                    [x(point) for point in curve.points],
                    [point.nash_conv[policy] for point in curve.points],
                    color=f"C{number + 4 * (curve.solver != 'asynccfr')}",
                    marker="o" if len(curve.points) == 1 else "",
                    label=f"{curve.solver}: {policy}" if curve.seed == 0 else None,
                )
        axes.axhline(scale, color="grey", linestyle="--", label="uniform")
        axes.set(xscale="log", yscale="log", xlabel=name)
        axes.grid(alpha=0.3, which="both")
    figure.axes[0].set_ylabel("NashConv")
    figure.axes[0].legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def rows_of(task: Task, curves: Sequence[Curve]) -> list[Sequence[object]]:
    """A row for each threshold of a task, and one for the end."""
    solver, last = curves[0].solver, median(curve.last for curve in curves)
    found = " ".join(f"{curve.last:.3f}" for curve in curves)
    iterations = f"{median(curve.points[-1].iteration for curve in curves):.0f}"
    rows: list[Sequence[object]] = []
    for threshold in task.thresholds:
        times = [curve.reached(threshold) for curve in curves]
        shown = " ".join("never" if math.isinf(time) else f"{time:.1f}" for time in times)
        middle = median(times)
        text = "never" if math.isinf(middle) else f"{middle:.1f} s"
        rows.append((task.game, solver, f"seconds to {threshold:g}", text, shown, ""))
    end = f"NashConv after {task.seconds:.0f} s"
    return [*rows, (task.game, solver, end, f"{last:.4f}", found, iterations)]


@click.command()
@click.option("--quick", is_flag=True, help="One seed, Kuhn and Leduc only, within a minute.")
@click.option("--json", type=click.Path(path_type=Path), help="Write the record here.")
@click.option("--plots", type=click.Path(path_type=Path), help="Draw the curves into this folder.")
@click.option("--only", help="Only games whose name contains this.")
@click.option("--seconds", type=float, help="Train every game for so long.")
@click.option("--seeds", type=int, default=3, show_default=True)
def main(
    quick: bool,
    json: Path | None,
    plots: Path | None,
    only: str | None,
    seconds: float | None,
    seeds: int,
) -> None:
    """Train, evaluate exactly, and tell how long NashConv took to fall how far."""
    curves: list[Curve] = []
    rows: list[Sequence[object]] = []
    for task in QUICK if quick else TASKS:
        if only and only not in task.game:
            continue
        if task.game.startswith("openspiel:") and not find_spec("pyspiel"):
            continue
        task = task._replace(seconds=seconds or task.seconds)
        solvers: list[Callable[[Task, int], Any]] = [lambda *run: asyncio.run(run_ours(*run))]
        if not quick and find_spec("pyspiel") and find_spec("tree") and "poker" in task.game:
            solvers.append(run_openspiel)
        here: list[Curve] = []
        for solver in solvers:
            found = [solver(task, seed) for seed in range(1 if quick else seeds)]
            rows += rows_of(task, found)
            here += found
        if plots is not None:
            name = "".join(c if c.isalnum() else "_" for c in task.game)
            plot(here, plots / f"{name}.png")
        curves += here
    record = Record(machine=machine(), curves=curves)
    columns = ("game", "solver", "figure", "median", "seeds", "iterations")
    report("Convergence", columns, rows, record, json)


if __name__ == "__main__":
    main()
