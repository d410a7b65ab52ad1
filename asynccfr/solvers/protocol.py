"""What training asks of an algorithm: iterate, make an agent, be saved and restored."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from asynccfr.agents import Agent, MixtureAgent
from asynccfr.exact.policy import Policy
from asynccfr.games import Game
from asynccfr.reports import FitReport, InferenceReport, WorkerReport
from asynccfr.solvers.pool import Harvest, Part, Weights

Progress = Callable[[str, int, int], None]
"""Called with the name of a phase, how much of it is done, and how much there is."""

Columns = dict[str, np.ndarray[Any, Any]]


class Iteration(NamedTuple):
    """What one iteration did; times are wall seconds.

    Fields:
        nodes: decisions of any player.
        traversal_seconds: time spent sampling, forwards and storing included.
        inference: the forwards of the sampling.
        fits: every network that learned, in order.
        memory: samples held, by the name of the memory.
        digest: a hash of every sample in order, as hexadecimal digits.
        workers: of a cluster, those that sampled.
    """

    nodes: int
    traversal_seconds: float
    inference: InferenceReport
    fits: tuple[FitReport, ...]
    memory: Mapping[str, int]
    digest: str
    workers: tuple[WorkerReport, ...] = ()


class Solver(Protocol):
    """The state of a run between two iterations.

    Everything it draws comes from the run's seed and the iteration's number, and `columns` holds
    all that the next iteration depends on: a restored solver continues exactly.
    """

    @property
    def game(self) -> Game: ...

    async def iterate(self, iteration: int, progress: Progress) -> Iteration:
        """Sample and learn; `iteration` counts from 1. Cancelling stops within a gradient step."""

    async def sample(self, part: Part) -> Harvest:
        """Play a part of an iteration for another solver, which learns from it."""

    def take(self, weights: Weights) -> None:
        """Play with these networks, another solver's, from now on."""

    async def make_agent(
        self, iteration: int, nodes: int, progress: Progress
    ) -> tuple[Agent | MixtureAgent, tuple[FitReport, ...]]:
        """The agent after so many iterations and decisions, and what was fitted for it."""

    def policies(self) -> Mapping[str, Policy]:
        """What can be evaluated exactly beside the agent, by name."""

    def columns(self) -> Columns:
        """Everything that the next iteration depends on, as named arrays."""

    def restore(self, columns: Columns) -> None:
        """Take up what `columns` returned. Raises CheckpointError if it does not fit."""
