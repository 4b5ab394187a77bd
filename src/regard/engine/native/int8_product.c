/* x @ (int8 matrix * scale): float32 vectors times parameters that stay int8 in memory.
 *
 * A matrix is blocks side by side. A block is stored by inner position, (inner, outputs), or by
 * output, (outputs, inner), and has one scale for each output. A unit of work is a tile of outputs
 * for all rows of x: each output is summed by one unit, in an order that neither the number of rows
 * nor the number of threads changes. Equals x @ dequantised in float32, but for rounding.
 */
#include "int8_product.h"

#include "threads.h"

#if defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

enum {
    TILE = 64,       /* outputs: a cache line of int8 */
    TILES_PER_UNIT = 4,       /* of a unit, where x has few rows */
    SLICE_DEPTH = 16,      /* inner positions multiplied at once, where x has few rows */
    PANEL_DEPTH = 512,     /* inner positions of a copied panel: 32 KB */
    ROW_BLOCKS_PER_COPY = 24,       /* blocks of rows for one copy */
    MIN_PARALLEL_PRODUCTS = 1 << 20, /* below it one thread is done before a second one wakes up */
    ROWS = 6,        /* rows of x that share the conversion of a parameter to float */
#if defined(REGARD_AVX512) || defined(__aarch64__)
    VECTORS = 4 /* ROWS * VECTORS sums and their operands fit 32 registers */
#else
    VECTORS = 2 /* the same with 16 registers */
#endif
};

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
#elif defined(__wasm_simd128__)
    const v128_t words = wasm_i16x8_extend_low_i8x16(wasm_i32x4_splat(packed));
    return (vf)wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(words));
#else
    return (vf){values[0], values[1], values[2], values[3]};
#endif
#endif
}

/* Columns of some inner positions, stride apart. */
typedef struct {
    const int8_t *values;
    int64_t stride, depth;
} Panel;

