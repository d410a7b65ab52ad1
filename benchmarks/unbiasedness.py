"""Are sampled regrets unbiased, and how noisy are they? `python -m benchmarks.unbiasedness`.

A fixed, uneven profile is sampled many times over by each scheme, and the mean of what a traversal
adds to the regret of every action is compared with the exact counterfactual regret, in standard
errors. `z` is the largest difference, where an information state was met often enough for a normal
law, and `rms z`, near 1 for an unbiased sampler, betrays small biases everywhere. `variance` is
that of one traversal's regrets, summed over all actions. The baseline has been fitted to the
profile beforehand.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from time import perf_counter

import click
import numpy as np
import numpy.typing as npt
import torch
from msgspec import Struct

from asynccfr.cfr.baseline import BaselineWalk
from asynccfr.cfr.best_response import counterfactual_regrets
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.samples import SampleBuffer
from asynccfr.cfr.sequence_form import SequenceForm, sequence_form
from asynccfr.cfr.traversal import (
    external_sampling,
    outcome_sampling,
    outcome_sampling_with_baseline,
)
from asynccfr.cfr.walk import Walk
from asynccfr.config import AsyncDriver, Fit, MultilayerPerceptron
from asynccfr.fitting import fit_advantage
from asynccfr.games import Game, load_game
from asynccfr.inference.baseline import BaselineEvaluator
from asynccfr.inference.drivers import traverse
from asynccfr.inference.evaluator import Evaluator
from asynccfr.networks import InferenceCopy, Network, build_network
from asynccfr.profiles import NetworkProfile
from asynccfr.reservoir import Reservoir, Samples
from asynccfr.seeding import Rng, stream
from benchmarks.common import Machine, machine, report

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "lost_cities(colors=2, numbers=2, wagers=1, hand_size=2, cost=2)",
)
SCHEMES = ("external", "outcome", "outcome with baseline")
RULE = Rule.REGRET_MATCHING_HIGHEST
EPSILON = 0.5
ENOUGH_VISITS = 200
FLUSH_SAMPLES = 16_384
TRAVERSALS = 4000  # of a player in a row
SEED = 0
FITTING = 10**9  # numbers of the traversals that a baseline is fitted to
CPU = torch.device("cpu")
DRIVER = AsyncDriver(concurrency=512, max_batch=512)
FIT = Fit(steps=400, batch=512, learning_rate=3e-3)


class Check(Struct, frozen=True, kw_only=True):
    """One scheme on one game, both players; `regrets` counts sampled values, one an action."""

    game: str
    scheme: str
    traversals: int
    nodes: int
    regrets: int
    compared: int
    largest_z: float
    rms_z: float
    variance: float
    seconds: float


class Record(Struct, frozen=True, kw_only=True):
    machine: Machine
    checks: list[Check]


def uneven_network(game: Game, seed: int) -> Network:
    """An advantage network with arbitrary outputs, standing in for a trained one."""
    size = game.information_state_tensor_size
    network = build_network(
        MultilayerPerceptron(width=32, depth=2), size, game.num_actions, Rng(seed)
    )
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        network.weights[-1].normal_(generator=generator)
        network.biases[-1].fill_(1.0)  # few actions are then never played
    return network


class Moments:
    """Means and variances, over traversals, of what they add to each action's regret.

    Information states that networks cannot tell apart, such as those of poker hands that differ in
    their suits only, count as one; there are G.

    Attributes:
        sums, squares: of one traversal's contributions, [G, num_actions].
        visits: traversals that met each, [G].
        regrets: sampled values so far.
    """

    def __init__(self, tree: SequenceForm, player: int) -> None:
        game, states = tree.game, tree.information_states
        self.regrets = self.nodes = self.traversals = 0
        self._buffer = SampleBuffer(game)
        self._counts: list[int] = []
        self._own = states.players == player
        rows = states.tensors[self._own]
        if game.tensor_quantum:
            rows = np.rint(rows / np.float32(game.tensor_quantum)).astype(np.uint8)
        self._index: dict[bytes, int] = {}
        self._group = [self._index.setdefault(row.tobytes(), len(self._index)) for row in rows]
        self.sums = np.zeros((len(self._index), game.num_actions))
        self.squares = np.zeros_like(self.sums)
        self.visits = np.zeros(len(self.sums), dtype=np.int64)

    def add(self, walk: Walk) -> None:
        """Take the regrets of a finished traversal."""
        self._counts.append(len(walk.advantages))
        self._buffer.extend(walk.advantages)
        self.nodes += walk.nodes
        if len(self._buffer) >= FLUSH_SAMPLES:
            self.flush()

    def flush(self) -> None:
        if not self._counts:
            return
        traversal = np.repeat(np.arange(len(self._counts)), self._counts)
        features, actions, values, weights = self._buffer.take()
        state = np.array([self._index[row.tobytes()] for row in features], dtype=np.int64)
        dense = np.zeros((len(state), self.sums.shape[1] + 1))
        np.put_along_axis(dense, actions.astype(int), values * weights[:, None], axis=1)
        pairs, pair_of = np.unique(state * len(self._counts) + traversal, return_inverse=True)
        once = np.zeros((len(pairs), self.sums.shape[1]))
        np.add.at(once, pair_of, dense[:, :-1])
        states = pairs // len(self._counts)
        np.add.at(self.sums, states, once)
        np.add.at(self.squares, states, once**2)
        np.add.at(self.visits, states, 1)
        self.regrets += int((actions >= 0).sum())
        self.traversals += len(self._counts)
        self._counts = []

    def scores(self, exact: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Differences from exact regrets [I, num_actions], in standard errors, where visited."""
        expected = np.zeros_like(self.sums)
        np.add.at(expected, self._group, exact[self._own])
        often = self.visits >= ENOUGH_VISITS
        mean = self.sums[often] / self.traversals
        error = np.sqrt(self.squares[often] / self.traversals - mean**2) / sqrt(self.traversals)
        difference = np.abs(mean - expected[often])
        return (difference / (error + 1e-9))[difference > 1e-6]

    @property
    def variance(self) -> float:
        mean = self.sums / self.traversals
        return float((self.squares / self.traversals - mean**2).sum())


