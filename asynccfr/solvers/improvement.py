"""How a policy network learns from a critic: from all advantages, or from sampled ones.

All see the same decisions and the same critic, so that only the rule of improvement differs.
"""

import math
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
import torch
from msgspec.structs import replace
from torch import Tensor

from asynccfr.cfr.plan import RULES
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.returns import generalised_advantages
from asynccfr.config import (
    PPO,
    Escher,
    Learning,
    QPolicyGradient,
    RegretActorCritic,
    RegretMatching,
)
from asynccfr.errors import ConfigError
from asynccfr.games import Game
from asynccfr.learning.fitting import fit_advantage
from asynccfr.learning.reservoir import Reservoir
from asynccfr.networks import Network, masked_log_softmax
from asynccfr.reports import FitReport
from asynccfr.solvers.advantages import AllActions, Array, Lesson, state_values
from asynccfr.solvers.experience import Experience
from asynccfr.solvers.learner import Learner, Objective, Session
from asynccfr.solvers.self_play import Behaviour

SMOOTHING = 0.05  # of the running deviation of advantages, an iteration


class Improvement(Protocol):
    """A rule of improvement.

    Attributes:
        name: what the policy network's outputs are.
        behaviour: how it is played while learning.
        memory: advantages of all iterations, where the rule keeps them.
    """

    name: str
    behaviour: Behaviour

    @property
    def memory(self) -> Reservoir | None: ...

    def targets(self, experience: Experience, values: Array) -> Array:
        """What the critic is to learn for the chosen actions, [N] points; `values` as above."""

    def learn(self, learner: Learner, lesson: Lesson, session: Session) -> FitReport:
        """Let the policy network learn."""


class FromFreshDecisions(ABC):
    """Rules under which the policy network learns from this iteration's decisions alone."""

    memory: Reservoir | None = None

    @abstractmethod
    def objective(self, network: Network, lesson: Lesson) -> Objective:
        """What the policy network is to minimise over the decisions."""

    def learn(self, learner: Learner, lesson: Lesson, session: Session) -> FitReport:
        return learner.learn(self.objective(learner.network, lesson), session)


class RegretMatchingOfAverages(AllActions, FromFreshDecisions):
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

    def objective(self, network: Network, lesson: Lesson) -> Objective:
        experience, fresh = lesson.experience, self.in_deviations(network, lesson)
        w = max(self.strategy.least_weight, 2 / (lesson.iteration + 1))
        outputs = experience.decisions.outputs
        old = np.maximum(outputs, 0) if self.strategy.plus else outputs
        averages = ((1 - w) * old + w * fresh).astype(np.float32)
        legal = experience.decisions.actions >= 0
        norms = np.linalg.norm(np.where(legal, averages - outputs, 0), axis=1)
        mean_choices = legal.sum(1).mean()

        def losses(seen: Tensor, actions: Tensor, legal: Tensor, averages: Tensor) -> Tensor:
            outputs = experience.outputs(network, experience.rows(seen), actions)
            errors: Tensor = ((outputs - averages).square() * legal).sum(1) / mean_choices
            return errors

        columns = (experience.seen, experience.actions, experience.legal)
        return Objective((*columns, experience.tensor(averages)), norms, losses)

    def in_deviations(self, network: Network, lesson: Lesson) -> Array:
        """Advantages, clipped, in units of their running deviation; `network.scale` is that."""
        legal = lesson.experience.decisions.actions >= 0
        advantages = self.advantages(lesson)
        deviation = math.sqrt(np.square(advantages).sum() / legal.sum()) or 1.0
        last = float(network.scale)
        scale = last + max(SMOOTHING, 2 / (lesson.iteration + 1)) * (deviation - last)
        network.scale.fill_(scale)
        return (advantages / scale).clip(-self.strategy.clip, self.strategy.clip)


