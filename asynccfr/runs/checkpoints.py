"""Checkpoints: all that a run needs to continue exactly, kept so that there is always a good one.

    checkpoints/00000012/
    ├── arrays.safetensors   networks and reservoirs
    ├── state.msgpack        the solver's own record
    └── manifest.json        format, iteration, configuration, checksums of the files and of itself

A checkpoint is written beside its final name, synced, then renamed: a folder that carries its final
name is complete. The newest and the previous good one are kept, so saving needs room for three.
"""

import errno
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from asynccfr import __version__
from asynccfr.config import TrainConfig
from asynccfr.config.files import resolve
from asynccfr.errors import CheckpointError, ConfigError
from asynccfr.runs.identity import difference
from asynccfr.storage import tensors
from asynccfr.storage.durable import is_temporary, sync_directory, temporary_name, write_synced
from asynccfr.storage.opening import open_regular, read_regular
from asynccfr.storage.tensors import Array

FORMAT = 1
ARRAYS, STATE, MANIFEST = "arrays.safetensors", "state.msgpack", "manifest.json"
LARGEST_RECORD = 1 << 20

State = TypeVar("State", bound=Struct)


class Checkpoint(Struct, Generic[State], frozen=True):
    """What a solver saves after an iteration.

    Fields:
        iteration: iterations done.
        arrays: arrays by name; read back, they are private maps of the file (see `tensors.read`).
        state: everything else.
    """

    iteration: int
    arrays: dict[str, Array]
    state: State


class Manifest(Struct, frozen=True):
    """Fields: `version` is that of the asynccfr that wrote it; early ones did not say."""

    format: int
    iteration: int
    config: dict[str, Any]
    blake2b: dict[str, str]
    version: str = "unknown"


class Sealed(Struct, frozen=True):
    """A manifest as it is encoded, with the checksum of that."""

    manifest: msgspec.Raw
    blake2b: str


DAMAGE = (errno.ENOENT, errno.EIO, errno.EINVAL, errno.EISDIR, errno.EFBIG, errno.ENOTDIR)
"""What reading a part of a checkpoint that is not what it should be comes to."""


class Damaged(Exception):
    """A checkpoint that cannot be trusted; never leaves this module."""


