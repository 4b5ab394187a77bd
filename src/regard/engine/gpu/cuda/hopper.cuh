// Shared by the kernels for Hopper: tiles loaded by the copy engine, products of tiles by the tensor
// cores, and barriers between the warps that load and the warps that compute.
//
// WIDTH (64 or 128) is the width of a head; DTYPE is bf16 or f16.

typedef unsigned int u32;
typedef unsigned long long u64;

struct alignas(64) Tensor { u64 opaque[16]; };  // CUtensorMap

constexpr int CHUNKS = WIDTH / 64;       // a row of a tile is cut into chunks of 128 bytes
constexpr int TILE = 128;                // rows that one copy brings in
constexpr int CHUNK_BYTES = TILE * 128;
constexpr int TILE_BYTES = CHUNKS * CHUNK_BYTES;
constexpr float HIDDEN = -1e30f;         // a product that no factor brings above a visible one

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// Barriers: a stage is full when its bytes have arrived, empty when every warp has read it.

__device__ __forceinline__ void barrier_init(u64* barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count));
}

__device__ __forceinline__ void barrier_expect(u64* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_fence() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// One lane of a warp arrives for it; by a predicate, since a branch would split the code around it.
__device__ __forceinline__ void barrier_arrive(u64* barrier, int lane) {
    asm volatile(
        "{\n.reg .pred first;\nsetp.eq.s32 first, %1, 0;\n"
        "@first mbarrier.arrive.shared::cta.b64 _, [%0];\n}"
        ::"r"(shared_address(barrier)), "r"(lane) : "memory");
}

__device__ __forceinline__ void barrier_wait(u64* barrier, int phase) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}"
        ::"r"(shared_address(barrier)), "r"(phase) : "memory");
}

__device__ __forceinline__ void fetch(const Tensor* tensor, void* to, u64* barrier, int row, int head) {
    // A tile of TILE rows, chunk by chunk; rows past the end of the head are zeros.
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        asm volatile(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [%0], [%1, {%3, %4, %5}], [%2];"
            ::"r"(shared_address(to) + chunk * CHUNK_BYTES), "l"(tensor), "r"(shared_address(barrier)),
            "r"(chunk * 64), "r"(row), "r"(head) : "memory");
}

// A row of TILE numbers.
__device__ __forceinline__ void fetch_row(const float* from, void* to, u64* barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        ::"r"(shared_address(to)), "l"(from), "n"(TILE * 4), "r"(shared_address(barrier)) : "memory");
}

// Products of 64 rows of one tile with the 128 rows of another, both K-major, swizzled by 128 bytes.
// A descriptor holds a tile's address in units of 16 bytes and the distance between 8 rows.

constexpr u32 ROW_UNITS = 128 / 16;
constexpr u32 TILE_UNITS = TILE_BYTES / 16;

__device__ __forceinline__ u32 encoded_address(const void* tile) {
    return (shared_address(tile) & 0x3FFFF) >> 4 | 1u << 16;
}

__device__ __forceinline__ u64 descriptor(u32 tile) { return (u64)(64u | 1u << 30) << 32 | tile; }

__device__ __forceinline__ void mma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

#define R4(b) "+f"(s[b]), "+f"(s[b + 1]), "+f"(s[b + 2]), "+f"(s[b + 3])
#define R16(b) R4(b), R4(b + 4), R4(b + 8), R4(b + 12)
#define R64 R16(0), R16(16), R16(32), R16(48)
#define ALL_64 \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"

template <int LEFT>
__device__ __forceinline__ void mma_wait(float (&s)[64]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
#pragma unroll
    for (int i = 0; i < 64; i++) asm volatile("" : "+f"(s[i])::"memory");  // not read before
}

__device__ __forceinline__ void mma_step(float (&s)[64], u64 a, u64 b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32." DTYPE "." DTYPE " " ALL_64
        ", %64, %65, p, 1, 1, 0, 0;\n}"
        : R64 : "l"(a), "l"(b), "r"(add));
}

// s = rows @ columns.T, started; 64 rows and 128 columns.
__device__ __forceinline__ void multiply(float (&s)[64], u32 rows, u32 columns) {
    mma_fence();
#pragma unroll
    for (int k = 0; k < WIDTH / 16; k++) {
        u32 at = (k / 4 * CHUNK_BYTES + k % 4 * 32) / 16;
        mma_step(s, descriptor(rows + at), descriptor(columns + at), k > 0);
    }
    mma_commit();
}

// The same with the 64 rows in registers, four for every 16 columns, as `load_rows` leaves them: reading
// both tiles from shared memory would limit the tensor cores.
constexpr int STEPS = WIDTH / 16;

__device__ __forceinline__ void load_rows(u32 (&rows)[STEPS][4], const void* tile, int first, int lane) {
    int row = first + lane % 16;
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        int chunk = k * 2 + lane / 16;  // of 16 bytes; swizzled among the 8 of a row
        u32 at = shared_address(tile) + chunk / 8 * CHUNK_BYTES + row * 128 + ((chunk ^ row) % 8) * 16;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(rows[k][0]), "=r"(rows[k][1]), "=r"(rows[k][2]), "=r"(rows[k][3])
                     : "r"(at) : "memory");
    }
}

__device__ __forceinline__ void multiply(float (&s)[64], const u32 (&rows)[STEPS][4], u32 columns) {
    mma_fence();
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        u32 at = (k / 4 * CHUNK_BYTES + k % 4 * 32) / 16;
        asm volatile(
            "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n128k16.f32." DTYPE "." DTYPE " " ALL_64
            ", {%64, %65, %66, %67}, %68, p, 1, 1, 0;\n}"
            : R64 : "r"(rows[k][0]), "r"(rows[k][1]), "r"(rows[k][2]), "r"(rows[k][3]),
              "l"(descriptor(columns + at)), "r"((int)(k > 0)));
    }
    mma_commit();
}

template <int N> __device__ __forceinline__ void more_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N> __device__ __forceinline__ void fewer_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

__device__ __forceinline__ float exp2_(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float shuffle_xor(float x, int bit) { return __shfl_xor_sync(~0u, x, bit); }

// The index of this warp, in a form that the compiler knows to be uniform over its lanes.
__device__ __forceinline__ int this_warp() { return __shfl_sync(~0u, threadIdx.x / 32, 0); }

// Programmatic dependent launch: the next kernel may start, and waits here for the ones before it.
__device__ __forceinline__ void wait_for_previous_kernels() {
    asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
}

// Wait for the other warps of a warpgroup of consumers.
__device__ __forceinline__ void warpgroup_sync(int side) {
    asm volatile("bar.sync %0, 128;" ::"r"(side + 1) : "memory");
}

__device__ __forceinline__ int cdiv(int a, int b) { return (a + b - 1) / b; }
