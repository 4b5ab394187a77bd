// Sums over queries: received, map and entropy, and the highest product of each query in groups of
// keys, from which reduce.cu makes thresholds for its best keys.
//
// Two warpgroups have 128 keys each, and one more warp loads pairs of tiles of 64 queries, from
// the last queries backwards, and the next keys before these are done. While the tensor cores
// multiply one tile a warpgroup works on the other: one multiplication, one exponential and few sums
// an entry, all of them inside a thread; sums between threads are left until the next
// pair. Sums are always taken in the same order.
//
// ENTROPY, HIGHEST, MAP say which of these are computed. A part of the map is of CELL keys and of 16 queries, or
// of a quarter of a block of ROWS queries where that is more. Maps of smaller blocks, of SMALL tokens
// a side (2, 4 or 8), are written without parts.

constexpr int STAGES = 3;
constexpr int TURNS = 2;  // blocks of keys: the current one, and the next one being loaded
constexpr int CELLS = MAP ? 128 / CELL : 1;
constexpr int TILES = ROWS < 128 ? 2 : 1;  // of a pair that the map keeps apart
constexpr int TWOS = SMALL ? 32 : 1;       // sums of two columns of a row

struct ColumnArguments {
    Tensor query, key;
    const float* minus_hq;   // minus the base-2 log-sum-exp, padded to pairs of tiles
    float* received_hk;
    float* map_hrc;          // parts of it
    float* moment_pshq;      // sums of weight * log2(weight) over the keys of each side of a program
    float* highest_pshq;     // highest products over the same keys
    int queries, keys, heads, group, right, programs, map_rows, map_columns, averaged;
    float factor;
};

struct alignas(1024) Shared {
    char query[STAGES][TILE_BYTES];
    char key[TURNS][2][TILE_BYTES];  // by turn and by side
    float minus[STAGES][TILE];
    u64 full[STAGES], empty[STAGES], keys_full[TURNS], keys_empty[TURNS];
};

static_assert(sizeof(Shared) <= SHARED && sizeof(ColumnArguments) == ARGUMENTS, "the host has other sizes");

extern __shared__ __align__(1024) char raw[];

struct Sums {
    float moment[2][2], highest[2][2];  // by tile and row
    float cells[TILES][CELLS];
};

// One tile's products to sums. A thread holds rows r and r + 8 and columns 8 j + 2 g, 8 j + 2 g + 1.
template <bool MASKED>
__device__ __forceinline__ void compute_weights(const float (&s)[64], const float (&minus)[2],
                                      const int (&limit)[2], float factor, float (&received)[32],
                                      float (&moment)[2], float (&highest)[2],
                                      float (&cells)[CELLS], float (&twos)[TWOS]) {
    float parts[2][2] = {}, most[2][2];
#pragma unroll
    for (int e = 0; e < 32; e++) {
        float weight[2];
#pragma unroll
        for (int row = 0; row < 2; row++) {
            bool visible = !MASKED || e / 2 * 8 + e % 2 <= limit[row];
            float product = visible ? s[e / 2 * 4 + row * 2 + e % 2] : HIDDEN;
            float t = fmaf(product, factor, minus[row]);
            weight[row] = exp2_(t);
            if (ENTROPY) parts[row][e % 2] = fmaf(weight[row], t, parts[row][e % 2]);
            if (SMALL) twos[row * 16 + e / 2] = (e % 2 ? twos[row * 16 + e / 2] : 0) + weight[row];
            if (HIGHEST) most[row][e % 2] = e > 1 ? fmaxf(most[row][e % 2], product) : product;
        }
        float both = weight[0] + weight[1];
        received[e] += both;
        int cell = e / 2 * 8 / CELL;
        bool begins = TILES == 2 && e / 2 * 8 % CELL + e % 2 == 0;
        if (MAP) cells[cell] = begins ? both : cells[cell] + both;
    }
#pragma unroll
    for (int row = 0; row < 2; row++) {
        moment[row] = parts[row][0] + parts[row][1];
        if (HIGHEST) highest[row] = fmaxf(most[row][0], most[row][1]);
    }
}

