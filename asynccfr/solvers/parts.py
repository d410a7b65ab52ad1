"""Networks, their history and reservoirs as named arrays, and back."""

from collections.abc import Mapping

import torch

from asynccfr.network_history import NetworkHistory
from asynccfr.networks import Network
from asynccfr.reservoir import Reservoir
from asynccfr.solvers.protocol import Columns

Parts = Mapping[str, Network | Reservoir | NetworkHistory]


def to_columns(parts: Parts) -> Columns:
    """The arrays of every part, each named after its part."""
    columns: Columns = {}
    for name, part in parts.items():
        held = parameters(part) if isinstance(part, Network) else part.columns()
        columns.update({f"{name}.{key}": array for key, array in held.items()})
    return columns


def restore(parts: Parts, columns: Columns) -> None:
    """Put what `to_columns` returned back into the parts; raises if it does not fit."""
    for name, part in parts.items():
        start = f"{name}."
        held = {k.removeprefix(start): v for k, v in columns.items() if k.startswith(start)}
        if isinstance(part, Network):
            part.load_state_dict({key: torch.from_numpy(v) for key, v in held.items()})
        else:
            part.restore(held)


def parameters(network: Network) -> Columns:
    return {name: value.cpu().numpy() for name, value in network.state_dict().items()}
