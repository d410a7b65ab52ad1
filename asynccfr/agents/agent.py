"""A trained agent: one file that says which game it plays, and how.

A safetensors file: the parameters of a network, or of every iteration's networks, with an
`AgentCard` and a checksum as metadata. It holds no pickle, so that loading a stranger's agent runs
none of their code.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import isqrt
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from msgspec import Struct

from asynccfr import config
from asynccfr.agents.network_history import from_row, to_row
from asynccfr.agents.profiles import AverageProfile, NetworkProfile
from asynccfr.cfr.regret_matching import Rule, policy_rows
from asynccfr.errors import CheckpointError
from asynccfr.exact.policy import InformationStates, TabularPolicy
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.games import Game, load_game
from asynccfr.games.allowed import load_allowed
from asynccfr.networks import InferenceCopy, Network, build_network, hidden_parameters
from asynccfr.runs.folder import AGENT
from asynccfr.seeding import Rng
from asynccfr.storage import tensors

CARD, CHECKSUM = "asynccfr_agent", "blake2b"


RuleName = Literal["softmax", "regret_matching_highest", "regret_matching_uniform"]


class AgentCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent plays and where it comes from.

    Fields:
        rule: what makes a policy of the network's outputs.
        greedy: it plays that policy's likeliest action always.
        mixture: the file holds the advantage networks of every iteration (`MixtureAgent`).
        version: of the asynccfr that made it; early ones did not say.
    """

    game: str
    rule: RuleName
    network: config.Network
    seed: int
    iterations: int
    nodes: int
    greedy: bool = False
    mixture: bool = False
    version: str = "unknown"


class Agent:
    """A network and the rule that makes its outputs a policy.

    Attributes:
        card: what it plays and where it comes from.
        game: the game, loaded.
        network: float32 rows [n, tensor_size] to outputs [n, num_actions].
        rule: from outputs at the legal actions to what it plays.
        prior: the same, but never greedy.
    """

    def __init__(self, card: AgentCard, network: Network, game: Game | None = None) -> None:
        self.card = card
        self.game = game if game is not None else load_game(card.game)
        self.network = network.eval()
        self.prior = Rule[card.rule.upper()]
        self.rule = Rule.GREEDY if card.greedy else self.prior

    def policy(self, states: InformationStates) -> npt.NDArray[np.float64]:
        """The policies [n, num_actions] of many information states, for exact evaluation."""
        outputs = InferenceCopy(self.network)(torch.from_numpy(states.tensors))
        return policy_rows(outputs.numpy(), states.legal.view(np.uint8), self.rule)

    def save_bytes(self) -> bytes:
        """The contents of the agent's file."""
        parameters = self.network.state_dict().items()
        return encoded(self.card, {name: each.float().cpu().numpy() for name, each in parameters})

    @classmethod
    def load(cls, path: str | Path, game: Game | None = None) -> "Agent | MixtureAgent":
        """Read an agent's file, or that in the folder of a run.

        Args:
            path: the file or folder.
            game: an agent of that game plays it. Others play one that a file may name, or GameError
                is raised: no file can have code imported, or another file opened.

        Raises CheckpointError if it is missing, damaged, no agent, or not of finite float32.
        """
        path = Path(path)
        path = path / AGENT if path.is_dir() else path
        try:
            arrays, metadata = tensors.read(path)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise CheckpointError(f"{path}: not a readable agent file: {reason}") from error
        if CARD not in metadata:
            raise CheckpointError(f"{path}: a safetensors file, but not an agent of asynccfr")
        if metadata.get(CHECKSUM) != checksum(metadata[CARD], arrays):
            raise CheckpointError(f"{path}: checksum differs, the file is damaged; copy it again")
        try:
            card = msgspec.json.decode(metadata[CARD], type=AgentCard)
        except msgspec.DecodeError as error:
            raise CheckpointError(f"{path}: its card cannot be read: {error}") from error
        if game is None or str(game) != card.game:
            game = load_allowed(card.game, str(path))
        try:
            check_fit(card, game, arrays)
        except ValueError as error:
            raise CheckpointError(f"{path}: parameters do not fit {game}: {error}") from error
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                raise CheckpointError(
                    f"{path}: {name} holds numbers that are not finite, which cannot play; "
                    "train it again, or copy it again"
                )
        if card.mixture:
            return MixtureAgent(card, arrays["rows"].copy(), game)
        network = zero_network(card, game)
        network.load_state_dict({name: torch.from_numpy(each) for name, each in arrays.items()})
        return cls(card, network, game)


