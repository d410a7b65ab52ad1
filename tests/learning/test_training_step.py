"""The equivariant network's own backward pass, against autograd."""

import copy
import pickle

import pytest
import torch

from asynccfr.config import EquivariantNetwork
from asynccfr.games import load_game
from asynccfr.networks import build_network
from asynccfr.seeding import Rng

GAME = load_game("lost_cities(colors=3, numbers=4, hand_size=3)")
SIZE = GAME.information_state_tensor_size


def network(layers):
    made = build_network(
        EquivariantNetwork(width=16, layers=layers), SIZE, GAME.num_actions, Rng(1), GAME.symmetry
    )
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3, generator=generator)
    return made


def gradients(net, rows, targets):
    net.zero_grad()
    (net(rows) - targets).square().sum().backward()
    return {name: parameter.grad.clone() for name, parameter in net.named_parameters()}


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_gradients_are_those_of_autograd(layers, monkeypatch):
    net = network(layers)
    for n in (5, 1, 8):
        rows = torch.rand(n, SIZE)
        targets = torch.randn(n, GAME.num_actions)
        own = gradients(net, rows, targets)
        with monkeypatch.context() as patch:
            patch.setattr(type(net), "can_keep_activations", lambda self, rows: False)
            expected = gradients(net, rows, targets)
            outputs = net(rows)
        assert torch.allclose(net(rows), outputs, atol=1e-4)
        for name, gradient in expected.items():
            assert torch.allclose(own[name], gradient, atol=1e-3, rtol=1e-4), name


def test_a_second_forward_before_backward_is_an_error():
    net = network(1)
    loss = net(torch.rand(4, SIZE)).sum()
    net(torch.rand(4, SIZE))
    with pytest.raises(RuntimeError, match="one at a time"):
        loss.backward()


def test_copies_have_memory_of_their_own():
    net = network(1)
    loss = net(torch.rand(4, SIZE)).sum()
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        twin(torch.rand(4, SIZE)).sum().backward()
    loss.backward()
