/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * 16 blocks of 8 by 8, f32, 1 right-hand side(s), up to 1 system(s); target cuda:sm_90; schedule multi-stage; variant fused.
 * Generated; do not edit. Regenerate with:
 *   trifold generate --block 8 --horizon 16 --precision f32 --rhs 1 --batch 1 --schedule multi-stage --workers 1 --variant fused --target cuda:sm_90
 * Workspace: 21760 bytes, aligned to 256.
 */
#define TRIFOLD_BLOCK 8
#define TRIFOLD_HORIZON 16LL
#define TRIFOLD_RHS 1
#define TRIFOLD_BATCH 1LL
#define TRIFOLD_REAL float
#define TRIFOLD_REAL_BYTES 4
#define TRIFOLD_SEPARATORS 8LL
#define TRIFOLD_SEPARATOR_BASE 1LL
#define TRIFOLD_SEPARATOR_SCALE 2LL
#define TRIFOLD_COUPLINGS 11LL
#define TRIFOLD_D_ROW 8LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 64LL
#define TRIFOLD_D_MEMBER 1024LL
#define TRIFOLD_E_ROW 8LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 64LL
#define TRIFOLD_E_MEMBER 960LL
#define TRIFOLD_STORAGE_FACTOR 64LL
#define TRIFOLD_STORAGE_PANEL 64LL
#define TRIFOLD_STORAGE_UPDATE 64LL
#define TRIFOLD_STORAGE_COUPLING 64LL
#define TRIFOLD_STORAGE_VECTOR 8LL
#define TRIFOLD_OFFSET_STATUS 0LL
#define TRIFOLD_OFFSET_LOG_DETERMINANT 256LL
#define TRIFOLD_OFFSET_QUADRATIC 512LL
#define TRIFOLD_OFFSET_FACTOR 768LL
#define TRIFOLD_OFFSET_NEXT 4864LL
#define TRIFOLD_OFFSET_BEHIND 8960LL
#define TRIFOLD_OFFSET_UPDATE 13056LL
#define TRIFOLD_OFFSET_COUPLING 17152LL
#define TRIFOLD_OFFSET_RHS_UPDATE 19968LL
#define TRIFOLD_OFFSET_INVERSE_COUPLING 20480LL
#define TRIFOLD_OFFSET_FAILURE 20480LL
#define TRIFOLD_OFFSET_FLOORS 20736LL
#define TRIFOLD_OFFSET_POISON 20992LL
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT 21248LL
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC 21504LL
#define TRIFOLD_KERNEL_FACTOR btd_factor_n8_f32_sm90_dd653374
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n8_f32_sm90_dd653374
#define TRIFOLD_KERNEL_FORWARD btd_forward_n8_f32_sm90_dd653374
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n8_f32_sm90_dd653374
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n8_f32_sm90_dd653374
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n8_f32_sm90_dd653374

/* What a launch passes to a kernel. One text for the host library, generated C and device code, so both sides agree;
 * every unit asserts the sizes. Plain 64-bit integers and pointers only. */
#ifndef TRIFOLD_ARGS_H
#define TRIFOLD_ARGS_H

typedef long long trifold_int;

/* Chain c of a run eliminates the positions first + c * stride + k * step, k = 0 .. length - 1, in that order. */
typedef struct {
    trifold_int first, stride, count, length, step;
} trifold_run;

/* The blocks that remain when a level starts are base + scale * p for positions p = 0 .. size - 1. A chain's neighbours
 * are the positions before its first pivot ("behind") and after its last ("ahead"), where those exist. */
typedef struct {
    trifold_int index;                             /* level number, from 0 */
    trifold_int base, scale, size;                 /* remaining blocks */
    trifold_int next_base, next_scale, next_size;  /* remaining blocks of the next level; next_size is 0 at the last one */
    trifold_int coupling, next_coupling;           /* first block of this and the next level's couplings in their buffer; level 0 reads E */
    trifold_int chains, runs;                      /* chains of all runs together; runs in use */
    trifold_run run[3];
} trifold_level;

/* Strides in elements; element (r, c) of block i of member b stands at b * member + i * stage + r * row + c * column. */
typedef struct {
    trifold_int row, column, stage, member;
} trifold_strides;

/* Outcome of a member's factorization. block is -1 when it succeeded. */
typedef struct {
    trifold_int block;  /* first failing block, original order, from 0; -1: none */
    trifold_int row;    /* failing row within it, from 0 */
    trifold_int floors; /* pivots raised to the floor */
} trifold_status;

typedef struct {
    const void* d;           /* D; strides are constants of the unit */
    const void* e;           /* E */
    const void* b;           /* input of a sweep */
    void* x;                 /* output of a sweep; may be b */
    trifold_strides b_strides, x_strides;
    trifold_int columns;     /* right-hand sides of this call, 1 .. TRIFOLD_RHS */
    trifold_int members;     /* active capacity of this call, 1 .. TRIFOLD_BATCH */
    const void* diagonal;    /* added to the diagonal, [batch][N][n]; may be null */
    const void* shift;       /* added to every diagonal entry, [batch]; may be null */
    const int* active;       /* [batch], 0 skips the member; may be null */
    double pivot_floor;      /* relative to the largest diagonal entry of the block as loaded; 0: none */
    void* inverse_diagonal;  /* selected inverse: [batch][N][n][n], row-major, full symmetric blocks */
    void* inverse_coupling;  /* [batch][N-1][n][n], row-major: block (i+1, i) of the inverse */
    void* workspace;         /* factor, slots and results; offsets are constants of the unit */
} trifold_args;

#endif
#define TRIFOLD_ARCH 90
#define TRIFOLD_PADDED 8
#define TRIFOLD_TILE 8
#define TRIFOLD_THREADS 32
#define TRIFOLD_PANEL_LEADING 28
#define TRIFOLD_SWEEP_COLUMNS 1
#define TRIFOLD_SWEEP_PARTS 2
#define TRIFOLD_STAGE_FACTOR 1
#define TRIFOLD_MEMBERS_PER_GROUP 1
#define TRIFOLD_SHARED_FACTOR 1024
#define TRIFOLD_SHARED_SWEEP 544
#define TRIFOLD_TENSOR 0
#define TRIFOLD_ROW_VECTORS 1
#define TRIFOLD_THREADS_INVERSE 64
#define TRIFOLD_SHARED_INVERSE 17664
#define TRIFOLD_SCRATCH_CHAINS 8
#define TRIFOLD_OFFSET_SCRATCH 21760
#define TRIFOLD_FACTOR_BLOCKS 12
#define TRIFOLD_SWEEP_BLOCKS 8

/* Everything that CUDA spells in its own way. platform_hip.cuh and the emulator of the tests supply the same names; the unit
 * has one of them. Device code outside these files uses nothing else of a toolkit. */
#ifndef TRIFOLD_PLATFORM
#define TRIFOLD_PLATFORM
#define TRIFOLD_DEVICE static __device__ __forceinline__ __attribute__((unused))
/* Called, not inlined: kernels that share it share its code, and compile once. Its arguments may be kernel parameters. */
#define TRIFOLD_FUNCTION static __device__ __noinline__ __attribute__((unused))
#define TRIFOLD_PARAMETER const __grid_constant__
#define TRIFOLD_METHOD __device__ __forceinline__
/* `blocks` thread blocks must fit a multiprocessor; always said, since ptxas otherwise spills to fit more. */
#define TRIFOLD_KERNEL(threads, blocks) extern "C" __global__ __launch_bounds__(threads, blocks)

constexpr int warp_lanes = 32;

TRIFOLD_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
TRIFOLD_DEVICE trifold_int group_x() { return blockIdx.x; }
TRIFOLD_DEVICE trifold_int group_y() { return blockIdx.y; }
TRIFOLD_DEVICE void block_sync() { __syncthreads(); }
TRIFOLD_DEVICE void warp_sync() { __syncwarp(); }

extern __shared__ uint4 trifold_shared[];
TRIFOLD_DEVICE void* shared_memory() { return trifold_shared; }

