from typing import Any, Self

import numpy as np
import numpy.typing as npt

class ColumnBuffer:
    """Rows of one game in columns, whose types and shapes the classes derived from it lay out."""
    def __len__(self) -> int: ...
    def clear(self) -> None:
        """Forget every row, but keep the memory."""
    def extend(self, other: Self) -> None:
        """Append the rows of another buffer of the same game."""
    def put(self, *columns: npt.NDArray[np.generic]) -> None:
        """Append rows given as columns of the types and shapes that `take` returns."""
    def digest(self, start: int = 0) -> int:
        """A 64-bit hash of every row in order, chained to that of earlier ones by `start`."""
    def take(self) -> Any:
        """The rows as copied columns, leaving the buffer empty."""
