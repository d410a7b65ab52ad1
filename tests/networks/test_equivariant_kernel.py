"""The equivariant network's compiled forward and backward, against autograd in float64."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from asynccfr.config import EquivariantNetwork
from asynccfr.games import Symmetry, load_game
from asynccfr.networks import InferenceCopy, build_network
from asynccfr.networks.equivariant_kernel import EquivariantKernel
from asynccfr.networks.perceptron_kernel import available
from asynccfr.seeding import Rng

GAME = load_game("lost_cities(colors=3, numbers=4, hand_size=3)")
SIZE = GAME.information_state_tensor_size
SCATTERED = Symmetry(features=((5, 0), (3, 4)), actions=((2,), (0,)), outcomes=((), ()))

# Blocks, features, global features, width, layers, actions, global actions.
SIZES = st.tuples(
    *(st.integers(1, 6), st.integers(1, 20), st.integers(0, 9), st.integers(1, 70)),
    *(st.integers(0, 3), st.integers(0, 18), st.integers(0, 5)),
)


def parameters_of(sizes, draw):
    """Parameters of the kernel, from a function that draws a tensor of a shape."""
    blocks, features, global_features, width, layers, actions, global_actions = sizes
    yield from (draw(width, features), draw(width, global_features), draw(width))
    for _ in range(layers):
        yield from (draw(width, width), draw(width, width) * blocks, draw(width))
    yield from (draw(actions, width), draw(actions), draw(global_actions, width) * blocks)
    yield draw(global_actions)


class Rounded(torch.autograd.Function):
    """x w', forward and backward, of what bfloat16 keeps of each factor."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return rounded(x) @ rounded(w).T

    @staticmethod
    def backward(ctx, g):
        x, w = (rounded(each) for each in ctx.saved_tensors)
        g = rounded(g)
        return g @ w, g.flatten(0, -2).T @ x.flatten(0, -2)


def rounded(x):
    return x.bfloat16().to(x.dtype)


def exact(x, w):
    return x @ w.T


def outputs_by_formula(sizes, parameters, rows, product=exact):
    """The mean is divided where it meets its weights, multiples of `blocks`: so all stays whole."""
    blocks, features, _, _, layers, _, _ = sizes
    block_input, global_input, input_bias, *inner, P, p, Q, q = parameters
    x, g = (
        rows[:, : blocks * features].unflatten(1, (blocks, features)),
        rows[:, blocks * features :],
    )
    h = (product(x, block_input) + (product(g, global_input) + input_bias)[:, None]).relu()
    for own, pooled, bias in zip(*[iter(inner)] * 3, strict=True):
        of_all = product(h.sum(dim=1), pooled / blocks) + bias
        h = h + (product(h, own) + of_all[:, None]).relu()
    assert len(inner) == 3 * layers
    of_blocks, of_all = product(h, P) + p, product(h.sum(dim=1), Q / blocks) + q
    return torch.cat([of_blocks.flatten(1), of_all], dim=1)


LARGE = (2, 300, 40, 130, 1, 70, 18)  # more than a few tiles, every way


