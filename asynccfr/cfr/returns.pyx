"""Multi-step targets along recorded games: what critics learn, and how good actions turned out.

Every kernel runs backward over the decisions of whole games, one game after the other. Values belong
to the player who decides; the game is zero-sum, so the other player's are their negatives.
"""

from libc.stdint cimport int8_t, int16_t, uint8_t

import numpy as np


def action_value_targets(
    const float[:, ::1] values,
    const float[:, ::1] policy,
    const int16_t[::1] chosen,
    const float[::1] sampled,
    const int8_t[::1] players,
    const uint8_t[::1] last,
    const float[::1] outcomes,
    double trace,
):
    """Targets float32 [N] for the values of the chosen actions under `policy`: Retrace(lambda).

    At a decision with chosen action a, sampled with probability b, and the next one marked by ':
    target = v' + trace * min(1, policy'(a') / b') * (target' - q'(a')), with v' = sum policy' q',
    negated where the next decision is the opponent's; the outcome at the last one. `values` are the
    critic's q float32 [N, max_legal]; the other arguments are columns of `Decisions`. Munos et al.
    (2016); where play is on-policy it differs from TD(lambda) by an expectation over actions, which
    saves variance.
    """
    cdef Py_ssize_t n = values.shape[0], width = values.shape[1], t
    cdef double target = 0.0, state_value, ratio, below = 0.0
    cdef int i, a
    check_lengths(n, policy.shape[0], chosen.shape[0], sampled.shape[0], players.shape[0])
    check_lengths(n, n, n, last.shape[0], outcomes.shape[0])
    check_whole(last)
    result = np.empty(n, dtype=np.float32)
    cdef float[::1] targets = result
    for t in range(n - 1, -1, -1):
        target = outcomes[t] if last[t] else (below if players[t] == players[t + 1] else -below)
        targets[t] = <float>target
        state_value = 0.0
        for i in range(<int>width):
            state_value += policy[t, i] * values[t, i]
        a = chosen[t]
        ratio = min(1.0, policy[t, a] / sampled[t])
        below = state_value + trace * ratio * (target - values[t, a])
    return result


def generalised_advantages(
    const float[::1] values,
    const int8_t[::1] players,
    const uint8_t[::1] last,
    const float[::1] outcomes,
    double trace,
):
    """Advantages float32 [N] of the chosen actions: GAE(lambda), Schulman et al. (2016), undiscounted.

    `values` float32 [N] are the critic's values of the histories; the rest are columns of `Decisions`.
    """
    cdef Py_ssize_t n = values.shape[0], t
    cdef double target, below = 0.0
    result = np.empty(n, dtype=np.float32)
    cdef float[::1] advantages = result
    check_lengths(n, n, players.shape[0], last.shape[0], outcomes.shape[0])
    check_whole(last)
    for t in range(n - 1, -1, -1):
        target = outcomes[t] if last[t] else (below if players[t] == players[t + 1] else -below)
        advantages[t] = <float>(target - values[t])
        below = values[t] + trace * (target - values[t])
    return result


cdef check_lengths(Py_ssize_t n, Py_ssize_t a, Py_ssize_t b, Py_ssize_t c, Py_ssize_t d):
    if not n == a == b == c == d:
        raise ValueError(f"columns of different lengths, expected {n} decisions in each")


cdef check_whole(const uint8_t[::1] last):
    if last.shape[0] and not last[last.shape[0] - 1]:
        raise ValueError("last: the last game is cut off, expected whole games")
