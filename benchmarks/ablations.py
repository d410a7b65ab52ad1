"""What each part of the self-play solvers is worth: `python -m benchmarks.ablations`.

Every arm is `configs/champion.yaml` with one change, or `ppo.yaml`. All train for the same number
of games, which on two cores they do in very different times, and are then judged by mirrored deals:
against a rule bot and, head to head, against the base of the same seed. The default game is a
smaller Lost Cities, so that three seeds of every arm end within an hour or two.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

import click
import numpy as np
from matplotlib.figure import Figure
from msgspec import Struct

from asynccfr.agents import Agent
from asynccfr.cfr.episode import Decisions
from asynccfr.config import PPO, RegretActorCritic, TrainConfig
from asynccfr.config.files import load_config
from asynccfr.evaluation.arena import MatchPlan, play_match
from asynccfr.games import load_game
from asynccfr.games.lost_cities import LostCities
from asynccfr.games.symmetry import moved
from asynccfr.players.lost_cities import Threshold
from asynccfr.players.network import NetworkPlayer
from asynccfr.reports import MatchReport
from asynccfr.seeding import stream
from asynccfr.solvers.actor_critic import ActorCriticSolver
from asynccfr.solvers.experience import Experience
from benchmarks.common import Machine, machine, report

CONFIGS = Path(__file__).parent.parent / "configs"
SMALL = "lost_cities(colors=3, numbers=7, wagers=2, hand_size=5)"
BASE = "base"
PERMUTATIONS = 16  # of colours, drawn anew every iteration
AUGMENTATION = (0xA46,)  # keeps their random stream apart


class BlindCritic(ActorCriticSolver):
    """Its critic sees what the player to move sees, and nothing of the other hand."""

    def experience(self, decisions: Decisions) -> Experience:
        return super().experience(decisions._replace(hidden=np.zeros_like(decisions.hidden)))


class Augmented(ActorCriticSolver):
    """Shows its networks every decision with the colours exchanged at random."""

    iteration = 0

    def experience(self, decisions: Decisions) -> Experience:
        self.iteration += 1
        symmetry = self.game.symmetry
        assert symmetry is not None
        draws = np.random.default_rng(stream(self.seed, (*AUGMENTATION, self.iteration)).bits())
        features, hidden, actions = (
            column.copy() for column in (decisions.features, decisions.hidden, decisions.actions)
        )
        kinds = draws.integers(PERMUTATIONS, size=len(actions))
        for kind in range(PERMUTATIONS):
            permutation = draws.permutation(len(symmetry.features)).tolist()
            rows = np.flatnonzero(kinds == kind)
            to = np.array(moved(symmetry.features, permutation, features.shape[1]))
            features[np.ix_(rows, to)] = decisions.features[rows]
            hidden[np.ix_(rows, to)] = decisions.hidden[rows]
            names = np.array([*moved(symmetry.actions, permutation, self.game.num_actions), -1])
            actions[rows] = names[decisions.actions[rows]]
        return super().experience(
            decisions._replace(features=features, hidden=hidden, actions=actions)
        )


class Arm(NamedTuple):
    """A change: of the configuration, of the solver, or of the file to begin with."""

    name: str
    overrides: tuple[str, ...] = ()
    solver: type[ActorCriticSolver] = ActorCriticSolver
    config: str = "champion.yaml"


STRATEGY = "solver.strategy"
MATCHING = f"{STRATEGY}.type=regret_matching"
PLAIN = ("solver.network.type=mlp", "solver.network.width=128")
SHARES = tuple(f"solver.{network}_learning.share" for network in ("policy", "critic"))
ARMS = (
    Arm(BASE),
    Arm("critic without the hidden cards", solver=BlindCritic),
    Arm("exploration 0.03", ("solver.exploration=0.03",)),
    Arm("exploration 0.1", ("solver.exploration=0.1",)),
    Arm("lambda 0.8", ("solver.trace=0.8",)),
    Arm("lambda 1", ("solver.trace=1",)),
    Arm("correction 1", ("solver.correction=1",)),
    Arm("correction 0", ("solver.correction=0",)),
    Arm("half the entropy", (f"{STRATEGY}.entropy=0.1", f"{STRATEGY}.last_entropy=0.01")),
    Arm("a quarter of the decisions", tuple(f"{share}=0.25" for share in SHARES)),
    Arm("all decisions", tuple(f"{share}=1" for share in SHARES)),
    Arm("batches of 256", ("solver.policy_learning.batch=256", "solver.critic_learning.batch=256")),
    Arm("two passes", ("solver.policy_learning.epochs=2",)),
    Arm("two passes of the critic", ("solver.critic_learning.epochs=2",)),
    Arm("width 32", ("solver.network.width=32",)),
    Arm("width 64", ("solver.network.width=64",)),
    Arm("mlp", PLAIN),
    Arm("mlp, colours exchanged", PLAIN, Augmented),
    Arm("regret matching, w >= 0.1", (MATCHING,)),
    Arm("regret matching, w >= 0.03", (MATCHING, f"{STRATEGY}.least_weight=0.03")),
    Arm("regret matching, w >= 0.3", (MATCHING, f"{STRATEGY}.least_weight=0.3")),
    Arm("regret matching+", (MATCHING, f"{STRATEGY}.plus=true")),
    Arm("ppo", config="ppo.yaml"),
)


class Outcome(Struct, frozen=True, kw_only=True):
    """One training run and its matches.

    Fields:
        decisions: of self-play.
        seconds: wall time of training.
        against_bot, against_base: matches on mirrored deals; none of the base against itself.
    """

    arm: str
    seed: int
    decisions: int
    seconds: float
    against_bot: MatchReport
    against_base: MatchReport | None


class Record(Struct, frozen=True, kw_only=True):
    machine: Machine
    game: str
    outcomes: list[Outcome]


def configuration(arm: Arm, game: str, iterations: int, games: int, seed: int) -> TrainConfig:
    schedule = (f"solver.iterations={iterations}", f"solver.anneal={iterations}")
    base = (f"game={game}", f"seed={seed}")
    return load_config(
        CONFIGS / arm.config, [*base, *arm.overrides, *schedule, f"solver.games={games}"]
    )


async def trained(arm: Arm, config: TrainConfig) -> tuple[Agent, int, float]:
    """The agent, the decisions that it took, and the seconds."""
    settings = config.solver
    assert isinstance(settings, RegretActorCritic | PPO)
    started = perf_counter()
    solver = arm.solver(settings, config.inference, load_game(config.game), config.seed)
    decisions = 0
    for iteration in range(1, settings.iterations + 1):
        decisions += (await solver.iterate(iteration, lambda phase, done, total: None)).nodes
    return solver.last_iterate(settings.iterations, decisions), decisions, perf_counter() - started


async def judged(agent: Agent, base: Agent | None, deals: int) -> list[MatchReport]:
    """Against the rule bot, then against the base, if that is another."""
    plan = MatchPlan(deals=deals)
    assert isinstance(agent.game, LostCities)
    async with AsyncExitStack() as stack:
        player = await stack.enter_async_context(NetworkPlayer(agent, "arm"))
        reports = [await play_match(agent.game, player, Threshold(agent.game), plan)]
        if base is not None:
            other = await stack.enter_async_context(NetworkPlayer(base, BASE))
            reports.append(await play_match(agent.game, player, other, plan))
    return reports


async def run(
    arm: Arm, config: TrainConfig, base: Agent | None, deals: int
) -> tuple[Agent, Outcome]:
    agent, decisions, seconds = await trained(arm, config)
    against_bot, *against_base = await judged(agent, base, deals)
    return agent, Outcome(
        arm=arm.name,
        seed=config.seed,
        decisions=decisions,
        seconds=seconds,
        against_bot=against_bot,
        against_base=against_base[0] if against_base else None,
    )


def table(outcomes: Sequence[Outcome]) -> list[Sequence[object]]:
    """A row for each arm: medians over seeds, and each seed's score against the base."""
    rows: list[Sequence[object]] = []
    for name in dict.fromkeys(outcome.arm for outcome in outcomes):
        here = [outcome for outcome in outcomes if outcome.arm == name]
        bot = median(outcome.against_bot.score for outcome in here)
        scores = [outcome.against_base.score for outcome in here if outcome.against_base]
        rows.append(
            (
                name,
                f"{bot:+.1f}",
                f"{median(scores):+.1f}" if scores else "",
                " ".join(f"{score:+.1f}" for score in scores),
                f"{median(outcome.seconds for outcome in here):.0f}",
                f"{median(outcome.decisions for outcome in here):,.0f}",
            )
        )
    return rows


