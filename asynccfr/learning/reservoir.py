"""Reservoirs of training samples: columns of fixed size, a uniform subset of everything ever seen.

A sample is stored as its features, one byte each where the game's tensors are multiples of a
quantum, and one value for each *legal* action; `batch` widens both again. Columns have their full
capacity from the start, but the operating system commits a page only when it is first written: a
reservoir costs the memory of the samples it holds.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch

from asynccfr.errors import CheckpointError, ConfigError
from asynccfr.games.contract import Game


class Samples(NamedTuple):
    """A block of n samples; K is the game's `max_legal_actions`.

    features: information-state tensors [n, D]: float32 entries, or uint8 multiples of the quantum.
    actions: the legal actions, ascending, int16 [n, K] padded with -1.
    values: regrets or probabilities of those actions, float32 [n, K], 0 where padded.
    weights: importance weights without the iteration, float32 [n].
    """

    features: npt.NDArray[Any]
    actions: npt.NDArray[np.int16]
    values: npt.NDArray[np.float32]
    weights: npt.NDArray[np.float32]


class Batch(NamedTuple):
    """A training batch of n samples; K as above.

    features: information-state tensors, float32 [n, D].
    actions: the legal actions, int64 [n, K], 0 where padded.
    legal: where `actions` is not padding, bool [n, K].
    values: regrets or probabilities of those actions, float32 [n, K], 0 where padded.
    weights: importance weights without the iteration, float32 [n].
    iterations: when each sample was taken, float32 [n]: its factor in linear CFR.
    """

    features: torch.Tensor
    actions: torch.Tensor
    legal: torch.Tensor
    values: torch.Tensor
    weights: torch.Tensor
    iterations: torch.Tensor


def training_batch(
    features: npt.NDArray[Any],
    actions: npt.NDArray[np.int16],
    values: npt.NDArray[np.float32],
    weights: npt.NDArray[np.float32],
    iterations: npt.NDArray[Any],
    *,
    quantum: float,
    device: torch.device | str,
) -> Batch:
    """Stored columns widened to a batch: on a GPU after the copy, which takes as long as its bytes.

    `quantum` is what one unit of the features is worth, 0 where they are stored as they are.
    """
    device = torch.device(device)
    on_gpu = device.type == "cuda"

    def moved(column: npt.NDArray[Any]) -> torch.Tensor:
        tensor = torch.from_numpy(column)
        return tensor.pin_memory().to(device, non_blocking=True) if on_gpu else tensor.to(device)

    # On a CPU by numpy: so small a task would only wait for torch's other threads.
    if quantum and not on_gpu:
        features = np.multiply(features, np.float32(quantum), dtype=np.float32)
    rows = moved(features)
    return Batch(
        features=rows.float().mul_(quantum) if quantum and on_gpu else rows,
        actions=moved(actions.clip(min=0).astype(np.int64)),
        legal=moved(actions >= 0),
        values=moved(values),
        weights=moved(weights),
        iterations=moved(iterations.astype(np.float32)),
    )


class Reservoir:
    """A uniform random subset of at most `capacity` of the samples ever added.

    Algorithm R (Vitter 1985): the t-th sample replaces a random one with probability capacity / t.
    Raises ConfigError for a capacity below 1 or beyond this machine's memory.
    """

    def __init__(
        self,
        capacity: int,
        *,
        tensor_size: int,
        max_legal_actions: int,
        tensor_quantum: float,
        num_actions: int = 1 << 15,
    ) -> None:
        if capacity < 1:
            raise ConfigError(f"memory={capacity}: expected at least 1 sample")
        self.capacity = capacity
        self.quantum = tensor_quantum
        self.num_actions = num_actions
        self.seen = 0
        layout: dict[str, tuple[tuple[int, ...], type[np.generic]]] = {
            "features": ((tensor_size,), np.uint8 if tensor_quantum else np.float32),
            "actions": ((max_legal_actions,), np.int16),
            "values": ((max_legal_actions,), np.float32),
            "weights": ((), np.float32),
            "iterations": ((), np.int32),
        }
        try:
            self._columns: dict[str, npt.NDArray[Any]] = {
                name: np.empty((capacity, *shape), dtype) for name, (shape, dtype) in layout.items()
            }
        except (MemoryError, ValueError) as error:
            raise ConfigError(
                f"memory={capacity}: expected no more samples than this machine can hold ({error});"
                " lower solver.advantage.memory or solver.average_strategy.memory"
            ) from None

    @classmethod
    def for_game(cls, game: Game, capacity: int) -> Self:
        """An empty reservoir for samples of `game`."""
        return cls(
            capacity,
            tensor_size=game.information_state_tensor_size,
            max_legal_actions=game.max_legal_actions,
            tensor_quantum=game.tensor_quantum,
            num_actions=game.num_actions,
        )

    @classmethod
    def for_histories(cls, game: Game, capacity: int) -> Self:
        """An empty reservoir for samples of histories of `game`, of one action each."""
        return cls(
            capacity,
            tensor_size=game.num_players * game.information_state_tensor_size,
            max_legal_actions=1,
            tensor_quantum=game.tensor_quantum,
            num_actions=game.num_actions,
        )

    def __len__(self) -> int:
        """The number of samples held."""
        return min(self.seen, self.capacity)

    @property
    def nbytes(self) -> int:
        """Bytes of the samples held."""
        return sum(column[: len(self)].nbytes for column in self._columns.values())

    def extend(self, samples: Samples, iteration: int, rng: np.random.Generator) -> None:
        """Show a block of samples of one iteration to the reservoir.

        `rng` is drawn from in the order of the samples: cutting a block in two changes nothing.
        Raises ValueError for columns of another shape or type than this game's.
        """
        block = samples._asdict()
        self._check(block)
        if iteration < 1:
            raise ValueError(
                f"iteration={iteration}: expected at least 1, as it weighs the samples"
            )
        n = len(samples.weights)
        fill = min(n, self.capacity - len(self))
        free = slice(self.seen, self.seen + fill)
        place = np.arange(self.seen + fill, self.seen + n)
        slots = (rng.random(len(place)) * (place + 1)).astype(np.int64)
        kept = np.flatnonzero(slots < self.capacity)
        slots, kept = slots[kept], kept + fill
        # Where a slot repeats, numpy leaves the last value: the later sample, as one at a time.
        for name, values in block.items():
            column = self._columns[name]
            column[free] = self._stored(name, values[:fill])
            column[slots] = self._stored(name, values.take(kept, axis=0))
        self._columns["iterations"][free] = iteration
        self._columns["iterations"][slots] = iteration
        self.seen += n

    def batch(
        self, rng: np.random.Generator, size: int, device: torch.device | str = "cpu"
    ) -> Batch:
        """`size` samples drawn uniformly with replacement. Raises ValueError if there are none."""
        if not self.seen:
            raise ValueError("the reservoir is empty: add samples before training on them")
        rows = rng.integers(len(self), size=size)
        return training_batch(
            *(column.take(rows, axis=0) for column in self._columns.values()),
            quantum=self.quantum,
            device=device,
        )

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """What `restore` needs: views of the columns, not copies, and the count of samples seen."""
        held = {name: column[: len(self)] for name, column in self._columns.items()}
        return held | {"seen": np.array(self.seen, np.int64)}

    def restore(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over the state that `columns` gave, exactly.

        Raises CheckpointError, leaving the reservoir as it was, if it does not fit this one.
        """
        if missing := [name for name in (*self._columns, "seen") if name not in columns]:
            raise CheckpointError(f"reservoir column {missing[0]} is missing")
        if columns["seen"].shape != () or (seen := int(columns["seen"])) < 0:
            raise CheckpointError(f"reservoir column seen: {columns['seen']}, expected a count")
        held = min(seen, self.capacity)
        for name, column in self._columns.items():
            saved, expected = columns[name], column[:held]
            if saved.shape != expected.shape or saved.dtype != expected.dtype:
                raise CheckpointError(
                    f"reservoir column {name}: {saved.dtype} {list(saved.shape)}, expected "
                    f"{expected.dtype} {list(expected.shape)}"
                )
        for name, least, most in (
            ("actions", -1, self.num_actions - 1),
            ("iterations", 1, np.iinfo(np.int32).max),
        ):
            saved = columns[name]
            if saved.size and not least <= saved.min() <= saved.max() <= most:
                raise CheckpointError(f"reservoir column {name}: beyond {least} to {most}")
        for name, column in self._columns.items():
            column[:held] = columns[name]
        self.seen = seen

    def _stored(self, name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if name == "features" and self.quantum and values.dtype == np.float32:
            return np.rint(values / np.float32(self.quantum)).astype(np.uint8)
        return values

    def _check(self, block: Mapping[str, npt.NDArray[Any]]) -> None:
        n = len(block["weights"])
        for name, values in block.items():
            column = self._columns[name]
            types = {column.dtype, np.dtype(np.float32)} if name == "features" else {column.dtype}
            if values.shape != (n, *column.shape[1:]) or values.dtype not in types:
                raise ValueError(
                    f"samples.{name}: {values.dtype} {list(values.shape)}, expected "
                    f"{' or '.join(map(str, types))} {[n, *column.shape[1:]]}"
                )
