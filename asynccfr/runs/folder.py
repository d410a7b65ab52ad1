"""The run folder: all that a training run writes, and what it resumes from.

<folder>/
├── config.yaml         the resolved configuration; a folder without it holds no run
├── metrics.jsonl       one IterationReport a line
├── checkpoints/        see `checkpoints`
├── agent.safetensors   the agent of the latest evaluation
├── plots/              learning curves
├── tensorboard/        events, if asked for
└── lock                held by the one process that writes here
"""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, Self

from asynccfr import __version__
from asynccfr.config import TrainConfig, files
from asynccfr.errors import ConfigError, RunError
from asynccfr.reports import IterationReport
from asynccfr.runs import metrics
from asynccfr.runs.checkpoints import Checkpoint, CheckpointStore, State
from asynccfr.runs.identity import difference
from asynccfr.runs.tensorboard import EventWriter, require_tensorboard
from asynccfr.storage.durable import explained, is_temporary, replace_file
from asynccfr.storage.opening import strange_entry

log = logging.getLogger("asynccfr.runs")

CONFIG, METRICS, AGENT, LOCK = "config.yaml", "metrics.jsonl", "agent.safetensors", "lock"


class Saveable(Protocol):
    """What becomes a file of its own, such as an `asynccfr.agents.Agent`."""

    def save_bytes(self) -> bytes: ...


