/* Vectors of one level, as the compiler's vector types: the same source serves every level. */
#ifndef REGARD_KERNELS_H
#define REGARD_KERNELS_H

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define JOIN3_(a, b, c) a##b##c
#define JOIN3(a, b, c) JOIN3_(a, b, c)
/* The name of an exported function at this level: KERNEL(attend) is regard_attend_avx2. */
#define KERNEL(name) JOIN3(regard_##name, _, REGARD_LEVEL)

#if defined(REGARD_AVX512)
#define LANES 16
#elif defined(REGARD_AVX2)
#define LANES 8
#else
#define LANES 4
#endif

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));
/* The same in memory, at any address. */
typedef float vf_memory __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t vi_memory __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE vf load(const float *at) { return *(const vf_memory *)at; }
INLINE void store(float *at, vf x) { *(vf_memory *)at = x; }
INLINE vf splat(float x) { return x - (vf){0}; } /* x - 0 keeps the sign of a zero */
INLINE vi bits(vf x) { return (vi)x; }
INLINE vf floats(vi x) { return (vf)x; }

/* Lane by lane, x where the mask is set and y elsewhere. */
INLINE vf select_lanes(vi mask, vf x, vf y) { return floats((mask & bits(x)) | (~mask & bits(y))); }

INLINE vf vmax(vf x, vf y) {
#if defined(REGARD_AVX512)
    return (vf)_mm512_max_ps((__m512)x, (__m512)y);
#elif defined(REGARD_AVX2)
    return (vf)_mm256_max_ps((__m256)x, (__m256)y);
#elif defined(__x86_64__)
    return (vf)_mm_max_ps((__m128)x, (__m128)y);
#else
    return select_lanes(x > y, x, y);
#endif
}

/* One bit for each lane where x >= y. */
INLINE uint32_t lanes_at_least(vf x, vf y) {
#if defined(REGARD_AVX512)
    return _mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_GE_OQ);
#elif defined(REGARD_AVX2)
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps((__m256)x, (__m256)y, _CMP_GE_OQ));
#elif defined(__x86_64__)
    return (uint32_t)_mm_movemask_ps(_mm_cmpge_ps((__m128)x, (__m128)y));
#else
    const vi mask = x >= y;
    uint32_t set = 0;
    for (int i = 0; i < LANES; i++) set |= (uint32_t)(mask[i] & 1) << i;
    return set;
#endif
}

/* In one fixed order, pairwise. */
INLINE float add_lanes(vf x) {
#if defined(REGARD_AVX512)
    return _mm512_reduce_add_ps((__m512)x);
#elif defined(REGARD_AVX2)
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
#else
    float lane[LANES];
    memcpy(lane, &x, sizeof lane);
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
#endif
}

INLINE float max_lane(vf x) {
#if defined(REGARD_AVX512)
    return _mm512_reduce_max_ps((__m512)x);
#else
    float lane[LANES];
    memcpy(lane, &x, sizeof lane);
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) lane[i] = lane[i] > lane[i + half] ? lane[i] : lane[i + half];
    return lane[0];
#endif
}

#endif
