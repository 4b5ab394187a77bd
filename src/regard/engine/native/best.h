/* The largest entries of a row, high to low; of equal ones the first. */
#ifndef REGARD_BEST_H
#define REGARD_BEST_H

#include "kernels.h"

#define GROUPS 64 /* columns taken together modulo this many: as many can be asked for at most */
#define GROUP_VECTORS (GROUPS / LANES)

/* A number that at least `number` of the entries reach: the maxima of groups of columns do. */
INLINE float reached_by(const float *row, int64_t width, int number) {
    float most[GROUPS];
    vf group[GROUP_VECTORS];
    int64_t k = 0;
#pragma GCC unroll 16
    for (int i = 0; i < GROUP_VECTORS; i++) group[i] = spread(-1.0f);
    for (; k + GROUPS <= width; k += GROUPS)
#pragma GCC unroll 16
        for (int i = 0; i < GROUP_VECTORS; i++) group[i] = larger(group[i], load(row + k + i * LANES));
    memcpy(most, group, sizeof most);
    for (int i = 0; k < width; k++, i++) most[i] = row[k] > most[i] ? row[k] : most[i];
    memcpy(group, most, sizeof most);
    float reached = -1.0f;
    for (int n = 0; n < number; n++) {
        vf high = group[0];
        for (int i = 1; i < GROUP_VECTORS; i++) high = larger(high, group[i]);
        reached = largest_lane(high);
        if (reached < 0) break;
        /* Equal maxima fall together: the bound is then lower than it might be, never too high. */
        for (int i = 0; i < GROUP_VECTORS; i++)
            group[i] = choose(group[i] < spread(reached), group[i], spread(-1.0f));
    }
    return reached;
}

/* Entries are 0 or more. Fills values and columns; entries that are 0 become value 0, column -1. */
INLINE void best_of(const float *row, int64_t width, int number, float *values, int64_t *columns) {
    int size = 0;
    const float bound = reached_by(row, width, number);
    float worst = bound > 0 ? bound : 0x1p-149f;
    for (int64_t k = 0; k < width; k += LANES) {
        uint32_t set;
        float lane[LANES];
        const int partial = k + LANES > width;
        if (partial) {
            memset(lane, 0, sizeof lane);
            memcpy(lane, row + k, sizeof(float) * (size_t)(width - k));
            set = lanes_at_least(load(lane), spread(worst));
        } else
            set = lanes_at_least(load(row + k), spread(worst));
        for (; set; set &= set - 1) {
            const int64_t column = k + __builtin_ctz(set);
            const float value = row[column];
            if (size == number && value <= values[size - 1]) continue;
            int at = size < number ? size++ : size - 1;
            for (; at > 0 && values[at - 1] < value; at--) {
                values[at] = values[at - 1];
                columns[at] = columns[at - 1];
            }
            values[at] = value;
            columns[at] = column;
        }
        if (size == number && values[size - 1] > worst) worst = values[size - 1];
    }
    for (; size < number; size++) {
        values[size] = 0;
        columns[size] = -1;
    }
}

#endif
