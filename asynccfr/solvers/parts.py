"""Networks, and whatever else a solver keeps, as named arrays, and back."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch

from asynccfr.errors import CheckpointError
from asynccfr.networks import Network
from asynccfr.solvers.protocol import Columns


class Part(Protocol):
    """A reservoir, a learner: it gives its own arrays, and takes them back."""

    def columns(self) -> Columns: ...

    def restore(self, columns: Columns) -> None:
        """Raises CheckpointError, KeyError, ValueError or RuntimeError if they do not fit."""


Parts = Mapping[str, Network | Part]


def to_columns(parts: Parts) -> Columns:
    """The arrays of every part, each named after its part."""
    columns: Columns = {}
    for name, part in parts.items():
        held = parameters(part) if isinstance(part, Network) else part.columns()
        columns.update({f"{name}.{key}": array for key, array in held.items()})
    return columns


def restore(parts: Parts, columns: Columns) -> None:
    """Put what `to_columns` returned back into the parts.

    Raises CheckpointError, which names the part, if it does not fit.
    """
    for name, column in to_columns(parts).items():
        found = columns.get(name, column)
        if found.dtype != column.dtype:
            raise CheckpointError(f"{name}: {found.dtype}, expected {column.dtype}")
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise CheckpointError(f"{name}: holds numbers that are not finite")
    for name, part in parts.items():
        start = f"{name}."
        held = {k.removeprefix(start): v for k, v in columns.items() if k.startswith(start)}
        try:
            if isinstance(part, Network):
                part.load_state_dict({key: torch.from_numpy(v) for key, v in held.items()})
            else:
                part.restore(held)
        except KeyError as error:
            raise CheckpointError(f"{name}: {error} is missing") from error
        except (CheckpointError, ValueError, RuntimeError) as error:
            raise CheckpointError(f"{name}: {error}") from error


def parameters(network: Network) -> Columns:
    return {name: value.cpu().numpy() for name, value in network.state_dict().items()}
