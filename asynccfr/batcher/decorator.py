"""`@batched`: a function or method that takes a batch, awaited with single items."""

from collections.abc import Awaitable, Callable
from functools import update_wrapper
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, overload

from asynccfr.batcher.batcher import Batcher
from asynccfr.batcher.call import Call
from asynccfr.batcher.execution import BatchFunction, Results
from asynccfr.errors import BatcherError

Owner = TypeVar("Owner", contravariant=True)
Item = TypeVar("Item")
Result = TypeVar("Result")


class BatchedFunction(Generic[Item, Result]):
    """A function of a batch that is called with one item: `await function(item)`.

    It makes its batcher on first use, and a new one in a forked process or where the event loop of
    the last is closed. As a method it gives every instance a batcher of its own, which lives and
    dies with the instance.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._options = options
        self._batcher: Batcher[Item, Result] | None = None
        # Where an instance keeps its own; no name that a subclass could override or mangle.
        self._slot = f"<batched {function.__module__}.{function.__qualname__}>"
        update_wrapper(self, function)

    @property
    def batcher(self) -> Batcher[Item, Result]:
        """The batcher behind it."""
        batcher = self._batcher
        if batcher is None or batcher.has_lost_its_loop() or batcher.was_forked():
            batcher = self._batcher = Batcher(self._function, **self._options)
        return batcher

    def __call__(self, item: Item, **options: Any) -> Call[Result]:
        return self.batcher.submit(item, **options)

    def __get__(self, instance: Any, owner: type) -> "BatchedFunction[Item, Result]":
        if instance is None:
            return self
        attributes = getattr(instance, "__dict__", None)
        if not isinstance(attributes, dict):
            raise BatcherError(
                f"{self._slot}: a batched method keeps its batcher in the instance's __dict__, "
                f"which {instance!r} lacks; use no __slots__ or classmethod, or make a Batcher"
            )
        bound = attributes.get(self._slot)
        # A copied instance starts with the batcher of the one that it was copied from.
        if not isinstance(bound, BatchedFunction) or bound._owner() is not instance:
            bound = BatchedFunction[Item, Result](self._function.__get__(instance), self._options)
            attributes[self._slot] = bound
        return bound

    def _owner(self) -> object:
        """The instance whose method this is; None for a function."""
        return getattr(self._function, "__self__", None)

    def __reduce__(self) -> str | tuple[Any, ...]:
        # A method's batcher is not copied or pickled with its instance, which makes a new one.
        if self._owner() is not None:
            return type(None), ()
        return self._function.__qualname__

    async def aclose(self, *, cancel: bool = False) -> None:
        """Close the batcher, see `Batcher.aclose`."""
        await self.batcher.aclose(cancel=cancel)

    async def __aenter__(self) -> Self:
        await self.batcher.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.batcher.__aexit__(kind, error, traceback)


class BatchedMethod(Protocol[Owner, Item, Result]):
    """What `batched` makes of a method, for type checkers."""

    def __get__(self, instance: Owner, owner: type) -> BatchedFunction[Item, Result]: ...


class Decorator(Protocol):
    """What `batched(...)` returns, for type checkers."""

    @overload
    def __call__(self, function: BatchFunction[Item, Result]) -> BatchedFunction[Item, Result]: ...
    @overload
    def __call__(
        self, function: Callable[[Owner, list[Item]], Awaitable[Results[Result]] | Results[Result]]
    ) -> BatchedMethod[Owner, Item, Result]: ...


def batched(**options: Any) -> Decorator:
    """Decorate a function, or a method, that takes a list of items; the options are `Batcher`'s.

    @batched(max_batch=64, batch_window_us=200)
    async def embed(texts: list[str]) -> list[Vector]: ...

    vector = await embed("some text")
    """

    def decorate(function: Callable[..., Any]) -> Any:
        return BatchedFunction[Any, Any](function, options)

    return decorate
