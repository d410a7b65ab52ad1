from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asynccfr.config import Network
from asynccfr.errors import CheckpointError, RunError
from asynccfr.runs import AgentCard, RunFolder, load_agent, save_agent

CARD = AgentCard(game="kuhn", kind="average_strategy", network=Network(width=4), iterations=3)
ARRAYS = {"layers.0.weight": np.ones((4, 7), np.float32), "layers.0.bias": np.zeros(4, np.float32)}


def test_an_agent_is_one_file_that_needs_nothing_else(folder: RunFolder, tmp_path: Path) -> None:
    with folder.lock():
        folder.save_agent(CARD, ARRAYS)
    moved = (folder.path / "agent.safetensors").rename(tmp_path / "champion.safetensors")
    card, arrays = load_agent(moved)
    assert card == CARD
    assert arrays.keys() == ARRAYS.keys()
    np.testing.assert_array_equal(arrays["layers.0.weight"], ARRAYS["layers.0.weight"])


def test_a_run_folder_stands_for_its_agent(folder: RunFolder) -> None:
    with pytest.raises(RunError, match="no such agent; a run writes it when it ends"):
        load_agent(folder.path)
    with folder.lock():
        folder.save_agent(CARD, ARRAYS)
    assert load_agent(folder.path)[0] == CARD


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 8))
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_damage_is_noticed(tmp_path: Path, place: float, bit: int) -> None:
    """Bit 0 to 7 is flipped at `place`; 8 stands for truncation there."""
    path = tmp_path / "agent.safetensors"
    save_agent(path, CARD, ARRAYS)
    data = bytearray(path.read_bytes())
    position = int(place * len(data))
    if bit == 8:
        del data[position:]
    else:
        data[position] ^= 1 << bit
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"agent\.safetensors"):
        load_agent(path)


def test_another_file_is_not_an_agent(tmp_path: Path) -> None:
    safetensors.numpy.save_file({"a": np.ones(3)}, tmp_path / "other.safetensors")
    with pytest.raises(CheckpointError, match="not an agent"):
        load_agent(tmp_path / "other.safetensors")


def test_an_agent_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "agent.safetensors"
    save_agent(path, CARD, ARRAYS)
    with pytest.raises(TypeError):
        save_agent(path, CARD, {"bad": np.array([None])})
    assert load_agent(path)[0] == CARD
    assert [file.name for file in tmp_path.iterdir()] == ["agent.safetensors"]
