import errno
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from asynccfr import __version__
from asynccfr.config import Evaluation, Run, TrainConfig
from asynccfr.errors import CheckpointError, ConfigError, RunError
from asynccfr.runs import RunFolder
from tests.runs.run_samples import State, assert_same, make_checkpoint, make_report


def test_the_configuration_comes_back(folder: RunFolder, config: TrainConfig) -> None:
    assert RunFolder.open(folder.path).config == config


def test_a_run_is_not_overwritten(folder: RunFolder, config: TrainConfig) -> None:
    with pytest.raises(RunError, match=r"holds a run already.*--resume"):
        RunFolder.create(folder.path, config)


def test_other_files_are_not_mixed_with(tmp_path: Path, config: TrainConfig) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match=r"other files \(thesis.tex\)"):
        RunFolder.create(tmp_path, config)
    assert not (tmp_path / "config.yaml").exists()


def test_a_start_that_was_killed_is_no_obstacle(tmp_path: Path, config: TrainConfig) -> None:
    (tmp_path / "lock").write_text("123\n")
    (tmp_path / ".config.yaml.tmp").write_text("game: ")
    assert RunFolder.create(tmp_path, config).config == config


@pytest.mark.parametrize("below", [False, True])
def test_a_file_is_no_folder(tmp_path: Path, config: TrainConfig, below: bool) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(RunError, match="cannot be written"):
        RunFolder.create(file / "run" if below else file, config)
    assert file.read_text() == "precious"


def test_opening_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no run"):
        RunFolder.open(tmp_path)
    with pytest.raises(RunError, match="no such folder"):
        RunFolder.open(tmp_path / "absent")
    (tmp_path / "config.yaml").write_text("game: [")
    with pytest.raises(ConfigError, match=r"config.yaml: not valid YAML"):
        RunFolder.open(tmp_path)


def test_resuming_cuts_the_metrics_back(folder: RunFolder) -> None:
    with folder.lock():
        for iteration in (1, 2, 3):
            folder.append(make_report(iteration))
            if iteration == 2:
                folder.save_checkpoint(make_checkpoint(2))
        assert_same(folder.load_checkpoint(State), make_checkpoint(2))
        assert folder.reports() == [make_report(1), make_report(2)]
        folder.append(make_report(3, nodes=7))
    assert [report.nodes for report in folder.reports()] == [100, 100, 7]


def test_resuming_without_a_checkpoint_starts_from_scratch(
    folder: RunFolder, caplog: pytest.LogCaptureFixture
) -> None:
    with folder.lock():
        assert folder.load_checkpoint(State) is None
        assert not caplog.text
        folder.append(make_report(1))
        assert folder.load_checkpoint(State) is None
    assert folder.reports() == []
    assert f"{folder.path}: no checkpoint; training begins anew" in caplog.text


@pytest.mark.parametrize("cut", [1, 50, -1])
def test_a_torn_line_is_repaired(folder: RunFolder, cut: int) -> None:
    metrics = folder.path / "metrics.jsonl"
    with folder.lock():
        for iteration in (1, 2):
            folder.append(make_report(iteration))
            folder.save_checkpoint(make_checkpoint(iteration))
        whole = metrics.stat().st_size
        folder.append(make_report(3))
        size = metrics.stat().st_size
        os.truncate(metrics, whole + cut if cut > 0 else size + cut)
        assert folder.reports() == [make_report(1), make_report(2)]
        folder.load_checkpoint(State)
        folder.append(make_report(3))
    assert [report.iteration for report in folder.reports()] == [1, 2, 3]


def test_rubbish_beyond_the_checkpoint_is_dropped(folder: RunFolder) -> None:
    with folder.lock():
        folder.append(make_report(1))
        folder.save_checkpoint(make_checkpoint(1))
        with open(folder.path / "metrics.jsonl", "ab") as file:
            file.write(b"\0" * 100 + b"\n")
        folder.load_checkpoint(State)
    assert folder.reports() == [make_report(1)]


def test_a_damaged_line_is_named(folder: RunFolder) -> None:
    with folder.lock():
        for iteration in (1, 2, 3):
            folder.append(make_report(iteration))
    metrics = folder.path / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes().replace(b'"iteration":2', b'"iteration":x'))
    with pytest.raises(RunError, match=r"metrics.jsonl: line 2 is damaged"):
        folder.reports()


