"""How a policy network learns from a critic: from all advantages, or from sampled ones.

All see the same decisions and the same critic, so that only the rule of improvement differs.
"""

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from asynccfr.cfr.plan import RULES
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.returns import action_value_targets, generalised_advantages
from asynccfr.config import PPO, Hedge, QPolicyGradient, RegretActorCritic, RegretMatching
from asynccfr.networks import Network, masked_log_softmax, masked_softmax
from asynccfr.solvers.experience import Experience
from asynccfr.solvers.learner import Loss
from asynccfr.solvers.self_play import Behaviour

Array = npt.NDArray[np.float32]

SMOOTHING = 0.05  # of the running deviation of advantages, an iteration


class Improvement(Protocol):
    """A rule of improvement; `values` are the critic's q for the legal actions, [N, K] points.

    Attributes:
        name: what the policy network's outputs are.
        behaviour: how it is played while learning.
    """

    name: str
    behaviour: Behaviour

    def targets(self, experience: Experience, values: Array) -> Array:
        """What the critic is to learn for the chosen actions, [N] points."""

    def loss(
        self,
        network: Network,
        experience: Experience,
        values: Array,
        targets: Array,
        iteration: int,
        done: float,
    ) -> Loss:
        """What the policy network is to minimise over the decisions of an iteration.

        `done` is how much of the annealing is over, from 0 to 1.
        """


class AllActions:
    """What all rules but PPO share: the advantages of every legal action."""

    def __init__(self, config: RegretActorCritic) -> None:
        self.config = config

    def targets(self, experience: Experience, values: Array) -> Array:
        played = experience.decisions
        return action_value_targets(
            values,
            played.policy,
            played.chosen,
            played.sampled,
            played.players,
            played.last,
            played.outcomes,
            self.config.trace,
        )

    def raw_advantages(self, experience: Experience, values: Array, targets: Array) -> Array:
        """q - v for the legal actions, in points; 0 elsewhere.

        To the chosen action, taken with probability b, is added what the critic had wrong about it:
        (target - q) * min(1 / b, correction).
        """
        played = experience.decisions
        means = state_values(played.policy, values)[:, None]
        advantages: Array = np.where(played.actions >= 0, values - means, np.float32(0))
        rows = np.arange(len(advantages))
        weights = np.minimum(1 / played.sampled, self.config.correction)
        advantages[rows, played.chosen] += weights * (targets - values[rows, played.chosen])
        return advantages

    def advantages(
        self,
        network: Network,
        experience: Experience,
        values: Array,
        targets: Array,
        iteration: int,
    ) -> Array:
        """The same, clipped, in units of their running deviation, which `network.scale` becomes."""
        legal = experience.decisions.actions >= 0
        advantages = self.raw_advantages(experience, values, targets)
        deviation = math.sqrt(np.square(advantages).sum() / legal.sum()) or 1.0
        last = float(network.scale)
        scale = last + max(SMOOTHING, 2 / (iteration + 1)) * (deviation - last)
        network.scale.fill_(scale)
        return (advantages / scale).clip(-self.config.clip, self.config.clip)


class RegretMatchingOfAverages(AllActions):
    """The network's outputs are average advantages; regret matching plays them.

    In iteration t the target of every legal action is (1 - w) * output + w * (q - v), where the
    output is the network's own before the update and w is 2 / (t + 1), as in linear CFR, until that
    has fallen to `least_weight`: a moving average from there on.
    """

    name = "advantage"

    def __init__(self, config: RegretActorCritic, strategy: RegretMatching) -> None:
        super().__init__(config)
        self.strategy = strategy
        self.behaviour = Behaviour(RULES[strategy.all_negative], config.exploration)

    def loss(
        self,
        network: Network,
        experience: Experience,
        values: Array,
        targets: Array,
        iteration: int,
        done: float,
    ) -> Loss:
        fresh = self.advantages(network, experience, values, targets, iteration)
        w = max(self.strategy.least_weight, 2 / (iteration + 1))
        outputs = experience.decisions.outputs
        old = np.maximum(outputs, 0) if self.strategy.plus else outputs
        averages = experience.tensor(((1 - w) * old + w * fresh).astype(np.float32))

        def loss(rows: Tensor) -> Tensor:
            outputs = experience.outputs(network, experience.seen(rows), rows)
            legal = experience.legal[rows]
            return ((outputs - averages[rows]).square() * legal).sum() / legal.sum()

        return loss


class HedgeOfAdvantages(AllActions):
    """The network's outputs are logits, to which every iteration adds its advantages.

    Up to a constant, the logarithm of the new policy is to be

        (log policy + step * (q - v)) / (1 + step * temperature),

    a step of magnetic mirror descent towards uniform play (Sokota et al. 2023), whose last iterate
    converges to the quantal response equilibrium of that temperature where values are exact. It is
    fitted by cross-entropy, which looks at the actions that are played.
    """

    name = "policy"

    def __init__(self, config: RegretActorCritic, strategy: Hedge) -> None:
        super().__init__(config)
        self.strategy = strategy
        self.behaviour = Behaviour(Rule.SOFTMAX, config.exploration)

    def loss(
        self,
        network: Network,
        experience: Experience,
        values: Array,
        targets: Array,
        iteration: int,
        done: float,
    ) -> Loss:
        fresh = self.advantages(network, experience, values, targets, iteration)
        strategy = self.strategy
        temperature = annealed(strategy.temperature, strategy.last_temperature, done)
        # In logarithms, with a floor: a policy may underflow to 0.
        logits = np.log(experience.decisions.policy.clip(min=1e-30)) + strategy.step * fresh
        logits /= 1 + strategy.step * temperature
        policies = masked_softmax(experience.tensor(logits.astype(np.float32)), experience.legal)

        def loss(rows: Tensor) -> Tensor:
            outputs = experience.outputs(network, experience.seen(rows), rows)
            logarithms = masked_log_softmax(outputs, experience.legal[rows])
            return -(policies[rows] * logarithms).sum(dim=1).mean()

        return loss


