"""Large games, evaluated exactly: `python -m benchmarks.large_games`.

The five games of Rudolph et al., "Reevaluating Policy Gradient Methods for Imperfect-Information
Games" (ICLR 2026, arXiv 2502.08938): every rule trains one network of the same shape for 10 million
decisions, and NashConv / 2 of its agent is found exactly on the way.

A run is a job of its own process with one thread, and one job runs on each core. Everything is kept
under `--folder`: a job that was interrupted goes on from its last checkpoint, one that is finished
is not run again, so that the whole can be spread over days. `--games`, `--rules` and `--seeds`
choose jobs; the table and the picture show whatever the folder holds.
"""

import asyncio
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import aclosing
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple, TypedDict

import click
import msgspec
import torch
from matplotlib.figure import Figure
from msgspec import Struct

from asynccfr.agents import Agent, MixtureAgent
from asynccfr.config import (
    PPO,
    AsyncDriver,
    AverageStrategy,
    DeepCFR,
    Escher,
    Evaluation,
    Fit,
    Inference,
    Learning,
    MultilayerPerceptron,
    OutcomeSampling,
    QPolicyGradient,
    RegretActorCritic,
    RegretMatching,
    Run,
    TrainConfig,
)
from asynccfr.exact.private_evaluation import PrivateEvaluation
from asynccfr.games import load_game
from asynccfr.runs import RunFolder
from asynccfr.seeding import Rng
from asynccfr.solvers import make_solver
from asynccfr.solvers.protocol import Columns
from asynccfr.storage.durable import replace_file
from asynccfr.training import Totals, train
from benchmarks.common import Machine, machine, report

# The best policy-gradient exploitability at 10 million decisions, read off the paper's plots.
GAMES = {
    "phantom_ttt": 0.10,
    "phantom_ttt(gameversion=abrupt)": 0.12,
    "dark_hex": 0.05,
    "dark_hex(gameversion=adh)": 0.12,
    "liars_dice(numdice=2,dice_sides=5)": None,
}
QUICK_GAMES = ("dark_hex(num_rows=2,num_cols=3)", "liars_dice(dice_sides=3)")
DECISIONS = 10_000_000
QUICK_DECISIONS = 30_000
SHARES = (0.03, 0.1, 0.3, 1.0)  # of the decisions, at which the agent is evaluated
PLAYOUTS = 2000
ENDLESS = 1_000_000

NETWORK = MultilayerPerceptron(width=256, depth=2)


class Shared(TypedDict):
    """What all self-play solvers have in common."""

    network: MultilayerPerceptron
    games: int
    critic_learning: Learning


SHARED: Shared = {
    "network": NETWORK,
    "games": 512,
    "critic_learning": Learning(epochs=1, batch=512),
}
FRESH = Learning(epochs=2, batch=1024)
Q_POLICY_GRADIENT = QPolicyGradient(entropy=0.1, last_entropy=0.02)
RULES: dict[str, DeepCFR | RegretActorCritic | PPO] = {
    "q_policy_gradient": RegretActorCritic(
        strategy=Q_POLICY_GRADIENT, policy_learning=FRESH, **SHARED
    ),
    "q_policy_gradient, trace 1": RegretActorCritic(
        strategy=Q_POLICY_GRADIENT, trace=1.0, policy_learning=FRESH, **SHARED
    ),
    "regret_matching": RegretActorCritic(
        strategy=RegretMatching(), agent=AverageStrategy(), policy_learning=FRESH, **SHARED
    ),
    "escher": RegretActorCritic(
        strategy=Escher(steps=40), exploration=0.0, agent=AverageStrategy(), **SHARED
    ),
    "ppo": PPO(entropy=0.1, last_entropy=0.02, policy_learning=FRESH, **SHARED),
    "mmd": PPO(
        entropy=0.1,
        last_entropy=0.02,
        proximity=0.1,
        clip=100.0,
        policy_learning=FRESH,
        **SHARED,
    ),
    "deep_cfr": DeepCFR(
        sampling=OutcomeSampling(),
        network=NETWORK,
        traversals=2000,
        advantage=Fit(steps=200),
    ),
}


class Job(NamedTuple):
    """One run: which game, rule and seed, for how many decisions."""

    game: str
    rule: str
    seed: int
    decisions: int

    def path(self, folder: Path) -> Path:
        """Where it keeps its run; its curve is a file beside it."""
        game, rule = (text.replace(" ", "").replace(",", "_") for text in (self.game, self.rule))
        return folder / f"{game}_{self.decisions}" / f"{rule}_{self.seed}"


