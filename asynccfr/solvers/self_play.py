"""Games of self-play through the batcher: the fresh decisions of an actor-critic iteration."""

import time
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import torch
from msgspec.structs import replace

from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.trajectory import DecisionBuffer, Decisions, Episode
from asynccfr.cfr.traversal import self_play
from asynccfr.config import AsyncDriver, Inference, ServerDriver
from asynccfr.errors import ConfigError
from asynccfr.games import Game
from asynccfr.inference.drivers import traverse
from asynccfr.inference.evaluator import Evaluator, inference_report
from asynccfr.networks import InferenceCopy, Network
from asynccfr.reports import InferenceReport
from asynccfr.seeding import TRAVERSAL, stream
from asynccfr.solvers.protocol import Progress


class Behaviour(NamedTuple):
    """How both seats play: what makes a policy of the outputs, and how often they explore."""

    rule: Rule
    exploration: float


class Played(NamedTuple):
    """What the games of an iteration gave; the digest covers every decision, in order."""

    decisions: Decisions
    digest: int
    seconds: float
    inference: InferenceReport


class SelfPlay:
    """Whole games in which one network decides for both seats, each with its own random stream."""

    def __init__(
        self, game: Game, games: int, inference: Inference, device: torch.device, seed: int
    ) -> None:
        """Raises GameError if the game is not for two players, ConfigError for a server driver."""
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

    async def play(
        self, network: Network, behaviour: Behaviour, iteration: int, progress: Progress
    ) -> Played:
        """Play the games of an iteration."""
        started = time.perf_counter()
        self.buffer.clear()
        evaluator = self.evaluator(network)
        finished: list[Episode] = []

        def episodes() -> Iterator[Episode]:
            for index in range(self.games):
                rng = stream(self.seed, (TRAVERSAL, iteration, index))
                reuse = finished.pop() if finished else None
                yield Episode(self.game.new_state(), rng, *behaviour, reuse)

        done = count(1)

        def collect(episode: Episode) -> None:
            self.buffer.extend(episode.decisions)
            finished.append(episode)
            progress("self-play", next(done), self.games)

        await traverse(self.driver, self_play, episodes(), evaluator, collect)
        digest = self.buffer.digest()
        return Played(
            decisions=self.buffer.take(),
            digest=digest,
            seconds=time.perf_counter() - started,
            inference=inference_report([evaluator]),
        )

    def evaluator(self, network: Network) -> Evaluator:
        forward = InferenceCopy(
            network, dtype=getattr(torch, self.inference.dtype), device=self.device
        )
        return Evaluator(
            [forward] * self.game.num_players,
            self.game,
            device=self.device,
            max_batch=getattr(self.driver, "max_batch", 1),
            deterministic=self.inference.deterministic,
        )
