"""The benchmark of convergence, cut short; and what the command line shows of such a run."""

import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from asynccfr.cli import exploitability
from asynccfr.runs import RunFolder
from asynccfr.training import train
from benchmarks.convergence import Curve, Point, Task, plot, rows_of, run_ours

from ..solver.small import small_config

KUHN = Task("kuhn_poker", "kuhn.yaml", 1.0, (0.5, 1e-9), ("evaluation.nash_conv_every=1",))


async def test_a_short_run_falls_below_uniform(tmp_path):
    curve = await run_ours(KUHN, seed=0)
    assert curve.last < 11 / 12
    assert curve.reached(1e-9) == math.inf
    plot([curve], tmp_path / "kuhn.png")
    assert (tmp_path / "kuhn.png").stat().st_size > 10_000
    rows = rows_of(KUHN, [curve])
    assert [row[2] for row in rows] == ["seconds to 0.5", "seconds to 1e-09", "NashConv after 1 s"]
    assert rows[1][3] == "never"


def test_the_time_to_a_threshold_is_that_of_the_first_evaluation_below_it():
    points = [
        Point(seconds=s, iteration=s, nodes=s, nash_conv={"average network": v})
        for s, v in ((1, 0.9), (2, 0.5), (3, 0.7), (4, 0.4))
    ]
    curve = Curve(game="kuhn_poker", solver="asynccfr", seed=0, points=points)
    assert [curve.reached(v) for v in (0.9, 0.5, 0.45, 0.1)] == [1, 2, 4, math.inf]
    assert curve.last == 0.4


@pytest.mark.parametrize("every", [0, 1])
async def test_exploitability_shows_the_course_of_a_run(tmp_path: Path, every):
    config = small_config(evaluation__nash_conv_every=every)
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        async for _ in train(config, folder=folder):
            pass
    result = CliRunner().invoke(
        exploitability.command, [str(tmp_path / "run")], catch_exceptions=False
    )
    assert result.exit_code == 0
    assert "uniform" in result.output
    plotted = (tmp_path / "run" / "plots" / "exploitability.png").exists()
    assert plotted == (every > 0)
    assert ("SD-CFR average" in result.output) == (every > 0)
    assert ("evaluation.nash_conv_every" in result.output) == (every == 0)
