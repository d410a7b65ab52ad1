"""What a solver and workers elsewhere tell each other: parts, weights, and what the parts yield."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from asynccfr.cfr.episode import Decisions
from asynccfr.cfr.finished import Bundle
from asynccfr.inference.tally import Tally
from asynccfr.reports import WorkerReport


class Part(NamedTuple):
    """Some of an iteration's games or traversals: those of these numbers.

    `traverser` is the player whose traversals they are; None in self-play.
    """

    iteration: int
    numbers: range
    traverser: int | None = None

    def cut(self, count: int) -> "list[Part]":
        """At most so many parts of about equal size, in order."""
        total = len(self.numbers)
        ends = [total * i // count for i in range(count + 1)]
        ranges = [self.numbers[first:end] for first, end in pairwise(ends)]
        return [self._replace(numbers=numbers) for numbers in ranges if numbers]


class Weights(NamedTuple):
    """The networks to play with, as named arrays; `version` grows whenever they change."""

    version: int
    columns: dict[str, np.ndarray[Any, Any]]


class Harvest(NamedTuple):
    """What a part yields: walks, or the decisions of self-play, in order."""

    samples: Bundle | Decisions
    tally: Tally


class Pool(Protocol):
    """Workers elsewhere, which compute parts of an iteration."""

    @property
    def parts(self) -> int:
        """Into how many parts an iteration is best cut."""

    async def compute(
        self, parts: Sequence[Part], weights: Weights, collect: Callable[[Harvest], object]
    ) -> None:
        """Compute every part with these weights; collect what they yield, in order of the parts."""

    def take_reports(self) -> tuple[WorkerReport, ...]:
        """Who worked since the last time."""
