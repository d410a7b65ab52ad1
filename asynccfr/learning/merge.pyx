"""Samples of one information state, taken together.

A squared error and a cross-entropy are both, up to a constant, the same for many samples of one
information state as for their weighted mean, carrying their total weight. In small games millions
of samples are of a few hundred information states.
"""

cimport cython
from libc.stdint cimport int16_t, int32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

import numpy as np

from asynccfr.cfr.buffer cimport fold


@cython.boundscheck(False)
@cython.wraparound(False)
def merge(
    features,
    const int16_t[:, ::1] actions,
    const float[:, ::1] values,
    const double[::1] weights,
):
    """Merge samples with equal features and actions.

    `features` is a C-contiguous array [n, D] of any type, `actions` int16 [n, K], `values` float32
    [n, K], `weights` float64 [n], not negative. Returns the first sample of each kind, int64 [m],
    their total weights, float64 [m], and their weighted mean values, float64 [m, K].
    """
    cdef const unsigned char[:, ::1] keys = features.view(np.uint8).reshape(len(features), -1)
    cdef Py_ssize_t n = keys.shape[0], k = actions.shape[1], i, j, m = 0
    cdef size_t key_size = keys.shape[1], action_size = k * sizeof(int16_t)
    if not actions.shape[0] == values.shape[0] == weights.shape[0] == n or values.shape[1] != k:
        raise ValueError(f"features: {n} rows, expected as many as actions, values and weights have")
    firsts = np.empty(n, dtype=np.int64)
    totals = np.zeros(n)
    sums = np.zeros((n, k))
    cdef long[::1] first = firsts
    cdef double[::1] total = totals
    cdef double[:, ::1] sum = sums
    cdef uint64_t mask = (1 << (2 * n).bit_length()) - 1, at
    cdef int32_t* slots = <int32_t*>calloc(mask + 1, sizeof(int32_t))  # 1 + the kind, 0 if empty
    cdef Py_ssize_t kind
    if slots is NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            at = fold(fold(0, &keys[i, 0], key_size), &actions[i, 0], action_size)
            at ^= at >> 32
            while True:
                at &= mask
                kind = slots[at] - 1
                if kind < 0:
                    kind = m
                    m += 1
                    slots[at] = <int32_t>m
                    first[kind] = i
                    break
                j = first[kind]
                if (
                    memcmp(&keys[i, 0], &keys[j, 0], key_size) == 0
                    and memcmp(&actions[i, 0], &actions[j, 0], action_size) == 0
                ):
                    break
                at += 1
            total[kind] += weights[i]
            for j in range(k):
                sum[kind, j] += weights[i] * values[i, j]
    free(slots)
    return firsts[:m], totals[:m], sums[:m] / np.maximum(totals[:m], 1e-300)[:, None]
