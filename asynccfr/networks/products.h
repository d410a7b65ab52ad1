/* What narrow networks are made of, on one core: products of float32 matrices, sums and ReLUs.

One build serves every machine of an architecture: products_on.h is compiled for several kinds of
vectors, and a call takes the widest that the machine has. Memory need not be aligned, but rows are
padded to a multiple of 16 floats. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Element (i, j) is at[i * row + j * column]. */
typedef struct {
    const float *at;
    ptrdiff_t row, column;
} Matrix;

/* c = added + relu(start + a b): c is [m, n], a [m, k] and b [k, n].

b, c and `added` are contiguous; so are the rows of `start`. `start` and `added` may be NULL, for
zeros, and the ReLU is left out where `relu` is 0. Every element sums its terms in one order, whatever
m is: a row's result does not depend on its company. As in torch, NaN passes a ReLU.

With `pairs`, which products_amx.h makes of each of b's `parts`, tiles make the product: of one part, in
bfloat16; of three, as exact as in float32. n is then a multiple of 16 and a's rows are contiguous. */
typedef struct {
    ptrdiff_t m, n, k;
    Matrix a;
    const float *b;
    const uint32_t *pairs;
    int parts;
    Matrix start;
    int relu;
    const float *added;
    float *c;
} Product;

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")
#else
#define INLINE static inline
#define UNROLLED
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#define LANES 16
#define WIDEST 4
#define TARGET __attribute__((target("avx512f")))
#define ON(name) name##_avx512
#include "products_on.h"

#define LANES 8
#define WIDEST 2
#define TARGET __attribute__((target("avx2,fma")))
#define ON(name) name##_avx2
#include "products_on.h"

#define CALL(name, ...)                                                          \
    (__builtin_cpu_supports("avx512f") ? name##_avx512(__VA_ARGS__)              \
     : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")           \
         ? name##_avx2(__VA_ARGS__)                                              \
         : name##_plain(__VA_ARGS__))
#else
#define CALL(name, ...) name##_plain(__VA_ARGS__)
#endif

#if !defined(__GNUC__)
#define LANES 1
#define WIDEST 4
#elif defined(__aarch64__)
#define LANES 4
#define WIDEST 4
#else
#define LANES 4
#define WIDEST 2
#endif
#define TARGET
#define ON(name) name##_plain
#include "products_on.h"

#if defined(__x86_64__) && defined(__linux__) && (__GNUC__ >= 12 || __clang_major__ >= 19)
#include "products_amx.h"
#else /* without tiles nothing but the first of these is called */
#define NEVER(name, ...)                                                         \
    static void name(__VA_ARGS__) { abort(); }
typedef char Shapes;
static int tiles_allowed(void) { return 0; }
NEVER(begin_tiles, Shapes *callers)
NEVER(end_tiles, const Shapes *callers)
NEVER(pair_rows, const float *b, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n, float scale, uint32_t *pairs)
NEVER(
    pair_columns, const float *b, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n, float scale, int part,
    int parts, uint32_t *pairs)
NEVER(product_amx, const Product *p)
NEVER(
    add_product_amx, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const float *a, ptrdiff_t a_row,
    const float *b, float *c)
#undef NEVER
#endif

static inline void product(const Product *p) {
    if (p->pairs) product_amx(p);
    else CALL(product, p);
}

/* sum = x[0] + ... + x[blocks - 1], of `size` floats each. */
static inline void add_blocks(const float *x, ptrdiff_t blocks, ptrdiff_t size, float *sum) {
    CALL(add_blocks, x, blocks, size, sum);
}

/* The gradient inside a ReLU, `inside`, for after = before + relu(...); NULL before are zeros.

What rounding has kept from adding anything gets no gradient. */
static inline void through_relu(
    const float *gradient, const float *after, const float *before, ptrdiff_t size, float *inside) {
    CALL(through_relu, gradient, after, before, size, inside);
}
