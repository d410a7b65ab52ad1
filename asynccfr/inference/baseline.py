"""Baselines through the batcher: a finished walk is one more query, of all its histories."""

import time
from collections.abc import Iterator, Sequence
from typing import Unpack, cast

import torch

from asynccfr.cfr.baseline import BaselineWalk
from asynccfr.cfr.query import Query
from asynccfr.games import Game
from asynccfr.inference.evaluator import Evaluator, EvaluatorOptions, Forward


class BaselineEvaluator(Evaluator):
    """Answers decisions as `Evaluator` does, and finished walks with a baseline's values.

    Args:
        networks: one forward per player.
        baseline: float32 rows [n, num_players * tensor_size] to outputs [n, num_actions].
        options: as of `Evaluator`.
    """

    def __init__(
        self,
        networks: Sequence[Forward],
        baseline: Forward,
        game: Game,
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        super().__init__(networks, game, **options)
        self.baseline = baseline
        self.history_size = game.num_players * game.information_state_tensor_size
        self.history_rows = torch.zeros(0, self.history_size)

    def __call__(self, queries: list[Query]) -> list[Query]:
        """Answer decisions of one player, or finished walks, in place; returns them."""
        if not is_finished(queries[0]):
            return super().__call__(queries)
        for walks in self.parts(cast(list[BaselineWalk], queries)):
            self.value(walks)
        return queries

    def answer(self, query: Query) -> bool:
        return not is_finished(query) and super().answer(query)

    def parts(self, walks: list[BaselineWalk]) -> Iterator[list[BaselineWalk]]:
        """Cut walks into parts of about `chunk` histories."""
        part: list[BaselineWalk] = []
        rows = 0
        for walk in walks:
            part.append(walk)
            rows += len(walk.histories)
            if rows >= self.chunk:
                yield part
                part, rows = [], 0
        if part:
            yield part

    def value(self, walks: list[BaselineWalk]) -> None:
        """Give every history of these walks the baseline's outputs."""
        total = sum(len(walk.histories) for walk in walks)
        if total == 0:
            return
        room = -(-total // self.chunk) * self.chunk
        if room > len(self.history_rows):
            self.history_rows = torch.zeros(room, self.history_size)
        rows = self.history_rows.numpy()
        first = 0
        for walk in walks:
            first += walk.write_histories(rows, first)
        started = time.perf_counter()
        outputs = torch.cat(
            [
                self.forward(self.baseline, self.history_rows[at:], min(total - at, self.chunk))
                for at in range(0, total, self.chunk)
            ]
        ).numpy()
        self.tally.add(total, time.perf_counter() - started)
        first = 0
        for walk in walks:
            walk.read_baselines(outputs, first)
            first += len(walk.histories)


def is_finished(query: Query) -> bool:
    """Whether a query is a finished walk, and no decision."""
    return isinstance(query, BaselineWalk) and query.is_over
