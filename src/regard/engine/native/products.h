/* Small matrix products with the result in registers, and keys packed for them. */
#ifndef REGARD_PRODUCTS_H
#define REGARD_PRODUCTS_H

#include "kernels.h"

/* A product's result is at most MAX_ROWS rows of two vectors: with the operands it fills the
 * registers of the level, and every vector that is loaded serves all rows. */
#if defined(REGARD_AVX512) || defined(REGARD_NEON)
#define MAX_ROWS 8
#else
#define MAX_ROWS 6
#endif
#define PAIR (2 * LANES)

/* c[i, :PAIR] (+)= sum over p of a[i, p] b[p, :PAIR], for a fixed number of rows. */
INLINE void product_rows(int rows, int64_t depth, const float *a, int64_t a_row, const float *b,
                       int64_t b_row, float *c, int64_t c_row, int add) {
    vf first[MAX_ROWS], second[MAX_ROWS];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) first[i] = second[i] = (vf){0};
    for (int64_t p = 0; p < depth; p++) {
        const vf x = load(b + p * b_row), y = load(b + p * b_row + LANES);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const vf factor = splat(a[i * a_row + p]);
            first[i] += factor * x;
            second[i] += factor * y;
        }
    }
    /* What is there is added last: a long sum is one of sums, and its roundings stay few. */
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        float *to = c + i * c_row;
        store(to, add ? load(to) + first[i] : first[i]);
        store(to + LANES, add ? load(to + LANES) + second[i] : second[i]);
    }
}

/* The same for any number of rows up to MAX_ROWS. A function of its own: inside a larger one the
 * steps of the rows would not stay in registers. */
static __attribute__((noinline)) void product(int rows, int64_t depth, const float *a, int64_t a_row,
                                              const float *b, int64_t b_row, float *c, int64_t c_row,
                                              int add) {
#define ROWS(n) \
    case n: product_rows(n, depth, a, a_row, b, b_row, c, c_row, add); break;
    switch (rows) {
        ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6)
#if MAX_ROWS > 6
        ROWS(7) ROWS(8)
#endif
    }
#undef ROWS
}

typedef float v4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t v4i __attribute__((vector_size(16)));
#if defined(__clang__)
#define SHUFFLE4(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#else
#define SHUFFLE4(x, y, a, b, c, d) __builtin_shuffle(x, y, (v4i){a, b, c, d})
#endif

/* Four rows of four numbers, transposed. */
INLINE void transpose4(const float *from, int64_t from_row, float *to, int64_t to_row) {
    const v4 a = *(const v4 *)from, b = *(const v4 *)(from + from_row);
    const v4 c = *(const v4 *)(from + 2 * from_row), d = *(const v4 *)(from + 3 * from_row);
    const v4 ab = SHUFFLE4(a, b, 0, 4, 1, 5), cd = SHUFFLE4(c, d, 0, 4, 1, 5);
    const v4 ab_high = SHUFFLE4(a, b, 2, 6, 3, 7), cd_high = SHUFFLE4(c, d, 2, 6, 3, 7);
    *(v4 *)to = SHUFFLE4(ab, cd, 0, 1, 4, 5);
    *(v4 *)(to + to_row) = SHUFFLE4(ab, cd, 2, 3, 6, 7);
    *(v4 *)(to + 2 * to_row) = SHUFFLE4(ab_high, cd_high, 0, 1, 4, 5);
    *(v4 *)(to + 3 * to_row) = SHUFFLE4(ab_high, cd_high, 2, 3, 6, 7);
}

/* PAIR keys (rows of `width`) become [width][PAIR]; keys past the last are 0. */
INLINE void pack_keys(const float *key, int64_t key_row, int64_t keys, int64_t width, float *packed) {
    if (keys < PAIR) memset(packed, 0, sizeof(float) * (size_t)(width * PAIR));
    int64_t k = 0;
    for (; k + 4 <= PAIR && k + 4 <= keys; k += 4) {
        int64_t d = 0;
        for (; d + 4 <= width; d += 4)
            transpose4(key + k * key_row + d, key_row, packed + d * PAIR + k, PAIR);
        for (; d < width; d++)
            for (int i = 0; i < 4; i++) packed[d * PAIR + k + i] = key[(k + i) * key_row + d];
    }
    for (; k < PAIR && k < keys; k++)
        for (int64_t d = 0; d < width; d++) packed[d * PAIR + k] = key[k * key_row + d];
}

#endif
