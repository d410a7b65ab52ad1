"""What an iteration teaches, and the advantages of all actions that most rules learn from."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from asynccfr.cfr.returns import action_value_targets
from asynccfr.config import RegretActorCritic
from asynccfr.solvers.experience import Experience

Array = npt.NDArray[np.float32]


class Lesson(NamedTuple):
    """What there is to learn from the decisions of an iteration, N of K legal actions at most.

    Fields:
        experience: the decisions.
        values: the critic's q for the legal actions, [N, K] points.
        targets: what the critic is to learn for the chosen actions, [N] points.
        iteration: its number, from 1.
        done: how much of the annealing is over, from 0 to 1.
    """

    experience: Experience
    values: Array
    targets: Array
    iteration: int
    done: float

    def errors(self) -> Array:
        """What the critic had wrong about the chosen actions, [N] points."""
        chosen = self.experience.decisions.chosen[:, None].astype(np.intp)
        errors: Array = self.targets - np.take_along_axis(self.values, chosen, 1)[:, 0]
        return errors


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

    def advantages(self, lesson: Lesson) -> Array:
        """q - v for the legal actions, in points; 0 elsewhere.

        To the chosen action, taken with probability b, is added what the critic had wrong about it:
        (target - q) * min(1 / b, correction).
        """
        played, values = lesson.experience.decisions, lesson.values
        means = state_values(played.policy, values)[:, None]
        advantages: Array = np.where(played.actions >= 0, values - means, np.float32(0))
        rows = np.arange(len(advantages))
        weights = np.minimum(1 / played.sampled, self.config.correction)
        advantages[rows, played.chosen] += weights * lesson.errors()
        return advantages


def state_values(policy: Array, values: Array) -> Array:
    """The mean of the action values [N, K] under the policy: [N]."""
    means: Array = np.einsum("nk,nk->n", policy, values)
    return means
