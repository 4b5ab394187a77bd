// Before and after columns.cu: its log-sum-exp prepared, and its partial sums reduced.
//
// ENTROPY, HIGHEST, MAP, CELL and ROWS are those of columns.cu; TOP is the number of best keys,
// LIST, not less, how many a list of them holds.

constexpr int TILES = ROWS < 128 ? 2 : 1;  // of a pair that the map keeps apart

// minus_hq = -log2(e) * total_hq, padded; where nothing is visible, so low that no weight is left.
extern "C" __global__ void prepare(const float* total_hq, float* minus_hq, int queries) {
    wait_for_previous_kernels();
    int query = blockIdx.x * 128 + threadIdx.x, head = blockIdx.y;
    float total = query < queries ? total_hq[(size_t)head * queries + query] : HIDDEN;
    float minus = total < -1e29f ? HIDDEN : total * -1.4426950408889634f;
    minus_hq[((size_t)head * gridDim.x + blockIdx.x) * 128 + threadIdx.x] = minus;
}

struct ReduceArguments {
    const float *moment_pshq, *parts_hrc, *highest_pshq;
    float *entropy_hq, *map_hrc, *threshold_hq;
    int queries, keys, heads, right, programs, rows, columns, across, averaged;
    int query_blocks;
};

static_assert(sizeof(ReduceArguments) == ARGUMENTS, "the host has other sizes");

// entropy = -ln 2 * the sum of moments over the sides of programs that the query's pair reached.
__device__ __forceinline__ void reduce_entropy(const ReduceArguments& p, int block) {
    int pairs = cdiv(p.queries, 128), head = block / pairs, pair = block % pairs;
    int query = pair * 128 + threadIdx.x;
    int visible = min(max(pair * 128 + 128 + p.right, 0), p.keys);
    int sides = min(cdiv(visible, 128), 2 * p.programs);
    const float* at = p.moment_pshq + (size_t)head * pairs * 128 + query;
    size_t step = (size_t)p.heads * pairs * 128;
    float sums[8] = {};
    for (int side = 0; side < sides; side += 8)
#pragma unroll
        for (int i = 0; i < 8; i++) sums[i] += side + i < sides ? __ldg(at + (side + i) * step) : 0;
    float sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    if (query < p.queries)
        p.entropy_hq[(size_t)head * p.queries + query] = fmaxf(sum * -0.6931471805599453f, 0);
}

// One row of the map: a mean over its queries where each of them sees anything, else a sum.
__device__ __forceinline__ void reduce_map(const ReduceArguments& p, int at) {
    constexpr int PARTS = TILES == 1 ? 4 : ROWS / 16, WALKED = ROWS > 128 ? ROWS : 128;
    int head = at / p.rows, row = at % p.rows, width = cdiv(p.keys, 256) * 256 / CELL;
    int part_rows = TILES == 2 ? cdiv(p.queries, 128) * 8 : cdiv(cdiv(p.queries, 128) * 128, ROWS) * 4;
    int end = min((row * ROWS / WALKED + 1) * WALKED, cdiv(p.queries, 128) * 128);
    int visible = min(max(end + p.right, 0), p.keys);
    const float* parts = p.parts_hrc + ((size_t)head * part_rows + row * PARTS) * width;
    float factor = p.averaged ? 1.0f / min(ROWS, p.queries - row * ROWS) : 1.0f;
    float* map = p.map_hrc + (size_t)at * p.columns;
    if (CELL <= 32 && p.columns % 4 == 0) {  // four at a time, which see or do not see together
        for (int column = threadIdx.x * 4; column < p.columns; column += blockDim.x * 4) {
            float4 sum = {};
            if (column * CELL / 128 * 128 < visible)
#pragma unroll
                for (int part = 0; part < PARTS; part++) {
                    float4 part_sum = *(const float4*)(parts + (size_t)part * width + column);
                    sum.x += part_sum.x, sum.y += part_sum.y, sum.z += part_sum.z, sum.w += part_sum.w;
                }
            sum.x *= factor, sum.y *= factor, sum.z *= factor, sum.w *= factor;
            *(float4*)(map + column) = sum;
        }
        return;
    }
    for (int column = threadIdx.x; column < p.columns; column += blockDim.x) {
        float sum = 0;
        for (int i = column * p.across; i < (column + 1) * p.across; i++)
            if (i * CELL / 128 * 128 < visible)
#pragma unroll
                for (int part = 0; part < PARTS; part++) sum += parts[(size_t)part * width + i];
        map[column] = sum * factor;
    }
}

// A list of the LIST best, high to low; by comparisons alone, so that it stays in registers.
__device__ __forceinline__ void insert(float (&list)[LIST], float v) {
#pragma unroll
    for (int i = 0; i < LIST; i++) {
        float lower = fminf(list[i], v);
        list[i] = fmaxf(list[i], v);
        v = lower;
    }
}

// The highest product of a query's TOP-th best group, a group being the keys of a side of a program.
__device__ __forceinline__ void reduce_threshold(const ReduceArguments& p, int block) {
    int pairs = cdiv(p.queries, 128), head = block / pairs, pair = block % pairs;
    int visible = min(max(pair * 128 + 128 + p.right, 0), p.keys);  // keys that were multiplied
    int groups = min(cdiv(visible, 128), 2 * p.programs);
    const float* at = p.highest_pshq + ((size_t)head * pairs + pair) * 128 + threadIdx.x;
    size_t step = (size_t)p.heads * pairs * 128;
    float list[LIST];
#pragma unroll
    for (int i = 0; i < LIST; i++) list[i] = HIDDEN;
    for (int group = 0; group < groups; group += 16) {
        float v[16];
#pragma unroll
        for (int i = 0; i < 16; i++) v[i] = group + i < groups ? __ldg(at + (group + i) * step) : HIDDEN;
#pragma unroll
        for (int i = 0; i < 16; i++) insert(list, v[i]);
    }
    float reached = list[TOP - 1];
    reached -= fabsf(reached) * 1e-6f + 1e-30f;  // below it, in whatever order sums are taken
    p.threshold_hq[((size_t)head * pairs + pair) * 128 + threadIdx.x] = fmaxf(reached, HIDDEN / 2);
}

extern "C" __global__ void reduce(const __grid_constant__ ReduceArguments p) {
    wait_for_previous_kernels();
    int block = blockIdx.x;
    if (HIGHEST && block < p.query_blocks) return reduce_threshold(p, block);
    if (HIGHEST) block -= p.query_blocks;
    if (ENTROPY && block < p.query_blocks) return reduce_entropy(p, block);
    if (ENTROPY) block -= p.query_blocks;
    if (MAP) reduce_map(p, block);
}
