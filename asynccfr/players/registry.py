"""The players by name: bots, and agents by the path where they were saved.

A new bot is one line of `BOTS`.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from asynccfr.errors import PlayerError
from asynccfr.games.contract import Game
from asynccfr.games.parameters import nearest
from asynccfr.players.lost_cities import DiscardOnly, Threshold, bold, cautious
from asynccfr.players.protocol import Player
from asynccfr.players.uniform import UniformPlayer

EVERY_GAME = ""

BOTS: dict[str, dict[str, Callable[[Any], Player]]] = {
    EVERY_GAME: {"random": lambda game: UniformPlayer()},
    "lost_cities": {
        "discard_only": DiscardOnly,
        "threshold": Threshold,
        "cautious": cautious,
        "bold": bold,
    },
}

AGENT_FILE = "agent.safetensors"


def players_for(game: Game) -> tuple[str, ...]:
    """The names of the bots that know a game."""
    return (*BOTS[EVERY_GAME], *BOTS.get(game.name, {}))


def make_player(spec: str, game: Game) -> Player:
    """The bot of that name, or the agent saved at that path: its file, or the folder of its run.

    An agent is an async context manager, to be entered before it plays. Raises PlayerError for an
    unknown name or an agent of another game, CheckpointError for a file that holds no agent.
    """
    makers = {**BOTS[EVERY_GAME], **BOTS.get(game.name, {})}
    if spec in makers:
        return makers[spec](game)
    if is_saved_agent(spec):
        return load_agent(spec, game)
    names = list(makers)
    raise PlayerError(
        f"unknown player {spec!r}{nearest(spec, names)} (expected a bot of {game.name}: "
        f"{', '.join(names)}; or an agent's file, or the folder of a run)"
    )


def is_saved_agent(spec: str) -> bool:
    """Whether a player's name is the path of an agent; `./bold` is, where `bold` is a bot."""
    return Path(spec).exists() and not any(spec in bots for bots in BOTS.values())


def agent_file(spec: str) -> Path:
    """The file of a saved agent: the path itself, or the one in the folder of a run."""
    path = Path(spec)
    return path / AGENT_FILE if path.is_dir() else path


def game_of_agents(specs: Sequence[str]) -> Game | None:
    """The game of the first saved agent among some players; None if all are bots."""
    saved = next(filter(is_saved_agent, specs), None)
    if saved is None:
        return None
    from asynccfr.agents import Agent

    return Agent.load(agent_file(saved)).game


def load_agent(spec: str, game: Game) -> Player:
    from asynccfr.agents import Agent
    from asynccfr.players.mixture import player_of

    agent = Agent.load(agent_file(spec), game)
    if str(agent.game) != str(game):
        raise PlayerError(f"{spec}: an agent of {agent.game}; it cannot play {game}")
    return player_of(agent, spec)


@asynccontextmanager
async def seated(specs: Sequence[str], game: Game) -> AsyncIterator[list[Player]]:
    """The players of those names, the agents among them entered, and closed in the end."""
    async with AsyncExitStack() as stack:
        players = [make_player(spec, game) for spec in specs]
        for player in players:
            if isinstance(player, AbstractAsyncContextManager):
                await stack.enter_async_context(player)
        yield players