// Sums between lanes: numbers change places, so that lanes come to hold sums of different ones.
template <int N>
__device__ __forceinline__ void add_lanes(float* v, int lane, int bit) {
    if constexpr (N > 1) {
        bool upper = lane & bit;
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            float own = upper ? v[i + N / 2] : v[i], sent = upper ? v[i] : v[i + N / 2];
            v[i] = own + shuffle_xor(sent, bit);
        }
    } else {
        v[0] += shuffle_xor(v[0], bit);
    }
    if (bit < 16) add_lanes<(N > 1 ? N / 2 : 1)>(v, lane, bit * 2);
}

// (tile, row) of four lanes each to one of them a lane: bit 0 chooses the tile, bit 1 the row.
template <typename F>
__device__ __forceinline__ float reduce_four(const float (&v)[2][2], int lane, F join) {
    bool tile = lane & 1, row = lane & 2;
    float a = join(tile ? v[1][0] : v[0][0], shuffle_xor(tile ? v[0][0] : v[1][0], 1));
    float b = join(tile ? v[1][1] : v[0][1], shuffle_xor(tile ? v[0][1] : v[1][1], 1));
    return join(row ? b : a, shuffle_xor(row ? a : b, 2));
}

struct Outputs {  // pointers that a warp writes to
    float *moment, *highest, *map;
    int columns, lane, lowest;
    bool again;
};

// Add up between threads what a pair of tiles left, and write it down. A warpgroup that holds several
// blocks of keys in turn adds to what it wrote itself.
__device__ __forceinline__ void flush(Sums& sums, const Outputs& outputs, int pair, bool valid) {
    int lane = outputs.lane;
    int at = pair * 128 + (lane & 1) * 64 + (lane & 2) * 4 + lane / 4;
    if (ENTROPY) {
        float x = reduce_four(sums.moment, lane, [](float a, float b) { return a + b; });
        if (outputs.again && valid) x += outputs.moment[at];
        if (valid) outputs.moment[at] = x;
    }
    if (HIGHEST) {
        float x = reduce_four(sums.highest, lane, [](float a, float b) { return fmaxf(a, b); });
        if (outputs.again && valid) x = fmaxf(x, outputs.highest[at]);
        if (valid) outputs.highest[at] = x;
    }
    if (MAP) {
        // With several pairs to a block of queries, it is done at its first, or at the first visible.
        if (TILES == 1 && (!valid || (pair * 128 % ROWS != 0 && pair != outputs.lowest))) return;
        constexpr int N = TILES * CELLS;
        float* v = &sums.cells[0][0];
        add_lanes<N>(v, lane, 1);
        int index = 0;
#pragma unroll
        for (int bit = 1, i = N / 2; i > 0; bit *= 2, i /= 2) index += lane & bit ? i : 0;
        size_t row = TILES == 1 ? pair * 128 / ROWS * 4 : pair * 8 + index / CELLS * 4;
        if (lane < N && valid) outputs.map[row * outputs.columns + index % CELLS] = v[0];
        if (TILES == 1)
#pragma unroll
            for (int i = 0; i < N; i++) v[i] = 0;
    }
}

// The map's small blocks: sums of two columns, by row and column, added over the lanes of a block.
template <int N, int BIT>
__device__ __forceinline__ void add_small(float* v, int lane, int& first) {
    constexpr bool WITHIN = BIT < 4 ? 2 * BIT < SMALL : BIT / 4 < SMALL;  // columns, then rows
    if constexpr (WITHIN) {
        bool upper = lane & BIT;
        first += upper ? N / 2 : 0;
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            float own = upper ? v[i + N / 2] : v[i], sent = upper ? v[i] : v[i + N / 2];
            v[i] = own + shuffle_xor(sent, BIT);
        }
    }
    constexpr int LEFT = WITHIN ? N / 2 : N;
    if constexpr (BIT < 16) return add_small<LEFT, BIT * 2>(v, lane, first);
}

__device__ __forceinline__ void write_small(const ColumnArguments& p, float (&twos)[TWOS], int head, int query,
                                            int key, int lane) {
    constexpr int LANES = SMALL == 8 ? 32 : SMALL == 4 ? 8 : 2, LEFT = TWOS / LANES;
    int first = 0;
    add_small<TWOS, 1>(twos, lane, first);
#pragma unroll
    for (int i = 0; i < LEFT; i++) {
        int at = first + i;  // row r or r + 8, then which two columns
        int row = (query + lane / 4 + at / 16 * 8) / SMALL, column = (key + at % 16 * 8 + lane % 4 * 2) / SMALL;
        float size = p.averaged ? min(SMALL, p.queries - row * SMALL) : 1;
        if (row < p.map_rows && column < p.map_columns)
            p.map_hrc[((size_t)head * p.map_rows + row) * p.map_columns + column] = twos[i] / size;
    }
}

