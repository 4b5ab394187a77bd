/* Elementary functions of vectors, and the softmax's sums over a row. */
#ifndef REGARD_EXPONENTIAL_H
#define REGARD_EXPONENTIAL_H

#include "kernels.h"

#define LOG2_E 1.4426950408889634
#define FLOOR (-0x1p100f) /* a score below every possible one; finite: no arithmetic makes NaN */
#define LOWEST_EXPONENT (-125.0f)

/* 2^t with a relative error below 1e-7 for t up to 120; 0 below 2^-125, where floats thin out.
 * t = n + f, n whole: the polynomial gives 2^f, and n is added to its exponent. */
INLINE vf vexp2(vf t) {
    const vf lowest = splat(LOWEST_EXPONENT), magic = splat(0x1.8p23f);
    const vf x = vmax(t, lowest);
    const vf whole = x + magic; /* the last bits of the sum are n */
    const vf f = x - (whole - magic);
    vf p = splat(1.5353362e-4f) * f + splat(1.3398875e-3f);
    p = p * f + splat(9.6184369e-3f);
    p = p * f + splat(5.5503324e-2f);
    p = p * f + splat(2.4022648e-1f);
    p = p * f + splat(6.9314718e-1f);
    p = p * f + splat(1.0f);
    const vi e = bits(p) + (bits(whole) << 23);
    return floats(e & (t > lowest));
}

/* tanh x: an odd polynomial up to 1, where 1 - 2 / (e^2x + 1) would cancel. */
INLINE vf vtanh(vf x) {
    const vf y = x * x;
    vf p = splat(-3.5845154e-4f) * y + splat(2.3013630e-3f);
    p = p * y + splat(-7.9461047e-3f);
    p = p * y + splat(2.1486657e-2f);
    p = p * y + splat(-5.3879801e-2f);
    p = p * y + splat(1.3332345e-1f);
    p = p * y + splat(-3.3333296e-1f);
    const vf near = x + x * y * p;
    const vi sign = bits(x) & (INT32_MIN + (vi){0});
    const vf size = floats(bits(x) ^ sign);
    const vf limited = select_lanes(size < splat(20.0f), size, splat(20.0f));
    const vf e = vexp2(limited * splat((float)(2 * LOG2_E)));
    const vf far = floats(bits(splat(1.0f) - splat(2.0f) / (e + splat(1.0f))) | sign);
    return select_lanes(size < splat(1.0f), near, far);
}

INLINE float row_max(const float *x, int64_t width) {
    vf maximum = load(x), other = maximum;
    int64_t i = LANES;
    for (; i + LANES < width; i += 2 * LANES) {
        maximum = vmax(maximum, load(x + i));
        other = vmax(other, load(x + i + LANES));
    }
    if (i < width) maximum = vmax(maximum, load(x + i));
    return max_lane(vmax(maximum, other));
}

/* Scores of a row become e = 2^(unit (t - shift)), in place; their sum, and the sum of each times
 * its exponent. Capped scores come in units of their cap: next to the maximum t - shift is exact,
 * where a product with the cap, rounded before, would not be. */
INLINE void exponentials(float *t, int64_t width, float shift, float unit, int entropy, double *total,
                         double *moment) {
    /* Below the lowest exponent e is 0, and a hidden score times a large unit may be -inf. */
    const vf by = splat(shift), times = splat(unit), lowest = splat(LOWEST_EXPONENT);
    vf sum = {0}, other = {0}, weighted = {0}, other_weighted = {0};
    int64_t i = 0;
    for (; i + LANES < width; i += 2 * LANES) {
        const vf x = (load(t + i) - by) * times, y = (load(t + i + LANES) - by) * times;
        const vf e = vexp2(x), f = vexp2(y);
        store(t + i, e);
        store(t + i + LANES, f);
        sum += e;
        other += f;
        if (entropy) {
            weighted += e * vmax(x, lowest);
            other_weighted += f * vmax(y, lowest);
        }
    }
    if (i < width) {
        const vf x = (load(t + i) - by) * times, e = vexp2(x);
        store(t + i, e);
        sum += e;
        if (entropy) weighted += e * vmax(x, lowest);
    }
    *total += (double)add_lanes(sum + other);
    if (entropy) *moment += (double)add_lanes(weighted + other_weighted);
}

#endif
