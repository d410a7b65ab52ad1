"""Forward and backward of the equivariant network in float32 on one core, each in a call without the GIL.

Both work through a few rows at a time, a tile, whose activations stay in the nearest caches: for
every layer, h [blocks + 1, rows, width], where the last block is the sum of the others. That the
network takes the mean is left to the weights that the sums meet.
"""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import torch

cdef extern from "products.h" nogil:
    ctypedef struct Matrix:
        const float* at
        Py_ssize_t row, column

    ctypedef struct Product:
        Py_ssize_t m, n, k
        Matrix a
        const float* b
        Matrix start
        int relu
        const float* added
        float* c

    void product(const Product* p)
    void add_blocks(const float* x, Py_ssize_t blocks, Py_ssize_t size, float* total)
    void through_relu(
        const float* gradient, const float* after, const float* before, Py_ssize_t size, float* inside
    )


cdef enum:
    TILE = 48  # rows

cdef float ONE = 1.0
cdef Matrix ZEROS = Matrix(NULL, 0, 0)


cdef struct Linear:
    # A linear map. Its own memory has rows of a multiple of 16 floats, padded with zeros.
    Py_ssize_t inputs, outputs, row  # `row` is `outputs` padded
    float scale  # of its weights
    float* weights  # [inputs, row]
    float* bias  # [row], NULL without
    float* transposed  # weights [outputs, padded inputs]
    float* gradient  # [inputs, row], followed by that of the bias
    float* outer  # weights or their gradient in torch's memory, [outputs, inputs]
    float* outer_bias  # the same of the bias, [outputs]


