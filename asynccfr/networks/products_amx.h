/* The product of products.h with its matrices rounded to bfloat16, by Intel's tiles (AMX).

A tile is 16 rows of 64 bytes. The left matrix goes in as [16 rows, 32 of k]; the right one as pairs,
[16 of k / 2, 16 columns] of (b[k][j], b[k + 1][j]); their sums are float32 [16 rows, 16 columns]. */

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILES __attribute__((target("avx512f,avx512bw,avx512bf16,amx-tile,amx-bf16")))
#define TILES_INLINE TILES INLINE

/* GCC does not know how much memory the tiles' instructions read. */
#define WRITTEN __asm__ volatile("" ::: "memory")

/* What tiles look like: kept for the caller while the product's own shapes are set. */
typedef struct {
    uint8_t palette, start, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} Shapes;

/* Whether there are tiles and Linux lets this process have them, for which it must be asked. */
static int tiles_allowed(void) {
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    static int allowed = -1;
    if (allowed < 0)
        allowed = __builtin_cpu_supports("amx-bf16") && __builtin_cpu_supports("avx512bf16") &&
                  syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
    return allowed;
}

TILES static void begin_tiles(Shapes *callers) {
    static const Shapes whole = {
        .palette = 1,
        .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
        .rows = {16, 16, 16, 16, 16, 16, 16, 16},
    };
    _tile_storeconfig(callers);
    _tile_loadconfig(&whole);
}

TILES static void end_tiles(const Shapes *callers) {
    if (callers->palette) _tile_loadconfig(callers);
    else _tile_release();
}

