"""Whatever is wrong: one line that names the cause and the way out, and nothing overwritten."""

import errno
import fcntl
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asynccfr.config.files import load_config
from asynccfr.runs import Checkpoint, RunFolder
from tests.cli import fake_training
from tests.cli.command_line import Run
from tests.runs.run_samples import make_report

BAD_CONFIGS = {
    "unknown field": ("gmae: kuhn_poker", "gmae: unknown field; did you mean game?"),
    "unknown field below": (
        "game: kuhn_poker\nsolver: {iteratons: 3}",
        "solver.iteratons: unknown field; did you mean iterations?",
    ),
    "field elsewhere": ("game: kuhn_poker\nwidth: 3", "did you mean solver.network.width?"),
    "numeric field": ("game: kuhn_poker\n3: 4", "3: unknown field"),
    "missing field": ("seed: 3", "game: missing; expected a text"),
    "text for a number": ("game: kuhn_poker\nseed: one", "seed = 'one': expected a whole number"),
    "number for a text": ("game: 3", "game = 3: expected a text"),
    "true for a number": ("game: kuhn_poker\nseed: true", "seed = true: expected a whole number"),
    "number for true": ("game: kuhn_poker\nrun: {tensorboard: 1}", "expected true or false"),
    "nothing": ("game: kuhn_poker\nseed:", "seed = nothing: expected a whole number"),
    "fraction": ("game: kuhn_poker\nseed: 1.5", "seed = 1.5: expected a whole number"),
    "negative": (
        "game: kuhn_poker\nsolver: {traversals: -1}",
        "= -1: expected a whole number >= 1",
    ),
    "zero": ("game: kuhn_poker\nsolver: {advantage: {batch: 0}}", "solver.advantage.batch = 0"),
    "above the bound": (
        "game: kuhn_poker\nsolver: {sampling: {type: outcome, epsilon: 1.5}}",
        "solver.sampling.epsilon = 1.5: expected a number > 0 and <= 1",
    ),
    "on an open bound": ("game: kuhn_poker\nsolver: {sampling: {epsilon: 0}}", "a number > 0"),
    "nan": ("game: kuhn_poker\nsolver: {sampling: {epsilon: .nan}}", "expected a finite number"),
    "infinite": (
        "game: kuhn_poker\nsolver: {advantage: {learning_rate: .inf}}",
        "solver.advantage.learning_rate = inf: expected a finite number > 0",
    ),
    "huge": (f"game: kuhn_poker\nseed: {10**30}", "at most 9223372036854775807"),
    "endless": (f"game: kuhn_poker\nseed: {'9' * 5000}", "a number of 5000 digits"),
    "list for a table": ("game: kuhn_poker\nsolver: [1]", "solver = [1]: expected a table"),
    "table for a number": ("game: kuhn_poker\nseed: {a: 1}", "expected a whole number"),
    "text for a list": ("game: kuhn_poker\nevaluation: {opponents: x}", "a list of texts"),
    "number in a list": ("game: kuhn_poker\nevaluation: {opponents: [1]}", "a list of texts"),
    "unknown variant": (
        "game: kuhn_poker\nsolver: {sampling: {type: outcom}}",
        "expected one of external, outcome; did you mean outcome?",
    ),
    "field of another variant": (
        "game: kuhn_poker\nsolver: {sampling: {type: external, epsilon: 0.5}}",
        "solver.sampling.epsilon: unknown field; it needs type: outcome",
    ),
    "unknown choice": (
        "game: kuhn_poker\ninference: {dtype: float16}",
        "inference.dtype = 'float16': expected one of float32, bfloat16",
    ),
    "unknown device": ("game: kuhn_poker\ninference: {device: gpu}", "cpu, cuda or cuda:N"),
    "unknown game": ("game: chess", "chess"),
    "unknown game parameter": ("game: lost_cities(colours=3)", "colours"),
    "game parameter out of range": ("game: lost_cities(colors=0)", "colors"),
    "game that is no game": ("game: lost_cities(", "lost_cities("),
    "empty file": ("", "the file is empty; write at least `game: <name>`"),
    "only a comment": ("# soon", "the file is empty"),
    "a list": ("- kuhn_poker", "expected fields such as `game: kuhn_poker`"),
    "a word": ("kuhn_poker", "expected fields such as `game: kuhn_poker`"),
    "a field twice": ("game: a\ngame: b", "line 2, column 1: the key 'game' is written twice"),
    "a table as a field": ("{a: 1}: 2", "expected a field name"),
    "a tab": ("game: kuhn_poker\nsolver:\n\titerations: 3", "line 3, column 1"),
    "unclosed": ("game: [kuhn_poker", "not valid YAML at line 1"),
    "nested too deeply": ("[" * 1000, "nested too deeply"),
    "code": ("!!python/object/apply:os.system [ls]", "python/object/apply"),
    "a control character": ("game: \x01", "not valid YAML"),
}


