"""Whether others get their turns while something is at work in the event loop."""

import asyncio


class Bystander:
    """A task that only counts its turns, for as long as the block takes."""

    turns = 0

    async def __aenter__(self):
        self.task = asyncio.create_task(self.count())
        return self

    async def __aexit__(self, *exception):
        self.task.cancel()

    async def count(self):
        while True:
            self.turns += 1
            await asyncio.sleep(0)