/* Says that a pointer is to device memory, which a called function cannot see; loads may then pass stores to shared memory. */
template <class T>
TRIFOLD_DEVICE T* global_pointer(T* p) {
    __builtin_assume(__isGlobal(p));
    return p;
}

template <class T>
TRIFOLD_DEVICE T shuffle_xor(T value, int mask) {
    return __shfl_xor_sync(0xffffffffu, value, mask);
}

template <class T>
TRIFOLD_DEVICE T shuffle(T value, int lane) {
    return __shfl_sync(0xffffffffu, value, lane);
}

/* Between thread blocks: adds one and returns what was there; a flag that publishes what was written before; its reader. */
TRIFOLD_DEVICE trifold_int claim(trifold_int* counter) {
    return static_cast<trifold_int>(atomicAdd(reinterpret_cast<unsigned long long*>(counter), 1ULL));
}
TRIFOLD_DEVICE void store_release(trifold_int* flag, trifold_int value) {
    asm volatile("st.release.gpu.global.s64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}
TRIFOLD_DEVICE trifold_int load_acquire(const trifold_int* flag) {
    trifold_int value;
    asm volatile("ld.acquire.gpu.global.s64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    return value;
}
/* What a thread does between two looks at a flag. */
TRIFOLD_DEVICE void spin() {}

/* 16 bytes on their way from device to shared memory. They are there for this thread after it has ended a group of copies and
 * waited until at most `Pending` later groups are under way; for others after a barrier. */
TRIFOLD_DEVICE void copy_async(void* to, const void* from) {
#if TRIFOLD_ARCH >= 80
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from) : "memory");
#else
    *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
#endif
}
TRIFOLD_DEVICE void end_copies() {
#if TRIFOLD_ARCH >= 80
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int Pending>
TRIFOLD_DEVICE void wait_copies() {
#if TRIFOLD_ARCH >= 80
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

/* A barrier of all threads of a cluster of blocks; where there are no clusters, a block is one of its own. */
TRIFOLD_DEVICE void cluster_sync() {
#if TRIFOLD_ARCH >= 90
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    block_sync();
#endif
}

/* 16 bytes at once; the address must be a multiple of 16. */
TRIFOLD_DEVICE void load_vector(double (&to)[2], const double* from) {
    const double2 v = *reinterpret_cast<const double2*>(from);
    to[0] = v.x, to[1] = v.y;
}
TRIFOLD_DEVICE void load_vector(float (&to)[4], const float* from) {
    const float4 v = *reinterpret_cast<const float4*>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
TRIFOLD_DEVICE void store_vector(double* to, const double (&from)[2]) { *reinterpret_cast<double2*>(to) = make_double2(from[0], from[1]); }
TRIFOLD_DEVICE void store_vector(float* to, const float (&from)[4]) {
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

/* (c0; c1) += columns rows: a warp's product of 16 by 4 Quads and 4 Quads by 8. Operands hold element k = 4 i + lane % 4 at
 * index i, of lines lane / 4 and lane / 4 + 8; c0 and c1 hold elements 2 (lane % 4) and the next of those lines. */
template <int Quads>
TRIFOLD_DEVICE void tensor_multiply(double (&c0)[2], double (&c1)[2], const double (&columns)[2][Quads], const double (&rows)[Quads]) {
    static_assert(Quads == 2 || Quads == 4, "shapes of the instruction");
#if TRIFOLD_ARCH >= 90
    if constexpr (Quads == 4)
        asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
            : "+d"(c0[0]), "+d"(c0[1]), "+d"(c1[0]), "+d"(c1[1])
            : "d"(columns[0][0]), "d"(columns[1][0]), "d"(columns[0][1]), "d"(columns[1][1]), "d"(columns[0][2]), "d"(columns[1][2]),
              "d"(columns[0][3]), "d"(columns[1][3]), "d"(rows[0]), "d"(rows[1]), "d"(rows[2]), "d"(rows[3]));
    else
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+d"(c0[0]), "+d"(c0[1]), "+d"(c1[0]), "+d"(c1[1])
            : "d"(columns[0][0]), "d"(columns[1][0]), "d"(columns[0][1]), "d"(columns[1][1]), "d"(rows[0]), "d"(rows[1]));
#elif TRIFOLD_ARCH >= 80
#pragma unroll
    for (int i = 0; i < Quads; ++i) {
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c0[0]), "+d"(c0[1]) : "d"(columns[0][i]), "d"(rows[i]));
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c1[0]), "+d"(c1[1]) : "d"(columns[1][i]), "d"(rows[i]));
    }
#endif
}

/* The same product by the names that all platforms have: c += A B' for tensor_rows rows of A and 16 of B, 4 Quads columns each. A
 * lane holds, at index i, column 4 i + tensor_depth() of row tensor_row() of A, and of rows tensor_column() + 8 c of B. It
 * has the results of these columns c in rows result_row(v) and the next. Both may be permuted, as the result's rows are. */
constexpr int tensor_rows = 8, tensor_columns = 2, tensor_vectors = 1;
TRIFOLD_DEVICE int tensor_depth() { return thread_index() % 4; }
TRIFOLD_DEVICE int tensor_row() { return thread_index() % warp_lanes / 4; }
TRIFOLD_DEVICE int tensor_column() { return thread_index() % warp_lanes / 4; }
TRIFOLD_DEVICE int result_row(int) { return thread_index() % 4 * 2; }
template <int Quads>
TRIFOLD_DEVICE void tensor_multiply(double (&c)[tensor_columns][tensor_vectors][2], const double (&columns)[tensor_columns][Quads],
                                    const double (&rows)[Quads]) {
    tensor_multiply<Quads>(c[0][0], c[1][0], columns, rows);
}

/* 1 / sqrt(d) to the last bit or so, for normal d; about 23 correct bits before correction. */
TRIFOLD_DEVICE double approximate_rsqrt(double d) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(d));
    return y;
}
TRIFOLD_DEVICE float approximate_rsqrt(float d) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(d));
    return y;
}
TRIFOLD_DEVICE double not_a_number() { return __longlong_as_double(0x7ff8000000000000LL); }
TRIFOLD_DEVICE double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
TRIFOLD_DEVICE double natural_log(double d) { return log(d); }

#endif

/* Names shared by all kernels: sizes, the geometry of chains, and where things stand in the workspace. */
typedef TRIFOLD_REAL real;

/* Blocks are padded to `padded` rows and columns on chip and in the workspace: pivots by the identity, everything else
 * by zeros. Workspace blocks are column-major with that leading dimension. The diagonal tiles of a factor, `tile` wide,
 * are stored inverted, so that every triangular solve is a sequence of products. */
constexpr int block_size = TRIFOLD_BLOCK;
constexpr int padded = TRIFOLD_PADDED;
constexpr int tile = TRIFOLD_TILE;
constexpr int vector_width = 16 / static_cast<int>(sizeof(real));
constexpr int strip = padded < 8 ? padded : 8;  /* columns of a product that one thread takes */
constexpr int threads = TRIFOLD_THREADS;
constexpr trifold_int storage = static_cast<trifold_int>(padded) * padded;
constexpr bool use_tensor = TRIFOLD_TENSOR; /* tensor instructions for products in double precision */
constexpr trifold_int sound = 0x7fffffffffffffffLL, fed_by_failure = sound - 1;

static_assert(sizeof(real) == TRIFOLD_REAL_BYTES && sizeof(trifold_level) == 208 && sizeof(trifold_args) == 168, "host and device disagree");
static_assert(TRIFOLD_STORAGE_FACTOR == storage && TRIFOLD_STORAGE_PANEL == storage && TRIFOLD_STORAGE_UPDATE == storage &&
                  TRIFOLD_STORAGE_COUPLING == storage && TRIFOLD_STORAGE_VECTOR == static_cast<trifold_int>(padded) * TRIFOLD_RHS,
              "host and device disagree");

/* A chain and the positions on either side of it, -1 where the path ends. */
struct Chain {
    trifold_int first, step, length, ahead, behind;
};