@pytest.mark.parametrize(("text", "cause"), BAD_CONFIGS.values(), ids=BAD_CONFIGS)
@pytest.mark.parametrize("command", ["config", "train"])
def test_bad_configurations(run: Run, kuhn: Path, command: str, text: str, cause: str) -> None:
    kuhn.write_text(text)
    refused(run, [command, kuhn], 1, cause)


BAD_OVERRIDES = {
    "no value": ("seed", "expected dotted.path=value, such as seed=1"),
    "no field": ("=3", "expected dotted.path=value"),
    "empty part": ("solver..iterations=3", "expected dotted.path=value"),
    "unknown field": ("solver.iteratons=3", "--set: solver.iteratons: unknown field; did you mean"),
    "unknown table": ("slover.iterations=3", "did you mean solver?"),
    "out of range": ("solver.sampling.epsilon=2", "--set: solver.sampling.epsilon = 2: expected"),
    "empty": ("seed=", "--set: seed = nothing: expected a whole number"),
    "into a value": ("game.colors=3", "game is 'kuhn_poker', not a table of fields"),
    "not YAML": ("seed=[", "--set seed=[: not valid YAML"),
    "a table": ("solver=3", "--set: solver = 3: expected a table of fields"),
    "another variant": ("solver.sampling.type=none", "expected one of external, outcome"),
}


@pytest.mark.parametrize(("override", "cause"), BAD_OVERRIDES.values(), ids=BAD_OVERRIDES)
def test_bad_overrides(run: Run, kuhn: Path, override: str, cause: str) -> None:
    refused(run, ["train", kuhn, "--set", override], 1, cause)


def test_a_field_of_the_variant_that_was_left(run: Run, kuhn: Path) -> None:
    overrides = ["solver.sampling.epsilon=0.5", "solver.sampling.type=external"]
    arguments = ["train", kuhn, *(part for text in overrides for part in ("--set", text))]
    refused(run, arguments, 1, "solver.sampling.epsilon: unknown field; it needs type: outcome")


BAD_USAGE = {
    "unknown command": (["trian"], "did you mean train?"),
    "unknown option": (["train", "kuhn.yaml", "--ou", "a"], "--ou"),
    "nothing to train": (["train"], "CONFIG|DIR"),
    "nothing to show": (["config"], "name a configuration file"),
    "resume what": (["train", "kuhn.yaml", "--resume"], "--resume DIR, or --out DIR"),
    "a folder out of a folder": (["train", ".", "--out", "a"], "not with a run's folder"),
}


@pytest.mark.parametrize(("arguments", "cause"), BAD_USAGE.values(), ids=BAD_USAGE)
def test_bad_usage(run: Run, kuhn: Path, arguments: list[str], cause: str) -> None:
    refused(run, arguments, 2, cause)


