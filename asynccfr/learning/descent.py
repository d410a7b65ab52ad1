"""Gradient steps: when they stop, what counts as divergence, what is told of them."""

import math
import threading
import time
from collections.abc import Callable, Iterable
from statistics import fmean

import torch
from torch import Tensor

from asynccfr.errors import TrainingDiverged
from asynccfr.learning.adam import Adam
from asynccfr.reports import FitReport

# Steps between looks at the loss, each of which waits for the device.
STEPS_PER_CHECK = 20

OnStep = Callable[[int, float], None]


class Descent:
    """One network's way down its loss.

    Args:
        name: what errors call the network.
        adam: takes the steps.
        max_gradient_norm: gradients are scaled down to this norm.
        stop: looked at before every step, to end what runs in a thread.
        on_step: called with the steps taken and their mean loss, every `STEPS_PER_CHECK` steps.

    Attributes:
        losses: of every step.
    """

    def __init__(
        self,
        name: str,
        adam: Adam,
        max_gradient_norm: float,
        stop: threading.Event | None = None,
        on_step: OnStep | None = None,
    ) -> None:
        self.name = name
        self.adam = adam
        self.max_gradient_norm = max_gradient_norm
        self.stop = stop or threading.Event()
        self.on_step = on_step
        self.losses: list[float] = []

    def run(self, losses: Iterable[Tensor]) -> None:
        """Step down each loss, a scalar that is computed when its turn comes.

        Raises TrainingDiverged for a loss, or in the end a parameter, that is not finite.
        """
        recent: list[Tensor] = []
        left = iter(losses)
        while not self.stop.is_set() and (loss := next(left, None)) is not None:
            self.adam.descend(loss, self.max_gradient_norm)
            recent.append(loss.detach())
            if len(recent) == STEPS_PER_CHECK:
                self.look(recent)
        if recent:
            self.look(recent)
        if not all(parameter.isfinite().all() for parameter in self.adam.parameters):
            raise self.diverged(f"its parameters are no longer finite after {self.steps} steps")

    @property
    def steps(self) -> int:
        return len(self.losses)

    def look(self, recent: list[Tensor]) -> None:
        """Note the latest losses."""
        latest = torch.stack(recent).tolist()
        recent.clear()
        self.losses += latest
        self.check(sum(latest), f"the loss is {latest[-1]} after {self.steps} steps")
        if self.on_step is not None:
            self.on_step(self.steps, fmean(latest))

    def check(self, value: float, found: str) -> None:
        """Raise TrainingDiverged unless a value is finite."""
        if not math.isfinite(value):
            raise self.diverged(f"{found}, expected a finite number")

    def diverged(self, found: str) -> TrainingDiverged:
        return TrainingDiverged(
            f"{self.name}: {found}; lower learning_rate ({self.adam.learning_rate:g}) or "
            f"max_gradient_norm ({self.max_gradient_norm:g})"
        )

    @property
    def first(self) -> float:
        """The mean loss of the first tenth of the steps; NaN if there was none."""
        return fmean(self.losses[: self.tenth]) if self.losses else math.nan

    @property
    def last(self) -> float:
        """That of the last tenth."""
        return fmean(self.losses[-self.tenth :]) if self.losses else math.nan

    @property
    def tenth(self) -> int:
        return math.ceil(self.steps / 10)

    def report(self, network: str, samples: int, begun: float) -> FitReport:
        """What `network` learned from so many samples since `begun`, of `time.perf_counter`."""
        return FitReport(
            network=network,
            samples=samples,
            steps=self.steps,
            loss_first=self.first,
            loss_last=self.last,
            seconds=time.perf_counter() - begun,
        )
