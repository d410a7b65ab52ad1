"""The training loop: iterations, checkpoints, evaluation, one report per iteration."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from msgspec import Struct
from msgspec.structs import replace

from asynccfr import __version__
from asynccfr.agents import Agent, MixtureAgent
from asynccfr.cluster import pool_of
from asynccfr.config import TrainConfig
from asynccfr.config.files import checked
from asynccfr.errors import CheckpointError, ConfigError, GameError, RunError
from asynccfr.evaluation.arena import MatchPlan, play_match
from asynccfr.exact.best_response import check_exact, nash_conv
from asynccfr.games import Game, configured_game, load_game
from asynccfr.games.allowed import is_allowed
from asynccfr.inference.devices import resolve_device
from asynccfr.players import make_player, players_for, seated
from asynccfr.players.mixture import player_of
from asynccfr.reports import FitReport, IterationReport, MatchReport
from asynccfr.runs import Checkpoint, RunFolder
from asynccfr.runs.identity import difference
from asynccfr.solvers import Progress, Solver, make_solver
from asynccfr.solvers.background import in_thread

log = logging.getLogger("asynccfr.training")


class Totals(Struct, frozen=True):
    """What a checkpoint says beside the arrays: sums over all iterations so far."""

    nodes: int = 0
    seconds: float = 0.0


NOTHING = Totals()


class NewAgent(NamedTuple):
    """The agent after an iteration, what was fitted for it, and its matches."""

    agent: Agent | MixtureAgent | None
    fits: tuple[FitReport, ...]
    matches: tuple[MatchReport, ...]


TURNS = 8  # of the event loop

NO_AGENT = NewAgent(None, (), ())


async def train(
    config: TrainConfig,
    *,
    game: Game | str | None = None,
    folder: RunFolder | None = None,
    progress: Progress = lambda phase, done, total: None,
) -> AsyncGenerator[IterationReport, None]:
    """Train, yielding a report after each iteration.

    Args:
        config: what to train.
        game: a game, or its name, to use, which must be the one that `config.game` names; by
            default that is loaded, and may be `package.module:Class(parameter=value)`.
        folder: where to keep metrics, checkpoints and the agent; training continues from its newest
            good checkpoint. Without a folder nothing is written.
        progress: told a phase, how much of it is done, and how much there is; called very often,
            and from a worker thread while networks are fitted.

    Closing the iterator, leaving its loop, or cancelling its task while it evaluates, saves every
    iteration so far; a training of the same folder waits for that. A
    task that is cancelled within an iteration stops within a forward or a gradient step, and the
    folder then holds everything up to its last checkpoint. Raises ConfigError, GameError or
    RunError before any work, TrainingDiverged if a fit explodes.
    """
    config = checked(config)
    if config.inference.threads:
        torch.set_num_threads(config.inference.threads)
    game = played_game(config, game)
    check_evaluation(config, game)
    opponents = config.evaluation.opponents or players_for(game)
    for opponent in opponents:
        make_player(opponent, game)
    if folder is not None and (changed := difference(folder.config, config)):
        raise RunError(
            f"{folder.path}: the folder's run has another {changed}; pass folder.config, or use "
            "another folder"
        )
    log = None if folder is None else folder.path / "cluster.log"
    real = Path() if folder is None else folder.path.resolve()
    if folder is not None:
        await left(real)
    with folder.trained() if folder is not None else nullcontext(), pool_of(config, log) as pool:
        solver = make_solver(config, game, pool)
        training = Training(config, solver, opponents, folder, progress)
        done = await training.resume()
        for iteration in range(done + 1, config.solver.iterations + 1):
            report = await training.iterate(iteration)
            try:  # whatever happens before the next iteration begins, this one is not lost
                yield await training.with_evaluations(report)
            except BaseException:
                with saving(real):
                    await training.save(iteration)
                raise


leaving: dict[Path, asyncio.Future[None]] = {}
"""Done once the training of a folder, by its real path, that was left has saved what it did."""


@contextmanager
def saving(path: Path) -> Iterator[None]:
    """Have `left` wait for the body."""
    leaving[path] = saved = asyncio.get_running_loop().create_future()
    try:
        yield
    finally:
        saved.set_result(None)
        del leaving[path]


async def left(path: Path) -> None:
    """Wait until a training of this folder whose loop was left, with `break` say, has saved.

    The event loop closes an iterator that nobody holds any more a few turns later.
    """
    for _ in range(TURNS):
        await asyncio.sleep(0)
    saved = leaving.get(path)
    if saved is not None and saved.get_loop() is asyncio.get_running_loop():
        await asyncio.wait([saved])
        await asyncio.sleep(0)  # and has given up the folder


def played_game(config: TrainConfig, game: Game | str | None) -> Game:
    """The game of a run. Raises ConfigError if `game` is another one."""
    if game is None or game == config.game:
        return configured_game(config.game)
    if not isinstance(game, Game | str):
        raise ConfigError(f"game={game!r}: expected a Game, or the name of one")
    given = configured_game(game) if isinstance(game, str) else game
    named = config.game if not is_allowed(config.game) else str(load_game(config.game))
    if str(given) not in (config.game, named):
        raise ConfigError(f"game={game}: config.game names {config.game!r}; expected the same")
    return given


def check_evaluation(config: TrainConfig, game: Game) -> None:
    """Raise GameError now if the game has matches, or exact evaluations, that must fail later."""
    if game.num_players != 2:
        raise GameError(
            f"{game}: {game.num_players} players; training and its matches need a game for two"
        )
    if config.evaluation.nash_conv_every:
        try:
            check_exact(game)
        except GameError as error:
            every = config.evaluation.nash_conv_every
            raise GameError(f"evaluation.nash_conv_every={every}: {error}; set it to 0") from None


@dataclass
class Training:
    """A run in progress: the solver and all that surrounds it."""

    config: TrainConfig
    solver: Solver
    opponents: Sequence[str]
    folder: RunFolder | None
    progress: Progress
    totals: Totals = NOTHING
    saved: int = 0

    async def resume(self) -> int:
        """Restore the folder's newest good checkpoint; return its iteration, 0 for none.

        An agent or an evaluation that the run should have by then, and has not, is made.
        """
        if self.folder is None or (found := self.folder.load_checkpoint(Totals)) is None:
            return 0
        try:
            self.solver.restore(found.arrays)
        except CheckpointError as error:
            raise CheckpointError(
                f"{self.folder.path}: the checkpoint of iteration {found.iteration} does not fit: "
                f"{error}; resume with the versions of asynccfr and of the game that wrote it, or "
                "start again in another folder"
            ) from error
        self.totals = found.state
        self.saved = done = found.iteration
        iterations = self.config.solver.iterations
        if done > iterations:
            log.warning(
                "solver.iterations=%d: iteration %d is saved already, so that there is nothing to "
                "train; a shorter run needs a folder of its own",
                iterations,
                done,
            )
        reports = self.folder.reports()
        if reports and reports[-1].iteration == done:
            await self.with_evaluations(reports[-1])
        if done >= iterations and not self.folder.agent.exists():
            await self.new_agent(done, self.totals.nodes)
        return done

    async def iterate(self, iteration: int) -> IterationReport:
        """One iteration of every player, written down, and saved where that is due."""
        started = time.perf_counter()
        done = await self.solver.iterate(iteration, self.progress)
        seconds = time.perf_counter() - started
        nodes = self.totals.nodes + done.nodes
        self.totals = Totals(nodes, self.totals.seconds + seconds)
        report = IterationReport(
            iteration=iteration,
            iterations=self.config.solver.iterations,
            nodes=done.nodes,
            nodes_total=nodes,
            traversal_seconds=done.traversal_seconds,
            seconds=seconds,
            elapsed_seconds=self.totals.seconds,
            inference=done.inference,
            fits=done.fits,
            memory=dict(done.memory),
            sample_digest=done.digest,
            evaluation=(),
            nash_conv={},
            version=__version__,
            workers=done.workers,
        )
        if self.folder is not None:
            self.folder.append(report)
        if self.due(iteration, self.config.run.checkpoint_every):
            await self.save(iteration)
        return report

    async def with_evaluations(self, report: IterationReport) -> IterationReport:
        """The report with the evaluations that are due, which the folder's then has too."""
        started = time.perf_counter()
        iteration, config = report.iteration, self.config.evaluation
        exact_due = config.nash_conv_every > 0 and self.due(iteration, config.nash_conv_every)
        exact = exact_due and not report.nash_conv
        new = NO_AGENT
        if self.due(iteration, config.every) and not report.evaluation:
            new = await self.new_agent(iteration, report.nodes_total)
        elif not exact:
            return report
        nash_convs = self.nash_convs(new.agent) if exact else {}
        seconds = self.totals.seconds + time.perf_counter() - started
        self.totals = replace(self.totals, seconds=seconds)
        report = replace(
            report,
            fits=report.fits + new.fits,
            elapsed_seconds=seconds,
            evaluation=new.matches,
            nash_conv=nash_convs,
        )
        if self.folder is not None:
            self.folder.revise(report)
        return report

    async def new_agent(self, iteration: int, nodes: int) -> NewAgent:
        """Make the agent, save it, and play its matches."""
        agent, fits = await self.solver.make_agent(iteration, nodes, self.progress)
        if self.folder is not None:
            self.folder.save_agent(agent)
        return NewAgent(agent, fits, await self.play_matches(agent))

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

    async def play_matches(self, agent: Agent | MixtureAgent) -> tuple[MatchReport, ...]:
        """The agent's matches against each opponent, over the same deals every time."""
        plan = MatchPlan(deals=self.config.evaluation.deals, seed=self.config.seed)
        reports = []
        async with (
            player_of(agent, "agent", resolve_device(self.config.inference.device)) as player,
            seated(self.opponents, agent.game) as others,
        ):
            for opponent in others:

                def on_game(played: int, phase: str = f"against {opponent.name}") -> None:
                    self.progress(phase, played, 2 * plan.deals)

                reports.append(await play_match(agent.game, player, opponent, plan, on_game))
        return tuple(reports)

    async def save(self, iteration: int) -> None:
        """Save the state after an iteration, unless that is saved; the event loop goes on."""
        folder = self.folder
        if folder is None or self.saved == iteration:
            return
        self.progress("checkpoint", 0, 1)
        checkpoint = Checkpoint(iteration, self.solver.columns(), self.totals)
        await in_thread(lambda stop: folder.save_checkpoint(checkpoint))
        self.saved = iteration
