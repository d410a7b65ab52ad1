"""Costs as a line over the number of rows: a fixed part, a part per row, and how good it is."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

TOLERANCE = 0.15


class Line(Struct, frozen=True, kw_only=True):
    """Cost = `fixed_us` + `per_row_us` * rows, fitted to relative errors.

    Fields:
        residuals: measured / fitted - 1, of every point that was fitted.
        straight_to: the most rows up to which some line stays within 15% of every point; beyond it
            the costs bend.
        straight_from: the fewest rows from which one does, up to the most that were measured.
    """

    fixed_us: float
    per_row_us: float
    residuals: list[float]
    straight_to: int
    straight_from: int

    def at(self, rows: float) -> float:
        return self.fixed_us + self.per_row_us * rows


class Curve(Struct, frozen=True, kw_only=True):
    """Microseconds of something done with so many rows at once."""

    rows: list[int]
    us: list[float]
    p05: list[float]
    p95: list[float]
    line: Line

    def at(self, rows: float) -> float:
        """Interpolated between what was measured, which has steps that a line has not."""
        return float(np.interp(rows, self.rows, self.us))


def fit(rows: Sequence[int], us: Sequence[float]) -> Line:
    """The line through three or more costs; neither of its parts is negative."""
    fixed, per_row, residuals = solve(rows, us)
    counts = range(3, len(rows) + 1)
    heads = [n for n in counts if is_straight(rows[:n], us[:n])]
    tails = [n for n in counts if is_straight(rows[-n:], us[-n:])]
    return Line(
        fixed_us=fixed,
        per_row_us=per_row,
        residuals=residuals,
        straight_to=rows[max(heads, default=2) - 1],
        straight_from=rows[-max(tails, default=2)],
    )


def is_straight(rows: Sequence[int], us: Sequence[float]) -> bool:
    return max(map(abs, solve(rows, us)[2])) <= TOLERANCE


def solve(rows: Sequence[int], us: Sequence[float]) -> tuple[float, float, list[float]]:
    """Fixed part, part per row, residuals; least squares of the relative errors."""
    x, y = np.asarray(rows, float), np.asarray(us, float)
    weights = 1 / y
    fixed, per_row = np.linalg.lstsq(
        np.stack([weights, x * weights], axis=1), np.ones_like(y), rcond=None
    )[0]
    if fixed < 0:
        fixed, per_row = 0.0, float(np.sum(x * weights) / np.sum((x * weights) ** 2))
    elif per_row < 0:
        fixed, per_row = float(np.sum(weights) / np.sum(weights**2)), 0.0
    fitted = fixed + per_row * x
    return float(fixed), float(per_row), (y / fitted - 1).tolist()
