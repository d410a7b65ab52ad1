"""Our Adam takes the steps of torch's, and leaves torch's compiler alone."""

import subprocess
import sys

import pytest
import torch

from asynccfr.learning.adam import Adam

FIT = """
import sys, numpy as np, torch
from asynccfr.config import Fit
from asynccfr.learning.fitting import fit_advantage
from asynccfr.networks import MLP
from asynccfr.learning.reservoir import Reservoir, Samples
from asynccfr.seeding import Rng
memory = Reservoir(10, tensor_size=2, max_legal_actions=1, tensor_quantum=1.0)
row = np.eye(2, dtype=np.uint8), np.zeros((2, 1), np.int16), np.ones((2, 1), np.float32)
memory.extend(Samples(*row, np.ones(2, np.float32)), 1, np.random.default_rng(0))
fit_advantage(MLP([2, 4, 1], Rng(0)), memory, Fit(steps=2, batch=2), Rng(0))
print("torch._dynamo" in sys.modules)
"""


@pytest.mark.parametrize("max_norm", [0.3, 1e9])
def test_steps_are_those_of_torch(max_norm):
    starts = [torch.randn(3, 4, generator=torch.Generator().manual_seed(i)) for i in range(2)]
    ours, theirs = ([start.clone().requires_grad_() for start in starts] for _ in range(2))
    adam, reference = Adam(ours, 0.05), torch.optim.Adam(theirs, lr=0.05)
    for _ in range(20):
        adam.descend(sum((parameter - 1).pow(4).sum() for parameter in ours), max_norm)
        reference.zero_grad()
        sum((parameter - 1).pow(4).sum() for parameter in theirs).backward()
        torch.nn.utils.clip_grad_norm_(theirs, max_norm)
        reference.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_gradients_may_share_memory_and_lie_anyhow():
    """Autograd gives a sum's gradient expanded, and one tensor to both terms of a sum."""

    def loss(a, b, c):
        return 5 * a.sum() + (b.t() * torch.tensor([1.0, -2.0])).sum() + ((b + c) * 3).sum()

    starts = [torch.zeros(4), torch.zeros(2, 3), torch.zeros(2, 3)]
    ours, theirs = ([start.clone().requires_grad_() for start in starts] for _ in range(2))
    adam, reference = Adam(ours, 0.05), torch.optim.Adam(theirs, lr=0.05)
    for _ in range(3):
        adam.descend(loss(*ours), 1.0)
        reference.zero_grad()
        loss(*theirs).backward()
        torch.nn.utils.clip_grad_norm_(theirs, 1.0)
        reference.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_parameters_that_have_been_moved_are_told():
    parameter = torch.zeros(3, requires_grad=True)
    first, second = Adam([parameter], 0.1), Adam([parameter], 0.1)
    with pytest.raises(RuntimeError, match="make another Adam"):
        first.descend(parameter.sum(), 1.0)
    second.descend(parameter.sum(), 1.0)
    assert (parameter < 0).all()


def test_a_fit_imports_no_compiler():
    """Importing it takes seconds, which `torch.optim` does at its first optimiser."""
    found = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
