import sys
from pathlib import Path

import pytest

from asynccfr.config import Run, TrainConfig
from asynccfr.errors import MissingPackage
from asynccfr.runs import RunFolder
from tests.runs.run_samples import make_report

CONFIG = TrainConfig(game="kuhn_poker", run=Run(tensorboard=True))


def test_numbers_reach_tensorboard(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with RunFolder.create(tmp_path / "run", CONFIG).lock() as folder:
        for iteration in (1, 2):
            folder.append(make_report(iteration, nodes=10 * iteration))
    events = accumulator.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("nodes")] == [(1, 10), (2, 20)]
    assert events.Scalars("fits/advantage, player 1/loss_last")[0].value == 1
    assert events.Scalars("nodes_per_second")[1].value == 40


def test_without_it_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingPackage, match=r"pip install 'asynccfr\[tensorboard\]'"):
        RunFolder.create(tmp_path / "run", CONFIG)
    assert not (tmp_path / "run").exists()
