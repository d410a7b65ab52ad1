from asyncio import AbstractEventLoop
from collections.abc import Callable, Coroutine, Generator, Hashable
from contextvars import Context
from types import TracebackType
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")

class Call(Coroutine[Any, Any, Result], Generic[Result]):
    """An awaitable result; create it with `Batcher.submit`.

    Attributes:
        item: what was submitted; None once it is no longer needed.
        key: the group it is batched with.
        priority: the higher goes first.
        arrived: when it was submitted, seconds of `time.monotonic`.
    """

    _asyncio_future_blocking: bool
    @property
    def item(self) -> Any: ...
    @property
    def key(self) -> Hashable: ...
    @property
    def arrived(self) -> float: ...
    @property
    def priority(self) -> float: ...
    @property
    def mark(self) -> Any: ...
    def succeed(self, value: Result) -> None: ...
    def _keep(self, subject: object) -> None:
        """Keep an object alive until the call is done."""
    def _belong_to(self, owner: Any) -> None:
        """Tell `owner` if the caller gives up."""
    def get_loop(self) -> AbstractEventLoop:
        """The event loop that this call belongs to."""
    def done(self) -> bool:
        """Whether there is a result, an error or a cancellation."""
    def cancelled(self) -> bool:
        """Whether the call was cancelled."""
    def result(self) -> Result:
        """The result; raises the call's error, CancelledError, or InvalidStateError if not done."""
    def exception(self) -> BaseException | None:
        """The call's error or None; raises CancelledError, or InvalidStateError if not done."""
    def cancel(self, msg: Any = None) -> bool:
        """Give up: an item that has not started is never computed. Returns False if already done."""
    def fail(self, error: Exception) -> None: ...
    def add_done_callback(
        self, callback: Callable[[Call[Result]], object], *, context: Context | None = None
    ) -> None:
        """Have `callback(call)` run in the event loop once the call is done."""
    def remove_done_callback(self, callback: Callable[[Call[Result]], object]) -> int:
        """Forget every registration of `callback`; returns how many there were."""
    def send(self, value: Any, /) -> Any:
        """For a task that was made of this call: wait, or return the result by StopIteration."""
    def throw(
        self,
        kind: type[BaseException] | BaseException,
        value: BaseException | object = None,
        traceback: TracebackType | None = None,
        /,
    ) -> Any:
        """Raise in place of the result; give up if nobody else waits."""
    def close(self) -> None:
        """Give up if nobody waits."""
    def __await__(self) -> Generator[Any, None, Result]: ...

def wake(calls: list[Call[Any]]) -> None:
    """Run the callbacks of calls that are done; to be called from the event loop, outside any task.

    A task that raises KeyboardInterrupt or SystemExit stops the loop, as asyncio has it, after the
    other calls have been put on the loop's agenda.
    """
