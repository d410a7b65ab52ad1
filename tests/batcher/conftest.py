"""Every asynchronous test here runs on asyncio and on uvloop."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from asynccfr.batcher import Batcher


def pytest_asyncio_loop_factories(config, item):
    factories = {"asyncio": asyncio.new_event_loop}
    if sys.platform != "win32":
        import uvloop

        factories["uvloop"] = uvloop.new_event_loop
    return factories


Build = Callable[..., Batcher[Any, Any]]


@pytest.fixture(params=["inline", "thread", "task"])
def build(request) -> Build:
    """Makes a batcher of a plain function that executes it in one of the three ways."""

    def build(function, **options):
        if request.param == "inline":
            return Batcher(function, inline=True, **options)
        if request.param == "thread":
            return Batcher(function, **options)

        async def as_task(items):
            return function(items)

        return Batcher(as_task, **options)

    return build
