"""One network's learning: what it minimises, whatever share of the decisions it draws; failures."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from asynccfr.config import Learning
from asynccfr.errors import TrainingDiverged
from asynccfr.seeding import stream
from asynccfr.solvers.actor_critic import ActorCriticSolver
from asynccfr.solvers.learner import Learner, Objective, Session


def learned(norms, losses, seed=0, **config):
    """The report of learning from decisions whose losses do not depend on the network."""
    network = torch.nn.Linear(1, 1)
    column = torch.as_tensor(losses, dtype=torch.float32)

    def of_rows(rows):
        return rows + 0 * network.weight.sum() + 0 * network.bias.sum()

    learner = Learner("policy", network, Learning(epochs=1, batch=10_000, **config))
    session = Session(stream(seed, (0,)), 1.0, lambda done, total: None, threading.Event())
    return learner.learn(Objective((column,), np.asarray(norms), of_rows), session)


@pytest.mark.parametrize("idle", [0, 180], ids=["all teach", "few teach"])
@pytest.mark.parametrize("share", [0.3, 0.6])
def test_the_mean_loss_is_that_of_all_decisions_on_average(share, idle):
    rng = np.random.default_rng(0)
    norms = rng.lognormal(size=200)
    norms[:idle] = 0
    losses = rng.normal(1, 1, size=200)
    found = [learned(norms, losses, seed, share=share).loss_first for seed in range(400)]
    assert abs(np.mean(found) - losses.mean()) < 4 * np.std(found) / 20


def test_all_decisions_count_alike_where_none_is_left_out():
    losses = np.arange(10.0)
    assert learned(np.arange(10.0), losses, share=1.0).loss_first == pytest.approx(4.5)


@pytest.mark.parametrize("share", [0.1, 1.0])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_decision_that_is_not_finite_ends_the_run(share, bad):
    """Even where it would not have been drawn."""
    norms = np.ones(1000)
    norms[7] = bad
    with pytest.raises(TrainingDiverged, match="policy network.*learning_rate"):
        learned(norms, np.zeros(1000), share=share)


def test_a_loss_that_is_not_finite_ends_the_run():
    with pytest.raises(TrainingDiverged, match="policy network: the loss is nan"):
        learned(np.ones(3), np.full(3, np.nan))


def test_parameters_that_are_not_finite_end_the_run():
    """Though no loss tells: the last step took them there."""
    network = torch.nn.Linear(1, 1)
    learner = Learner("policy", network, Learning(epochs=1, learning_rate=3e38))
    session = Session(stream(0, (0,)), 1.0, lambda done, total: None, threading.Event())
    objective = Objective((torch.zeros(1, 1),), np.ones(1), lambda rows: network(rows)[:, 0])
    with pytest.raises(TrainingDiverged, match="parameters are no longer finite after 1 steps"):
        learner.learn(objective, session)


def test_a_small_share_of_two_decisions_may_be_none():
    reports = [learned(np.ones(2), np.ones(2), seed, share=0.2) for seed in range(50)]
    assert {report.steps for report in reports} == {0, 1}
    assert all(report.samples == 2 for report in reports)


def test_the_critics_norms_are_its_errors():
    """Those of its losses' gradients by the outputs that it gave, in one unit for all decisions."""
    rng = np.random.default_rng(0)
    outputs = torch.nn.Parameter(torch.as_tensor(rng.normal(size=(8, 3)), dtype=torch.float32))
    chosen = rng.integers(3, size=8)
    targets = rng.normal(size=8).astype(np.float32)
    values = 2 * outputs.detach().numpy()
    experience = SimpleNamespace(
        tensor=torch.from_numpy,
        actions=torch.arange(3).expand(8, 3),
        chosen=torch.from_numpy(chosen),
        seen=torch.eye(8),
        hidden=torch.eye(8),
        rows=lambda seen, hidden: seen,
        outputs=lambda network, rows, actions: (rows @ outputs).gather(1, actions),
    )
    errors = targets - values[np.arange(8), chosen]
    lesson = SimpleNamespace(experience=experience, targets=targets, errors=lambda: errors)
    given = []
    critic = SimpleNamespace(
        network=SimpleNamespace(scale=torch.tensor(2.0)),
        learn=lambda objective, session: given.append(objective),
    )
    ActorCriticSolver.learn_values(critic, lesson, None)
    [objective] = given
    objective.losses(*objective.columns).sum().backward()
    found = outputs.grad.norm(dim=1).numpy()
    assert found / found.mean() == pytest.approx(objective.norms / objective.norms.mean(), rel=1e-4)
