"""What is profiled: a user's game, network and device, with networks that play a mixed policy."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from msgspec import Struct
from msgspec.structs import replace

from asynccfr.cfr.plan import TraversalPlan
from asynccfr.cfr.query import Query, deliver, encode
from asynccfr.cfr.walk import Walk
from asynccfr.config import (
    DeepCFR,
    Fit,
    Inference,
    Network,
    NoBaseline,
    OutcomeSampling,
    TrainConfig,
)
from asynccfr.games import Game, configured_game
from asynccfr.inference.devices import resolve_device
from asynccfr.inference.evaluator import Evaluator, Forward, unwatched
from asynccfr.networks import InferenceCopy
from asynccfr.profiling.lines import Curve, fit
from asynccfr.profiling.measuring import alternate, microseconds
from asynccfr.solvers.collector import Collector
from asynccfr.solvers.deep_cfr import DeepCFRSolver

OUTPUT_SCALE = 0.05
SPREAD = 16
MANY = 1_000_000
MEMORY = Fit(memory=100_000)


class Scale(Struct, frozen=True, kw_only=True):
    """How long to measure.

    Fields:
        repetitions: of every figure.
        most_rows: of the largest forward.
        traversals: of an end-to-end run.
        concurrency: traversals at once, where it is not what is varied.
    """

    repetitions: int = 5
    most_rows: int = 4096
    traversals: int = 512
    concurrency: int = 256

    @property
    def sizes(self) -> list[int]:
        return [1 << power for power in range(self.most_rows.bit_length())]


GPU = Scale(traversals=4096, concurrency=4096)
QUICK = Scale(repetitions=2, most_rows=256, traversals=64, concurrency=64)


class Subject:
    """A configuration to profile; outputs are made random, or every policy would be uniform."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.game: Game = configured_game(config.game)
        self.device = resolve_device(config.inference.device)
        self.dtype: torch.dtype = getattr(torch, config.inference.dtype)

    def solver(
        self,
        inference: Inference | None = None,
        network: Network | None = None,
        traversals: int = 1,
    ) -> DeepCFRSolver:
        """A solver with small reservoirs, unfitted networks, no baseline and no cache."""
        config = self.config.solver if isinstance(self.config.solver, DeepCFR) else DeepCFR()
        sampling = config.sampling
        if isinstance(sampling, OutcomeSampling):
            sampling = replace(sampling, baseline=NoBaseline())
        config = replace(
            config,
            traversals=traversals,
            sampling=sampling,
            network=network or config.network,
            advantage=MEMORY,
            average_strategy=MEMORY,
        )
        inference = replace(inference or self.config.inference, cache=0)
        solver = DeepCFRSolver(config, inference, self.game, seed=0)
        generator = torch.Generator().manual_seed(0)
        for each in solver.advantage_networks:
            for weight in each.parameters():
                if weight.dim() > 1 and not weight.any():  # what keeps the outputs at 0
                    noise = OUTPUT_SCALE * torch.randn(weight.shape, generator=generator)
                    weight.data.copy_(noise)
        return solver

    def forwards(
        self,
        *,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
        network: Network | None = None,
    ) -> list[Forward]:
        """A forward for each player."""
        return [
            InferenceCopy(each, dtype=dtype or self.dtype, device=device or self.device)
            for each in self.solver(network=network).advantage_networks
        ]

    def evaluator(
        self,
        max_batch: int,
        forwards: list[Forward] | None = None,
        watch: Callable[[str], None] = unwatched,
    ) -> Evaluator:
        forwards = forwards or self.forwards()
        return Evaluator(forwards, self.game, device=self.device, max_batch=max_batch, watch=watch)

    def plan(self, traversals: int, iteration: int = 1) -> TraversalPlan:
        return self.solver(traversals=traversals).plan(iteration, 0)

    def collector(self, solver: DeepCFRSolver, iteration: int = 1) -> Collector:
        return solver.collector(iteration, 0, lambda *_: None)

    def waiting(self, count: int) -> list[Walk]:
        """Walks that wait for the network of the first player, spread over the game's length."""
        found: list[Walk] = []
        zeros = np.zeros((1, self.game.num_actions), np.float32)
        for number, walk in enumerate(self.plan(MANY).walks(self.game, range(MANY), [])):
            decisions = number % SPREAD
            while walk.advance():
                deliver([walk], zeros)
                decisions += walk.player == 0
                if walk.player == 0 and decisions % SPREAD == 0:
                    found.append(walk)
                    break
            if len(found) == count:
                return found
        raise RuntimeError(f"{self.game}: the first player is never to move")

    def features(self, count: int) -> torch.Tensor:
        """Rows of real decisions, float32 [count, tensor_size]; repeated where there are many."""
        queries: list[Query] = list(self.waiting(min(count, 256)))
        rows = np.zeros((len(queries), self.game.information_state_tensor_size), np.float32)
        encode(queries, rows)
        return torch.from_numpy(np.resize(rows, (count, rows.shape[1])))


def curve(action: Callable[[int], object], scale: Scale, sizes: list[int] | None = None) -> Curve:
    """Microseconds of `action(rows)` over the scale's numbers of rows, measured in turns."""
    sizes = sizes or scale.sizes
    arms = {str(size): partial(microseconds, partial(action, size)) for size in sizes}
    found = list(alternate(arms, scale.repetitions).values())
    medians = [each.median for each in found]
    return Curve(
        rows=sizes,
        us=medians,
        p05=[each.p05 for each in found],
        p95=[each.p95 for each in found],
        line=fit(sizes, medians),
    )
