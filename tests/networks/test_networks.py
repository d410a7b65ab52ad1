"""Networks: seeded, zero at first; inference copies and masked softmax agree with definitions."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from asynccfr.config import MultilayerPerceptron
from asynccfr.networks import MLP, InferenceCopy, build_network, masked_log_softmax
from asynccfr.seeding import Rng


def random_network(seed: int = 1, width: int = 32, depth: int = 2) -> MLP:
    """A network of 10 inputs and 5 outputs whose output layer is random too."""
    network = build_network(MultilayerPerceptron(width=width, depth=depth), 10, 5, Rng(seed))
    assert isinstance(network, MLP)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in (network.weights[-1], *network.biases):
            parameter.normal_(generator=generator)
    return network


def rows(n: int) -> torch.Tensor:
    return torch.rand(n, 10, generator=torch.Generator().manual_seed(n))


def test_a_network_has_the_configured_shape() -> None:
    network = build_network(MultilayerPerceptron(width=7, depth=3), 10, 5, Rng(0))
    assert [tuple(weight.shape) for weight in network.weights] == [(7, 10), (7, 7), (7, 7), (5, 7)]
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}


def test_a_network_computes_a_multilayer_perceptron_with_relu() -> None:
    network, x = random_network(), rows(20)
    for weight, bias in list(zip(network.weights, network.biases, strict=True))[:-1]:
        x = (x @ weight.T + bias).clamp(min=0)
    torch.testing.assert_close(network(rows(20)), x @ network.weights[-1].T + network.biases[-1])


def test_a_new_network_predicts_zero() -> None:
    assert not build_network(MultilayerPerceptron(width=16), 10, 5, Rng(3))(rows(100)).any()


def test_initialisation_depends_on_its_own_seed_only() -> None:
    def hidden(seed: int) -> torch.Tensor:
        return build_network(MultilayerPerceptron(width=16), 10, 5, Rng(seed)).weights[1].detach()

    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = hidden(4)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    assert torch.equal(hidden(4), first)
    assert not torch.equal(hidden(5), first)
    # He et al. (2015): the variance that keeps activations at their size through ReLU.
    wide = build_network(MultilayerPerceptron(width=400), 10, 5, Rng(0)).weights[1]
    assert wide.std().item() == pytest.approx((2 / 400) ** 0.5, rel=0.02)


def test_rescaling_changes_the_unit_and_not_the_worth() -> None:
    network = random_network()
    worth = network(rows(30)) * network.scale
    network.rescale(20.0)
    assert network.scale == 20
    torch.testing.assert_close(network(rows(30)) * network.scale, worth)


def test_an_inference_copy_gives_the_numbers_of_its_network_at_every_batch_size() -> None:
    network = random_network()
    frozen = InferenceCopy(network)
    for n in (1, 3, 64, 17, 65, 1):
        outputs = frozen(rows(n))
        assert outputs.shape == (n, 5)
        torch.testing.assert_close(outputs, network(rows(n)).detach(), rtol=0, atol=1e-5)


def test_an_inference_copy_keeps_neither_its_network_nor_its_last_answer() -> None:
    network = random_network()
    frozen = InferenceCopy(network)
    first = frozen(rows(8))
    before = first.clone()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    assert frozen(rows(9)).any()
    assert torch.equal(first, before)


def test_an_inference_copy_leaves_its_rows_alone() -> None:
    x = rows(8)
    InferenceCopy(random_network())(x)
    assert torch.equal(x, rows(8))


def test_bfloat16_inference_is_close_and_answers_in_float32() -> None:
    network = random_network()
    outputs = InferenceCopy(network, dtype=torch.bfloat16)(rows(64))
    exact = network(rows(64)).detach()
    assert outputs.dtype == torch.float32
    assert (outputs - exact).norm() / exact.norm() < 0.02
    assert not torch.equal(outputs, exact)


@given(
    logits=st.lists(st.floats(-1e4, 1e4, width=32), min_size=4, max_size=4),
    legal=st.lists(st.booleans(), min_size=4, max_size=4).filter(any),
)
def test_masked_softmax_is_the_softmax_of_the_legal_actions_alone(
    logits: list[float], legal: list[bool]
) -> None:
    x, mask = torch.tensor([logits]), torch.tensor([legal])
    probabilities = masked_log_softmax(x, mask).exp()
    assert not probabilities[~mask].any()
    torch.testing.assert_close(probabilities[mask], x[mask].softmax(dim=0))


def test_illegal_logits_get_no_gradient_from_the_masked_softmax() -> None:
    logits = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    mask = torch.tensor([True, False, True, False]).expand(6, 4)
    masked_log_softmax(logits, mask)[:, 0].sum().backward()
    assert not logits.grad[~mask].any()
    assert logits.grad[mask].all()
