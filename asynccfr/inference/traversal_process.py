"""A process that walks games and has its rows evaluated elsewhere; it needs no torch.

It runs the same coroutines as the async driver. What its batcher collects goes into a slot of the
shared memory, and the number of the slot through the socket. It ends when the socket is closed.
"""

import asyncio
import os
import socket
import traceback

from asynccfr.batcher import Batcher
from asynccfr.cfr.crew import Waiting
from asynccfr.cfr.finished import FinishedWalk, Packer
from asynccfr.cfr.query import Query, deliver, encode
from asynccfr.cfr.walk import Walk
from asynccfr.event_loop import run
from asynccfr.games import Game, load_game
from asynccfr.inference.channel import (
    Channel,
    Failure,
    Finished,
    Request,
    Setup,
    Share,
    SharedRows,
)
from asynccfr.inference.drivers import queries_of, traverse_batched

BUNDLE_SAMPLES = 4096


class TraversalProcess:
    """One traversal process, seen from inside."""

    def __init__(self, channel: Channel, setup: Setup, memory: int) -> None:
        self.channel = channel
        self.setup = setup
        self.game = load_game(setup.game)
        shared = SharedRows(
            memory,
            setup.memory_rows,
            self.game.information_state_tensor_size,
            self.game.num_actions,
        )
        slots = range(setup.first_slot, setup.first_slot + setup.slots)
        parts = {
            slot: slice(slot * setup.slot_rows, (slot + 1) * setup.slot_rows) for slot in slots
        }
        self.rows = {slot: shared.rows[part] for slot, part in parts.items()}
        self.outputs = {slot: shared.outputs[part] for slot, part in parts.items()}
        self.free_slots = list(slots)
        self.waiting: dict[int, asyncio.Future[None]] = {}

    async def run(self) -> None:
        """Do what is asked until the other side is gone."""
        while (message := await self.channel.receive()) is not None:
            if isinstance(message, Share):
                self.traversing = asyncio.create_task(self.traverse(message))
            else:
                self.waiting.pop(message).set_result(None)

    async def traverse(self, share: Share) -> None:
        try:
            outbox = Outbox(self.channel, self.game)
            batcher = Batcher(
                self.answer,
                size_of=len,
                max_batch=self.setup.slot_rows,
                max_concurrent_batches=self.setup.slots,
            )
            walks = share.plan.walks(self.game, share.numbers, outbox.emptied)
            await traverse_batched(
                self.setup.concurrency, share.plan.scheme, walks, batcher, outbox.add
            )
            outbox.send()
            self.channel.send(Finished())
        except Exception:
            self.channel.send(Failure(traceback.format_exc()))

    async def answer(self, items: list[Waiting]) -> list[Waiting]:
        await self.ask(queries_of(items))
        return items

    async def ask(self, queries: list[Query]) -> None:
        """Have queries of one player answered in place."""
        slot = self.free_slots.pop()
        try:
            encode(queries, self.rows[slot])
            self.waiting[slot] = answered = asyncio.get_running_loop().create_future()
            self.channel.send(Request(slot, queries[0].player, len(queries)))
            await answered
            deliver(queries, self.outputs[slot])
        finally:
            self.free_slots.append(slot)


class Outbox(Packer):
    """Sends finished walks, many at a time."""

    def __init__(self, channel: Channel, game: Game) -> None:
        super().__init__(game)
        self.channel = channel

    def add(self, walk: Walk | FinishedWalk) -> None:
        super().add(walk)
        if len(self) >= BUNDLE_SAMPLES:
            self.send()

    def send(self) -> None:
        self.channel.send(self.take())


def main(end: int, memory: int) -> None:
    """Be a traversal process, given descriptors: `end` of its socket, `memory` of the rows."""

    async def serve() -> None:
        channel = await Channel.open(socket.socket(fileno=end))
        setup = await channel.receive()
        if setup is not None:
            await TraversalProcess(channel, setup, memory).run()
        os._exit(0)  # nothing here is worth winding up: whoever would want it is gone

    run(serve())
