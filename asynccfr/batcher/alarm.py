"""A timer that keeps a time to the microsecond where the platform can.

`loop.call_later` cannot: asyncio rounds up to the millisecond, uvloop may fire a millisecond early.
On Linux a timerfd in the loop's own selector does; elsewhere, and in loops without `add_reader`, a
thread that waits on a condition.
"""

import asyncio
import ctypes
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

CLOCK_MONOTONIC = 1
FAR_AWAY = 9e9  # seconds; in nanoseconds, about what 63 bits can hold


class Alarm(Protocol):
    held: object  # kept alive by the event loop, as what waits for `loop.call_later` would be

    def set(self, when: float) -> None:
        """Ring at `when`, seconds of time.monotonic; replaces any earlier request."""

    def close(self) -> None:
        """Ring no more."""


class Rings(Protocol):
    def _ring(self) -> object: ...


def alarm(loop: asyncio.AbstractEventLoop, owner: Rings) -> Alarm:
    """The best alarm for this platform and loop; `owner._ring` is called back in the loop.

    The owner is not kept alive unless it is `held`, and the alarm closes when it dies.
    """
    reference = weakref.ref(owner)

    def ring() -> None:
        alive = reference()
        if alive is not None:
            alive._ring()

    made: Alarm
    try:
        made = TimerfdAlarm(loop, ring)
    except (OSError, NotImplementedError):
        made = ThreadAlarm(loop, ring)
    weakref.finalize(owner, close_in_loop, loop, made, os.getpid()).atexit = False
    return made


def close_in_loop(loop: asyncio.AbstractEventLoop, alarm: Alarm, process_id: int) -> None:
    if os.getpid() != process_id:  # forked: the loop's descriptors are shared with the parent's
        return
    try:
        loop.call_soon_threadsafe(alarm.close)
    except RuntimeError:  # the loop is closed
        alarm.close()


class TimerfdAlarm:
    held: object = None
    _fd = -1

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], object]) -> None:
        self._loop = loop
        self._ring = ring
        self._fd = timerfd_create()
        try:
            loop.add_reader(self._fd, self._expired)
        except BaseException:
            os.close(self._fd)
            self._fd = -1
            raise

    def set(self, when: float) -> None:
        timerfd_settime(self._fd, max(1, int(max(0.0, min(when, FAR_AWAY)) * 1e9)))

    def close(self) -> None:
        if self._fd >= 0:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def _expired(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._fd, 8)
        self._ring()


class ThreadAlarm:
    held: object = None

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], object]) -> None:
        self._loop = loop
        self._ring = ring
        self._when = float("inf")
        self._open = True
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name="asynccfr-alarm", daemon=True).start()

    def set(self, when: float) -> None:
        with self._changed:
            self._when = when
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._open = False
            self._changed.notify()

    def _run(self) -> None:
        monotonic = time.monotonic
        with self._changed:
            while self._open:
                left = self._when - monotonic()
                if left > 0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                    continue
                self._when = float("inf")
                try:
                    self._loop.call_soon_threadsafe(self._ring_if_open)
                except RuntimeError:
                    return

    def _ring_if_open(self) -> None:
        if self._open:
            self._ring()


if sys.version_info >= (3, 13) and sys.platform == "linux":

    def timerfd_create() -> int:
        return os.timerfd_create(CLOCK_MONOTONIC, flags=os.TFD_NONBLOCK | os.TFD_CLOEXEC)

    def timerfd_settime(fd: int, when_ns: int) -> None:
        os.timerfd_settime_ns(fd, flags=os.TFD_TIMER_ABSTIME, initial=when_ns)

elif sys.platform == "linux":
    libc = ctypes.CDLL(None, use_errno=True)
    TIMER_ABSTIME = 1

    class TimerSpec(ctypes.Structure):
        _fields_ = tuple(
            (name, ctypes.c_long) for name in ("interval_s", "interval_ns", "value_s", "value_ns")
        )

    def timerfd_create() -> int:
        fd: int = libc.timerfd_create(CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create failed")
        return fd

    def timerfd_settime(fd: int, when_ns: int) -> None:
        spec = TimerSpec(0, 0, *divmod(when_ns, 1_000_000_000))
        if libc.timerfd_settime(fd, TIMER_ABSTIME, ctypes.byref(spec), None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime failed")

else:

    def timerfd_create() -> int:
        raise NotImplementedError

    def timerfd_settime(fd: int, when_ns: int) -> None:
        raise NotImplementedError