class RegretMatchingOfMemory(AllActions):
    """ESCHER (McAleer et al. 2023): regret matching on a mean of all advantages so far.

    In turns one seat explores, uniformly in every iteration, while the other plays the current
    policy. The explorer then meets each information state in proportion to the others' reach, up to
    a factor that never changes: the mean of its advantages, iteration t counting t as in linear
    CFR, is the counterfactual regret up to that factor, without importance weights. A reservoir
    keeps them, because no network adds them up without forgetting; the policy network is fitted to
    what it holds, from where it was. The other seat meets its information states in proportion to
    its own reach, as samples of the average strategy must, if it does not explore: with
    `exploration` above 0 it only nearly does.
    """

    name = "advantage"

    def __init__(self, config: RegretActorCritic, strategy: Escher, game: Game) -> None:
        """Raises ConfigError for settings that this rule has no use for, or cannot halve."""
        super().__init__(config)
        if config.policy_learning != Learning():
            raise ConfigError(
                "solver.policy_learning: not used by strategy escher, which fits its network as "
                "solver.strategy.steps, .batch and .learning_rate say; leave policy_learning out"
            )
        if config.games % 2:
            raise ConfigError(
                f"solver.games: {config.games}; with strategy escher each seat explores in half of "
                "the games, expected an even number"
            )
        self.strategy = strategy
        self.behaviour = Behaviour(RULES[strategy.all_negative], config.exploration, explorer=True)
        self.memory = Reservoir.for_game(game, strategy.memory)

    def regrets(self, lesson: Lesson) -> Array:
        """The advantages against the value of the policy as it is with the correction, too.

        Without a cap on the correction and with trace 1 their mean does not depend on the critic,
        as far as the policy's probabilities are none higher than those that were sampled with.
        """
        played = lesson.experience.decisions
        advantages = self.advantages(lesson)
        means = state_values(played.policy, advantages)[:, None]
        return np.where(played.actions >= 0, advantages - means, np.float32(0))

    def learn(self, learner: Learner, lesson: Lesson, session: Session) -> FitReport:
        experience, memory = lesson.experience, self.memory
        explored = np.flatnonzero(experience.decisions.explores)
        even = np.ones(len(experience), np.float32)
        samples = experience.samples(explored, self.regrets(lesson), even)
        memory.extend(samples, lesson.iteration, np.random.default_rng(session.rng.bits()))
        rate = session.rate * self.strategy.learning_rate
        return fit_advantage(
            learner.network,
            memory,
            replace(self.strategy, learning_rate=rate),
            session.rng,
            name=f"{self.name} network",
            dtype=experience.dtype,
            device=experience.device,
            stop=session.stop,
            on_step=lambda step, loss: session.progress(step, self.strategy.steps),
        )


class AllActionsGradient(AllActions, FromFreshDecisions):
    """PPO's surrogate, summed over the actions instead of sampled: less noise for the same step.

    The policy gradient of all actions' values, QPG, ascends on counterfactual values as regret
    minimisers do (Srinivasan et al. 2018).
    """

    name = "policy"

    def __init__(self, config: RegretActorCritic, strategy: QPolicyGradient) -> None:
        super().__init__(config)
        self.strategy = strategy
        self.behaviour = Behaviour(Rule.SOFTMAX, config.exploration)

    def objective(self, network: Network, lesson: Lesson) -> Objective:
        experience = lesson.experience
        policy = experience.decisions.policy
        advantages = self.advantages(lesson)
        unit = (lesson.targets - state_values(policy, lesson.values)).std() + 1e-8
        gains = (policy * advantages / unit).astype(np.float32)
        before = np.log(policy.clip(min=1e-30))
        bonus = annealed(self.strategy.entropy, self.strategy.last_entropy, lesson.done)
        clip = self.strategy.ratio_clip
        slopes = gains - policy * gains.sum(1, keepdims=True) + bonus * entropy_slopes(policy)

        def losses(
            seen: Tensor, actions: Tensor, legal: Tensor, gains: Tensor, before: Tensor
        ) -> Tensor:
            outputs = experience.outputs(network, experience.rows(seen), actions)
            logarithms = masked_log_softmax(outputs, legal)
            gain = clipped_gains((logarithms - before).exp(), gains, clip).sum(1)
            return -(gain + bonus * entropy(logarithms, legal))

        played = (experience.seen, experience.actions, experience.legal)
        columns = (*played, experience.tensor(gains), experience.tensor(before))
        return Objective(columns, np.linalg.norm(slopes, axis=1), losses)


