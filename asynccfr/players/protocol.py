"""What it takes to be a player, and how one is asked to move."""

import asyncio
import operator
from collections.abc import Awaitable
from typing import Protocol

from asynccfr.errors import PlayerError
from asynccfr.games.contract import State
from asynccfr.seeding import Rng


class Player(Protocol):
    """Whoever chooses actions; one object may play any number of games at once.

    `act` is asked wherever the player is to move and answers with a legal action, or with an
    awaitable of one: rule bots are plain methods, network players coroutines. It must leave `state`
    as it was, use no other source of chance than `rng`, which belongs to this game and seat, and
    read nothing that `state.current_player` may not know.
    """

    @property
    def name(self) -> str: ...

    def act(self, state: State, rng: Rng) -> int | Awaitable[int]: ...


async def take_turn(player: Player, state: State, rng: Rng) -> int:
    """Ask the player to move, apply the answer to `state` and return it.

    Raises PlayerError, naming the player, if that raises anything, an illegal action included.
    """
    try:
        answer = player.act(state, rng)
        # A whole number of any type; a fraction would be cut down to an action.
        action = operator.index(await answer if isinstance(answer, Awaitable) else answer)
        state.apply(action)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise PlayerError(f"player {player.name!r}: its answer was cancelled") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise PlayerError(f"player {player.name!r} failed: {reason}") from error
    return action
