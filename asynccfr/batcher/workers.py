"""Threads that compute batches: cheaper to reach than those of an executor, and as well-behaved."""

import atexit
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

Job = tuple[Callable[[], Any], Callable[[Any], None]]
Jobs = SimpleQueue[Job | None]

alive: weakref.WeakKeyDictionary[Thread, Jobs] = weakref.WeakKeyDictionary()


class Workers:
    """A thread for every job at a time, at most `limit`, each started when it is first needed.

    The threads end with `close`, with this object, or after their jobs when the interpreter exits.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._jobs: Jobs = SimpleQueue()
        self._threads: list[Thread] = []
        self._unfinished = 0
        weakref.finalize(self, dismiss, self._jobs, self._threads).atexit = False

    def start(self, compute: Callable[[], Any], report: Callable[[Any], None]) -> None:
        """Run `report(compute())` in a thread; neither may raise. Call `finished` after it."""
        if self._unfinished == len(self._threads) < self.limit:
            # Daemons, because the interpreter would wait for others before it runs `finish`.
            thread = Thread(target=work, args=(self._jobs,), name="asynccfr-batch", daemon=True)
            thread.start()
            self._threads.append(thread)
            alive[thread] = self._jobs
        self._unfinished += 1
        self._jobs.put((compute, report))

    def finished(self) -> None:
        """A job has ended."""
        self._unfinished -= 1

    def close(self, wait: bool) -> None:
        """End the threads after their jobs."""
        dismiss(self._jobs, self._threads)
        if wait:
            for thread in self._threads:
                thread.join()

    def give_up(self) -> None:
        """Let threads that hang end with the interpreter, which waits for them no more."""
        for thread in self._threads:
            alive.pop(thread, None)


def work(jobs: Jobs) -> None:
    while (job := jobs.get()) is not None:
        compute, report = job
        result = compute()
        del job, compute
        report(result)
        del result, report


def dismiss(jobs: Jobs, threads: list[Thread]) -> None:
    for _ in threads:
        jobs.put(None)


@atexit.register
def finish() -> None:
    """Let every job come to its end before the interpreter is torn down."""
    threads = list(alive.items())
    for _, jobs in threads:
        jobs.put(None)
    for thread, _ in threads:
        thread.join()