// How many pairs of queries, counted from the last, see some of 128 keys, and how many see all.
__device__ __forceinline__ int pairs_seeing(const ColumnArguments& p, int first, bool all) {
    int last = cdiv(p.queries, 128);
    if (first + (all ? 128 : 1) > p.keys) return 0;
    int low = all ? cdiv(max(first + 127 - p.right, 0), 128) : max(first - p.right, 0) / 128;
    return max(last - low, 0);
}

struct Resident {  // the tiles that a warpgroup reuses
    u32 query, key;
    int first, warp, head;
};

// One pair of tiles, while the next one is multiplied, if there is one.
template <bool MASKED, bool MORE>
__device__ __forceinline__ void work(int i, int& done, const ColumnArguments& p, Shared& shared,
                                     float (&a)[64], float (&b)[64], float (&received)[32],
                                     Sums& sums, const Outputs& outputs, const Resident& resident) {
    int pair = cdiv(p.queries, 128) - 1 - i, lane = outputs.lane;
    int row = resident.warp * 16 + lane / 4;
    int stage = done % STAGES, next = (done + 1) % STAGES;
#pragma unroll
    for (int tile = 0; tile < 2; tile++, row += 64) {
        float(&s)[64] = tile ? b : a;
        mma_wait<0>(s);
        if (tile == 0) {
            multiply(b, resident.query + stage * TILE_UNITS + 64 * ROW_UNITS, resident.key);
        } else if (MORE) {
            barrier_wait(&shared.full[next], (done + 1) / STAGES & 1);
            multiply(a, resident.query + next * TILE_UNITS, resident.key);
        }
        const float minus[2] = {shared.minus[stage][row], shared.minus[stage][row + 8]};
        __syncwarp();
        if (tile) barrier_arrive(&shared.empty[stage], lane);
        if (tile == 0) flush(sums, outputs, pair + 1, i > 0);  // overlaps with the exponentials of this tile
        int limit[2];
#pragma unroll
        for (int n = 0; n < 2; n++) {
            int last = min(pair * 128 + row + n * 8 + p.right, p.keys - 1);
            limit[n] = last - resident.first - lane % 4 * 2;
        }
        float twos[TWOS];
        compute_weights<MASKED>(s, minus, limit, p.factor, received, sums.moment[tile], sums.highest[tile],
                      sums.cells[TILES == 2 ? tile : 0], twos);
        if constexpr (SMALL > 0)
            write_small(p, twos, resident.head, pair * 128 + tile * 64 + resident.warp * 16, resident.first, lane);
    }
    if (!MORE) flush(sums, outputs, pair, true);
    done++;
}

// Received: over the rows of a warp, then over the four warps, through the memory of the keys.
__device__ __forceinline__ void write_received(const ColumnArguments& p, float (&received)[32], void* buffer,
                                               int side, int lane, const Resident& resident) {
    float(&parts)[4][128] = *reinterpret_cast<float(*)[4][128]>(buffer);
    add_lanes<32>(received, lane, 4);
    int index = (lane & 4 ? 16 : 0) + (lane & 8 ? 8 : 0) + (lane & 16 ? 4 : 0);
    warpgroup_sync(side);
#pragma unroll
    for (int i = 0; i < 4; i++)
        parts[resident.warp][(index + i) / 2 * 8 + lane % 4 * 2 + i % 2] = received[i];
    warpgroup_sync(side);
    int column = resident.warp * 32 + lane, key = resident.first + column;
    float total = (parts[0][column] + parts[1][column]) + (parts[2][column] + parts[3][column]);
    if (key < p.keys) p.received_hk[(size_t)resident.head * p.keys + key] = total;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
}

