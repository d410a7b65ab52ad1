"""Measurements have the right shape: costs rise with rows, parts are there, JSON reads back.

No time is asserted but between sizes so far apart that no machine turns them round.
"""

import os

import msgspec
import numpy as np
import pytest
import torch

from asynccfr.cli import main
from asynccfr.config import (
    AsyncDriver,
    DeepCFR,
    ExternalSampling,
    Inference,
    MultilayerPerceptron,
    TrainConfig,
)
from asynccfr.config.files import dump
from asynccfr.profiling import boundary, calibration, forward, gather, step, whole_run
from asynccfr.profiling.calibration import Prediction, Setting, judged
from asynccfr.profiling.forward import Way
from asynccfr.profiling.measuring import Spread
from asynccfr.profiling.phases import PHASES
from asynccfr.profiling.placement import verdict
from asynccfr.profiling.profile import Profile
from asynccfr.profiling.subject import Scale, Subject

TINY = Scale(repetitions=2, most_rows=32, traversals=16, concurrency=16)


def config(width=16, **solver):
    return TrainConfig(
        game="leduc_poker",
        solver=DeepCFR(network=MultilayerPerceptron(width=width, depth=2), **solver),
        inference=Inference(driver=AsyncDriver(), device="cpu", threads=1),
    )


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def subject():
    return Subject(config())


def test_a_forward_has_a_fixed_cost_and_one_that_rises_with_rows():
    scale = Scale(repetitions=3, most_rows=1024)
    wide = Subject(config(width=256))
    found = forward.measure(wide, scale, Way(device="cpu", dtype="float32", threads=1))
    assert found.curve.rows == scale.sizes
    assert found.curve.us[-1] > 2 * found.curve.us[0]
    assert found.curve.line.fixed_us > 0
    assert found.curve.line.per_row_us > 0
    assert len(found.curve.line.residuals) == len(scale.sizes)


def test_gathers_rise_with_rows(subject):
    for each in gather.measure(subject, Scale(repetitions=2, most_rows=4096)):
        assert each.curve.us[-1] > each.curve.us[0]
        assert each.bytes_per_row == 4 * subject.game.information_state_tensor_size


def test_every_call_of_the_boundary_is_timed(subject):
    found = boundary.measure(subject, 50)
    assert {"game step", "legal mask", "encode", "batch of one forward"} <= {c.name for c in found}
    assert all(0 <= call.p50_us <= call.p95_us for call in found)
    assert all(call.calls == 50 for call in found)


def test_a_step_has_all_its_parts():
    scale = Scale(repetitions=1, most_rows=512)
    found = step.measure(Subject(config(width=256)), scale)
    assert set(found.parts) == {"collect", *PHASES, "wake-up"}
    assert all(us > 0 for part in found.parts.values() for us in part.us)
    assert len(found.sum_over_whole) == len(found.whole.rows)
    assert found.whole.us[-1] > found.whole.us[0]


@pytest.mark.parametrize("solver", [{}, {"sampling": ExternalSampling()}], ids=str)
def test_a_run_is_accounted_for(solver):
    subject = Subject(config(**solver))
    found = whole_run.measure(subject, TINY, step.measure(subject, TINY))
    account = found.accounting
    parts = sum(account.parts_us.values())
    assert parts + account.unaccounted_us == pytest.approx(account.wall_us)
    assert 1 <= account.realised_batch <= 16
    inline, thread = found.exposures
    assert (inline.place, thread.place) == ("inline", "thread")
    assert inline.hidden_seconds == pytest.approx(0, abs=1e-9)
    assert inline.sum_or_max == pytest.approx(1)
    for each in found.exposures:
        assert each.exposed_seconds + each.hidden_seconds == pytest.approx(each.batch_seconds)


def test_the_grid_is_large_enough(subject):
    settings = calibration.grid(subject, Scale())
    assert len(settings) == len(set(map(str_with_width, settings))) >= 24


def str_with_width(setting):
    return f"{setting} {setting.width}"


def flat(value):
    return Spread(p05=value, median=value, p95=value, repetitions=2)


def predictions(*pairs):
    return [
        Prediction(
            setting=Setting(concurrency=n, max_batch=1, width=8, dtype="float32", threads=1),
            predicted=predicted,
            measured=flat(measured),
            error=predicted / measured - 1,
        )
        for n, (predicted, measured) in enumerate(pairs, 1)
    ]


def test_a_good_model_recommends_what_it_expects_to_be_best():
    found = judged(predictions((100, 100), (210, 200), (90, 95)), width=8)
    assert found.recommended.concurrency == 2
    assert found.reason.startswith("recommended")


def test_a_model_that_is_off_recommends_nothing():
    found = judged(predictions((100, 80), (210, 150), (90, 60)), width=8)
    assert found.recommended is None
    assert "median error is 40%" in found.reason


def test_a_model_whose_favourite_is_slow_recommends_nothing():
    found = judged(predictions((100, 100), (101, 80), (90, 90)), width=8)
    assert found.recommended is None
    assert "80% of the best" in found.reason


def test_no_verdict_where_the_spread_contains_equality():
    assert verdict(Spread(p05=0.9, median=1.1, p95=1.2, repetitions=3)).startswith("no verdict")
    assert verdict(Spread(p05=1.05, median=1.1, p95=1.2, repetitions=3)).startswith("both paths")
    assert verdict(Spread(p05=0.7, median=0.8, p95=0.9, repetitions=3)).startswith("the first")


@pytest.mark.parametrize("compiled", [True])
def test_a_way_that_fails_says_why(subject, monkeypatch, compiled):
    def refuse(*arguments, **options):
        raise RuntimeError("no compiler here\nand more")

    monkeypatch.setattr(torch, "compile", refuse)
    way = Way(device="cpu", dtype="float32", threads=1, compiled=compiled)
    found = forward.measure(subject, TINY, way)
    assert (found.curve, found.failure) == (None, "no compiler here")


def test_waiting_decisions_are_spread_over_the_game(subject):
    walks = subject.waiting(64)
    assert len(walks) == 64
    assert {walk.player for walk in walks} == {0}
    assert len({walk.state.information_state_key(0) for walk in walks}) > 8
    assert np.isfinite(subject.features(10).numpy()).all()


def test_the_command_measures_prints_writes_and_draws(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr("asynccfr.profiling.profile.QUICK", TINY)
    file, json, plots = tmp_path / "config.yaml", tmp_path / "profile.json", tmp_path / "plots"
    file.write_text(dump(config()))
    assert main(["profile", str(file), "--quick", "--json", str(json), "--plots", str(plots)]) == 0
    found = msgspec.json.decode(json.read_bytes(), type=Profile)
    assert len(found.calibration.predictions) >= 24
    assert found.machine.cores == 1
    printed = capsys.readouterr()
    assert "unaccounted" in printed.out
    assert found.calibration.reason.split(":")[0] in printed.out
    assert "a whole run" in printed.err
    pictures = sorted(path.name for path in plots.iterdir())
    names = ("forward", "gather", "model", "placement", "run", "step")
    assert pictures == [f"{name}.png" for name in names]
