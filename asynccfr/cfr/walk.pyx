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

from libc.stdlib cimport free
from libc.string cimport memcpy

from asynccfr.cfr.regret_matching cimport Rule, policy_from_outputs
from asynccfr.cfr.query cimport Query, policy_room, row_room, sample_index
from asynccfr.cfr.buffer cimport grown
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
        free(self.policies)

    cdef int begin(
        self, int traverser, Rng rng, Rule rule, double epsilon, double max_weight
    ) except -1:
        self.traverser = traverser
        self.rng = rng
        self.rule = rule
        self.epsilon = epsilon
        self.max_weight = max_weight
        return 0

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

    cdef int choose(self) except -1:
        """Note the answered decision and play a sampled action; return 0."""
        cdef bint own = self.player == self.traverser
        cdef int n = self.num_legal, i
        cdef float weight = self.weight()
        cdef double* policy = policy_room(n)
        cdef float* kept
        self.reserve()
        kept = self.policies + self.num_steps * self.state.game.max_legal_actions
        policy_from_outputs(self.rule, self.outputs, n, policy)
        for i in range(n):
            kept[i] = <float>policy[i]
            if own:
                policy[i] = self.epsilon / n + (1.0 - self.epsilon) * policy[i]
        i = sample_index(policy, n, self.rng)
        self.remember(Step(own, i, self.moves, weight, policy[i]))
        if own:
            self.sampling_reach *= policy[i]
        self.state.advance(self.legal[i])
        self.moves = 1
        return 0

    cdef double weight(self) noexcept:
        """What a sample counts: 1 / the sampling reach, which in a long game underflows, or the cap."""
        capped = self.sampling_reach * self.max_weight <= 1.0
        return self.max_weight if capped else 1.0 / self.sampling_reach

    cdef int reserve(self) except -1:
        """Make room for one more decision; return 0."""
        cdef Py_ssize_t capacity
        if self.num_steps == self.step_capacity:
            capacity = 2 * self.step_capacity + 16
            self.steps = <Step*>grown(self.steps, capacity * <Py_ssize_t>sizeof(Step))
            self.policies = <float*>grown(
                self.policies,
                capacity * self.state.game.max_legal_actions * <Py_ssize_t>sizeof(float),
            )
            self.step_capacity = capacity
        return 0

    cdef int remember(self, Step step) except -1:
        """Keep a decision, before its action is played; return 0."""
        self.steps[self.num_steps] = step
        self.num_steps += 1
        self.own_steps += step.own
        return 0

    cpdef back_up(self):
        """Write the samples of a finished walk, on the way back to its start; return its value.

        Outcome sampling's backward pass: at a node with policy p, sampled action a and sampling
        probability q, and v the estimate below, the value of a is v / q and of the others 0, that of
        the node p(a) v / q, and a regret is the difference, for every legal action (MCCFR, Lanctot
        et al. 2009, with the value of the history in place of the product of reaches).
        """
        cdef double value = self.state.utility(self.traverser), below
        cdef Step* step
        cdef float* values
        cdef int i
        self.add_samples()
        while self.num_steps:
            values = self.take_back()
            step = &self.steps[self.num_steps]
            if step.own:
                below = value / step.probability
                value = values[step.chosen] * below
                for i in range(self.num_legal):
                    values[i] = <float>((below if i == step.chosen else 0.0) - value)
        return value

    cdef int add_samples(self) except -1:
        """Add the samples that `take_back` is going to write; return 0."""
        self.next_own = self.advantages.add(self.own_steps) + self.own_steps
        self.next_other = self.num_steps - self.own_steps
        self.next_other += self.strategies.add(self.next_other)
        self.own_steps = 0
        return 0

    cdef float* take_back(self) except NULL:
        """Return to the last decision and write its sample, the policy in `values`; return these."""
        cdef Step* step
        cdef SampleBuffer samples
        cdef Py_ssize_t index
        cdef float* values
        cdef float* row
        cdef int _i
        for _i in range(self.moves):
            self.state.retreat()
        self.look()
        self.num_steps -= 1
        step = &self.steps[self.num_steps]
        self.moves = step.moves
        if step.own:
            self.next_own -= 1
            samples, index = self.advantages, self.next_own
        else:
            self.next_other -= 1
            samples, index = self.strategies, self.next_other
        row = row_room(samples.tensor_size)
        self.state.write_tensor(self.player, row)
        values = samples.write(index, row, self.legal, self.num_legal, step.weight)
        memcpy(
            values,
            self.policies + self.num_steps * samples.max_legal,
            self.num_legal * sizeof(float),
        )
        return values

    def branches(self):
        """External sampling: open a sample here and start a walk for each legal action.

        The walks share the sample buffers, so one is to be finished before the next begins.
        """
        cdef list children = []
        cdef Walk child
        cdef float* row = row_room(self.advantages.tensor_size)
        cdef int i
        self.opened = self.advantages.add(1)
        self.state.write_tensor(self.player, row)
        self.advantages.write(self.opened, row, self.legal, self.num_legal, 1.0)
        for i in range(self.num_legal):
            child = Walk.__new__(Walk, self.state.copy())
            child.begin(
                self.traverser, Rng(self.rng.next64()), self.rule, self.epsilon, self.max_weight
            )
            child.advantages = self.advantages
            child.strategies = self.strategies
            child.state.advance(self.legal[i])
            children.append(child)
        self.add_samples()
        while self.num_steps:
            self.take_back()
        return children

    def join(self, list children, list below):
        """External sampling: write the opened sample's regrets; return this node's value.

        `below` has the value of each walk in `children`; the expectation, not the maximum, goes up.
        """
        cdef int n = len(children), i
        cdef double value = 0.0
        cdef float* values = self.advantages.values_at(self.opened)
        cdef double* policy = policy_room(n)
        policy_from_outputs(self.rule, self.outputs, n, policy)
        for i in range(n):
            value += policy[i] * <double>below[i]
            self.nodes += (<Walk>children[i]).nodes
        for i in range(n):
            values[i] = <float>(<double>below[i] - value)
        return value