__device__ __forceinline__ void consume(const ColumnArguments& p, Shared& shared, int program, int head) {
    int side = this_warp() / 4 - 1, warp = this_warp() % 4, lane = threadIdx.x % 32;
    int padded = cdiv(p.queries, 128) * 128, columns = cdiv(p.keys, 256) * 256 / CELL;
    int map_rows = TILES == 2 ? padded / 16 : cdiv(padded, ROWS) * 4;
    size_t own = ((size_t)(program * 2 + side) * p.heads + head) * padded + warp * 16;
    u32 keys = encoded_address(shared.key[0][0]) + side * TILE_UNITS;
    float a[64], b[64];
    int done = 0, turn = 0;
    for (int block = program; block * 256 < p.keys; block += p.programs, turn++) {
        Resident resident = {encoded_address(shared.query[0]), keys + turn % TURNS * 2 * TILE_UNITS,
                     block * 256 + side * 128, warp, head};
        int pairs = pairs_seeing(p, resident.first, false);
        int unmasked = min(pairs_seeing(p, resident.first, true), pairs - 1);
        Outputs outputs = {p.moment_pshq + own, p.highest_pshq + own,
                       p.map_hrc + ((size_t)head * map_rows + warp) * columns + resident.first / CELL,
                       columns, lane, padded / 128 - pairs, turn > 0};
        float received[32] = {};
        Sums sums = {};
        int end = done + pairs_seeing(p, block * 256, false), i = 0;
        barrier_wait(&shared.keys_full[turn % TURNS], turn / TURNS & 1);
        if (pairs > 0) {
            barrier_wait(&shared.full[done % STAGES], done / STAGES & 1);
            multiply(a, resident.query + done % STAGES * TILE_UNITS, resident.key);
            for (; i < unmasked; i++)
                work<false, true>(i, done, p, shared, a, b, received, sums, outputs, resident);
            for (; i < pairs - 1; i++)
                work<true, true>(i, done, p, shared, a, b, received, sums, outputs, resident);
            work<true, false>(i, done, p, shared, a, b, received, sums, outputs, resident);
        }
        for (; done < end; done++) {  // loaded for the other warpgroup alone
            barrier_wait(&shared.full[done % STAGES], done / STAGES & 1);
            barrier_arrive(&shared.empty[done % STAGES], lane);
        }
        write_received(p, received, shared.key[turn % TURNS][side], side, lane, resident);
        barrier_arrive(&shared.keys_empty[turn % TURNS], lane);
    }
}

__device__ __forceinline__ void produce(const ColumnArguments& p, Shared& shared, int program, int head) {
    int done = 0, turn = 0, last = cdiv(p.queries, 128);
    for (int block = program; block * 256 < p.keys; block += p.programs, turn++) {
        u64* full = &shared.keys_full[turn % TURNS];
        barrier_wait(&shared.keys_empty[turn % TURNS], turn / TURNS & 1 ^ 1);
        barrier_expect(full, 2 * TILE_BYTES);
        for (int side = 0; side < 2; side++)
            fetch(&p.key, shared.key[turn % TURNS][side], full, block * 256 + side * 128, head / p.group);
        int pairs = pairs_seeing(p, block * 256, false);
        for (int i = 0; i < pairs; i++, done++) {
            int stage = done % STAGES, pair = last - 1 - i;
            barrier_wait(&shared.empty[stage], done / STAGES & 1 ^ 1);
            barrier_expect(&shared.full[stage], TILE_BYTES + TILE * 4);
            fetch(&p.query, shared.query[stage], &shared.full[stage], pair * 128, head);
            fetch_row(p.minus_hq + ((size_t)head * last + pair) * TILE, shared.minus[stage],
                      &shared.full[stage]);
        }
    }
}

// A program takes every so manieth block of 256 keys; those with the longest walks come first.
extern "C" __global__ void __launch_bounds__(384, 1) columns(const __grid_constant__ ColumnArguments p) {
    Shared& shared = *reinterpret_cast<Shared*>(raw);
    int program = blockIdx.x / p.heads, head = blockIdx.x % p.heads;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++)
            barrier_init(&shared.full[stage], 1), barrier_init(&shared.empty[stage], 8);
        for (int turn = 0; turn < TURNS; turn++)
            barrier_init(&shared.keys_full[turn], 1), barrier_init(&shared.keys_empty[turn], 8);
        barrier_fence();
    }
    __syncthreads();
    wait_for_previous_kernels();
    if (threadIdx.x < 128) {
        fewer_registers<24>();
        if (threadIdx.x == 0) produce(p, shared, program, head);
    } else {
        more_registers<240>();
        consume(p, shared, program, head);
    }
}
