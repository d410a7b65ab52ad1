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
