"""Policies in bulk: a function from a batch of information states to action probabilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from asynccfr.errors import GameError
from asynccfr.games.contract import State


@dataclass(frozen=True, eq=False)
class InformationStates:
    """A batch of N information states, each seen by the player to move.

    Attributes:
        keys: information-state keys, N of them.
        players: the players to move, int [N].
        tensors: float32 [N, information_state_tensor_size].
        legal: bool [N, num_actions].
    """

    keys: Sequence[bytes]
    players: npt.NDArray[np.intc]
    tensors: npt.NDArray[np.float32]
    legal: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, states: Sequence[State]) -> "InformationStates":
        """Those of the players to move in `states`: at least one, none chance or terminal."""
        movers = [(state, state.current_player) for state in states]
        return cls(
            keys=[state.information_state_key(player) for state, player in movers],
            players=np.array([player for _, player in movers], dtype=np.intc),
            tensors=np.stack([state.information_state_tensor(player) for state, player in movers]),
            legal=np.stack([state.legal_actions_mask() for state in states]),
        )

    def __len__(self) -> int:
        return len(self.keys)


Policy: TypeAlias = Callable[[InformationStates], npt.NDArray[np.floating]]
"""Action probabilities [N, num_actions] of N information states, zero at illegal actions."""


def uniform(states: InformationStates) -> npt.NDArray[np.float64]:
    """The policy that plays every legal action equally often."""
    counts: npt.NDArray[np.int_] = states.legal.sum(axis=1, keepdims=True)
    return np.asarray(states.legal / counts, dtype=np.float64)


class TabularPolicy:
    """A policy that looks its probabilities up, [N, num_actions] for the given information states.

    Raises GameError when asked about any other.
    """

    def __init__(
        self,
        keys: Sequence[bytes],
        players: npt.NDArray[np.intc],
        probabilities: npt.NDArray[np.floating],
    ) -> None:
        self.probabilities = probabilities
        self._row = {
            (player, key): i
            for i, (player, key) in enumerate(zip(players.tolist(), keys, strict=True))
        }

    def __call__(self, states: InformationStates) -> npt.NDArray[np.floating]:
        wanted = zip(states.players.tolist(), states.keys, strict=True)
        try:
            return self.probabilities[[self._row[mover] for mover in wanted]]
        except KeyError as error:
            player, key = error.args[0]
            raise GameError(f"policy: nothing is known of player {player} at {key!r}") from None
