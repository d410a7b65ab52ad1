import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from asynccfr.storage import tensors
from asynccfr.storage.durable import write_synced

DTYPES = [np.dtype(code) for code in tensors.NAMES]
any_arrays = st.dictionaries(
    st.text(min_size=1, max_size=8).filter(lambda name: name != "__metadata__"),
    arrays_of.arrays(
        st.sampled_from(DTYPES), arrays_of.array_shapes(min_dims=0, min_side=0, max_side=4)
    ),
    max_size=5,
)


@given(any_arrays)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_library_and_we_read_what_we_write(tmp_path: Path, arrays: dict) -> None:
    path = tmp_path / "file.safetensors"
    write_synced(path, tensors.encode(arrays, {"answer": "42"}))
    ours, metadata = tensors.read(path)
    theirs = safetensors.numpy.load_file(path)
    assert metadata == {"answer": "42"}
    for found in (ours, theirs):
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            np.testing.assert_array_equal(found[name], array)


def test_we_read_what_the_library_writes(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {
        "a": np.arange(6, dtype=np.int16).reshape(2, 3),
        "b": np.ones(1, np.float64),
    }
    safetensors.numpy.save_file(arrays, tmp_path / "file")
    found, metadata = tensors.read(tmp_path / "file")
    assert metadata == {}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_writing_needs_no_second_copy(tmp_path: Path) -> None:
    arrays = {"big": np.zeros((16, 1 << 20), np.float32)}
    tracemalloc.start()
    try:
        write_synced(tmp_path / "file", tensors.encode(arrays))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < arrays["big"].nbytes / 50


def test_strided_arrays_are_stored_as_they_look(tmp_path: Path) -> None:
    array = np.arange(24).reshape(4, 6)[::2, ::-3]
    write_synced(tmp_path / "file", tensors.encode({"a": array}))
    np.testing.assert_array_equal(tensors.read(tmp_path / "file")[0]["a"], array)


def test_changing_a_read_array_leaves_the_file_alone(tmp_path: Path) -> None:
    write_synced(tmp_path / "file", tensors.encode({"a": np.zeros(3)}))
    tensors.read(tmp_path / "file")[0]["a"][:] = 1
    assert not tensors.read(tmp_path / "file")[0]["a"].any()


@pytest.mark.parametrize("dtype", ["object", "complex64", ">f4", "U3", "datetime64[s]"])
def test_other_types_are_refused(dtype: str) -> None:
    with pytest.raises(TypeError, match="array a"):
        list(tensors.encode({"a": np.zeros(2).astype(dtype)}))
