"""What a batcher is told, checked once."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from numbers import Real
from operator import index
from typing import Any, Literal, TypedDict

from asynccfr.batcher.functions import is_async
from asynccfr.batcher.statistics import BatchRecord
from asynccfr.errors import ConfigError

Isolate = bool | type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]


class CallOptions(TypedDict, total=False):
    """What a call takes beside its item, see `Batcher`."""

    key: Hashable
    timeout: float | None
    priority: float


class BatcherOptions(TypedDict, total=False):
    """What `Batcher` and `batched` take beside `max_batch`, see `Batcher`."""

    batch_window_us: float
    adaptive: bool
    key: Callable[[Any], Hashable] | None
    same: Callable[[Any], Hashable] | None
    inline: bool
    max_concurrent_batches: int
    allowed_sizes: tuple[int, ...]
    max_queue: int | None
    when_full: Literal["wait", "raise"]
    size_of: Callable[[Any], int] | None
    timeout: float | None
    isolate_errors: Isolate
    mark: Callable[[], object] | None
    on_batch: Callable[[BatchRecord], object] | None
    slow_batch: float | None
    name: str | None


@dataclass(frozen=True, kw_only=True)
class Options:
    """The same, with every default. Raises ConfigError for what does not fit."""

    max_batch: int
    batch_window_us: float = 0
    adaptive: bool = False
    key: Callable[[Any], Hashable] | None = None
    same: Callable[[Any], Hashable] | None = None
    inline: bool = False
    max_concurrent_batches: int = 1
    allowed_sizes: tuple[int, ...] = ()
    max_queue: int | None = None
    when_full: Literal["wait", "raise"] = "wait"
    size_of: Callable[[Any], int] | None = None
    timeout: float | None = None
    isolate_errors: Isolate = False
    mark: Callable[[], object] | None = None
    on_batch: Callable[[BatchRecord], object] | None = None
    slow_batch: float | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        self._whole("max_batch")
        self._whole("max_concurrent_batches")
        if self.max_queue is not None:
            fits = f"None or at least max_batch={self.max_batch}: a batch must fit into the queue"
            self._whole("max_queue", self.max_batch, fits)
        window = self.batch_window_us
        self._require(
            "batch_window_us", is_number(window) and 0 <= window < float("inf"), "at least 0"
        )
        self._require("when_full", self.when_full in ("wait", "raise"), "'wait' or 'raise'")
        for name in ("timeout", "slow_batch"):
            value = getattr(self, name)
            self._require(
                name, value is None or (is_number(value) and value > 0), "None or seconds above 0"
            )
        self._require(
            "adaptive",
            not self.adaptive or window > 0,
            "a batch_window_us above 0, the longest to wait",
        )
        self._require(
            "inline",
            not self.inline or self.max_concurrent_batches == 1,
            "a plain function, and one batch at a time",
        )
        for name in ("key", "same", "size_of", "mark", "on_batch"):
            hook = getattr(self, name)
            self._require(
                name,
                hook is None or (callable(hook) and not is_async(hook)),
                "None or a plain function",
            )
        sizes = self.allowed_sizes
        self._require(
            "allowed_sizes",
            not sizes or (list(sizes) == sorted(set(sizes)) and sizes[-1] == self.max_batch),
            f"ascending sizes, the last of them max_batch={self.max_batch}",
        )
        self._require(
            "allowed_sizes", not (sizes and self.size_of), "no size_of: items are counted"
        )

    def _require(self, name: str, condition: bool, expected: str) -> None:
        if not condition:
            raise ConfigError(f"{name}={getattr(self, name)!r}: expected {expected}")

    def _whole(
        self, name: str, at_least: int = 1, expected: str = "an integer of at least 1"
    ) -> None:
        """Have the field be an int, whatever kind of integer it is."""
        value = getattr(self, name)
        whole = 0 if isinstance(value, bool) or not hasattr(value, "__index__") else index(value)
        self._require(name, whole >= at_least, expected)
        object.__setattr__(self, name, whole)


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
