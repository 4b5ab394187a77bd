// The best keys of each query, exactly: every key whose product reaches the query's threshold.
//
// The threshold comes from the highest products of each query in groups of keys (whole.cu): the n-th
// highest of these is reached by n keys at least, and by few more. So one comparison an entry finds
// all candidates. A block holds 256 queries still, 128 for each of two warpgroups, and walks over the
// keys they see. Each query is searched by four threads, which have a list each; a query that fills
// one of them is left to doubtful.cu.
//
// TOP is how many keys are wanted.

constexpr int STAGES = 3;
constexpr int ROOM = 15;  // candidates of a query that one thread takes

struct Best {
    Tensor query, key;
    const float* minus_hq;      // minus the base-2 log-sum-exp, padded
    const float* threshold_hq;  // padded
    float* weights_hqn;
    long long* keys_hqn;
    int* doubt;                 // rows that are left over, and how many
    int* number;
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
        Candidate lists[256][4][ROOM + 1];
    };
    char key[STAGES][TILE_BYTES];
    u64 full[STAGES], empty[STAGES], queries_full;
};

static_assert(sizeof(Shared) <= SHARED && sizeof(Best) == BEST, "the host has other sizes");

extern __shared__ __align__(1024) char raw[];

// Write a candidate down if it reaches the threshold, without a branch; the last place takes the rest.
__device__ __forceinline__ void put(u32& place, u32 end, float product, float threshold, int key) {
    asm volatile(
        "{\n.reg .pred reached;\nsetp.ge.f32 reached, %1, %2;\n"
        "@reached st.shared.b32 [%0], %1;\n"
        "@reached st.shared.b32 [%0 + 4], %3;\n"
        "@reached add.u32 %0, %0, 8;\nmin.u32 %0, %0, %4;\n}"
        : "+r"(place) : "f"(product), "f"(threshold), "r"(key), "r"(end) : "memory");
}

struct Lists {  // of a thread's two rows of a tile
    u32 place[2], end[2];
    float threshold[2];
};

// Products of a tile: a thread holds rows r and r + 8 and columns 8 j + 2 g, 8 j + 2 g + 1.
template <bool MASKED>
__device__ __forceinline__ void search(const float (&s)[64], const int (&limit)[2], Lists& lists,
                                       int key) {
    float highest[2][8], most[2];
#pragma unroll
    for (int n = 0; n < 2; n++) {
#pragma unroll
        for (int e = 0; e < 32; e++) {
            bool seen = !MASKED || e / 2 * 8 + e % 2 <= limit[n];
            float v = seen ? s[e / 2 * 4 + n * 2 + e % 2] : UNSEEN;
            highest[n][e / 4] = e % 4 ? fmaxf(highest[n][e / 4], v) : v;
        }
        most[n] = fmaxf(fmaxf(fmaxf(highest[n][0], highest[n][1]), fmaxf(highest[n][2], highest[n][3])),
                        fmaxf(fmaxf(highest[n][4], highest[n][5]), fmaxf(highest[n][6], highest[n][7])));
    }
    if (most[0] < lists.threshold[0] && most[1] < lists.threshold[1]) return;
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int part = 0; part < 8; part++)
            if (highest[n][part] >= lists.threshold[n])
#pragma unroll
                for (int e = part * 4; e < part * 4 + 4; e++) {
                    bool seen = !MASKED || e / 2 * 8 + e % 2 <= limit[n];
                    float v = seen ? s[e / 2 * 4 + n * 2 + e % 2] : UNSEEN;
                    put(lists.place[n], lists.end[n], v, lists.threshold[n], key + e / 2 * 8 + e % 2);
                }
}

struct Held {  // what a warpgroup holds still: queries from first on, of them this thread's row
    u32 query[2][STEPS][4];
    u32 key;
    int first, row, lane;
};

