"""The training loop: iterations, checkpoints, evaluation, one report an iteration."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import torch
from msgspec import Struct

from asynccfr.agents import Agent, MixtureAgent
from asynccfr.arena import MatchPlan, play_match
from asynccfr.cfr.best_response import nash_conv
from asynccfr.config import TrainConfig
from asynccfr.errors import CheckpointError, RunError
from asynccfr.games import load_game
from asynccfr.players import make_player, players_for, seated
from asynccfr.players.mixture import player_of
from asynccfr.reports import FitReport, IterationReport, MatchReport
from asynccfr.runs import Checkpoint, RunFolder
from asynccfr.runs.identity import difference
from asynccfr.solvers import Progress, Solver, make_solver


class Totals(Struct, frozen=True):
    """What a checkpoint says beside the arrays: sums over all iterations so far."""

    nodes: int = 0
    seconds: float = 0.0


NOTHING = Totals()


class Judgement(NamedTuple):
    """The agent after an iteration, what was fitted for it, and its matches."""

    agent: Agent | MixtureAgent | None
    fits: tuple[FitReport, ...]
    evaluation: tuple[MatchReport, ...]


NOT_JUDGED = Judgement(None, (), ())


async def train(
    config: TrainConfig,
    *,
    folder: RunFolder | None = None,
    progress: Progress = lambda phase, done, total: None,
) -> AsyncGenerator[IterationReport, None]:
    """Train, yielding a report after each iteration.

    Args:
        config: what to train.
        folder: where to keep metrics, checkpoints and the agent; training continues from its newest
            good checkpoint. Without a folder nothing is written.
        progress: told a phase, how much of it is done, and how much there is; called very often,
            and from a worker thread while networks are fitted.

    Closing the iterator or cancelling its task stops within a forward or a gradient step, or once a
    checkpoint that is being written is complete; the folder then holds every iteration up to its
    last checkpoint. Raises ConfigError, GameError or RunError before any work, TrainingDiverged if
    a fit explodes.
    """
    if config.inference.threads:
        torch.set_num_threads(config.inference.threads)
    game = load_game(config.game)
    opponents = config.evaluation.opponents or players_for(game)
    for opponent in opponents:
        make_player(opponent, game)
    if folder is not None and (changed := difference(folder.config, config)):
        raise RunError(
            f"{folder.path}: the folder's run has another {changed}; pass folder.config, or use "
            "another folder"
        )
    solver = make_solver(config, game)
    with folder.lock() if folder is not None else nullcontext():
        training = Training(config, solver, opponents, folder, progress)
        done = training.resume()
        if done >= config.solver.iterations and folder is not None and not folder.agent.exists():
            await training.judge(done, training.totals.nodes)
        for iteration in range(done + 1, config.solver.iterations + 1):
            report = await training.iterate(iteration)
            training.keep(report)
            yield report


@dataclass
class Training:
    """A run in progress: the solver and all that surrounds it."""

    config: TrainConfig
    solver: Solver
    opponents: Sequence[str]
    folder: RunFolder | None
    progress: Progress
    totals: Totals = NOTHING

    def resume(self) -> int:
        """Restore the folder's newest good checkpoint; return its iteration, 0 for none."""
        if self.folder is None or (found := self.folder.load_checkpoint(Totals)) is None:
            return 0
        try:
            self.solver.restore(found.arrays)
        except (KeyError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"{self.folder.path}: the checkpoint does not fit its config: {error}"
            ) from error
        self.totals = found.state
        return found.iteration

    async def iterate(self, iteration: int) -> IterationReport:
        """One iteration of every player, and an evaluation where one is due."""
        started = time.perf_counter()
        done = await self.solver.iterate(iteration, self.progress)
        nodes_total = self.totals.nodes + done.nodes
        judged = NOT_JUDGED
        if self.due(iteration, self.config.evaluation.every):
            judged = await self.judge(iteration, nodes_total)
        fits = done.fits + judged.fits
        exact_every = self.config.evaluation.nash_conv_every
        exact = exact_every > 0 and self.due(iteration, exact_every)
        nash_convs = self.nash_convs(judged.agent) if exact else {}
        self.totals = Totals(nodes_total, self.totals.seconds + time.perf_counter() - started)
        return IterationReport(
            iteration=iteration,
            iterations=self.config.solver.iterations,
            nodes=done.nodes,
            nodes_total=nodes_total,
            traversal_seconds=done.traversal_seconds,
            fit_seconds=sum(fit.seconds for fit in fits),
            elapsed_seconds=self.totals.seconds,
            inference=done.inference,
            fits=fits,
            memory=dict(done.memory),
            sample_digest=done.digest,
            evaluation=judged.evaluation,
            nash_conv=nash_convs,
        )

    async def judge(self, iteration: int, nodes: int) -> Judgement:
        """Make the agent, save it, and play its matches."""
        agent, fits = await self.solver.make_agent(iteration, nodes, self.progress)
        if self.folder is not None:
            self.folder.save_agent(agent)
        return Judgement(agent, fits, await self.evaluate(agent))

    def nash_convs(self, agent: Agent | MixtureAgent | None) -> dict[str, float]:
        """NashConv of what the solver has now, and of its agent if that is a network just made."""
        policies = dict(self.solver.policies())
        if isinstance(agent, Agent):
            policies["average network"] = agent.policy
        game = self.solver.game
        return {name: nash_conv(game, policy).nash_conv for name, policy in policies.items()}

    def due(self, iteration: int, every: int) -> bool:
        """Whether something done every so many iterations, and at the end, is due."""
        last = iteration == self.config.solver.iterations
        return last or (every > 0 and iteration % every == 0)

    async def evaluate(self, agent: Agent | MixtureAgent) -> tuple[MatchReport, ...]:
        """The agent's matches against each opponent, over the same deals every time."""
        plan = MatchPlan(deals=self.config.evaluation.deals, seed=self.config.seed)
        reports = []
        async with (
            player_of(agent, "agent") as player,
            seated(self.opponents, agent.game) as others,
        ):
            for opponent in others:

                def on_game(played: int, phase: str = f"against {opponent.name}") -> None:
                    self.progress(phase, played, 2 * plan.deals)

                reports.append(await play_match(agent.game, player, opponent, plan, on_game))
        return tuple(reports)

    def keep(self, report: IterationReport) -> None:
        """Write down what the folder keeps of an iteration."""
        if self.folder is None:
            return
        self.folder.append(report)
        if self.due(report.iteration, self.config.run.checkpoint_every):
            self.progress("checkpoint", 0, 1)
            columns = self.solver.columns()
            self.folder.save_checkpoint(Checkpoint(report.iteration, columns, self.totals))
