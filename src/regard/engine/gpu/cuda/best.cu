// The best keys of each query, exactly: those that no TOP others are better than.
//
// A query begins with a threshold from its highest products in groups of keys (reduce.cu): the n-th
// highest of these is reached by n keys at least, and by few more where good keys stand apart. So one
// comparison an entry finds all candidates. Each query is searched by four threads, which have a list
// of TOP each; once that is full, a better key replaces the worst, and the threshold rises.
// A block keeps 256 queries, 128 for each of two warpgroups, and walks over the keys they see.

constexpr int STAGES = 3;

struct BestArguments {
    Tensor query, key;
    const float* minus_hq;      // minus the base-2 log-sum-exp, padded
    const float* threshold_hq;  // padded
    float* weights_hqn;
    long long* keys_hqn;
    int queries, keys, heads, group, right;
    float factor;
};

struct Candidate {
    float product;
    int key;
};

struct alignas(1024) Shared {
    union {
        char query[2][TILE_BYTES];  // by side, until they are in registers
        Candidate lists[256][4][TOP];
    };
    char key[STAGES][TILE_BYTES];
    u64 full[STAGES], empty[STAGES], queries_full;
};

static_assert(sizeof(Shared) <= SHARED && sizeof(BestArguments) == ARGUMENTS, "the host has other sizes");

extern __shared__ __align__(1024) char raw[];

struct Lists {  // of a thread's two rows of a tile
    Candidate *list[2], *next[2];  // their begin, and the slot of the next candidate
    int count[2];
    float threshold[2];
};

// In a full list the next candidate replaces the worst: the lowest and, of equals, the last.
__device__ __forceinline__ void insert(Lists& lists, int n, float product, int key) {
    *lists.next[n] = {product, key};
    if (lists.count[n] < TOP) lists.count[n]++, lists.next[n]++;
    if (lists.count[n] < TOP) return;
    Candidate worst = *lists.list[n];
    lists.next[n] = lists.list[n];
    for (int i = 1; i < TOP; i++) {
        Candidate one = lists.list[n][i];
        bool equal = one.product == worst.product;
        bool worse = one.product < worst.product || (equal && one.key > worst.key);
        worst = worse ? one : worst, lists.next[n] = worse ? lists.list[n] + i : lists.next[n];
    }
    lists.threshold[n] = fmaxf(lists.threshold[n], worst.product);
}

__device__ __forceinline__ float max_of_8(const float (&v)[8]) {
    return fmaxf(fmaxf(fmaxf(v[0], v[1]), fmaxf(v[2], v[3])), fmaxf(fmaxf(v[4], v[5]), fmaxf(v[6], v[7])));
}

__device__ __forceinline__ int column_index(int e) { return e / 2 * 8 + e % 2; }

// One row of a tile's products, the highest first, as long as they are above the threshold: a thread
// holds 32 columns of rows r and r + 8, in groups of four, whose highest are known.
template <bool MASKED>
__device__ __forceinline__ void collect(const float (&s)[64], float (&highest)[8], float most, int limit,
                                     Lists& lists, int n, int key) {
    u32 used = 0;
    while (most > lists.threshold[n]) {
        int group = 0;
        float v[4], rest = HIDDEN;
#pragma unroll
        for (int i = 7; i >= 0; i--) group = highest[i] == most ? i : group;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            v[e] = HIDDEN;
#pragma unroll
            for (int i = 0; i < 8; i++) {
                int at = i * 4 + e;
                v[e] = i == group ? s[at / 2 * 4 + n * 2 + at % 2] : v[e];
            }
            int at = group * 4 + e;
            bool valid = !(used >> at & 1) && (!MASKED || column_index(at) <= limit);
            v[e] = valid ? v[e] : HIDDEN;
        }
        int e = v[0] == most ? 0 : v[1] == most ? 1 : v[2] == most ? 2 : 3;
        insert(lists, n, most, key + column_index(group * 4 + e));
        used |= 1u << (group * 4 + e);
#pragma unroll
        for (int i = 0; i < 4; i++) rest = i == e ? rest : fmaxf(rest, v[i]);
#pragma unroll
        for (int i = 0; i < 8; i++) highest[i] = i == group ? rest : highest[i];
        most = max_of_8(highest);
    }
}

