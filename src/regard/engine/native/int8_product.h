/* Products with int8 matrices, shared by the kernels of one level. */
#ifndef REGARD_INT8_PRODUCT_H
#define REGARD_INT8_PRODUCT_H

#include "kernels.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

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

/* out = x @ blocks side by side. */
EXPORT int KERNEL(multiply_int8)(const Int8Product *call);

#endif
