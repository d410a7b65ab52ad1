/* The operations of products.h on one kind of vectors, which products.h sets before it includes this.

LANES floats make a vector and WIDEST vectors by 6 rows of sums stay in registers; ON(name) is the name
of a function for this kind and TARGET its attribute. */

#if LANES > 1
typedef float ON(Vector) __attribute__((vector_size(4 * LANES)));
typedef int ON(Bits) __attribute__((vector_size(4 * LANES)));
typedef float ON(InMemory) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define UNLESS(condition, x) ((Vector)((ON(Bits))(x) & ~(condition)))
#else
typedef float ON(Vector), ON(InMemory);
#define UNLESS(condition, x) ((condition) ? 0 : (x))
#endif
#define Vector ON(Vector)
#define AT(x) (*(ON(InMemory) *)(x))

/* So many rows from i by so many vectors from j; both constants, that the sums be registers. */
INLINE void ON(part)(const Product *p, const int rows, const int vectors, ptrdiff_t i, ptrdiff_t j) {
    const float *a = p->a.at + i * p->a.row, *b = p->b + j;
    Vector sums[6][4];
    UNROLLED for (int r = 0; r < rows; r++)
        UNROLLED for (int v = 0; v < vectors; v++) {
            const ptrdiff_t from = (i + r) * p->start.row + j + v * LANES;
            sums[r][v] = p->start.at ? (Vector)AT(p->start.at + from) : (Vector){0};
        }
    for (ptrdiff_t k = 0; k < p->k; k++, a += p->a.column, b += p->n)
        UNROLLED for (int r = 0; r < rows; r++)
            UNROLLED for (int v = 0; v < vectors; v++)
                sums[r][v] += a[r * p->a.row] * AT(b + v * LANES);
    UNROLLED for (int r = 0; r < rows; r++)
        UNROLLED for (int v = 0; v < vectors; v++) {
            const ptrdiff_t to = (i + r) * p->n + j + v * LANES;
            Vector sum = p->relu ? UNLESS(sums[r][v] <= 0, sums[r][v]) : sums[r][v];
            if (p->added) sum += AT(p->added + to);
            AT(p->c + to) = sum;
        }
}

INLINE void ON(columns)(const Product *p, const int vectors, ptrdiff_t j) {
    ptrdiff_t i = 0;
    for (; i + 6 <= p->m; i += 6) ON(part)(p, 6, vectors, i, j);
    switch (p->m - i) {
    case 5: ON(part)(p, 5, vectors, i, j); break;
    case 4: ON(part)(p, 4, vectors, i, j); break;
    case 3: ON(part)(p, 3, vectors, i, j); break;
    case 2: ON(part)(p, 2, vectors, i, j); break;
    case 1: ON(part)(p, 1, vectors, i, j); break;
    }
}

TARGET static void ON(product)(const Product *p) {
    ptrdiff_t j = 0;
    for (; j + WIDEST * LANES <= p->n; j += WIDEST * LANES) ON(columns)(p, WIDEST, j);
    for (; j + 2 * LANES <= p->n; j += 2 * LANES) ON(columns)(p, 2, j);
    for (; j < p->n; j += LANES) ON(columns)(p, 1, j);
}

TARGET static void ON(add_blocks)(const float *x, ptrdiff_t blocks, ptrdiff_t size, float *sum) {
    for (ptrdiff_t j = 0; j < size; j += LANES) {
        Vector total = AT(x + j);
        for (ptrdiff_t c = 1; c < blocks; c++) total += AT(x + c * size + j);
        AT(sum + j) = total;
    }
}

TARGET static void ON(through_relu)(
    const float *gradient, const float *after, const float *before, ptrdiff_t size, float *inside) {
    for (ptrdiff_t j = 0; j < size; j += LANES) {
        const Vector least = before ? (Vector)AT(before + j) : (Vector){0};
        AT(inside + j) = UNLESS(AT(after + j) <= least, AT(gradient + j));
    }
}

#undef Vector
#undef AT
#undef UNLESS
#undef LANES
#undef WIDEST
#undef TARGET
#undef ON
