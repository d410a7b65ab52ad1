"""What remembering a network's answers saves: `python -m benchmarks.policy_cache`.

Every arm is what training runs, `DeepCFRSolver.traverse`, of both players, with networks that are
asked for the first time: an iteration's share of their life. With and without the cache take turns;
other programs slow both, so that CPU seconds count.
`hits` are the decisions that needed no row of their own. Where that is too few the cache is given
up after so many lookups, which the full Lost Cities shows: what is left is the cost of trying.
"""

import gc
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import NamedTuple

import torch
from msgspec import Struct
from msgspec.structs import replace

from asynccfr.config import DeepCFR, MultilayerPerceptron
from asynccfr.config.files import load_config
from asynccfr.event_loop import run
from asynccfr.games import load_game
from asynccfr.solvers.deep_cfr import DeepCFRSolver
from benchmarks.common import Machine, Spread, machine, options, report, spread
from benchmarks.convergence import CONFIGS, SMALL_LOST_CITIES
from benchmarks.traversal import take_turns

WIDE = ("solver.network.width=512", "solver.network.depth=3")


class Subject(NamedTuple):
    """What is traversed: a game, by which configuration, overridden how."""

    game: str
    config: str
    overrides: tuple[str, ...] = ()


SUBJECTS = (
    Subject("kuhn_poker", "kuhn.yaml"),
    Subject("leduc_poker", "leduc.yaml"),
    Subject("leduc_poker", "leduc.yaml", WIDE),
    Subject(SMALL_LOST_CITIES, "leduc.yaml"),
    Subject(SMALL_LOST_CITIES, "leduc.yaml", WIDE),
    Subject("openspiel:liars_dice", "leduc.yaml"),
    Subject("lost_cities", "lost_cities.yaml"),
)
TRAVERSALS = 300  # of the full game, in place of its configuration's
CPU = ("inference.device=cpu", "inference.dtype=float32")


class Arm(Struct, frozen=True, kw_only=True):
    """Traversals of one game; `kept` unless the cache was given up."""

    nodes_per_cpu_second: Spread
    hit_rate: float
    kept: bool


class Comparison(Struct, frozen=True, kw_only=True):
    game: str
    network: str
    without: Arm
    cached: Arm


class Record(Struct, frozen=True, kw_only=True):
    machine: Machine
    comparisons: list[Comparison]


class Runner:
    """Traverses for both players, again and again, each time with networks not asked before."""

    def __init__(self, subject: Subject, cached: bool) -> None:
        game, overrides = subject.game, subject.overrides
        config = load_config(CONFIGS / subject.config, [f"game={game}", *CPU, *overrides])
        assert isinstance(config.solver, DeepCFR)
        traversals = min(config.solver.traversals, TRAVERSALS)
        solver = replace(config.solver, traversals=traversals, average="network")
        inference = config.inference if cached else replace(config.inference, cache=0)
        self.solver = DeepCFRSolver(solver, inference, load_game(game), seed=0)
        for network in self.solver.advantage_networks:
            torch.nn.init.normal_(network.weights[-1], std=0.05)
        self.measured: list[tuple[float, float]] = []

    def measure(self) -> None:
        gc.collect()
        solver = self.solver
        solver.caches = [solver.fresh_cache() for _ in solver.caches]
        iteration = len(self.measured) + 1
        started = process_time()
        done = [run(solver.traverse(iteration, player, lambda *_: None)) for player in (0, 1)]
        seconds = process_time() - started
        nodes = sum(part.nodes for part in done)
        answered = sum(part.inference.answered for part in done)
        self.measured.append((nodes / seconds, answered / nodes))

    def arm(self) -> Arm:
        speeds, rates = zip(*self.measured[1:], strict=True)
        return Arm(
            nodes_per_cpu_second=spread(speeds),
            hit_rate=spread(rates).median,
            kept=bool(self.solver.caches) and all(cache.pays for cache in self.solver.caches),
        )


@options
def main(quick: bool, json: Path | None) -> None:
    """Traverse with and without the policy cache, small games and the full Lost Cities."""
    torch.set_num_threads(1)
    comparisons, rows = [], []
    for subject in SUBJECTS:
        if subject.game.startswith("openspiel:") and not find_spec("pyspiel"):
            continue
        runners = {"without": Runner(subject, cached=False), "cached": Runner(subject, cached=True)}
        arms = take_turns(runners, 3 if quick else 9)
        network = runners["cached"].solver.config.network
        assert isinstance(network, MultilayerPerceptron)
        shape = f"{network.depth}x{network.width}"
        comparisons.append(Comparison(game=subject.game, network=shape, **arms))
        without, cached = (arm.nodes_per_cpu_second for arm in arms.values())
        rows.append(
            (
                subject.game,
                shape,
                without,
                cached,
                f"{cached.median / without.median:.2f}x",
                f"{arms['cached'].hit_rate:.1%}",
                "yes" if arms["cached"].kept else "no",
            )
        )
    columns = ("game", "network", "nodes/CPU s without", "cached", "", "hits", "kept")
    record = Record(machine=machine(), comparisons=comparisons)
    report("Policy cache", columns, rows, record, json)


if __name__ == "__main__":
    main()
