"""`@batched`: a function or method that takes a batch, awaited with single items."""

import weakref
from collections.abc import Callable, Iterable, Mapping
from contextvars import Context, copy_context
from functools import partial, update_wrapper
from inspect import signature
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, Unpack, overload

from asynccfr.batcher.batcher import Batcher
from asynccfr.batcher.call import Call
from asynccfr.batcher.execution import AnyResults, BatchFunction
from asynccfr.batcher.functions import declare_coroutine_function, is_async
from asynccfr.batcher.options import BatcherOptions, CallOptions
from asynccfr.errors import BatcherError

Owner = TypeVar("Owner", contravariant=True)
Item = TypeVar("Item")
Result = TypeVar("Result")

METHODS = "<batched methods>"  # no name that a class could give to something else


class BatchedFunction(Generic[Item, Result]):
    """A function of a batch that is called with one item: `await function(item)`.

    It makes a new batcher in a forked process, where the event loop of the last is closed, and when
    it is entered again. As a method it gives every instance a batcher of its own, which lives and
    dies with the instance; as a class method every class.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        context: Context,
        subject: object = None,
    ) -> None:
        """`subject` is whose method it is; what is bound to it keeps it alive, this does not."""
        self._binding: type[Any] = type(function)
        if isinstance(function, staticmethod | classmethod):
            function = function.__func__
        self._function = function
        self._options = options
        self._context = context
        update_wrapper(self, function)
        self.__signature__ = signature(self.__call__)  # not that of the batch function
        self._bound: Callable[[], Bound[Item, Result] | None] = lambda: None
        if subject is not None:
            self._function = weakly_bound(function, subject)
        declare_coroutine_function(self)
        self._batcher: Batcher[Item, Result] = self._make_batcher()

    def _make_batcher(self) -> Batcher[Item, Result]:
        function = self._function
        options = {"name": getattr(self, "__qualname__", None), **self._options}
        # Not in that of whoever happens to call first.
        return self._context.copy().run(partial(Batcher, function, **options))

    @property
    def batcher(self) -> Batcher[Item, Result]:
        """The batcher behind it."""
        if self._batcher.has_lost_its_loop() or self._batcher.was_forked():
            self._batcher = self._make_batcher()
        return self._batcher

    def __call__(self, item: Item, **options: Unpack[CallOptions]) -> Call[Result]:
        return self.batcher(item, **options)

    async def many(self, items: Iterable[Item], **options: Unpack[CallOptions]) -> list[Result]:
        """The results of many items, see `Batcher.many`."""
        return await self.batcher.many(items, **options)

    def __get__(self, instance: Any, owner: type) -> "BatchedFunction[Item, Result]":
        subject = owner if self._binding is classmethod else instance
        if subject is None or self._binding is staticmethod:
            return self
        methods = methods_of(subject)
        if self not in methods:
            methods[self] = BatchedFunction(self._function, self._options, self._context, subject)
        method = methods[self]
        bound = method._bound()
        if bound is None:
            bound = Bound(method, subject)
            method._bound = weakref.ref(bound)
        return bound

    def __reduce__(self) -> str | tuple[Any, ...]:
        return str(self._function.__qualname__)

    async def aclose(self, *, cancel: bool = False) -> None:
        """Close the batcher, see `Batcher.aclose`."""
        await self.batcher.aclose(cancel=cancel)

    async def __aenter__(self) -> Self:
        if not self._batcher.is_open:
            self._batcher = self._make_batcher()
        await self.batcher.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.batcher.__aexit__(kind, error, traceback)


class Bound(BatchedFunction[Item, Result]):
    """A batched method and whose it is, which lives for as long as this or a call of it does."""

    def __init__(self, method: BatchedFunction[Item, Result], subject: object) -> None:
        self._method = method
        self._subject = subject
        update_wrapper(self, method)
        self.__signature__ = method.__signature__

    @property
    def batcher(self) -> Batcher[Item, Result]:
        """The batcher behind it."""
        return self._method.batcher

    def __call__(self, item: Item, **options: Unpack[CallOptions]) -> Call[Result]:
        call = self._method.batcher(item, **options)
        call._keep(self._subject)
        return call

    def __reduce__(self) -> str | tuple[Any, ...]:
        return getattr, (self._subject, self._method._function.__name__)

    async def __aenter__(self) -> Self:
        await self._method.__aenter__()
        return self


def weakly_bound(function: Callable[..., Any], subject: object) -> Callable[..., Any]:
    """A method that does not keep its object alive: whoever waits for an answer does."""
    reference = weakref.ref(subject)
    if is_async(function):

        async def later(items: list[Any], **options: Any) -> Any:
            return await function(reference(), items, **options)

        return update_wrapper(later, function)

    def now(items: list[Any], **options: Any) -> Any:
        return function(reference(), items, **options)

    return update_wrapper(now, function)


class Methods(dict[BatchedFunction[Any, Any], BatchedFunction[Any, Any]]):
    """The batched methods of one object; copied or pickled, the object starts without."""

    def __init__(self, subject: object) -> None:
        super().__init__()
        self.subject = weakref.ref(subject)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


def methods_of(subject: object) -> Methods:
    attributes = getattr(subject, "__dict__", None)
    if attributes is None:
        raise BatcherError(
            f"{type(subject).__qualname__}: a batched method keeps its batcher in the instance's "
            "__dict__; use no __slots__, or make a Batcher"
        )
    methods = attributes.get(METHODS)
    # A shallow copy of an object starts with the methods of the one it was copied from.
    if not isinstance(methods, Methods) or methods.subject() is not subject:
        methods = Methods(subject)
        if isinstance(subject, type):
            setattr(subject, METHODS, methods)
        else:
            attributes[METHODS] = methods
    return methods


class BatchedMethod(Protocol[Owner, Item, Result]):
    """What `batched` makes of a method, for type checkers."""

    @overload
    def __get__(self, instance: Owner, owner: type) -> BatchedFunction[Item, Result]: ...
    @overload  # of a class method
    def __get__(self, instance: object, owner: Owner) -> BatchedFunction[Item, Result]: ...


class Decorator(Protocol):
    """What `batched(...)` returns, for type checkers."""

    @overload
    def __call__(self, function: BatchFunction[Item, Result]) -> BatchedFunction[Item, Result]: ...
    @overload
    def __call__(
        self, function: Callable[[Owner, list[Item]], AnyResults[Result]]
    ) -> BatchedMethod[Owner, Item, Result]: ...


def batched(*, max_batch: int, **options: Unpack[BatcherOptions]) -> Decorator:
    """Decorate a function, or a method, that takes a list of items; the options are `Batcher`'s.

    @batched(max_batch=64, batch_window_us=200)
    async def embed(texts: list[str]) -> list[Vector]: ...

    vector = await embed("some text")

    Goes above `@staticmethod` and `@classmethod`.
    """

    def decorate(function: Any) -> Any:
        given = {"max_batch": max_batch, **options}
        return BatchedFunction[Any, Any](function, given, copy_context())

    return decorate
