"""Deep CFR on an asyncio micro-batcher.

Three ways in: `asynccfr train CONFIG` (or `async for report in train(config)`), the `Batcher` for
any asyncio application, and the games with their exact evaluation. Names are imported when first
used, so that `from asynccfr import Batcher` needs neither torch nor the games.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asynccfr.agents import Agent as Agent
    from asynccfr.batcher import Batcher as Batcher
    from asynccfr.config import TrainConfig as TrainConfig
    from asynccfr.config.files import load as load_config
    from asynccfr.event_loop import run as run
    from asynccfr.games import load_game as load_game
    from asynccfr.games import registered_games as registered_games
    from asynccfr.runs import RunFolder as RunFolder
    from asynccfr.training import train as train

HOMES = {
    "Agent": "asynccfr.agents",
    "Batcher": "asynccfr.batcher",
    "RunFolder": "asynccfr.runs",
    "TrainConfig": "asynccfr.config",
    "load_config": "asynccfr.config.files:load",
    "load_game": "asynccfr.games",
    "registered_games": "asynccfr.games",
    "run": "asynccfr.event_loop",
    "train": "asynccfr.training",
}

__all__ = [
    "Agent",
    "Batcher",
    "RunFolder",
    "TrainConfig",
    "load_config",
    "load_game",
    "registered_games",
    "run",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'asynccfr' has no attribute {name!r}")
    module, _, attribute = HOMES[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