TRIFOLD_DEVICE Chain find_chain(const trifold_level& level, trifold_int number) {
    Chain chain{};
    bool found = false;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        const trifold_run& run = level.run[k];
        if (!found && number < run.count) {
            found = true;
            chain.first = run.first + number * run.stride, chain.step = run.step, chain.length = run.length;
        }
        if (!found) number -= run.count;
    }
    chain.ahead = chain.first + chain.length * chain.step;
    chain.behind = chain.first - chain.step;
    if (chain.ahead >= level.size) chain.ahead = -1;
    if (chain.behind >= level.size) chain.behind = -1;
    return chain;
}

TRIFOLD_DEVICE trifold_int block_at(const trifold_level& level, trifold_int position) { return level.base + level.scale * position; }

template <class T>
TRIFOLD_DEVICE T* buffer(const trifold_args& args, trifold_int offset) {
    return global_pointer(reinterpret_cast<T*>(static_cast<char*>(args.workspace) + offset));
}

TRIFOLD_DEVICE trifold_int block_index(trifold_int member, trifold_int block) { return member * TRIFOLD_HORIZON + block; }
TRIFOLD_DEVICE real* factor_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, TRIFOLD_OFFSET_FACTOR) + block_index(member, block) * storage;
}
TRIFOLD_DEVICE real* next_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, TRIFOLD_OFFSET_NEXT) + block_index(member, block) * storage;
}
TRIFOLD_DEVICE real* behind_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, TRIFOLD_OFFSET_BEHIND) + block_index(member, block) * storage;
}

/* Side 0 of a separator belongs to the chains at lower positions, side 1 to those at higher ones. */
TRIFOLD_DEVICE trifold_int slot_index(trifold_int member, trifold_int block, int side) {
    return (side * TRIFOLD_BATCH + member) * TRIFOLD_SEPARATORS + (block - TRIFOLD_SEPARATOR_BASE) / TRIFOLD_SEPARATOR_SCALE;
}
/* Every block but those at the ends of the path is updated from both sides at level 0. */
TRIFOLD_DEVICE bool has_side(trifold_int block, int side) { return side == 0 ? block > 0 : block < TRIFOLD_HORIZON - 1; }
TRIFOLD_DEVICE int side_ahead(const Chain& chain) { return chain.step > 0 ? 0 : 1; }
TRIFOLD_DEVICE int side_behind(const Chain& chain) { return chain.step > 0 ? 1 : 0; }

TRIFOLD_DEVICE real* update_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, TRIFOLD_OFFSET_UPDATE) + slot_index(member, block, side) * storage;
}
TRIFOLD_DEVICE real* rhs_update_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, TRIFOLD_OFFSET_RHS_UPDATE) + slot_index(member, block, side) * TRIFOLD_STORAGE_VECTOR;
}
TRIFOLD_DEVICE int& poison_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<int>(args, TRIFOLD_OFFSET_POISON)[slot_index(member, block, side)];
}
TRIFOLD_DEVICE bool is_active(const trifold_args& args, trifold_int member) {
    return member < args.members && (args.active == nullptr || args.active[member] != 0);
}

/* The coupling of positions p and q = p +- 1 of a level, A(higher, lower): E at level 0, a block of the workspace above it. */
TRIFOLD_DEVICE const real* coupling_at(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int p, trifold_int q) {
    const trifold_int lower = p < q ? p : q;
    if (level.index == 0) return global_pointer(static_cast<const real*>(args.e)) + member * TRIFOLD_E_MEMBER + lower * TRIFOLD_E_STAGE;
    return buffer<real>(args, TRIFOLD_OFFSET_COUPLING) + (member * TRIFOLD_COUPLINGS + level.coupling + lower) * storage;
}
/* The coupling that a chain leaves between the separators on its two sides. */
TRIFOLD_DEVICE trifold_int next_coupling_index(const trifold_level& level, trifold_int member, const Chain& chain) {
    const trifold_int lower = block_at(level, chain.step > 0 ? chain.behind : chain.ahead);
    return member * TRIFOLD_COUPLINGS + level.next_coupling + (lower - level.next_base) / level.next_scale;
}

/* The indices of element e of a block: u runs over the contiguous direction of memory, in groups of 8, and v over the
 * other. A warp then reads whole sectors and writes shared memory of leading dimension 4 modulo 8 without conflicts. */
struct Place {
    int u, v;
};
TRIFOLD_DEVICE Place place(int e) { return {e % strip + e / (strip * padded) * strip, e / strip % padded}; }

/* A(p, q) into column-major `to`, zeros in the padding, from the couplings A(higher, lower). */
TRIFOLD_DEVICE void load_coupling(real* to, int leading, const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int p,
                                  trifold_int q) {
    const real* from = global_pointer(coupling_at(args, level, member, p, q));
    constexpr trifold_int pitch = TRIFOLD_E_ROW > TRIFOLD_E_COLUMN ? TRIFOLD_E_ROW : TRIFOLD_E_COLUMN;
    const bool by_rows = (level.index > 0 || TRIFOLD_E_ROW < TRIFOLD_E_COLUMN) == (p > q);
    const trifold_int step = level.index > 0 ? padded : pitch;
    const int du = by_rows ? 1 : leading, dv = by_rows ? leading : 1;
#pragma unroll 4
    for (int e = thread_index(); e < padded * padded; e += threads) {
        const Place at = place(e);
        to[at.u * du + at.v * dv] = at.u < block_size && at.v < block_size ? from[at.u + at.v * step] : real(0);
    }
}

/* What is added to diagonal entry r of a block of D. */
TRIFOLD_DEVICE real diagonal_term(const trifold_args& args, trifold_int member, trifold_int block, int r) {
    real term = 0;
    if (args.diagonal != nullptr) term += global_pointer(static_cast<const real*>(args.diagonal))[block_index(member, block) * block_size + r];
    if (args.shift != nullptr) term += global_pointer(static_cast<const real*>(args.shift))[member];
    return term;
}

/* The lower triangle of a block's diagonal as its level finds it, the identity in the padding; `to` may have rubbish above. */
TRIFOLD_DEVICE void load_diagonal(real* to, int leading, const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block) {
    const real* from = global_pointer(static_cast<const real*>(args.d)) + member * TRIFOLD_D_MEMBER + block * TRIFOLD_D_STAGE;
    const real* low = level.index > 0 && has_side(block, 0) ? update_of(args, member, block, 0) : nullptr;
    const real* high = level.index > 0 && has_side(block, 1) ? update_of(args, member, block, 1) : nullptr;
#pragma unroll 4
    for (int e = thread_index(); e < padded * padded; e += threads) {
        const Place at = place(e);
        const int r = TRIFOLD_D_ROW == 1 ? at.u : at.v, c = TRIFOLD_D_ROW == 1 ? at.v : at.u;
        real value = r == c ? real(1) : real(0);
        if (r < block_size && c <= r) {
            value = from[r * TRIFOLD_D_ROW + c * TRIFOLD_D_COLUMN];
            if (r == c) value += diagonal_term(args, member, block, r);
            if (low != nullptr) value -= low[r + c * padded];
            if (high != nullptr) value -= high[r + c * padded];
        }
        if (c <= r) to[r + c * leading] = value;
    }
}

/* Products A B' of rows of a panel in shared memory, by tensor instructions in squares of 16 by 16 a warp, or by strips of
 * vector_width rows and `strip` columns a thread. */

/* sum[k][v] += or -= the product of `depth` columns of rows a .. a + vector_width - 1 and b .. b + strip - 1. */
template <int Sign>
TRIFOLD_DEVICE void multiply_rows(real (&sum)[strip][vector_width], const real* a, const real* b, int leading, int depth) {
#pragma unroll 4
    for (int k = 0; k < depth; ++k) {
        real x[vector_width], y[strip / vector_width][vector_width];
        load_vector(x, a + k * leading);
#pragma unroll
        for (int q = 0; q < strip / vector_width; ++q) load_vector(y[q], b + q * vector_width + k * leading);
#pragma unroll
        for (int c = 0; c < strip; ++c)
#pragma unroll
            for (int v = 0; v < vector_width; ++v) sum[c][v] += (Sign < 0 ? -x[v] : x[v]) * y[c / vector_width][c % vector_width];
    }
}

