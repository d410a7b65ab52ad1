"""Exact values of games with 10^10 histories: NashConv over the players' private trees.

For games that `private_trees` knows. `best_response.nash_conv` comes here for them; use the class
itself to evaluate several policies without making the tables anew, or a mixture of policies.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from asynccfr.errors import GameError
from asynccfr.exact.memory import available_memory
from asynccfr.exact.policy import InformationStates, Policy
from asynccfr.exact.private_tree import NodeBatch, PrivateTree
from asynccfr.exact.private_trees import PrivateTrees, memory, private_rules
from asynccfr.exact.values import NashConv
from asynccfr.games.contract import Game

Progress = Callable[[str, int, int], None]
"""Is told a phase, and how much of it is done of how much."""

BATCH = 1 << 14
SPARE = 1 << 28  # bytes left to the policy


def silent(phase: str, done: int, total: int) -> None:
    """Nobody wants to know."""


class Size(NamedTuple):
    """What the evaluation of a game takes."""

    information_states: int
    bytes: int


def private_size(game: Game) -> Size | None:
    """How large a game is, found without making its tables; None if it has no private trees."""
    rules = private_rules(game)
    return None if rules is None else Size(*memory(rules))


class TreeStates(InformationStates):
    """Information states of one player; keys and tensors are made when they are asked for."""

    def __init__(self, batch: NodeBatch) -> None:
        self.__dict__["legal"] = batch.legal()
        self.__dict__["players"] = np.full(len(batch), batch.tree.player, dtype=np.intc)
        self.__dict__["batch"] = batch

    @cached_property
    def keys(self) -> list[bytes]:
        batch: NodeBatch = self.__dict__["batch"]
        return batch.keys()

    @cached_property
    def tensors(self) -> npt.NDArray[np.float32]:
        batch: NodeBatch = self.__dict__["batch"]
        return batch.tensors()

    def __len__(self) -> int:
        return len(self.players)


class PrivateEvaluation:
    """Evaluates policies of one game, whose tables it holds.

    Args:
        game: a game with private trees; GameError for others, and where the tables do not fit.
        threads: at work at a time; as many as this process has cores if None.
        progress: is told how far each phase is; an exception that it raises ends the evaluation.
    """

    def __init__(self, game: Game, threads: int | None = None, progress: Progress = silent) -> None:
        rules = private_rules(game)
        if rules is None:
            raise GameError(f"{game}: has no private trees; use `nash_conv`")
        size = Size(*memory(rules))
        if size.bytes + SPARE > available_memory():
            raise GameError(
                f"{game}: {size.information_states} information states take "
                f"{size.bytes / 1e9:.2f} GB of memory, of which {available_memory() / 1e9:.2f} GB "
                "are free; take a smaller game, or `asynccfr exploit` for a sampled lower bound"
            )
        self.game = game
        self.size = size
        self.threads = threads or len(os.sched_getaffinity(0))
        self.progress = progress
        progress("tables", 0, 1)
        self.trees = PrivateTrees(rules)
        progress("tables", 1, 1)

    def information_states(self) -> Iterator[InformationStates]:
        """Every information state once, player 0's first, in batches and always in one order."""
        for _, batch in self._batches():
            yield TreeStates(batch)

    def nash_conv(self, policy: Policy | npt.NDArray[np.floating]) -> NashConv:
        """NashConv of a policy that plays for both players.

        `policy` is asked in batches, or is an array [I, num_actions] of probabilities in the order
        of `information_states`. Raises GameError where it gives no distribution.
        """
        self._set_plans(policy)
        return self._evaluate()

    def nash_conv_of_mixture(self, policies: Iterable[tuple[Policy, float]]) -> NashConv:
        """NashConv of the mixture in which each player plays a policy with its weight.

        A policy may be drawn anew when the next is taken. The mixture is over whole games, as in
        Single Deep CFR (Steinberger 2019).
        """
        sums = [np.zeros(tree.num_sequences) for tree in self.trees.trees]
        total = 0.0
        for policy, weight in policies:
            self._set_plans(policy)
            total += weight
            for tree, plan in zip(self.trees.trees, sums, strict=True):
                plan += weight * tree.plan
        for tree, plan in zip(self.trees.trees, sums, strict=True):
            np.divide(plan, total, out=tree.plan)
        return self._evaluate()

    def _batches(self) -> Iterator[tuple[PrivateTree, NodeBatch]]:
        for tree in self.trees.trees:
            for batch in tree.batches(BATCH):
                yield tree, batch

    def _set_plans(self, policy: Policy | npt.NDArray[np.floating]) -> None:
        done, total = 0, self.size.information_states
        if isinstance(policy, np.ndarray) and policy.shape != (total, self.game.num_actions):
            raise GameError(
                f"policy: shape {policy.shape}, expected {(total, self.game.num_actions)}"
            )
        for tree, batch in self._batches():
            states = TreeStates(batch)
            end = done + len(states)
            rows = policy[done:end] if isinstance(policy, np.ndarray) else policy(states)
            table = np.ascontiguousarray(rows, dtype=np.float64)
            if table.shape != states.legal.shape:
                raise GameError(f"policy: shape {table.shape}, expected {states.legal.shape}")
            wrong = tree.set_policy(batch.rows(), table, states.legal.view(np.uint8))
            if wrong >= 0:
                raise GameError(
                    f"policy: {table[wrong].tolist()} for player {tree.player} at "
                    f"{states.keys[wrong]!r}; expected probabilities that add up to 1 over the "
                    f"legal actions {np.flatnonzero(states.legal[wrong]).tolist()}"
                )
            done = end
            self.progress("policy", done, total)
        for tree in self.trees.trees:
            tree.multiply_down()

    def _evaluate(self) -> NashConv:
        for tree in self.trees.trees:
            tree.gain.fill(0.0)
        self._walk()
        values = [float(tree.gain @ tree.plan) for tree in self.trees.trees]
        best = [tree.respond() for tree in self.trees.trees]
        return NashConv((best[0], best[1]), (values[0], values[1]))

    def _walk(self) -> None:
        """All parts of the walk, on many threads.

        Round r takes the parts (i, i + r mod n): a part shares its i or j only with parts of other
        rounds, and waits for those of the round before. So no two threads ever add to one number,
        and the sums do not depend on how many there are.
        """
        n = self.trees.parts
        parts: dict[tuple[int, int], Future[None]] = {}

        def work(i: int, r: int) -> None:
            for before in ((i, r - 1), ((i + 1) % n, r - 1)):
                if before in parts:
                    parts[before].result()
            self.trees.walk(i, (i + r) % n)

        with ThreadPoolExecutor(self.threads) as pool:
            try:
                for r, i in product(range(n), repeat=2):
                    parts[i, r] = pool.submit(work, i, r)
                for done, part in enumerate(parts.values(), 1):
                    part.result()
                    self.progress("histories", done, n * n)
            except BaseException:
                self.trees.stop()
                pool.shutdown(cancel_futures=True)
                raise
