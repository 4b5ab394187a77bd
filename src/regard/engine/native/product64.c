/* x @ w in float64, where NumPy has no BLAS: one sum for each output, in the order of the inner axis. */
#include "kernels.h"

typedef double vd __attribute__((vector_size(16)));
typedef double vd_memory __attribute__((vector_size(16), aligned(8), may_alias));

/* The order is that of Product64Arguments in float64_product.py. */
typedef struct {
    const double *x, *w; /* (rows, inner) and (inner, outputs), contiguous */
    double *out;         /* (rows, outputs) */
    int64_t rows, inner, outputs;
} Product64;

enum { PRODUCT_ROWS = 4, PRODUCT_VECTORS = 3 }; /* their sums and operands fit 16 registers */

INLINE void multiply_tile(const Product64 *call, int64_t row, const int rows, int64_t column) {
    vd total[PRODUCT_ROWS][PRODUCT_VECTORS] = {{{0}}};
    for (int64_t e = 0; e < call->inner; e++) {
        const double *w = call->w + e * call->outputs + column;
        vd value[PRODUCT_VECTORS];
        for (int v = 0; v < PRODUCT_VECTORS; v++) value[v] = *(const vd_memory *)(w + 2 * v);
        for (int r = 0; r < rows; r++) {
            const double x = call->x[(row + r) * call->inner + e];
            for (int v = 0; v < PRODUCT_VECTORS; v++) total[r][v] += x * value[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < PRODUCT_VECTORS; v++)
            *(vd_memory *)(call->out + (row + r) * call->outputs + column + 2 * v) = total[r][v];
}

EXPORT int KERNEL(multiply_float64)(const Product64 *call) {
    int64_t column = 0;
    for (; column + 2 * PRODUCT_VECTORS <= call->outputs; column += 2 * PRODUCT_VECTORS)
        for (int64_t row = 0; row < call->rows; row += PRODUCT_ROWS) switch (call->rows - row) {
            case 1: multiply_tile(call, row, 1, column); break;
            case 2: multiply_tile(call, row, 2, column); break;
            case 3: multiply_tile(call, row, 3, column); break;
            default: multiply_tile(call, row, PRODUCT_ROWS, column);
            }
    for (; column < call->outputs; column++)
        for (int64_t row = 0; row < call->rows; row++) {
            double total = 0;
            for (int64_t e = 0; e < call->inner; e++)
                total += call->x[row * call->inner + e] * call->w[e * call->outputs + column];
            call->out[row * call->outputs + column] = total;
        }
    return 0;
}