/* part[c][q ..] += columns rows, for the q-th product of a lane's results. */
template <int Rows, int Quads>
TRIFOLD_DEVICE void multiply_part(real (&part)[tensor_columns][Rows][2], int q, const real (&columns)[tensor_columns][Quads], const real (&rows)[Quads]) {
    real sum[tensor_columns][tensor_vectors][2];
#pragma unroll
    for (int c = 0; c < tensor_columns; ++c)
#pragma unroll
        for (int v = 0; v < tensor_vectors; ++v)
#pragma unroll
            for (int k = 0; k < 2; ++k) sum[c][v][k] = part[c][q * tensor_vectors + v][k];
    tensor_multiply<Quads>(sum, columns, rows);
#pragma unroll
    for (int c = 0; c < tensor_columns; ++c)
#pragma unroll
        for (int v = 0; v < tensor_vectors; ++v)
#pragma unroll
            for (int k = 0; k < 2; ++k) part[c][q * tensor_vectors + v][k] = sum[c][v][k];
}

/* A warp's square: element (square_row(q) + v, square_column(c)) at [c][q][v]. Halves that do not exist repeat the first,
 * and nobody looks at their results. */
constexpr int square_vectors = 16 / tensor_rows * tensor_vectors;
struct Square {
    real at[tensor_columns][square_vectors][2];
};
TRIFOLD_DEVICE int square_row(int q) { return q / tensor_vectors * tensor_rows + result_row(q % tensor_vectors); }
TRIFOLD_DEVICE int square_column(int c) { return c * 8 + tensor_column(); }
/* The first of the 8 rows or columns that exist together. */
TRIFOLD_DEVICE int first_of_eight(int line) { return line & ~7; }

/* square += A B' over `depth` columns, a multiple of 4, in steps of 4 Quads, zeros beyond. `a` and `b` are the first rows. All
 * lanes take the same steps, and see that they do. */
template <int Quads, class S>
TRIFOLD_DEVICE void multiply_square(S& square, const real* a, const real* b, bool two_rows, bool two_columns, int leading, int depth) {
    a += (two_rows ? tensor_row() : tensor_row() % 8) + tensor_depth() * leading;
    b += (two_columns ? tensor_column() : tensor_column() % 8) + tensor_depth() * leading;
    const int next_a = two_rows ? tensor_rows : 0, next_b = two_columns ? 8 : 0;
#pragma unroll 2
    for (int k = 0; k < depth; k += 4 * Quads) {
        real columns[tensor_columns][Quads], rows[16 / tensor_rows][Quads];
#pragma unroll
        for (int i = 0; i < Quads; ++i) {
            const bool inside = k + 4 * i < depth;
            const int at = (k + 4 * i) * leading;
#pragma unroll
            for (int c = 0; c < tensor_columns; ++c) columns[c][i] = inside ? b[at + c * next_b] : real(0);
#pragma unroll
            for (int q = 0; q < 16 / tensor_rows; ++q) rows[q][i] = inside ? a[at + q * next_a] : real(0);
        }
#pragma unroll
        for (int q = 0; q < 16 / tensor_rows; ++q) multiply_part(square.at, q, columns, rows[q]);
    }
}

/* use(sum, r, c) for every vector of rows r .. in column c of A B', where A and B are `padded` panel rows from a and b on;
 * the lower part, and perhaps more of the tiles on the diagonal, only where so asked. */
template <class Use>
TRIFOLD_DEVICE void multiply_panels(const real* panel, int leading, int a, int b, bool lower, const Use& use) {
    if constexpr (use_tensor && padded >= 8) {
        int unit = thread_index() / warp_lanes;
#pragma unroll 1
        for (int column = 0; column < padded; column += 16) {
            const int first = lower ? column : 0, units = (padded - first + 15) / 16;
#pragma unroll 1
            for (; unit < units; unit += threads / warp_lanes) {
                const int row = first + unit * 16;
                Square square{};
                multiply_square<4>(square, panel + a + row, panel + b + column, row + 8 < padded, column + 8 < padded, leading, padded);
#pragma unroll
                for (int c = 0; c < tensor_columns; ++c)
#pragma unroll
                    for (int q = 0; q < square_vectors; ++q)
                        if (row + first_of_eight(square_row(q)) < padded && column + first_of_eight(square_column(c)) < padded)
                            use(square.at[c][q], row + square_row(q), column + square_column(c));
            }
            unit -= units;
        }
    } else {
        int unit = thread_index();
#pragma unroll 1
        for (int column = 0; column < padded; column += strip) {
            const int first = lower ? column : 0, units = (padded - first) / vector_width;
#pragma unroll 1
            for (; unit < units; unit += threads) {
                real sum[strip][vector_width] = {};
                const int row = first + unit * vector_width;
                multiply_rows<1>(sum, panel + a + row, panel + b + column, leading, padded);
#pragma unroll
                for (int c = 0; c < strip; ++c) use(sum[c], row, column + c);
            }
            unit -= units;
        }
    }
}

/* Columns j .. j + 7 eliminated from everything right of them, but for the next diagonal tile, which the first warp has.
 * The other warps share the work; `rows` is a multiple of 8. */
TRIFOLD_DEVICE void update_trailing(real* panel, int leading, int j, int size, int rows) {
    if constexpr (use_tensor) {
        int unit = thread_index() / warp_lanes - 1;
#pragma unroll 1
        for (int column = j + 8; column < size; column += 16) {
            const int units = (rows - column + 15) / 16;
#pragma unroll 1
            for (; unit < units; unit += threads / warp_lanes - 1) {
                const int row = column + unit * 16;
                Square square{};
                multiply_square<2>(square, panel + row + j * leading, panel + column + j * leading, row + 8 < rows, column + 8 < size, leading, 8);
#pragma unroll
                for (int c = 0; c < tensor_columns; ++c)
#pragma unroll
                    for (int q = 0; q < square_vectors; ++q) {
                        const int r = row + first_of_eight(square_row(q)), s = column + first_of_eight(square_column(c));
                        if (r >= rows || s >= size || r < s || (r == j + 8 && s == j + 8)) continue;
                        real v[vector_width];
                        real* at = panel + row + square_row(q) + (column + square_column(c)) * leading;
                        load_vector(v, at);
#pragma unroll
                        for (int k = 0; k < vector_width; ++k) v[k] -= square.at[c][q][k];
                        store_vector(at, v);
                    }
            }
            unit -= units;
        }
    } else {
        int unit = thread_index() - warp_lanes;
#pragma unroll 1
        for (int column = j + 8; column < size; column += 8) {
            const int first = column == j + 8 ? column + 8 : column, units = (rows - first) / vector_width;
#pragma unroll 1
            for (; unit < units; unit += threads - warp_lanes) {
                real sum[strip][vector_width];
                real* at = panel + first + unit * vector_width + column * leading;
#pragma unroll
                for (int k = 0; k < strip; ++k) load_vector(sum[k], at + k * leading);
                multiply_rows<-1>(sum, panel + first + unit * vector_width + j * leading, panel + column + j * leading, leading, 8);
#pragma unroll
                for (int k = 0; k < strip; ++k) store_vector(at + k * leading, sum[k]);
            }
            unit -= units;
        }
    }
}

/* Factorization of a panel in shared memory: rows 0 .. size - 1 are the pivot block, the rows below it ride along. The
 * panel is column-major; its leading dimension is 4 modulo 8. Tiles of `w` columns; the diagonal tiles are left inverted. */

/* What pivots are tested against, and what became of them. One per thread block, in shared memory. */
struct Pivots {
    double floor;    /* smaller pivots are raised to it; minus infinity: none */
    double log_sum;  /* sum of the pivots' logarithms */
    int failed_row;  /* first row whose pivot failed, or -1 */
    int floors;      /* pivots raised */
};

constexpr real largest = sizeof(real) == 8 ? real(1.7976931348623157e308) : real(3.402823466e38f);
constexpr real smallest_normal = sizeof(real) == 8 ? real(2.2250738585072014e-308) : real(1.175494351e-38f);

/* 1 / sqrt(d) for 0 < d: the hardware's approximation and one correction of third order. The hardware flushes subnormal
 * numbers, so these are scaled, by a factor that joins where nothing waits for it. */
