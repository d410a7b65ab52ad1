"""The safetensors format, streamed: arrays go to disk from where they lie and come back mapped.

A file is the length of its header (8 bytes), the header (JSON) and the data. The library's own
writer takes a file name, so that its bytes could be neither hashed nor synced on their way out.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

CODES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
NAMES = {code: name for name, code in CODES.items()}
CHUNK = 1 << 22


class Entry(msgspec.Struct):
    """Where an array's data lies, in bytes from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def encode(
    arrays: Mapping[str, Array], metadata: Mapping[str, str] | None = None
) -> Iterator[bytes | memoryview]:
    """The bytes of a file, a few megabytes at a time; C-contiguous arrays are not copied.

    Raises TypeError for an array whose items are not little-endian numbers or truth values.
    """
    # Wide items first: every array is then aligned in the file.
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Entry | Mapping[str, str]] = {"__metadata__": metadata} if metadata else {}
    start = 0
    for name in order:
        array = arrays[name]
        if array.dtype.str not in NAMES:
            raise TypeError(f"array {name}: items of type {array.dtype} cannot be stored")
        end = start + array.nbytes
        header[name] = Entry(NAMES[array.dtype.str], array.shape, (start, end))
        start = end
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        data = np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data
        for offset in range(0, len(data), CHUNK):
            yield data[offset : offset + CHUNK]


def read(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays and metadata of a file.

    The arrays are private maps of the file: paged in when used, and changes are not written back.
    Raises ValueError (msgspec.DecodeError is one) if the file is damaged.
    """
    size = path.stat().st_size
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= size - 8:
            raise ValueError(f"a header of {length} bytes in a file of {size}")
        header = msgspec.json.decode(file.read(length), type=dict[str, msgspec.Raw])
    metadata = msgspec.json.decode(header.pop("__metadata__", b"{}"), type=dict[str, str])
    first = 8 + length
    data = np.asarray(np.memmap(path, np.uint8, "c", first)) if size > first else np.empty(0, "u1")
    arrays = {}
    for name, raw in header.items():
        entry = msgspec.json.decode(raw, type=Entry)
        start, end = entry.data_offsets
        if entry.dtype not in CODES or not 0 <= start <= end <= len(data):
            raise ValueError(f"array {name} is of an unknown type or lies outside the file")
        arrays[name] = data[start:end].view(CODES[entry.dtype]).reshape(entry.shape)
    return arrays, metadata
