"""Outcome sampling with a learned baseline: the same regrets in expectation, with far less noise.

A sampled return says how good the sampled action was this time. A baseline b(h, a) says what action
a is worth at history h on average, so that only the difference from it has to be sampled
(VR-MCCFR, Schmid et al. 2019; learned as in DREAM, Steinberger et al. 2020):

    v(h, a) = b(h, a) + [a sampled] (v(h a) - b(h, a)) / q(a),    v(h) = sum_a p(a) v(h, a)

with p the policy and q the sampling probabilities. Whatever b is, v is an unbiased estimate of the
value of the history as long as b does not depend on this walk.

A history is shown to the baseline as the information states of all players, that of the player to
move first; it answers in utility to that player.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from asynccfr.cfr.regret_matching cimport Rule
from asynccfr.cfr.buffer cimport grown
from asynccfr.cfr.samples cimport SampleBuffer
from asynccfr.cfr.walk cimport Step, Walk
from asynccfr.games.contract cimport State
from asynccfr.seeding cimport Rng


cdef class BaselineWalk(Walk):
    """An outcome-sampling walk that remembers its histories, for a baseline to value them.

    When the game is over, `write_histories` and `read_baselines` carry them to a network and back;
    then `back_up` writes the regrets, and completes `histories`: samples of what the baseline should
    have said of each sampled action.
    """

    cdef readonly SampleBuffer histories
    cdef readonly bint is_over
    cdef float* row
    cdef float* baselines  # [steps, num_actions]

    def __init__(
        self,
        State state,
        int traverser,
        Rng rng,
        Rule rule,
        double epsilon=0.0,
        double max_weight=1.0,
        BaselineWalk reuse=None,
    ):
        super().__init__(state, traverser, rng, rule, epsilon, max_weight, reuse)
        if reuse is None:
            self.histories = SampleBuffer(state.game, histories=True)
        else:
            self.histories = reuse.histories
            self.histories.size = 0
        self.row = <float*>malloc(self.histories.tensor_size * sizeof(float))
        if self.row is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.row)
        free(self.baselines)

    cdef int remember(self, Step step) except -1:
        cdef int size = self.state.game.information_state_tensor_size
        cdef int player, seat = 1
        self.state.write_tensor(self.player, self.row)
        for player in range(self.state.game.num_players):
            if player != self.player:
                self.state.write_tensor(player, self.row + seat * size)
                seat += 1
        self.histories.write(self.histories.add(1), self.row, &self.legal[step.chosen], 1, 1.0)
        return Walk.remember(self, step)

    cpdef bint advance(self) except -1:
        cdef bint more = Walk.advance(self)
        self.is_over = not more
        return more

    @property
    def group(self):
        """Decisions go to their player's network, finished walks to the baseline."""
        return BaselineWalk if self.is_over else self.player

    def write_histories(self, float[:, ::1] rows, Py_ssize_t first):
        """Write every history into a row, from `first` on; return how many there are."""
        cdef SampleBuffer histories = self.histories
        cdef Py_ssize_t n = histories.size, i
        if rows.shape[1] != histories.tensor_size or not 0 <= first <= rows.shape[0] - n:
            raise ValueError(
                f"rows: {rows.shape[0]}x{rows.shape[1]}, expected room for {n} rows of "
                f"{histories.tensor_size} from {first} on"
            )
        for i in range(n):
            histories.read_features(i, &rows[first + i, 0])
        return n

    def read_baselines(self, const float[:, ::1] outputs, Py_ssize_t first):
        """Take the baseline's outputs [>= first + histories, num_actions] for `write_histories`."""
        cdef Py_ssize_t n = self.histories.size
        cdef Py_ssize_t actions = self.state.game.num_actions
        if outputs.shape[1] != actions or outputs.shape[0] < first + n:
            raise ValueError(
                f"outputs: {outputs.shape[0]}x{outputs.shape[1]}, expected at least {first + n} "
                f"rows of {actions}"
            )
        self.baselines = <float*>grown(self.baselines, (n * actions + 1) * <Py_ssize_t>sizeof(float))
        if n:
            memcpy(self.baselines, &outputs[first, 0], n * actions * sizeof(float))

    cpdef back_up(self):
        """Turn the traverser's policies into sampled regrets, and complete `histories`.

        What the baseline should have said of an action is what it says, on average over the policy,
        of the decision that followed; after the last one, the return (expected SARSA).
        """
        cdef double value = self.state.utility(self.traverser)
        cdef double follows = value, correction, sign, mean, worth
        cdef int i
        cdef Step* step
        cdef float* values
        cdef const float* baselines
        if self.num_steps and self.baselines is NULL:
            raise RuntimeError("back_up: call read_baselines first")
        self.add_samples()
        while self.num_steps:
            values = self.take_back()
            step = &self.steps[self.num_steps]
            baselines = self.baselines + self.num_steps * self.state.game.num_actions
            sign = 1.0 if step.own else -1.0
            self.histories.values_at(self.num_steps)[0] = <float>(sign * follows)
            mean = 0.0
            for i in range(self.num_legal):
                mean += values[i] * sign * baselines[self.legal[i]]
            worth = sign * baselines[self.legal[step.chosen]]
            correction = (value - worth) / step.probability
            value = mean + values[step.chosen] * correction
            follows = mean
            if step.own:
                for i in range(self.num_legal):
                    values[i] = <float>(
                        baselines[self.legal[i]] + (correction if i == step.chosen else 0.0) - value
                    )
        return value