TRIFOLD_DEVICE real inverse_sqrt(real d) {
    constexpr real root = sizeof(real) == 8 ? real(0x1p128) : real(0x1p32f);
    const bool tiny = d < smallest_normal;
    const real x = tiny ? d * root * root : d;
    const real y = approximate_rsqrt(x), scaled = tiny ? y * root : y;
    const real e = real(1) - (x * y) * y;
    return scaled + (e * scaled) * (real(0.5) + real(0.375) * e);
}

/* Factors the w by w tile at `at` and leaves the factor's inverse there. Called by one warp; every lane factors the tile
 * redundantly in registers, which costs less than one shuffle a column. `row` is the tile's first row in the block, of
 * which the first `rows` are real and the rest padding. */
template <int w>
TRIFOLD_DEVICE void factor_tile(real* at, int leading, int row, int rows, Pivots& pivots, double* diagonal) {
    const int lane = thread_index() % warp_lanes;
    const real floor = static_cast<real>(pivots.floor);
    real t[w][w], inverse[w];
#pragma unroll
    for (int c = 0; c < w; ++c)
#pragma unroll
        for (int r = c; r < w; ++r) t[r][c] = at[r + c * leading];
    int failed = -1, floors = 0;
#pragma unroll
    for (int c = 0; c < w; ++c) {
        real d = t[c][c];
        if (d < floor && row + c < rows) d = floor, ++floors;
        const bool passes = d > real(0) && d <= largest;
        if (!passes && failed < 0) failed = row + c;
        if (lane == 0) diagonal[row + c] = d;
        inverse[c] = passes ? inverse_sqrt(d) : static_cast<real>(not_a_number());
#pragma unroll
        for (int r = c + 1; r < w; ++r) t[r][c] *= inverse[c];
#pragma unroll
        for (int k = c + 1; k < w; ++k)
#pragma unroll
            for (int r = k; r < w; ++r) t[r][k] -= t[r][c] * t[k][c];
    }
    warp_sync();
    if (lane == 0) {
        if (failed >= 0 && pivots.failed_row < 0) pivots.failed_row = failed;
        pivots.floors += floors;
    }
    /* Lane c solves for column c of the inverse. */
    real z[w];
#pragma unroll
    for (int r = 0; r < w; ++r) {
        real sum = r == lane ? real(1) : real(0);
#pragma unroll
        for (int k = 0; k < r; ++k) sum -= t[r][k] * z[k];
        z[r] = sum * inverse[r];
    }
    if (lane < w) {
#pragma unroll
        for (int r = 0; r < w; ++r) at[r + lane * leading] = z[r];
    }
    warp_sync();
}

/* Rows first .. last of column tile `at` times the transposed inverse of the diagonal tile. A thread takes whole rows. */
template <int w>
TRIFOLD_DEVICE void solve_rows(real* panel, int leading, int j, int first, int last) {
    const real* inverse = panel + j + j * leading;
#pragma unroll 1
    for (int r = first + thread_index(); r < last; r += threads) {
        real* at = panel + r + j * leading;
        real a[w];
#pragma unroll
        for (int c = 0; c < w; ++c) a[c] = at[c * leading];
#pragma unroll
        for (int c = w - 1; c >= 0; --c) {
            real sum = 0;
#pragma unroll
            for (int k = 0; k <= c; ++k) sum += a[k] * inverse[c + k * leading];
            at[c * leading] = sum;
        }
    }
}

/* The same for the diagonal tile at row and column c, by one warp. */
TRIFOLD_DEVICE void update_tile(real* panel, int leading, int j, int c) {
#pragma unroll 1
    for (int e = thread_index() % warp_lanes; e < 64; e += warp_lanes) {
        const int r = c + e % 8, s = c + e / 8;
        real sum = panel[r + s * leading];
#pragma unroll
        for (int k = j; k < j + 8; ++k) sum -= panel[r + k * leading] * panel[s + k * leading];
        panel[r + s * leading] = sum;
    }
    warp_sync();
}

/* The first warp factors the next diagonal tile while the others update the rest, so its latency hides behind theirs.
 * `rows` is a multiple of vector_width. Starts and ends with the panel visible to all threads. */
template <int Size, int w>
TRIFOLD_DEVICE void factor_panel(real* panel, int leading, int rows, int real_rows, int row, Pivots& pivots, double* diagonal) {
    static_assert(threads > warp_lanes || Size == w, "one warp cannot look ahead");
#pragma unroll 1
    for (int j = 0; j < Size; j += w) {
        if (thread_index() < warp_lanes) {
            if (Size > w && j > 0) update_tile(panel, leading, j - w, j);
            factor_tile<w>(panel + j * (leading + 1), leading, row + j, real_rows, pivots, diagonal);
        } else if (Size > w && j > 0) {
            update_trailing(panel, leading, j - w, Size, rows);
        }
        block_sync();
        solve_rows<w>(panel, leading, j, j + w, rows);
        block_sync();
    }
}

/* Before a block's pivots: floor from the largest diagonal entry of D as the caller gave it. By the whole thread block. */
TRIFOLD_DEVICE void start_pivots(Pivots& pivots, const trifold_args& args, trifold_int member, trifold_int block) {
    if (thread_index() >= warp_lanes) return;
    double floor = -infinity();
    if (args.pivot_floor > 0) {
        const real* d = static_cast<const real*>(args.d) + member * TRIFOLD_D_MEMBER + block * TRIFOLD_D_STAGE;
        double most = -infinity();
        for (int r = thread_index(); r < block_size; r += warp_lanes) {
            const double value = static_cast<double>(d[r * (TRIFOLD_D_ROW + TRIFOLD_D_COLUMN)] + diagonal_term(args, member, block, r));
            if (value > most) most = value;
        }
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
            const double other = shuffle_xor(most, mask);
            if (other > most) most = other;
        }
        floor = args.pivot_floor * most;
    }
    if (thread_index() == 0) pivots.floor = floor, pivots.log_sum = 0, pivots.failed_row = -1, pivots.floors = 0;
}

/* The front's verdict, from the pivots' diagonal; by the whole thread block, after the panel. */
TRIFOLD_DEVICE void report_pivots(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block, bool fed, Pivots& pivots,
                                  const double* diagonal) {
    if (thread_index() >= warp_lanes) return;
    double sum = 0;
    for (int r = thread_index(); r < block_size; r += warp_lanes) sum += natural_log(diagonal[r]);
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
    if (thread_index() != 0) return;
    const trifold_int index = block_index(member, block);
    trifold_int verdict = sound;
    if (pivots.failed_row >= 0) verdict = (level.index * TRIFOLD_HORIZON + block) * block_size + pivots.failed_row;
    if (fed) verdict = fed_by_failure;
    buffer<trifold_int>(args, TRIFOLD_OFFSET_FAILURE)[index] = verdict;
    buffer<int>(args, TRIFOLD_OFFSET_FLOORS)[index] = pivots.floors;
    buffer<double>(args, TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT)[index] = sum;
}

/* Was the block fed, through its slots, by a front that failed? */
TRIFOLD_DEVICE bool is_poisoned(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block) {
    if (level.index == 0) return false;
    return (has_side(block, 0) && poison_of(args, member, block, 0) != 0) || (has_side(block, 1) && poison_of(args, member, block, 1) != 0);
}

/* Passes a chain's verdict on to the separators beside it; one thread. */
TRIFOLD_DEVICE void pass_poison(const trifold_args& args, const trifold_level& level, trifold_int member, const Chain& chain, bool failed) {
    const bool add = level.index > 0;
    if (chain.ahead >= 0) {
        int& flag = poison_of(args, member, block_at(level, chain.ahead), side_ahead(chain));
        flag = (add ? flag : 0) | static_cast<int>(failed);
    }
    if (chain.behind >= 0) {
        int& flag = poison_of(args, member, block_at(level, chain.behind), side_behind(chain));
        flag = (add ? flag : 0) | static_cast<int>(failed);
    }
}

/* Factorization of one chain by one thread block, the whole front in shared memory. Panel rows: pivot block, next
 * neighbour (R), neighbour behind (G). */
