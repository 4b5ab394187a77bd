/* The largest entries of a row, high to low; of equal ones the first.
 *
 * Columns are taken together in groups, at least twice as many as entries are asked for. A number
 * that so many group maxima reach is reached by as many entries, and by few more: these are
 * gathered, and each goes to its rank. Entries are 0 or more, and those that are 0 do not count.
 */
#ifndef REGARD_BEST_H
#define REGARD_BEST_H

#include "kernels.h"

#define MOST_BEST 64
#define MOST_GROUPS (2 * MOST_BEST)
#define CANDIDATES (3 * MOST_BEST + 3 * 16)
#define CHAINS 4 /* maxima in flight */

/* The largest number that `number` of the values reach. */
INLINE float reached_by(const float *values, int size, int number) {
    float reached = 0;
    for (int i = 0; i < size; i++) {
        int above = 0;
        for (int j = 0; j < size; j += LANES)
            above += __builtin_popcount(lanes_at_least(load(values + j), spread(values[i])));
        reached = above >= number && values[i] > reached ? values[i] : reached;
    }
    return reached;
}

/* A number that at least `number` entries of the row reach, or the smallest one above 0. */
INLINE float bound_of(const float *row, int64_t width, int number, const int groups) {
    float most[MOST_GROUPS > CHAINS * LANES ? MOST_GROUPS : CHAINS * LANES];
    const int vectors = groups > CHAINS * LANES ? groups / LANES : CHAINS;
    const int step = vectors * LANES;
    vf group[MOST_GROUPS / LANES > CHAINS ? MOST_GROUPS / LANES : CHAINS];
    int64_t k = 0;
    for (int i = 0; i < vectors; i++) group[i] = (vf){0};
    for (; k + step <= width; k += step)
#pragma GCC unroll 32
        for (int i = 0; i < vectors; i++) group[i] = larger(group[i], load(row + k + i * LANES));
    for (int i = 0; k + LANES <= width; k += LANES, i++) group[i] = larger(group[i], load(row + k));
    if (k < width) {
        float rest[LANES] = {0};
        memcpy(rest, row + k, sizeof(float) * (size_t)(width - k));
        group[0] = larger(group[0], load(rest));
    }
    memcpy(most, group, sizeof(vf) * (size_t)vectors);
    for (int size = step; size > groups; size /= 2)
        for (int i = 0; i < size / 2; i++)
            most[i] = most[i] > most[i + size / 2] ? most[i] : most[i + size / 2];
    const float reached = reached_by(most, groups, number);
    return reached > 0 ? reached : 0x1p-149f;
}

/* Value and column as one whole number: of equal values the first column is the larger. */
INLINE int64_t key_of(float value, int64_t column) {
    int32_t ordered; /* the bits of floats from 0 up are in their order */
    memcpy(&ordered, &value, sizeof ordered);
    return ((int64_t)ordered << 32) | (UINT32_MAX - (uint32_t)column);
}

/* Into a list of the best so far, for rows where too many entries reach the bound. */
INLINE void insert(int64_t key, int number, int *size, int64_t *best) {
    if (*size == number && key <= best[number - 1]) return;
    int at = *size < number ? (*size)++ : number - 1;
    for (; at > 0 && best[at - 1] < key; at--) best[at] = best[at - 1];
    best[at] = key;
}

/* Entries that reach the bound, as keys, in the order of the columns; their number, which stops
 * above `most`. There is room for LANES more. */
INLINE int gather_reaching(const float *row, int64_t width, float bound, int most, int64_t *keys) {
    int size = 0;
    int64_t k = 0;
    for (; k + LANES <= width && size <= most; k += LANES)
        for (uint32_t set = lanes_at_least(load(row + k), spread(bound)); set; set &= set - 1) {
            const int64_t column = k + __builtin_ctz(set);
            keys[size++] = key_of(row[column], column);
        }
    for (; k < width && size <= most; k++)
        if (row[k] >= bound) keys[size++] = key_of(row[k], k);
    return size;
}

typedef int64_t vl __attribute__((vector_size(4 * LANES)));
typedef int64_t vl_memory __attribute__((vector_size(4 * LANES), aligned(8), may_alias));
#define RANKED 16 /* keys that are ranked at once */
#define RANK_VECTORS (RANKED * 2 / LANES)

/* Each key to its rank: the number of larger ones. No two are equal. */
INLINE void rank(int64_t *keys, int size, int number, int64_t *best) {
    for (int i = size; i % RANKED; i++) keys[i] = -1; /* below all others */
    for (int first = 0; first < size; first += RANKED) {
        vl own[RANK_VECTORS], above[RANK_VECTORS];
        int64_t ranks[RANKED];
#pragma GCC unroll 8
        for (int i = 0; i < RANK_VECTORS; i++) {
            own[i] = *(const vl_memory *)(keys + first + i * LANES / 2);
            above[i] = (vl){0};
        }
        for (int j = 0; j < size; j++)
#pragma GCC unroll 8
            for (int i = 0; i < RANK_VECTORS; i++) above[i] -= keys[j] > own[i];
        memcpy(ranks, above, sizeof ranks);
        for (int i = 0; i < RANKED && first + i < size; i++)
            if (ranks[i] < number) best[ranks[i]] = keys[first + i];
    }
}

INLINE void best_of_groups(const float *row, int64_t width, int number, const int groups, float *values,
                           int64_t *columns) {
    int64_t keys[CANDIDATES], best[MOST_BEST];
    const float bound = bound_of(row, width, number, groups);
    int size = gather_reaching(row, width, bound, 3 * number, keys);
    if (size <= 3 * number) {
        rank(keys, size, number, best);
        size = size < number ? size : number;
    } else {
        size = 0;
        for (int64_t k = 0; k < width; k++)
            if (row[k] >= bound) insert(key_of(row[k], k), number, &size, best);
    }
    for (int i = 0; i < number; i++) {
        const int32_t ordered = i < size ? (int32_t)(best[i] >> 32) : 0;
        memcpy(values + i, &ordered, sizeof ordered);
        columns[i] = i < size ? (int64_t)(UINT32_MAX - (uint32_t)best[i]) : -1;
    }
}

/* Fills values and columns; where fewer entries are above 0 the rest is value 0 and column -1. */
static void best_of(const float *row, int64_t width, int number, float *values, int64_t *columns) {
    if (number <= 8)
        best_of_groups(row, width, number, 16, values, columns);
    else if (number <= 16)
        best_of_groups(row, width, number, 32, values, columns);
    else
        best_of_groups(row, width, number, MOST_GROUPS, values, columns);
}

#endif
