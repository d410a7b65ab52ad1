"""From a network's outputs to a policy: regret matching for advantages, softmax for logits, or the best.

Every traversal, player and exact evaluation comes through `policy_from_outputs`, which sees the
outputs of the legal actions only.
"""

from libc.math cimport exp

import numpy as np


cdef void policy_from_outputs(
    Rule rule, const float* outputs, int n, double* policy
) noexcept nogil:
    """Write the policy over `n` legal actions whose network outputs are given."""
    cdef double total = 0.0
    cdef float highest = outputs[0]
    cdef int i
    for i in range(1, n):
        if outputs[i] > highest:
            highest = outputs[i]
    for i in range(n):
        if rule == Rule.SOFTMAX:
            policy[i] = exp(outputs[i] - highest)
        elif rule != Rule.GREEDY and highest > 0:
            policy[i] = outputs[i] if outputs[i] > 0 else 0.0
        elif rule == Rule.REGRET_MATCHING_UNIFORM:
            policy[i] = 1.0
        else:
            policy[i] = outputs[i] == highest
        total += policy[i]
    for i in range(n):
        policy[i] /= total


def policy_rows(const float[:, ::1] outputs, const unsigned char[:, ::1] masks, Rule rule):
    """The policies of many information states.

    `outputs` is float32 [n, num_actions], `masks` uint8 or bool [n, num_actions] with the legal actions
    set (at least one a row). Returns float64 [n, num_actions], 0 at illegal actions.
    """
    cdef Py_ssize_t n = outputs.shape[0], width = outputs.shape[1], i, a
    if masks.shape[0] != n or masks.shape[1] != width:
        raise ValueError(f"masks: {masks.shape[0]}x{masks.shape[1]}, expected {n}x{width}")
    result = np.zeros((n, width))
    cdef double[:, ::1] policies = result
    packed = np.empty(width, dtype=np.float32)
    scratch = np.empty(width)
    cdef float[::1] legal = packed
    cdef double[::1] policy = scratch
    cdef int count
    for i in range(n):
        count = 0
        for a in range(width):
            if masks[i, a]:
                legal[count] = outputs[i, a]
                count += 1
        if count == 0:
            raise ValueError(f"masks[{i}]: no legal action, expected at least one")
        policy_from_outputs(rule, &legal[0], count, &policy[0])
        count = 0
        for a in range(width):
            if masks[i, a]:
                policies[i, a] = policy[count]
                count += 1
    return result