@dataclass
class Sampler:
    """One scheme, for one traverser, of the profile that `networks` play."""

    game: Game
    networks: Sequence[Network]
    scheme: str
    traverser: int
    baseline: Network | None = None

    def walks(self, count: int, first: int, finished: list[Walk]) -> Iterator[Walk]:
        kind = BaselineWalk if self.baseline else Walk
        for index in range(first, first + count):
            rng = stream(SEED, (self.traverser, index))
            state = self.game.new_state()
            reuse = finished.pop() if finished else None
            yield kind(state, self.traverser, rng, RULE, EPSILON, 1e9, reuse)

    async def run(self, count: int, first: int, collect: Callable[[Walk], None]) -> None:
        """Hand `count` finished walks, numbered from `first` on, to `collect`."""
        finished: list[Walk] = []

        def take(walk: Walk) -> None:
            collect(walk)
            finished.append(walk)

        forwards = [InferenceCopy(network) for network in self.networks]
        if self.baseline:
            scheme = outcome_sampling_with_baseline
            evaluator = BaselineEvaluator(
                forwards, InferenceCopy(self.baseline), self.game, device=CPU, max_batch=512
            )
        else:
            scheme = external_sampling if self.scheme == "external" else outcome_sampling
            evaluator = Evaluator(forwards, self.game, device=CPU, max_batch=512)
        await traverse(DRIVER, scheme, self.walks(count, first, finished), evaluator, take)


def fresh_baseline(game: Game) -> Network:
    size = game.num_players * game.information_state_tensor_size
    return build_network(MultilayerPerceptron(width=64, depth=2), size, game.num_actions, Rng(0))


async def fit_baseline(
    game: Game, networks: Sequence[Network], rounds: int, traversals: int
) -> Network:
    """A baseline for the profile, fitted in as many rounds as its values need to travel back."""
    baseline = fresh_baseline(game)
    for round in range(1, rounds + 1):
        histories = SampleBuffer(game, histories=True)

        def collect(walk: Walk, histories: SampleBuffer = histories) -> None:
            histories.extend(walk.histories)

        for player in (0, 1):
            sampler = Sampler(game, networks, "outcome", player, baseline)
            await sampler.run(traversals, FITTING + round * traversals, collect)
        memory = Reservoir.for_histories(game, len(histories))
        memory.extend(Samples(*histories.take()), 1, np.random.default_rng(round))
        fit_advantage(baseline, memory, FIT, stream(round))
    return baseline


async def check(text: str, scheme: str, regrets: int, rounds: int) -> Check:
    """Sample so many of both players' regrets on a game, and compare them with the exact ones."""
    game = load_game(text)
    tree = sequence_form(game)
    networks = [uneven_network(game, seed) for seed in (1, 2)]
    exact = counterfactual_regrets(tree, NetworkProfile(networks, RULE))
    baseline = None
    if scheme == SCHEMES[2]:
        baseline = await fit_baseline(game, networks, rounds, TRAVERSALS)
    started = perf_counter()
    parts = []
    for player in (0, 1):
        moments = Moments(tree, player)
        sampler = Sampler(game, networks, scheme, player, baseline)
        while moments.regrets < regrets / 2:
            await sampler.run(TRAVERSALS, moments.traversals, moments.add)
            moments.flush()
        parts.append(moments)
    scores = np.concatenate([part.scores(exact) for part in parts])
    return Check(
        game=text,
        scheme=scheme,
        traversals=sum(part.traversals for part in parts),
        nodes=sum(part.nodes for part in parts),
        regrets=sum(part.regrets for part in parts),
        compared=len(scores),
        largest_z=float(scores.max()),
        rms_z=float(np.sqrt((scores**2).mean())),
        variance=sum(part.variance for part in parts),
        seconds=perf_counter() - started,
    )


@click.command()
@click.option("--quick", is_flag=True, help="Thousands of regrets instead of a million.")
@click.option("--json", type=click.Path(path_type=Path), help="Write the record here.")
@click.argument("games", nargs=-1)
def main(quick: bool, json: Path | None, games: tuple[str, ...]) -> None:
    """Compare sampled with exact regrets on GAMES (by default three), for every scheme."""
    games = games or GAMES
    rows, checks = [], []
    for text in games:
        plain = 0.0
        for scheme in SCHEMES:
            found = asyncio.run(check(text, scheme, 30_000 if quick else 1_000_000, rounds=10))
            checks.append(found)
            plain = found.variance if scheme == "outcome" else plain
            rows.append(
                (
                    text,
                    scheme,
                    f"{found.regrets:,}",
                    found.compared,
                    f"{found.largest_z:.2f}",
                    f"{found.rms_z:.2f}",
                    f"{found.variance:.3g}",
                    f"{plain / found.variance:.1f}x less" if plain else "",
                    f"{found.nodes / found.traversals:.1f}",
                )
            )
    columns = ("game", "scheme", "regrets", "compared", "z", "rms z", "variance", "", "nodes")
    record = Record(machine=machine(), checks=checks)
    report("Sampled and exact counterfactual regrets", columns, rows, record, json)
    if any(found.largest_z > 4 for found in checks):
        raise SystemExit("biased: a mean is more than 4 standard errors off")


if __name__ == "__main__":
    main()
