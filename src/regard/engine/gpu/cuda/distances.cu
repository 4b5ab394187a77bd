// Sums of weights by distance: along every diagonal.
//
// A block walks down two neighbouring diagonals of tiles of 128 queries and 128 keys, whose entries
// keep their distance: so whole tiles of weights are added, and summed along their own diagonals once
// at the end. The keys of a tile serve the first diagonal now and the second one step later. Each of
// two warpgroups takes 64 of the queries; one more warp loads the tiles.
//
//     partial[n] = sum of weights with key - query = n - 127 - 128 * step, step being how many tiles
//     the keys lie before the queries

constexpr int STAGES = 3;
constexpr int PITCH = 129;  // so that neighbouring diagonals lie in different banks

struct DistanceArguments {
    Tensor query, key;
    const float* minus_hq;
    float* partial_hsn;
    int queries, keys, heads, group, right;
    int lowest, highest, number, segments, tiles;  // steps; blocks of queries in a segment
    float factor;
};

struct alignas(1024) Shared {
    union {
        struct {
            char query[STAGES][TILE_BYTES], key[STAGES][TILE_BYTES];
        };
        float summed[2][128 * PITCH];  // at the end
    };
    float minus[STAGES][TILE];
    u64 full[STAGES], empty[STAGES];
};

static_assert(sizeof(Shared) <= SHARED && sizeof(DistanceArguments) == ARGUMENTS, "the host has other sizes");

extern __shared__ __align__(1024) char raw[];

struct Walk {  // tiles of queries from begin to end; keys lie first and first + 1 tiles before
    int head, segment, first, begin, end;

    __device__ __forceinline__ Walk(const DistanceArguments& p) {
        head = blockIdx.x % p.heads;
        segment = blockIdx.x / p.heads % p.segments;
        first = p.lowest + blockIdx.x / p.heads / p.segments * 2;
        begin = max(max(0, first), segment * p.tiles);
        end = min(min(cdiv(p.queries, 128), cdiv(p.keys, 128) + first + 1), (segment + 1) * p.tiles);
    }
};

template <bool MASKED>
__device__ __forceinline__ void add(const float (&s)[64], const float (&minus)[2],
                                    const int (&limit)[2], float factor, float (&summed)[64]) {
#pragma unroll
    for (int e = 0; e < 64; e++) {
        int row = e / 2 % 2;
        bool visible = !MASKED || e / 4 * 8 + e % 2 <= limit[row];
        summed[e] += exp2_(fmaf(visible ? s[e] : HIDDEN, factor, minus[row]));
    }
}

__device__ __forceinline__ void compute_weights(const float (&s)[64], const float (&minus)[2], const DistanceArguments& p,
                                      int query, int key, float (&summed)[64], int lane) {
    // query: the first of the warpgroup's; key: the first of the tile's
    if (key < 0) return;
    int row = query + threadIdx.x / 32 % 4 * 16 + lane / 4, limit[2];
#pragma unroll
    for (int n = 0; n < 2; n++)
        limit[n] = min(row + n * 8 + p.right, p.keys - 1) - key - lane % 4 * 2;
    bool all = query + p.right >= key + 127 && key + 128 <= p.keys;
    if (all) add<false>(s, minus, limit, p.factor, summed);
    else add<true>(s, minus, limit, p.factor, summed);
}

__device__ __forceinline__ void write(float* to, const float (&summed)[64], int row, int lane) {
#pragma unroll
    for (int e = 0; e < 64; e++)
        to[(row + e / 2 % 2 * 8) * PITCH + e / 4 * 8 + lane % 4 * 2 + e % 2] = summed[e];
}

__device__ __forceinline__ void consume(const DistanceArguments& p, Shared& shared, const Walk& walk) {
    int side = this_warp() / 4 - 1, warp = this_warp() % 4, lane = threadIdx.x % 32;
    int row = side * 64 + warp * 16 + lane / 4;
    u32 queries = encoded_address(shared.query[0]) + side * 64 * ROW_UNITS, keys = encoded_address(shared.key[0]);
    float s[64], one[64] = {}, two[64] = {};
    int done = 1;
    barrier_wait(&shared.full[0], 0);  // keys alone, for the second diagonal
    for (int block = walk.begin; block < walk.end; block++, done++) {
        int stage = done % STAGES, before = (done - 1) % STAGES;
        int query = block * 128 + side * 64, key = (block - walk.first) * 128;
        barrier_wait(&shared.full[stage], done / STAGES & 1);
        multiply(s, queries + stage * TILE_UNITS, keys + stage * TILE_UNITS);
        const float minus[2] = {shared.minus[stage][row], shared.minus[stage][row + 8]};
        mma_wait<0>(s);
        compute_weights(s, minus, p, query, key, one, lane);
        multiply(s, queries + stage * TILE_UNITS, keys + before * TILE_UNITS);
        mma_wait<0>(s);
        barrier_arrive(&shared.empty[before], lane);
        compute_weights(s, minus, p, query, key - 128, two, lane);
    }
    asm volatile("bar.sync 1, 256;" ::: "memory");  // both warpgroups are done with the tiles
    write(shared.summed[0], one, row, lane);
    write(shared.summed[1], two, row, lane);
    asm volatile("bar.sync 1, 256;" ::: "memory");
    int n = threadIdx.x - 128;
    for (int which = 0; which < 2; which++) {
        int step = walk.first + which;
        if (step > p.highest) break;
        float sum = 0;
        for (int r = max(0, 127 - n); r < min(128, 255 - n); r++)
            sum += shared.summed[which][r * PITCH + r + n - 127];
        size_t at = ((size_t)walk.head * p.segments + walk.segment) * p.number + p.highest - step;
        p.partial_hsn[at * 256 + n] = sum;
    }
}

__device__ __forceinline__ void produce(const DistanceArguments& p, Shared& shared, const Walk& walk) {
    int pairs = cdiv(p.queries, 128);
    barrier_expect(&shared.full[0], TILE_BYTES);
    fetch(&p.key, shared.key[0], &shared.full[0], (walk.begin - 1 - walk.first) * 128, walk.head / p.group);
    int done = 1;
    for (int block = walk.begin; block < walk.end; block++, done++) {
        int stage = done % STAGES;
        u64* full = &shared.full[stage];
        barrier_wait(&shared.empty[stage], done / STAGES & 1 ^ 1);
        barrier_expect(full, 2 * TILE_BYTES + TILE * 4);
        fetch(&p.query, shared.query[stage], full, block * 128, walk.head);
        fetch(&p.key, shared.key[stage], full, (block - walk.first) * 128, walk.head / p.group);
        fetch_row(p.minus_hq + ((size_t)walk.head * pairs + block) * TILE, shared.minus[stage], full);
    }
}

extern "C" __global__ void __launch_bounds__(384, 1) distances(const __grid_constant__ DistanceArguments p) {
    Shared& shared = *reinterpret_cast<Shared*>(raw);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++)
            barrier_init(&shared.full[stage], 1), barrier_init(&shared.empty[stage], 8);
        barrier_fence();
    }
    __syncthreads();
    wait_for_previous_kernels();
    Walk walk(p);
    if (threadIdx.x < 128) {
        fewer_registers<24>();
        if (threadIdx.x == 0) produce(p, shared, walk);
    } else {
        more_registers<240>();
        consume(p, shared, walk);
    }
}
