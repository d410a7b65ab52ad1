from collections.abc import Iterable

TRAVERSAL: int
RESERVOIR: int
TRAINING: int
EVALUATION: int

class Rng:
    """A small, fast random generator with 256 bits of state; equal seeds give equal streams."""
    def __init__(self, seed: int = 0) -> None: ...
    def clone(self) -> Rng:
        """An independent generator in the same state."""
    def uniform(self) -> float:
        """A float in [0, 1)."""
    def integer(self, n: int) -> int:
        """An integer in [0, n). Raises ValueError for n < 1."""
    def bits(self) -> int:
        """64 random bits as a non-negative integer, to seed a generator of another library."""

def stream(seed: int, path: Iterable[int] = ()) -> Rng:
    """The stream named by `seed` and `path`, a tuple of non-negative integers."""
