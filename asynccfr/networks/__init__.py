"""Networks from information states to outputs for every action."""

from asynccfr import config as settings
from asynccfr.errors import ConfigError
from asynccfr.games.symmetry import Symmetry
from asynccfr.networks.equivariant import Equivariant
from asynccfr.networks.mlp import MLP
from asynccfr.networks.network import InferenceCopy, Network
from asynccfr.networks.softmax import masked_log_softmax
from asynccfr.seeding import Rng

__all__ = [
    "MLP",
    "Equivariant",
    "InferenceCopy",
    "Network",
    "build_network",
    "hidden_parameters",
    "masked_log_softmax",
]


def build_network(
    config: settings.Network,
    tensor_size: int,
    num_actions: int,
    rng: Rng,
    symmetry: Symmetry | None = None,
) -> Network:
    """A network initialised from `rng` alone; torch's own generator is left alone.

    Raises ConfigError for an equivariant network of a game without symmetry.
    """
    if isinstance(config, settings.MultilayerPerceptron):
        return MLP([tensor_size, *[config.width] * config.depth, num_actions], rng)
    if symmetry is None:
        raise ConfigError(
            "network.type = equivariant: the game declares no symmetric blocks; use mlp"
        )
    return Equivariant(
        tensor_size, num_actions, symmetry, width=config.width, layers=config.layers, rng=rng
    )


def hidden_parameters(
    config: settings.Network, tensor_size: int, symmetry: Symmetry | None = None
) -> int:
    """The weights of a network up to its last hidden layer: most of what it takes to build it."""
    if isinstance(config, settings.MultilayerPerceptron):
        return config.width * (tensor_size + (config.depth - 1) * config.width)
    blocks = [*symmetry.features] if symmetry is not None else []
    inputs = tensor_size - sum(map(len, blocks[1:]))
    return config.width * (inputs + 2 * config.layers * config.width)