@settings(deadline=None)
@example(sizes=LARGE, batches=[100], half=True, seed=0)
@example(sizes=LARGE, batches=[100], half=False, seed=0)
@given(
    sizes=SIZES,
    batches=st.lists(st.integers(0, 150), min_size=1, max_size=3),
    half=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_outputs_and_gradients_are_those_of_autograd(sizes, batches, half, seed):
    # Of small whole numbers, float32 and float64 find the same sums, and the same sides of a ReLU.
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        few = torch.rand(shape, generator=generator) < 0.3
        return few * torch.randint(-1, 2, shape, generator=generator).float()

    kernel, parameters = EquivariantKernel(*sizes), list(parameters_of(sizes, draw))
    leaves = [parameter.double().requires_grad_() for parameter in parameters]
    blocks, features, global_features, _, _, actions, global_actions = sizes
    for n in batches:
        rows = draw(n, blocks * features + global_features)
        weights = draw(n, blocks * actions + global_actions)
        kernel.load(iter(parameters), half)
        product = Rounded.apply if half and available() else exact
        expected = outputs_by_formula(sizes, leaves, rows.double(), product)
        outputs = kernel.forward(rows, keep=True)
        torch.testing.assert_close(outputs.double(), expected.detach(), rtol=1e-6, atol=1e-4)
        gradients = kernel.backward(weights, kernel.turn)
        expected = torch.autograd.grad(expected, leaves, weights.double())
        for own, other in zip(gradients, expected, strict=True):
            torch.testing.assert_close(own.double(), other, rtol=1e-5, atol=1e-4)


def network(layers, width=16):
    made = build_network(
        EquivariantNetwork(width=width, layers=layers),
        *(SIZE, GAME.num_actions, Rng(1), GAME.symmetry),
    )
    return randomised(made)


def randomised(made):
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
def test_a_network_learns_the_same_without_it(layers):
    scattered = build_network(EquivariantNetwork(layers=layers), 7, 4, Rng(1), SCATTERED)
    for net, size, outputs in (
        (network(layers), SIZE, GAME.num_actions),
        (randomised(scattered), 7, 4),
    ):
        for n in (5, 1, 70):
            rows, targets = torch.rand(n, size), torch.randn(n, outputs)
            own = gradients(net, rows, targets)
            # Gradients of the rows are the one thing that it does not give.
            expected = gradients(net, rows.clone().requires_grad_(), targets)
            for name, gradient in expected.items():
                assert torch.allclose(own[name], gradient, atol=2e-2, rtol=1e-3), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("width", [16, 40, 64])
def test_a_row_gets_the_same_bits_in_any_company(width, dtype):
    net = network(3, width)
    frozen, rows = InferenceCopy(net, dtype=dtype), torch.rand(150, SIZE)
    together = frozen(rows)
    if dtype == torch.float32:
        assert torch.equal(net(rows), together)
    for bounds in ([0, 1, 3, 9, 60, 150], list(range(0, 151, 10))):
        parts = [frozen(rows[start:end]) for start, end in pairwise(bounds)]
        assert torch.equal(torch.cat(parts), together)


@pytest.mark.parametrize("half", [False, True])
def test_two_networks_learn_at_once_as_one_after_the_other(half):
    rows, targets = torch.rand(300, SIZE), torch.randn(300, GAME.num_actions)
    nets = [network(3, width) for width in (64, 48)]

    def learned(net):
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            return gradients(net, rows, targets)

    expected = [learned(net) for net in nets]

    def repeated(net):
        return [learned(net) for _ in range(30)]

    with ThreadPoolExecutor(2) as threads:
        for all_gradients, once in zip(threads.map(repeated, nets), expected, strict=True):
            for found in all_gradients:
                assert all(torch.equal(found[name], once[name]) for name in once)


def test_in_bfloat16_it_is_nearly_the_same():
    net, rows, targets = network(3, 64), torch.rand(70, SIZE), torch.randn(70, GAME.num_actions)
    expected = gradients(net, rows, targets) | {"outputs": net(rows).detach()}
    with torch.autocast("cpu", torch.bfloat16):
        found = gradients(net, rows, targets)
    found["outputs"] = InferenceCopy(net, dtype=torch.bfloat16)(rows)
    for name, value in expected.items():
        assert (found[name] - value).norm() < 0.1 * value.norm(), name


def test_torch_and_the_kernel_do_not_disturb_each_other():
    net, rows, x = network(2, 64), torch.rand(33, SIZE), torch.rand(70, 90).bfloat16()
    frozen = InferenceCopy(net, dtype=torch.bfloat16)
    outputs, product = frozen(rows), x @ x.T
    for _ in range(3):
        assert torch.equal(x @ x.T, product)
        assert torch.equal(frozen(rows), outputs)


@pytest.mark.parametrize("half", [False, True])
def test_what_is_not_a_number_stays_visible(half):
    rows = torch.rand(3, SIZE)
    rows[1, 0] = torch.nan
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        outputs = network(2)(rows)
    assert outputs[1].isnan().all()
    assert not outputs[[0, 2]].isnan().any()


def test_a_second_forward_before_backward_is_an_error():
    net = network(1)
    loss = net(torch.rand(4, SIZE)).sum()
    with torch.no_grad():
        net(torch.rand(4, SIZE))
    loss.backward(retain_graph=True)
    net(torch.rand(4, SIZE))
    with pytest.raises(RuntimeError, match="one at a time"):
        loss.backward()


def test_copies_have_memory_of_their_own():
    net = network(1)
    loss = net(torch.rand(4, SIZE)).sum()
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        twin(torch.rand(4, SIZE)).sum().backward()
    loss.backward()


def test_inferring_follows_training():
    net, rows = network(1), torch.rand(4, SIZE)
    for _ in range(2):
        net(rows).square().sum().backward()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.sub_(0.01 * parameter.grad)
        torch.testing.assert_close(net.infer(rows), net(rows).detach())


def test_rows_that_change_before_the_backward_are_an_error():
    rows = torch.rand(4, SIZE)
    loss = network(1)(rows).sum()
    rows.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_out_of_memory_is_no_lasting_harm(monkeypatch):
    sizes = (2, 3, 1, 5, 1, 2, 1)
    kernel, parameters = EquivariantKernel(*sizes), list(parameters_of(sizes, torch.ones))
    with monkeypatch.context() as patch:
        patch.setattr(torch, "zeros", lambda *sizes: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            kernel.load(parameters)
    kernel.load(parameters)
    assert kernel.forward(torch.ones(4, 7), keep=False).isfinite().all()


def test_what_does_not_fit_is_refused():
    sizes = (2, 3, 1, 5, 1, 2, 1)
    kernel, parameters = EquivariantKernel(*sizes), list(parameters_of(sizes, torch.ones))
    with pytest.raises(RuntimeError, match="expected load"):
        kernel.forward(torch.ones(4, 7), keep=True)
    for wrong in (
        torch.ones(5, 4),
        torch.ones(5, 3).double(),
        torch.ones(3, 5).t(),
        torch.ones(5, 3, device="meta"),
    ):
        with pytest.raises(ValueError, match=r"expected contiguous float32 \[5, 3\]"):
            kernel.load([wrong, *parameters[1:]])
    with pytest.raises(ValueError, match="shorter"):
        kernel.load(parameters[:-1])
    kernel.load(parameters)
    with pytest.raises(ValueError, match=r"\[4, 6\] on cpu, expected contiguous float32 \[4, 7\]"):
        kernel.forward(torch.ones(4, 6), keep=True)
    kernel.forward(torch.ones(4, 7), keep=True)
    with pytest.raises(ValueError, match=r"\[3, 5\] on cpu, expected contiguous float32 \[4, 5\]"):
        kernel.backward(torch.ones(3, 5), kernel.turn)
    kernel.forward(torch.ones(4, 7), keep=False)
    with pytest.raises(RuntimeError, match="one at a time"):
        kernel.backward(torch.ones(4, 5), kernel.turn)