class MixtureAgent:
    """Single Deep CFR's agent (Steinberger 2019): in every game it plays one iteration's networks.

    Iteration t is drawn with probability proportional to t, which is linear CFR's average strategy.

    Attributes:
        card, game, rule: as of `Agent`.
        rows: the parameters of every iteration's networks (`NetworkHistory`).
    """

    def __init__(
        self, card: AgentCard, rows: npt.NDArray[np.float32], game: Game | None = None
    ) -> None:
        self.card = card
        self.game = game if game is not None else load_game(card.game)
        self.rule = Rule[card.rule.upper()]
        self.rows = rows
        self._networks = [zero_network(card, self.game) for _ in range(self.game.num_players)]
        size = len(to_row(self._networks))
        if rows.ndim != 2 or rows.shape[1] != size or not len(rows):
            raise ValueError(f"rows: {list(rows.shape)}, expected some of {size} parameters")

    def networks(self, iteration: int) -> list[Network]:
        """Every player's network after an iteration, counted from 1; until the next call."""
        from_row(self.rows[iteration - 1], self._networks)
        return self._networks

    def draw(self, rng: Rng) -> int:
        """An iteration, for one game."""
        n = len(self.rows)
        point = rng.integer(n * (n + 1) // 2)  # t of these belong to iteration t
        return (isqrt(8 * point + 1) + 1) // 2

    def profiles(self) -> Iterator[tuple[NetworkProfile, float]]:
        """The current profile after each iteration, with its weight in the average."""
        for iteration in range(1, len(self.rows) + 1):
            yield NetworkProfile(self.networks(iteration), self.rule), float(iteration)

    def policy(self, states: InformationStates) -> npt.NDArray[np.floating]:
        """The exact average policies [n, num_actions]; GameError for a game too large for that."""
        return self._average(states)

    @cached_property
    def _average(self) -> TabularPolicy:
        return AverageProfile(sequence_form(self.game)).extend(self.profiles()).policy()

    def save_bytes(self) -> bytes:
        """The contents of the agent's file."""
        return encoded(self.card, {"rows": self.rows})


def zero_network(card: AgentCard, game: Game) -> Network:
    """A network of the card's shape, to be given its parameters."""
    size = game.information_state_tensor_size
    return build_network(card.network, size, game.num_actions, Rng(0), game.symmetry)


def check_fit(card: AgentCard, game: Game, arrays: Mapping[str, tensors.Array]) -> None:
    """Raises ValueError for other arrays than the card's, before much memory is taken for those."""
    size = hidden_parameters(card.network, game.information_state_tensor_size, game.symmetry)
    if size > (held := sum(array.size for array in arrays.values())):
        raise ValueError(f"{held} numbers, expected more than {size}")
    network = zero_network(card, game)
    expected = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    if card.mixture:
        rows = arrays.get("rows", np.empty(0))
        iterations = len(rows) if rows.ndim else 0
        row = game.num_players * sum(each.numel() for each in network.parameters())
        expected = {"rows": (max(iterations, 1), row)}
    if unlike := sorted(expected.keys() ^ arrays.keys()):
        why = "is missing" if unlike[0] in expected else "is not of such a network"
        raise ValueError(f"{unlike[0]} {why}")
    for name, shape in expected.items():
        found = arrays[name]
        if found.dtype != np.float32 or found.shape != shape:
            raise ValueError(
                f"{name}: {found.dtype} {list(found.shape)}, expected float32 {list(shape)}"
            )


def encoded(card: AgentCard, arrays: Mapping[str, tensors.Array]) -> bytes:
    """The contents of an agent's file."""
    text = msgspec.json.encode(card).decode()
    metadata = {CARD: text, CHECKSUM: checksum(text, arrays)}
    return b"".join(tensors.encode(arrays, metadata))


def checksum(card: str, arrays: Mapping[str, tensors.Array]) -> str:
    digest = hashlib.blake2b(card.encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
