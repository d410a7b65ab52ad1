"""Headers that a stranger may have written."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asynccfr.storage import tensors


def write(path: Path, header: Any, data: bytes = bytes(16)) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(dtype: Any = "F32", shape: Any = (4,), offsets: Any = (0, 16)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


BAD = {
    "an unknown type": {"a": entry("BF16")},
    "a negative size": {"a": entry(shape=(-1,))},
    "two negative sizes": {"a": entry(shape=(-2, -2))},
    "a huge size": {"a": entry(shape=(2**62, 2**62))},
    "nothing of huge": {"a": entry(shape=(0, 2**62, 2**62), offsets=(0, 0))},
    "many dimensions": {"a": entry(shape=(1,) * 100 + (4,))},
    "another size": {"a": entry(shape=(3,))},
    "beyond the end": {"a": entry(shape=(8,), offsets=(0, 32))},
    "backwards": {"a": entry(offsets=(16, 0))},
    "a gap": {"a": entry(shape=(2,), offsets=(8, 16))},
    "a rest": {"a": entry(shape=(2,), offsets=(0, 8))},
    "an overlap": {"a": entry(), "b": entry()},
    "floats": {"a": entry(shape=(4.5,))},
    "no offsets": {"a": {"dtype": "F32", "shape": [4]}},
    "no table": {"a": 3},
    "metadata that are none": {"__metadata__": None, "a": entry()},
    "metadata of numbers": {"__metadata__": {"a": 1}, "a": entry()},
    "a list": [],
    "no JSON": b"{",
    "no text": b"\xff\xfe{}",
    "nested deeply": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("header", BAD.values(), ids=BAD)
def test_bad_headers(tmp_path: Path, header: Any) -> None:
    with pytest.raises(ValueError, match=r"array|header|bytes"):
        tensors.read(write(tmp_path / "file", header))


@pytest.mark.parametrize("length", [0, 1, 2**20 + 1, 2**31, 2**63, 2**64 - 1])
def test_bad_lengths_of_the_header(tmp_path: Path, length: int) -> None:
    (tmp_path / "file").write_bytes(length.to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match="a header of"):
        tensors.read(tmp_path / "file")


def test_a_header_that_shifts_the_data_is_read_aligned(tmp_path: Path) -> None:
    values = np.arange(4, dtype=np.float32)
    for spaces in range(8):
        header = json.dumps({"a": entry()}).encode() + b" " * spaces
        arrays, _ = tensors.read(write(tmp_path / "file", header, values.tobytes()))
        assert arrays["a"].flags.aligned
        np.testing.assert_array_equal(arrays["a"], values)
