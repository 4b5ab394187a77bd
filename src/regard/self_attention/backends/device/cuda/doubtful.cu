// A query with too many candidates for best.cu, which takes many equal ones: THREADS threads look at
// every key it sees.

struct Doubtful {
    const void *query_hqd, *key_gkd;
    const float* minus_hq;
    float* weights_hqn;
    long long* keys_hqn;
    const int* doubt;
    const int* number;
    int queries, keys, group, right;
    float factor;
};

static_assert(sizeof(Doubtful) == DOUBTFUL, "the host has other sizes");

__device__ __forceinline__ float two_products(u32 a, u32 b, float sum) {
    float a0, a1, b0, b1;
    if (BF16) {
        a0 = __uint_as_float(a << 16), a1 = __uint_as_float(a & 0xFFFF0000u);
        b0 = __uint_as_float(b << 16), b1 = __uint_as_float(b & 0xFFFF0000u);
    } else {
        asm("{\n.reg .b16 x, y;\nmov.b32 {x, y}, %4;\ncvt.f32.f16 %0, x;\ncvt.f32.f16 %1, y;\n"
            "mov.b32 {x, y}, %5;\ncvt.f32.f16 %2, x;\ncvt.f32.f16 %3, y;\n}"
            : "=f"(a0), "=f"(a1), "=f"(b0), "=f"(b1) : "r"(a), "r"(b));
    }
    return fmaf(a1, b1, fmaf(a0, b0, sum));
}

// The products of a query with THREADS keys from `first` on, side by side in shared memory: as many
// lanes to a key as it has 16 bytes.
__device__ __forceinline__ void all_products(const uint4* query, const uint4* keys, int first, int end,
                                             float* products) {
    constexpr int LANES = WIDTH / 8, TOGETHER = 32 / LANES;
    int lane = threadIdx.x % 32, part = lane % LANES;
    uint4 a = __ldg(query + part);
    __syncthreads();  // whoever still reads the last ones
    for (int i = 0; i < LANES; i++) {
        int at = threadIdx.x / 32 * 32 + i * TOGETHER + lane / LANES, key = first + at;
        uint4 b = key < end ? __ldg(keys + (size_t)key * LANES + part) : uint4{};
        float sum = two_products(a.z, b.z, two_products(a.w, b.w, 0));
        sum = two_products(a.x, b.x, two_products(a.y, b.y, sum));
#pragma unroll
        for (int bit = 1; bit < LANES; bit *= 2) sum += other_lane(sum, bit);
        if (part == 0) products[at] = key < end ? sum : UNSEEN;
    }
    __syncthreads();
}

__device__ __forceinline__ void write(const Doubtful& p, int row, int place, float product, int key,
                                      float minus) {
    float weight = exp2_(fmaf(product, p.factor, minus));
    p.weights_hqn[(size_t)row * TOP + place] = weight;
    p.keys_hqn[(size_t)row * TOP + place] = weight > 0 ? key : -1;
}

// The better of two, of equals the one that comes first; no key is the last of all.
__device__ __forceinline__ void take_better(float& v, u32& key, float other, u32 other_key) {
    bool better = other > v || (other == v && other_key < key);
    v = better ? other : v, key = better ? other_key : key;
}

extern "C" __global__ void __launch_bounds__(THREADS) doubtful(const __grid_constant__ Doubtful p) {
    __shared__ float most[THREADS / 32];
    __shared__ u32 where[THREADS / 32];
    __shared__ float products[THREADS];
    after_others();
    for (int i = blockIdx.x; i < *p.number; i += gridDim.x) {
        int row = p.doubt[i], head = row / p.queries, query = row % p.queries;
        const uint4* own = (const uint4*)p.query_hqd + (size_t)row * (WIDTH / 8);
        const uint4* keys = (const uint4*)p.key_gkd + (size_t)(head / p.group) * p.keys * (WIDTH / 8);
        float minus = p.minus_hq[(size_t)head * cdiv(p.queries, 128) * 128 + query];
        float best[TOP];
        u32 place[TOP];
#pragma unroll
        for (int n = 0; n < TOP; n++) best[n] = UNSEEN, place[n] = ~0u;
        int end = min(query + p.right + 1, p.keys);
        if (end <= THREADS) {  // a key to a thread: its place is how many are better
            all_products(own, keys, 0, end, products);
            int k = threadIdx.x, place = 0;
            float v = products[k];
            for (int m = 0; m < end; m++)
                place += products[m] > v || (products[m] == v && m < k);
            if (k < end && place < TOP) write(p, row, place, v, k, minus);
            if (k >= end && k < TOP) write(p, row, k, v, -1, UNSEEN);
            continue;
        }
        for (int first = 0; first < end; first += THREADS) {
            all_products(own, keys, first, end, products);
            float v = products[threadIdx.x];
            u32 at = v > UNSEEN ? first + threadIdx.x : ~0u;
#pragma unroll
            for (int n = 0; n < TOP; n++) {
                bool better = v > best[n];  // of equals the first, which came before
                float lower = better ? best[n] : v;
                u32 other = better ? place[n] : at;
                best[n] = better ? v : best[n], place[n] = better ? at : place[n];
                v = lower, at = other;
            }
        }
        for (int n = 0; n < TOP; n++) {
            float v = best[0];
            u32 at = place[0];
            for (int bit = 1; bit < 32; bit *= 2)
                take_better(v, at, other_lane(v, bit), __shfl_xor_sync(~0u, at, bit));
            if (threadIdx.x % 32 == 0) most[threadIdx.x / 32] = v, where[threadIdx.x / 32] = at;
            __syncthreads();
            v = most[0], at = where[0];
            for (int warp = 1; warp < THREADS / 32; warp++) take_better(v, at, most[warp], where[warp]);
            __syncthreads();
            if (at == place[0])  // taken: the next one moves up
#pragma unroll
                for (int m = 0; m < TOP; m++) {
                    best[m] = m + 1 < TOP ? best[m + 1] : UNSEEN;
                    place[m] = m + 1 < TOP ? place[m + 1] : ~0u;
                }
            if (threadIdx.x == 0) write(p, row, n, v, (int)at, minus);
        }
    }
}
