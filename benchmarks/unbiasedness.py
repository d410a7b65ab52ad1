"""Are sampled regrets unbiased, and how noisy are they? `python -m benchmarks.unbiasedness`.

A fixed, uneven profile is sampled many times over by each scheme, and the mean of what a traversal
adds to the regret of every action is compared with the exact counterfactual regret, in standard
errors. `alone` of them have samples enough for a normal law; `jointly` others are judged by sums
over them. `z` is the largest difference of all, `limit` what it may be, and `rms z`, near 1 for an
unbiased sampler, betrays small biases everywhere. `variance` is that of one traversal's regrets,
summed over all actions. The baseline has been fitted to the profile beforehand.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from time import perf_counter
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt
import torch
from msgspec import Struct

from asynccfr.agents.profiles import NetworkProfile
from asynccfr.cfr.baseline import BaselineWalk
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.samples import SampleBuffer
from asynccfr.cfr.traversal import (
    external_sampling,
    outcome_sampling,
    outcome_sampling_with_baseline,
)
from asynccfr.cfr.walk import Walk
from asynccfr.config import AsyncDriver, Fit, MultilayerPerceptron
from asynccfr.exact.best_response import counterfactual_regrets
from asynccfr.exact.sequence_form import SequenceForm, sequence_form
from asynccfr.games import Game, load_game
from asynccfr.inference.baseline import BaselineEvaluator
from asynccfr.inference.drivers import traverse
from asynccfr.inference.evaluator import Evaluator
from asynccfr.learning.fitting import fit_advantage
from asynccfr.learning.reservoir import Reservoir, Samples
from asynccfr.networks import InferenceCopy, Network, build_network
from asynccfr.seeding import Rng, stream
from benchmarks.common import Machine, machine, report, write

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "lost_cities(colors=2, numbers=2, wagers=1, hand_size=2, cost=2)",
)
SCHEMES = ("external", "outcome", "outcome with baseline")
RULE = Rule.REGRET_MATCHING_HIGHEST
EPSILON = 0.5
ENOUGH = 400  # effective samples, for a normal law
FALSE_ALARMS = 0.01
ROUNDING = 1e-6
FLUSH_SAMPLES = 16_384
TRAVERSALS = 4000  # of a player in a row
SEED = 0
FITTING = 10**9  # numbers of the traversals that a baseline is fitted to
CPU = torch.device("cpu")
DRIVER = AsyncDriver(concurrency=512, max_batch=512)
FIT = Fit(steps=400, batch=512, learning_rate=3e-3)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Check(Struct, frozen=True, kw_only=True):
    """One scheme on one game, both players; `regrets` counts sampled values, one an action."""

    game: str
    scheme: str
    traversals: int
    nodes: int
    regrets: int
    alone: int
    jointly: int
    largest_z: float
    limit: float
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


class Judgement(NamedTuple):
    """Differences of means from exact regrets, in standard errors.

    Attributes:
        alone: of the cells (an action at an information state) that are judged by themselves.
        pools: of the sums over all others.
        jointly: how many others there are.
    """

    alone: Floats
    pools: Floats
    jointly: int

    @property
    def scores(self) -> Floats:
        return np.concatenate([self.alone, self.pools])

    @property
    def limit(self) -> float:
        """What an unbiased sampler's largest score exceeds in a run of a hundred; at least 4."""
        tests = max(len(self.scores), 1)
        return max(4.0, NormalDist().inv_cdf(1 - FALSE_ALARMS / (2 * tests)))

    @property
    def largest(self) -> float:
        """The largest score; infinite if there were too few samples for any."""
        return float(self.scores.max()) if len(self.scores) else math.inf

    def __or__(self, other: "Judgement") -> "Judgement":
        """Both together."""
        return Judgement(
            np.concatenate([self.alone, other.alone]),
            np.concatenate([self.pools, other.pools]),
            self.jointly + other.jointly,
        )


