"""One sampled walk through a game for one traverser: the compiled half of a traversal.

`advance` plays everything up to the next decision; the coroutines of `asynccfr.cfr.traversal` await a
network's answer there. Samples go into two buffers: regrets at the traverser's nodes, the current policy
at everybody else's.

At the traverser's nodes outcome sampling draws from a mixture with a uniform policy (`epsilon`); all
others play their policy. So a history of the traverser is visited in proportion to the others' reach
times its own *sampling* reach q, and weighting every sample by 1 / q leaves what external sampling
visits: advantage samples in proportion to the counterfactual reach, and strategy samples in
proportion to their player's own reach, free of the traverser's exploration.
"""

from libc.stdlib cimport free, realloc

from asynccfr.cfr.regret_matching cimport Rule, policy_from_outputs
from asynccfr.cfr.query cimport Query, policy_room, sample_index
from asynccfr.cfr.samples cimport SampleBuffer
from asynccfr.games.contract cimport State
from asynccfr.seeding cimport Rng


cdef class Walk(Query):
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

    def __cinit__(self, State state not None, *args, **kwargs):
        self.sampling_reach = 1.0

    def __init__(
        self,
        State state,
        int traverser,
        Rng rng not None,
        Rule rule,
        double epsilon=0.0,
        double max_weight=1.0,
        Walk reuse=None,
    ):
        self.begin(traverser, rng, rule, epsilon, max_weight)
        if reuse is None:
            self.advantages = SampleBuffer(state.game)
            self.strategies = SampleBuffer(state.game)
        elif reuse.state.game is not state.game:
            raise ValueError("reuse: expected a walk of the same game object")
        else:
            self.advantages, self.strategies = reuse.advantages, reuse.strategies
            self.advantages.size = self.strategies.size = 0

    def __dealloc__(self):
        free(self.steps)

    cdef int begin(
        self, int traverser, Rng rng, Rule rule, double epsilon, double max_weight
    ) except -1:
        self.traverser = traverser
        self.rng = rng
        self.rule = rule
        self.epsilon = epsilon
        self.max_weight = max_weight
        return 0

    cdef int write_row(self, float* row) except -1:
        self.state.write_tensor(self.player, row)
        return self.buffer().write_features(row)

    cdef SampleBuffer buffer(self):
        """Where a sample of the decision that waits belongs."""
        return self.advantages if self.player == self.traverser else self.strategies

    cpdef bint advance(self) except -1:
        """Play on to the next decision; False at the end of the game.

        A decision that has been answered is sampled first; one with a single legal action is played.
        """
        if self.answered:
            self.choose()
        self.answered = self.play_on(self.rng)
        self.nodes += self.answered
        return self.answered

    @property
    def at_traverser(self):
        """Whether the decision that waits is the traverser's."""
        return self.player == self.traverser

    @property
    def utility(self):
        """The traverser's return; the game must be over."""
        return self.state.utility(self.traverser)

    cdef int choose(self) except -1:
        """Record the answered decision as a sample and play a sampled action; return 0."""
        cdef bint own = self.player == self.traverser
        cdef SampleBuffer buffer = self.buffer()
        cdef int n = self.num_legal, i
        cdef Py_ssize_t sample = buffer.append(
            self.legal, n, min(1.0 / self.sampling_reach, self.max_weight)
        )
        cdef float* values = buffer.values + sample * buffer.max_legal
        cdef double* policy = policy_room(n)
        policy_from_outputs(self.rule, self.outputs, n, policy)
        for i in range(n):
            values[i] = <float>policy[i]
            if own:
                policy[i] = self.epsilon / n + (1.0 - self.epsilon) * policy[i]
        i = sample_index(policy, n, self.rng)
        self.remember(Step(own, sample, i, policy[i]))
        if own:
            self.sampling_reach *= policy[i]
        self.state.advance(self.legal[i])
        return 0

    cdef int remember(self, Step step) except -1:
        """Keep a decision, before its action is played; return 0."""
        if self.num_steps == self.step_capacity:
            self.step_capacity = 2 * self.step_capacity + 16
            self.steps = <Step*>realloc(self.steps, self.step_capacity * sizeof(Step))
            if self.steps is NULL:
                raise MemoryError
        self.steps[self.num_steps] = step
        self.num_steps += 1
        return 0

    cpdef back_up(self):
        """Outcome sampling's backward pass: turn the traverser's policies into sampled regrets.

        At a node with policy p, sampled action a and sampling probability q, and v the estimate below:
        the value of a is v / q and of the others 0, that of the node p(a) v / q, and a regret is
        the difference, for every legal action (MCCFR, Lanctot et al. 2009, with the value of the
        history in place of the product of reaches).
        """
        cdef double value = self.state.utility(self.traverser), below
        cdef Step step
        cdef float* values
        cdef Py_ssize_t t
        cdef int i, k = self.advantages.max_legal
        for t in range(self.num_steps - 1, -1, -1):
            step = self.steps[t]
            if not step.own:
                continue
            values = self.advantages.values + step.sample * k
            below = value / step.probability
            value = values[step.chosen] * below
            for i in range(k):
                if self.advantages.actions[step.sample * k + i] < 0:
                    break
                values[i] = <float>((below if i == step.chosen else 0.0) - value)
        self.num_steps = 0

    def branches(self):
        """External sampling: open a sample here and start a walk for each legal action.

        The walks share the sample buffers, so one is to be finished before the next begins.
        """
        cdef list children = []
        cdef Walk child
        cdef int i
        self.opened = self.advantages.append(self.legal, self.num_legal, 1.0)
        for i in range(self.num_legal):
            child = Walk.__new__(Walk, self.state.copy())
            child.begin(
                self.traverser, Rng(self.rng.next64()), self.rule, self.epsilon, self.max_weight
            )
            child.advantages = self.advantages
            child.strategies = self.strategies
            child.state.advance(self.legal[i])
            children.append(child)
        return children

    def join(self, list children, list below):
        """External sampling: write the opened sample's regrets; return this node's value.

        `below` has the value of each walk in `children`; expectation over the policy, not maximum, goes up.
        """
        cdef int n = self.num_legal, i
        cdef double value = 0.0
        cdef float* values = self.advantages.values + self.opened * self.advantages.max_legal
        cdef double* policy = policy_room(n)
        policy_from_outputs(self.rule, self.outputs, n, policy)
        for i in range(n):
            value += policy[i] * <double>below[i]
            self.nodes += (<Walk>children[i]).nodes
        for i in range(n):
            values[i] = <float>(<double>below[i] - value)
        return value
