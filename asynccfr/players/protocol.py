"""What it takes to be a player."""

from collections.abc import Awaitable
from typing import Protocol

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
