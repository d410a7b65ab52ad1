"""Sweeps: the runs that a command line stands for, their table, and what goes wrong."""

from pathlib import Path

import numpy as np
import pytest

from asynccfr.cli.sweep import parse_seeds, plan, results
from asynccfr.config.files import dump, load_config
from asynccfr.errors import ConfigError
from asynccfr.evaluation.intervals import median_interval
from asynccfr.runs import RunFolder
from tests.cli.command_line import Run
from tests.solvers.small import small_config


def test_seeds() -> None:
    assert parse_seeds("0-2, 7,1") == [0, 1, 2, 7]
    for bad in ("", "a", "3-1", "-1", "0-", "1,,2", "0-99999999"):
        with pytest.raises(ConfigError, match="such as 0-4 or 1,2,5"):
            parse_seeds(bad)


def test_every_combination_of_the_settings_with_every_seed() -> None:
    game = "game=kuhn_poker,lost_cities(colors=3, hand_size=4)"
    members = list(plan(Path("a"), [game, "solver.traversals=1,2"], [0, 1]))
    assert len(members) == len({each.folder for each in members}) == 8
    assert members[-1].settings == (
        "game=lost_cities(colors=3, hand_size=4)",
        "solver.traversals=2",
    )
    assert members[-1].folder.parent == Path("a")
    assert [each.seed for each in members] == [0, 1] * 4
    with pytest.raises(ConfigError, match="twice"):
        list(plan(Path("a"), ["solver.traversals=1,1"], [0]))


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    for n in (6, 9, 15, 30):
        held = 0
        for sample in rng.exponential(size=(2000, n)):
            found = median_interval(list(sample))
            held += found.low <= np.log(2) <= found.high
        assert 0.94 <= held / 2000 <= 0.99
    assert median_interval([3.0]) == (3.0, 3.0, 3.0)
    assert median_interval([5.0, 1.0, 2.0]) == (2.0, 1.0, 5.0)


def test_a_sweep_trains_compares_and_continues(run: Run, kuhn: Path) -> None:
    kuhn.write_text(dump(small_config(solver__iterations=2)))
    arguments = ("sweep", kuhn, "--seeds", "0-1", "--set", "solver.traversals=40", "--out", "s")
    first = run(*arguments)
    assert (first.status, first.stderr) == (0, "")
    folders = sorted(path for path in Path("s").iterdir() if path.is_dir())
    assert [path.name for path in folders] == [
        "solver.traversals=40,seed=0",
        "solver.traversals=40,seed=1",
    ]
    scores = [results(path)["score against random"] for path in folders]
    assert f"{sum(scores) / 2:.4g} [{min(scores):.4g}, {max(scores):.4g}]" in first.stdout
    assert [RunFolder.open(path).config.seed for path in folders] == [0, 1]
    made = [(path / "metrics.jsonl").read_bytes() for path in folders]
    assert run(*arguments).stdout.splitlines()[-1] == first.stdout.splitlines()[-1]
    assert [(path / "metrics.jsonl").read_bytes() for path in folders] == made
    assert load_config(kuhn).seed == 0


def test_what_is_wrong_is_said_before_the_first_run(run: Run, kuhn: Path) -> None:
    for options, cause in (
        (["--set", "solver.traversal=1,2"], "solver.traversal: unknown field"),
        (["--set", "solver.traversals=1,-2"], "solver.traversals = -2: expected"),
        (["--seeds", "x"], "--seeds x"),
    ):
        result = run("sweep", kuhn, *options)
        assert result.status == 1
        assert result.stderr.startswith("error: ")
        assert cause in result.stderr
        assert not Path("runs").exists()


def test_a_run_that_fails_is_named_and_the_others_are_compared(run: Run, kuhn: Path) -> None:
    kuhn.write_text(dump(small_config(solver__iterations=1)))
    Path("s/seed=1").mkdir(parents=True)
    Path("s/seed=1/notes.txt").write_text("not a run")
    result = run("sweep", kuhn, "--seeds", "0,1", "--out", "s")
    assert result.status == 1
    assert "seed=1: error: s/seed=1: holds other files" in result.stdout
    assert "score against random" in result.stdout