class RunFolder:
    """A folder with a run in it. Whatever writes needs the lock; reading does not.

    with RunFolder.create(path, config).lock() as folder:
        async for report in asynccfr.train(folder.config, folder=folder): ...
    """

    def __init__(self, path: Path, config: TrainConfig) -> None:
        self.path = path
        self.config = config
        self._checkpoints = CheckpointStore(path / "checkpoints")
        self._events: EventWriter | None = None
        self._locked = False
        self._is_trained = False

    def __str__(self) -> str:
        return str(self.path)

    @classmethod
    def create(cls, path: str | Path, config: TrainConfig) -> Self:
        """A new run in a folder that does not exist yet or is empty. Raises RunError otherwise.

        Raises ConfigError for a configuration that could not be read back.
        """
        config = files.checked(config)
        folder = cls(Path(path), config)
        if config.run.tensorboard:
            require_tensorboard()
        with explained(folder.path, "choose another folder with --out"):
            folder.path.mkdir(parents=True, exist_ok=True)
            with folder.lock():
                if holds_run(folder.path):
                    raise RunError(
                        f"{path}: holds a run already; continue it with --resume, "
                        "or choose another folder with --out"
                    )
                foreign = [entry.name for entry in folder.path.iterdir() if not _is_ours(entry)]
                if foreign:
                    raise RunError(
                        f"{path}: holds other files ({foreign[0]}); choose a new or empty folder"
                    )
                folder._write_config()
        return folder

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The run in a folder. Raises RunError if there is none, ConfigError if it is spoilt."""
        path = Path(path)
        if not path.is_dir():
            raise RunError(f"{path}: no such folder; `asynccfr train CONFIG` starts a run")
        if not holds_run(path):
            raise RunError(f"{path}: holds no run ({CONFIG} is missing); name another folder")
        _check_plain(path)
        try:
            return cls(path, files.load_config(path / CONFIG))
        except ConfigError as error:
            writer = files.written_by(path / CONFIG)
            if writer in (None, __version__):
                raise
            raise ConfigError(
                f"{error}; asynccfr {writer} wrote it, this is {__version__}"
            ) from error

    @property
    def agent(self) -> Path:
        return self.path / AGENT

    @property
    def metrics(self) -> Path:
        return self.path / METRICS

    @property
    def plots(self) -> Path:
        return self.path / "plots"

    @contextmanager
    def lock(self) -> Iterator[Self]:
        """Be the one process that writes here; it may be entered again while it is held.

        The system drops the lock with the process, however that dies. Raises RunError if another
        process holds it.
        """
        if self._locked:
            yield self
            return
        _check_plain(self.path)
        with explained(self.path, "choose another folder with --out"):
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(descriptor, 32).decode(errors="replace").strip()
                raise RunError(
                    f"{self.path}: process {owner or 'unknown'} is training here; wait for it, "
                    "stop it, or choose another folder"
                ) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            self._locked = True
            yield self
        finally:
            self._locked = False
            os.close(descriptor)
            if self._events is not None:
                self._events.close()
                self._events = None

    @contextmanager
    def trained(self) -> Iterator[Self]:
        """Hold the lock for a training; RunError if another one uses this object."""
        if self._is_trained:
            raise RunError(
                f"{self.path}: another train() is at work with this RunFolder; await its end, "
                "or close it, first"
            )
        self._is_trained = True
        try:
            with self.lock():
                yield self
        finally:
            self._is_trained = False

    def reconfigure(self, config: TrainConfig) -> None:
        """Continue with changed settings. Raises RunError if they would make it another run."""
        if changed := difference(self.config, config):
            raise RunError(
                f"{self.path}: cannot resume with another {changed}; leave that field as it was, "
                "or start a new run in another folder"
            )
        if config.run.tensorboard:
            require_tensorboard()
        if config != self.config:
            self.config = config
            self._write_config()

    def discard(self) -> None:
        """Remove a run that never got to write anything; one that did stays."""
        self._need_lock()
        if {entry.name for entry in self.path.iterdir()} <= {CONFIG, LOCK}:
            (self.path / CONFIG).unlink()
            (self.path / LOCK).unlink()
            with suppress(OSError):  # a mount point, or somebody's current folder
                self.path.rmdir()

    def saved_iteration(self) -> int:
        """The iteration of the newest checkpoint, unchecked; 0 if there is none."""
        return max(self._checkpoints.iterations(), default=0)

    def load_checkpoint(self, state: type[State]) -> Checkpoint[State] | None:
        """The newest good checkpoint, with the metrics cut back to it; None: start from scratch.

        A damaged checkpoint is logged and the one before it used. Raises CheckpointError if all are
        damaged or of another run; the folder is then as it was.
        """
        self._need_lock()
        checkpoint = self._checkpoints.load(state, self.config)
        for damage in self._checkpoints.damaged:
            log.warning("%s; continuing from the checkpoint before it", damage)
        if checkpoint is None and (self.agent.exists() or self.reports()):
            log.warning(
                "%s: no checkpoint; training begins anew and replaces metrics and agent", self.path
            )
        with self._writing():
            metrics.truncate(self.metrics, checkpoint.iteration if checkpoint else 0)
        return checkpoint

    def append(self, report: IterationReport) -> None:
        """Add a report to the metrics; do so before saving the iteration's checkpoint."""
        self._need_lock()
        with self._writing():
            metrics.append(self.metrics, report)
        self._plot(report)

    def revise(self, report: IterationReport) -> None:
        """Replace the last report, which is of the same iteration, now that it is evaluated."""
        self._need_lock()
        with self._writing():
            metrics.replace_last(self.metrics, report)
        self._plot(report)

    def _plot(self, report: IterationReport) -> None:
        if self.config.run.tensorboard:
            if self._events is None:
                self._events = EventWriter(self.path / "tensorboard", report.iteration)
            self._events.add(report)

    def reports(self) -> list[IterationReport]:
        """The reports written so far. Raises RunError if a line of the file is damaged."""
        return metrics.read(self.metrics)

    def save_checkpoint(self, checkpoint: Checkpoint[Any]) -> None:
        """Save in one atomic step. Raises RunError, with the earlier ones intact, if it cannot."""
        self._need_lock()
        with self._writing():
            self._checkpoints.save(checkpoint, self.config)

    def save_agent(self, agent: Saveable) -> None:
        """Replace the agent in one atomic step; `Agent.load(folder.agent)` reads it."""
        self._need_lock()
        with self._writing():
            replace_file(self.agent, [agent.save_bytes()])

    def _write_config(self) -> None:
        self._need_lock()
        with self._writing():
            replace_file(self.path / CONFIG, [files.dump(self.config).encode()])

    def _writing(self) -> Any:
        return explained(
            self.path,
            "what was saved before is intact: make room, then continue with "
            f"`asynccfr train --resume {self.path}`",
        )

    def _need_lock(self) -> None:
        if not self._locked:
            raise RunError(f"{self.path}: not locked; write to it inside `with folder.lock():`")


def holds_run(path: str | Path) -> bool:
    return (Path(path) / CONFIG).is_file()


def _check_plain(path: Path) -> None:
    """Raise RunError if writing to the run, or reading it, would reach something else."""
    if strange := strange_entry(path):
        raise RunError(
            f"{strange}: a link, a pipe or a device; a run holds plain files and folders only: "
            "remove it, or put in its place what it points to"
        )


def _is_ours(entry: Path) -> bool:
    """Whether a start that was killed early may have left this."""
    return entry.name == LOCK or is_temporary(entry)
