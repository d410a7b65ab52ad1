"""A network with its optimiser, both kept from one iteration to the next."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from asynccfr.config import Learning
from asynccfr.learning.adam import Adam
from asynccfr.learning.descent import Descent
from asynccfr.networks import Network
from asynccfr.reports import FitReport
from asynccfr.seeding import Rng
from asynccfr.solvers.protocol import Columns
from asynccfr.solvers.selection import drawn, probabilities


class Objective(NamedTuple):
    """What a network is to minimise.

    Fields:
        columns: what there is of every decision of an iteration, tensors [N, ...].
        norms: of each loss's gradient by the outputs of the network that played, in any unit, [N].
        losses: of some decisions, given their rows of each column, [n].
    """

    columns: tuple[Tensor, ...]
    norms: npt.NDArray[np.floating]
    losses: Callable[..., Tensor]


class Session(NamedTuple):
    """How a network learns this time.

    Fields:
        rng: draws the batches.
        rate: what learning rates are multiplied by.
        progress: told the gradient steps taken and how many there are.
        stop: looked at before every step, to end a fit that runs in a thread.
    """

    rng: Rng
    rate: float
    progress: Callable[[int, int], None]
    stop: threading.Event


class Learner:
    """Adam on one network, a few passes over every iteration's decisions.

    Args:
        name: what reports and errors call the network.
        network: learns in place, where it is.
        config: batch size, learning rate and so on.
    """

    def __init__(self, name: str, network: Network, config: Learning) -> None:
        self.name = name
        self.network = network
        self.config = config
        self.adam = Adam(network.parameters(), config.learning_rate)

    def learn(self, objective: Objective, session: Session) -> FitReport:
        """Take `epochs` passes, each over a `share` drawn anew, in batches of about `batch`.

        Every pass shuffles the columns as a whole: batches are then parts of them, one after the
        other, and not gathered from all over the memory.
        Raises TrainingDiverged for a norm or a loss that is not finite.
        """
        begun = time.perf_counter()
        draws = np.random.default_rng(session.rng.bits())
        device = self.adam.parameters[0].device
        self.adam.learning_rate = session.rate * self.config.learning_rate
        batches = 1

        def losses() -> Iterator[Tensor]:
            nonlocal batches
            for _ in range(self.config.epochs):
                order = torch.from_numpy(drawn(chances, draws)).to(device)
                batches = max(1, round(len(order) / self.config.batch))
                shuffled = (
                    column.index_select(0, order).tensor_split(batches)
                    for column in (weights, *objective.columns)
                )
                for importance, *batch in zip(*shuffled, strict=True):
                    if len(importance):
                        yield (importance * objective.losses(*batch)).mean()

        def on_step(step: int, loss: float) -> None:
            session.progress(step, batches * self.config.epochs)

        descent = Descent(
            f"{self.name} network",
            self.adam,
            self.config.max_gradient_norm,
            session.stop,
            on_step,
        )
        largest = float(objective.norms.max(initial=0))
        descent.check(largest, f"the loss has a gradient of norm {largest}")
        chances = probabilities(objective.norms, self.config.share)
        weights = torch.from_numpy((chances.mean() / chances).astype(np.float32)).to(device)
        descent.run(losses())
        return descent.report(self.name, len(chances), begun)

    def columns(self) -> Columns:
        """The network's parameters and what Adam remembers."""
        return {name: value.cpu().numpy() for name, value in self.tensors().items()}

    @torch.no_grad()
    def restore(self, columns: Columns) -> None:
        """Take up what `columns` gave. Raises KeyError or ValueError if it does not fit."""
        for name, tensor in self.tensors().items():
            column = columns[name]
            if column.shape != tensor.shape:
                expected = list(tensor.shape)
                raise ValueError(f"{name}: shape {list(column.shape)}, expected {expected}")
            tensor.copy_(torch.from_numpy(column))

    def tensors(self) -> dict[str, Tensor]:
        """All that `learn` changes, by name."""
        network = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        return network | {f"adam.{name}": value for name, value in self.adam.state.items()}
