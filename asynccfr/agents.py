"""A trained agent: one file that says which game it plays, and how.

A safetensors file: the network's parameters, with an `AgentCard` and a checksum as metadata.
It holds no pickle, so that loading a stranger's agent runs none of their code.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from msgspec import Struct
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from asynccfr.cfr.policy import InformationStates
from asynccfr.cfr.regret_matching import Rule, policy_rows
from asynccfr.config import Network
from asynccfr.errors import CheckpointError
from asynccfr.games import Game, load_game
from asynccfr.networks import MLP, InferenceCopy, build_network
from asynccfr.seeding import Rng

CARD, CHECKSUM = "asynccfr_agent", "blake2b"


class AgentCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent plays and where it comes from."""

    game: str
    rule: Literal["softmax", "regret_matching_highest", "regret_matching_uniform"]
    network: Network
    seed: int
    iterations: int
    nodes: int


class Agent:
    """A network and the rule that makes its outputs a policy.

    Attributes:
        card: what it plays and where it comes from.
        game: the game, loaded.
        network: float32 rows [n, tensor_size] to outputs [n, num_actions].
        rule: from outputs at the legal actions to a policy.
    """

    def __init__(self, card: AgentCard, network: MLP, game: Game | None = None) -> None:
        self.card = card
        self.game = game if game is not None else load_game(card.game)
        self.network = network.eval()
        self.rule = Rule[card.rule.upper()]

    def policy(self, states: InformationStates) -> npt.NDArray[np.float64]:
        """The policies [n, num_actions] of many information states, for exact evaluation."""
        outputs = InferenceCopy(self.network)(torch.from_numpy(states.tensors))
        return policy_rows(outputs.numpy(), states.legal.view(np.uint8), self.rule)

    def save_bytes(self) -> bytes:
        """The contents of the agent's file."""
        tensors = {
            name: value.detach().float().cpu().contiguous()
            for name, value in self.network.state_dict().items()
        }
        card = msgspec.json.encode(self.card).decode()
        return bytes(save(tensors, {CARD: card, CHECKSUM: checksum(card, tensors)}))

    @classmethod
    def load(cls, path: str | Path) -> "Agent":
        """Read an agent's file. Raises CheckpointError if missing, damaged or no agent."""
        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise CheckpointError(f"{path}: not a readable agent file: {error}") from error
        if CARD not in metadata:
            raise CheckpointError(f"{path}: a safetensors file, but not an agent of asynccfr")
        if metadata.get(CHECKSUM) != checksum(metadata[CARD], tensors):
            raise CheckpointError(f"{path}: checksum differs, the file is damaged; copy it again")
        try:
            card = msgspec.json.decode(metadata[CARD], type=AgentCard)
        except msgspec.DecodeError as error:
            raise CheckpointError(f"{path}: its card cannot be read: {error}") from error
        game = load_game(card.game)
        network = build_network(
            card.network, game.information_state_tensor_size, game.num_actions, Rng(0)
        )
        try:
            network.load_state_dict(tensors)
        except RuntimeError as error:
            raise CheckpointError(f"{path}: parameters do not fit {game}: {error}") from error
        return cls(card, network, game)


def checksum(card: str, tensors: Mapping[str, torch.Tensor]) -> str:
    digest = hashlib.blake2b(card.encode(), digest_size=16)
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()
