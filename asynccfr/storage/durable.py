"""Writing that survives a crash: whatever carries its final name is complete and on the disk."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from asynccfr.errors import RunError

TEMPORARY = ".tmp"


def temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}{TEMPORARY}")


def is_temporary(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(TEMPORARY)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_synced(path: Path, chunks: Iterable[bytes | memoryview]) -> str:
    """Write a file, wait until it is on the disk, and return the BLAKE2b digest of its content."""
    digest = hashlib.blake2b()
    with open(path, "wb", buffering=0) as file:
        for chunk in chunks:
            digest.update(chunk)
            write_all(file.fileno(), chunk)
        os.fsync(file.fileno())
    return digest.hexdigest()


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write every byte: the system may take fewer at a time, as just before a disk is full."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def replace_file(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Create or replace a file: at every moment it is wholly the old or wholly the new one."""
    temporary = temporary_name(path)
    try:
        write_synced(temporary, chunks)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextmanager
def explained(path: Path, way_out: str) -> Iterator[None]:
    """Turn an OSError met while writing `path` into a RunError that says what to do."""
    try:
        yield
    except RunError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunError(f"{path}: cannot be written: {reason}; {way_out}") from error
