"""The benchmark of convergence, cut short; and what the command line shows of such a run."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from asynccfr.cli import exploitability
from asynccfr.errors import GameError
from asynccfr.runs import RunFolder
from asynccfr.training import train
from benchmarks import convergence
from benchmarks.common import machine
from benchmarks.convergence import NETWORK, OPENSPIEL, Curve, Point, Record, Task, rows_of
from tests.solvers.small import small_config

EVERY = ("evaluation.nash_conv_every=1",)
KUHN = Task("kuhn_poker", "kuhn.yaml", 0.5, (0.9, 1e-9), overrides=EVERY)


@pytest.fixture
def benchmark(monkeypatch, tmp_path):
    """Runs the benchmark on Kuhn poker; what it prints, and the record that it keeps."""
    monkeypatch.setattr(convergence, "TASKS", (KUHN,))
    path = tmp_path / "record.json"

    def invoke(*arguments: str) -> tuple[str, Record]:
        paths = ["--json", str(path), "--plots", str(tmp_path)]
        found = CliRunner().invoke(
            convergence.main, [*paths, *arguments], catch_exceptions=False, env={"COLUMNS": "200"}
        )
        assert found.exit_code == 0
        return found.output, Record.read(path)

    return invoke


def test_a_short_run_falls_below_uniform(benchmark, tmp_path):
    output, record = benchmark("--seeds", "1")
    (curve,) = record.curves
    assert curve.last < 11 / 12
    assert curve.points[-1].cpu_seconds >= KUHN.seconds
    assert (tmp_path / "kuhn_poker.png").stat().st_size > 10_000
    assert "never" in output


def test_what_has_run_is_not_run_again(benchmark):
    _, first = benchmark("--seeds", "1")
    again, second = benchmark("--seeds", "1")
    assert second == first
    assert "seed 0" not in again
    more, third = benchmark("--seeds", "2")
    assert third.curves[0] == first.curves[0]
    assert [curve.seed for curve in third.curves] == [0, 1]
    assert "seed 0" not in more


def test_an_interrupted_benchmark_shows_and_keeps_what_has_finished(benchmark, monkeypatch):
    run = convergence.run

    def interrupted(task: Task, solver: str, seed: int) -> Curve:
        if seed == 1:
            raise KeyboardInterrupt
        return run(task, solver, seed)

    monkeypatch.setattr(convergence, "run", interrupted)
    output, record = benchmark()
    assert [curve.seed for curve in record.curves] == [0]
    assert "stopped" in output
    assert "seconds to 0.9" in output


def curve_of(values: list[float], seed: int = 0) -> Curve:
    points = [
        Point(seconds=2 * s, cpu_seconds=s, iteration=s, nodes=s, nash_conv={NETWORK: value})
        for s, value in enumerate(values, 1)
    ]
    return Curve(
        game="kuhn_poker", solver=OPENSPIEL, seed=seed, seconds=4, machine=machine(), points=points
    )


def test_the_time_to_a_threshold_is_that_of_the_first_evaluation_below_it():
    curve = curve_of([0.9, 0.5, 0.7, 0.4])
    found = [curve.reached(value) for value in (0.9, 0.5, 0.45, 0.1)]
    assert [point and point.cpu_seconds for point in found] == [1, 2, 4, None]
    assert curve.last == 0.4


def test_rows_have_medians_of_wall_and_cpu_seconds():
    task = Task("kuhn_poker", "kuhn.yaml", 4, (0.5,))
    curves = [curve_of(values, 0) for values in ([0.4], [0.9, 0.4], [0.9, 0.8, 0.3])]
    threshold, end = rows_of(task, curves)
    assert threshold[2:] == ("seconds to 0.5", "4.0 (2.0, 4.0, 6.0)", "2.0 (1.0, 2.0, 3.0)")
    assert end[3] == "0.400 (0.400, 0.400, 0.300)"


def test_openspiels_solver_is_judged_by_the_same_evaluation(monkeypatch):
    pytest.importorskip("tree")
    module = pytest.importorskip("benchmarks.openspiel_deep_cfr")
    monkeypatch.setattr(module, "TRAVERSALS", 20)
    curve = convergence.run(Task("kuhn_poker", "", 0.1), OPENSPIEL, seed=0)
    assert curve.policy == NETWORK
    assert 0 < curve.last < 3
    assert curve.points[-1].nodes >= 40


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


async def test_who_asks_about_a_game_too_large_is_told_what_to_do_instead(tmp_path, monkeypatch):
    def too_large(*arguments):
        raise GameError("kuhn_poker: more than 3 histories")

    with RunFolder.create(tmp_path / "run", small_config()).lock() as folder:
        async for _ in train(folder.config, folder=folder):
            pass
    monkeypatch.setattr(exploitability, "nash_conv", too_large)
    result = CliRunner().invoke(exploitability.command, [str(tmp_path / "run")])
    assert isinstance(result.exception, GameError)
    assert "more than 3 histories" in str(result.exception)
    assert f"asynccfr evaluate {tmp_path / 'run'}" in str(result.exception)
