"""Walks that are over, in a form that travels: the samples of many of them together."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.samples import SampleBuffer
from asynccfr.cfr.walk import Walk
from asynccfr.games.contract import Game

KINDS = ("advantages", "strategies", "histories")
"""A walk's attributes with samples; `histories` only where a baseline values them."""

Columns = tuple[
    npt.NDArray[Any], npt.NDArray[np.int16], npt.NDArray[np.float32], npt.NDArray[np.float32]
]
"""Samples as `SampleBuffer.take` returns them."""


class FinishedWalk(NamedTuple):
    """A walk that was made elsewhere: its number of decisions and its samples."""

    nodes: int
    advantages: SampleBuffer
    strategies: SampleBuffer
    histories: SampleBuffer | None = None


class Bundle(NamedTuple):
    """Some walks, in order.

    `counts` has the nodes of each and its numbers of samples by kind; `columns`, all samples by
    kind.
    """

    counts: list[tuple[int, ...]]
    columns: tuple[Columns, ...]

    def walks(self, game: Game) -> Iterator[FinishedWalk]:
        """The walks one by one."""
        firsts = [0] * len(self.columns)
        for nodes, *counts in self.counts:
            buffers = []
            for kind, count in enumerate(counts):
                part = slice(firsts[kind], firsts[kind] + count)
                buffer = SampleBuffer(game, histories=KINDS[kind] == "histories")
                features, actions, values, weights = self.columns[kind]
                buffer.put(features[part], actions[part], values[part], weights[part])
                buffers.append(buffer)
                firsts[kind] += count
            yield FinishedWalk(nodes, *buffers)


class Packer:
    """Collects walks that are over into bundles.

    Attributes:
        emptied: walks whose samples have been taken, whose memory others may inherit.
    """

    def __init__(self, game: Game, *, histories: bool = False) -> None:
        kinds = KINDS if histories else KINDS[:2]
        self.buffers = {kind: SampleBuffer(game, histories=kind == "histories") for kind in kinds}
        self.counts: list[tuple[int, ...]] = []
        self.emptied: list[Walk] = []

    def __len__(self) -> int:
        """The number of samples collected."""
        return sum(map(len, self.buffers.values()))

    def add(self, walk: Walk | FinishedWalk) -> None:
        samples = [getattr(walk, kind) for kind in self.buffers]
        self.counts.append((walk.nodes, *map(len, samples)))
        for buffer, some in zip(self.buffers.values(), samples, strict=True):
            buffer.extend(some)
        if isinstance(walk, Walk):
            self.emptied.append(walk)

    def take(self) -> Bundle:
        """All that has been collected since the last time."""
        counts, self.counts = self.counts, []
        return Bundle(counts, tuple(buffer.take() for buffer in self.buffers.values()))
