# cython: auto_pickle=False
"""The future that a caller awaits: one item on its way through the batcher.

A `Call` keeps asyncio's protocol for foreign futures (`_asyncio_future_blocking`), so that `await`,
`asyncio.gather`, `wait_for`, `shield` and `timeout` treat it like their own. It differs in three ways.
It is a coroutine as well, so that `create_task` takes it (and `asyncio.wait` does not). A batch
resolves all its calls, then runs their callbacks one after another within a single callback of the
event loop, where an `asyncio.Future` costs a handle and a trip through the loop each. And it tells
its batcher at once when the caller gives up, so that the place in the queue can be reused.
"""

from asyncio import CancelledError, Future, InvalidStateError
from contextvars import copy_context
from types import GenericAlias

from cpython.exc cimport PyErr_SetObject
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from asynccfr.awaiting cimport (
    PYGEN_ERROR, PYGEN_NEXT, PYGEN_RETURN, PySendResult, use_for_await,
)

cdef extern from *:
    """
    #define PENDING 0
    #define SUCCEEDED 1
    #define FAILED 2
    #define CANCELLED 3
    """
    int PENDING, SUCCEEDED, FAILED, CANCELLED


cdef class Call:
    """An awaitable result; create it with `Batcher.submit`.

    Attributes:
        item: what was submitted; None once it is no longer needed.
        key: the group it is batched with.
        priority: the higher goes first.
        arrived: when it was submitted, seconds of `time.monotonic`.
    """

    __class_getitem__ = classmethod(GenericAlias)

    def get_loop(self):
        """The event loop that this call belongs to."""
        return self.loop

    def done(self):
        """Whether there is a result, an error or a cancellation."""
        return self.state != PENDING

    def cancelled(self):
        """Whether the call was cancelled."""
        return self.state == CANCELLED

    def result(self):
        """The result; raises the call's error, CancelledError, or InvalidStateError if not done."""
        return self.get()

    def exception(self):
        """The call's error or None; raises CancelledError, or InvalidStateError if not done."""
        if self.state == FAILED:
            return self.outcome.exception()
        self.get()
        return None

    def cancel(self, msg=None):
        """Give up: an item that has not started is never computed. Returns False if already done."""
        if self.state != PENDING:
            return False
        self.state = CANCELLED
        self.outcome = msg
        if self.owner is not None:
            self.owner._withdraw(self)
        self.schedule_callbacks()
        return True

    def add_done_callback(self, callback, *, context=None):
        """Have `callback(call)` run in the event loop once the call is done."""
        if context is None:
            context = copy_context()
        if self.state != PENDING:
            self.loop.call_soon(callback, self, context=context)
        elif self.callback is None:
            self.callback = callback
            self.context = context
        elif self.more_callbacks is None:
            self.more_callbacks = [(callback, context)]
        else:
            self.more_callbacks.append((callback, context))

    def remove_done_callback(self, callback):
        """Forget every registration of `callback`; returns how many there were."""
        everyone = [] if self.callback is None else [(self.callback, self.context)]
        everyone += self.more_callbacks or []
        kept = [entry for entry in everyone if entry[0] != callback]
        self.callback, self.context = kept[0] if kept else (None, None)
        self.more_callbacks = kept[1:] or None
        return len(everyone) - len(kept)

    @property
    def _cancel_message(self):  # asyncio.gather looks at it
        return self.outcome if self.state == CANCELLED else None

    def _make_cancelled_error(self):
        return CancelledError() if self.outcome is None else CancelledError(self.outcome)

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        if self.state == PENDING:
            self._asyncio_future_blocking = True
            return self
        raise StopIteration(self.get())

    def send(self, value):
        """For a task that was made of this call: wait, or return the result by StopIteration."""
        return self.__next__()

    def throw(self, kind, value=None, traceback=None):
        """Raise in place of the result; give up if nobody else waits."""
        self.close()
        if isinstance(kind, type):
            kind = kind() if value is None else value if isinstance(value, kind) else kind(value)
        raise kind if traceback is None else kind.with_traceback(traceback)

    def close(self):
        """Give up if nobody waits."""
        if self.callback is None:
            self.cancel()

    def __repr__(self):
        state = ("pending", "succeeded", "failed", "cancelled")[self.state]
        return f"<Call {state} key={self.key!r}>"

    cdef object get(self):
        if self.state == SUCCEEDED:
            return self.outcome
        if self.state == FAILED:
            return self.outcome.result()
        if self.state == CANCELLED:
            raise self._make_cancelled_error()
        raise InvalidStateError("the call is not done yet; await it")

    cpdef void succeed(self, value) noexcept:
        self.state = SUCCEEDED
        self.outcome = value

    cpdef void fail(self, error):
        # A future of asyncio holds the error, which it reports if nobody ever asks for it.
        self.state = FAILED
        self.outcome = Future(loop=self.loop)
        self.outcome.set_exception(error)

    def _keep(self, subject):
        """Keep an object alive until the call is done."""
        if self.state == PENDING:
            self.kept = subject

    def _belong_to(self, owner):
        """Tell `owner` if the caller gives up."""
        self.owner = owner

    cdef void schedule_callbacks(self):
        if self.callback is None:
            return
        self.loop.call_soon(self.callback, self, context=self.context)
        for callback, context in self.more_callbacks or ():
            self.loop.call_soon(callback, self, context=context)
        self.callback = self.context = self.more_callbacks = None

    cdef void run_callbacks(self):
        callback, context, more = self.callback, self.context, self.more_callbacks
        if callback is None:
            return
        self.callback = self.context = self.more_callbacks = None
        try:
            run_callback(self, callback, context)
        finally:
            for callback, context in more or ():
                self.loop.call_soon(callback, self, context=context)


cdef int run_callback(Call call, callback, context) except -1:
    try:
        context.run(callback, call)
    except Exception as error:
        call.loop.call_exception_handler(
            {"message": f"Exception in callback {callback!r} of {call!r}", "exception": error}
        )
    return 0


cpdef wake(list calls):
    """Run the callbacks of calls that are done; to be called from the event loop, outside any task.

    A task that raises KeyboardInterrupt or SystemExit stops the loop, as asyncio has it, after the
    other calls have been put on the loop's agenda.
    """
    cdef Py_ssize_t i
    for i in range(len(calls)):
        try:
            (<Call>calls[i]).run_callbacks()
        except BaseException:
            for call in calls[i:]:
                (<Call>call).schedule_callbacks()
            raise


cdef PySendResult send(PyObject* self, PyObject* argument, PyObject** result) noexcept:
    cdef Call call = <Call>self
    if call.state == PENDING:
        call._asyncio_future_blocking = True
        Py_INCREF(call)
        result[0] = self
        return <PySendResult>PYGEN_NEXT
    try:
        value = call.get()
    except BaseException as error:
        result[0] = NULL
        PyErr_SetObject(type(error), error)
        return <PySendResult>PYGEN_ERROR
    Py_INCREF(value)
    result[0] = <PyObject*>value
    return <PySendResult>PYGEN_RETURN


use_for_await(Call, send)
