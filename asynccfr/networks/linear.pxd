"""A linear map on memory of its own, packed for products.h; inline, for kernels to cimport.

Rows of its memory are a multiple of 16 floats long, and what is beyond their end is 0.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memcpy, memset

cdef extern from "products.h" nogil:
    ctypedef struct Matrix:
        const float* at
        Py_ssize_t row, column

    ctypedef struct Product:
        Py_ssize_t m, n, k
        Matrix a
        const float* b
        const uint32_t* pairs
        int parts
        Matrix start
        int relu
        const float* added
        float* c

    ctypedef struct Shapes:
        pass

    bint tiles_allowed()
    void begin_tiles(Shapes* callers)
    void end_tiles(const Shapes* callers)
    void pair_rows(
        const float* b, Py_ssize_t row, Py_ssize_t k, Py_ssize_t n, float scale, uint32_t* pairs
    )
    void pair_columns(
        const float* b, Py_ssize_t row, Py_ssize_t k, Py_ssize_t n, float scale, int part, int parts,
        uint32_t* pairs,
    )
    void product(const Product* p)
    void add_product_amx(
        Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const float* a, Py_ssize_t a_row, const float* b,
        float* c,
    )
    void add_blocks(const float* x, Py_ssize_t blocks, Py_ssize_t size, float* total)
    void through_relu(
        const float* gradient, const float* after, const float* before, Py_ssize_t size, float* inside
    )


cdef struct Linear:
    Py_ssize_t inputs, outputs
    Py_ssize_t row, input_row  # the same, padded
    float scale  # what the weights are multiplied by
    float* weights  # [inputs, row]
    float* bias  # [row]
    float* gradient  # of the weights, without the scale, [input_row, row], then of the bias, [row]
    float* transposed  # weights, [outputs, input_row]
    int parts  # of the weights in bfloat16, for tiles; 0 without: only with one there is a way back
    uint32_t* pairs  # of the weights' parts
    uint32_t* transposed_pairs  # of the transposed weights
    float* outer  # weights or their gradient as torch has them, [outputs, inputs]
    float* outer_bias  # the same of the bias, [outputs]; NULL without


cdef inline Py_ssize_t padded(Py_ssize_t size) noexcept nogil:
    return (size + 15) // 16 * 16


cdef inline Py_ssize_t pairs_size(Py_ssize_t k, Py_ssize_t n) noexcept nogil:
    """Dwords of a part's pairs of a matrix [k, n], n padded: whole tiles of 32 of k."""
    return (k + 31) // 32 * 16 * n


cdef inline const uint32_t* pairs(const Linear* map, const uint32_t* made) noexcept nogil:
    return made if map.parts else NULL


cdef inline void apply(
    const Linear* map, Py_ssize_t n, const float* x, Py_ssize_t x_row, float* out, bint relu=False
) noexcept nogil:
    """out [n, row] = x W + bias for x [n, inputs], its rows `x_row` apart; or the ReLU of it."""
    cdef Matrix bias = Matrix(map.bias, 0, 1)
    cdef Product p = Product(
        n, map.row, map.inputs, Matrix(x, x_row, 1), map.weights, pairs(map, map.pairs), map.parts,
        bias, relu, NULL, out,
    )
    product(&p)


cdef inline void rectify(
    const Linear* map, Py_ssize_t n, const float* x, Py_ssize_t x_row, const float* start,
    const float* added, float* out,
) noexcept nogil:
    """out [n, row] = added + relu(x W + start); `start` and `added` are as `out`, NULL for zeros."""
    cdef Product p = Product(
        n, map.row, map.inputs, Matrix(x, x_row, 1), map.weights,
        pairs(map, map.pairs), map.parts, Matrix(start, map.row, 1), 1, added, out,
    )
    product(&p)


cdef inline void go_back(
    const Linear* map, Py_ssize_t n, const float* g, const float* start, const float* added, float* out
) noexcept nogil:
    """out [n, input_row] = g W' + start + added, for gradients g [n, row] of the outputs."""
    cdef Product p = Product(
        n, map.input_row, map.outputs, Matrix(g, map.row, 1), map.transposed,
        pairs(map, map.transposed_pairs), 1, Matrix(start, map.input_row, 1), 0, added, out,
    )
    product(&p)


cdef inline void learn(
    const Linear* map, Py_ssize_t n, const float* x, Py_ssize_t x_row, const float* g
) noexcept nogil:
    """Add to the gradient what x [n, inputs] and gradients g [n, row] of the outputs say."""
    cdef float one = 1.0
    cdef float* bias = map.gradient + map.input_row * map.row
    cdef Product p
    if map.parts:
        add_product_amx(map.inputs, map.row, n, x, x_row, g, map.gradient)
    else:
        p = Product(
            map.inputs, map.row, n, Matrix(x, 1, x_row), g, NULL, 0, Matrix(map.gradient, map.row, 1), 0,
            NULL, map.gradient,
        )
        product(&p)
    if map.outer_bias is not NULL:
        p = Product(
            1, map.row, n, Matrix(&one, 0, 0), g, NULL, 0, Matrix(bias, map.row, 1), 0, NULL, bias
        )
        product(&p)


cdef inline void transpose(
    Py_ssize_t rows, Py_ssize_t columns, const float* source, Py_ssize_t source_row, float* target,
    Py_ssize_t target_row, float scale,
) noexcept nogil:
    """target [columns, rows] = scale * source', a cache line of the target at a time."""
    cdef Py_ssize_t first, i, j
    for first in range(0, rows, 16):
        for j in range(columns):
            for i in range(first, min(first + 16, rows)):
                target[j * target_row + i] = scale * source[i * source_row + j]


cdef inline void pack(const Linear* map) noexcept nogil:
    """Take the weights and the bias from torch's memory."""
    cdef Py_ssize_t inputs = map.inputs, outputs = map.outputs, row = map.row, i, j
    if map.outer_bias is not NULL:
        memcpy(map.bias, map.outer_bias, outputs * sizeof(float))
    if map.parts:
        for i in range(map.parts):
            pair_columns(map.outer, inputs, inputs, outputs, map.scale, i, map.parts, map.pairs)
        if map.transposed_pairs is not NULL:
            pair_rows(map.outer, inputs, outputs, inputs, map.scale, map.transposed_pairs)
    else:
        transpose(outputs, inputs, map.outer, inputs, map.weights, row, map.scale)
        for i in range(outputs):
            for j in range(inputs):
                map.transposed[i * map.input_row + j] = map.scale * map.outer[i * inputs + j]


cdef inline void forget_gradient(const Linear* map) noexcept nogil:
    memset(map.gradient, 0, (map.input_row + 1) * map.row * sizeof(float))


cdef inline void unpack_gradient(const Linear* map) noexcept nogil:
    """Write the gradients of the weights and the bias into torch's memory."""
    cdef Py_ssize_t inputs = map.inputs, outputs = map.outputs, row = map.row
    transpose(inputs, outputs, map.gradient, row, map.outer, inputs, map.scale)
    if map.outer_bias is not NULL:
        memcpy(map.outer_bias, map.gradient + map.input_row * row, outputs * sizeof(float))