// One tile of keys with both tiles of queries, while the next is multiplied, if there is one.
template <bool MASKED, bool MORE>
__device__ __forceinline__ void work(int i, const Best& p, Shared& shared, float (&a)[64],
                                     float (&b)[64], Lists (&lists)[2], const Held& held) {
    int stage = i % STAGES, next = (i + 1) % STAGES;
#pragma unroll
    for (int tile = 0; tile < 2; tile++) {
        float(&s)[64] = tile ? b : a;
        mma_wait<0>(s);
        if (tile == 0) {
            multiply(b, held.query[1], held.key + stage * TILE_UNITS);
        } else {
            if (MORE) {
                gate_wait(&shared.full[next], (i + 1) / STAGES & 1);
                multiply(a, held.query[0], held.key + next * TILE_UNITS);
            }
            gate_arrive(&shared.empty[stage], held.lane);
        }
        int limit[2];
#pragma unroll
        for (int n = 0; n < 2; n++) {
            int last = min(held.first + held.row + tile * 64 + n * 8 + p.right, p.keys - 1);
            limit[n] = last - i * 128 - held.lane % 4 * 2;
        }
        search<MASKED>(s, limit, lists[tile], i * 128 + held.lane % 4 * 2);
    }
}

// The candidates of 16 queries of a warp, two queries at a time, 16 lanes to a query: the place of a
// candidate is how many are better.
__device__ __forceinline__ void settle(const Best& p, Shared& shared, const Lists& lists, int head,
                                       int first, int row, int lane) {
    int padded = cdiv(p.queries, 128) * 128, half = lane / 16;
    int own_count[2];
    float own_minus[2];
#pragma unroll
    for (int n = 0; n < 2; n++) {
        own_count[n] = ROOM - (int)(lists.end[n] - lists.place[n]) / 8;
        int query = min(first + row + lane / 4 + n * 8, padded - 1);
        own_minus[n] = p.minus_hq[(size_t)head * padded + query];
    }
    __syncwarp();
    for (int n = 0; n < 8; n++) {
        int at_row = row + n + half * 8, query = first + at_row;
        size_t at = (size_t)head * p.queries + query;
        int ends[5] = {}, most = 0;  // where each list ends, if they followed each other
#pragma unroll
        for (int list = 0; list < 4; list++) {
            int upper = __shfl_sync(~0u, own_count[0], n * 4 + list);
            int lower = __shfl_sync(~0u, own_count[1], n * 4 + list), count = half ? lower : upper;
            most = max(most, count), ends[list + 1] = ends[list] + count;
        }
        float upper = __shfl_sync(~0u, own_minus[0], n * 4);
        float lower = __shfl_sync(~0u, own_minus[1], n * 4), minus = half ? lower : upper;
        bool doubtful = most >= ROOM, inside = query < p.queries;
        if (doubtful && inside && lane % 16 == 0) p.doubt[atomicAdd(p.number, 1)] = (int)at;
        int total = doubtful || !inside ? 0 : ends[4];
        auto candidate = [&](int i) {
            int list = (i >= ends[1]) + (i >= ends[2]) + (i >= ends[3]);
            int start = list == 0 ? 0 : list == 1 ? ends[1] : list == 2 ? ends[2] : ends[3];
            return i < total ? shared.lists[at_row][list][i - start] : Candidate{UNSEEN, -1};
        };
        int rounds = cdiv(__reduce_max_sync(~0u, total), 16);
        for (int mine = 0; mine < rounds; mine++) {
            Candidate own = candidate(mine * 16 + lane % 16);
            int place = 0;
            for (int other = 0; other < rounds; other++) {
                Candidate one = other == mine ? own : candidate(other * 16 + lane % 16);
#pragma unroll
                for (int i = 0; i < 16; i++) {
                    float product = __shfl_sync(~0u, one.product, i, 16);
                    int key = __shfl_sync(~0u, one.key, i, 16);
                    place += product > own.product || (product == own.product && key < own.key);
                }
            }
            if (own.key < 0 || place >= TOP) continue;
            float weight = exp2_(fmaf(own.product, p.factor, minus));
            p.weights_hqn[at * TOP + place] = weight;
            p.keys_hqn[at * TOP + place] = weight > 0 ? own.key : -1;
        }
        if (!doubtful && inside)
            for (int place = total + lane % 16; place < TOP; place += 16)
                p.weights_hqn[at * TOP + place] = 0, p.keys_hqn[at * TOP + place] = -1;
    }
}

