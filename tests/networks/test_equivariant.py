"""The equivariant network: blocks permute outputs, on every game that declares them."""

from itertools import permutations

import numpy as np
import pytest
import torch

from asynccfr.config import EquivariantNetwork
from asynccfr.errors import ConfigError
from asynccfr.games import Game, Symmetry, load_game, registered_games
from asynccfr.games.conformance import choose
from asynccfr.games.symmetry import equal_blocks, moved
from asynccfr.networks import InferenceCopy, Network, build_network
from asynccfr.seeding import Rng

SYMMETRIC = [name for name in registered_games() if load_game(name).symmetry is not None]
# Blocks that lie scattered among global entries: two blocks of 2 features and of 1 action.
SCATTERED = Symmetry(features=((5, 0), (3, 4)), actions=((2,), (0,)), outcomes=((), ()))
SMALL = EquivariantNetwork(width=8, layers=2)


def randomised(network: Network, seed: int = 0) -> Network:
    """With outputs and biases that are not 0."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(generator=generator).mul_(0.2)
    return network


def network_of(game: Game, config: EquivariantNetwork = SMALL) -> Network:
    size = game.information_state_tensor_size
    return randomised(build_network(config, size, game.num_actions, Rng(1), game.symmetry))


def scattered() -> Network:
    return randomised(build_network(SMALL, 7, 4, Rng(1), SCATTERED))


def visited_rows(game: Game, count: int = 40) -> torch.Tensor:
    rng = Rng(5)
    rows: list[np.ndarray] = []
    state = game.new_state(3)
    while not state.is_terminal and len(rows) < count:
        rows.append(state.information_state_tensor(state.current_player))
        state.apply(choose(state, rng))
    return torch.from_numpy(np.stack(rows))


def rearranged(rows: torch.Tensor, places: list[int]) -> torch.Tensor:
    out = torch.empty_like(rows)
    out[:, places] = rows
    return out


def test_some_game_is_symmetric() -> None:
    assert "lost_cities" in SYMMETRIC


@pytest.mark.parametrize("name", SYMMETRIC)
def test_permuting_the_blocks_permutes_the_outputs(name: str) -> None:
    game = load_game(name)
    symmetry = game.symmetry
    assert symmetry is not None
    network, rows = network_of(game), visited_rows(game)
    outputs = network(rows).detach()
    assert (outputs.std(dim=0) > 0).all()
    for permutation in list(permutations(range(len(symmetry.features))))[::7]:
        features = moved(symmetry.features, permutation, rows.shape[1])
        actions = moved(symmetry.actions, permutation, outputs.shape[1])
        for forward in (network, InferenceCopy(network)):
            torch.testing.assert_close(
                forward(rearranged(rows, features)).detach(), rearranged(outputs, actions)
            )


def test_blocks_may_lie_anywhere() -> None:
    network, rows = scattered(), torch.rand(9, 7)
    features, actions = moved(SCATTERED.features, [1, 0], 7), moved(SCATTERED.actions, [1, 0], 4)
    outputs = rearranged(network(rows), actions)
    torch.testing.assert_close(network(rearranged(rows, features)), outputs)
    assert not torch.equal(network(rows)[:, 2], network(rows)[:, 0])


def test_every_output_depends_on_every_input() -> None:
    rows = torch.rand(1, 7, requires_grad=True)
    outputs = scattered()(rows)
    for action in range(4):
        (gradient,) = torch.autograd.grad(outputs[0, action], rows, retain_graph=True)
        assert gradient.all()


def test_it_computes_its_formula() -> None:
    game = load_game("lost_cities(colors=3, numbers=4, wagers=1, hand_size=3)")
    network, x = network_of(game), visited_rows(game)
    p = {name: value.double() for name, value in network.state_dict().items()}
    end = 3 * game.color_features
    blocks, shared = x[:, :end].double().reshape(len(x), 3, -1), x[:, end:].double()
    h = blocks @ p["block_input"].T + (shared @ p["global_input"].T + p["input_bias"])[:, None]
    h = h.clamp(min=0)
    for i in range(SMALL.layers):
        mean = h.mean(dim=1, keepdim=True)
        h = h + (h @ p[f"own.{i}"].T + mean @ p[f"pooled.{i}"].T + p[f"biases.{i}"]).clamp(min=0)
    of_blocks = h @ p["block_output"].T + p["block_output_bias"]
    of_all = h.mean(dim=1) @ p["global_output"].T + p["global_output_bias"]
    expected = torch.cat([of_blocks.flatten(1), of_all], dim=1).float()
    torch.testing.assert_close(network(x).detach(), expected)


@pytest.mark.parametrize("network", [network_of(load_game("lost_cities")), scattered()])
def test_an_inference_copy_gives_the_numbers_of_its_network(network: Network) -> None:
    width = 391 if network.features > 2 else 7
    frozen = InferenceCopy(network)
    kept = []
    for n in (1, 3, 64, 17, 65, 1):
        rows = torch.rand(n, width, generator=torch.Generator().manual_seed(n))
        expected = network(rows).detach()
        outputs = frozen(rows)
        torch.testing.assert_close(outputs, expected)
        kept.append((outputs, expected))
    for outputs, expected in kept:
        torch.testing.assert_close(outputs, expected)


def test_a_new_network_predicts_zero_and_depends_on_its_own_seed_only() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first, same, other = (build_network(SMALL, 7, 4, Rng(s), SCATTERED) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert not first(torch.rand(5, 7)).any()
    pairs = list(zip(first.parameters(), same.parameters(), other.parameters(), strict=True))
    assert all(torch.equal(p, q) for p, q, _ in pairs)
    assert not torch.equal(pairs[0][0], pairs[0][2])


def test_rescaling_changes_the_unit_and_not_the_worth() -> None:
    network, rows = scattered(), torch.rand(30, 7)
    worth = network(rows) * network.scale
    network.rescale(20.0)
    assert network.scale == 20
    torch.testing.assert_close(network(rows) * network.scale, worth)


def test_blocks_may_have_no_action_and_the_whole_no_feature() -> None:
    symmetry = Symmetry(equal_blocks(3, 2), equal_blocks(3, 0), equal_blocks(3, 0))
    network, rows = randomised(build_network(SMALL, 6, 1, Rng(1), symmetry)), torch.rand(4, 6)
    assert network(rows).shape == (4, 1)
    turned = rearranged(rows, moved(symmetry.features, [1, 2, 0], 6))
    torch.testing.assert_close(network(turned), network(rows))
    torch.testing.assert_close(InferenceCopy(network)(rows), network(rows).detach())


def test_all_blocks_share_their_parameters() -> None:
    five, six = (network_of(load_game(f"lost_cities(colors={colors})")) for colors in (5, 6))
    assert [p.shape for p in five.parameters()] == [p.shape for p in six.parameters()]
    usual = network_of(load_game("lost_cities"), EquivariantNetwork())
    assert 20_000 < sum(p.numel() for p in usual.parameters()) < 45_000


def test_a_game_without_symmetry_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"network.type = equivariant: .* no symmetric.*use mlp"):
        build_network(SMALL, 11, 2, Rng(0), load_game("kuhn_poker").symmetry)
