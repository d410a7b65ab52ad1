"""Which traversals an iteration makes: a record small enough to be sent to another process."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from asynccfr.cfr.baseline import BaselineWalk
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.traversal import (
    Scheme,
    external_sampling,
    outcome_sampling,
    outcome_sampling_with_baseline,
)
from asynccfr.cfr.walk import Walk
from asynccfr.config import ExternalSampling, LearnedBaseline, OutcomeSampling
from asynccfr.games import Game
from asynccfr.seeding import TRAVERSAL, stream

RULES = {
    "highest": Rule.REGRET_MATCHING_HIGHEST,
    "uniform": Rule.REGRET_MATCHING_UNIFORM,
}


class TraversalPlan(Struct, frozen=True, kw_only=True):
    """One player's traversals of an iteration, numbered from 0; each has its own random stream."""

    seed: int
    iteration: int
    traverser: int
    traversals: int
    sampling: ExternalSampling | OutcomeSampling
    all_negative: str

    @property
    def scheme(self) -> Scheme[Walk]:
        if isinstance(self.sampling, ExternalSampling):
            return external_sampling
        return outcome_sampling_with_baseline if self.has_baseline else outcome_sampling

    @property
    def has_baseline(self) -> bool:
        return isinstance(getattr(self.sampling, "baseline", None), LearnedBaseline)

    def walks(self, game: Game, numbers: Iterable[int], finished: list[Walk]) -> Iterator[Walk]:
        """The walks of the traversals of those numbers.

        New walks inherit the memory of those in `finished`, which are used up.
        """
        rule = RULES[self.all_negative]
        for number in numbers:
            rng = stream(self.seed, (TRAVERSAL, self.iteration, self.traverser, number))
            state = game.new_state()
            reuse = finished.pop() if finished else None
            if isinstance(self.sampling, OutcomeSampling):
                epsilon, max_weight = self.sampling.epsilon, self.sampling.max_weight
                kind = BaselineWalk if self.has_baseline else Walk
                yield kind(state, self.traverser, rng, rule, epsilon, max_weight, reuse)
            else:
                yield Walk(state, self.traverser, rng, rule, reuse=reuse)