/* sums[r, :] += x[r, :depth] @ panel, for the VECTORS * LANES columns that panel begins with. */
INLINE void add_products(const float *x, int64_t x_stride, Panel panel, const int rows,
                         float *sums) {
    vf total[ROWS][VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) total[r][v] = load(sums + r * TILE + v * LANES);
    for (int64_t e = 0; e < panel.depth; e++) {
        const int8_t *at = panel.values + e * panel.stride;
        vf value[VECTORS];
        for (int v = 0; v < VECTORS; v++) value[v] = from_int8(at + v * LANES);
        for (int r = 0; r < rows; r++) {
            const float factor = x[r * x_stride + e];
            for (int v = 0; v < VECTORS; v++) total[r][v] += factor * value[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) store(sums + r * TILE + v * LANES, total[r][v]);
}

static void multiply_panel(const float *x, int64_t x_stride, Panel panel, int rows, float *sums) {
    for (int first = 0; first < TILE; first += VECTORS * LANES) {
        float *some = sums + first;
        switch (rows) { /* a constant number of rows lets the sums stay in registers */
        case 1: add_products(x, x_stride, panel, 1, some); break;
        case 2: add_products(x, x_stride, panel, 2, some); break;
        case 3: add_products(x, x_stride, panel, 3, some); break;
        case 4: add_products(x, x_stride, panel, 4, some); break;
        case 5: add_products(x, x_stride, panel, 5, some); break;
        default: add_products(x, x_stride, panel, ROWS, some);
        }
        panel.values += VECTORS * LANES;
    }
}

/* TILE columns of some inner positions without gaps; columns that the matrix lacks are 0. */
static void copy_panel(int8_t *copy, const int8_t *values, int64_t stride, int64_t depth,
                       int64_t columns) {
    if (columns < TILE) memset(copy, 0, TILE * depth);
    for (int64_t e = 0; e < depth; e++)
        if (columns >= TILE)
            memcpy(copy + e * TILE, values + e * stride, TILE);
        else
            memcpy(copy + e * TILE, values + e * stride, columns);
}

static void store_scaled(const Int8Product *call, const Int8Block *block, int64_t row, int rows,
                         int64_t first, const float *sums) {
    const int64_t columns = block->outputs - first < TILE ? block->outputs - first : TILE;
    for (int r = 0; r < rows; r++) {
        float *out = call->out + (row + r) * call->out_stride + block->column + first;
        for (int64_t f = 0; f < columns; f++) out[f] = sums[r * TILE + f] * block->scale[first + f];
    }
}

/* Few rows: the matrix is read once, nearly in the order of memory. */
static void multiply_few_rows(const Int8Product *call, const Int8Block *block, int64_t first) {
    float sums[TILES_PER_UNIT][ROWS * TILE] __attribute__((aligned(64))) = {{0}};
    int8_t copy[SLICE_DEPTH * TILE] __attribute__((aligned(64)));
    const int rows = (int)call->rows;
    const int64_t width = TILES_PER_UNIT * TILE;
    const int64_t end = block->outputs - first < width ? block->outputs : first + width;
    for (int64_t start = 0; start < call->inner; start += SLICE_DEPTH) {
        const int64_t depth = call->inner - start < SLICE_DEPTH ? call->inner - start : SLICE_DEPTH;
        for (int64_t column = first; column < end; column += TILE) {
            Panel panel = {block->values + start * block->stride + column, block->stride, depth};
            if (end - column < TILE) {
                copy_panel(copy, panel.values, panel.stride, depth, end - column);
                panel = (Panel){copy, TILE, depth};
            }
            multiply_panel(call->x + start, call->x_stride, panel, rows,
                           sums[(column - first) / TILE]);
        }
    }
    for (int64_t column = first; column < end; column += TILE)
        store_scaled(call, block, 0, rows, column, sums[(column - first) / TILE]);
}

/* Many rows: a tile of the matrix stays in the cache for all of them. */
static void multiply_many_rows(const Int8Product *call, const Int8Block *block, int64_t first) {
    int8_t copy[PANEL_DEPTH * TILE] __attribute__((aligned(64)));
    float sums[ROW_BLOCKS_PER_COPY][ROWS * TILE] __attribute__((aligned(64)));
    for (int64_t first_row = 0; first_row < call->rows; first_row += ROW_BLOCKS_PER_COPY * ROWS) {
        const int64_t rows = ROW_BLOCKS_PER_COPY * ROWS;
        const int64_t end = call->rows - first_row < rows ? call->rows : first_row + rows;
        memset(sums, 0, sizeof sums);
        for (int64_t start = 0; start < call->inner; start += PANEL_DEPTH) {
            const int64_t depth = call->inner - start < PANEL_DEPTH ? call->inner - start : PANEL_DEPTH;
            const Panel panel = {copy, TILE, depth};
            copy_panel(copy, block->values + start * block->stride + first, block->stride, depth,
                       block->outputs - first);
            for (int64_t row = first_row; row < end; row += ROWS)
                multiply_panel(call->x + row * call->x_stride + start, call->x_stride, panel,
                               end - row < ROWS ? (int)(end - row) : ROWS,
                               sums[(row - first_row) / ROWS]);
        }
        for (int64_t row = first_row; row < end; row += ROWS)
            store_scaled(call, block, row, end - row < ROWS ? (int)(end - row) : ROWS, first,
                         sums[(row - first_row) / ROWS]);
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

/* Outputs of one unit of work. */
static int64_t unit_width(const Int8Product *call, const Int8Block *block) {
    return call->rows <= ROWS && !block->by_output ? TILES_PER_UNIT * TILE : TILE;
}

static int64_t unit_count(const Int8Product *call, const Int8Block *block) {
    const int64_t width = unit_width(call, block);
    return (block->outputs + width - 1) / width;
}

static void multiply_unit(void *context, int64_t unit, int worker) {
    const Int8Product *call = context;
    const Int8Block *block = call->blocks;
    (void)worker;
    for (; unit >= unit_count(call, block); block++) unit -= unit_count(call, block);
    const int64_t first = unit * unit_width(call, block);
    if (block->by_output)
        multiply_by_output(call, block, first);
    else if (call->rows <= ROWS)
        multiply_few_rows(call, block, first);
    else
        multiply_many_rows(call, block, first);
}

int KERNEL(multiply_int8)(const Int8Product *call) {
    int64_t units = 0, outputs = 0;
    for (int64_t i = 0; i < call->count; i++) {
        units += unit_count(call, call->blocks + i);
        outputs += call->blocks[i].outputs;
    }
    const int is_small = call->rows * call->inner * outputs < MIN_PARALLEL_PRODUCTS;
    regard_parallel(multiply_unit, (void *)call, units, is_small ? 1 : (int)call->threads);
    return 0;
}