def plot(outcomes: Sequence[Outcome], path: Path) -> None:
    """What every arm makes against the base, a point for each seed, with its interval."""
    compared = [outcome for outcome in outcomes if outcome.against_base]
    names = list(dict.fromkeys(outcome.arm for outcome in compared))
    figure = Figure(figsize=(8, 1.5 + 0.35 * len(names)), layout="constrained")
    axes = figure.subplots()
    for outcome in compared:
        match = outcome.against_base
        assert match is not None
        axes.errorbar(
            match.score,
            names.index(outcome.arm) + 0.15 * (outcome.seed % 3 - 1),
            xerr=[[match.score - match.score_low], [match.score_high - match.score]],
            fmt="o",
            color=f"C{outcome.seed % 10}",
            markersize=4,
        )
    axes.axvline(0, color="grey", linewidth=1)
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel="points per game against the base")
    axes.invert_yaxis()
    axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


@click.command()
@click.option("--quick", is_flag=True, help="Two arms, one seed, within a minute.")
@click.option("--json", type=click.Path(path_type=Path), help="Write the record here, run by run.")
@click.option("--plots", type=click.Path(path_type=Path), help="Draw into this folder.")
@click.option("--only", multiple=True, help="Only the base and arms whose name contains this.")
@click.option("--game", default=SMALL, show_default=True)
@click.option("--iterations", type=int, default=80, show_default=True)
@click.option("--games", type=int, default=192, show_default=True, help="Of an iteration.")
@click.option("--seeds", type=int, default=3, show_default=True)
@click.option("--deals", type=int, default=1000, show_default=True)
def main(
    quick: bool,
    json: Path | None,
    plots: Path | None,
    only: tuple[str, ...],
    game: str,
    iterations: int,
    games: int,
    seeds: int,
    deals: int,
) -> None:
    """Train with one change at a time, and tell what each is worth."""
    arms = [arm for arm in ARMS if not only or any(part in arm.name for part in (BASE, *only))]
    if quick:
        arms, seeds, iterations, games, deals = arms[:2], 1, 6, 48, 100
    record = Record(machine=machine(), game=game, outcomes=[])
    columns = ("arm", "against threshold", "against base", "seeds", "seconds", "decisions")

    def tell() -> None:
        title = f"Ablations on {game}: points per game, medians of seeds"
        report(title, columns, table(record.outcomes), record, json)

    for seed in range(seeds):
        base: Agent | None = None
        for arm in arms:
            config = configuration(arm, game, iterations, games, seed)
            agent, outcome = asyncio.run(run(arm, config, base, deals))
            base = base or agent
            record.outcomes.append(outcome)
            if json is not None:
                tell()
    if json is None:
        tell()
    if plots is not None:
        plot(record.outcomes, plots / "ablations.png")


if __name__ == "__main__":
    main()
