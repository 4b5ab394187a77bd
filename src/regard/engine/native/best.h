/* The n largest entries of a row, high to low; among equal ones the first.
 *
 * Columns are divided into at least 2 n groups. If n group maxima reach a bound, at least n entries
 * do, and few more: these candidates are gathered, and each is written at its rank. Entries are not
 * negative, and those that are 0 do not count.
 */
#ifndef REGARD_BEST_H
#define REGARD_BEST_H

#include "kernels.h"

#define MAX_TOP 64
#define MAX_GROUPS (2 * MAX_TOP)
#define MAX_CANDIDATES (3 * MAX_TOP + 4 * 16)
#define CHAINS 4 /* maxima in flight */

/* The largest number that `number` of the values reach; `size` is a multiple of LANES. */
INLINE float reached_by(const float *values, const int size, int number) {
    vf own[MAX_GROUPS / LANES], reached = {0};
    vi above[MAX_GROUPS / LANES];
    for (int i = 0; i < size / LANES; i++) {
        own[i] = load(values + i * LANES);
        above[i] = (vi){0};
    }
    for (int j = 0; j < size; j++)
#pragma GCC unroll 32
        for (int i = 0; i < size / LANES; i++) above[i] -= splat(values[j]) >= own[i];
    for (int i = 0; i < size / LANES; i++)
        reached = vmax(reached, select_lanes(above[i] >= number, own[i], (vf){0}));
    return max_lane(reached);
}

/* A number that at least `number` entries of the row reach, or the smallest one above 0. */
INLINE float group_bound(const float *row, int64_t width, int number, const int groups) {
    float maxima[MAX_GROUPS];
    const int vectors = groups > CHAINS * LANES ? groups / LANES : CHAINS;
    const int step = vectors * LANES;
    vf group[MAX_GROUPS / LANES > CHAINS ? MAX_GROUPS / LANES : CHAINS];
    int64_t k = 0;
    for (int i = 0; i < vectors; i++) group[i] = (vf){0};
    for (; k + step <= width; k += step)
#pragma GCC unroll 32
        for (int i = 0; i < vectors; i++) group[i] = vmax(group[i], load(row + k + i * LANES));
    for (int i = 0; k + LANES <= width; k += LANES, i++) group[i] = vmax(group[i], load(row + k));
    if (k < width) {
        float rest[LANES] = {0};
        memcpy(rest, row + k, sizeof(float) * (size_t)(width - k));
        group[0] = vmax(group[0], load(rest));
    }
    for (int size = vectors; size > groups / LANES; size /= 2)
#pragma GCC unroll 4
        for (int i = 0; i < size / 2; i++) group[i] = vmax(group[i], group[i + size / 2]);
    memcpy(maxima, group, sizeof(float) * (size_t)groups);
    const float reached = reached_by(maxima, groups, number);
    return reached > 0 ? reached : 0x1p-149f;
}

