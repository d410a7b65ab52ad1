"""Parts of an iteration, shared out to workers: each to whoever is free, and collected once.

A part whose worker is lost goes to another, and what parts yield is collected in their order, so
that nothing depends on who computed what.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from asynccfr.cluster.worker import Reply, Worker
from asynccfr.errors import ClusterError, first_failure
from asynccfr.reports import WorkerReport
from asynccfr.solvers.pool import Harvest, Part, Weights

PARTS_PER_WORKER = 4
MOST_LOSSES = 100  # of workers, in one iteration


class WorkerLost(Exception):
    """A worker died, or its machine is out of reach."""


class Seat(Protocol):
    """Where one worker works."""

    async def occupied(self) -> None:
        """Wait until a worker is there: the first, or another one after a loss.

        May take as long as it takes until a machine has room. Raises WorkerLost.
        """

    async def compute(self, part: Part, weights: Weights) -> Reply:
        """What the part yields with these weights. Raises WorkerLost, or what the worker raised."""

    def dismiss(self) -> None:
        """End the worker, whatever it is doing."""


class LocalSeat:
    """A worker in a thread of this process."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    async def occupied(self) -> None:
        """It is there from the beginning."""

    async def compute(self, part: Part, weights: Weights) -> Reply:
        return await asyncio.to_thread(self.worker.compute, part, weights)

    def dismiss(self) -> None:
        """It ends with its part."""


class WorkerPool:
    """Seats, and who worked there.

    Args:
        seats: as many parts are computed at a time.
        parts: into how many parts an iteration is cut; 0: `PARTS_PER_WORKER` for each seat.
    """

    def __init__(self, seats: Sequence[Seat], parts: int = 0) -> None:
        self.seats = seats
        self.parts = parts or PARTS_PER_WORKER * len(seats)
        self.reports: dict[str, WorkerReport] = {}

    async def compute(
        self, parts: Sequence[Part], weights: Weights, collect: Callable[[Harvest], object]
    ) -> None:
        """Compute every part with these weights; collect what they yield, in order of the parts.

        Raises what a worker raises, with the other workers dismissed; ClusterError where too many
        workers are lost, or one did not use these weights.
        """

        def take(reply: Reply) -> None:
            if reply.version != weights.version:
                raise ClusterError(
                    f"worker {reply.worker}: played with weights {reply.version}, expected "
                    f"{weights.version}"
                )
            self.note(reply)
            collect(reply.harvest)

        try:
            await share_out(parts, weights, self.seats, take)
        except BaseException:
            for seat in self.seats:
                seat.dismiss()
            raise

    def note(self, reply: Reply) -> None:
        before = self.reports.get(reply.worker, WorkerReport(worker=reply.worker))
        self.reports[reply.worker] = WorkerReport(
            worker=reply.worker,
            processor=reply.processor,
            parts=before.parts + 1,
            seconds=before.seconds + reply.seconds,
            nbytes=before.nbytes + reply.nbytes,
        )

    def take_reports(self) -> tuple[WorkerReport, ...]:
        """Who worked since the last time, by name."""
        reports, self.reports = self.reports, {}
        return tuple(reports[name] for name in sorted(reports))


async def share_out(
    parts: Sequence[Part],
    weights: Weights,
    seats: Sequence[Seat],
    collect: Callable[[Reply], object],
) -> None:
    """Have every part computed, as many at a time as there are seats, and collect in order."""
    queue: asyncio.PriorityQueue[int] = asyncio.PriorityQueue()
    for number in range(len(parts)):
        queue.put_nowait(number)
    early: dict[int, Reply] = {}
    collected = losses = 0

    async def work(seat: Seat) -> None:
        nonlocal losses
        while True:
            try:
                await seat.occupied()  # a seat that stays empty holds up no part
                await compute_next(seat)
            except WorkerLost as error:
                losses += 1
                if losses > MOST_LOSSES:
                    raise ClusterError(
                        f"{losses} workers were lost in one iteration, the last because: {error}; "
                        "look at their machines' memory and logs"
                    ) from error

    async def compute_next(seat: Seat) -> None:
        nonlocal collected
        number = await queue.get()
        try:
            early[number] = await seat.compute(parts[number], weights)
        except WorkerLost:
            queue.put_nowait(number)
            raise
        finally:
            while collected in early:
                collect(early.pop(collected))
                collected += 1
            queue.task_done()

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work(seat)) for seat in seats]
            await queue.join()
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as failures:
        raise first_failure(failures) from None