constexpr int panel_leading = TRIFOLD_PANEL_LEADING;
constexpr int next_row = padded, behind_row = 2 * padded;

struct FrontShared {
    Pivots pivots;
    Chain chain;  /* here rather than in registers, of which the panel needs all */
    double diagonal[padded];
    alignas(16) real panel[panel_leading * padded];
};
static_assert(sizeof(FrontShared) == TRIFOLD_SHARED_FACTOR, "host and device disagree");

/* Copies panel rows row .. row + padded - 1 to a block of the workspace. */
TRIFOLD_DEVICE void store_rows(real* to, const real* panel, int row) {
    constexpr int vectors = padded / vector_width;
#pragma unroll 4
    for (int e = thread_index(); e < vectors * padded; e += threads) {
        const int r = e % vectors * vector_width, c = e / vectors;
        real v[vector_width];
        load_vector(v, panel + row + r + c * panel_leading);
        store_vector(to + r + c * padded, v);
    }
}

/* A product A B' of panel rows from `a` and `b` on, for a block of the workspace: set or added, or set to its negative;
 * the lower part only where so asked. */
struct Product {
    int a, b;
    real* to;
    bool lower, add, negative;
};

TRIFOLD_DEVICE void multiply_out(const real* panel, const Product& product) {
    multiply_panels(panel, panel_leading, product.a, product.b, product.lower, [&](const real(&sum)[vector_width], int r, int c) {
        real v[vector_width] = {};
        real* at = product.to + r + c * padded;
        if (product.add) load_vector(v, at);
#pragma unroll
        for (int k = 0; k < vector_width; ++k) v[k] = product.negative ? -sum[k] : v[k] + sum[k];
        store_vector(at, v);
    });
}

/* The pivot rows -= R R', in their lower part. */
TRIFOLD_DEVICE void update_pivot(real* panel) {
    multiply_panels(panel, panel_leading, next_row, next_row, true, [&](const real(&sum)[vector_width], int r, int c) {
        real v[vector_width];
        real* at = panel + r + c * panel_leading;
        load_vector(v, at);
#pragma unroll
        for (int k = 0; k < vector_width; ++k) v[k] -= sum[k];
        store_vector(at, v);
    });
}

/* -G R' to the place of the pivot block, which is stored by now; and from there to G's. */
TRIFOLD_DEVICE void multiply_fill(real* panel) {
    multiply_panels(panel, panel_leading, behind_row, next_row, false, [&](const real(&sum)[vector_width], int r, int c) {
        real v[vector_width];
#pragma unroll
        for (int k = 0; k < vector_width; ++k) v[k] = -sum[k];
        store_vector(panel + r + c * panel_leading, v);
    });
    block_sync();
#pragma unroll 1
    for (int e = thread_index() * vector_width; e < padded * padded; e += threads * vector_width) {
        real v[vector_width];
        real* at = panel + e % padded + e / padded * panel_leading;
        load_vector(v, at);
        store_vector(at + behind_row, v);
    }
    block_sync();
}

/* The front of position `position` into the panel: what the level stored, less what the chain's previous front left there. */
TRIFOLD_DEVICE void load_front(real* panel, const trifold_args& args, const trifold_level& level, trifold_int member, const Chain& chain,
                               trifold_int position, bool has_next) {
    const bool first = position == chain.first, fill = chain.behind >= 0;
    if (!first && fill) multiply_fill(panel);
    load_diagonal(panel, panel_leading, args, level, member, block_at(level, position));
    block_sync();
    if (!first) {
        update_pivot(panel);
        block_sync();
    }
#pragma unroll 1
    for (int part = first && fill ? 0 : 1; part < 2; ++part) {
        real* to = panel + (part == 0 ? behind_row : next_row);
        if (part == 0 || has_next) {
            load_coupling(to, panel_leading, args, level, member, part == 0 ? chain.behind : position + chain.step, position);
        } else {
#pragma unroll 1
            for (int e = thread_index(); e < padded * padded; e += threads) to[e % padded + e / padded * panel_leading] = 0;
        }
    }
}

/* A failed front becomes NaN as a whole, so that everything it feeds does. */
TRIFOLD_DEVICE void spoil(real* panel) {
#pragma unroll 1
    for (int e = thread_index(); e < panel_leading * padded; e += threads) panel[e] = static_cast<real>(not_a_number());
    block_sync();
}

/* The chain's updates of the separators beside it, and the coupling it leaves between them. */
TRIFOLD_DEVICE void leave_chain(const real* panel, const trifold_args& args, const trifold_level& level, trifold_int member, const Chain& chain) {
    if (chain.ahead < 0) return;
    const bool add = level.index > 0, up = chain.step > 0;
#pragma unroll 1
    for (int part = 0; part < (chain.behind >= 0 ? 2 : 1); ++part) {
        Product product{next_row, next_row, nullptr, true, add, false};
        if (part == 0) {
            product.to = update_of(args, member, block_at(level, chain.ahead), side_ahead(chain));
        } else {
            real* to = buffer<real>(args, TRIFOLD_OFFSET_COUPLING) + next_coupling_index(level, member, chain) * storage;
            product = {up ? next_row : behind_row, up ? behind_row : next_row, to, false, false, true};
        }
        multiply_out(panel, product);
    }
}

TRIFOLD_FUNCTION void factor_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    FrontShared& shared = *static_cast<FrontShared*>(shared_memory());
    real* panel = shared.panel;
    if (thread_index() == 0) shared.chain = find_chain(level, number);
    block_sync();
    const Chain& chain = shared.chain;
    const bool fill = chain.behind >= 0;
    bool failed = false;
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position);
        const bool last = k + 1 == chain.length, has_next = !last || chain.ahead >= 0;
        load_front(panel, args, level, member, chain, position, has_next);
        start_pivots(shared.pivots, args, member, block);
        block_sync();
        factor_panel<padded, tile>(panel, panel_leading, fill ? 3 * padded : 2 * padded, block_size, 0, shared.pivots, shared.diagonal);
        const bool fed = failed || is_poisoned(args, level, member, block);
        report_pivots(args, level, member, block, fed, shared.pivots, shared.diagonal);
        failed = fed || shared.pivots.failed_row >= 0;
        if (failed) {
            block_sync();
            spoil(panel);
        }
        store_rows(factor_of(args, member, block), panel, 0);
        if (has_next) store_rows(next_of(args, member, block), panel, next_row);
        if (fill) {
            store_rows(behind_of(args, member, block), panel, behind_row);
            real* to = update_of(args, member, block_at(level, chain.behind), side_behind(chain));
            multiply_out(panel, {behind_row, behind_row, to, true, level.index > 0 || k > 0, false});
        }
        block_sync();
    }
    leave_chain(panel, args, level, member, chain);
    if (thread_index() == 0) pass_poison(args, level, member, chain, failed);
}

/* Forward and backward sweeps of one chain by one thread block. `columns_at_once` right-hand sides go together; vectors
 * stand in shared memory as three stacked blocks (pivot, next, behind) a column. Small factors are staged there too. */
constexpr int columns_at_once = TRIFOLD_SWEEP_COLUMNS;
constexpr bool stage_factor = TRIFOLD_STAGE_FACTOR;
constexpr int factor_leading = stage_factor ? padded + 1 : padded;
constexpr int stack = 3 * padded;

struct SweepShared {
    real stacked[columns_at_once][stack];
    real solved[columns_at_once][padded];
    real partial[TRIFOLD_SWEEP_PARTS][columns_at_once][2 * padded];  /* sums over parts of a panel's columns */
    real factor[stage_factor ? factor_leading * padded : 1];
};
static_assert(sizeof(SweepShared) == TRIFOLD_SHARED_SWEEP, "host and device disagree");

/* The columns of a call that one pass treats. */
struct Columns {
    int first, count;
};

TRIFOLD_DEVICE trifold_int rhs_at(const trifold_strides& s, trifold_int member, trifold_int block, int r, int column) {
    return member * s.member + block * s.stage + r * s.row + column * s.column;
}