class Point(Struct, frozen=True, kw_only=True):
    """An exact evaluation; `seconds` are of training, without evaluations."""

    decisions: int
    seconds: float
    evaluation_seconds: float
    exploitability: float


class Curve(Struct, kw_only=True):
    """The evaluations of one run so far."""

    game: str
    rule: str
    seed: int
    decisions: int
    machine: Machine
    points: list[Point] = []

    @classmethod
    def read(cls, job: Job, folder: Path) -> "Curve":
        path = job.path(folder).with_suffix(".json")
        if path.exists():
            return msgspec.json.decode(path.read_bytes(), type=cls)
        return cls(**job._asdict(), machine=machine())

    @property
    def finished(self) -> bool:
        return len(self.points) == len(SHARES)


class Record(Struct, frozen=True, kw_only=True):
    """All curves of a folder."""

    curves: list[Curve]


def configuration(job: Job) -> TrainConfig:
    """What a job trains: learning rates come down over its decisions, estimated by playouts."""
    solver = RULES[job.rule]
    if isinstance(solver, DeepCFR):
        solver = msgspec.structs.replace(solver, iterations=ENDLESS)
    else:
        per_iteration = solver.games * decisions_of_a_game(job.game)
        iterations = max(1, round(job.decisions / per_iteration))
        solver = msgspec.structs.replace(solver, iterations=ENDLESS, anneal=iterations)
    return TrainConfig(
        game=str(load_game(job.game)),
        seed=job.seed,
        solver=solver,
        inference=Inference(device="cpu", threads=1, driver=AsyncDriver(max_batch=512)),
        evaluation=Evaluation(deals=2, opponents=("random",)),
        run=Run(checkpoint_every=20),
    )


def decisions_of_a_game(text: str) -> float:
    """How many decisions both players make in a game, when they play at random."""
    game, rng, decisions = load_game(text), Rng(0), 0
    for number in range(PLAYOUTS):
        state = game.new_state(number)
        while not state.is_terminal:
            legal = state.legal_actions()
            state.apply(legal[rng.integer(len(legal))])
            decisions += 1
    return decisions / PLAYOUTS


def work(job: Job, folder: Path) -> Curve:
    """Run a job from wherever it stands to its end, in a process of its own."""
    torch.set_num_threads(1)
    path = job.path(folder)
    curve = Curve.read(job, folder)
    config = configuration(job)
    fresh = not (path / "config.yaml").exists()
    run = RunFolder.create(path, config) if fresh else RunFolder.open(path)
    with run.lock():
        for share in SHARES[len(curve.points) :]:
            asyncio.run(advance(run, round(share * job.decisions)))
            curve.points.append(evaluate(run))
            replace_file(path.with_suffix(".json"), [msgspec.json.encode(curve)])
    return curve


async def advance(folder: RunFolder, decisions: int) -> None:
    """Train until there were so many decisions, and save; nothing if there were already."""
    found = folder.load_checkpoint(Totals)
    if found is not None and found.state.nodes >= decisions:
        return
    async with aclosing(train(folder.config, folder=folder)) as reports:
        async for one in reports:
            if one.nodes_total >= decisions:
                return


def evaluate(folder: RunFolder) -> Point:
    """The exploitability of the agent that a run would give now."""
    found = folder.load_checkpoint(Totals)
    assert found is not None
    agent = asyncio.run(agent_of(folder, found.iteration, found.arrays))
    evaluation = PrivateEvaluation(agent.game, threads=1)
    started = perf_counter()
    if isinstance(agent, MixtureAgent):
        result = evaluation.nash_conv_of_mixture(agent.profiles())
    else:
        result = evaluation.nash_conv(agent.policy)
    return Point(
        decisions=found.state.nodes,
        seconds=found.state.seconds,
        evaluation_seconds=perf_counter() - started,
        exploitability=result.exploitability,
    )


async def agent_of(folder: RunFolder, iteration: int, arrays: Columns) -> Agent | MixtureAgent:
    """The agent of a checkpoint."""
    solver = make_solver(folder.config, load_game(folder.config.game))
    solver.restore(arrays)
    agent, _ = await solver.make_agent(iteration, 0, lambda phase, done, total: None)
    return agent


