"""What a forward costs, equivariant or not: `python -m benchmarks.networks`."""

from collections.abc import Callable
from pathlib import Path

import torch
from msgspec import Struct

from asynccfr.config import EquivariantNetwork, MultilayerPerceptron
from asynccfr.games import load_game
from asynccfr.networks import InferenceCopy, Network, build_network
from asynccfr.profiling.measuring import microseconds
from asynccfr.seeding import Rng
from benchmarks.common import Machine, Spread, alternate, machine, options, report

NETWORKS: dict[str, MultilayerPerceptron | EquivariantNetwork] = {
    "mlp 3 x 512": MultilayerPerceptron(),
    "mlp 3 x 256": MultilayerPerceptron(width=256),
    "equivariant 64": EquivariantNetwork(),
    "equivariant 128": EquivariantNetwork(width=128),
}
BATCHES = (64, 128, 256, 512, 1024)


class Record(Struct, frozen=True, kw_only=True):
    """Fields:
    parameters: of each network.
    us_a_row: of an inference copy in float32, by network and batch size.
    """

    machine: Machine
    parameters: dict[str, int]
    us_a_row: dict[str, dict[int, Spread]]


@options
def main(quick: bool, json: Path | None) -> None:
    """Measure forwards of networks for Lost Cities at several batch sizes."""
    game = load_game("lost_cities")
    size = game.information_state_tensor_size
    networks = {
        name: build_network(config, size, game.num_actions, Rng(0), game.symmetry)
        for name, config in NETWORKS.items()
    }
    spreads = {batch: measure(networks, torch.rand(batch, size), quick) for batch in BATCHES}
    record = Record(
        machine=machine(),
        parameters={name: sum(p.numel() for p in n.parameters()) for name, n in networks.items()},
        us_a_row={name: {batch: spreads[batch][name] for batch in BATCHES} for name in networks},
    )
    table = [[name, record.parameters[name], *record.us_a_row[name].values()] for name in networks]
    report(
        "Forwards, microseconds per row",
        ["network", "parameters", *map(str, BATCHES)],
        table,
        record,
        json,
    )


def measure(networks: dict[str, Network], rows: torch.Tensor, quick: bool) -> dict[str, Spread]:
    """Microseconds per row for each network."""

    def arm(forward: InferenceCopy) -> Callable[[], float]:
        return lambda: microseconds(lambda: forward(rows), at_least=0.01) / len(rows)

    arms = {name: arm(InferenceCopy(network)) for name, network in networks.items()}
    return alternate(arms, repetitions=5 if quick else 25)


if __name__ == "__main__":
    main()