TRIFOLD_DEVICE void load_rhs(SweepShared& shared, int row, const void* from, const trifold_strides& strides, trifold_int member, trifold_int block,
                             Columns columns) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * columns_at_once; e += threads) {
        const int r = e % padded, c = e / padded;
        const bool inside = r < block_size && c < columns.count;
        shared.stacked[c][row + r] = inside ? static_cast<const real*>(from)[rhs_at(strides, member, block, r, columns.first + c)] : real(0);
    }
}

TRIFOLD_DEVICE void store_rhs(const real (*values)[padded], const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * columns_at_once; e += threads) {
        const int r = e % padded, c = e / padded;
        if (r < block_size && c < columns.count)
            static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, r, columns.first + c)] = values[c][r];
    }
}

/* The right-hand side of a block as its level finds it. */
TRIFOLD_DEVICE void load_running(SweepShared& shared, int row, const trifold_args& args, const trifold_level& level, trifold_int member,
                                 trifold_int block, Columns columns) {
    load_rhs(shared, row, args.b, args.b_strides, member, block, columns);
    if (level.index == 0) return;
    for (int side = 0; side < 2; ++side) {
        if (!has_side(block, side)) continue;
        const real* slot = rhs_update_of(args, member, block, side) + columns.first * padded;
#pragma unroll 1
        for (int e = thread_index(); e < padded * columns_at_once; e += threads)
            if (e / padded < columns.count) shared.stacked[e / padded][row + e % padded] -= slot[e];
    }
}

/* Adds `sign` times the accumulated update in `row` to a separator's slot, or sets it. */
TRIFOLD_DEVICE void store_update(const SweepShared& shared, int row, real* slot, bool add, Columns columns) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * columns.count; e += threads) {
        real* at = slot + columns.first * padded + e;
        const real value = -shared.stacked[e / padded][row + e % padded];
        *at = add ? *at + value : value;
    }
}

TRIFOLD_DEVICE void clear(SweepShared& shared, int row) {
#pragma unroll 1
    for (int e = thread_index(); e < padded * columns_at_once; e += threads) shared.stacked[e / padded][row + e % padded] = 0;
}

/* The factor where the triangular solve reads it. */
TRIFOLD_DEVICE const real* fetch_factor(SweepShared& shared, const real* factor) {
    if constexpr (stage_factor) {
#pragma unroll 8
        for (int e = thread_index(); e < padded * padded; e += threads) {
            const int r = e % padded, c = e / padded;
            if (r / tile >= c / tile) shared.factor[r + c * factor_leading] = factor[e];
        }
        return shared.factor;
    } else {
        return factor;
    }
}

/* solved = L^-1 stacked, tile after tile; the inverted diagonal tiles make every step a product. */
TRIFOLD_DEVICE void solve_lower(SweepShared& shared, const real* factor) {
#pragma unroll 1
    for (int j = 0; j < padded; j += tile) {
#pragma unroll 1
        for (int e = thread_index(); e < tile * columns_at_once; e += threads) {
            const int r = j + e % tile, c = e / tile;
            real sum = 0;
#pragma unroll 8
            for (int k = j; k < j + tile; ++k) sum += factor[r + k * factor_leading] * shared.stacked[c][k];
            shared.solved[c][r] = sum;
        }
        block_sync();
#pragma unroll 1
        for (int r = j + tile + thread_index(); r < padded; r += threads) {
            real sum[columns_at_once] = {};
#pragma unroll 8
            for (int k = j; k < j + tile; ++k) {
                const real a = factor[r + k * factor_leading];
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) sum[c] += a * shared.solved[c][k];
            }
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][r] -= sum[c];
        }
        block_sync();
    }
}

/* solved = L^-T stacked, from the last tile to the first. */
TRIFOLD_DEVICE void solve_upper(SweepShared& shared, const real* factor) {
#pragma unroll 1
    for (int j = padded - tile; j >= 0; j -= tile) {
#pragma unroll 1
        for (int e = thread_index(); e < tile * columns_at_once; e += threads) {
            const int r = j + e % tile, c = e / tile;
            real sum = 0;
#pragma unroll 8
            for (int k = j; k < j + tile; ++k) sum += factor[k + r * factor_leading] * shared.stacked[c][k];
            shared.solved[c][r] = sum;
        }
        block_sync();
#pragma unroll 1
        for (int r = thread_index(); r < j; r += threads) {
            real sum[columns_at_once] = {};
#pragma unroll 8
            for (int k = j; k < j + tile; ++k) {
                const real a = factor[k + r * factor_leading];
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) sum[c] += a * shared.solved[c][k];
            }
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][r] -= sum[c];
        }
        block_sync();
    }
}

constexpr int panel_rows = 2 * padded, parts = TRIFOLD_SWEEP_PARTS, part_depth = padded / parts;

/* stacked next and behind -= panels * solved; a thread takes whole rows of a part, so that lanes read down columns. */
TRIFOLD_DEVICE void apply_panels(SweepShared& shared, const real* next, const real* behind) {
#pragma unroll 1
    for (int unit = thread_index(); unit < panel_rows * parts; unit += threads) {
        const int row = unit % panel_rows, part = unit / panel_rows, first = part * part_depth;
        const real* panel = row < padded ? next : behind;
        real sum[columns_at_once] = {};
        if (panel != nullptr) {
            panel += row % padded + static_cast<trifold_int>(first) * padded;
#pragma unroll 16
            for (int k = 0; k < part_depth; ++k) {
                const real a = panel[static_cast<trifold_int>(k) * padded];
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) sum[c] += a * shared.solved[c][first + k];
            }
        }
        if (parts > 1 && part > 0) {
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.partial[part - 1][c][row] = sum[c];
        } else {
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][padded + row] -= sum[c];
        }
    }
    if (parts == 1) return;
    block_sync();
#pragma unroll 1
    for (int row = thread_index(); row < panel_rows; row += threads)
        for (int part = 1; part < parts; ++part)
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][padded + row] -= shared.partial[part - 1][c][row];
}

/* Pivot rows of stacked -= panels' * stacked next and behind: a warp takes four columns, its lanes the rows. */
TRIFOLD_DEVICE void apply_transposed(SweepShared& shared, const real* next, const real* behind) {
    constexpr int group = columns_at_once > 4 ? 2 : 4;
    const int lane = thread_index() % warp_lanes;
#pragma unroll 1
    for (int k = thread_index() / warp_lanes * group; k < padded; k += threads / warp_lanes * group) {
        real sum[group][columns_at_once] = {};
#pragma unroll
        for (int which = 0; which < 2; ++which) {
            const real* panel = which == 0 ? next : behind;
            if (panel == nullptr) continue;
            panel += static_cast<trifold_int>(k) * padded;
#pragma unroll 1
            for (int r = lane; r < padded; r += warp_lanes) {
                real a[group];
#pragma unroll
                for (int q = 0; q < group; ++q) a[q] = panel[r + q * padded];
#pragma unroll
                for (int q = 0; q < group; ++q)
#pragma unroll
                    for (int c = 0; c < columns_at_once; ++c) sum[q][c] += a[q] * shared.stacked[c][(which + 1) * padded + r];
            }
        }
#pragma unroll
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2)
#pragma unroll
            for (int q = 0; q < group; ++q)
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) sum[q][c] += shuffle_xor(sum[q][c], mask);
        if (lane == 0) {
#pragma unroll
            for (int q = 0; q < group; ++q)
#pragma unroll
                for (int c = 0; c < columns_at_once; ++c) shared.stacked[c][k + q] -= sum[q][c];
        }
    }
}

/* The squared norm of the solved block, by column, for b' A^-1 b. */
TRIFOLD_DEVICE void store_quadratic(const SweepShared& shared, const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
    const int lane = thread_index() % warp_lanes;
    double* to = buffer<double>(args, TRIFOLD_OFFSET_BLOCK_QUADRATIC) + block_index(member, block) * TRIFOLD_RHS + columns.first;
    for (int c = thread_index() / warp_lanes; c < columns.count; c += threads / warp_lanes) {
        double sum = 0;
        for (int r = lane; r < block_size; r += warp_lanes) sum += static_cast<double>(shared.solved[c][r]) * shared.solved[c][r];
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (lane == 0) to[c] = sum;
    }
}

