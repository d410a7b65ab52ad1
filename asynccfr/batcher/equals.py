"""Equal items computed once: while one of them waits or executes, the others get its answer.

A hidden call goes through the queue for all of them; every caller has a call of its own, with its
own cancellation and deadline. When the last caller gives up, so does the hidden call.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from asynccfr.batcher.call import Call, wake
from asynccfr.batcher.core import UNSET, Core
from asynccfr.batcher.failures import personal


class Equals:
    """The items of a batcher that wait or execute, by what equal ones have in common.

    Attributes:
        shared: how many calls have joined another's item.
    """

    def __init__(self, batcher: Core[Any, Any], same: Callable[[Any], Hashable]) -> None:
        self.shared = 0
        self._batcher = batcher
        self._same = same
        self._groups: dict[Hashable, Group] = {}

    def submit(self, item: Any, key: Any, timeout: Any, priority: float) -> Call[Any]:
        """A call for the item, which may be computed for others already."""
        call = self._batcher._new_call(item)
        try:
            self._join(call, item, key, timeout, priority)
        except Exception as error:
            call.fail(error)
        return call

    def _join(self, call: Call[Any], item: Any, key: Any, timeout: Any, priority: float) -> None:
        identity = self._same(item), None if key is UNSET else key
        seconds = self._batcher._seconds(timeout)
        group = self._groups.get(identity)
        if group is None:
            hidden = self._batcher._submit_alone(item, key, None, priority)
            if hidden.done():
                hidden.result()  # it was refused: raise why
            forget = partial(self._groups.pop, identity, None)
            group = self._groups[identity] = Group(hidden, forget)
            hidden.add_done_callback(group.answer)
        else:
            self.shared += 1
        group.join(call, seconds)


class Group:
    """Callers of equal items; nobody joins after `forget`."""

    def __init__(self, hidden: Call[Any], forget: Callable[[], object]) -> None:
        self.hidden = hidden
        self.forget = forget
        self.calls: dict[Call[Any], Any] = {}  # with their timers

    def join(self, call: Call[Any], seconds: float | None) -> None:
        call._belong_to(self)
        self.calls[call] = None
        if seconds is not None:
            self.calls[call] = call.get_loop().call_later(seconds, self._expire, call, seconds)

    def _withdraw(self, call: Call[Any]) -> None:
        """A caller gives up."""
        timer = self.calls.pop(call, None)
        if timer is not None:
            timer.cancel()
        if not self.calls and not self.hidden.done():
            self.forget()
            self.hidden.cancel()

    def _expire(self, call: Call[Any], seconds: float) -> None:
        call.fail(TimeoutError(f"no result within {seconds:.6g} s"))
        self._withdraw(call)
        wake([call])

    def answer(self, hidden: Call[Any]) -> None:
        if hidden.cancelled():  # after its last caller had left
            return
        self.forget()
        calls = list(self.calls)
        for timer in self.calls.values():
            if timer is not None:
                timer.cancel()
        self.calls = {}
        error = hidden.exception()
        for call in calls:
            if error is None:
                call.succeed(hidden.result())
            else:
                call.fail(personal(error.__cause__ or error))
        wake(calls)
