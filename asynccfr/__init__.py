"""Deep CFR and self-play on an asyncio micro-batcher.

This page is the whole promise: what a program needs is named here, and what is not may change
without notice. `config` holds what a run is made of, `errors` everything that is raised on purpose.
Names are imported when first used, so that `from asynccfr import Batcher` needs no other package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from asynccfr.errors import needed_by

__version__ = "0.1.0"

if TYPE_CHECKING:
    from asynccfr import config as config
    from asynccfr import errors as errors
    from asynccfr.agents import Agent as Agent
    from asynccfr.agents import MixtureAgent as MixtureAgent
    from asynccfr.batcher import Batcher as Batcher
    from asynccfr.batcher import BatchRecord as BatchRecord
    from asynccfr.batcher import Call as Call
    from asynccfr.batcher import QueueFull as QueueFull
    from asynccfr.batcher import Statistics as Statistics
    from asynccfr.batcher import batched as batched
    from asynccfr.batcher.prometheus import BatcherCollector as BatcherCollector
    from asynccfr.config import TrainConfig as TrainConfig
    from asynccfr.config.files import load_config as load_config
    from asynccfr.evaluation.arena import MatchPlan as MatchPlan
    from asynccfr.evaluation.evaluate import evaluate as evaluate
    from asynccfr.evaluation.exploit import exploit as exploit
    from asynccfr.evaluation.exploit import exploit_bound as exploit_bound
    from asynccfr.event_loop import run as run
    from asynccfr.exact.best_response import NashConv as NashConv
    from asynccfr.exact.best_response import information_states as information_states
    from asynccfr.exact.best_response import nash_conv as nash_conv
    from asynccfr.exact.best_response import tabulate as tabulate
    from asynccfr.exact.openspiel_policy import from_openspiel_policy as from_openspiel_policy
    from asynccfr.exact.openspiel_policy import to_openspiel_policy as to_openspiel_policy
    from asynccfr.exact.policy import InformationStates as InformationStates
    from asynccfr.exact.policy import TabularPolicy as TabularPolicy
    from asynccfr.exact.policy import uniform as uniform
    from asynccfr.exact.private_evaluation import PrivateEvaluation as PrivateEvaluation
    from asynccfr.games import Game as Game
    from asynccfr.games import PythonGame as PythonGame
    from asynccfr.games import State as State
    from asynccfr.games import load_game as load_game
    from asynccfr.games import registered_games as registered_games
    from asynccfr.players import Player as Player
    from asynccfr.players import make_player as make_player
    from asynccfr.players import opponents_for as opponents_for
    from asynccfr.reports import IterationReport as IterationReport
    from asynccfr.reports import MatchReport as MatchReport
    from asynccfr.runs import RunFolder as RunFolder
    from asynccfr.seeding import Rng as Rng
    from asynccfr.training import train as train

__version__ = "0.1.0"

PAGE = {
    "asynccfr.agents": ["Agent", "MixtureAgent"],
    "asynccfr.batcher": [
        "BatchRecord",
        "Batcher",
        "Call",
        "QueueFull",
        "Statistics",
        "batched",
    ],
    "asynccfr.batcher.prometheus": ["BatcherCollector"],
    "asynccfr.config": ["TrainConfig"],
    "asynccfr.config.files": ["load_config"],
    "asynccfr.evaluation.arena": ["MatchPlan"],
    "asynccfr.evaluation.evaluate": ["evaluate"],
    "asynccfr.evaluation.exploit": ["exploit", "exploit_bound"],
    "asynccfr.event_loop": ["run"],
    "asynccfr.exact.best_response": ["NashConv", "information_states", "nash_conv", "tabulate"],
    "asynccfr.exact.openspiel_policy": ["from_openspiel_policy", "to_openspiel_policy"],
    "asynccfr.exact.policy": ["InformationStates", "TabularPolicy", "uniform"],
    "asynccfr.exact.private_evaluation": ["PrivateEvaluation"],
    "asynccfr.games": ["Game", "PythonGame", "State", "load_game", "registered_games"],
    "asynccfr.players": ["Player", "make_player", "opponents_for"],
    "asynccfr.reports": ["IterationReport", "MatchReport"],
    "asynccfr.runs": ["RunFolder"],
    "asynccfr.seeding": ["Rng"],
    "asynccfr.training": ["train"],
}
HOMES = {name: module for module, names in PAGE.items() for name in names}
ROOMS = ("config", "errors")
WITH_GAMES = ("games", "exact", "players")  # rooms for which the extra `games` is enough

__all__ = sorted([*HOMES, *ROOMS])


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'asynccfr' has no attribute {name!r}")
    home = HOMES.get(name, f"asynccfr.{name}")
    extra = "games" if home.split(".")[1] in WITH_GAMES else "train"
    with needed_by(f"asynccfr.{name}", extra):
        module = import_module(home)
    return module if name in ROOMS else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
