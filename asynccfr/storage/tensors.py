"""The safetensors format, streamed: arrays go to disk from where they lie and come back mapped.

A file is the length of its header (8 bytes), the header (JSON) and the data. The library's own
writer takes a file name, so that its bytes could be neither hashed nor synced on their way out.
"""

from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from asynccfr.storage.opening import open_regular

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
LARGEST_HEADER = 1 << 20
MOST_DIMENSIONS = 8

Size = Annotated[int, Meta(ge=0, le=2**62)]


class Entry(msgspec.Struct):
    """Where an array's data lies, in bytes from the end of the header."""

    dtype: str
    shape: tuple[Size, ...]
    data_offsets: tuple[Size, Size]


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
    Raises ValueError if the file is damaged or holds other kinds of items, and OSError if it is no
    regular file.
    """
    with open_regular(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, LARGEST_HEADER):
            raise ValueError(f"a header of {length} bytes in a file of {size}")
        entries, metadata = _decoded(file.read(length))
        first = 8 + length
        data = np.asarray(np.memmap(file, np.uint8, "c", first)) if size > first else _NOTHING
    arrays, end = {}, 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
        arrays[name] = _array(name, entry, data, end)
        end = entry.data_offsets[1]
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes that belong to no array")
    return arrays, metadata


_NOTHING = np.empty(0, np.uint8)


def _decoded(header: bytes) -> tuple[dict[str, Entry], dict[str, str]]:
    try:
        raw = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        metadata = msgspec.json.decode(raw.pop("__metadata__", b"{}"), type=dict[str, str])
        return {name: msgspec.json.decode(each, type=Entry) for name, each in raw.items()}, metadata
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"its header cannot be read: {error}") from None


def _array(name: str, entry: Entry, data: Array, expected_start: int) -> Array:
    """The array of an entry, whose data must follow that of the one before it."""
    start, end = entry.data_offsets
    if entry.dtype not in CODES:
        raise ValueError(f"array {name}: of type {entry.dtype}, expected one of {', '.join(CODES)}")
    dtype = np.dtype(CODES[entry.dtype])
    if start != expected_start or not start <= end <= len(data):
        raise ValueError(f"array {name}: bytes {start} to {end}, of {len(data)}, are not its own")
    if len(entry.shape) > MOST_DIMENSIONS or prod(entry.shape) * dtype.itemsize != end - start:
        raise ValueError(f"array {name}: {end - start} bytes for a shape of {list(entry.shape)}")
    array = data[start:end]
    if array.ctypes.data % dtype.itemsize:  # foreign files: compiled code needs it aligned
        array = array.copy()
    return array.view(dtype).reshape(entry.shape)
