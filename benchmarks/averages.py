"""What an average strategy is worth: `python -m benchmarks.averages`.

In small games `regret_actor_critic` is trained by `configs/leduc_actor_critic.yaml` for a fixed
CPU time and evaluated exactly all along: its agent, a network fitted to the average of all
policies, and beside it the last iterate. Regret matching promises something of the average only.

With `--play GAME`, one too large for that, `configs/champion.yaml` is trained with a memory of
all policies; then their average and the last iterate meet over mirrored deals.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path
from statistics import median

import click
import torch
from matplotlib.figure import Figure
from msgspec.structs import replace

from asynccfr.config import RegretActorCritic, TrainConfig
from asynccfr.config.files import load_config
from asynccfr.evaluation.arena import MatchPlan, play_match
from asynccfr.exact.best_response import nash_conv
from asynccfr.exact.policy import uniform
from asynccfr.games import load_game
from asynccfr.players.network import NetworkPlayer
from asynccfr.reports import MatchReport
from asynccfr.solvers.actor_critic import ActorCriticSolver
from benchmarks.common import machine, report, write
from benchmarks.convergence import (
    CONFIGS,
    SMALL_LOST_CITIES,
    Curve,
    Record,
    Task,
    configuration,
    trained,
)

AVERAGE, LAST = "average network", "last iterate"
LEAST = 1e-3
SOLVER = "regret actor-critic"
CONFIG = "leduc_actor_critic.yaml"
WIDER = ("solver.network.width=128", "solver.strategy.steps=100")

TASKS = (
    Task("kuhn_poker", CONFIG, 60),
    Task("leduc_poker", CONFIG, 300, (0.25,)),
    Task(SMALL_LOST_CITIES, CONFIG, 120, overrides=WIDER),
)


def run(task: Task, seed: int) -> Curve:
    config = configuration(task, seed)
    # An average is fitted, and a match played, wherever NashConv is due.
    evaluation = replace(config.evaluation, every=config.evaluation.nash_conv_every, deals=2)
    config = replace(config, evaluation=evaluation)
    return Curve(
        game=task.game,
        solver=SOLVER,
        seed=seed,
        seconds=task.seconds,
        machine=machine(),
        points=asyncio.run(trained(config, task.seconds)),
    )


def rows_of(task: Task, curves: Sequence[Curve]) -> Iterator[Sequence[object]]:
    """What average and last iterate came to, and when the average passed each threshold."""
    iterations = [curve.points[-1].iteration for curve in curves]
    for policy in (AVERAGE, LAST):
        found = [curve.points[-1].nash_conv[policy] for curve in curves]
        yield (
            task.game,
            f"{policy}: NashConv after {median(iterations):.0f} iterations",
            f"{median(found):.3f} ({', '.join(f'{value:.3f}' for value in found)})",
            f"{median(c.points[-1].cpu_seconds for c in curves):.0f}",
        )
    for threshold in task.thresholds:
        points = [curve.reached(threshold) for curve in curves]
        times = [f"{point.cpu_seconds:.0f}" if point else "never" for point in points]
        yield task.game, f"{AVERAGE}: CPU seconds to {threshold:g}", "", ", ".join(times)


def picture(tasks: Sequence[Task], curves: Sequence[Curve], path: Path) -> None:
    """Average and last iterate of every seed over CPU seconds, games side by side.

    What is below `LEAST`, as pure equilibria are, is drawn there.
    """
    figure = Figure(figsize=(4.5 * len(tasks), 4), layout="constrained")
    grid = figure.subplots(1, len(tasks), squeeze=False)[0]
    for axes, task in zip(grid, tasks, strict=True):
        for curve in (curve for curve in curves if curve.game == task.game):
            for color, policy in enumerate((AVERAGE, LAST)):
                axes.plot(
                    [point.cpu_seconds for point in curve.points],
                    [max(point.nash_conv[policy], LEAST) for point in curve.points],
                    color=f"C{color}",
                    label=policy if curve.seed == 0 else None,
                )
        worst = nash_conv(load_game(task.game), uniform).nash_conv
        axes.axhline(worst, color="grey", linestyle="--", label="uniform")
        axes.set(yscale="log", xlabel="CPU seconds", title=task.game.partition("(")[0])
        axes.grid(alpha=0.3, which="both")
    grid[0].set_ylabel("NashConv")
    grid[0].legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80)


def remembering(game: str, iterations: int, games: int, *overrides: str) -> TrainConfig:
    """How a large game is trained, with a memory of all policies."""
    agent = ("solver.agent.type=average_strategy", "solver.agent.steps=2000")
    schedule = (f"solver.iterations={iterations}", f"solver.anneal={iterations}")
    all_overrides = [f"game={game}", *agent, *schedule, f"solver.games={games}", *overrides]
    return load_config(CONFIGS / "champion.yaml", all_overrides)


async def head_to_head(config: TrainConfig, deals: int) -> MatchReport:
    """Train, and let the average strategy play the last iterate over mirrored deals."""
    game, iterations = load_game(config.game), config.solver.iterations
    assert isinstance(config.solver, RegretActorCritic)
    solver = ActorCriticSolver(config.solver, config.inference, game, config.seed)
    decisions = 0
    for iteration in range(1, iterations + 1):
        decisions += (await solver.iterate(iteration, lambda phase, done, total: None)).nodes
    average, _ = await solver.make_agent(iterations, decisions, lambda phase, done, total: None)
    last = solver.last_iterate(iterations, decisions)
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(NetworkPlayer(average, AVERAGE))
        b = await stack.enter_async_context(NetworkPlayer(last, LAST))
        return await play_match(game, a, b, MatchPlan(deals=deals))


@click.command()
@click.option("--quick", is_flag=True, help="Kuhn poker only, within a minute.")
@click.option("--json", type=click.Path(path_type=Path), help="Keep the runs here, and go on.")
@click.option("--plots", type=click.Path(path_type=Path), help="Draw the curves into this folder.")
@click.option("--only", default="", help="Only games whose name contains this.")
@click.option("--seconds", type=float, help="Give every run so many CPU seconds.")
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--play", help="Instead: let average and last iterate play this game, head to head.")
@click.option("--iterations", default=100, show_default=True, help="Before they play.")
@click.option("--games", default=128, show_default=True, help="Of an iteration, likewise.")
@click.option("--deals", default=1000, show_default=True, help="That they play.")
def main(
    quick: bool,
    json: Path | None,
    plots: Path | None,
    only: str,
    seconds: float | None,
    seeds: int,
    play: str | None,
    iterations: int,
    games: int,
    deals: int,
) -> None:
    """Show the average strategy beside the last iterate."""
    torch.set_num_threads(1)
    if play is not None:
        match = asyncio.run(head_to_head(remembering(play, iterations, games), deals))
        score = f"{match.score:+.2f} [{match.score_low:+.2f}, {match.score_high:+.2f}]"
        row = (match.game, iterations, games, match.deals, score)
        columns = ("game", "iterations", "games each", "deals", "average against last iterate")
        report("Head to head", columns, [row], match, json)
        return
    if quick:
        only, seconds, seeds = "kuhn", seconds or 20, 1
    tasks = [task._replace(seconds=seconds or task.seconds) for task in TASKS if only in task.game]
    record = Record.read(json)
    for task, seed in product(tasks, range(seeds)):
        if record.find(task, SOLVER, seed) is None:
            click.echo(f"{task.game}: seed {seed}", err=True)
            record.curves.append(run(task, seed))
            write(record, json)
    wanted = {(task.game, task.seconds) for task in tasks}
    curves = [curve for curve in record.curves if (curve.game, curve.seconds) in wanted]
    rows: list[Sequence[object]] = []
    for task in tasks:
        rows += rows_of(task, [curve for curve in curves if curve.game == task.game])
    if plots is not None:
        picture(tasks, curves, plots / "averages.png")
    report("Averages", ("game", "figure", "median (seeds)", "CPU seconds"), rows, record, None)
    for where in dict.fromkeys(str(curve.machine) for curve in record.curves):
        click.echo(where)


if __name__ == "__main__":
    main()
