"""What a caller is told when the batch function fails or breaks its contract."""

import copy
from collections.abc import Mapping, Set
from types import FunctionType
from typing import Any

from asynccfr.errors import BatcherError

# What a batch function returned, one for each item, or what it raised.
Outcomes = list[Any] | BaseException


def personal(error: BaseException) -> Exception:
    """An exception object for one caller, with the original as its cause.

    It has the original's type wherever a faithful copy can be made; otherwise, and for exceptions
    that would stop a task or the loop rather than be handled (CancelledError, KeyboardInterrupt,
    SystemExit) or that a future cannot hold (StopIteration), it is a BatcherError.
    """
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        try:
            twin = faithful_copy(error)
            if twin is not None:
                twin.__cause__ = error
                return twin
        except Exception:  # an exception class that resists, such as a frozen dataclass
            pass
    try:
        shown = repr(error)
    except Exception:
        shown = type(error).__name__
    stranger = BatcherError(f"the batch function raised {shown}; see the cause")
    stranger.__cause__ = error
    return stranger


def faithful_copy(error: Exception) -> Exception | None:
    written_in_python = isinstance(type(error).__init__, FunctionType)
    makers = (copy_without_init, copy.copy) if written_in_python else (copy.copy, copy_without_init)
    for make in makers:  # nobody expects an `__init__` to run once for every caller
        try:
            twin = make(error)
            if type(twin) is type(error) and twin is not error and str(twin) == str(error):
                if notes := getattr(error, "__notes__", None):
                    twin.__notes__ = list(notes)  # which a copy shares
                return twin
        except Exception:
            continue
    return None


def copy_without_init(error: Exception) -> Exception:
    kind = type(error)
    twin = kind.__new__(kind, *error.args)
    twin.__dict__.update(error.__dict__)
    return twin


def alike(error: BaseException, other: BaseException) -> bool:
    """Whether two errors say the same."""
    return type(error) is type(other) and str(error) == str(other)


def one_each(outcomes: Outcomes, count: int) -> list[Any]:
    """One outcome for each of `count` items."""
    return outcomes if isinstance(outcomes, list) else [outcomes] * count


def outcomes_of(results: Any, count: int) -> list[Any]:
    """The batch function's results as a list of `count`; BatcherError if they are not that."""
    if isinstance(results, list):
        outcomes = list(results)
    elif isinstance(results, tuple):
        raise BatcherError(
            f"the batch function returned a tuple of {len(results)}, which may be several values; "
            f"expected a list of {count} results, or an array indexed by its first axis"
        )
    elif isinstance(results, str | bytes | Mapping | Set) or not (
        hasattr(results, "__len__") and hasattr(results, "__getitem__")
    ):
        raise BatcherError(
            f"the batch function returned {type(results).__name__}, expected a sequence of "
            f"{count} results: a list, or an array indexed by its first axis"
        )
    else:
        try:
            by_position = getattr(results, "iloc", results)  # pandas: [i] would be the label i
            outcomes = [by_position[i] for i in range(len(results))]
        except Exception as error:  # such as an array of no dimensions
            raise BatcherError(
                f"the batch function returned {type(results).__name__} that cannot be indexed by "
                f"item ({error!r}), expected a sequence of {count} results"
            ) from error
    if len(outcomes) != count:
        raise BatcherError(
            f"the batch function returned {len(outcomes)} results for {count} items; "
            "expected one for each, in order"
        )
    return outcomes
