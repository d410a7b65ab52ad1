"""Forward and backward of the equivariant network on one core, each one call without the GIL.

Both take a few rows at a time, a tile, whose activations stay in the nearest caches. After the input
and after every layer a tile keeps h [blocks + 1, rows, width], the last block the sum of the others:
dividing it for the mean is left to the weights that it meets.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from asynccfr.networks.linear cimport (
    Linear, Shapes, add_blocks, apply, begin_tiles, end_tiles, forget_gradient, go_back, learn, pack,
    padded, pairs_size, rectify, through_relu, tiles_allowed, unpack_gradient,
)
from asynccfr.networks.memory cimport address, zeros

import torch

# Rows at a time: few enough to stay near, enough that reading the weights is worth it.
cdef Py_ssize_t TILE = 32


cdef class EquivariantKernel:
    """The shape of a network, and memory for one call at a time; a copy has memory of its own.

    Parameters and their gradients are contiguous float32 in this order: block_input; global_input,
    input_bias; own, pooled and bias of every layer; block_output, its bias; global_output, its bias.

    Attributes:
        loaded: whether it has parameters, and no gradients of theirs were asked for since.
        half: whether those may be rounded to bfloat16.
        turn: counts the forwards; a backward belongs to the last one.
    """

    cdef readonly bint loaded, half
    cdef bint allocated, busy, tiles
    cdef readonly Py_ssize_t turn
    cdef tuple sizes
    cdef list linear, shapes  # of the maps; of the parameters
    cdef list memory  # tensors: what the pointers point into
    cdef Py_ssize_t blocks, features, layers, width, tensor_size, num_actions, actions, row_size
    cdef Py_ssize_t maps
    cdef Linear* map  # [maps], and some of them by name
    cdef Linear* block_input
    cdef Linear* global_input
    cdef Linear* inner  # own and pooled of every layer
    cdef Linear* block_output
    cdef Linear* global_output
    cdef object rows, activations
    cdef float* h
    cdef float* of_h
    cdef float* inside
    cdef float* shared
    cdef float* of_blocks
    cdef float* of_global

    def __init__(self, *sizes):
        """Blocks, features, global features, width, layers, actions, global actions."""
        self.sizes = sizes
        blocks, features, global_features, width, layers, actions, global_actions = sizes
        self.blocks, self.features, self.layers, self.actions = blocks, features, layers, actions
        self.width = padded(width)
        self.tensor_size = blocks * features + global_features
        self.num_actions = blocks * actions + global_actions
        self.row_size = (layers + 1) * (blocks + 1) * self.width
        mean, self.maps = 1 / blocks, 2 * layers + 4
        self.linear = [  # inputs, outputs, scale, whether it has a bias
            *((features, width, 1.0, False), (global_features, width, 1.0, True)),
            *[(width, width, 1.0, False), (width, width, mean, True)] * layers,
            *((width, actions, 1.0, True), (width, global_actions, mean, True)),
        ]
        self.shapes = []
        for inputs, outputs, _, bias in self.linear:
            self.shapes += [(outputs, inputs), (outputs,)] if bias else [(outputs, inputs)]

    cdef int allocate(self) except -1:
        """Take memory, which a network that is only kept never needs."""
        self.memory = []
        free(self.map)  # of an attempt that ran out of memory
        self.map = <Linear*>calloc(self.maps, sizeof(Linear))
        if self.map is NULL:
            raise MemoryError
        for i, (inputs, outputs, scale, _) in enumerate(self.linear):
            self.lay_out(&self.map[i], inputs, outputs, scale)
        self.block_input, self.global_input, self.inner = self.map, self.map + 1, self.map + 2
        self.block_output = &self.map[self.maps - 2]
        self.global_output = &self.map[self.maps - 1]
        self.of_h = zeros(self.memory, TILE * self.width * self.blocks)
        self.inside = zeros(self.memory, TILE * self.width * (self.blocks + 1))
        self.shared = zeros(self.memory, TILE * self.width)
        self.of_blocks = zeros(self.memory, TILE * self.block_output.row)
        self.of_global = zeros(self.memory, TILE * self.global_output.row)
        self.allocated = True
        return 0

    def __dealloc__(self):
        free(self.map)

    def __reduce__(self):
        return EquivariantKernel, self.sizes

    cdef int lay_out(self, Linear* map, Py_ssize_t inputs, Py_ssize_t outputs, float scale) except -1:
        map.inputs, map.outputs, map.scale = inputs, outputs, scale
        map.row, map.input_row = padded(outputs), padded(inputs)
        map.weights = zeros(self.memory, inputs * map.row)
        map.bias = zeros(self.memory, map.row)
        map.gradient = zeros(self.memory, (map.input_row + 1) * map.row)
        map.transposed = zeros(self.memory, outputs * map.input_row)
        map.pairs = <uint32_t*>zeros(self.memory, pairs_size(inputs, map.row))
        map.transposed_pairs = <uint32_t*>zeros(self.memory, pairs_size(outputs, map.input_row))
        return 0

    cdef int point(self, tensors) except -1:
        """Let the maps' outer memory be these parameters, or these gradients."""
        cdef Linear* map = self.map - 1
        for shape, tensor in zip(self.shapes, tensors, strict=True):
            if len(shape) == 2:
                map += 1
                map.outer = address(tensor, shape)
            else:
                map.outer_bias = address(tensor, shape)
        return 0

    def load(self, parameters, bint half=False):
        """Pack the parameters. Raises ValueError for another shape or type.

        `half` lets products round what they multiply to bfloat16, which is only done where that is
        quicker: by a processor with tiles for it.
        """
        self.begin()
        try:
            self.pack_all(tuple(parameters), half)  # held until their memory has been read
        finally:
            self.busy = False

    def forward(self, rows, bint keep):
        """Outputs float32 [n, num_actions] for rows [n, tensor_size], blocks first in both.

        `keep` rows and activations for a backward. What a row gets does not depend on the others.
        Raises ValueError for rows of another shape or type, RuntimeError without parameters.
        """
        self.begin()
        try:
            return self.forward_all(rows, keep)
        finally:
            self.busy = False

    def backward(self, of_outputs, Py_ssize_t turn):
        """The parameters' gradients from those of the outputs, float32 [n, num_actions].

        Raises RuntimeError unless the last forward was that `turn` and kept its activations.
        """
        self.begin()
        try:
            return self.backward_all(of_outputs, turn)
        finally:
            self.busy = False

    cdef int begin(self) except -1:
        if self.busy:
            raise RuntimeError("the kernel serves one call at a time: give each thread a copy")
        self.busy = True
        return 0

    cdef int pack_all(self, tuple parameters, bint half) except -1:
        cdef Py_ssize_t i
        if not self.allocated:
            self.allocate()
        self.point(parameters)
        self.tiles = half and tiles_allowed()
        with nogil:
            for i in range(self.maps):
                self.map[i].parts = self.tiles
                pack(&self.map[i])
        self.loaded, self.half = True, half
        return 0

    cdef object forward_all(self, rows, bint keep):
        if not self.loaded:
            raise RuntimeError("forward: expected load, with the network's parameters, before")
        cdef Py_ssize_t n = len(rows), tile, first
        cdef Py_ssize_t size = self.row_size * (n if keep else min(n, TILE))
        cdef const float* x = address(rows, (n, self.tensor_size))
        if self.activations is None or self.activations.numel() < size:
            self.activations = torch.empty(size)
            self.h = address(self.activations, (size,))
        outputs = torch.empty((n, self.num_actions))
        cdef float* out = address(outputs, (n, self.num_actions))
        self.turn += 1
        self.rows = rows if keep else None
        cdef Shapes callers
        with nogil:
            if self.tiles:
                begin_tiles(&callers)
            for tile in range(tiles(n)):
                first = tile * TILE
                self.tile_forward(
                    min(TILE, n - first), x + first * self.tensor_size,
                    self.h + (first * self.row_size if keep else 0), out + first * self.num_actions,
                )
            if self.tiles:
                end_tiles(&callers)
        return outputs

    cdef list backward_all(self, of_outputs, Py_ssize_t turn):
        if turn != self.turn or self.rows is None:
            raise RuntimeError("backward: the network has run forward again since; one at a time")
        cdef Py_ssize_t n = len(self.rows), tile, first, i
        cdef const float* x = address(self.rows, (n, self.tensor_size))
        cdef const float* g = address(of_outputs, (n, self.num_actions))
        gradients = [torch.empty(shape) for shape in self.shapes]
        self.point(gradients)
        cdef Shapes callers
        with nogil:
            if self.tiles:
                begin_tiles(&callers)
            for i in range(self.maps):
                forget_gradient(&self.map[i])
            for tile in range(tiles(n) - 1, -1, -1):  # the last ones are nearest
                first = tile * TILE
                self.tile_backward(
                    min(TILE, n - first), x + first * self.tensor_size,
                    self.h + first * self.row_size, g + first * self.num_actions,
                )
            for i in range(self.maps):
                unpack_gradient(&self.map[i])
            if self.tiles:
                end_tiles(&callers)
        self.loaded = False  # parameters change where gradients are asked for
        return gradients

    cdef void tile_forward(
        self, Py_ssize_t n, const float* x, float* h, float* outputs
    ) noexcept nogil:
        cdef Py_ssize_t blocks = self.blocks, width = self.width, size = n * width, c, i
        cdef Linear* map
        apply(self.global_input, n, x + blocks * self.features, self.tensor_size, self.shared)
        for c in range(blocks):
            rectify(
                self.block_input, n, x + c * self.features, self.tensor_size, self.shared, NULL,
                h + c * size,
            )
        add_blocks(h, blocks, size, h + blocks * size)
        for i in range(self.layers):
            map = self.inner + 2 * i
            apply(map + 1, n, h + blocks * size, width, self.shared)
            for c in range(blocks):
                rectify(
                    map, n, h + c * size, width, self.shared, h + c * size,
                    h + (blocks + 1 + c) * size,
                )
            h += (blocks + 1) * size
            add_blocks(h, blocks, size, h + blocks * size)
        map = self.block_output
        for c in range(blocks):
            apply(map, n, h + c * size, width, self.of_blocks)
            copy_rows(n, map.outputs, self.of_blocks, map.row, outputs, self.num_actions)
            outputs += map.outputs
        map = self.global_output
        apply(map, n, h + blocks * size, width, self.of_global)
        copy_rows(n, map.outputs, self.of_global, map.row, outputs, self.num_actions)

    cdef void tile_backward(
        self, Py_ssize_t n, const float* x, const float* h, const float* g
    ) noexcept nogil:
        cdef Py_ssize_t blocks = self.blocks, width = self.width, size = n * width, c, i
        cdef float* of_h = self.of_h
        cdef float* inside = self.inside
        cdef float* total = inside + blocks * size
        cdef Linear* map = self.global_output
        h += self.layers * (blocks + 1) * size
        copy_rows(n, map.outputs, g + blocks * self.actions, self.num_actions, self.of_global, map.row)
        learn(map, n, h + blocks * size, width, self.of_global)
        go_back(map, n, self.of_global, NULL, NULL, self.shared)
        map = self.block_output
        for c in range(blocks):
            copy_rows(n, map.outputs, g + c * self.actions, self.num_actions, self.of_blocks, map.row)
            learn(map, n, h + c * size, width, self.of_blocks)
            go_back(map, n, self.of_blocks, self.shared, NULL, of_h + c * size)
        for i in range(self.layers - 1, -1, -1):
            map = self.inner + 2 * i
            h -= (blocks + 1) * size
            through_relu(of_h, h + (blocks + 1) * size, h, blocks * size, inside)
            add_blocks(inside, blocks, size, total)
            learn(map + 1, n, h + blocks * size, width, total)
            go_back(map + 1, n, total, NULL, NULL, self.shared)
            for c in range(blocks):
                learn(map, n, h + c * size, width, inside + c * size)
                go_back(map, n, inside + c * size, self.shared, of_h + c * size, of_h + c * size)
        through_relu(of_h, h, NULL, blocks * size, inside)
        add_blocks(inside, blocks, size, total)
        for c in range(blocks):
            learn(self.block_input, n, x + c * self.features, self.tensor_size, inside + c * size)
        learn(self.global_input, n, x + blocks * self.features, self.tensor_size, total)


cdef Py_ssize_t tiles(Py_ssize_t n) noexcept nogil:
    return (n + TILE - 1) // TILE


cdef void copy_rows(
    Py_ssize_t n, Py_ssize_t size, const float* source, Py_ssize_t source_row, float* target,
    Py_ssize_t target_row,
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        memcpy(target + i * target_row, source + i * source_row, size * sizeof(float))