def test_a_file_that_is_not_there(run: Run, kuhn: Path) -> None:
    refused(run, ["train", "khun.yaml"], 1, "no such file; did you mean kuhn.yaml?")


def test_a_file_of_another_kind(run: Run, kuhn: Path) -> None:
    kuhn.rename("kuhn.ini")
    refused(run, ["train", "kuhn.ini"], 1, "expected a file that ends in .yaml, .yml or .toml")


def test_bytes_that_are_no_text(run: Run, kuhn: Path) -> None:
    kuhn.write_bytes(b"game: \xff\xfe")
    refused(run, ["train", kuhn], 1, "not UTF-8 text (byte 6)")


@pytest.mark.parametrize("text", ["game = kuhn", "game = 'a'\ngame = 'b'"])
def test_bad_toml(run: Run, kuhn: Path, text: str) -> None:
    Path("kuhn.toml").write_text(text)
    refused(run, ["train", "kuhn.toml"], 1, "kuhn.toml: not valid TOML")


def test_out_is_a_file(run: Run, kuhn: Path) -> None:
    refused(run, ["train", kuhn, "--out", kuhn], 1, "choose another folder with --out")
    refused(run, ["train", kuhn, "--out", kuhn / "a"], 1, "choose another folder with --out")


def test_out_holds_something_else(run: Run, kuhn: Path) -> None:
    refused(run, ["train", kuhn, "--out", "."], 1, "holds other files (kuhn.yaml)")


def test_out_cannot_be_made(run: Run, kuhn: Path) -> None:
    refused(run, ["train", kuhn, "--out", "/proc/a/b"], 1, "choose another folder with --out")


def test_out_cannot_be_written(run: Run, kuhn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opens = os.open

    def refusing(path: Any, flags: int, mode: int = 0) -> int:
        if str(path) != "a/lock":
            return opens(path, flags, mode)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    Path("a").mkdir()
    monkeypatch.setattr(os, "open", refusing)
    refused(run, ["train", kuhn, "--out", "a"], 1, "a: cannot be written: Permission denied")


def test_a_folder_in_place_of_a_file(run: Run, kuhn: Path) -> None:
    Path("a").mkdir()
    refused(run, ["train", "a"], 1, "a: is a folder; continue a run with --resume")
    refused(run, ["config", "a"], 1, "a: expected a file")


def test_resuming_what_is_no_run(run: Run, kuhn: Path) -> None:
    refused(run, ["train", "--resume", "nowhere"], 1, "nowhere: no such folder")
    refused(run, ["train", "--resume", "."], 1, "holds no run")


@pytest.fixture
def folder(kuhn: Path) -> Path:
    """A finished run of four iterations."""
    with RunFolder.create("a", load_config(kuhn)).lock() as folder:
        for iteration in (1, 2, 3, 4):
            folder.append(make_report(iteration))
            totals = fake_training.Totals(iteration)
            folder.save_checkpoint(Checkpoint(iteration, {"a": np.ones(4)}, totals))
    return Path("a")


def test_a_run_is_not_overwritten(run: Run, kuhn: Path, folder: Path) -> None:
    refused(run, ["train", kuhn, "--out", "a"], 1, "continue it with --resume")
    refused(run, ["train", "a"], 1, "continue a run with --resume")


def test_resuming_another_run(run: Run, kuhn: Path, folder: Path) -> None:
    cause = "cannot resume with another seed (0, now 7)"
    refused(run, ["train", kuhn, "--out", "a", "--resume", "--set", "seed=7"], 1, cause)
    refused(run, ["train", "--resume", "a", "--set", "seed=7"], 1, cause)


def test_a_spoilt_configuration(run: Run, folder: Path) -> None:
    (folder / "config.yaml").write_text("game: [")
    refused(run, ["train", "--resume", "a"], 1, "config.yaml: not valid YAML")


def test_checkpoints_of_another_game(run: Run, folder: Path) -> None:
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("kuhn_poker", "leduc_poker"))
    refused(run, ["train", "--resume", "a"], 1, "differs in game (kuhn_poker, now leduc_poker)")


