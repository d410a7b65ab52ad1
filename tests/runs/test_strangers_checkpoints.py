"""Checkpoints of a stranger, or of another version: whatever they say, an error that says why."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from asynccfr.config import TrainConfig
from asynccfr.errors import CheckpointError
from asynccfr.games import load_game
from asynccfr.runs.checkpoints import ARRAYS, MANIFEST, STATE, CheckpointStore
from asynccfr.solvers import make_solver
from tests.runs.run_samples import State, assert_same, make_checkpoint
from tests.solvers.small import small_config

PARTS = [ARRAYS, STATE, MANIFEST]


@pytest.fixture
def store(tmp_path: Path, config: TrainConfig) -> CheckpointStore:
    store = CheckpointStore(tmp_path / "checkpoints")
    store.save(make_checkpoint(1), config)
    store.save(make_checkpoint(2), config)
    return store


def rewrite(store: CheckpointStore, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the newest checkpoint's manifest, and seal it again."""
    path = store.path / "00000002" / MANIFEST
    manifest = msgspec.json.decode(path.read_bytes())["manifest"]
    change(manifest)
    text = msgspec.json.encode(manifest)
    seal = {"manifest": msgspec.Raw(text), "blake2b": hashlib.blake2b(text).hexdigest()}
    path.write_bytes(msgspec.json.encode(seal))


def test_a_manifest_has_no_other_file_opened(store: CheckpointStore, config: TrainConfig) -> None:
    rewrite(store, lambda manifest: manifest["blake2b"].update({"/dev/zero": "", "../a": ""}))
    assert_same(store.load(State, config), make_checkpoint(2))
    rewrite(store, lambda manifest: manifest.update(blake2b={}))
    assert_same(store.load(State, config), make_checkpoint(1))


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "nothing"])
@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_no_file_is_damage(
    store: CheckpointStore, config: TrainConfig, name: str, kind: str
) -> None:
    path = store.path / "00000002" / name
    path.unlink()
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
    assert_same(store.load(State, config), make_checkpoint(1))
    assert name in store.damaged[0]


def test_a_field_that_the_version_did_not_know_has_its_default(
    store: CheckpointStore, config: TrainConfig
) -> None:
    def older(manifest: dict[str, Any]) -> None:
        del manifest["config"]["solver"]["all_negative"], manifest["config"]["inference"]
        del manifest["version"]

    rewrite(store, older)
    assert_same(store.load(State, config), make_checkpoint(2))
    changed = msgspec.structs.replace(config.solver, all_negative="uniform")
    with pytest.raises(CheckpointError, match=r"all_negative \(highest, now uniform\)"):
        store.load(State, msgspec.structs.replace(config, solver=changed))


def test_a_field_of_a_later_version_is_named(store: CheckpointStore, config: TrainConfig) -> None:
    def newer(manifest: dict[str, Any]) -> None:
        manifest["config"]["solver"]["dreams"] = True
        manifest["version"] = "7.1.0"

    rewrite(store, newer)
    told = r"asynccfr 7\.1\.0 wrote it .* this version.*solver\.dreams: unknown field.*use that"
    with pytest.raises(CheckpointError, match=told):
        store.load(State, config)


SOLVER = small_config(solver__advantage={"memory": 4, "steps": 1, "batch": 2})
MEMORY = "advantage_memory_0"


def columns() -> dict[str, np.ndarray]:
    """What a solver of Kuhn poker would save, with one sample in a reservoir."""
    game = load_game("kuhn_poker")
    saved = dict(make_solver(SOLVER, game).columns())
    size = game.information_state_tensor_size
    kind = np.uint8 if game.tensor_quantum else np.float32
    return saved | {
        f"{MEMORY}.seen": np.array(1, np.int64),
        f"{MEMORY}.features": np.zeros((1, size), kind),
        f"{MEMORY}.actions": np.array([[0, 1]], np.int16),
        f"{MEMORY}.values": np.zeros((1, 2), np.float32),
        f"{MEMORY}.weights": np.ones(1, np.float32),
        f"{MEMORY}.iterations": np.ones(1, np.int32),
    }


BAD = {
    "an action beyond the game's": (f"{MEMORY}.actions", np.array([[0, 2]], np.int16)),
    "an action below padding": (f"{MEMORY}.actions", np.array([[-2, 1]], np.int16)),
    "an iteration of 0": (f"{MEMORY}.iterations", np.zeros(1, np.int32)),
    "a count below 0": (f"{MEMORY}.seen", np.array(-1, np.int64)),
    "counts": (f"{MEMORY}.seen", np.ones(2, np.int64)),
    "a count that is none": (f"{MEMORY}.seen", np.array(1.5)),
    "too many samples": (f"{MEMORY}.seen", np.array(3, np.int64)),
    "values that are not finite": (f"{MEMORY}.values", np.full((1, 2), np.nan, np.float32)),
    "weights that are not finite": (f"{MEMORY}.weights", np.full(1, np.inf, np.float32)),
    "doubles": (f"{MEMORY}.values", np.zeros((1, 2))),
    "a network of doubles": ("advantage_network_0.biases.0", np.zeros(16)),
    "a network that is not finite": (
        "advantage_network_0.biases.0",
        np.full(16, np.nan, np.float32),
    ),
    "a network of another shape": ("advantage_network_0.biases.0", np.zeros(17, np.float32)),
}


@pytest.mark.parametrize(("name", "array"), BAD.values(), ids=BAD)
def test_arrays_that_a_solver_cannot_go_on_from(name: str, array: np.ndarray) -> None:
    solver = make_solver(SOLVER, load_game("kuhn_poker"))
    solver.restore(columns())
    with pytest.raises(CheckpointError, match=name.partition(".")[0]):
        solver.restore(columns() | {name: array})
