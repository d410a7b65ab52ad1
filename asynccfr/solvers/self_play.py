"""Games through the batcher, of self-play or against an agent: an iteration's fresh decisions."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import NamedTuple

import torch
from msgspec.structs import replace

from asynccfr.agents import Agent, MixtureAgent
from asynccfr.cfr.episode import Challenge, DecisionBuffer, Decisions, Episode
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.traversal import self_play
from asynccfr.config import AsyncDriver, Inference, ServerDriver
from asynccfr.errors import ConfigError
from asynccfr.games import Game
from asynccfr.inference.drivers import traverse
from asynccfr.inference.evaluator import Evaluator
from asynccfr.inference.tally import Tally
from asynccfr.networks import InferenceCopy, Network
from asynccfr.seeding import TRAVERSAL, stream
from asynccfr.solvers import parts
from asynccfr.solvers.pool import Harvest, Part, Pool, Weights
from asynccfr.solvers.protocol import Progress

RIVALS = 8  # networks of a mixture that an iteration meets in each seat


class Behaviour(NamedTuple):
    """How the seats play.

    Fields:
        rule: what makes a policy of the outputs.
        exploration: the probability of a uniform action.
        explorer: whether one seat, in turns of half the games, plays uniformly all the time.
    """

    rule: Rule
    exploration: float
    explorer: bool = False


class Played(NamedTuple):
    """What the games of an iteration gave; the digest covers every decision, in order."""

    decisions: Decisions
    digest: int
    seconds: float
    tally: Tally


class Table(NamedTuple):
    """Some games of an iteration: their numbers, how to begin one, who answers decisions."""

    games: range
    episode: Callable[..., Episode]
    evaluator: Evaluator


class SelfPlay:
    """Whole games in which one network decides for both seats, each with its own random stream."""

    def __init__(
        self,
        game: Game,
        games: int,
        inference: Inference,
        device: torch.device,
        seed: int,
        pool: Pool | None = None,
    ) -> None:
        """`pool` plays the games elsewhere.

        Raises GameError if the game is not for two players, ConfigError for a server driver.
        """
        if isinstance(inference.driver, ServerDriver):
            raise ConfigError(
                "inference.driver: server: self-play runs in this process; expected sync or async"
            )
        self.driver = inference.driver
        if isinstance(self.driver, AsyncDriver) and self.driver.concurrency > games:
            self.driver = replace(self.driver, concurrency=games)
        self.buffer = DecisionBuffer(game)
        self.game = game
        self.games = games
        self.inference = inference
        self.device = device
        self.seed = seed
        self.pool = pool

    async def play(
        self, network: Network, behaviour: Behaviour, iteration: int, progress: Progress
    ) -> Played:
        """Play the games of an iteration."""
        started = time.perf_counter()
        self.buffer.clear()
        part = Part(iteration, range(self.games))
        if self.pool is None:
            tally = await self.play_here(network, behaviour, part, progress)
        else:
            tally = await self.have_played(self.pool, network, part, progress)
        digest = self.buffer.digest()
        return Played(self.buffer.take(), digest, time.perf_counter() - started, tally)

    async def have_played(
        self, pool: Pool, network: Network, part: Part, progress: Progress
    ) -> Tally:
        """Have the pool play the games."""
        tallies: list[Tally] = []
        cut = part.cut(pool.parts)

        def collect(harvest: Harvest) -> None:
            assert isinstance(harvest.samples, Decisions)
            self.buffer.put(*harvest.samples)
            tallies.append(harvest.tally)
            progress("self-play", cut[len(tallies) - 1].numbers.stop, self.games)

        weights = Weights(part.iteration, parts.to_columns({"policy": network}))
        await pool.compute(cut, weights, collect)
        return Tally.total(tallies)

    async def sample(self, network: Network, behaviour: Behaviour, part: Part) -> Harvest:
        """Play some games for somebody else."""
        self.buffer.clear()
        tally = await self.play_here(network, behaviour, part, lambda phase, done, total: None)
        return Harvest(self.buffer.take(), tally)

    async def play_here(
        self, network: Network, behaviour: Behaviour, part: Part, progress: Progress
    ) -> Tally:
        """Play some games into the buffer."""
        finished: list[Episode] = []
        done = count(1)

        def episodes(table: Table) -> Iterator[Episode]:
            for index in overlap(table.games, part.numbers):
                rng = stream(self.seed, (TRAVERSAL, part.iteration, index))
                reuse = finished.pop() if finished else None
                state = self.game.new_state()
                yield table.episode(state, rng, behaviour.rule, behaviour.exploration, reuse)

        def collect(episode: Episode) -> None:
            self.buffer.extend(episode.decisions)
            finished.append(episode)
            progress("self-play", next(done), self.games)

        tables = self.tables(network, behaviour)
        for table in tables:
            await traverse(self.driver, self_play, episodes(table), table.evaluator, collect)
        return Tally.total(table.evaluator.tally for table in tables)

    def tables(self, network: Network, behaviour: Behaviour) -> list[Table]:
        """Where the games are played."""
        forwards = [self.forward(network)] * self.game.num_players
        if not behaviour.explorer:
            return [Table(range(self.games), Episode, self.evaluator(forwards))]
        return [
            Table(games, partial(Episode, explorer=seat), self.evaluator(forwards))
            for seat, games in enumerate(self.halves())
        ]

    def halves(self) -> tuple[range, range]:
        """The games of an iteration in two parts, one for each seat."""
        half = self.games // 2
        return range(half), range(half, self.games)

    def forward(self, network: Network) -> InferenceCopy:
        return InferenceCopy(
            network, dtype=getattr(torch, self.inference.dtype), device=self.device
        )

    def evaluator(self, forwards: list[InferenceCopy]) -> Evaluator:
        return Evaluator(
            forwards,
            self.game,
            device=self.device,
            max_batch=self.driver.max_batch,
            deterministic=self.inference.deterministic,
        )


class Challenges(SelfPlay):
    """Games against an agent that does not learn, in either seat by turns of half the games.

    Of a mixture, every iteration meets a few of the networks, drawn as the mixture draws them.
    """

    def __init__(
        self,
        game: Game,
        games: int,
        inference: Inference,
        device: torch.device,
        seed: int,
        rival: Agent | MixtureAgent,
    ) -> None:
        super().__init__(game, games, inference, device, seed)
        self.rival = rival
        self.draws = stream(seed, (TRAVERSAL,))

    def tables(self, network: Network, behaviour: Behaviour) -> list[Table]:
        learner = self.forward(network)
        tables = []
        for seat, games in enumerate(self.halves()):
            rivals = [self.forward(each) for each in self.rivals(1 - seat)]
            size = -(-len(games) // len(rivals))
            for number, rival in enumerate(rivals):
                forwards = [learner, rival] if seat == 0 else [rival, learner]
                challenge = partial(Challenge, seat=seat, rival_rule=self.rival.rule)
                part = games[size * number : size * (number + 1)]
                tables.append(Table(part, challenge, self.evaluator(forwards)))
        return tables

    def rivals(self, seat: int) -> Iterator[Network]:
        """The rival's networks in a seat, each for an equal part of the games; until the next."""
        if isinstance(self.rival, Agent):
            yield self.rival.network
            return
        for _ in range(RIVALS):
            yield self.rival.networks(self.rival.draw(self.draws))[seat]


def overlap(a: range, b: range) -> range:
    """The numbers that two ranges of consecutive numbers share."""
    return range(max(a.start, b.start), min(a.stop, b.stop))
