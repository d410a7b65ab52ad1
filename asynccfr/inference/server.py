"""The server driver: traversal processes whose rows this process evaluates.

Each process makes every `processes`-th traversal and keeps `concurrency` of them going. Requests of
all processes meet in one batcher here; a batch is split by network, one forward each. With
`concurrency: 1` every process blocks on a single row, and no batch can have more rows than there
are processes, whatever `max_batch` and `batch_window_us` say.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import Callable

import numpy as np

from asynccfr.batcher import Batcher
from asynccfr.cfr.finished import Bundle, FinishedWalk
from asynccfr.cfr.plan import TraversalPlan
from asynccfr.config import ServerDriver
from asynccfr.errors import ConfigError, GameError, TraversalProcessDied, first_failure
from asynccfr.games import Game, load_game
from asynccfr.inference.channel import (
    Channel,
    Failure,
    Request,
    Setup,
    Share,
    SharedRows,
    anonymous_file,
)
from asynccfr.inference.evaluator import Evaluator, Indices

# Beside two requests of a process, one being evaluated and one waiting, it has little left to walk.
SLOTS = 2

# A process started like this needs no `if __name__ == "__main__"` in the user's program.
PROGRAM = """
import sys
sys.path[:] = {path!r}
from asynccfr.inference.traversal_process import main
main({end}, {memory})
"""


Collect = Callable[[FinishedWalk], None]


class TraversalProcesses:
    """The traversal processes of a run: from when they are first needed until this is dropped.

    Raises ConfigError for a game that cannot be loaded by its text in another process.
    """

    def __init__(self, driver: ServerDriver, game: Game) -> None:
        try:
            load_game(str(game))
        except GameError as error:
            raise ConfigError(
                f"inference.driver: server: its processes cannot load the game ({error}); use async"
            ) from error
        self.driver = driver
        self.game = game
        slots = 1 if driver.concurrency == 1 else SLOTS
        slot_rows = min(driver.concurrency, driver.max_batch)
        total = driver.processes * slots * slot_rows
        self.memory = anonymous_file()
        self.shared = SharedRows(
            self.memory, total, game.information_state_tensor_size, game.num_actions
        )
        self.processes = [
            Process(
                f"traversal process {index + 1} of {driver.processes}",
                self.memory,
                Setup(str(game), driver.concurrency, index * slots, slots, slot_rows, total),
            )
            for index in range(driver.processes)
        ]
        weakref.finalize(self, end_all, self.processes, self.memory)

    async def traverse(self, plan: TraversalPlan, evaluator: Evaluator, collect: Collect) -> None:
        """Make the plan's traversals and hand them to `collect`, in order.

        Raises TraversalProcessDied if a process ends. After any failure, and when cancelled, no
        process is left; the next call starts new ones.
        """
        traversal = Traversal(self, evaluator, Merger(self.game, len(self.processes), collect))
        try:
            await traversal.run(plan)
        except BaseExceptionGroup as failures:
            self.close()
            raise first_failure(failures) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.end()


def end_all(processes: list["Process"], memory: int) -> None:
    for process in processes:
        process.end()
    os.close(memory)


class Process:
    """One traversal process, seen from outside."""

    def __init__(self, name: str, memory: int, setup: Setup) -> None:
        self.name = name
        self.memory = memory
        self.setup = setup
        self.end_of_socket: socket.socket | None = None
        self.popen: subprocess.Popen[bytes] | None = None

    async def connect(self) -> Channel:
        """A channel to the process, which is started if it does not run."""
        new = self.popen is None or self.popen.poll() is not None
        if new:
            self.start()
        assert self.end_of_socket is not None
        channel = await Channel.open(self.end_of_socket)
        if new:
            channel.send(self.setup)
        return channel

    def start(self) -> None:
        self.end()
        self.end_of_socket, theirs = socket.socketpair()
        with theirs:
            program = PROGRAM.format(path=sys.path, end=theirs.fileno(), memory=self.memory)
            self.popen = subprocess.Popen(
                [sys.executable, "-c", program],
                pass_fds=(theirs.fileno(), self.memory),
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is for us; we end our processes ourselves
            )

    def died(self) -> TraversalProcessDied:
        assert self.popen is not None
        status = self.popen.wait()
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited: {status}"
        return TraversalProcessDied(
            f"{self.name} (process {self.popen.pid}) {how}; this iteration is lost, continue from "
            "the last checkpoint"
        )

    def end(self) -> None:
        if self.end_of_socket is not None:
            self.end_of_socket.close()
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()
            self.popen = None


class Traversal:
    """One call of `TraversalProcesses.traverse`."""

    def __init__(
        self, processes: TraversalProcesses, evaluator: Evaluator, merger: "Merger"
    ) -> None:
        self.processes = processes.processes
        self.shared = processes.shared
        self.evaluator = evaluator
        self.merger = merger
        self.batcher: Batcher[Request, Request] = Batcher(
            self.evaluate,
            max_batch=processes.driver.max_batch,
            batch_window_us=processes.driver.batch_window_us,
            size_of=lambda request: request.size,
            inline=evaluator.device.type == "cpu",
        )

    async def run(self, plan: TraversalPlan) -> None:
        async with self.batcher, asyncio.TaskGroup() as group:
            for index, process in enumerate(self.processes):
                numbers = range(index, plan.traversals, len(self.processes))
                group.create_task(self.follow(process, Share(plan, numbers), group))

    async def follow(self, process: Process, share: Share, group: asyncio.TaskGroup) -> None:
        """Have a process make its share."""
        channel = await process.connect()
        channel.send(share)
        try:
            # Its requests count for it: once every process waits, no batch waits any longer.
            with self.batcher.participant():
                await self.listen(process, channel, share, group)
        finally:
            channel.close()

    async def listen(
        self, process: Process, channel: Channel, share: Share, group: asyncio.TaskGroup
    ) -> None:
        """Heed a process until it has finished its share."""
        while True:
            message = await channel.receive()
            if isinstance(message, Request):
                group.create_task(self.answer(channel, message))
            elif isinstance(message, Bundle):
                self.merger.add(share.numbers.start, message)
            elif isinstance(message, Failure):
                raise TraversalProcessDied(f"{process.name} failed: {message.text}")
            elif message is None:
                raise process.died()
            else:
                return

    async def answer(self, channel: Channel, request: Request) -> None:
        await self.batcher(request)
        channel.send(request.slot)

    def evaluate(self, requests: list[Request]) -> list[Request]:
        """Answer a batch in the shared memory, one forward for each player in it."""
        groups: dict[int, list[Indices]] = {}
        for slot, player, size in requests:
            first = slot * self.processes[0].setup.slot_rows
            groups.setdefault(player, []).append(np.arange(first, first + size))
        for player, parts in groups.items():
            which = np.concatenate(parts)
            self.evaluator.answer_rows(player, self.shared.rows, self.shared.outputs, which)
        self.evaluator.tally.group_counts.append(len(groups))
        return requests


class Merger:
    """Puts the walks of all processes, each of which sends its own in order, in one order."""

    def __init__(self, game: Game, processes: int, collect: Collect) -> None:
        self.game = game
        self.collect = collect
        self.queues: list[deque[FinishedWalk]] = [deque() for _ in range(processes)]
        self.collected = 0

    def add(self, process: int, bundle: Bundle) -> None:
        self.queues[process].extend(bundle.walks(self.game))
        while queue := self.queues[self.collected % len(self.queues)]:
            self.collect(queue.popleft())
            self.collected += 1