def test_a_damaged_checkpoint_is_reported(
    folder: RunFolder, caplog: pytest.LogCaptureFixture
) -> None:
    with folder.lock():
        for iteration in (1, 2):
            folder.append(make_report(iteration))
            folder.save_checkpoint(make_checkpoint(iteration))
        (folder.path / "checkpoints/00000002/state.msgpack").write_bytes(b"")
        with caplog.at_level(logging.WARNING):
            assert_same(folder.load_checkpoint(State), make_checkpoint(1))
    assert "00000002: damaged: state.msgpack fails its checksum" in caplog.text
    assert [report.iteration for report in folder.reports()] == [1]


def test_nothing_changes_if_every_checkpoint_is_damaged(folder: RunFolder) -> None:
    with folder.lock():
        folder.append(make_report(1))
        folder.save_checkpoint(make_checkpoint(1))
        (folder.path / "checkpoints/00000001/state.msgpack").write_bytes(b"")
        with pytest.raises(CheckpointError):
            folder.load_checkpoint(State)
    assert folder.reports() == [make_report(1)]


def test_writing_needs_the_lock(folder: RunFolder) -> None:
    with pytest.raises(RunError, match=r"with folder.lock\(\)"):
        folder.append(make_report(1))
    with pytest.raises(RunError, match=r"with folder.lock\(\)"):
        folder.save_checkpoint(make_checkpoint(1))


def test_a_second_writer_is_refused(folder: RunFolder) -> None:
    with folder.lock():
        with folder.lock():
            pass
        with (
            pytest.raises(RunError, match=f"process {os.getpid()} is training here"),
            RunFolder.open(folder.path).lock(),
        ):
            pass
    with RunFolder.open(folder.path).lock():
        pass


def test_the_lock_of_a_killed_process_is_no_obstacle(folder: RunFolder) -> None:
    script = (
        "import sys, time; from asynccfr.runs import RunFolder\n"
        "with RunFolder.open(sys.argv[1]).lock(): print('held', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, folder.path], stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(RunError, match=f"process {child.pid} is training"), folder.lock():
            pass
        child.send_signal(signal.SIGKILL)
    with folder.lock():
        pass


def test_what_alters_results_cannot_change(folder: RunFolder, config: TrainConfig) -> None:
    solver = msgspec.structs.replace(config.solver, traversals=7)
    with folder.lock():
        with pytest.raises(RunError, match=r"seed \(0, now 1\)"):
            folder.reconfigure(msgspec.structs.replace(config, seed=1))
        with pytest.raises(RunError, match=r"solver.traversals \(1000, now 7\)"):
            folder.reconfigure(msgspec.structs.replace(config, solver=solver))
    assert RunFolder.open(folder.path).config == config


def test_what_leaves_results_alone_may_change(folder: RunFolder, config: TrainConfig) -> None:
    changed = msgspec.structs.replace(
        config,
        solver=msgspec.structs.replace(config.solver, iterations=7),
        evaluation=Evaluation(opponents=("random",)),
        run=Run(checkpoint_every=3),
    )
    with folder.lock():
        folder.save_checkpoint(make_checkpoint(1))
        folder.reconfigure(changed)
        assert_same(folder.load_checkpoint(State), make_checkpoint(1))
    assert RunFolder.open(folder.path).config == changed


class Agent:
    def __init__(self, content: bytes) -> None:
        self.content = content

    def save_bytes(self) -> bytes:
        return self.content


def test_an_agent_is_replaced_whole_or_not_at_all(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with folder.lock():
        folder.save_agent(Agent(b"first"))
        monkeypatch.setattr(os, "fsync", failing_fsync)
        with pytest.raises(RunError, match="make room"):
            folder.save_agent(Agent(b"second"))
        monkeypatch.undo()
        assert folder.agent.read_bytes() == b"first"
        assert not [file.name for file in folder.path.iterdir() if file.suffix == ".tmp"]
        folder.save_agent(Agent(b"second"))
    assert folder.agent.read_bytes() == b"second"


def failing_fsync(descriptor: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_configuration_of_a_later_version_says_so(folder: RunFolder) -> None:
    path = folder.path / "config.yaml"
    path.write_text(f"# asynccfr 7.1.0\ndreams: true\n{path.read_text()}")
    with pytest.raises(ConfigError, match=r"dreams: unknown field.*asynccfr 7\.1\.0 wrote it"):
        RunFolder.open(folder.path)
    path.write_text(f"# asynccfr {__version__}\ngame: [")
    with pytest.raises(ConfigError, match=r"not valid YAML[^;]*$"):
        RunFolder.open(folder.path)
