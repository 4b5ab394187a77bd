/* Queries of the loader: levels that this processor supports, and the checksum of the sources. */
#include <stdint.h>
#include <string.h>

#include "kernels.h"

/* Whether processor and operating system support a level. The compiler's own query asks both. */
EXPORT int regard_supports(const char *level) {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_cpu_init();
    if (!strcmp(level, "baseline")) return 1;
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                     __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
    if (!strcmp(level, "avx2")) return avx2;
    if (!strcmp(level, "avx512"))
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return 0;
#elif defined(__aarch64__)
    return !strcmp(level, "neon");
#elif defined(__wasm_simd128__)
    return !strcmp(level, "simd128");
#else
    return !strcmp(level, "baseline");
#endif
}

EXPORT uint32_t regard_sources(void) { return REGARD_SOURCES; }