cdef class EquivariantKernel:
    """The network's shape, with memory for one call at a time; a copy has memory of its own.

    Parameters and gradients are float32 in this order: block_input; global_input, input_bias; own,
    pooled and bias of every layer; block_output and its bias; global_output and its bias.

    Attributes:
        loaded: whether it has parameters.
        turn: counts the forwards; a backward belongs to the last of them.
    """

    cdef readonly bint loaded
    cdef readonly Py_ssize_t turn
    cdef Py_ssize_t blocks, layers, width, tensor_size, num_actions, row_size, maps
    cdef Linear* map  # [maps]: input of blocks and of the whole, own and pooled of layers, outputs
    cdef float *h, *shared, *inside, *of_h, *of_blocks, *of_global
    cdef list shapes, memory
    cdef object activations
    cdef tuple sizes

    def __init__(self, *sizes):
        """Blocks, features, global features, width, layers, actions, global actions."""
        cdef Py_ssize_t features, global_features, width, actions, global_actions, i
        self.sizes = sizes
        self.blocks, features, global_features, width, self.layers, actions, global_actions = sizes
        self.width = padded(width)
        self.tensor_size = self.blocks * features + global_features
        self.num_actions = self.blocks * actions + global_actions
        self.row_size = (self.layers + 1) * (self.blocks + 1) * self.width
        self.maps = 2 * self.layers + 4
        self.map = <Linear*>calloc(self.maps, sizeof(Linear))
        if self.map is NULL:
            raise MemoryError
        self.shapes, self.memory = [], []
        self.lay_out(0, features, width)
        self.lay_out(1, global_features, width, bias=True)
        for i in range(self.layers):
            self.lay_out(2 + 2 * i, width, width)
            self.lay_out(3 + 2 * i, width, width, bias=True, scale=1 / self.blocks)
        self.lay_out(self.maps - 2, width, actions, bias=True)
        self.lay_out(self.maps - 1, width, global_actions, bias=True, scale=1 / self.blocks)
        self.shared = self.zeros(TILE * self.width)
        self.inside = self.zeros(TILE * self.width * (self.blocks + 1))
        self.of_h = self.zeros(TILE * self.width * self.blocks)
        self.of_blocks = self.zeros(TILE * padded(actions))
        self.of_global = self.zeros(TILE * padded(global_actions))

    def __dealloc__(self):
        free(self.map)

    def __reduce__(self):
        return EquivariantKernel, self.sizes

    cdef float* zeros(self, Py_ssize_t size) except? NULL:
        """Memory that lives as long as the kernel."""
        self.memory.append(torch.zeros(size))
        return address(self.memory[-1], (size,))

    def lay_out(self, index, inputs, outputs, *, bias=False, scale=1.0):
        cdef Linear* map = &self.map[index]
        map.inputs, map.outputs, map.row, map.scale = inputs, outputs, padded(outputs), scale
        map.weights = self.zeros(map.inputs * map.row)
        map.gradient = self.zeros((map.inputs + 1) * map.row)
        map.transposed = self.zeros(map.outputs * padded(map.inputs))
        self.shapes.append((outputs, inputs))
        if bias:
            map.bias = self.zeros(map.row)
            self.shapes.append((outputs,))

    cdef int point(self, tensors) except -1:
        """Let the maps' `outer` be these parameters, or these gradients of theirs."""
        cdef Py_ssize_t next_map = 0
        for shape, tensor in zip(self.shapes, tensors, strict=True):
            if len(shape) == 2:
                self.map[next_map].outer = address(tensor, shape)
                next_map += 1
            else:
                self.map[next_map - 1].outer_bias = address(tensor, shape)
        return 0

    def load(self, parameters):
        """Pack the parameters. Raises ValueError for one of another shape or type."""
        cdef Py_ssize_t i
        self.point(parameters)
        with nogil:
            for i in range(self.maps):
                pack(&self.map[i])
        self.loaded = True

    def forward(self, rows, bint keep):
        """Outputs float32 [n, num_actions] of rows [n, tensor_size], blocks first in both.

        `keep` the activations for a backward. Raises ValueError for rows of another shape or type.
        """
        cdef Py_ssize_t n = len(rows), first, i
        cdef const float* x = address(rows, (n, self.tensor_size))
        cdef Py_ssize_t size = (n if keep else min(n, TILE)) * self.row_size
        if self.activations is None or self.activations.numel() < size:
            self.activations = torch.empty(size)
            self.h = address(self.activations, (size,))
        outputs = torch.empty((n, self.num_actions))
        cdef float* out = address(outputs, (n, self.num_actions))
        self.turn += 1
        with nogil:
            for first in range(0, n, 48):
                self.tile_forward(
                    min(TILE, n - first), x + first * self.tensor_size,
                    self.h + (first * self.row_size if keep else 0), out + first * self.num_actions,
                )
        return outputs

    def backward(self, rows, of_outputs, Py_ssize_t turn):
        """The gradients of the parameters, from those of the outputs that forward gave for the rows.

        Raises RuntimeError if forward has been called since that `turn`, and ValueError for shapes.
        """
        if turn != self.turn:
            raise RuntimeError("backward: the network has run forward again since; one at a time")
        cdef Py_ssize_t n = len(rows), first, i
        cdef const float* x = address(rows, (n, self.tensor_size))
        cdef const float* g = address(of_outputs, (n, self.num_actions))
        gradients = [torch.empty(shape) for shape in self.shapes]
        self.point(gradients)
        with nogil:
            for i in range(self.maps):
                memset(self.map[i].gradient, 0, (self.map[i].inputs + 1) * self.map[i].row * sizeof(float))
            for first in range((n - 1) // 48 * 48, -1, -48):
                self.tile_backward(
                    min(TILE, n - first), x + first * self.tensor_size,
                    self.h + first * self.row_size, g + first * self.num_actions,
                )
            for i in range(self.maps):
                unpack_gradient(&self.map[i])
        return gradients

    cdef void tile_forward(
        self, Py_ssize_t n, const float* x, float* h, float* outputs
    ) noexcept nogil:
        cdef Py_ssize_t blocks = self.blocks, size = n * self.width, c, i
        cdef const Linear* map = self.map
        cdef float* total = h + blocks * size
        cdef Matrix shared = matrix(self.shared, self.width)
        apply(
            self.map + 1, n, matrix(x + blocks * map.inputs, self.tensor_size),
            matrix(self.map[1].bias, 0), False, NULL, self.shared,
        )
        for c in range(blocks):
            apply(
                map, n, matrix(x + c * map.inputs, self.tensor_size), shared, True, NULL, h + c * size
            )
        add_blocks(h, blocks, size, total)
        for i in range(self.layers):
            map = self.map + 2 + 2 * i
            apply(
                map + 1, n, matrix(total, self.width), matrix(map[1].bias, 0), False, NULL, self.shared
            )
            for c in range(blocks):
                apply(
                    map, n, matrix(h + c * size, self.width), shared, True, h + c * size,
                    total + (c + 1) * size,
                )
            h, total = total + size, total + (blocks + 1) * size
            add_blocks(h, blocks, size, total)
        map = self.map + self.maps - 2
        for c in range(blocks):
            apply(
                map, n, matrix(h + c * size, self.width), matrix(map.bias, 0), False, NULL, self.of_blocks
            )
            copy_rows(n, map.outputs, self.of_blocks, map.row, outputs + c * map.outputs, self.num_actions)
        outputs += blocks * map.outputs
        map = self.map + self.maps - 1
        apply(map, n, matrix(total, self.width), matrix(map.bias, 0), False, NULL, self.of_global)
        copy_rows(n, map.outputs, self.of_global, map.row, outputs, self.num_actions)

    cdef void tile_backward(
        self, Py_ssize_t n, const float* x, const float* h, const float* g
    ) noexcept nogil:
        cdef Py_ssize_t blocks = self.blocks, size = n * self.width, layer = (blocks + 1) * size, c, i
        cdef const Linear* map = self.map + self.maps - 1
        cdef float *inside = self.inside, *of_h = self.of_h, *total = self.inside + blocks * size
        cdef Matrix shared = matrix(self.shared, self.width)
        h += self.layers * layer
        copy_rows(n, map.outputs, g + blocks * map[-1].outputs, self.num_actions, self.of_global, map.row)
        learn(map, n, matrix(h + blocks * size, self.width), self.of_global)
        back(map, n, self.of_global, ZEROS, NULL, self.shared)
        map = self.map + self.maps - 2
        for c in range(blocks):
            copy_rows(n, map.outputs, g + c * map.outputs, self.num_actions, self.of_blocks, map.row)
            learn(map, n, matrix(h + c * size, self.width), self.of_blocks)
            back(map, n, self.of_blocks, shared, NULL, of_h + c * size)
        for i in range(self.layers - 1, -1, -1):
            map = self.map + 2 + 2 * i
            h -= layer
            through_relu(of_h, h + layer, h, blocks * size, inside)
            add_blocks(inside, blocks, size, total)
            learn(map + 1, n, matrix(h + blocks * size, self.width), total)
            back(map + 1, n, total, ZEROS, NULL, self.shared)
            for c in range(blocks):
                learn(map, n, matrix(h + c * size, self.width), inside + c * size)
                back(map, n, inside + c * size, shared, of_h + c * size, of_h + c * size)
        through_relu(of_h, h, NULL, blocks * size, inside)
        add_blocks(inside, blocks, size, total)
        map = self.map
        for c in range(blocks):
            learn(map, n, matrix(x + c * map.inputs, self.tensor_size), inside + c * size)
        learn(self.map + 1, n, matrix(x + blocks * map.inputs, self.tensor_size), total)


cdef inline Py_ssize_t padded(Py_ssize_t size) noexcept nogil:
    return (size + 15) // 16 * 16


cdef inline Matrix matrix(const float* at, Py_ssize_t row) noexcept nogil:
    return Matrix(at, row, 1)


cdef float* address(tensor, tuple shape) except? NULL:
    if tensor.shape != shape or tensor.dtype is not torch.float32 or not tensor.is_contiguous():
        raise ValueError(
            f"expected contiguous float32 {list(shape)}, got {tensor.dtype} {list(tensor.shape)}"
        )
    return <float*><uintptr_t>tensor.data_ptr()


cdef void apply(
    const Linear* map, Py_ssize_t n, Matrix x, Matrix start, bint relu, const float* added, float* out
) noexcept nogil:
    """added + relu(start + x W), [n, row]."""
    cdef Product p = Product(n, map.row, map.inputs, x, map.weights, start, relu, added, out)
    product(&p)


cdef void back(
    const Linear* map, Py_ssize_t n, const float* g, Matrix start, const float* added, float* out
) noexcept nogil:
    """added + start + g W', [n, padded inputs], for gradients g [n, row] of the outputs."""
    cdef Product p = Product(
        n, padded(map.inputs), map.outputs, matrix(g, map.row), map.transposed, start, 0, added, out
    )
    product(&p)


cdef void learn(const Linear* map, Py_ssize_t n, Matrix x, const float* g) noexcept nogil:
    """Add to the map's gradient that from n rows, of inputs x and gradients g of the outputs."""
    cdef float* bias = map.gradient + map.inputs * map.row
    cdef Product p = Product(
        map.inputs, map.row, n, Matrix(x.at, 1, x.row), g, matrix(map.gradient, map.row), 0, NULL,
        map.gradient,
    )
    product(&p)
    if map.bias is not NULL:
        p = Product(1, map.row, n, Matrix(&ONE, 0, 0), g, matrix(bias, 0), 0, NULL, bias)
        product(&p)


cdef void copy_rows(
    Py_ssize_t n, Py_ssize_t size, const float* source, Py_ssize_t source_row, float* target,
    Py_ssize_t target_row,
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        memcpy(target + i * target_row, source + i * source_row, size * sizeof(float))


cdef void pack(const Linear* map) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef float weight
    for j in range(map.outputs):
        for i in range(map.inputs):
            weight = map.scale * map.outer[j * map.inputs + i]
            map.weights[i * map.row + j] = weight
            map.transposed[j * padded(map.inputs) + i] = weight
    if map.bias is not NULL:
        memcpy(map.bias, map.outer_bias, map.outputs * sizeof(float))


cdef void unpack_gradient(const Linear* map) noexcept nogil:
    cdef Py_ssize_t i, j
    for j in range(map.outputs):
        for i in range(map.inputs):
            map.outer[j * map.inputs + i] = map.scale * map.gradient[i * map.row + j]
    if map.bias is not NULL:
        memcpy(map.outer_bias, map.gradient + map.inputs * map.row, map.outputs * sizeof(float))
