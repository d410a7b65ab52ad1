/* The product of products.h with matrices in bfloat16, by Intel's tiles (AMX).

A tile is 16 rows of 64 bytes. The left matrix goes in as [16 rows, 32 of k]; the right one as pairs,
[16 of k / 2, 16 columns] of (b[k][j], b[k + 1][j]); their sums are float32 [16 rows, 16 columns].

A float32 is the sum of three parts in bfloat16, eight bits each. The six largest products of parts
are all but 2^-21 of a product, and sums of them as exact as float32's; infinity becomes NaN. Where
one part is meant to be all, the number is rounded to it. */

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

/* A part of x: what is left when the parts before it have been taken away. Bits beyond it remain. */
TILES_INLINE __m512 part_of(__m512 x, int part) {
    for (; part > 0; part--) {
        const __m512i first = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0xffff0000));
        x = _mm512_sub_ps(x, _mm512_castsi512_ps(first));
    }
    return x;
}

/* The upper halves of low, then of high: the first parts of numbers. */
TILES_INLINE __m512i upper_halves(__m512 low, __m512 high) {
    const __m512i in_order = _mm512_set_epi16(
        63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27, 25, 23, 21, 19, 17,
        15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_epi16(
        _mm512_castps_si512(low), in_order, _mm512_castps_si512(high));
}

/* One of `parts` parts of low, then of high. */
TILES_INLINE __m512i words(__m512 low, __m512 high, int part, int parts) {
    if (parts == 1) return (__m512i)_mm512_cvtne2ps_pbh(high, low);
    return upper_halves(part_of(low, part), part_of(high, part));
}

/* Words in turns: of low[0], high[0], low[1], high[1], ... */
TILES_INLINE __m512i paired(__m512i low_then_high) {
    const __m512i in_turns = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3,
        18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(in_turns, low_then_high);
}

/* The first `valid` of 16 lanes, or fewer, or none. */
INLINE __mmask16 lanes(ptrdiff_t valid) {
    return valid >= 16 ? 0xffff : valid > 0 ? (1 << valid) - 1 : 0;
}

/* Dwords of a tile. */
#define TILE_SIZE 256

/* The pairs of scale * b [k, n] in one part, its rows `row` apart: tiles [n / 16, k / 32]. */
TILES static void pair_rows(
    const float *b, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n, float scale, uint32_t *pairs) {
    const __m512 by = _mm512_set1_ps(scale);
    for (ptrdiff_t j = 0; j < n; j += 16)
        for (ptrdiff_t i = 0; i < k; i += 32, pairs += TILE_SIZE)
            for (ptrdiff_t r = 0; r < 16; r++) {
                const float *at = b + (i + 2 * r) * row + j;
                const __mmask16 valid = lanes(n - j);
                const __m512 low = _mm512_maskz_loadu_ps(i + 2 * r < k ? valid : 0, at);
                const __m512 high = _mm512_maskz_loadu_ps(i + 2 * r + 1 < k ? valid : 0, at + row);
                const __m512i both = words(_mm512_mul_ps(low, by), _mm512_mul_ps(high, by), 0, 1);
                _mm512_storeu_si512(pairs + 16 * r, paired(both));
            }
}

/* A tile for each part of a [rows, columns], its rows `row` apart; beyond them the first again. */
TILES_INLINE void take_rows(
    const float *a, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t columns, const int parts, __m512i *tiles) {
    const __mmask16 first = lanes(columns), second = lanes(columns - 16);
    for (ptrdiff_t r = 0; r < 16; r++) {
        const float *at = a + (r < rows ? r : 0) * row;
        __m512 low = _mm512_maskz_loadu_ps(first, at), high = _mm512_maskz_loadu_ps(second, at + 16);
        UNROLLED for (int part = 0; part < parts; part++) {
            tiles[16 * part + r] = words(low, high, 0, parts);
            if (part + 1 < parts) low = part_of(low, 1), high = part_of(high, 1);
        }
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
        x[r] = paired(words(low, high, 0, 1));
    }
    transpose_dwords(x, tile);
}

/* The pairs of one of several parts of a b that is kept transposed, [n, k]: [n / 16, k / 32, parts]. */
TILES static void pair_columns(
    const float *b, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n, float scale, int part, int parts,
    uint32_t *pairs) {
    const __m512 by = _mm512_set1_ps(scale);
    for (ptrdiff_t j = 0; j < n; j += 16)
        for (ptrdiff_t i = 0; i < k; i += 32, pairs += parts * TILE_SIZE) {
            __m512i x[16], y[16];
            UNROLLED for (int r = 0; r < 16; r++) {
                const float *at = b + (j + r) * row + i;
                const ptrdiff_t valid = j + r < n ? k - i : 0;
                const __m512 low = _mm512_maskz_loadu_ps(lanes(valid), at);
                const __m512 high = _mm512_maskz_loadu_ps(lanes(valid - 16), at + 16);
                x[r] = words(_mm512_mul_ps(low, by), _mm512_mul_ps(high, by), part, parts);
            }
            transpose_dwords(x, y);
            UNROLLED for (int r = 0; r < 16; r++)
                _mm512_storeu_si512(pairs + part * TILE_SIZE + 16 * r, y[r]);
        }
}

/* Which parts of the left and of the right matrix are multiplied: all six of three, the smallest
products first, or the last one. */
static const int PARTS_LEFT[] = {2, 1, 0, 1, 0, 0}, PARTS_RIGHT[] = {0, 1, 2, 0, 1, 0};

/* Go on adding to sums [16 * high, 16 * wide], with high and wide 1 or 2, their rows `row` apart.

On the left and on the right there are `depth` tiles for each part, those of the second 16 rows
`below` the first, and those of the second 16 columns `beside` them. */
TILES_INLINE void add_tiles(
    const int high, const int wide, ptrdiff_t depth, const int parts, const __m512i *left,
    ptrdiff_t below, const uint32_t *pairs, ptrdiff_t beside, float *sums, ptrdiff_t row) {
    float *second = sums + 16 * row;
    _tile_loadd(0, sums, 4 * row);
    if (wide > 1) _tile_loadd(1, sums + 16, 4 * row);
    if (high > 1) _tile_loadd(2, second, 4 * row);
    if (high > 1 && wide > 1) _tile_loadd(3, second + 16, 4 * row);
    for (; depth > 0; depth--, left += 16 * parts, pairs += parts * TILE_SIZE)
        for (int each = parts == 1 ? 5 : 0; each < 6; each++) {
            const __m512i *rows = left + 16 * PARTS_LEFT[each];
            const uint32_t *columns = pairs + PARTS_RIGHT[each] * TILE_SIZE;
            _tile_loadd(4, rows, 64);
            _tile_loadd(6, columns, 64);
            _tile_dpbf16ps(0, 4, 6);
            if (wide > 1) {
                _tile_loadd(7, columns + beside, 64);
                _tile_dpbf16ps(1, 4, 7);
            }
            if (high > 1) {
                _tile_loadd(5, rows + below, 64);
                _tile_dpbf16ps(2, 5, 6);
            }
            if (high > 1 && wide > 1) _tile_dpbf16ps(3, 5, 7);
        }
    _tile_stored(0, sums, 4 * row);
    if (wide > 1) _tile_stored(1, sums + 16, 4 * row);
    if (high > 1) _tile_stored(2, second, 4 * row);
    if (high > 1 && wide > 1) _tile_stored(3, second + 16, 4 * row);
}

/* c from what has been summed up of it: rows from i, so many tiles of columns from j. */
TILES_INLINE void finish(
    const Product p, const int wide, ptrdiff_t i, ptrdiff_t rows, ptrdiff_t j,
    const float sums[][32]) {
    for (ptrdiff_t r = 0; r < rows; r++)
        UNROLLED for (int t = 0; t < wide; t++) {
            const ptrdiff_t column = j + 16 * t, to = (i + r) * p.n + column;
            __m512 sum = _mm512_load_ps(&sums[r][16 * t]);
            if (p.start.at) {
                const float *start = p.start.at + (i + r) * p.start.row + column;
                sum = _mm512_add_ps(sum, _mm512_loadu_ps(start));
            }
            if (p.relu) {
                const __mmask16 passes = _mm512_cmp_ps_mask(sum, _mm512_setzero_ps(), _CMP_NLE_UQ);
                sum = _mm512_maskz_mov_ps(passes, sum);
            }
            if (p.added) sum = _mm512_add_ps(sum, _mm512_loadu_ps(p.added + to));
            _mm512_storeu_ps(p.c + to, sum);
        }
}

/* Tiles of k that are taken at once, before any is multiplied: what was just written is not ready. */
#define DEPTH 32

/* So many tiles of rows from i, columns from `from` to `to`. */
TILES_INLINE void rows_amx(
    const Product p, const int parts, const int high, ptrdiff_t i, ptrdiff_t from, ptrdiff_t to) {
    _Alignas(64) __m512i left[2 * DEPTH * 16 * 3];
    _Alignas(64) float sums[32][32];
    const ptrdiff_t rows = p.m - i < 32 ? p.m - i : 32, slabs = (p.k + 31) / 32;
    const ptrdiff_t below = DEPTH * 16 * parts, beside = slabs * parts * TILE_SIZE;
    for (ptrdiff_t j = from; j < to; j += 32) {
        const int wide = to - j > 16 ? 2 : 1;
        for (int r = 0; r < 32; r++)
            UNROLLED for (int t = 0; t < 32; t += 16)
                _mm512_store_ps(&sums[r][t], _mm512_setzero_ps());
        for (ptrdiff_t k = 0; k < p.k; k += 32 * DEPTH) {
            const ptrdiff_t ahead = p.k - k, depth = ahead < 32 * DEPTH ? (ahead + 31) / 32 : DEPTH;
            const uint32_t *pairs = p.pairs + (j / 16 * slabs + k / 32) * parts * TILE_SIZE;
            if (j == from || p.k > 32 * DEPTH)
                for (int t = 0; t < high; t++)
                    for (ptrdiff_t d = 0; d < depth; d++)
                        take_rows(
                            p.a.at + (i + 16 * t) * p.a.row + k + 32 * d, p.a.row, rows - 16 * t,
                            ahead - 32 * d, parts, left + t * below + 16 * parts * d);
            WRITTEN;
            if (wide > 1) add_tiles(high, 2, depth, parts, left, below, pairs, beside, sums[0], 32);
            else add_tiles(high, 1, depth, parts, left, below, pairs, beside, sums[0], 32);
        }
        if (wide == 2) finish(p, 2, i, rows, j, sums);
        else finish(p, 1, i, rows, j, sums);
    }
}

/* Bytes of the right matrix that are worked through at a time: they stay in a core's own cache. */
#define NEAR (13 << 16)

TILES_INLINE void all_rows_amx(const Product *p, const int parts) {
    const ptrdiff_t size = 2 * parts * TILE_SIZE * sizeof *p->pairs * (p->k / 32 + 1);
    const ptrdiff_t columns = size < NEAR ? NEAR / size * 32 : 32;
    for (ptrdiff_t from = 0, i; from < p->n; from += columns) {
        const ptrdiff_t to = p->n - from < columns ? p->n : from + columns;
        for (i = 0; i + 16 < p->m; i += 32) rows_amx(*p, parts, 2, i, from, to);
        if (i < p->m) rows_amx(*p, parts, 1, i, from, to);
    }
}

TILES static void product_amx(const Product *p) {
    if (p->parts == 1) all_rows_amx(p, 1);
    else all_rows_amx(p, 3);
}

/* c [m, n] += a' b for a [k, m] with rows `a_row` apart and b [k, n]; c has 16 * ceil(m / 16) rows. */
TILES static void add_product_amx(
    ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const float *a, ptrdiff_t a_row, const float *b, float *c) {
    _Alignas(64) uint32_t pairs[2 * TILE_SIZE];
    _Alignas(64) __m512i left[2 * 16];
    for (ptrdiff_t first = 0; first < k; first += 32, a += 32 * a_row, b += 32 * n)
        for (ptrdiff_t j = 0; j < n; j += 32) {
            const int wide = n - j > 16 ? 2 : 1;
            pair_rows(b + j, n, k - first < 32 ? k - first : 32, 16 * wide, 1, pairs);
            for (ptrdiff_t i = 0; i < m; i += 32) {
                const int high = m - i > 16 ? 2 : 1;
                float *out = c + i * n + j;
                for (int t = 0; t < high; t++)
                    take_columns(a + i + 16 * t, a_row, k - first, m - i - 16 * t, left + 16 * t);
                WRITTEN;
                if (high > 1 && wide > 1) add_tiles(2, 2, 1, 1, left, 16, pairs, TILE_SIZE, out, n);
                else if (wide > 1) add_tiles(1, 2, 1, 1, left, 16, pairs, TILE_SIZE, out, n);
                else if (high > 1) add_tiles(2, 1, 1, 1, left, 16, pairs, TILE_SIZE, out, n);
                else add_tiles(1, 1, 1, 1, left, 16, pairs, TILE_SIZE, out, n);
            }
        }
}

#undef TILES
#undef TILES_INLINE
#undef WRITTEN
#undef DEPTH
#undef NEAR
#undef TILE_SIZE
