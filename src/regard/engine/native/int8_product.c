/* x @ (int8 matrix * scale): float32 vectors times parameters that stay int8 in memory.
 *
 * A matrix is blocks side by side. A block is stored by inner position, (inner, outputs), or by
 * output, (outputs, inner), and has one scale for each output. A unit of work is a tile of outputs
 * for all rows of x: each output is summed by one unit, in an order that neither the number of rows
 * nor the number of threads changes. Equals x @ dequantised in float32, but for rounding.
 */
#include "kernels.h"
#include "threads.h"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

enum {
    TILE = 64,   /* outputs of a unit: a cache line of int8 */
    DEPTH = 512, /* inner positions of a panel: 32 KB of int8 */
    ROWS = 6,    /* rows of x that share the conversion of a parameter to float */
#if defined(REGARD_AVX512) || defined(__aarch64__)
    VECTORS = 4 /* ROWS * VECTORS sums and their operands fit 32 registers */
#else
    VECTORS = 2 /* the same with 16 registers */
#endif
};

typedef struct {
    const int8_t *values;
    const float *scale;
    int64_t outputs;
    int64_t stride; /* from one inner position, or by output from one output, to the next */
    int64_t by_output;
    int64_t column; /* of out, for the first output */
} Int8Block;

typedef struct {
    const float *x; /* (rows, inner), x_stride apart */
    float *out;     /* (rows, all outputs), out_stride apart */
    const Int8Block *blocks;
    int64_t rows, inner, x_stride, out_stride, count, threads;
} Int8Product;

/* LANES parameters as float. Compilers that are left to it widen bytes six times as slowly. */
INLINE vf from_int8(const int8_t *values) {
#if defined(REGARD_AVX512)
    return (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)values)));
#elif defined(REGARD_AVX2)
    return (vf)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)values)));
#else
    int32_t packed;
    memcpy(&packed, values, sizeof packed);
#if defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128(), bytes = _mm_cvtsi32_si128(packed);
    const __m128i highest = _mm_unpacklo_epi16(zero, _mm_unpacklo_epi8(zero, bytes));
    return (vf)_mm_cvtepi32_ps(_mm_srai_epi32(highest, 24));
#elif defined(__ARM_NEON)
    const int8x8_t bytes = vreinterpret_s8_s32(vdup_n_s32(packed));
    return (vf)vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes))));
#else
    return (vf){values[0], values[1], values[2], values[3]};
#endif
#endif
}

/* The sum of all lanes, by halves. */
INLINE float sum_lanes(vf x) {
    typedef float vf4 __attribute__((vector_size(16)));
#if defined(REGARD_AVX512)
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256((__m512)x),
                                       _mm512_extractf32x8_ps((__m512)x, 1));
#elif defined(REGARD_AVX2)
    const __m256 eight = (__m256)x;
#endif
#if defined(REGARD_AVX512) || defined(REGARD_AVX2)
    const vf4 four =
        (vf4)_mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
#else
    const vf4 four = x;
#endif
    return (four[0] + four[2]) + (four[1] + four[3]);
}