def flip(data: bytes) -> bytes:
    return data[:-9] + bytes([data[-9] ^ 4]) + data[-8:]


@pytest.mark.parametrize("damage", [flip, lambda data: data[:-1], lambda data: b""])
@pytest.mark.parametrize("name", ["arrays.safetensors", "state.msgpack", "manifest.json"])
def test_damaged_checkpoints(
    run: Run, folder: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    for path in folder.glob(f"checkpoints/*/{name}"):
        path.write_bytes(damage(path.read_bytes().rjust(9)))
    refused(run, ["train", "--resume", "a"], 1, "no good checkpoint is left: restore one")


def test_one_damaged_checkpoint_is_only_a_warning(run: Run, folder: Path) -> None:
    (folder / "checkpoints/00000004/state.msgpack").write_bytes(b"")
    result = run("train", "--resume", folder)
    assert result.status == 0
    assert result.stderr == (
        "warning: a/checkpoints/00000004: damaged: state.msgpack fails its checksum; "
        "continuing from the checkpoint before it\n"
    )


def test_a_damaged_metrics_file(run: Run, folder: Path) -> None:
    metrics = folder / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes().replace(b'"nodes":', b'"knots":', 1))
    refused(run, ["train", "--resume", "a"], 1, "metrics.jsonl: line 1 is damaged")


def test_a_run_in_use(run: Run, folder: Path) -> None:
    with open(folder / "lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused(run, ["train", "--resume", "a"], 1, "is training here; wait for it")


def test_tensorboard_is_missing(run: Run, kuhn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    arguments = ["train", kuhn, "--set", "run.tensorboard=true"]
    refused(run, arguments, 2, "pip install 'asynccfr[tensorboard]'")


def test_an_error_before_the_first_iteration_leaves_no_folder(run: Run, kuhn: Path) -> None:
    arguments = ["train", kuhn, "--out", "a", "--set", f"seed={fake_training.REFUSE}"]
    refused(run, arguments, 1, "unknown player 'nobody'")


def test_a_loss_that_is_no_number(run: Run, kuhn: Path) -> None:
    arguments = ["train", kuhn, "--out", "a", "--set", f"seed={fake_training.DIVERGE}"]
    result = run(*arguments)
    assert_one_line(result.stderr, "the advantage loss is nan; lower learning_rate")
    assert result.status == 1
    assert "iteration 2 of 4 is saved; continue with `asynccfr train --resume a`" in result.stdout


def test_a_full_disk(run: Run, kuhn: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", os.write)  # the trainer replaces it
        result = run("train", kuhn, "--out", "a", "--set", f"seed={fake_training.FULL_DISK}")
    assert_one_line(result.stderr, "No space left on device; what was saved before is intact")
    assert result.status == 1
    assert sorted(path.name for path in Path("a/checkpoints").iterdir()) == ["00000001", "00000002"]


def test_debugging_shows_the_traceback(run: Run, kuhn: Path) -> None:
    with pytest.raises(OSError, match="no such folder"):
        run("--debug", "train", "--resume", "nowhere")


def refused(run: Run, arguments: Sequence[object], status: int, cause: str) -> None:
    before = content(Path.cwd())
    result = run(*arguments)
    assert_one_line(result.stderr, cause)
    assert result.status == status
    assert content(Path.cwd()) == before


def assert_one_line(stderr: str, cause: str) -> None:
    assert stderr.startswith("error: ")
    assert stderr.endswith("\n")
    assert stderr.count("\n") == 1
    assert cause in stderr


def content(path: Path) -> dict[Path, bytes]:
    """Every file but locks, which name their last holder."""
    files = (file for file in path.rglob("*") if file.is_file() and file.name != "lock")
    return {file: file.read_bytes() for file in files}
