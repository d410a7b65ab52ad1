"""Tabular counterfactual regret minimisation: the reference that Deep CFR is measured against.

Every variant is one algorithm with another weighting of its iterations (Brown and Sandholm 2019):
after iteration t, positive regrets are multiplied by t^alpha / (t^alpha + 1), negative ones by
t^beta / (t^beta + 1), and the strategy of iteration t counts t^gamma in the average. Players are
updated in turn, each against the other's newest strategy.
"""

from dataclasses import dataclass
from math import inf, pow

import numpy as np
import numpy.typing as npt

from asynccfr.exact.best_response import evaluate
from asynccfr.exact.policy import TabularPolicy
from asynccfr.exact.sequence_form import SequenceForm
from asynccfr.exact.values import NashConv


@dataclass(frozen=True)
class Weighting:
    """How much past iterations count.

    Attributes:
        alpha: for positive regrets; infinity keeps them as they are.
        beta: for negative regrets; infinity keeps them, minus infinity sets them to zero.
        gamma: for the average strategy; 0 weighs all iterations alike.
    """

    alpha: float
    beta: float
    gamma: float


CFR = Weighting(alpha=inf, beta=inf, gamma=0)  # Zinkevich et al. 2007
CFR_PLUS = Weighting(alpha=inf, beta=-inf, gamma=1)  # Tammelin 2014
LINEAR_CFR = Weighting(alpha=1, beta=1, gamma=1)
DISCOUNTED_CFR = Weighting(alpha=1.5, beta=0, gamma=2)


class TabularCFR:
    """CFR on an enumerated game.

    Attributes:
        iteration: iterations done; one updates both players.
        regrets: cumulative counterfactual regrets, [S].
        strategy: the current strategy, [S]: regret matching, uniform where no regret is positive.
    """

    def __init__(self, tree: SequenceForm, weighting: Weighting = CFR_PLUS) -> None:
        self.tree = tree
        self.weighting = weighting
        self.iteration = 0
        self.regrets = np.zeros(tree.num_sequences)
        self.strategy = tree.normalise(self.regrets)
        self._plan_sum = np.zeros(tree.num_sequences + 2)

    def run(self, iterations: int) -> None:
        """Do that many iterations."""
        for _ in range(iterations):
            self.iteration += 1
            for player in (0, 1):
                plan = self.tree.plan(self.strategy)
                self.regrets += self.tree.regrets(player, plan, self.strategy)
                self.strategy = self.tree.normalise(np.maximum(self.regrets, 0.0))
            self.regrets *= np.where(
                self.regrets > 0.0,
                discount(self.iteration, self.weighting.alpha),
                discount(self.iteration, self.weighting.beta),
            )
            self._plan_sum += pow(self.iteration, self.weighting.gamma) * self.tree.plan(
                self.strategy
            )

    def average_strategy(self) -> npt.NDArray[np.float64]:
        """The strategy [S] that converges to an equilibrium: the average realisation plan."""
        return self.tree.normalise(self._plan_sum[: self.tree.num_sequences])

    def average_policy(self) -> TabularPolicy:
        """`average_strategy` as a policy."""
        return self.tree.tabular_policy(self.average_strategy())

    def current_policy(self) -> TabularPolicy:
        """The strategy of the next iteration as a policy."""
        return self.tree.tabular_policy(self.strategy)


def discount(iteration: int, exponent: float) -> float:
    """t^exponent / (t^exponent + 1); 1 or 0 for infinite exponents, at t = 1 too."""
    if exponent in (inf, -inf):
        return float(exponent > 0)
    weight = pow(iteration, exponent)
    return weight / (weight + 1.0)


def solve(
    tree: SequenceForm,
    nash_conv: float,
    max_iterations: int = 100_000,
    weighting: Weighting = CFR_PLUS,
) -> tuple[TabularCFR, NashConv]:
    """Run CFR until the average strategy's NashConv is at most `nash_conv`, or `max_iterations`.

    Returns the solver and the evaluation of its average strategy, whose `value_bounds` enclose the
    value of the game.
    """
    solver = TabularCFR(tree, weighting)
    while True:
        solver.run(min(max(10, solver.iteration // 4), max_iterations - solver.iteration))
        evaluation = evaluate(tree, solver.average_strategy())
        if evaluation.nash_conv <= nash_conv or solver.iteration >= max_iterations:
            return solver, evaluation
