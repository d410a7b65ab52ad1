"""A small HTTP client over loopback, and a uvicorn server in a thread of this process."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn


@contextlib.contextmanager
def serving(app: Any, loop: str = "asyncio") -> Iterator[int]:
    """Serve on 127.0.0.1; yields the port."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", loop=loop, ws="none")
    server = uvicorn.Server(config)
    started = threading.Event()

    async def serve() -> None:
        task = asyncio.create_task(server.serve())
        while not server.started and not task.done():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        started.set()
        await task

    if loop == "uvloop":
        import uvloop

        thread = threading.Thread(target=lambda: uvloop.run(serve()))
    else:
        thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    started.wait(30)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)


class Client:
    """One connection, which serves one request after another."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        """The status and the decoded body."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        payload = json.dumps(body).encode()
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(payload)}\r\n\r\n".encode()
            + payload
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        return int(head.split()[1]), json.loads(await reader.readexactly(length))

    async def leave(self) -> None:
        """Hang up at once, whatever is under way."""
        if self.streams is not None:
            self.streams[1].transport.abort()
            self.streams = None

    async def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            with contextlib.suppress(OSError):
                await self.streams[1].wait_closed()
            self.streams = None
