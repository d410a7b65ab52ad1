"""What each rule of improvement asks of the policy network, against its formula.

The network is a table with a row for every decision, so that each loss can be looked at alone.
"""

import numpy as np
import pytest
import torch

from asynccfr.cfr.episode import Decisions
from asynccfr.config import PPO, QPolicyGradient, RegretActorCritic, RegretMatching
from asynccfr.games import load_game
from asynccfr.solvers.advantages import Lesson
from asynccfr.solvers.experience import Experience
from asynccfr.solvers.improvement import annealed, make_improvement

N, K = 24, 3
ITERATION = 5
DONE = 0.4  # of the annealing


class Table(torch.nn.Module):
    """Outputs by decision: features are rows of the unit matrix."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = torch.nn.Parameter(torch.from_numpy(outputs.copy()))
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, rows):
        return rows @ self.outputs


@pytest.fixture
def case():
    """Random decisions of games of three, every other one with an illegal action; q and targets."""
    rng = np.random.default_rng(0)
    legal = np.ones((N, K), dtype=bool)
    legal[::2, 2] = False
    outputs = np.where(legal, rng.normal(size=(N, K)), 0).astype(np.float32)
    policy = np.where(legal, np.exp(outputs), 0)
    policy /= policy.sum(axis=1, keepdims=True)
    chosen = np.array([rng.choice(K, p=row) for row in policy])
    last = (np.arange(N) % 3 == 2).astype(np.uint8)
    decisions = Decisions(
        features=np.eye(N, dtype=np.float32),
        hidden=np.eye(N, dtype=np.float32),
        actions=np.where(legal, np.arange(K), -1).astype(np.int16),
        outputs=outputs,
        policy=policy.astype(np.float32),
        chosen=chosen.astype(np.int16),
        sampled=policy[np.arange(N), chosen].astype(np.float32),
        players=(np.arange(N) % 2).astype(np.int8),
        explores=(np.arange(N) % 4 < 1).astype(np.uint8),
        weights=np.ones(N, dtype=np.float32),
        last=last,
        outcomes=np.where(last, rng.normal(size=N), 0).astype(np.float32),
    )
    experience = Experience(decisions, 0.0, torch.device("cpu"), torch.float32)
    values = np.where(legal, rng.normal(size=(N, K)), 0).astype(np.float32)
    return experience, values, rng.normal(size=N).astype(np.float32)


def advantages(case, correction):
    experience, values, targets = case
    played = experience.decisions
    result = values - (played.policy * values).sum(axis=1, keepdims=True)
    for n, a in enumerate(played.chosen):
        result[n, a] += min(1 / played.sampled[n], correction) * (targets[n] - values[n, a])
    return np.where(played.actions >= 0, result, 0)


def objective_and_table(config, case):
    experience, values, targets = case
    table = Table(experience.decisions.outputs)
    lesson = Lesson(experience, values, targets, ITERATION, DONE)
    return make_improvement(config, load_game("kuhn_poker")).objective(table, lesson), table


def loss_and_table(config, case):
    objective, table = objective_and_table(config, case)
    return lambda: objective.losses(*objective.columns).mean(), table


def gradient(loss, table):
    loss().backward()
    return table.outputs.grad.numpy()


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("correction", [0.0, 2.0])
def test_regret_matching_asks_for_the_moving_average(case, plus, correction):
    strategy = RegretMatching(plus=plus, least_weight=0.1, clip=1.5)
    config = RegretActorCritic(strategy=strategy, correction=correction)
    loss, table = loss_and_table(config, case)
    played = case[0].decisions
    legal = played.actions >= 0
    raw = advantages(case, correction)
    deviation = np.sqrt((raw**2).sum() / legal.sum())
    w = 2 / (ITERATION + 1)
    assert float(table.scale) == pytest.approx(2.0 + w * (deviation - 2.0), rel=1e-5)
    fresh = (raw / float(table.scale)).clip(-1.5, 1.5)
    old = np.maximum(played.outputs, 0) if plus else played.outputs
    wanted = np.where(legal, (1 - w) * old + w * fresh, 0).astype(np.float32)
    with torch.no_grad():
        table.outputs.copy_(torch.from_numpy(wanted))
    assert loss().item() == pytest.approx(0, abs=1e-10)


def test_the_weight_of_an_iteration_has_a_floor(case):
    """From then on old advantages are forgotten at the same rate."""
    config = RegretActorCritic(strategy=RegretMatching(least_weight=0.9), correction=0)
    loss, table = loss_and_table(config, case)
    played = case[0].decisions
    legal = played.actions >= 0
    fresh = (advantages(case, 0) / float(table.scale)).clip(-4, 4)
    wanted = np.where(legal, 0.1 * played.outputs + 0.9 * fresh, 0).astype(np.float32)
    with torch.no_grad():
        table.outputs.copy_(torch.from_numpy(wanted))
    assert loss().item() == pytest.approx(0, abs=1e-10)


def softmax_gradient(policy, by_action):
    """Of sum_a policy(a) by_action(a) with respect to the logits, row by row."""
    return policy * (by_action - (policy * by_action).sum(axis=1, keepdims=True))


def test_all_actions_gradient_is_the_policy_gradient(case):
    strategy = QPolicyGradient(entropy=1e-9, last_entropy=1e-9)
    loss, table = loss_and_table(RegretActorCritic(strategy=strategy, correction=3), case)
    experience, values, targets = case
    policy = experience.decisions.policy
    unit = (targets - (policy * values).sum(axis=1)).std()
    expected = -softmax_gradient(policy, advantages(case, 3) / unit) / N
    assert gradient(loss, table) == pytest.approx(expected, abs=1e-6)


def test_ppo_at_first_is_the_sampled_policy_gradient(case):
    loss, table = loss_and_table(PPO(entropy=1e-9, last_entropy=1e-9), case)
    experience, values, targets = case
    played = experience.decisions
    raw = targets - (played.policy * values).sum(axis=1)
    gains = (raw - raw.mean()) / raw.std()
    chosen = np.eye(K)[played.chosen]
    expected = -(chosen - played.policy) * gains[:, None] / N
    assert gradient(loss, table) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "config",
    [
        PPO(entropy=0.3),
        PPO(entropy=0.3, proximity=2.0),
        RegretActorCritic(strategy=QPolicyGradient(entropy=0.3), correction=3),
        RegretActorCritic(strategy=RegretMatching(least_weight=0.5)),
        RegretActorCritic(strategy=RegretMatching(plus=True)),
    ],
    ids=["ppo", "mirror descent", "all actions", "regret matching", "rm+"],
)
def test_norms_are_those_of_the_gradients_by_the_outputs(case, config):
    """As far as the network is the one that played: in one unit for all decisions."""
    objective, table = objective_and_table(config, case)
    objective.losses(*objective.columns).sum().backward()
    found = table.outputs.grad.norm(dim=1).numpy()
    assert found / found.mean() == pytest.approx(
        objective.norms / objective.norms.mean(), rel=1e-4, abs=1e-5
    )


@pytest.mark.parametrize("config", [PPO(), RegretActorCritic(strategy=QPolicyGradient())])
def test_ratios_that_have_gone_far_enough_are_let_be(case, config):
    """Where a step in the gain's direction is complete, only the entropy's gradient is left."""
    small = {"entropy": 1e-9, "last_entropy": 1e-9}
    if isinstance(config, PPO):
        config = PPO(**small)
    else:
        config = RegretActorCritic(strategy=QPolicyGradient(**small))
    loss, table = loss_and_table(config, case)
    direction = -gradient(loss, table)
    table.outputs.grad = None
    with torch.no_grad():
        table.outputs.add_(torch.from_numpy(1e4 * direction))
    assert np.abs(gradient(loss, table)).max() < np.abs(direction).max() / 10


def test_mirror_descent_adds_the_divergence_from_the_policy_that_played(case):
    played = case[0].decisions
    legal = played.actions >= 0
    moved = np.where(legal, played.outputs + 0.3 * np.arange(K), -np.inf)
    policy = np.exp(moved - moved.max(axis=1, keepdims=True))
    policy /= policy.sum(axis=1, keepdims=True)
    ratios = np.where(legal, policy / np.where(legal, played.policy, 1), 1)
    expected = (policy * np.log(ratios)).sum(axis=1).mean()
    losses = []
    for proximity in (0.0, 2.0):
        loss, table = loss_and_table(PPO(proximity=proximity), case)
        with torch.no_grad():
            table.outputs.copy_(torch.from_numpy(np.where(legal, moved, 0).astype(np.float32)))
        losses.append(loss().item())
    assert expected > 0.01
    assert losses[1] - losses[0] == pytest.approx(2 * expected, rel=1e-4)


def test_the_bonus_for_entropy_falls():
    values = [annealed(0.1, 0.01, done) for done in (0, 0.5, 1)]
    assert values == pytest.approx([0.1, 0.1 / np.sqrt(10), 0.01])
