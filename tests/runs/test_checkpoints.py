import errno
import os
import resource
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asynccfr.config import TrainConfig
from asynccfr.errors import CheckpointError, RunError
from asynccfr.runs import Checkpoint, RunFolder
from asynccfr.runs.checkpoints import CheckpointStore
from tests.runs.run_samples import State, assert_same, make_checkpoint

FILES = ["arrays.safetensors", "state.msgpack", "manifest.json"]


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "checkpoints")


def snapshot(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()
    }


def test_what_was_saved_comes_back(store: CheckpointStore, config: TrainConfig) -> None:
    assert store.load(State, config) is None
    store.save(make_checkpoint(1), config)
    assert_same(store.load(State, config), make_checkpoint(1))


def test_the_newest_two_are_kept(store: CheckpointStore, config: TrainConfig) -> None:
    for iteration in (1, 2, 5, 8):
        store.save(make_checkpoint(iteration), config)
    assert store.iterations() == [5, 8]
    assert_same(store.load(State, config), make_checkpoint(8))


@pytest.mark.parametrize("following", [13, 20, 25])
def test_pruning_keeps_the_good_one_rather_than_the_damaged(
    store: CheckpointStore, config: TrainConfig, following: int
) -> None:
    store.save(make_checkpoint(10), config)
    store.save(make_checkpoint(20), config)
    (store.path / "00000020" / FILES[0]).write_bytes(b"")
    resumed = CheckpointStore(store.path)
    assert_same(resumed.load(State, config), make_checkpoint(10))
    resumed.save(make_checkpoint(following), config)
    assert resumed.iterations() == [10, following]


def test_an_iteration_can_be_saved_again(store: CheckpointStore, config: TrainConfig) -> None:
    store.save(make_checkpoint(1), config)
    store.save(make_checkpoint(2), config)
    store.save(make_checkpoint(2, size=7), config)
    assert_same(store.load(State, config), make_checkpoint(2, size=7))
    assert store.iterations() == [1, 2]


@given(st.sampled_from(FILES), st.floats(0, 1, exclude_max=True), st.integers(0, 8))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_damaged_newest_checkpoint_gives_way_to_the_previous(
    tmp_path: Path, name: str, place: float, bit: int
) -> None:
    """Bit 0 to 7 is flipped at `place`; 8 stands for truncation there."""
    config = TrainConfig(game="kuhn_poker")
    whole = CheckpointStore(tmp_path / "whole")
    if not whole.iterations():
        whole.save(make_checkpoint(1, 20), config)
        whole.save(make_checkpoint(2, 20), config)
    store = CheckpointStore(tmp_path / "checkpoints")
    shutil.rmtree(store.path, ignore_errors=True)
    shutil.copytree(whole.path, store.path)
    damage(store.path / "00000002" / name, place, bit)
    assert_same(store.load(State, config), make_checkpoint(1, 20))
    assert len(store.damaged) == 1
    damage(store.path / "00000001" / name, place, bit)
    before = snapshot(store.path)
    with pytest.raises(CheckpointError, match="no good checkpoint is left"):
        store.load(State, config)
    assert snapshot(store.path) == before


def damage(path: Path, place: float, bit: int) -> None:
    data = bytearray(path.read_bytes())
    position = int(place * len(data))
    if bit == 8:
        del data[position:]
    else:
        data[position] ^= 1 << bit
    path.write_bytes(data)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_damage(store: CheckpointStore, config: TrainConfig, name: str) -> None:
    store.save(make_checkpoint(1), config)
    store.save(make_checkpoint(2), config)
    (store.path / "00000002" / name).unlink()
    assert_same(store.load(State, config), make_checkpoint(1))
    assert name in store.damaged[0]


def test_a_renamed_checkpoint_is_damage(store: CheckpointStore, config: TrainConfig) -> None:
    store.save(make_checkpoint(1), config)
    (store.path / "00000001").rename(store.path / "00000009")
    with pytest.raises(CheckpointError, match="holds iteration 1"):
        store.load(State, config)


def test_another_game_is_named(store: CheckpointStore, config: TrainConfig) -> None:
    store.save(make_checkpoint(1), config)
    with pytest.raises(CheckpointError, match=r"differs in game \(kuhn_poker, now leduc_poker\)"):
        store.load(State, msgspec.structs.replace(config, game="leduc_poker"))


def test_another_state_is_a_matter_of_versions(store: CheckpointStore, config: TrainConfig) -> None:
    class Other(msgspec.Struct):
        wholly: int

    store.save(make_checkpoint(1), config)
    with pytest.raises(CheckpointError, match="another version"):
        store.load(Other, config)


def test_leftovers_of_a_killed_save_are_no_checkpoint(
    store: CheckpointStore, config: TrainConfig
) -> None:
    store.save(make_checkpoint(1), config)
    shutil.copytree(store.path / "00000001", store.path / ".00000002.tmp")
    assert_same(store.load(State, config), make_checkpoint(1))
    store.save(make_checkpoint(2), config)
    assert sorted(os.listdir(store.path)) == ["00000001", "00000002"]


@pytest.mark.parametrize("room", [0, 10_000, 1_000_000])
def test_a_full_disk_leaves_the_last_checkpoint(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    real, left = os.write, room

    def write(descriptor: int, data: memoryview) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = real(descriptor, data[:left])
        left -= count
        return count

    with folder.lock():
        folder.save_checkpoint(make_checkpoint(1))
        before = snapshot(folder.path)
        monkeypatch.setattr(os, "write", write)
        with pytest.raises(RunError, match=r"No space left .*: make room, .* --resume"):
            folder.save_checkpoint(make_checkpoint(2, size=60_000))
        monkeypatch.undo()
        assert snapshot(folder.path) == before
        assert_same(folder.load_checkpoint(State), make_checkpoint(1))


def test_a_file_size_limit_leaves_the_last_checkpoint(folder: RunFolder) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with folder.lock():
        folder.save_checkpoint(make_checkpoint(1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        try:
            with pytest.raises(RunError, match="File too large"):
                folder.save_checkpoint(make_checkpoint(2, size=60_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert_same(folder.load_checkpoint(State), make_checkpoint(1))


def test_an_array_that_cannot_be_stored_leaves_the_last_checkpoint(folder: RunFolder) -> None:
    with folder.lock():
        folder.save_checkpoint(make_checkpoint(1))
        bad = Checkpoint(2, {"a": np.array([None])}, State("x"))
        with pytest.raises(TypeError, match="array a"):
            folder.save_checkpoint(bad)
        assert_same(folder.load_checkpoint(State), make_checkpoint(1))