template <bool MASKED>
__device__ __forceinline__ void search(const float (&s)[64], const int (&limit)[2], Lists& lists,
                                       int key) {
    float highest[2][8];
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int e = 0; e < 32; e++) {
            bool seen = !MASKED || column_index(e) <= limit[n];
            float v = seen ? s[e / 2 * 4 + n * 2 + e % 2] : HIDDEN;
            highest[n][e / 4] = e % 4 ? fmaxf(highest[n][e / 4], v) : v;
        }
#pragma unroll
    for (int n = 0; n < 2; n++)
        collect<MASKED>(s, highest[n], max_of_8(highest[n]), limit[n], lists, n, key);
}

struct Resident {  // the tiles that a warpgroup reuses: queries from first on, this thread's row
    u32 query[2][STEPS][4];
    u32 key;
    int first, row, lane;
};

// One tile of keys with both tiles of queries, while the next is multiplied, if there is one.
template <bool MASKED, bool MORE>
__device__ __forceinline__ void work(int i, const BestArguments& p, Shared& shared, float (&a)[64],
                                     float (&b)[64], Lists (&lists)[2], const Resident& resident) {
    int stage = i % STAGES, next = (i + 1) % STAGES;
#pragma unroll
    for (int tile = 0; tile < 2; tile++) {
        float(&s)[64] = tile ? b : a;
        mma_wait<0>(s);
        if (tile == 0) {
            multiply(b, resident.query[1], resident.key + stage * TILE_UNITS);
        } else {
            if (MORE) {
                barrier_wait(&shared.full[next], (i + 1) / STAGES & 1);
                multiply(a, resident.query[0], resident.key + next * TILE_UNITS);
            }
            barrier_arrive(&shared.empty[stage], resident.lane);
        }
        int limit[2];
#pragma unroll
        for (int n = 0; n < 2; n++) {
            int last = min(resident.first + resident.row + tile * 64 + n * 8 + p.right, p.keys - 1);
            limit[n] = last - i * 128 - resident.lane % 4 * 2;
        }
        search<MASKED>(s, limit, lists[tile], i * 128 + resident.lane % 4 * 2);
    }
}

// The candidates of 16 queries of a warp, two queries at a time, 16 lanes to a query: the rank of a
// candidate is how many are better.
__device__ __forceinline__ void write_best(const BestArguments& p, Shared& shared, const Lists& lists, int head,
                                       int first, int row, int lane) {
    int padded = cdiv(p.queries, 128) * 128, half = lane / 16;
    float own_minus[2];
#pragma unroll
    for (int n = 0; n < 2; n++) {
        int query = min(first + row + lane / 4 + n * 8, padded - 1);
        own_minus[n] = p.minus_hq[(size_t)head * padded + query];
    }
    __syncwarp();
    for (int n = 0; n < 8; n++) {
        int at_row = row + n + half * 8, query = first + at_row;
        size_t at = (size_t)head * p.queries + query;
        int ends[5] = {};  // the end of each list, were they concatenated
#pragma unroll
        for (int list = 0; list < 4; list++) {
            int upper = __shfl_sync(~0u, lists.count[0], n * 4 + list);
            int lower = __shfl_sync(~0u, lists.count[1], n * 4 + list);
            ends[list + 1] = ends[list] + (half ? lower : upper);
        }
        float upper = __shfl_sync(~0u, own_minus[0], n * 4);
        float lower = __shfl_sync(~0u, own_minus[1], n * 4), minus = half ? lower : upper;
        int total = query < p.queries ? ends[4] : 0;
        auto candidate = [&](int i) {
            int list = (i >= ends[1]) + (i >= ends[2]) + (i >= ends[3]);
            int start = list == 0 ? 0 : list == 1 ? ends[1] : list == 2 ? ends[2] : ends[3];
            return i < total ? shared.lists[at_row][list][i - start] : Candidate{HIDDEN, -1};
        };
        int rounds = cdiv(__reduce_max_sync(~0u, total), 16);
        for (int mine = 0; mine < rounds; mine++) {
            Candidate own = candidate(mine * 16 + lane % 16);
            int rank = 0;
            for (int other = 0; other < rounds; other++) {
                Candidate one = other == mine ? own : candidate(other * 16 + lane % 16);
#pragma unroll
                for (int i = 0; i < 16; i++) {
                    float product = __shfl_sync(~0u, one.product, i, 16);
                    int key = __shfl_sync(~0u, one.key, i, 16);
                    rank += product > own.product || (product == own.product && key < own.key);
                }
            }
            if (own.key < 0 || rank >= TOP) continue;
            float weight = exp2_(fmaf(own.product, p.factor, minus));
            p.weights_hqn[at * TOP + rank] = weight;
            p.keys_hqn[at * TOP + rank] = weight > 0 ? own.key : -1;
        }
        if (query < p.queries)
            for (int rank = total + lane % 16; rank < TOP; rank += 16)
                p.weights_hqn[at * TOP + rank] = 0, p.keys_hqn[at * TOP + rank] = -1;
    }
}

