"""The training loop: iterations, checkpoints, evaluation, one report an iteration."""

import hashlib
import time
from collections.abc import AsyncGenerator, Sequence

import torch
from msgspec import Struct

from asynccfr.agents import Agent
from asynccfr.arena import MatchPlan, play_match
from asynccfr.config import TrainConfig
from asynccfr.errors import CheckpointError
from asynccfr.games import load_game
from asynccfr.players import make_player, players_for, seated
from asynccfr.players.network import NetworkPlayer
from asynccfr.reports import FitReport, IterationReport, MatchReport
from asynccfr.runs import Checkpoint, RunFolder
from asynccfr.solver import Progress, Solver, inference_report


class Totals(Struct, frozen=True):
    """What a checkpoint says beside the arrays: sums over all iterations so far."""

    nodes: int = 0
    seconds: float = 0.0


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
        progress: told a phase, how much of it is done, and how much there is; called very often.

    Closing the iterator or cancelling its task stops within a forward or a gradient step; the
    folder then holds every iteration up to its last checkpoint. Raises ConfigError, GameError or
    RunError before any work, TrainingDiverged if a loss is not finite.
    """
    if config.inference.threads:
        torch.set_num_threads(config.inference.threads)
    game = load_game(config.game)
    opponents = config.evaluation.opponents or tuple(players_for(game))
    for opponent in opponents:
        make_player(opponent, game)
    solver = Solver(config.solver, config.inference, game, config.seed)
    done, totals = resume(solver, folder)
    iterations = config.solver.iterations
    for iteration in range(done + 1, iterations + 1):
        last = iteration == iterations
        started = time.perf_counter()
        traversals, advantage = [], []
        for player in range(game.num_players):
            traversals.append(await solver.traverse(iteration, player, progress))
            advantage.append(await solver.fit_advantage(iteration, player, progress))
        average_strategy: FitReport | None = None
        evaluation: tuple[MatchReport, ...] = ()
        every = config.evaluation.every
        totals = Totals(totals.nodes + sum(part.nodes for part in traversals), totals.seconds)
        if last or (every and iteration % every == 0):
            average_strategy = await solver.fit_average_strategy(iteration, progress)
            agent = solver.agent(iteration, totals.nodes)
            evaluation = await evaluate(agent, opponents, config, progress)
            if folder is not None:
                folder.save_agent(agent)
        seconds = time.perf_counter() - started
        totals = Totals(totals.nodes, totals.seconds + seconds)
        report = IterationReport(
            iteration=iteration,
            iterations=iterations,
            nodes=sum(part.nodes for part in traversals),
            nodes_total=totals.nodes,
            traversal_seconds=sum(part.seconds for part in traversals),
            fit_seconds=sum(fit.seconds for fit in advantage)
            + (average_strategy.seconds if average_strategy else 0.0),
            elapsed_seconds=totals.seconds,
            inference=inference_report(traversals),
            advantage=tuple(advantage),
            average_strategy=average_strategy,
            advantage_memory=tuple(len(memory) for memory in solver.advantage_memory),
            strategy_memory=len(solver.strategy_memory),
            sample_digest=hashlib.blake2b(
                b"".join(part.digest for part in traversals), digest_size=16
            ).hexdigest(),
            evaluation=evaluation,
        )
        if folder is not None:
            folder.append(report)
            if last or iteration % config.run.checkpoint_every == 0:
                progress("checkpoint", 0, 1)
                folder.save_checkpoint(Checkpoint(iteration, solver.columns(), totals))
        yield report


def resume(solver: Solver, folder: RunFolder | None) -> tuple[int, Totals]:
    """Restore the solver from the folder's newest good checkpoint; return where it stood."""
    if folder is None or (checkpoint := folder.load_checkpoint(Totals)) is None:
        return 0, Totals()
    try:
        solver.restore(checkpoint.arrays)
    except (KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"{folder.path}: the checkpoint does not fit its config: {error}"
        ) from error
    return checkpoint.iteration, checkpoint.state


async def evaluate(
    agent: Agent, opponents: Sequence[str], config: TrainConfig, progress: Progress
) -> tuple[MatchReport, ...]:
    """The agent's matches against each opponent, over the same deals every time."""
    plan = MatchPlan(deals=config.evaluation.deals, seed=config.seed)
    reports = []
    async with NetworkPlayer(agent, "agent") as player, seated(opponents, agent.game) as others:
        for opponent in others:

            def on_game(played: int, phase: str = f"against {opponent.name}") -> None:
                progress(phase, played, 2 * plan.deals)

            reports.append(await play_match(agent.game, player, opponent, plan, on_game))
    return tuple(reports)
