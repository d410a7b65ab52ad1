"""The networks of every iteration of a run, kept in a file and read one at a time.

Single Deep CFR (Steinberger 2019) needs them all. A row holds the parameters of one iteration:
those of player 0's network, then player 1's, each in the order of `parameters()`.
"""

import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from asynccfr.errors import RunError
from asynccfr.networks import Network

Rows = npt.NDArray[np.float32]
"""Parameters, [iterations, size of a row]; perhaps a map of a file."""


def to_row(networks: Sequence[Network]) -> Rows:
    """The parameters of an iteration's networks."""
    with torch.no_grad():
        return torch.cat([parameters_to_vector(n.parameters()) for n in networks]).cpu().numpy()


def from_row(row: Rows, networks: Sequence[Network]) -> None:
    """Give networks of the right shape the parameters of a row."""
    values = torch.from_numpy(np.array(row))
    for network in networks:
        size = sum(parameter.numel() for parameter in network.parameters())
        vector_to_parameters(values[:size], network.parameters())
        values = values[size:]


class NetworkHistory:
    """One row for every iteration so far, on disk, where temporary files go."""

    def __init__(self, row_size: int) -> None:
        self.row_size = row_size
        self.iterations = 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115

    def __del__(self) -> None:
        self._file.close()

    def append(self, row: Rows) -> None:
        """Add the row of the next iteration. Raises RunError if there is no room for it."""
        try:
            self._file.seek(4 * self.row_size * self.iterations)
            self._file.write(row.tobytes())
            self._file.flush()
        except OSError as error:
            raise RunError(
                f"{tempfile.gettempdir()}: the networks of iteration {self.iterations + 1} cannot "
                f"be written: {error.strerror}; make room, or set TMPDIR to a folder with more"
            ) from error
        self.iterations += 1

    @property
    def rows(self) -> Rows:
        """All rows, as a map of the file."""
        shape = (self.iterations, self.row_size)
        if not self.iterations:
            return np.empty(shape, np.float32)
        return np.memmap(self._file, np.float32, "r", shape=shape)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """What `restore` needs."""
        return {"rows": self.rows}

    def restore(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `columns` gave. Raises ValueError if the networks had another shape."""
        rows = columns["rows"]
        if rows.shape[1:] != (self.row_size,) or rows.dtype != np.float32:
            raise ValueError(
                f"rows: {rows.dtype} {list(rows.shape)}, expected float32 rows of {self.row_size}"
            )
        self.iterations = 0
        for row in rows:
            self.append(row)
