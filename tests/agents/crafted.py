"""Agent files as a stranger may craft them: valid in all but what a test changes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from asynccfr.agents import AgentCard, MixtureAgent
from asynccfr.agents.agent import CARD, CHECKSUM, checksum, zero_network
from asynccfr.agents.network_history import to_row
from asynccfr.config import MultilayerPerceptron
from asynccfr.games import load_game
from asynccfr.storage import tensors

SIZE = MultilayerPerceptron(width=8, depth=1)
KUHN = AgentCard(game="kuhn_poker", rule="softmax", network=SIZE, seed=0, iterations=1, nodes=1)


def parameters(card: AgentCard = KUHN) -> dict[str, np.ndarray]:
    """The arrays of a small agent of Kuhn poker."""
    network = zero_network(card, load_game("kuhn_poker"))
    return {name: value.numpy() for name, value in network.state_dict().items()}


def mixture_rows(iterations: int = 2) -> dict[str, np.ndarray]:
    row = to_row([zero_network(KUHN, load_game("kuhn_poker")) for _ in range(2)])
    return {"rows": np.tile(row, (iterations, 1))}


def craft(path: Path, arrays: Mapping[str, np.ndarray] | None = None, /, **changes: Any) -> Path:
    """An agent's file with the right checksum, whatever its card and arrays say."""
    arrays = parameters() if arrays is None else arrays
    card = msgspec.json.encode(msgspec.to_builtins(KUHN) | changes).decode()
    metadata = {CARD: card, CHECKSUM: checksum(card, arrays)}
    path.write_bytes(b"".join(tensors.encode(arrays, metadata)))
    return path


def mixture(iterations: int = 2) -> MixtureAgent:
    card = msgspec.structs.replace(KUHN, mixture=True)
    return MixtureAgent(card, mixture_rows(iterations)["rows"])