/* sums[r, :] += x[r, :depth] @ panel, for the VECTORS * LANES columns that panel begins with. */
INLINE void add_products(const float *x, int64_t x_stride, const int8_t *panel, int64_t depth,
                         const int rows, float *sums) {
    vf total[ROWS][VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) total[r][v] = load(sums + r * TILE + v * LANES);
    for (int64_t e = 0; e < depth; e++) {
        vf value[VECTORS];
        for (int v = 0; v < VECTORS; v++) value[v] = from_int8(panel + e * TILE + v * LANES);
        for (int r = 0; r < rows; r++) {
            const float factor = x[r * x_stride + e];
            for (int v = 0; v < VECTORS; v++) total[r][v] += factor * value[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) store(sums + r * TILE + v * LANES, total[r][v]);
}

static void multiply_panel(const float *x, int64_t x_stride, const int8_t *panel, int64_t depth,
                           int rows, float *sums) {
    for (int first = 0; first < TILE; first += VECTORS * LANES) {
        const int8_t *columns = panel + first;
        float *some = sums + first;
        switch (rows) { /* a constant number of rows lets the sums stay in registers */
        case 1: add_products(x, x_stride, columns, depth, 1, some); break;
        case 2: add_products(x, x_stride, columns, depth, 2, some); break;
        case 3: add_products(x, x_stride, columns, depth, 3, some); break;
        case 4: add_products(x, x_stride, columns, depth, 4, some); break;
        case 5: add_products(x, x_stride, columns, depth, 5, some); break;
        default: add_products(x, x_stride, columns, depth, ROWS, some);
        }
    }
}

/* TILE columns of some inner positions below each other; columns that the matrix lacks are 0. */
static void copy_panel(int8_t *panel, const int8_t *values, int64_t stride, int64_t depth,
                       int64_t columns) {
    if (columns < TILE) memset(panel, 0, TILE * depth);
    for (int64_t e = 0; e < depth; e++) {
        __builtin_prefetch(values + (e + 24 < depth ? e + 24 : e) * stride);
        if (columns == TILE)
            memcpy(panel + e * TILE, values + e * stride, TILE);
        else
            memcpy(panel + e * TILE, values + e * stride, columns);
    }
}

static void multiply_by_inner(const Int8Product *call, const Int8Block *block, int64_t first) {
    int8_t panel[DEPTH * TILE] __attribute__((aligned(64)));
    const int64_t columns = block->outputs - first < TILE ? block->outputs - first : TILE;
    const int64_t stride = call->out_stride;
    for (int64_t start = 0; start < call->inner; start += DEPTH) {
        const int64_t depth = call->inner - start < DEPTH ? call->inner - start : DEPTH;
        const int is_last = start + depth == call->inner;
        copy_panel(panel, block->values + start * block->stride + first, block->stride, depth,
                   columns);
        for (int64_t row = 0; row < call->rows; row += ROWS) {
            float sums[ROWS * TILE] __attribute__((aligned(64))) = {0};
            const int rows = call->rows - row < ROWS ? (int)(call->rows - row) : ROWS;
            float *out = call->out + row * stride + block->column + first;
            for (int r = 0; start && r < rows; r++)
                memcpy(sums + r * TILE, out + r * stride, columns * sizeof *out);
            multiply_panel(call->x + row * call->x_stride + start, call->x_stride, panel, depth,
                           rows, sums);
            for (int r = 0; r < rows; r++)
                for (int64_t f = 0; f < columns; f++)
                    out[r * stride + f] =
                        is_last ? sums[r * TILE + f] * block->scale[first + f] : sums[r * TILE + f];
        }
    }
}

/* Dot products of some rows of x with VECTORS outputs, or with as many as the block still has. */
INLINE void dot_products(const Int8Product *call, const Int8Block *block, int64_t row,
                         const int rows, int64_t output) {
    vf total[ROWS][VECTORS] = {{{0}}};
    const float *x = call->x + row * call->x_stride;
    const int8_t *values[VECTORS];
    for (int v = 0; v < VECTORS; v++)
        values[v] = block->values +
                    (output + v < block->outputs ? output + v : block->outputs - 1) * block->stride;
    int64_t e = 0;
    for (; e + LANES <= call->inner; e += LANES) {
        vf value[VECTORS];
        for (int v = 0; v < VECTORS; v++) value[v] = from_int8(values[v] + e);
        for (int r = 0; r < rows; r++) {
            const vf factors = load(x + r * call->x_stride + e);
            for (int v = 0; v < VECTORS; v++) total[r][v] += factors * value[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS && output + v < block->outputs; v++) {
            float sum = sum_lanes(total[r][v]);
            for (int64_t i = e; i < call->inner; i++)
                sum += x[r * call->x_stride + i] * (float)values[v][i];
            call->out[(row + r) * call->out_stride + block->column + output + v] =
                sum * block->scale[output + v];
        }
}

static void multiply_by_output(const Int8Product *call, const Int8Block *block, int64_t first) {
    const int64_t end = block->outputs - first < TILE ? block->outputs : first + TILE;
    for (int64_t row = 0; row < call->rows; row += ROWS) {
        const int64_t rows = call->rows - row;
        for (int64_t output = first; output < end; output += VECTORS) switch (rows) {
            case 1: dot_products(call, block, row, 1, output); break;
            case 2: dot_products(call, block, row, 2, output); break;
            case 3: dot_products(call, block, row, 3, output); break;
            case 4: dot_products(call, block, row, 4, output); break;
            case 5: dot_products(call, block, row, 5, output); break;
            default: dot_products(call, block, row, ROWS, output);
            }
    }
}

static int64_t tiles_of(const Int8Block *block) { return (block->outputs + TILE - 1) / TILE; }

static void multiply_tile(void *context, int64_t unit, int worker) {
    const Int8Product *call = context;
    const Int8Block *block = call->blocks;
    (void)worker;
    for (; unit >= tiles_of(block); block++) unit -= tiles_of(block);
    if (block->by_output)
        multiply_by_output(call, block, unit * TILE);
    else
        multiply_by_inner(call, block, unit * TILE);
}

EXPORT int KERNEL(multiply_int8)(Int8Product *call) {
    int64_t units = 0;
    for (int64_t i = 0; i < call->count; i++) units += tiles_of(call->blocks + i);
    regard_parallel(multiply_tile, call, units, (int)call->threads);
    return 0;
}