/* Both rounded to bfloat16, taking turns: low[0], high[0], low[1], high[1], ... */
TILES_INLINE __m512i paired(__m512 low, __m512 high) {
    const __m512i in_turns = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3,
        18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(in_turns, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/* The first `valid` of 16 lanes, or fewer, or none. */
INLINE __mmask16 lanes(ptrdiff_t valid) {
    return valid >= 16 ? 0xffff : valid > 0 ? (1 << valid) - 1 : 0;
}

/* The pairs [ceil(k / 32) * 16, columns] of scale * b [k, n], its rows `row` apart, 0 beyond it. */
TILES static void make_pairs(
    const float *b, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n, float scale, ptrdiff_t columns,
    uint32_t *pairs) {
    const __m512 by = _mm512_set1_ps(scale);
    for (ptrdiff_t i = 0; i < (k + 31) / 32 * 32; i += 2, pairs += columns)
        for (ptrdiff_t j = 0; j < n; j += 16) {
            const float *at = b + i * row + j;
            const __mmask16 valid = lanes(n - j);
            const __m512 low = _mm512_maskz_loadu_ps(i < k ? valid : 0, at);
            const __m512 high = _mm512_maskz_loadu_ps(i + 1 < k ? valid : 0, at + row);
            _mm512_storeu_si512(pairs + j, paired(_mm512_mul_ps(low, by), _mm512_mul_ps(high, by)));
        }
}

/* The tile from (i, k) on of a [m, k]; its rows, `row` apart, are repeated beyond m. */
TILES_INLINE void take_rows(
    const float *a, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t columns, __m512i tile[16]) {
    const __mmask16 first = lanes(columns), second = lanes(columns - 16);
    for (ptrdiff_t r = 0; r < 16; r++) {
        const float *at = a + (r < rows ? r : 0) * row;
        const __m512 low = _mm512_maskz_loadu_ps(first, at);
        const __m512 high = _mm512_maskz_loadu_ps(second, at + 16);
        tile[r] = (__m512i)_mm512_cvtne2ps_pbh(high, low);
    }
}

/* Sixteen vectors of dwords transposed, in four steps. */
TILES_INLINE void transpose_dwords(__m512i x[16], __m512i out[16]) {
    __m512i y[16];
    UNROLLED for (int r = 0; r < 16; r += 2) {
        y[r] = _mm512_unpacklo_epi32(x[r], x[r + 1]);
        y[r + 1] = _mm512_unpackhi_epi32(x[r], x[r + 1]);
    }
    UNROLLED for (int r = 0; r < 16; r += 4) {
        x[r] = _mm512_unpacklo_epi64(y[r], y[r + 2]);
        x[r + 1] = _mm512_unpackhi_epi64(y[r], y[r + 2]);
        x[r + 2] = _mm512_unpacklo_epi64(y[r + 1], y[r + 3]);
        x[r + 3] = _mm512_unpackhi_epi64(y[r + 1], y[r + 3]);
    }
    UNROLLED for (int r = 0; r < 4; r++) {
        y[r] = _mm512_shuffle_i32x4(x[r], x[r + 4], 0x88);
        y[r + 4] = _mm512_shuffle_i32x4(x[r], x[r + 4], 0xdd);
        y[r + 8] = _mm512_shuffle_i32x4(x[r + 8], x[r + 12], 0x88);
        y[r + 12] = _mm512_shuffle_i32x4(x[r + 8], x[r + 12], 0xdd);
    }
    UNROLLED for (int r = 0; r < 8; r++) {
        out[r] = _mm512_shuffle_i32x4(y[r], y[r + 8], 0x88);
        out[r + 8] = _mm512_shuffle_i32x4(y[r], y[r + 8], 0xdd);
    }
}

/* The tile of a transposed: pairs of a's rows, of which columns become rows. */
TILES_INLINE void take_columns(
    const float *a, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t columns, __m512i tile[16]) {
    const __mmask16 valid = lanes(columns);
    __m512i x[16];
    UNROLLED for (int r = 0; r < 16; r++) {
        const float *at = a + 2 * r * row;
        const __m512 low = _mm512_maskz_loadu_ps(2 * r < rows ? valid : 0, at);
        const __m512 high = _mm512_maskz_loadu_ps(2 * r + 1 < rows ? valid : 0, at + row);
        x[r] = paired(low, high);
    }
    transpose_dwords(x, tile);
}

/* The same of a b that is kept transposed, [n, k]. */
TILES static void make_transposed_pairs(
    const float *b, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n, float scale, ptrdiff_t columns,
    uint32_t *pairs) {
    const __m512 by = _mm512_set1_ps(scale);
    for (ptrdiff_t i = 0; i < k; i += 32)
        for (ptrdiff_t j = 0; j < n; j += 16) {
            __m512i x[16], y[16];
            UNROLLED for (int r = 0; r < 16; r++) {
                const float *at = b + (j + r) * row + i;
                const ptrdiff_t valid = j + r < n ? k - i : 0;
                const __m512 low = _mm512_maskz_loadu_ps(lanes(valid), at);
                const __m512 high = _mm512_maskz_loadu_ps(lanes(valid - 16), at + 16);
                x[r] = (__m512i)_mm512_cvtne2ps_pbh(_mm512_mul_ps(high, by), _mm512_mul_ps(low, by));
            }
            transpose_dwords(x, y);
            UNROLLED for (int r = 0; r < 16; r++)
                _mm512_storeu_si512(pairs + (i / 2 + r) * columns + j, y[r]);
        }
}

/* Tiles are named by constants: these are done for the first `tiles` of four. */
#define ZERO(t, in) _tile_zero(t)
#define LOAD(t, in) _tile_loadd(t, out + 16 * t, 4 * out_row)
#define ADD(t, in) _tile_loadd(in, right + 16 * t, 4 * row); _tile_dpbf16ps(t, 7, in)
#define STORE(t, in) _tile_stored(t, out + 16 * t, 4 * out_row)
#define FOR_EACH_TILE(DO)                                                        \
    do {                                                                         \
        DO(0, 4);                                                                \
        if (tiles > 1) { DO(1, 5); }                                             \
        if (tiles > 2) { DO(2, 6); }                                             \
        if (tiles > 3) { DO(3, 4); }                                             \
    } while (0)

/* Add up, or go on adding to, out [16, 16 * tiles]: of `depth` tiles on the left, and pairs. */
TILES_INLINE void multiply(
    const __m512i *left, const uint32_t *right, ptrdiff_t row, ptrdiff_t depth, const int tiles,
    const int go_on, float *out, ptrdiff_t out_row) {
    if (go_on) FOR_EACH_TILE(LOAD);
    else FOR_EACH_TILE(ZERO);
    for (; depth > 0; depth--, left += 16, right += 16 * row) {
        _tile_loadd(7, left, 64);
        FOR_EACH_TILE(ADD);
    }
    FOR_EACH_TILE(STORE);
}

/* c from what has been summed up of it: rows from i, so many tiles of columns from j. */
TILES_INLINE void finish(
    const Product p, const int tiles, ptrdiff_t i, ptrdiff_t rows, ptrdiff_t j,
    const float sums[][64], const int relu, const int adds) {
    const int starts = p.start.at != NULL;
    for (ptrdiff_t r = 0; r < rows; r++)
        UNROLLED for (int t = 0; t < tiles; t++) {
            const ptrdiff_t column = j + 16 * t, to = (i + r) * p.n + column;
            __m512 sum = _mm512_load_ps(&sums[r][16 * t]);
            if (starts) {
                const float *start = p.start.at + (i + r) * p.start.row + column;
                sum = _mm512_add_ps(sum, _mm512_loadu_ps(start));
            }
            if (relu) {
                const __mmask16 passes = _mm512_cmp_ps_mask(sum, _mm512_setzero_ps(), _CMP_NLE_UQ);
                sum = _mm512_maskz_mov_ps(passes, sum);
            }
            if (adds) sum = _mm512_add_ps(sum, _mm512_loadu_ps(p.added + to));
            _mm512_storeu_ps(p.c + to, sum);
        }
}

/* Rows and k that are taken at once, so that tiles do not wait for what was just written. */
#define ROWS 64
#define DEPTH 8

/* Every row by so many tiles of columns from j. */
TILES_INLINE void columns_amx(const Product p, const int tiles, ptrdiff_t j) {
    _Alignas(64) float sums[ROWS][64];
    _Alignas(64) __m512i left[ROWS * DEPTH];
    for (ptrdiff_t first = 0; first < p.m; first += ROWS) {
        const ptrdiff_t rows = p.m - first < ROWS ? p.m - first : ROWS;
        for (ptrdiff_t k = 0; k < p.k; k += 32 * DEPTH) {
            const ptrdiff_t left_k = p.k - k, depth = left_k < 32 * DEPTH ? (left_k + 31) / 32 : DEPTH;
            for (ptrdiff_t i = 0; i < rows; i += 16)
                for (ptrdiff_t d = 0; d < depth; d++)
                    take_rows(
                        p.a.at + (first + i) * p.a.row + k + 32 * d, p.a.row, rows - i,
                        left_k - 32 * d, left + i * depth + 16 * d);
            WRITTEN;
            for (ptrdiff_t i = 0; i < rows; i += 16)
                multiply(
                    left + i * depth, p.pairs + k / 2 * p.n + j, p.n, depth, tiles, k > 0, sums[i], 64);
        }
        if (p.relu && p.added) finish(p, tiles, first, rows, j, sums, 1, 1);
        else if (p.relu) finish(p, tiles, first, rows, j, sums, 1, 0);
        else if (p.added) finish(p, tiles, first, rows, j, sums, 0, 1);
        else finish(p, tiles, first, rows, j, sums, 0, 0);
    }
}

TILES static void product_amx(const Product *p) {
    ptrdiff_t j = 0;
    for (; j + 64 <= p->n; j += 64) columns_amx(*p, 4, j);
    for (; j + 32 <= p->n; j += 32) columns_amx(*p, 2, j);
    for (; j < p->n; j += 16) columns_amx(*p, 1, j);
}

/* c [m, n] += a' b for a [k, m] with rows `a_row` apart and b [k, n]; c has 16 * ceil(m / 16) rows. */
TILES static void add_product_amx(
    ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const float *a, ptrdiff_t a_row, const float *b, float *c) {
    _Alignas(64) uint32_t pairs[16 * 64];
    _Alignas(64) __m512i left[16];
    for (ptrdiff_t first = 0; first < k; first += 32, a += 32 * a_row, b += 32 * n)
        for (ptrdiff_t j = 0; j < n; j += 64) {
            const ptrdiff_t columns = n - j < 64 ? n - j : 64;
            make_pairs(b + j, n, k - first < 32 ? k - first : 32, columns, 1, columns, pairs);
            for (ptrdiff_t i = 0; i < m; i += 16) {
                float *out = c + i * n + j;
                take_columns(a + i, a_row, k - first, m - i, left);
                WRITTEN;
                switch (columns / 16) {
                case 4: multiply(left, pairs, columns, 1, 4, 1, out, n); break;
                case 3: multiply(left, pairs, columns, 1, 3, 1, out, n); break;
                case 2: multiply(left, pairs, columns, 1, 2, 1, out, n); break;
                case 1: multiply(left, pairs, columns, 1, 1, 1, out, n); break;
                }
            }
        }
}

#undef TILES
#undef TILES_INLINE
#undef WRITTEN
#undef ZERO
#undef LOAD
#undef ADD
#undef STORE
#undef FOR_EACH_TILE
#undef ROWS
#undef DEPTH
