/* Sums over the queries of a block: attention received, the map's blocks, sums by distance. */
#ifndef REGARD_COLUMNS_H
#define REGARD_COLUMNS_H

#include "kernels.h"

#define STRIP 8 /* rows that are summed in one pass over their columns */

/* A strip of rows: unnormalised weights, and the factor of each row to its weights. Rows past the
 * last have the factor 0. */
typedef struct {
    const float *row[STRIP];
    float factor[STRIP];
} Strip;

INLINE Strip make_strip(const float *e, int64_t e_row, const float *factor, int64_t rows) {
    Strip strip;
    for (int i = 0; i < STRIP; i++) {
        strip.row[i] = e + (i < rows ? i : 0) * e_row;
        strip.factor[i] = i < rows ? factor[i] : 0;
    }
    return strip;
}

/* Adds the strip's weights to `received`, and writes their sums over each `size` rows (1 to 8) to
 * one row of `summed` each; with `add` they are added to what is there. */
INLINE void sum_strip_by(int size, const Strip *strip, int64_t width, float *received, float *summed,
                         int64_t summed_row, int add) {
    for (int64_t k = 0; k < width; k += LANES) {
        vf all = load(received + k);
#pragma GCC unroll 8
        for (int first = 0; first < STRIP; first += size) {
            vf sum = {0};
#pragma GCC unroll 8
            for (int i = first; i < first + size; i++)
                sum += load(strip->row[i] + k) * splat(strip->factor[i]);
            all += sum;
            if (summed) {
                float *to = summed + first / size * summed_row + k;
                store(to, add ? load(to) + sum : sum);
            }
        }
        store(received + k, all);
    }
}

static void sum_strip(int size, const Strip *strip, int64_t width, float *received, float *summed,
                      int64_t summed_row, int add) {
    switch (summed ? size : 8) {
        case 1: sum_strip_by(1, strip, width, received, summed, summed_row, 0); break;
        case 2: sum_strip_by(2, strip, width, received, summed, summed_row, 0); break;
        case 4: sum_strip_by(4, strip, width, received, summed, summed_row, 0); break;
        default: sum_strip_by(8, strip, width, received, summed, summed_row, add);
    }
}

#if defined(__clang__)
#define HALVES_(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define HALVES_(x, y, ...) __builtin_shuffle(x, y, (vi){__VA_ARGS__})
#endif
#if LANES == 16
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif LANES == 8
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#else
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#endif

/* Sums over blocks of `size` columns, a power of two, in place; `width` is a multiple of both size
 * and 2 LANES, and there is room for 2 LANES more. Returns the number of blocks. */
static int64_t fold(float *x, int64_t width, int64_t size) {
    for (; size > 1; size /= 2, width /= 2) {
        int64_t k = 0;
        for (; k < width; k += 2 * LANES) {
            const vf a = load(x + k), b = load(x + k + LANES);
            store(x + k / 2, HALVES_(a, b, EVEN) + HALVES_(a, b, ODD));
        }
    }
    return width;
}

/* Adds weights to the sum of their distance: column k of row i goes to rows - 1 - i + k. */
static void sum_distances(const float *e, int64_t e_row, const float *factor, int64_t rows,
                          int64_t width, float *distance) {
    for (int64_t i = 0; i < rows; i++) {
        const vf by = splat(factor[i]);
        float *to = distance + rows - 1 - i;
        for (int64_t k = 0; k < width; k += LANES)
            store(to + k, load(to + k) + load(e + i * e_row + k) * by);
    }
}

static void add_to_doubles(double *to, const float *from, int64_t number) {
    for (int64_t i = 0; i < number; i++) to[i] += (double)from[i];
}

#endif
