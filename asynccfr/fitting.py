"""Fitting a network to a reservoir: one loop of Adam, two losses.

A sample of iteration t with importance weight w counts w · t (linear CFR; Brown et al. 2019,
Algorithm 1). Both losses sum over the legal actions only and are divided by the mean weight in the
reservoir, so that neither the unit of the game nor that of the weights changes a gradient.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from asynccfr.config import Fit
from asynccfr.errors import TrainingDiverged
from asynccfr.networks import MLP, masked_log_softmax
from asynccfr.reservoir import Batch, Reservoir
from asynccfr.seeding import Rng

# Steps between looks at the loss: a look waits for the device.
STEPS_PER_CHECK = 20


class FitReport(NamedTuple):
    """What a fit did.

    steps: gradient steps taken; fewer than configured if it was stopped.
    loss: mean of the last steps looked at. Advantages: 1.0 is predicting 0; strategies: nats.
    seconds: wall-clock time.
    """

    steps: int
    loss: float
    seconds: float


class Options(TypedDict, total=False):
    """How to fit, apart from the configuration.

    name: what errors call the network.
    dtype: arithmetic of forward and backward; parameters stay float32.
    device: where to train; the network is moved there.
    stop: looked at before every step, to end a fit that runs in a thread.
    on_step: called with the steps taken and their mean loss, every `STEPS_PER_CHECK` steps.
    """

    name: str
    dtype: torch.dtype
    device: torch.device | str
    stop: threading.Event
    on_step: Callable[[int, float], None]


def fit_advantage(
    network: MLP, reservoir: Reservoir, config: Fit, rng: Rng, **options: Unpack[Options]
) -> FitReport:
    """Fit a network in place to the weighted mean of the sampled regrets: squared error.

    Targets are divided by their weighted root mean square, which becomes `network.scale`; regret
    matching is blind to it. Start from a new network or go on with the last one.
    Raises ValueError for an empty reservoir, TrainingDiverged for a loss that is not finite.
    """
    name = options.setdefault("name", "advantage network")
    columns, weights = _weighted(reservoir, name)
    weight = float(np.mean(weights * np.count_nonzero(columns["actions"] >= 0, axis=1)))
    squares = np.einsum("n,nk,nk->", weights, columns["values"], columns["values"]) / len(weights)
    scale = math.sqrt(squares / weight) or 1.0
    network.rescale(scale)

    def loss(outputs: Tensor, batch: Batch) -> Tensor:
        errors = (outputs - batch.values / scale).square() * batch.legal
        return (errors.sum(dim=1) * batch.weights * batch.iterations).mean() / weight

    return _fit(network, reservoir, config, rng, loss, **options)


def fit_average_strategy(
    network: MLP, reservoir: Reservoir, config: Fit, rng: Rng, **options: Unpack[Options]
) -> FitReport:
    """Fit a network in place to the weighted mean of the sampled strategies: cross-entropy.

    It has the minimiser of the paper's squared error, and still learns where a softmax saturates.
    Raises as `fit_advantage`.
    """
    name = options.setdefault("name", "average-strategy network")
    _, weights = _weighted(reservoir, name)
    weight = float(np.mean(weights))

    def loss(logits: Tensor, batch: Batch) -> Tensor:
        errors = -(batch.values * masked_log_softmax(logits, batch.legal)).sum(dim=1)
        return (errors * batch.weights * batch.iterations).mean() / weight

    return _fit(network, reservoir, config, rng, loss, **options)


def _weighted(
    reservoir: Reservoir, name: str
) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[np.float64]]:
    """The columns of a reservoir and the weight of every sample in linear CFR."""
    if not len(reservoir):
        raise ValueError(f"{name}: the reservoir is empty; add samples before fitting to it")
    columns = reservoir.columns()
    for field in ("values", "weights"):
        if not np.isfinite(columns[field]).all():
            raise TrainingDiverged(
                f"{name}: the reservoir holds {field} that are NaN or infinite, expected finite "
                "numbers; look at the game's returns"
            )
    return columns, columns["weights"] * columns["iterations"].astype(np.float64)


def _fit(
    network: MLP,
    reservoir: Reservoir,
    config: Fit,
    rng: Rng,
    loss: Callable[[Tensor, Batch], Tensor],
    *,
    name: str,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    stop: threading.Event | None = None,
    on_step: Callable[[int, float], None] | None = None,
) -> FitReport:
    begun = time.perf_counter()
    device = torch.device(device)
    parameters = list(network.to(device).parameters())
    adam = torch.optim.Adam(parameters, lr=config.learning_rate, fused=True)
    draws = np.random.default_rng(rng.bits())
    recent: list[Tensor] = []
    mean, step = math.nan, 0
    while step < config.steps and not (stop and stop.is_set()):
        batch = reservoir.batch(draws, config.batch, device)
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            outputs = network(batch.features)
        value = loss(outputs.float().gather(1, batch.actions), batch)
        adam.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, config.max_gradient_norm)
        adam.step()
        step += 1
        recent.append(value.detach())
        if step % STEPS_PER_CHECK == 0 or step == config.steps:
            mean = torch.stack(recent).mean().item()
            recent.clear()
            if not math.isfinite(mean):
                raise TrainingDiverged(
                    f"{name}: the loss is {mean} after {step} steps; expected a finite number: "
                    f"lower learning_rate ({config.learning_rate:g}) or max_gradient_norm "
                    f"({config.max_gradient_norm:g})"
                )
            if on_step is not None:
                on_step(step, mean)
    return FitReport(step, mean, time.perf_counter() - begun)
