import sys
from pathlib import Path

import pytest

from asynccfr.cli import main
from asynccfr.runs import plots
from tests.cli import fake_training
from tests.cli.command_line import Result, Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in this process, with `fake_training` for a trainer and no plots."""
    monkeypatch.setattr(plots, "plot_learning_curves", lambda reports, path: None)
    monkeypatch.setitem(sys.modules, "asynccfr.training", fake_training)

    def run(*arguments: str | Path) -> Result:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        return Result(status, *capsys.readouterr())

    return run


@pytest.fixture
def kuhn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration file, in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kuhn.yaml"
    path.write_text("game: kuhn_poker\nsolver: {iterations: 4}\n")
    return path.relative_to(tmp_path)