// How many tiles of keys some of 128 queries see, and how many all of them.
__device__ __forceinline__ int tiles_seen(const Best& p, int first, bool all) {
    if (first >= p.queries) return 0;
    int seen = min(max(first + (all ? 1 : 128) + p.right, 0), p.keys);
    return all ? seen / 128 : max(cdiv(seen, 128), 1);
}

__device__ __forceinline__ void consume(const Best& p, Shared& shared, int head, int first) {
    int side = this_warp() / 4 - 1, warp = this_warp() % 4, lane = threadIdx.x % 32;
    int padded = cdiv(p.queries, 128) * 128, row = side * 128 + warp * 16;
    Held held = {{}, described(shared.key[0]), first, row + lane / 4, lane};
    Lists lists[2];
    gate_wait(&shared.queries_full, 0);
    for (int tile = 0; tile < 2; tile++)
        load_rows(held.query[tile], shared.query[side], tile * 64 + warp * 16, lane);
    asm volatile("bar.sync 1, 256;" ::: "memory");  // both warpgroups have theirs: room for lists
#pragma unroll
    for (int n = 0; n < 4; n++) {
        int at = held.row + n / 2 * 64 + n % 2 * 8;
        Lists& own = lists[n / 2];
        own.threshold[n % 2] = p.threshold_hq[(size_t)head * padded + min(first + at, padded - 1)];
        own.place[n % 2] = shared_address(shared.lists[at][lane % 4]);
        own.end[n % 2] = own.place[n % 2] + ROOM * 8;
    }
    int tiles = tiles_seen(p, first + side * 128, false), i = 0;
    int free = min(tiles_seen(p, first + side * 128, true), tiles - 1);
    int brought = max(tiles_seen(p, first, false), tiles_seen(p, first + 128, false));
    float a[64], b[64];
    if (tiles > 0) {
        gate_wait(&shared.full[0], 0);
        multiply(a, held.query[0], held.key);
        for (; i < free; i++) work<false, true>(i, p, shared, a, b, lists, held);
        for (; i < tiles - 1; i++) work<true, true>(i, p, shared, a, b, lists, held);
        work<true, false>(i, p, shared, a, b, lists, held), i++;
    }
    for (; i < brought; i++) {  // brought for the other warpgroup alone
        gate_wait(&shared.full[i % STAGES], i / STAGES & 1);
        gate_arrive(&shared.empty[i % STAGES], lane);
    }
    settle(p, shared, lists[0], head, first, row, lane);
    settle(p, shared, lists[1], head, first, row + 64, lane);
}

__device__ __forceinline__ void produce(const Best& p, Shared& shared, int head, int first) {
    gate_expect(&shared.queries_full, 2 * TILE_BYTES);
    for (int side = 0; side < 2; side++)
        fetch(&p.query, shared.query[side], &shared.queries_full, first + side * 128, head);
    int tiles = max(tiles_seen(p, first, false), tiles_seen(p, first + 128, false));
    for (int i = 0; i < tiles; i++) {
        int stage = i % STAGES;
        gate_wait(&shared.empty[stage], i / STAGES & 1 ^ 1);
        gate_expect(&shared.full[stage], TILE_BYTES);
        fetch(&p.key, shared.key[stage], &shared.full[stage], i * 128, head / p.group);
    }
}

extern "C" __global__ void __launch_bounds__(384, 1) best(const __grid_constant__ Best p) {
    Shared& shared = *reinterpret_cast<Shared*>(raw);
    int head = blockIdx.x % p.heads;
    int first = (cdiv(p.queries, 256) - 1 - blockIdx.x / p.heads) * 256;  // longest walks first
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++)
            gate_init(&shared.full[stage], 1), gate_init(&shared.empty[stage], 8);
        gate_init(&shared.queries_full, 1);
        gates_are_there();
    }
    __syncthreads();
    after_others();
    if (threadIdx.x < 128) {
        fewer_registers<24>();
        if (threadIdx.x == 0) produce(p, shared, head, first);
    } else {
        more_registers<240>();
        consume(p, shared, head, first);
    }
}