TRIFOLD_DEVICE void forward_columns(SweepShared& shared, const trifold_args& args, const trifold_level& level, const Chain& chain, trifold_int member,
                                    Columns columns) {
    load_running(shared, 0, args, level, member, block_at(level, chain.first), columns);
    clear(shared, 2 * padded);
#pragma unroll 1
    for (trifold_int k = 0; k < chain.length; ++k) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position);
        const bool last = k + 1 == chain.length;
        const real* factor = fetch_factor(shared, factor_of(args, member, block));
        if (last)
            clear(shared, padded);
        else
            load_running(shared, padded, args, level, member, block_at(level, position + chain.step), columns);
        block_sync();
        solve_lower(shared, factor);
        const bool has_next = !last || chain.ahead >= 0;
        apply_panels(shared, has_next ? next_of(args, member, block) : nullptr, chain.behind >= 0 ? behind_of(args, member, block) : nullptr);
        store_rhs(shared.solved, args, member, block, columns);
        store_quadratic(shared, args, member, block, columns);
        block_sync();
        if (last) break;
#pragma unroll 1
        for (int e = thread_index(); e < padded * columns_at_once; e += threads)
            shared.stacked[e / padded][e % padded] = shared.stacked[e / padded][padded + e % padded];
        block_sync();
    }
    const bool add = level.index > 0;
    if (chain.ahead >= 0)
        store_update(shared, padded, rhs_update_of(args, member, block_at(level, chain.ahead), side_ahead(chain)), add, columns);
    if (chain.behind >= 0)
        store_update(shared, 2 * padded, rhs_update_of(args, member, block_at(level, chain.behind), side_behind(chain)), add, columns);
    block_sync();
}

TRIFOLD_DEVICE void backward_columns(SweepShared& shared, const trifold_args& args, const trifold_level& level, const Chain& chain, trifold_int member,
                                     Columns columns) {
    if (chain.ahead >= 0) load_rhs(shared, padded, args.x, args.x_strides, member, block_at(level, chain.ahead), columns);
    if (chain.behind >= 0) load_rhs(shared, 2 * padded, args.x, args.x_strides, member, block_at(level, chain.behind), columns);
#pragma unroll 1
    for (trifold_int k = chain.length; k-- > 0;) {
        const trifold_int block = block_at(level, chain.first + k * chain.step);
        const bool last = k + 1 == chain.length;
        const real* factor = fetch_factor(shared, factor_of(args, member, block));
        load_rhs(shared, 0, args.b, args.b_strides, member, block, columns);
        block_sync();
        const bool has_next = !last || chain.ahead >= 0;
        apply_transposed(shared, has_next ? next_of(args, member, block) : nullptr, chain.behind >= 0 ? behind_of(args, member, block) : nullptr);
        block_sync();
        solve_upper(shared, factor);
        store_rhs(shared.solved, args, member, block, columns);
#pragma unroll 1
        for (int e = thread_index(); e < padded * columns_at_once; e += threads)
            shared.stacked[e / padded][padded + e % padded] = shared.solved[e / padded][e % padded];
        block_sync();
    }
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    const Chain chain = find_chain(level, number);
    for (int first = 0; first < args.columns; first += columns_at_once) {
        const int rest = static_cast<int>(args.columns) - first;
        const Columns columns{first, rest < columns_at_once ? rest : columns_at_once};
        if (Forward)
            forward_columns(shared, args, level, chain, member, columns);
        else
            backward_columns(shared, args, level, chain, member, columns);
    }
}

/* The verdict on a member, from its blocks': every thread sums its own blocks, then a tree, so the order never varies. */
struct FinishShared {
    double sum[threads];
    trifold_int failure[threads];
    trifold_int floors[threads];
};

TRIFOLD_DEVICE void finish_factor_member(const trifold_args& args, trifold_int member) {
    FinishShared& shared = *static_cast<FinishShared*>(shared_memory());
    const int t = thread_index();
    double sum = 0;
    trifold_int failure = sound, floors = 0;
    for (trifold_int block = t; block < TRIFOLD_HORIZON; block += threads) {
        const trifold_int index = block_index(member, block);
        const trifold_int verdict = buffer<trifold_int>(args, TRIFOLD_OFFSET_FAILURE)[index];
        if (verdict < failure) failure = verdict;
        floors += buffer<int>(args, TRIFOLD_OFFSET_FLOORS)[index];
        sum += buffer<double>(args, TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT)[index];
    }
    shared.sum[t] = sum, shared.failure[t] = failure, shared.floors[t] = floors;
    block_sync();
    for (int half = threads / 2; half > 0; half /= 2) {
        if (t < half) {
            shared.sum[t] += shared.sum[t + half];
            shared.floors[t] += shared.floors[t + half];
            if (shared.failure[t + half] < shared.failure[t]) shared.failure[t] = shared.failure[t + half];
        }
        block_sync();
    }
    if (t != 0) return;
    const bool failed = shared.failure[0] != sound;
    trifold_status status{-1, 0, shared.floors[0]};
    if (failed) {
        status.block = shared.failure[0] / block_size % TRIFOLD_HORIZON;
        status.row = shared.failure[0] % block_size;
    }
    buffer<trifold_status>(args, TRIFOLD_OFFSET_STATUS)[member] = status;
    buffer<double>(args, TRIFOLD_OFFSET_LOG_DETERMINANT)[member] = failed ? not_a_number() : shared.sum[0];
}

TRIFOLD_DEVICE void finish_forward_member(const trifold_args& args, trifold_int member) {
    FinishShared& shared = *static_cast<FinishShared*>(shared_memory());
    const int t = thread_index();
    const double* from = buffer<double>(args, TRIFOLD_OFFSET_BLOCK_QUADRATIC);
    for (int column = 0; column < args.columns; ++column) {
        double sum = 0;
        for (trifold_int block = t; block < TRIFOLD_HORIZON; block += threads) sum += from[block_index(member, block) * TRIFOLD_RHS + column];
        shared.sum[t] = sum;
        block_sync();
        for (int half = threads / 2; half > 0; half /= 2) {
            if (t < half) shared.sum[t] += shared.sum[t + half];
            block_sync();
        }
        if (t == 0) buffer<double>(args, TRIFOLD_OFFSET_QUADRATIC)[member * TRIFOLD_RHS + column] = shared.sum[0];
        block_sync();
    }
}

/* The kernels of the unit. Grid: chains by groups of members. */
template <class Use>
TRIFOLD_DEVICE void each_member(const trifold_args& args, const Use& use) {
    const trifold_int first = group_y() * TRIFOLD_MEMBERS_PER_GROUP;
    for (trifold_int member = first; member < first + TRIFOLD_MEMBERS_PER_GROUP; ++member) {
        if (is_active(args, member)) use(member);
        if (TRIFOLD_MEMBERS_PER_GROUP > 1) block_sync();
    }
}

#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, TRIFOLD_FACTOR_BLOCKS) void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { factor_chain(args, level, group_x(), member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, 1) void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) {
        factor_chain(args, level, group_x(), member);
        block_sync();
        sweep_chain<true>(args, level, group_x(), member);
    });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { sweep_chain<true>(args, level, group_x(), member); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(threads, TRIFOLD_SWEEP_BLOCKS) void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { sweep_chain<false>(args, level, group_x(), member); });
}
#endif

#ifdef TRIFOLD_KERNEL_INVERSE
TRIFOLD_KERNEL(inverse_threads, 1) void TRIFOLD_KERNEL_INVERSE(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { invert_chain(args, level, group_x(), member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FINISH_FACTOR
TRIFOLD_KERNEL(threads, 1) void TRIFOLD_KERNEL_FINISH_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_member(args, [&](trifold_int member) { finish_factor_member(args, member); });
}
#endif

#ifdef TRIFOLD_KERNEL_FINISH_FORWARD
TRIFOLD_KERNEL(threads, 1) void TRIFOLD_KERNEL_FINISH_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_member(args, [&](trifold_int member) { finish_forward_member(args, member); });
}
#endif