class PolicyGradient(FromFreshDecisions):
    """PPO (Schulman et al. 2017): clipped ratios, GAE, an entropy bonus that is annealed.

    With a weight on KL(policy, the one that played) it takes the proximal steps of magnetic mirror
    descent (Sokota et al. 2023, equation 2).
    """

    name = "policy"

    def __init__(self, config: PPO) -> None:
        self.config = config
        self.behaviour = Behaviour(Rule.SOFTMAX, 0.0)

    def targets(self, experience: Experience, values: Array) -> Array:
        played = experience.decisions
        means = state_values(played.policy, values)
        ends = (played.players, played.last, played.outcomes)
        return means + generalised_advantages(means, *ends, self.config.trace)

    def objective(self, network: Network, lesson: Lesson) -> Objective:
        experience = lesson.experience
        raw = lesson.targets - state_values(experience.decisions.policy, lesson.values)
        advantages = (raw - raw.mean()) / (raw.std() + 1e-8)
        before = experience.tensor(np.log(experience.decisions.policy.clip(min=1e-30)))
        bonus = annealed(self.config.entropy, self.config.last_entropy, lesson.done)
        clip, proximity = self.config.clip, self.config.proximity
        policy, chosen = experience.decisions.policy, experience.decisions.chosen
        taken = np.arange(policy.shape[1]) == chosen[:, None]
        slopes = advantages[:, None] * (taken - policy) + bonus * entropy_slopes(policy)

        def losses(
            seen: Tensor,
            actions: Tensor,
            legal: Tensor,
            chosen: Tensor,
            advantages: Tensor,
            before: Tensor,
        ) -> Tensor:
            outputs = experience.outputs(network, experience.rows(seen), actions)
            logarithms = masked_log_softmax(outputs, legal)
            ratios = (logarithms - before).gather(1, chosen[:, None])[:, 0].exp()
            gain = clipped_gains(ratios, advantages, clip) + bonus * entropy(logarithms, legal)
            return proximity * divergence(logarithms, before, legal) - gain

        played = (experience.seen, experience.actions, experience.legal, experience.chosen)
        columns = (*played, experience.tensor(advantages), before)
        return Objective(columns, np.linalg.norm(slopes, axis=1), losses)


def clipped_gains(ratios: Tensor, gains: Tensor, clip: float) -> Tensor:
    """PPO's surrogate: what changes of probabilities gain, as far as they may be trusted.

    The lesser of ratio * gain and clipped ratio * gain, which the sign of a gain decides.
    """
    return torch.minimum(ratios * gains, gains + clip * gains.abs())


def entropy(logarithms: Tensor, legal: Tensor) -> Tensor:
    """The entropy (nats) of policies given by their logarithms [n, K]: [n]."""
    return -(logarithms.exp() * torch.where(legal, logarithms, 0.0)).sum(1)


def divergence(logarithms: Tensor, others: Tensor, legal: Tensor) -> Tensor:
    """KL(policy, other) in nats of policies given by their logarithms [n, K]: [n]."""
    return (logarithms.exp() * torch.where(legal, logarithms - others, 0.0)).sum(1)


def entropy_slopes(policy: Array) -> Array:
    """Derivatives of the policies' entropy by their logits, [N, K]."""
    terms = policy * np.log(policy.clip(min=1e-30))
    slopes: Array = policy * terms.sum(1, keepdims=True) - terms
    return slopes


def annealed(first: float, last: float, done: float) -> float:
    """Falls geometrically from the first value to the last as `done` goes from 0 to 1."""
    return float(first * (last / first) ** done)


def make_improvement(config: RegretActorCritic | PPO, game: Game) -> Improvement:
    """The rule of improvement that the configuration asks for."""
    if isinstance(config, PPO):
        return PolicyGradient(config)
    if isinstance(config.strategy, QPolicyGradient):
        return AllActionsGradient(config, config.strategy)
    if isinstance(config.strategy, Escher):
        return RegretMatchingOfMemory(config, config.strategy, game)
    return RegretMatchingOfAverages(config, config.strategy)
