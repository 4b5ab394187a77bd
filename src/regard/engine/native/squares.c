/* Squared lengths of rows. */
#include <math.h>

#include "kernels.h"

/* Arguments and results; the order is that of SquaresArguments in library.py. */
typedef struct {
    const float *rows; /* contiguous */
    int64_t number, width;
    double largest, total;
} SquaresArguments;

EXPORT int KERNEL(sum_squares)(SquaresArguments *call) {
    const int64_t width = call->width;
    double total = 0;
    float largest = 0;
    for (int64_t i = 0; i < call->number; i++) {
        const float *row = call->rows + i * width;
        vf sum = {0}, other = {0};
        int64_t d = 0;
        for (; d + 2 * LANES <= width; d += 2 * LANES) {
            const vf x = load(row + d), y = load(row + d + LANES);
            sum += x * x;
            other += y * y;
        }
        float square = add_lanes(sum + other);
        for (; d < width; d++) square += row[d] * row[d];
        largest = square > largest ? square : largest;
        total += (double)square; /* NaN and infinity stay in the sum */
    }
    call->largest = isfinite(total) ? (double)largest : total;
    call->total = total;
    return 0;
}