def rows_of(curves: Sequence[Curve]) -> Iterator[Sequence[object]]:
    """A row for each game and rule: what its seeds came to, the median first."""
    chosen = sorted({(c.game, c.rule) for c in curves if c.points}, key=str)
    for game, rule in chosen:
        ends = [c.points[-1] for c in curves if (c.game, c.rule) == (game, rule) and c.points]
        found = [point.exploitability for point in ends]
        published = GAMES.get(game)
        yield (
            game,
            rule,
            f"{median(found):.3f} ({', '.join(f'{value:.3f}' for value in found)})",
            f"{median(point.decisions for point in ends) / 1e6:.2f} M",
            f"{median(point.seconds for point in ends) / 60:.1f}",
            "" if published is None else f"{published:.2f}",
        )


def draw(curves: Sequence[Curve], path: Path) -> None:
    """Exploitability over decisions, above, and over the time of training, below."""
    games = list(dict.fromkeys(curve.game for curve in curves))
    figure = Figure(figsize=(4 * len(games), 7), layout="constrained")
    panels = figure.subplots(2, len(games), squeeze=False)
    colours = {rule: f"C{number}" for number, rule in enumerate(RULES)}
    for column, game in enumerate(games):
        over_decisions, over_time = panels[0, column], panels[1, column]
        over_decisions.set(title=game, xlabel="decisions", xscale="log")
        over_time.set(xlabel="minutes of training", xscale="log")
        for curve in (c for c in curves if c.game == game):
            heights = [point.exploitability for point in curve.points]
            style = {"color": colours[curve.rule], "marker": "o", "label": curve.rule}
            over_decisions.plot([point.decisions for point in curve.points], heights, **style)
            over_time.plot([point.seconds / 60 for point in curve.points], heights, **style)
        for panel in (over_decisions, over_time):
            panel.set_ylim(bottom=0)
        if (published := GAMES.get(game)) is not None:
            over_decisions.axhline(published, color="grey", linestyle=":", label="published")
    panels[0, 0].set_ylabel("exploitability")
    handles, names = panels[0, 0].get_legend_handles_labels()
    shown = dict(zip(names, handles, strict=True))
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4)
    figure.savefig(path)


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


@click.command()
@click.option("--quick", is_flag=True, help="Small games and few decisions, within minutes.")
@click.option("--games", help="Games, separated by semicolons; default: all five.")
@click.option("--rules", help=f"Rules, separated by semicolons; default: {'; '.join(RULES)}.")
@click.option("--seeds", default="1", show_default=True, help="Seeds, separated by semicolons.")
@click.option("--decisions", type=click.IntRange(1), help="Of a run; default: 10 million.")
@click.option("--processes", type=click.IntRange(1), help="At once; default: one for each core.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("runs/large_games"),
    show_default=True,
    help="Where runs are kept, and found again.",
)
@click.option("--picture", type=click.Path(path_type=Path), help="Draw the curves here.")
@click.option("--json", type=click.Path(path_type=Path), help="Write the record here.")
def main(
    quick: bool,
    games: str | None,
    rules: str | None,
    seeds: str,
    decisions: int | None,
    processes: int | None,
    folder: Path,
    picture: Path | None,
    json: Path | None,
) -> None:
    chosen_games = listed(games) if games else list(QUICK_GAMES if quick else GAMES)
    chosen_rules = listed(rules) if rules else list(RULES)
    if unknown := set(chosen_rules) - set(RULES):
        raise click.UsageError(f"--rules: {sorted(unknown)}; expected some of {list(RULES)}")
    wanted = decisions or (QUICK_DECISIONS if quick else DECISIONS)
    jobs = [
        Job(game, rule, int(seed), wanted)
        for seed, game, rule in product(listed(seeds), chosen_games, chosen_rules)
    ]
    todo = [job for job in jobs if not Curve.read(job, folder).finished]
    workers = min(processes or len(os.sched_getaffinity(0)), max(1, len(todo)))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, max_tasks_per_child=1) as pool:
        running = {pool.submit(work, job, folder): job for job in todo}
        for number, done in enumerate(as_completed(running), 1):
            end = done.result().points[-1]
            job = running[done]
            click.echo(
                f"{number}/{len(todo)}: {job.game}, {job.rule}, seed {job.seed}: "
                f"{end.exploitability:.4f} after {end.seconds / 60:.1f} minutes"
            )
    curves = [Curve.read(job, folder) for job in jobs]
    report(
        "Exploitability (NashConv / 2)",
        ("game", "rule", "median (seeds)", "decisions", "minutes", "published"),
        list(rows_of(curves)),
        Record(curves=curves),
        json,
    )
    if picture is not None:
        draw(curves, picture)


if __name__ == "__main__":
    main()