class CheckpointStore:
    """The checkpoints of one run; `damaged` says what the last `load` had to pass over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged: list[str] = []
        self._good: int | None = None

    def iterations(self) -> list[int]:
        """The iterations that have a checkpoint, good or not, ascending."""
        if not self.path.is_dir():
            return []
        return sorted(int(entry.name) for entry in self.path.iterdir() if entry.name.isdecimal())

    def save(self, checkpoint: Checkpoint[Any], config: TrainConfig) -> None:
        """Write a checkpoint, then remove all but it and the last good one before it.

        Raises OSError if it cannot be written; the earlier ones are then untouched.
        """
        self.path.mkdir(exist_ok=True)
        for entry in filter(is_temporary, self.path.iterdir()):
            shutil.rmtree(entry)
        target = self._folder(checkpoint.iteration)
        temporary = temporary_name(target)
        try:
            temporary.mkdir()
            _write(temporary, checkpoint, config)
            if target.exists():
                shutil.rmtree(target)
            os.rename(temporary, target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        sync_directory(self.path)
        self._prune(checkpoint.iteration)

    def load(self, state: type[State], config: TrainConfig) -> Checkpoint[State] | None:
        """The newest good checkpoint; None if there is none at all.

        Raises CheckpointError if all are damaged, or if one is of another run or program version.
        """
        self.damaged = []
        for iteration in reversed(self.iterations()):
            try:
                checkpoint = _read(self._folder(iteration), iteration, state, config)
            except Damaged as error:
                self.damaged.append(f"{self._folder(iteration)}: damaged: {error}")
            else:
                self._good = iteration
                return checkpoint
        if self.damaged:
            raise CheckpointError(
                f"{'; '.join(self.damaged)}; no good checkpoint is left: restore one from a "
                "backup, or start again in another folder"
            )
        return None

    def _folder(self, iteration: int) -> Path:
        return self.path / f"{iteration:08d}"

    def _prune(self, newest: int) -> None:
        """Keep the newest and the one that was last saved or loaded; later ones are damaged."""
        earlier = [iteration for iteration in self.iterations() if iteration < newest]
        previous = self._good if self._good in earlier else max(earlier, default=None)
        for iteration in self.iterations():
            if iteration not in (newest, previous):
                shutil.rmtree(self._folder(iteration), ignore_errors=True)
        self._good = newest


def _write(folder: Path, checkpoint: Checkpoint[Any], config: TrainConfig) -> None:
    state = msgspec.msgpack.encode(checkpoint.state)
    digests = {
        ARRAYS: write_synced(folder / ARRAYS, tensors.encode(checkpoint.arrays)),
        STATE: write_synced(folder / STATE, [state]),
    }
    plain = msgspec.to_builtins(config)
    manifest = Manifest(FORMAT, checkpoint.iteration, plain, digests, __version__)
    encoded = msgspec.json.encode(manifest)
    sealed = Sealed(msgspec.Raw(encoded), hashlib.blake2b(encoded).hexdigest())
    write_synced(folder / MANIFEST, [msgspec.json.encode(sealed)])
    sync_directory(folder)


def _read(
    folder: Path, iteration: int, state: type[State], config: TrainConfig
) -> Checkpoint[State]:
    try:
        manifest = _manifest(folder)
        if manifest.format != FORMAT:
            raise CheckpointError(
                f"{folder}: format {manifest.format}, this version of asynccfr reads {FORMAT}; "
                f"use the version that wrote it ({manifest.version})"
            )
        if manifest.iteration != iteration:
            raise Damaged(f"holds iteration {manifest.iteration}")
        _check_run(folder, manifest, config)
        for name in (ARRAYS, STATE):
            with open_regular(folder / name) as file:
                if hashlib.file_digest(file, "blake2b").hexdigest() != manifest.blake2b.get(name):
                    raise Damaged(f"{name} fails its checksum")
        arrays, _ = tensors.read(folder / ARRAYS)
        encoded = read_regular(folder / STATE, LARGEST_RECORD)
    except OSError as error:
        if isinstance(error, CheckpointError) or error.errno not in DAMAGE:
            raise
        raise Damaged(f"{Path(error.filename or folder).name}: {error.strerror}") from error
    except ValueError as error:
        raise Damaged(f"{ARRAYS}: {error}") from error
    try:
        return Checkpoint(iteration, arrays, msgspec.msgpack.decode(encoded, type=state))
    except msgspec.DecodeError as error:
        raise CheckpointError(
            f"{folder}: another version of asynccfr wrote it ({manifest.version}, this is "
            f"{__version__}: {error}); use that version"
        ) from error


def _check_run(folder: Path, manifest: Manifest, config: TrainConfig) -> None:
    """Raise CheckpointError for another run's; fields that it does not know have their defaults."""
    try:
        changed = difference(resolve(manifest.config), config)
    except ConfigError as error:
        raise CheckpointError(
            f"{folder}: asynccfr {manifest.version} wrote it and knows what this version, "
            f"{__version__}, does not ({error}); use that version"
        ) from error
    if changed:
        raise CheckpointError(
            f"{folder}: belongs to another run: it differs in {changed}; "
            "restore the folder's own config.yaml, or start in another folder"
        )


def _manifest(folder: Path) -> Manifest:
    try:
        written = read_regular(folder / MANIFEST, LARGEST_RECORD)
        sealed = msgspec.json.decode(written, type=Sealed)
        if hashlib.blake2b(sealed.manifest).hexdigest() != sealed.blake2b:
            raise Damaged(f"{MANIFEST} fails its checksum")
        return msgspec.json.decode(sealed.manifest, type=Manifest)
    except (ValueError, RecursionError):
        raise Damaged(f"{MANIFEST} cannot be parsed") from None
