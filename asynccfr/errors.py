"""Every error asynccfr raises on purpose.

    AsyncCFRError
    ├── ConfigError            config: a field is unknown, mistyped or out of range
    ├── GameError              games: unknown game, bad parameter
    │   └── IllegalAction      games: an action that the state does not allow
    ├── BatcherError           batcher: misuse, or a batch function that broke its contract
    │   ├── BatcherClosed      batcher: called after closing
    │   └── QueueFull          batcher: the bounded queue is full and waiting was declined
    ├── TraversalProcessDied   inference: a process of the server driver ended on its own
    ├── ClusterError           cluster: it cannot be reached, or its workers fail or differ
    ├── PlayerError            players, arena: no such player, or one that failed to play
    ├── TrainingDiverged       solver: a loss became NaN or infinite
    ├── RunError               runs: the run folder cannot be used
    │   └── CheckpointError    runs: a checkpoint is missing, damaged or of another game
    └── MissingPackage         anywhere: a package that one of the extras brings is not installed

A message names the field or argument, the value, what was expected and the way out.
"""

from collections.abc import Iterator
from contextlib import contextmanager

# What the extras bring, by the names that programs import.
EXTRAS = {
    "games": ("msgspec", "numpy"),
    "train": ("click", "rich", "safetensors", "torch", "yaml"),
    "plots": ("matplotlib",),
    "tensorboard": ("tensorboard",),
    "prometheus": ("prometheus_client",),
    "onnx": ("onnx", "onnxscript"),
    "open_spiel": ("open_spiel", "pyspiel"),
    "web": ("starlette", "uvicorn", "websockets"),
    "ray": ("ray", "zstandard"),
}


class AsyncCFRError(Exception):
    """Base of every error that asynccfr raises on purpose."""


class ConfigError(AsyncCFRError, ValueError):
    """A configuration field is unknown, has the wrong type, or is out of range."""


class GameError(AsyncCFRError, ValueError):
    """A game is unknown or its parameters are invalid."""


class IllegalAction(GameError):
    """An action that the state does not allow."""


class BatcherError(AsyncCFRError, RuntimeError):
    """The batcher was misused, or its function broke its contract."""


class BatcherClosed(BatcherError):
    """The batcher was called after it had been closed."""


class QueueFull(BatcherError):
    """The bounded queue is full and the caller chose not to wait."""


class TraversalProcessDied(AsyncCFRError, RuntimeError):
    """A traversal process of the server driver was killed, or failed."""


class ClusterError(AsyncCFRError, RuntimeError):
    """A cluster cannot be reached or is too small, or its workers die or are of another version."""


class PlayerError(AsyncCFRError, RuntimeError):
    """A player is unknown, or failed at the table: an illegal action, an exception, no answer."""


class TrainingDiverged(AsyncCFRError, ArithmeticError):
    """A loss became NaN or infinite."""


class RunError(AsyncCFRError, OSError):
    """A run folder cannot be read, written or used for this."""


class CheckpointError(RunError):
    """A checkpoint is missing, damaged, or belongs to another game or configuration."""


class MissingPackage(AsyncCFRError, ImportError):
    """A package that one of the extras brings is not installed."""


@contextmanager
def needed_by(what: str, extra: str = "games") -> Iterator[None]:
    """Imports for the sake of `what`; raises MissingPackage, naming the extra that it takes.

    `extra` is the one for `what`: others bring what `games` brings, so it is named in its place.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        for brings, packages in EXTRAS.items():
            if package in packages:
                named = extra if brings == "games" else brings
                raise MissingPackage(
                    f"{what} needs {package}, which is not installed: "
                    f"pip install 'asynccfr[{named}]'"
                ) from error
        raise


def first_failure(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first single exception in a group, for callers that never asked for tasks."""
    first = group.exceptions[0]
    return first_failure(first) if isinstance(first, BaseExceptionGroup) else first
