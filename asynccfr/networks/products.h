/* What narrow networks are made of, on one core: products of float32 matrices, sums and ReLUs.

One build serves every machine of an architecture: products_on.h is compiled for several kinds of
vectors, and a call takes the widest that the machine has. Memory need not be aligned, but rows are
padded to a multiple of 16 floats. */

#include <stddef.h>
#include <stdint.h>

/* Element (i, j) is at[i * row + j * column]. */
typedef struct {
    const float *at;
    ptrdiff_t row, column;
} Matrix;

/* c = added + relu(start + a b): c is [m, n], a [m, k] and b [k, n].

b, c and `added` are contiguous; so are the rows of `start`. `start` and `added` may be NULL, for
zeros, and the ReLU is left out where `relu` is 0. Every element sums its terms in the order of k,
whatever m is: a row's result does not depend on its company. As in torch, NaN passes a ReLU.

With `pairs`, which make_pairs has made of b, one for each of its `parts`, the product is made of those
and a's: of one, both are rounded to bfloat16; three are as exact as float32. n is then a multiple of
16 and a's rows are contiguous. */
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

#if defined(__x86_64__) && defined(__linux__) && (__GNUC__ >= 12 || __clang_major__ >= 16)
#include "products_amx.h"
#else
typedef char Shapes;
static int tiles_allowed(void) { return 0; }
static void begin_tiles(Shapes *callers) { (void)callers; }
static void end_tiles(const Shapes *callers) { (void)callers; }
static void product_amx(const Product *p) { (void)p; }
static void make_pairs(
    const float *b, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n, float scale, int part, int parts,
    uint32_t *pairs) {
    (void)b, (void)row, (void)k, (void)n, (void)scale, (void)part, (void)parts, (void)pairs;
}
static void make_transposed_pairs(
    const float *b, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n, float scale, int part, int parts,
    uint32_t *pairs) {
    (void)b, (void)row, (void)k, (void)n, (void)scale, (void)part, (void)parts, (void)pairs;
}
static void add_product_amx(
    ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const float *a, ptrdiff_t a_row, const float *b, float *c) {
    (void)m, (void)n, (void)k, (void)a, (void)a_row, (void)b, (void)c;
}
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