/* Value and column as one whole number: of equal values the first column is the larger. */
INLINE int64_t sort_key(float value, int64_t column) {
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

/* Entries that reach a bound, in the order of their columns; there is room for LANES more. */
typedef struct {
    float value[MAX_CANDIDATES];
    int32_t column[MAX_CANDIDATES];
    int size;
} Candidates;

/* Stops once there are more than `limit`. */
INLINE void gather_reaching(const float *row, int64_t width, float bound, int limit, Candidates *reaching) {
    int size = 0;
    int64_t k = 0;
#if defined(REGARD_AVX512)
    __m512i columns = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (; k + LANES <= width && size <= limit; k += LANES) {
        const __m512 x = _mm512_loadu_ps(row + k);
        const __mmask16 set = _mm512_cmp_ps_mask(x, _mm512_set1_ps(bound), _CMP_GE_OQ);
        /* Compressed in a register: a compressing store takes a hundred cycles on some machines. */
        _mm512_storeu_ps(reaching->value + size, _mm512_maskz_compress_ps(set, x));
        _mm512_storeu_si512(reaching->column + size, _mm512_maskz_compress_epi32(set, columns));
        columns = _mm512_add_epi32(columns, _mm512_set1_epi32(LANES));
        size += __builtin_popcount(set);
    }
#else
    for (; k + LANES <= width && size <= limit; k += LANES)
        for (uint32_t set = lanes_at_least(load(row + k), splat(bound)); set; set &= set - 1) {
            const int64_t column = k + __builtin_ctz(set);
            reaching->value[size] = row[column];
            reaching->column[size++] = (int32_t)column;
        }
#endif
    for (; k < width && size <= limit; k++)
        if (row[k] >= bound) {
            reaching->value[size] = row[k];
            reaching->column[size++] = (int32_t)k;
        }
    reaching->size = size;
}

#define RANKED 2 /* vectors that are ranked at once */

/* Each candidate to its rank: the number of larger ones, and of equal ones before it. */
INLINE void rank(Candidates *reaching, Candidates *best) {
    const int size = best->size = reaching->size;
    vi first_lanes;
    for (int i = 0; i < LANES; i++) first_lanes[i] = i;
    for (int i = size; i % (RANKED * LANES); i++) reaching->value[i] = -1; /* below all others */
    for (int first = 0; first < size; first += RANKED * LANES) {
        vf own[RANKED];
        vi above[RANKED], index[RANKED];
        int32_t ranks[RANKED * LANES];
#pragma GCC unroll 2
        for (int i = 0; i < RANKED; i++) {
            own[i] = load(reaching->value + first + i * LANES);
            index[i] = first_lanes + first + i * LANES;
            above[i] = (vi){0};
        }
        for (int j = 0; j < size; j++) {
            const vf other = splat(reaching->value[j]);
#pragma GCC unroll 2
            for (int i = 0; i < RANKED; i++)
                above[i] -= (other > own[i]) | ((other == own[i]) & (index[i] > j));
        }
        memcpy(ranks, above, sizeof ranks);
        for (int i = 0; i < RANKED * LANES && first + i < size; i++) {
            best->value[ranks[i]] = reaching->value[first + i];
            best->column[ranks[i]] = reaching->column[first + i];
        }
    }
}

/* The best of a row with many equal entries, where too many reach any bound. */
static __attribute__((noinline)) void insert_reaching(const float *row, int64_t width, float bound, int number,
                                                      Candidates *best) {
    int64_t keys[MAX_TOP];
    best->size = 0;
    for (int64_t k = 0; k < width; k++)
        if (row[k] >= bound) insert(sort_key(row[k], k), number, &best->size, keys);
    for (int i = 0; i < best->size; i++) {
        const int32_t ordered = (int32_t)(keys[i] >> 32);
        memcpy(best->value + i, &ordered, sizeof ordered);
        best->column[i] = (int32_t)(UINT32_MAX - (uint32_t)keys[i]);
    }
}

INLINE void top_by_groups(const float *row, int64_t width, int number, const int groups, float *values,
                           int64_t *columns) {
    Candidates reaching, best;
    const float bound = group_bound(row, width, number, groups);
    gather_reaching(row, width, bound, 3 * number, &reaching);
    if (reaching.size <= 3 * number)
        rank(&reaching, &best);
    else
        insert_reaching(row, width, bound, number, &best);
    for (int i = 0; i < number; i++) {
        values[i] = i < best.size ? best.value[i] : 0;
        columns[i] = i < best.size ? best.column[i] : -1;
    }
}

/* Fills values and columns; where fewer entries are above 0 the rest is value 0 and column -1. */
static void top_entries(const float *row, int64_t width, int number, float *values, int64_t *columns) {
    if (number <= 8)
        top_by_groups(row, width, number, 16, values, columns);
    else if (number <= 16)
        top_by_groups(row, width, number, 32, values, columns);
    else
        top_by_groups(row, width, number, MAX_GROUPS, values, columns);
}

#endif
