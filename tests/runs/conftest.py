from pathlib import Path

import pytest

from asynccfr.config import TrainConfig
from asynccfr.runs import RunFolder


@pytest.fixture
def config() -> TrainConfig:
    return TrainConfig(game="kuhn_poker")


@pytest.fixture
def folder(tmp_path: Path, config: TrainConfig) -> RunFolder:
    return RunFolder.create(tmp_path / "run", config)