// The number of tiles of keys that some of 128 queries see, or all of them.
__device__ __forceinline__ int tiles_visible(const BestArguments& p, int first, bool all) {
    if (first >= p.queries) return 0;
    int seen = min(max(first + (all ? 1 : 128) + p.right, 0), p.keys);
    return all ? seen / 128 : max(cdiv(seen, 128), 1);
}

__device__ __forceinline__ void consume(const BestArguments& p, Shared& shared, int head, int first) {
    int side = this_warp() / 4 - 1, warp = this_warp() % 4, lane = threadIdx.x % 32;
    int padded = cdiv(p.queries, 128) * 128, row = side * 128 + warp * 16;
    Resident resident = {{}, encoded_address(shared.key[0]), first, row + lane / 4, lane};
    Lists lists[2];
    barrier_wait(&shared.queries_full, 0);
    for (int tile = 0; tile < 2; tile++)
        load_rows(resident.query[tile], shared.query[side], tile * 64 + warp * 16, lane);
    asm volatile("bar.sync 1, 256;" ::: "memory");  // both warpgroups have their queries: lists may overwrite them
#pragma unroll
    for (int n = 0; n < 4; n++) {
        int at = resident.row + n / 2 * 64 + n % 2 * 8;
        Lists& own = lists[n / 2];
        own.threshold[n % 2] = p.threshold_hq[(size_t)head * padded + min(first + at, padded - 1)];
        own.list[n % 2] = own.next[n % 2] = shared.lists[at][lane % 4];
        own.count[n % 2] = 0;
    }
    int tiles = tiles_visible(p, first + side * 128, false), i = 0;
    int unmasked = min(tiles_visible(p, first + side * 128, true), tiles - 1);
    int loaded = max(tiles_visible(p, first, false), tiles_visible(p, first + 128, false));
    float a[64], b[64];
    if (tiles > 0) {
        barrier_wait(&shared.full[0], 0);
        multiply(a, resident.query[0], resident.key);
        for (; i < unmasked; i++) work<false, true>(i, p, shared, a, b, lists, resident);
        for (; i < tiles - 1; i++) work<true, true>(i, p, shared, a, b, lists, resident);
        work<true, false>(i, p, shared, a, b, lists, resident), i++;
    }
    for (; i < loaded; i++) {  // loaded for the other warpgroup alone
        barrier_wait(&shared.full[i % STAGES], i / STAGES & 1);
        barrier_arrive(&shared.empty[i % STAGES], lane);
    }
    write_best(p, shared, lists[0], head, first, row, lane);
    write_best(p, shared, lists[1], head, first, row + 64, lane);
}

__device__ __forceinline__ void produce(const BestArguments& p, Shared& shared, int head, int first) {
    barrier_expect(&shared.queries_full, 2 * TILE_BYTES);
    for (int side = 0; side < 2; side++)
        fetch(&p.query, shared.query[side], &shared.queries_full, first + side * 128, head);
    int tiles = max(tiles_visible(p, first, false), tiles_visible(p, first + 128, false));
    for (int i = 0; i < tiles; i++) {
        int stage = i % STAGES;
        barrier_wait(&shared.empty[stage], i / STAGES & 1 ^ 1);
        barrier_expect(&shared.full[stage], TILE_BYTES);
        fetch(&p.key, shared.key[stage], &shared.full[stage], i * 128, head / p.group);
    }
}

extern "C" __global__ void __launch_bounds__(384, 1) best(const __grid_constant__ BestArguments p) {
    Shared& shared = *reinterpret_cast<Shared*>(raw);
    int head = blockIdx.x % p.heads;
    int first = (cdiv(p.queries, 256) - 1 - blockIdx.x / p.heads) * 256;  // longest walks first
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++)
            barrier_init(&shared.full[stage], 1), barrier_init(&shared.empty[stage], 8);
        barrier_init(&shared.queries_full, 1);
        barrier_fence();
    }
    __syncthreads();
    wait_for_previous_kernels();
    if (threadIdx.x < 128) {
        fewer_registers<24>();
        if (threadIdx.x == 0) produce(p, shared, head, first);
    } else {
        more_registers<240>();
        consume(p, shared, head, first);
    }
}