class AllActionsGradient(AllActions):
    """PPO's surrogate, summed over the actions instead of sampled: less noise for the same step.

    The policy gradient of all actions' values, QPG, ascends on counterfactual values as regret
    minimisers do (Srinivasan et al. 2018).
    """

    name = "policy"

    def __init__(self, config: RegretActorCritic, strategy: QPolicyGradient) -> None:
        super().__init__(config)
        self.strategy = strategy
        self.behaviour = Behaviour(Rule.SOFTMAX, config.exploration)

    def loss(
        self,
        network: Network,
        experience: Experience,
        values: Array,
        targets: Array,
        iteration: int,
        done: float,
    ) -> Loss:
        policy = experience.decisions.policy
        advantages = self.raw_advantages(experience, values, targets)
        unit = (targets - state_values(policy, values)).std() + 1e-8
        gains = experience.tensor((policy * advantages / unit).astype(np.float32))
        before = experience.tensor(np.log(policy.clip(min=1e-30)))
        bonus = annealed(self.strategy.entropy, self.strategy.last_entropy, done)
        clip = self.strategy.ratio_clip

        def loss(rows: Tensor) -> Tensor:
            outputs = experience.outputs(network, experience.seen(rows), rows)
            legal = experience.legal[rows]
            logarithms = masked_log_softmax(outputs, legal)
            ratios = ((logarithms - before[rows]) * legal).exp()
            gain = clipped_gains(ratios, gains[rows], clip).sum(dim=1).mean()
            return -gain - bonus * mean_entropy(logarithms, legal)

        return loss


class PolicyGradient:
    """PPO (Schulman et al. 2017): clipped ratios, GAE, an entropy bonus that is annealed."""

    name = "policy"

    def __init__(self, config: PPO) -> None:
        self.config = config
        self.behaviour = Behaviour(Rule.SOFTMAX, 0.0)

    def targets(self, experience: Experience, values: Array) -> Array:
        played = experience.decisions
        means = state_values(played.policy, values)
        ends = (played.players, played.last, played.outcomes)
        return means + generalised_advantages(means, *ends, self.config.trace)

    def loss(
        self,
        network: Network,
        experience: Experience,
        values: Array,
        targets: Array,
        iteration: int,
        done: float,
    ) -> Loss:
        raw = targets - state_values(experience.decisions.policy, values)
        advantages = experience.tensor((raw - raw.mean()) / (raw.std() + 1e-8))
        before = experience.tensor(np.log(experience.decisions.sampled))
        bonus = annealed(self.config.entropy, self.config.last_entropy, done)
        clip = self.config.clip

        def loss(rows: Tensor) -> Tensor:
            outputs = experience.outputs(network, experience.seen(rows), rows)
            legal = experience.legal[rows]
            logarithms = masked_log_softmax(outputs, legal)
            chosen = logarithms.gather(1, experience.chosen[rows, None])[:, 0]
            gain = clipped_gains((chosen - before[rows]).exp(), advantages[rows], clip).mean()
            return -gain - bonus * mean_entropy(logarithms, legal)

        return loss


def state_values(policy: Array, values: Array) -> Array:
    """The mean of the action values [N, K] under the policy: [N]."""
    means: Array = np.einsum("nk,nk->n", policy, values)
    return means


def clipped_gains(ratios: Tensor, gains: Tensor, clip: float) -> Tensor:
    """PPO's surrogate: what a change of probabilities gains, as far as it may be trusted."""
    return torch.minimum(ratios * gains, ratios.clamp(1 - clip, 1 + clip) * gains)


def mean_entropy(logarithms: Tensor, legal: Tensor) -> Tensor:
    """The mean entropy (nats) of policies given by their logarithms [n, K]."""
    return -(logarithms.exp() * logarithms * legal).sum(dim=1).mean()


def annealed(first: float, last: float, done: float) -> float:
    """Falls geometrically from the first value to the last as `done` goes from 0 to 1."""
    return float(first * (last / first) ** done)


def make_improvement(config: RegretActorCritic | PPO) -> Improvement:
    """The rule of improvement that the configuration asks for."""
    if isinstance(config, PPO):
        return PolicyGradient(config)
    if isinstance(config.strategy, QPolicyGradient):
        return AllActionsGradient(config, config.strategy)
    if isinstance(config.strategy, Hedge):
        return HedgeOfAdvantages(config, config.strategy)
    return RegretMatchingOfAverages(config, config.strategy)
