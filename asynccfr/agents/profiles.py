"""Strategy profiles made of networks, for exact evaluation."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import torch

from asynccfr.cfr.regret_matching import Rule, policy_rows
from asynccfr.exact.policy import InformationStates, TabularPolicy
from asynccfr.exact.sequence_form import SequenceForm
from asynccfr.networks import InferenceCopy, Network


class NetworkProfile:
    """The policy of one network a player: all information states of a player in one forward."""

    def __init__(self, networks: Sequence[Network], rule: Rule) -> None:
        self.forwards = [InferenceCopy(network) for network in networks]
        self.rule = rule

    def __call__(self, states: InformationStates) -> npt.NDArray[np.float64]:
        """Probabilities [n, num_actions], 0 at illegal actions."""
        policies = np.zeros(states.legal.shape)
        for player, forward in enumerate(self.forwards):
            theirs = states.players == player
            if theirs.any():
                outputs = forward(torch.from_numpy(states.tensors[theirs])).numpy()
                masks = states.legal[theirs].view(np.uint8)
                policies[theirs] = policy_rows(outputs, masks, self.rule)
        return policies


class AverageProfile:
    """The exact average of profiles: each player plays profile t in w_t of all games.

    As a strategy, that is a mixture in which profiles also count by how likely the player reaches
    an information state under them (Kuhn's theorem; Steinberger 2019, equation 6).

    Attributes:
        count: profiles so far.
        plan: the weighted sum of their realisation plans, [S + 2].
    """

    def __init__(self, tree: SequenceForm) -> None:
        self.tree = tree
        self.count = 0
        self.plan = np.zeros(tree.num_sequences + 2)

    def add(self, profile: NetworkProfile, weight: float) -> None:
        """Let a profile count `weight` in the average."""
        self.count += 1
        self.plan += weight * self.tree.plan(self.tree.strategy(profile))

    def extend(self, profiles: Iterable[tuple[NetworkProfile, float]]) -> "AverageProfile":
        """Add many profiles with their weights; return the average."""
        for profile, weight in profiles:
            self.add(profile, weight)
        return self

    def policy(self) -> TabularPolicy:
        """The average so far; uniform where no profile ever gets."""
        weights = self.plan[: self.tree.num_sequences]
        return self.tree.tabular_policy(self.tree.normalise(weights))
