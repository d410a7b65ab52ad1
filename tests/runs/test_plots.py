from pathlib import Path

import msgspec
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from asynccfr.runs import plots
from tests.runs.run_samples import make_report, match_against


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()


@pytest.mark.parametrize("count", [0, 1, 100])
def test_any_number_of_iterations(tmp_path: Path, count: int) -> None:
    path = tmp_path / "plots" / "curves.png"
    plots.plot_learning_curves([make_report(iteration + 1) for iteration in range(count)], path)
    assert imread(path).shape[:2] == (900, 1320)


def test_speed_is_nodes_over_time_spent_on_them(axes: Axes) -> None:
    slow = msgspec.structs.replace(make_report(2, nodes=50), traversal_seconds=2.0)
    plots.draw_nodes(axes, [make_report(1, nodes=100), slow])
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 200], [2, 25]])


def test_the_average_strategy_shows_where_it_was_fitted(axes: Axes) -> None:
    reports = [make_report(iteration) for iteration in (1, 2, 3)]
    first = reports[1].fits[0]
    fit = msgspec.structs.replace(first, network="average strategy", player=None, loss_last=0.5)
    reports[1] = msgspec.structs.replace(reports[1], fits=(*reports[1].fits, fit))
    plots.draw_losses(axes, reports)
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert lines["average strategy"] == [[2, 0.5]]
    assert lines["advantage, player 1"] == [[1, 1], [2, 1], [3, 1]]


def test_an_evaluation_shows_its_interval(axes: Axes) -> None:
    match = match_against("random", score=0.5, score_low=0.25, score_high=1.0)
    report = msgspec.structs.replace(make_report(4), evaluation=(match,))
    plots.draw_evaluation(axes, [make_report(3), report])
    (container,) = axes.containers
    assert container.get_label() == "against random"
    ((interval,),) = [bars.get_segments() for bars in container.lines[2]]
    assert interval.tolist() == [[4, 0.25], [4, 1.0]]
