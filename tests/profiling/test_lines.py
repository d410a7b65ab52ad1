"""Fits: a line is found, what is none is called so, and no part is negative."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asynccfr.profiling.lines import TOLERANCE, Curve, fit

ROWS = [1 << power for power in range(10)]


@given(st.floats(0.1, 1000), st.floats(0.001, 10))
def test_a_line_is_found_and_straight_everywhere(fixed, per_row):
    line = fit(ROWS, [fixed + per_row * rows for rows in ROWS])
    assert line.fixed_us == pytest.approx(fixed, rel=1e-3)
    assert line.per_row_us == pytest.approx(per_row, rel=1e-3)
    assert line.residuals == pytest.approx([0] * len(ROWS), abs=1e-3)
    assert (line.straight_from, line.straight_to) == (ROWS[0], ROWS[-1])


def test_where_it_stops_being_a_line():
    us = [10 + rows if rows <= 64 else 10 + rows + 0.1 * rows**2 for rows in ROWS]
    line = fit(ROWS, us)
    assert line.straight_to == 64
    assert line.straight_from > 64
    assert max(map(abs, line.residuals)) > TOLERANCE
    assert len(line.residuals) == len(ROWS)


@given(st.lists(st.floats(0.01, 1e6), min_size=len(ROWS), max_size=len(ROWS)))
def test_no_part_is_negative(us):
    line = fit(ROWS, us)
    assert line.fixed_us >= 0
    assert line.per_row_us >= 0
    assert line.at(0) == line.fixed_us


def test_a_curve_is_interpolated_between_its_points():
    us = [1.0, 2.0, 4.0]
    curve = Curve(rows=[1, 2, 4], us=us, p05=us, p95=us, line=fit([1, 2, 4], us))
    assert [curve.at(rows) for rows in (1, 3, 4, 9)] == [1, 3, 4, 4]
