"""A multilayer perceptron's forward by a processor's tiles, one call without the GIL.

In float32 every number is the sum of three in bfloat16, and sums of products are as exact as torch's.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from itertools import pairwise

from asynccfr.networks.linear cimport (
    Linear, Shapes, apply, begin_tiles, end_tiles, pack, padded, pairs_size, tiles_allowed,
)
from asynccfr.networks.memory cimport address, zeros

import torch

# Rows at a time, for whose units there is memory: many share what it costs to read the weights.
cdef Py_ssize_t ROWS = 512


def available():
    """Whether this processor has tiles, and the system lets this process use them."""
    return bool(tiles_allowed())


cdef class PerceptronKernel:
    """The packed parameters of a perceptron of some sizes.

    Threads may call `forward` at once; `load` needs the kernel for itself.

    Attributes:
        loaded: whether it has parameters.
    """

    cdef readonly bint loaded
    cdef tuple sizes
    cdef list memory  # tensors: what the pointers point into
    cdef Py_ssize_t layers, width
    cdef Linear* map
    cdef list units  # of two layers in turn, tensors [2, ROWS, width] that no call uses now

    def __init__(self, *sizes):
        """The inputs, the units of every hidden layer, the outputs."""
        self.sizes, self.layers, self.width = sizes, len(sizes) - 1, padded(max(sizes[1:]))
        self.units = []

    def __dealloc__(self):
        free(self.map)

    def __reduce__(self):
        return PerceptronKernel, self.sizes

    def load(self, weights, biases, bint half):
        """Pack weights [outputs, inputs] and biases of every layer, float32.

        `half` rounds what is multiplied to bfloat16. Raises ValueError for another shape, type or
        number of layers, RuntimeError where there are no tiles.
        """
        if not tiles_allowed():
            raise RuntimeError("load: this processor has no tiles, or the system does not allow them")
        cdef Py_ssize_t i
        cdef Linear* map = NULL
        self.loaded = False
        self.memory = []
        free(self.map)
        self.map = <Linear*>calloc(self.layers, sizeof(Linear))
        if self.map is NULL:
            raise MemoryError
        shapes = pairwise(self.sizes)
        for i, (weight, bias, shape) in enumerate(zip(weights, biases, shapes, strict=True)):
            map = self.map + i
            map.scale = 1
            map.inputs, map.outputs = shape
            map.row, map.input_row, map.parts = padded(map.outputs), padded(map.inputs), 1 if half else 3
            map.outer = address(weight, (map.outputs, map.inputs))
            map.outer_bias = address(bias, (map.outputs,))
            map.bias = zeros(self.memory, map.row)
            map.pairs = <uint32_t*>zeros(self.memory, map.parts * pairs_size(map.inputs, map.row))
            pack(map)
        self.loaded = True

    def forward(self, rows):
        """Outputs float32 [n, outputs] for rows [n, inputs]; ValueError for others.

        What a row gets does not depend on the others.
        """
        if not self.loaded:
            raise RuntimeError("forward: expected load, with the network's parameters, before")
        cdef Py_ssize_t n = len(rows), inputs = self.sizes[0], outputs = self.sizes[-1], first, i
        cdef const float* x = address(rows, (n, inputs))
        result = torch.empty((n, outputs))
        cdef float* out = address(result, (n, outputs))
        shape = 2, ROWS, self.width
        units = self.units.pop() if self.units else torch.empty(shape)
        cdef float* at = address(units, shape)
        cdef Shapes callers
        with nogil:
            begin_tiles(&callers)
            for i in range((n + ROWS - 1) // ROWS):
                first = i * ROWS
                self.all_layers(min(ROWS, n - first), x + first * inputs, at, out + first * outputs)
            end_tiles(&callers)
        self.units.append(units)
        return result

    cdef void all_layers(self, Py_ssize_t n, const float* x, float* units, float* out) noexcept nogil:
        cdef Py_ssize_t row = self.map.inputs, i
        cdef Linear* map = self.map
        for i in range(self.layers):
            map = self.map + i
            apply(map, n, x, row, units, relu=i < self.layers - 1)
            x, row = units, map.row
            units += ROWS * self.width if i % 2 == 0 else -ROWS * self.width
        for i in range(n):
            memcpy(out + i * map.outputs, x + i * row, map.outputs * sizeof(float))