class Contributions:
    """What traversals add to each action's regret, and how that compares with exact regrets.

    Information states that networks cannot tell apart, such as those of poker hands that differ in
    their suits only, count as one; there are G.

    Attributes:
        nodes, traversals, regrets: visited, made, and sampled (one value an action), so far.
    """

    def __init__(self, tree: SequenceForm, player: int) -> None:
        game, states = tree.game, tree.information_states
        self.regrets = self.nodes = self.traversals = 0
        self._num_actions = game.num_actions
        self._buffer = SampleBuffer(game)
        self._counts: list[int] = []
        self._own = states.players == player
        rows = states.tensors[self._own]
        if game.tensor_quantum:
            rows = np.rint(rows / np.float32(game.tensor_quantum)).astype(np.uint8)
        self._index: dict[bytes, int] = {}
        self._group = [self._index.setdefault(row.tobytes(), len(self._index)) for row in rows]
        self._blocks: list[tuple[Integers, Integers, Floats]] = []

    def add(self, walk: Walk) -> None:
        """Take the regrets of a finished traversal."""
        self._counts.append(len(walk.advantages))
        self._buffer.extend(walk.advantages)
        self.nodes += walk.nodes
        if len(self._buffer) >= FLUSH_SAMPLES:
            self.flush()

    def flush(self) -> None:
        """Take what was added into account."""
        if not self._counts:
            return
        count = len(self._counts)
        traversal = np.repeat(np.arange(count), self._counts)
        self._counts = []
        features, actions, values, weights = self._buffer.take()
        state = np.array([self._index[row.tobytes()] for row in features], dtype=np.int64)
        dense = np.zeros((len(state), self._num_actions + 1))
        np.put_along_axis(dense, actions.astype(int), values * weights[:, None], axis=1)
        # External sampling may meet a state more than once in a traversal.
        pairs, pair_of = np.unique(state * count + traversal, return_inverse=True)
        once = np.zeros((len(pairs), self._num_actions))
        np.add.at(once, pair_of, dense[:, :-1])
        self._blocks.append((pairs // count, self.traversals + pairs % count, once))
        self.traversals += count
        self.regrets += int((actions >= 0).sum())

    def judge(self, exact: Floats) -> Judgement:
        """Compare the mean contributions with exact regrets [I, num_actions].

        The standard error of a cell is known only if many of its samples differ from 0. A tenth of
        the traversals, which count no further, tells which cells will have `ENOUGH`. The others are
        judged by two sums over them, one signed like their exact regrets, which shows what is
        missing or too small, and one as it is, which shows what shifts them.
        """
        state, traversal, values = (np.concatenate(c) for c in zip(*self._blocks, strict=True))
        expected = np.zeros((len(self._index), self._num_actions))
        np.add.at(expected, self._group, exact[self._own])
        first = self.traversals // 10
        begin = traversal < first
        often = self._effective(state[begin], values[begin]) >= ENOUGH / 9
        state, traversal, values = state[~begin], traversal[~begin] - first, values[~begin]
        count = self.traversals - first
        sums, squares = self._sums(state, values), self._sums(state, values**2)
        alone = _scores(sums[often], squares[often], count, expected[often])
        others = ~often & ((expected != 0) | (squares > 0))
        pools = []
        for weights in (np.sign(expected) * others, others.astype(float)):
            sampled = (values * weights[state]).sum(axis=1)
            pooled = np.bincount(traversal, weights=sampled, minlength=count)
            if np.abs(pooled).sum() ** 2 >= ENOUGH * (pooled**2).sum() > 0:
                total = np.array((expected * weights).sum())
                pools.append(_scores(pooled.sum(), (pooled**2).sum(), count, total))
        return Judgement(alone, np.array(pools), int(others.sum()) if pools else 0)

    def _effective(self, state: Integers, values: Floats) -> Floats:
        """As how many equal samples each cell's count (Kish), [G, num_actions]."""
        squares = self._sums(state, values**2)
        return self._sums(state, np.abs(values)) ** 2 / np.where(squares > 0, squares, 1.0)

    def _sums(self, state: Integers, values: Floats) -> Floats:
        """Rows of one state added up, [G, num_actions]."""
        sums = np.zeros((len(self._index), self._num_actions))
        np.add.at(sums, state, values)
        return sums

    @property
    def variance(self) -> float:
        """Of one traversal's contributions, summed over all cells."""
        state, _, values = (np.concatenate(c) for c in zip(*self._blocks, strict=True))
        means = self._sums(state, values) / self.traversals
        return float((values**2).sum() / self.traversals - (means**2).sum())


def _scores(sums: Floats, squares: Floats, count: int, expected: Floats) -> Floats:
    """How far means are from what is expected, in standard errors; float32's rounding is free."""
    mean = sums / count
    error = np.sqrt(np.maximum(squares / count - mean**2, 0.0) / count)
    return np.maximum(np.abs(mean - expected) - ROUNDING, 0.0) / (error + 1e-12)


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

        scheme: Callable[[Walk, Any], Coroutine[Any, Any, object]]
        evaluator: Evaluator | BaselineEvaluator
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
            assert isinstance(walk, BaselineWalk)
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
    parts, judged = [], []
    for player in (0, 1):
        part = Contributions(tree, player)
        sampler = Sampler(game, networks, scheme, player, baseline)
        while part.regrets < regrets / 2:
            await sampler.run(TRAVERSALS, part.traversals, part.add)
            part.flush()
        parts.append(part)
        judged.append(part.judge(exact))
    both = judged[0] | judged[1]
    return Check(
        game=text,
        scheme=scheme,
        traversals=sum(part.traversals for part in parts),
        nodes=sum(part.nodes for part in parts),
        regrets=sum(part.regrets for part in parts),
        alone=len(both.alone),
        jointly=both.jointly,
        largest_z=both.largest,
        limit=both.limit,
        rms_z=float(np.sqrt((both.scores**2).mean())),
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
            write(Record(machine=machine(), checks=checks), json)
            click.echo(f"{text}: {scheme}, {found.seconds:.0f} s", err=True)
            plain = found.variance if scheme == "outcome" else plain
            rows.append(
                (
                    text,
                    scheme,
                    f"{found.regrets:,}",
                    found.alone,
                    found.jointly,
                    f"{found.largest_z:.2f}",
                    f"{found.limit:.2f}",
                    f"{found.rms_z:.2f}",
                    f"{found.variance:.3g}",
                    f"{plain / found.variance:.1f}x less" if plain else "",
                    f"{found.nodes / found.traversals:.1f}",
                )
            )
    found_columns = ("alone", "jointly", "z", "limit", "rms z", "variance")
    columns = ("game", "scheme", "regrets", *found_columns, "", "nodes")
    record = Record(machine=machine(), checks=checks)
    report("Sampled and exact counterfactual regrets", columns, rows, record, json)
    if any(found.largest_z > found.limit for found in checks):
        raise SystemExit("biased: a mean is farther off than chance explains")


if __name__ == "__main__":
    main()
