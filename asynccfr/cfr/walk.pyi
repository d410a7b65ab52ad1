from asynccfr.cfr.query import Query
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.samples import SampleBuffer
from asynccfr.games.contract import State
from asynccfr.seeding import Rng

class Walk(Query):
    """A walk from `state` in which `traverser` gathers regrets.

    Args:
        state: where to start; advanced in place.
        traverser: the player whose regrets are sampled.
        rng: draws chance and actions of this walk alone.
        rule: turns the current advantage networks' outputs into the current policy.
        epsilon: probability of a uniform action at the traverser's nodes (outcome sampling).
        max_weight: cap on the weight 1 / q of a sample.
        reuse: a walk of the same game whose samples have been taken, to inherit its memory.
    """

    traverser: int
    nodes: int
    advantages: SampleBuffer
    strategies: SampleBuffer
    def __init__(
        self,
        state: State,
        traverser: int,
        rng: Rng,
        rule: Rule,
        epsilon: float = 0.0,
        max_weight: float = 1.0,
        reuse: Walk | None = None,
    ) -> None: ...
    def advance(self) -> bool:
        """Play on to the next decision; False at the end of the game.

        A decision that has been answered is sampled first; one with a single legal action is played.
        """
    @property
    def at_traverser(self) -> bool:
        """Whether the decision that waits is the traverser's."""
    def back_up(self) -> float:
        """Write the samples of a finished walk, on the way back to its start; return its value.

        Outcome sampling's backward pass: at a node with policy p, sampled action a and sampling
        probability q, and v the estimate below, the value of a is v / q and of the others 0, that of
        the node p(a) v / q, and a regret is the difference, for every legal action (MCCFR, Lanctot
        et al. 2009, with the value of the history in place of the product of reaches).
        """
    def branches(self) -> list[Walk]:
        """External sampling: open a sample here and start a walk for each legal action.

        The walks share the sample buffers, so one is to be finished before the next begins.
        """
    def join(self, children: list[Walk], below: list[float]) -> float:
        """External sampling: write the opened sample's regrets; return this node's value.

        `below` has the value of each walk in `children`; the expectation, not the maximum, goes up.
        """
