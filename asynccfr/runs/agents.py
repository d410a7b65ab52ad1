"""A saved agent: one safetensors file that says which game it plays and how its network is shaped.

It needs nothing else of the run that made it. The metadata hold an AgentCard and a checksum.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from asynccfr.config import Network
from asynccfr.errors import CheckpointError, RunError
from asynccfr.runs import tensors
from asynccfr.runs.durable import explained, replace_file
from asynccfr.runs.tensors import Array

FORMAT = 1
FILE = "agent.safetensors"


class AgentCard(Struct, frozen=True, kw_only=True):
    """What the arrays of an agent are.

    Fields:
        game: the game with its parameters, as `load_game` takes it.
        kind: which network of Deep CFR the arrays are; the average strategy is the one to play.
        network: the shape of each network.
        iterations: iterations of training behind it.
    """

    game: str
    kind: Literal["average_strategy", "advantage"]
    network: Network
    iterations: int
    format: int = FORMAT


def save_agent(path: Path, card: AgentCard, arrays: Mapping[str, Array]) -> None:
    """Write an agent in one atomic step. Raises RunError if it cannot be written."""
    text = msgspec.json.encode(card).decode()
    metadata = {"agent": text, "blake2b": _checksum(text, arrays)}
    with explained(path, "free some space or choose another place"):
        replace_file(path, tensors.encode(arrays, metadata))


def load_agent(path: str | Path) -> tuple[AgentCard, dict[str, Array]]:
    """The agent in a file or in a run folder.

    Raises RunError if there is none, CheckpointError if it is damaged or of another version.
    """
    path = Path(path)
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        ending = "; a run writes it when it ends: resume it" if path.is_dir() else ""
        raise RunError(f"{file}: no such agent{ending}")
    try:
        arrays, metadata = tensors.read(file)
        text = metadata["agent"]
        if metadata["blake2b"] != _checksum(text, arrays):
            raise ValueError("it fails its checksum")
    except KeyError:
        raise CheckpointError(f"{file}: not an agent that asynccfr wrote") from None
    except ValueError as error:
        raise CheckpointError(
            f"{file}: damaged: {error}; restore it from a backup, or resume its run to write it"
        ) from error
    try:
        card = msgspec.json.decode(text, type=AgentCard)
    except msgspec.DecodeError as error:
        raise CheckpointError(f"{file}: another version of asynccfr wrote it: {error}") from error
    if card.format != FORMAT:
        raise CheckpointError(f"{file}: format {card.format}, this version reads {FORMAT}")
    return card, arrays


def _checksum(card: str, arrays: Mapping[str, Array]) -> str:
    digest = hashlib.blake2b(card.encode())
    for chunk in tensors.encode(arrays):
        digest.update(chunk)
    return digest.hexdigest()
