"""The perceptron's compiled forward, against float64 and against torch."""

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from asynccfr.networks import MLP, InferenceCopy
from asynccfr.networks.perceptron_kernel import PerceptronKernel, available
from asynccfr.seeding import Rng

pytestmark = pytest.mark.skipif(not available(), reason="this processor has no tiles (AMX)")

LARGE = [1100, 520, 17, 106]  # more inputs and outputs than a product takes at once


def parameters(sizes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    weights = [torch.randn(m, n, generator=generator) / n**0.5 for n, m in pairwise(sizes)]
    return weights, [torch.randn(m, generator=generator) for m in sizes[1:]]


def outputs_by_formula(rows, weights, biases, rounded=lambda x: x):
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        rows = rounded(rows).double() @ rounded(weight).double().T + bias.double()
        rows = rows.relu() if i < len(weights) - 1 else rows
        rows = rows.float()
    return rows


@settings(deadline=None)
@example(sizes=LARGE, n=600, seed=0)
@given(
    sizes=st.lists(st.integers(1, 70), min_size=2, max_size=4),
    n=st.integers(0, 100),
    seed=st.integers(0, 2**32),
)
def test_float32_is_what_the_formula_gives(sizes, n, seed):
    kernel, (weights, biases) = PerceptronKernel(*sizes), parameters(sizes, seed)
    rows = torch.randn(n, sizes[0], generator=torch.Generator().manual_seed(seed))
    kernel.load(weights, biases, False)
    expected = outputs_by_formula(rows, weights, biases)
    torch.testing.assert_close(kernel.forward(rows), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("inputs", [40, 391, 1100])
def test_sums_in_float32_are_as_exact_as_those_of_torch(inputs):
    sizes = [inputs, 50]
    kernel, (weights, biases) = PerceptronKernel(*sizes), parameters(sizes)
    rows = torch.randn(500, inputs, generator=torch.Generator().manual_seed(1))
    kernel.load(weights, biases, False)
    exact = rows.double() @ weights[0].double().T + biases[0].double()

    def error(outputs):
        return (outputs - exact).square().mean().sqrt()

    assert error(kernel.forward(rows)) < 1.2 * error(torch.addmm(biases[0], rows, weights[0].T))


@pytest.mark.parametrize("sizes", [LARGE, [3, 2], [40, 50, 60]])
def test_bfloat16_rounds_what_is_multiplied(sizes):
    kernel, (weights, biases) = PerceptronKernel(*sizes), parameters(sizes)
    rows = torch.randn(50, sizes[0])
    kernel.load(weights, biases, True)
    expected = outputs_by_formula(rows, weights, biases, torch.Tensor.bfloat16)
    # A sum in another order may round a unit of the next layer the other way.
    torch.testing.assert_close(kernel.forward(rows), expected, rtol=0.01, atol=0.02)


def perceptron():
    network = MLP([30, 40, 20], Rng(0))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(1))
    return network


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_row_gets_the_same_bits_in_any_batch_and_thread(dtype, two_threads):
    frozen, rows = InferenceCopy(perceptron(), dtype=dtype), torch.randn(1100, 30)
    together = frozen(rows)
    torch.set_num_threads(1)
    for size in (65, 70, 130, 1100):
        parts = rows[: 1100 // size * size].split(size)
        assert torch.equal(
            torch.cat([frozen(part) for part in parts]), together[: 1100 // size * size]
        )


def test_threads_may_share_what_is_loaded():
    sizes, rows = [30, 40, 20], torch.randn(300, 30)
    kernel = PerceptronKernel(*sizes)
    kernel.load(*parameters(sizes), False)
    expected = kernel.forward(rows)
    with ThreadPoolExecutor(4) as threads:
        for outputs in threads.map(kernel.forward, [rows] * 100):
            assert torch.equal(outputs, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(two_threads):
    frozen, rows = InferenceCopy(perceptron()), torch.randn(300, 30)
    frozen(rows)
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            failed = 0 if frozen(rows).isfinite().all() else 1
        finally:
            os._exit(failed)
    assert os.waitpid(child, 0)[1] == 0


def test_copies_have_parameters_of_their_own():
    network, rows = perceptron(), torch.randn(100, 30)
    outputs = network.infer(rows)
    for twin in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        with torch.no_grad():
            twin.biases[-1].add_(1)
        torch.testing.assert_close(twin.infer(rows), outputs + 1, rtol=1e-5, atol=1e-5)
    assert torch.equal(network.infer(rows), outputs)


def test_what_is_not_finite_stays_visible():
    rows = torch.randn(70, 30)
    rows[1, 0], rows[2, 3] = torch.nan, torch.inf
    finite = perceptron().infer(rows).isfinite().all(dim=1)
    assert finite.sum() == 68
    assert not finite[[1, 2]].any()


def test_what_does_not_fit_is_refused():
    kernel, (weights, biases) = PerceptronKernel(3, 4, 2), parameters([3, 4, 2])
    with pytest.raises(RuntimeError, match="expected load"):
        kernel.forward(torch.ones(5, 3))
    with pytest.raises(ValueError, match=r"expected contiguous float32 \[4, 3\]"):
        kernel.load([weights[0].double(), weights[1]], biases, False)
    with pytest.raises(RuntimeError, match="expected load"):
        kernel.forward(torch.ones(5, 3))
    for layers in ((weights[:1], biases[:1]), (weights * 2, biases * 2), (weights, biases[:1])):
        with pytest.raises(ValueError, match="shorter|longer"):
            kernel.load(*layers, False)
    kernel.load(weights, biases, False)
    with pytest.raises(ValueError, match=r"\[5, 2\] on cpu, expected contiguous float32 \[5, 3\]"):
        kernel.forward(torch.ones(5, 2))
