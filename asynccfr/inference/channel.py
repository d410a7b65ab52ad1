"""What traversal processes and the inference process share: a socket for messages, memory for rows.

Rows never travel through the socket. The memory has no name, so nothing of it can outlive the
processes that hold it; and a process that dies closes its socket, which the other side notices.
"""

import asyncio
import mmap
import os
import pickle
import socket
import tempfile
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.plan import TraversalPlan

LENGTH_BYTES = 4
BUFFER_BYTES = 2**22


class Setup(NamedTuple):
    """What a traversal process is told first.

    Its slots are those numbered from `first_slot`; each holds the rows of one request.
    """

    game: str
    concurrency: int
    first_slot: int
    slots: int
    slot_rows: int
    memory_rows: int


class Share(NamedTuple):
    """To a traversal process: make the traversals of these numbers."""

    plan: TraversalPlan
    numbers: range


class Request(NamedTuple):
    """From a traversal process: the first `size` rows of a slot wait for one player's network.

    The answer is the slot's number.
    """

    slot: int
    player: int
    size: int


class Finished(NamedTuple):
    """From a traversal process: its share is done, every bundle has been sent."""


class Failure(NamedTuple):
    """From a traversal process: it failed with this traceback."""

    text: str


class Channel:
    """Messages through a stream socket, in the running event loop; the socket itself stays open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, end: socket.socket) -> "Channel":
        return cls(*await asyncio.open_unix_connection(sock=end.dup(), limit=BUFFER_BYTES))

    def send(self, message: object) -> None:
        """Put a message on its way; to a process that is gone, it is lost."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self.writer.write(len(data).to_bytes(LENGTH_BYTES, "little") + data)

    async def receive(self) -> Any:
        """The next message; None if the other side is gone."""
        try:
            size = int.from_bytes(await self.reader.readexactly(LENGTH_BYTES), "little")
            return pickle.loads(await self.reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def close(self) -> None:
        self.writer.close()


class SharedRows:
    """Memory shared between processes: rows to evaluate and, beside each, the network's outputs.

    Attributes:
        rows: float32 [memory_rows, tensor_size].
        outputs: float32 [memory_rows, num_actions].
    """

    def __init__(self, descriptor: int, memory_rows: int, width: int, num_actions: int) -> None:
        size = 4 * memory_rows * (width + num_actions)
        os.ftruncate(descriptor, size)
        memory: npt.NDArray[np.float32] = np.frombuffer(mmap.mmap(descriptor, size), np.float32)
        self.rows = memory[: memory_rows * width].reshape(memory_rows, width)
        self.outputs = memory[memory_rows * width :].reshape(memory_rows, num_actions)


def anonymous_file() -> int:
    """A descriptor of a file without a name, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("asynccfr")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
