"""Reservoirs: uniform, aligned, independent of block sizes, exactly resumable."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asynccfr.errors import CheckpointError, ConfigError
from asynccfr.learning.reservoir import Reservoir, Samples

QUANTUM = 0.25


def reservoir(capacity: int, quantum: float = QUANTUM) -> Reservoir:
    return Reservoir(capacity, tensor_size=4, max_legal_actions=3, tensor_quantum=quantum)


def samples(ids: np.ndarray) -> Samples:
    """Samples whose every field tells which one it is, with two or three legal actions."""
    ids = np.asarray(ids, np.int64)
    features = (ids[:, None] >> np.array([0, 8, 16, 24])).astype(np.uint8)
    actions = np.stack([ids % 5, 5 + ids % 7, np.where(ids % 2, 12 + ids % 3, -1)], axis=1)
    values = np.where(actions >= 0, ids[:, None] + np.array([0.0, 0.25, 0.5]), 0)
    return Samples(
        features, actions.astype(np.int16), values.astype(np.float32), ids.astype(np.float32)
    )


def ids_in(columns: dict[str, np.ndarray]) -> np.ndarray:
    """The ids of held samples, after a check that every field of a row belongs to its id."""
    ids = (columns["features"].astype(np.int64) << np.array([0, 8, 16, 24])).sum(axis=1)
    for name, expected in samples(ids)._asdict().items():
        np.testing.assert_array_equal(columns[name], expected, err_msg=name)
    return ids


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_every_sample_ever_seen_survives_with_the_same_probability() -> None:
    capacity, seen, runs, groups = 60, 600, 400, 10
    survivors = np.zeros(groups)
    for run in range(runs):
        held, rng = reservoir(capacity), generator(run)
        for block in np.array_split(np.arange(seen), 7):
            held.extend(samples(block), 1, rng)
        survivors += np.bincount(ids_in(held.columns()) * groups // seen, minlength=groups)
    expected = capacity * runs / groups
    chi_square = ((survivors - expected) ** 2 / expected).sum()
    assert chi_square < 27.9, survivors  # p = 0.001 at 9 degrees of freedom


def test_no_two_rows_of_a_full_reservoir_hold_one_sample() -> None:
    held = reservoir(500)
    held.extend(samples(np.arange(20_000)), 1, generator())
    assert len(np.unique(ids_in(held.columns()))) == 500


def test_fields_stay_aligned_through_hundreds_of_thousands_of_replacements() -> None:
    held, rng = reservoir(200_000), generator()
    for iteration, block in enumerate(np.arange(3_000_000).reshape(20, -1), start=1):
        held.extend(samples(block), iteration, rng)
    columns = held.columns()
    ids = ids_in(columns)
    np.testing.assert_array_equal(columns["iterations"], 1 + ids // 150_000)
    assert (ids >= 200_000).mean() == pytest.approx(14 / 15, abs=0.01)


@given(
    capacity=st.integers(1, 40),
    seen=st.integers(0, 120),
    cuts=st.lists(st.integers(0, 120), max_size=8),
)
def test_the_cut_of_the_stream_into_blocks_changes_nothing(
    capacity: int, seen: int, cuts: list[int]
) -> None:
    whole, cut, rng = reservoir(capacity), reservoir(capacity), generator()
    whole.extend(samples(np.arange(seen)), 3, generator())
    for block in np.split(np.arange(seen), sorted(cuts)):
        cut.extend(samples(block), 3, rng)
    assert len(cut) == min(seen, capacity)
    assert cut.seen == seen
    for name, column in whole.columns().items():
        np.testing.assert_array_equal(cut.columns()[name], column, err_msg=name)


def test_batches_are_aligned_and_in_the_units_of_the_game() -> None:
    held, rng = reservoir(1000), generator()
    for iteration in range(1, 6):
        held.extend(samples(1000 * iteration + np.arange(1000)), iteration, rng)
    batch = held.batch(rng, 4096)
    ids = batch.weights.numpy().astype(np.int64)
    expected = samples(ids)
    np.testing.assert_array_equal(batch.features, expected.features * np.float32(QUANTUM))
    np.testing.assert_array_equal(batch.legal, expected.actions >= 0)
    np.testing.assert_array_equal(batch.actions, expected.actions.clip(min=0))
    np.testing.assert_array_equal(batch.values, expected.values)
    np.testing.assert_array_equal(batch.iterations, ids // 1000)
    assert [str(column.dtype) for column in batch] == [
        *("torch.float32", "torch.int64", "torch.bool"),
        *("torch.float32", "torch.float32", "torch.float32"),
    ]


def test_batches_draw_every_held_sample_equally() -> None:
    held = reservoir(10)
    held.extend(samples(np.arange(10)), 1, generator())
    counts = np.bincount(held.batch(generator(), 10_000).weights.numpy().astype(int), minlength=10)
    assert ((counts - 1000) ** 2 / 1000).sum() < 27.9, counts


def test_rows_never_written_are_never_in_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "empty", lambda shape, dtype: np.full(shape, 77, dtype))
    held = reservoir(1000)
    monkeypatch.undo()
    held.extend(samples(np.arange(3)), 1, generator())
    assert set(held.batch(generator(), 5000).weights.tolist()) == {0.0, 1.0, 2.0}


def test_features_of_a_game_with_a_quantum_are_stored_alike_from_floats_and_bytes() -> None:
    stored, quantised = reservoir(256, quantum=0.1), reservoir(256, quantum=0.1)
    block = samples(np.arange(256))
    stored.extend(block, 1, generator())
    floats = (block.features * 0.1).astype(np.float32)
    quantised.extend(block._replace(features=floats), 1, generator())
    np.testing.assert_array_equal(quantised.columns()["features"], stored.columns()["features"])
    assert quantised.columns()["features"].dtype == np.uint8


def test_features_of_a_game_without_quantum_are_kept_as_floats() -> None:
    held = reservoir(8, quantum=0.0)
    features = generator().normal(size=(8, 4)).astype(np.float32)
    held.extend(samples(np.arange(8))._replace(features=features), 1, generator())
    batch = held.batch(generator(), 64)
    np.testing.assert_array_equal(batch.features, features[batch.weights.numpy().astype(int)])


@pytest.mark.parametrize("before", [0, 7, 20, 300])
def test_a_restored_reservoir_goes_on_exactly(before: int) -> None:
    original, restored = reservoir(20), reservoir(20)
    original.extend(samples(np.arange(before)), 1, generator(1))
    restored.restore({name: column.copy() for name, column in original.columns().items()})
    for held in (original, restored):
        held.extend(samples(np.arange(before, 500)), 2, generator(2))
    assert restored.seen == original.seen == 500
    for name, column in original.columns().items():
        np.testing.assert_array_equal(restored.columns()[name], column, err_msg=name)


def test_columns_are_views() -> None:
    held = reservoir(100)
    held.extend(samples(np.arange(10)), 1, generator())
    first, again = held.columns(), held.columns()
    assert all(np.shares_memory(first[name], again[name]) for name in first if name != "seen")
    assert held.nbytes == sum(column.nbytes for name, column in first.items() if name != "seen")


def test_a_checkpoint_of_another_shape_is_refused_and_nothing_changes() -> None:
    saved, held = reservoir(50), reservoir(100)
    saved.extend(samples(np.arange(200)), 1, generator())
    held.extend(samples(np.arange(10)), 1, generator())
    with pytest.raises(CheckpointError, match=r"column features: uint8 \[50, 4\], expected"):
        held.restore(saved.columns())
    with pytest.raises(CheckpointError, match="column weights is missing"):
        held.restore({name: held.columns()[name] for name in ("features", "actions", "values")})
    assert list(ids_in(held.columns())) == list(range(10))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("weights", lambda column: column[:-1]),
        ("features", lambda column: column[:, :-1]),
        ("actions", lambda column: column.astype(np.int64)),
        ("values", lambda column: column.astype(np.float64)),
        ("features", lambda column: column.astype(np.float64)),
    ],
)
def test_misaligned_or_mistyped_samples_are_refused(field: str, change) -> None:
    held, block = reservoir(100), samples(np.arange(10))
    with pytest.raises(ValueError, match=r"samples\.\w+: .* expected"):
        held.extend(block._replace(**{field: change(getattr(block, field))}), 1, generator())
    assert held.seen == 0


def test_a_weight_of_zero_iterations_is_refused() -> None:
    with pytest.raises(ValueError, match="iteration=0: expected at least 1"):
        reservoir(5).extend(samples(np.arange(1)), 0, generator())


def test_an_empty_reservoir_gives_no_batch() -> None:
    with pytest.raises(ValueError, match="the reservoir is empty"):
        reservoir(5).batch(generator(), 1)


@pytest.mark.parametrize("capacity", [0, -1, 10**13, 10**30])
def test_a_capacity_that_no_machine_has_is_refused(capacity: int) -> None:
    with pytest.raises(ConfigError, match=f"memory={capacity}: expected"):
        reservoir(capacity)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_taken_by_samples_and_not_by_capacity() -> None:
    def resident_bytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    before = resident_bytes()
    held = Reservoir(2_000_000, tensor_size=400, max_legal_actions=3, tensor_quantum=1.0)
    block = samples(np.arange(100))
    held.extend(block._replace(features=np.zeros((100, 400), np.uint8)), 1, generator())
    assert resident_bytes() - before < 50_000_000
