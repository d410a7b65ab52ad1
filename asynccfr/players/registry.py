"""The players by name: bots, the champion, and agents by the path where they were saved.

A new bot is one line of `BOTS`.
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from asynccfr.errors import PlayerError
from asynccfr.games.contract import Game
from asynccfr.games.parameters import nearest
from asynccfr.games.registry import load_game
from asynccfr.players.lost_cities import DiscardOnly, Threshold, bold, cautious
from asynccfr.players.protocol import Player
from asynccfr.players.uniform import UniformPlayer

if TYPE_CHECKING:
    from asynccfr.agents import Agent, MixtureAgent

EVERY_GAME = ""


def uniform(game: Game) -> UniformPlayer:
    """Every legal action with equal probability."""
    return UniformPlayer()


BOTS: dict[str, dict[str, Callable[[Any], Player]]] = {
    EVERY_GAME: {"random": uniform},
    "lost_cities": {
        "discard_only": DiscardOnly,
        "threshold": Threshold,
        "cautious": cautious,
        "bold": bold,
    },
}

SEARCH = re.compile(r"search(?:\(([^()]*)\))?:(.+)")

CHAMPION = "champion"
CHAMPION_FOLDER = Path(__file__).parents[1] / "agents" / "champion"
CHAMPION_GAME = "lost_cities"


def bots_for(game: Game) -> dict[str, Callable[[Any], Player]]:
    """The bots that know a game, by name."""
    return {**BOTS[EVERY_GAME], **BOTS.get(game.name, {})}


def players_for(game: Game) -> tuple[str, ...]:
    """The names of the bots that know a game."""
    return tuple(bots_for(game))


def opponents_for(game: Game) -> tuple[str, ...]:
    """Everybody who comes with this package and plays a game: the bots, and the champion of it."""
    is_its_game = str(game) == str(load_game(CHAMPION_GAME))
    return (*players_for(game), *([CHAMPION] if is_its_game else ()))


def described(spec: str, game: Game) -> str:
    """What a player does, in one line."""
    if spec in (bots := bots_for(game)):
        return "A bot. " + (bots[spec].__doc__ or "").partition("\n")[0]
    return "The agent that comes with asynccfr." if spec == CHAMPION else "A saved agent."


def make_player(spec: str, game: Game) -> Player:
    """The bot of that name, or the agent saved at that path: its file, or the folder of its run.

    `champion` is the agent that comes with this package; `search:AGENT` searches on top of an
    agent, `search(milliseconds=500):AGENT` for so long a move (see `SearchPlan`). Agents are async
    context managers, to be entered before they play. Raises PlayerError for an unknown name or an
    agent of another game, CheckpointError for a file that holds no agent.
    """
    bots = bots_for(game)
    if spec in bots:
        return bots[spec](game)
    if is_saved_agent(spec):
        return load_agent(spec, game)
    if SEARCH.fullmatch(spec):
        return make_search(spec, game)
    names = [*bots, CHAMPION]
    raise PlayerError(
        f"unknown player {spec!r}{nearest(spec, names)} (expected a bot of {game.name}: "
        f"{', '.join(bots)}; or an agent's file, or the folder of a run)"
    )


def is_saved_agent(spec: str) -> bool:
    """Whether a player's name stands for an agent; `./bold` does, where `bold` is a bot."""
    is_bot = any(spec in bots for bots in BOTS.values())
    return spec == CHAMPION or (spec != "" and Path(spec).exists() and not is_bot)


def agent_path(spec: str) -> Path:
    """Where a saved agent lies: its file, or the folder that has it."""
    return CHAMPION_FOLDER if spec == CHAMPION else Path(spec)


def game_of_agents(specs: Sequence[str]) -> Game | None:
    """The game of the first saved agent among some players; None if all are bots."""
    saved = next(filter(is_saved_agent, map(searched, specs)), None)
    if saved is None:
        return None
    from asynccfr.agents import Agent

    return Agent.load(agent_path(saved)).game


def searched(spec: str) -> str:
    """The agent on top of which a player searches; the player itself if it does not."""
    found = SEARCH.fullmatch(spec)
    return found[2] if found else spec


def load_agent(spec: str, game: Game) -> Player:
    from asynccfr.players.mixture import player_of

    return player_of(read_agent(spec, game), spec)


def make_search(spec: str, game: Game) -> Player:
    from asynccfr.agents import Agent
    from asynccfr.players.search import SearchPlan, SearchPlayer

    found = SEARCH.fullmatch(spec)
    assert found is not None
    options, inner = found.groups()
    if not is_saved_agent(inner):
        raise PlayerError(f"{spec}: {inner!r} is no agent; search goes on top of one")
    agent = read_agent(inner, game)
    if not isinstance(agent, Agent):
        raise PlayerError(f"{spec}: {inner} is a mixture of networks; search needs a single one")
    pairs = [option.partition("=") for option in options.split(",")] if options else []
    given = {key.strip(): value.strip() for key, _, value in pairs}
    unknown = [key for key in given if key not in SearchPlan.__struct_fields__]
    if unknown:
        known = ", ".join(SearchPlan.__struct_fields__)
        raise PlayerError(f"{spec}: unknown option {unknown[0]!r}; expected some of {known}")
    try:
        plan = msgspec.convert(given, SearchPlan, strict=False)
    except msgspec.ValidationError as error:
        raise PlayerError(f"{spec}: {error}") from None
    return SearchPlayer(agent, spec, plan)


def read_agent(spec: str, game: Game) -> "Agent | MixtureAgent":
    """The agent of that name. Raises PlayerError if it plays another game."""
    from asynccfr.agents import Agent

    agent = Agent.load(agent_path(spec), game)
    if str(agent.game) != str(game):
        raise PlayerError(f"{spec}: an agent of {agent.game}; it cannot play {game}")
    return agent


@asynccontextmanager
async def seated(specs: Sequence[str | Player], game: Game) -> AsyncIterator[list[Player]]:
    """The players, or those of the names, the agents among them entered, and closed in the end."""
    async with AsyncExitStack() as stack:
        players = [make_player(spec, game) if isinstance(spec, str) else spec for spec in specs]
        for player in players:
            if isinstance(player, AbstractAsyncContextManager):
                await stack.enter_async_context(player)
        yield players
