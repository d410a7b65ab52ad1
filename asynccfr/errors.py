"""Every error asynccfr raises on purpose.

    AsyncCFRError
    ├── ConfigError            config: a field is unknown, mistyped or out of range
    ├── GameError              games: unknown game, bad parameter
    │   └── IllegalAction      games: an action that the state does not allow
    ├── BatcherError           batcher: misuse, or a batch function that broke its contract
    │   ├── BatcherClosed      batcher: called after closing
    │   └── QueueFull          batcher: the bounded queue is full and waiting was declined
    ├── TraversalProcessDied   inference: a process of the server driver ended on its own
    ├── PlayerError            players, arena: no such player, or one that failed to play
    ├── TrainingDiverged       solver: a loss became NaN or infinite
    └── RunError               runs: the run folder cannot be used
        └── CheckpointError    runs: a checkpoint is missing, damaged or of another game

A message names the field or argument, the value, what was expected and the way out.
"""


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


class PlayerError(AsyncCFRError, RuntimeError):
    """A player is unknown, or failed at the table: an illegal action, an exception, no answer."""


class TrainingDiverged(AsyncCFRError, ArithmeticError):
    """A loss became NaN or infinite."""


class RunError(AsyncCFRError, OSError):
    """A run folder cannot be read, written or used for this."""


class CheckpointError(RunError):
    """A checkpoint is missing, damaged, or belongs to another game or configuration."""


def first_failure(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first single exception in a group, for callers that never asked for tasks."""
    first = group.exceptions[0]
    return first_failure(first) if isinstance(first, BaseExceptionGroup) else first
