/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * 20 blocks of 12 by 12, f32, 1 right-hand side(s), up to 1 system(s); target cuda:sm_87; schedule multi-stage; variant dataflow.
 * Generated; do not edit. Regenerate with:
 *   trifold generate --block 12 --horizon 20 --precision f32 --rhs 1 --batch 1 --schedule multi-stage --workers 1 --variant dataflow --target cuda:sm_87 --operations factor,solve,factor_solve
 * Workspace: 109568 bytes, aligned to 256.
 */
#define TRIFOLD_BLOCK 12
#define TRIFOLD_HORIZON 20LL
#define TRIFOLD_RHS 1
#define TRIFOLD_BATCH 1LL
#define TRIFOLD_REAL float
#define TRIFOLD_REAL_BYTES 4
#define TRIFOLD_SEPARATORS 10LL
#define TRIFOLD_SEPARATOR_BASE 1LL
#define TRIFOLD_SEPARATOR_SCALE 2LL
#define TRIFOLD_COUPLINGS 14LL
#define TRIFOLD_D_ROW 12LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 144LL
#define TRIFOLD_D_MEMBER 2880LL
#define TRIFOLD_E_ROW 12LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 144LL
#define TRIFOLD_E_MEMBER 2736LL
#define TRIFOLD_STORAGE_FACTOR 256LL
#define TRIFOLD_STORAGE_PANEL 256LL
#define TRIFOLD_STORAGE_UPDATE 256LL
#define TRIFOLD_STORAGE_COUPLING 256LL
#define TRIFOLD_STORAGE_VECTOR 16LL
#define TRIFOLD_OFFSET_STATUS 0LL
#define TRIFOLD_OFFSET_LOG_DETERMINANT 256LL
#define TRIFOLD_OFFSET_QUADRATIC 512LL
#define TRIFOLD_OFFSET_RANGE 768LL
#define TRIFOLD_OFFSET_FACTOR 1024LL
#define TRIFOLD_OFFSET_NEXT 21504LL
#define TRIFOLD_OFFSET_BEHIND 41984LL
#define TRIFOLD_OFFSET_UPDATE 62464LL
#define TRIFOLD_OFFSET_COUPLING 82944LL
#define TRIFOLD_OFFSET_RHS_UPDATE 97280LL
#define TRIFOLD_OFFSET_FAILURE 99840LL
#define TRIFOLD_OFFSET_FLOORS 100096LL
#define TRIFOLD_OFFSET_POISON 100352LL
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT 100608LL
#define TRIFOLD_OFFSET_REDUCTION 100864LL
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC 101120LL
#define TRIFOLD_OFFSET_TICKET 101376LL
#define TRIFOLD_OFFSET_FLAG 101632LL
#define TRIFOLD_OFFSET_UPDATE_WORDS 101888LL
#define TRIFOLD_OFFSET_SOLUTION_WORDS 107008LL
#define TRIFOLD_OFFSET_FORWARD_WORDS 109568LL
#define TRIFOLD_OFFSET_MESSAGE 109568LL
#define TRIFOLD_KERNEL_FACTOR btd_factor_n12_f32_sm87_ce7679c1
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n12_f32_sm87_ce7679c1
#define TRIFOLD_KERNEL_FORWARD btd_forward_n12_f32_sm87_ce7679c1
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n12_f32_sm87_ce7679c1
#define TRIFOLD_KERNEL_FINISH_FACTOR btd_finish_factor_n12_f32_sm87_ce7679c1
#define TRIFOLD_KERNEL_FINISH_FORWARD btd_finish_forward_n12_f32_sm87_ce7679c1
#define TRIFOLD_ARCH 87
#define TRIFOLD_PADDED 16
#define TRIFOLD_TILE 8
#define TRIFOLD_IN_TILES 0
#define TRIFOLD_THREADS 96
#define TRIFOLD_TENSOR 0
#define TRIFOLD_MEMBERS_PER_GROUP 1
#define TRIFOLD_OVERLAPS 0
#define TRIFOLD_THREADS_FINISH 64
#define TRIFOLD_LOG_PARTS 1
#define TRIFOLD_RIDERS 1
#define TRIFOLD_LOWER_LEADING 20
#define TRIFOLD_STACKED_LEADING 36
#define TRIFOLD_FRONT_ROOM 1
#define TRIFOLD_STACK_IN_REGISTERS 0
#define TRIFOLD_MULTIPROCESSORS 132
#define TRIFOLD_MESSAGE_LEVEL 0
#define TRIFOLD_MESSAGE_FRONTS 0
#define TRIFOLD_SHARED_FACTOR 7072
#define TRIFOLD_FACTOR_BLOCKS 4
#define TRIFOLD_FACTOR_FORWARD_BLOCKS 4
#define TRIFOLD_SWEEP_COLUMNS 1
#define TRIFOLD_SWEEP_REREADS 0
#define TRIFOLD_LONG_INVERSE 16
#define TRIFOLD_SHORT_INVERSE 16
#define TRIFOLD_WAITING_FRONTS 1024
#define TRIFOLD_SHARED_SWEEP 1488
#define TRIFOLD_SWEEP_BLOCKS 16
#define TRIFOLD_WIDE_LEVELS 0

/* ---- integer.h ---- */
/* The integer of all that host and kernels share. */
#ifndef TRIFOLD_INTEGER_H
#define TRIFOLD_INTEGER_H

typedef long long trifold_int;

#endif

/* ---- tridiagonal_args.h ---- */
/* Block tridiagonal systems: what a launch passes to a kernel. One text for the host library, generated C and device code, so both sides
 * agree; every unit asserts the sizes. Plain 64-bit integers and pointers only. */
#ifndef TRIFOLD_TRIDIAGONAL_ARGS_H
#define TRIFOLD_TRIDIAGONAL_ARGS_H


/* Chain c of a run eliminates the positions first + c * stride + k * step, k = 0 .. length - 1, in that order. */
typedef struct {
    trifold_int first, stride, count, length, step;
} trifold_run;

/* When a launch that treats all levels may begin: after the launch before it has ended; or early, when all fronts of a factorization or of
 * a forward sweep have been claimed but need not be done. */
typedef enum { trifold_after, trifold_beside_factor, trifold_beside_forward } trifold_start;

/* The blocks that remain when a level starts are base + scale * p for positions p = 0 .. size - 1. A chain's neighbours
 * are the positions before its first pivot ("behind") and after its last ("ahead"), where those exist. */
typedef struct {
    trifold_int index;             /* level number, from 0; or where one launch has all levels a trifold_start; or a round of refinement */
    trifold_int base, scale, size; /* remaining blocks */
    trifold_int next_base, next_scale, next_size; /* remaining blocks of the next level; next_size is 0 at the last one */
    trifold_int coupling, next_coupling;          /* first block of this and the next level's couplings in their buffer; level 0 reads E */
    trifold_int chains, runs;                     /* chains of all runs together; runs in use */
    trifold_run run[3];
} trifold_level;

/* Strides in elements; element (r, c) of block i of member b stands at b * member + i * stage + r * row + c * column. */
typedef struct {
    trifold_int row, column, stage, member;
} trifold_strides;

/* Outcome of a member's factorization. block is -1 when it succeeded. */
typedef struct {
    trifold_int block;           /* first failing block, original order, from 0; -1: none */
    trifold_int row;             /* failing row within it, from 0 */
    trifold_int floors;          /* pivots raised to the floor */
    double least_pivot;          /* the least pivot, each over the diagonal entry that it began with; 0 where the factorization failed */
    trifold_int nearly_singular; /* 1: it is below trifold_nearly_singular times the precision's epsilon, which the call did not accept */
} trifold_status;

/* The least pivot of a sound system is larger than that many epsilons. Rounding leaves at most a few of them of a pivot that should be
 * zero. */
enum { trifold_nearly_singular = 64 };

/* Results of a member that have left the range of the precision: they hold infinities or NaN. 0: none, 1: some. A sweep's or inverse's
 * first chain, which is that of the last level, sets it to 0, and whoever finds such an element after it to 1. */
typedef struct {
    int solution; /* X of the last backward sweep */
    int inverse;  /* of the last selected inverse */
} trifold_range;

/* Mixed precision: how the refinement of a member's solution went. Of a call's columns the worst. */
typedef struct {
    trifold_int iterations; /* corrections of the first solution; -1: never solved */
    trifold_int converged;  /* 1, or 0: the solution is NaN */
    double backward_error;  /* the largest |b - A x| / (|A| |x| + |b|) of a row */
} trifold_refined;

typedef struct {
    const void* d; /* D; strides are constants of the unit */
    const void* e; /* E */
    const void* b; /* input of a sweep */
    void* x;       /* output of a sweep; may be b */
    trifold_strides b_strides, x_strides;
    trifold_int columns;                /* right-hand sides of this call, 1 .. TRIFOLD_RHS */
    trifold_int members;                /* active capacity of this call, 1 .. TRIFOLD_BATCH */
    const void* diagonal;               /* added to the diagonal, [batch][N][n]; may be null */
    const void* shift;                  /* added to every diagonal entry, [batch]; may be null */
    const int* active;                  /* [batch], 0 skips the member; may be null */
    double pivot_floor;                 /* relative to the largest magnitude on the block's diagonal as loaded; 0: none */
    void* inverse_diagonal;             /* selected inverse: [batch][N][n][n], row-major, full symmetric blocks */
    void* inverse_coupling;             /* [batch][N-1][n][n], row-major: block (i+1, i) of the inverse */
    void* workspace;                    /* factor, slots and results; offsets are constants of the unit */
    trifold_int first_column;           /* of the caller's right-hand sides: those before it had calls of their own */
    trifold_int accept_nearly_singular; /* 1: a least pivot below the bound is no failure; nor is it with a pivot floor */
} trifold_args;

#endif

/* ---- gpu/platform_cuda.cuh ---- */
/* All that CUDA spells in its own way. platform_hip.cuh and the emulator of the tests supply the same names, and a unit has one of the
 * three. Other device code uses nothing of a toolkit. */

#ifndef TRIFOLD_PLATFORM
#define TRIFOLD_PLATFORM
#define TRIFOLD_DEVICE static __device__ __forceinline__ __attribute__((unused))
/* Called, not inlined: kernels that share it share its code, and compile once. Its arguments may be kernel parameters. */
#define TRIFOLD_FUNCTION static __device__ __noinline__ __attribute__((unused))
#define TRIFOLD_PARAMETER const __grid_constant__
#define TRIFOLD_METHOD __device__ __forceinline__
/* A size that the generator computes by the same text. */
#define TRIFOLD_SIZE static __device__ constexpr __attribute__((unused))
#define TRIFOLD_CONSTANT static __constant__ const
/* `blocks` thread blocks must fit a multiprocessor; always said, since ptxas otherwise spills to fit more. */
#define TRIFOLD_KERNEL(threads, blocks) extern "C" __global__ __launch_bounds__(threads, blocks)

constexpr int warp_lanes = 32;

TRIFOLD_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
/* Says that it is not negative, where the compiler does not know: divisions then take half the instructions. */
TRIFOLD_DEVICE void assume_thread() { __builtin_assume(thread_index() >= 0); }
/* The thread's index, read again. Compilers keep what they compute from an index in registers; what they compute from this one they compute
 * again at the next use. That frees registers. */
TRIFOLD_DEVICE int thread_afresh() {
    unsigned thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    __builtin_assume(thread < 1024); /* divisions of what may be negative take twice the instructions */
    return static_cast<int>(thread);
}
/* The thread's index, hidden from the compiler, which then does not know its range either. Where it knows the range, it keeps more
 * values. */
TRIFOLD_DEVICE int thread_opaque() {
    int index = thread_index();
    asm volatile("" : "+r"(index));
    return index;
}
TRIFOLD_DEVICE trifold_int group_x() { return blockIdx.x; }
TRIFOLD_DEVICE trifold_int group_y() { return blockIdx.y; }
TRIFOLD_DEVICE void block_sync() { __syncthreads(); }
TRIFOLD_DEVICE void warp_sync() { __syncwarp(); }

/* Barrier `id`, 1 to 15, of `count` threads of the block, whole warps: those that wait, and those that only arrive. The word
 * of shared memory, zero at first, is for platforms without such barriers; `count` must not change. */
TRIFOLD_DEVICE void named_sync(unsigned&, int id, int count) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory"); }
TRIFOLD_DEVICE void named_arrive(unsigned&, int id, int count) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory"); }

extern __shared__ uint4 trifold_shared[];
TRIFOLD_DEVICE void* shared_memory() { return trifold_shared; }

/* Says that a pointer is to device memory, which a called function cannot see; loads may then pass stores to shared memory. */
template <class T>
TRIFOLD_DEVICE T* global_pointer(T* p) {
    __builtin_assume(__isGlobal(p));
    return p;
}
/* What is kept in registers: compilers compute addresses again at each use, even within loops, to have fewer of them. */
template <class T>
TRIFOLD_DEVICE T* kept_pointer(T* p) {
    asm volatile("" : "+l"(p));
    return global_pointer(p);
}
TRIFOLD_DEVICE int kept_number(int x) {
    asm volatile("" : "+r"(x));
    return x;
}

template <class T>
TRIFOLD_DEVICE T shuffle_xor(T value, int mask) {
    return __shfl_xor_sync(0xffffffffu, value, mask);
}

template <class T>
TRIFOLD_DEVICE T shuffle(T value, int lane) {
    return __shfl_sync(0xffffffffu, value, lane);
}

/* The greatest of all lanes' numbers. */
TRIFOLD_DEVICE unsigned warp_greatest(unsigned number) {
#if TRIFOLD_ARCH >= 80
    return __reduce_max_sync(0xffffffffu, number);
#else
#pragma unroll
    for (int apart = warp_lanes / 2; apart > 0; apart /= 2) {
        const unsigned other = shuffle_xor(number, apart);
        number = other > number ? other : number;
    }
    return number;
#endif
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
/* What this thread has stored is there for the whole device before what it does next. */
TRIFOLD_DEVICE void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
/* Words between thread blocks: one of 8 bytes is never torn, and orders nothing but itself. Two at once stand at a multiple of 16. */
typedef unsigned long long trifold_word;
TRIFOLD_DEVICE void store_words(trifold_word* to, const trifold_word (&words)[1]) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(words[0]));
}
TRIFOLD_DEVICE void store_words(trifold_word* to, const trifold_word (&words)[2]) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(words[0]), "l"(words[1]));
}
TRIFOLD_DEVICE void load_words(trifold_word (&words)[1], const trifold_word* from) {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words[0]) : "l"(from));
}
TRIFOLD_DEVICE void load_words(trifold_word (&words)[2], const trifold_word* from) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(words[0]), "=l"(words[1]) : "l"(from));
}
/* One of as many bytes as a number has. */
TRIFOLD_DEVICE void store_word(trifold_word* to, trifold_word word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word));
}
TRIFOLD_DEVICE void store_word(unsigned* to, unsigned word) { asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(word)); }
TRIFOLD_DEVICE trifold_word load_word(const trifold_word* from) {
    trifold_word word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from));
    return word;
}
TRIFOLD_DEVICE unsigned load_word(const unsigned* from) {
    unsigned word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from));
    return word;
}
/* Copies the bits of a value to one of another type. */
template <class To, class From>
TRIFOLD_DEVICE void copy_bits(To& to, const From& from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    memcpy(&to, &from, sizeof(To));
}
/* Launches that may begin as soon as all thread blocks of this one have come here, or ended. */
TRIFOLD_DEVICE void start_dependents() {
#if TRIFOLD_ARCH >= 90
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/* Until the launches that this one began before have ended. Who begins early calls it before all that needs them, so that when it has ended
 * they have too. */
TRIFOLD_DEVICE void wait_for_launches() {
#if TRIFOLD_ARCH >= 90
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/* What a thread does between two looks at a flag or word. */
TRIFOLD_DEVICE void spin() {}

/* 16 bytes on their way from device to shared memory. They are there for this thread after it has ended a group of copies and
 * waited until at most `Pending` later groups are under way; for others after a barrier. */
TRIFOLD_DEVICE void copy_async(void* to, const void* from) {
#if TRIFOLD_ARCH >= 80
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from)
                 : "memory");
#else
    *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
#endif
}
/* One element of 4 or 8 bytes on its way, as 16 bytes are by copy_async. */
template <class T>
TRIFOLD_DEVICE void copy_element_async(T* to, const T* from) {
#if TRIFOLD_ARCH >= 80
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from),
                 "n"(sizeof(T))
                 : "memory");
#else
    *to = *from;
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

/* A gate of shared memory opens each time that as many arrivals as it was made for have come, and all bytes that were announced. Who waits
 * names how often it must have opened, less one, and is never more than one opening behind. */
typedef unsigned long long trifold_gate;
#if TRIFOLD_ARCH >= 90
[[maybe_unused]] constexpr bool has_bulk_copies = true;
TRIFOLD_DEVICE unsigned shared_address(const void* at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }
TRIFOLD_DEVICE void make_gate(trifold_gate* gate, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(gate)), "r"(arrivals) : "memory");
}
TRIFOLD_DEVICE void gate_arrive(trifold_gate* gate) {
    asm volatile("{.reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0];}" ::"r"(shared_address(gate)) : "memory");
}
/* An arrival that announces the bytes of copies. */
TRIFOLD_DEVICE void gate_arrive_with(trifold_gate* gate, int bytes) {
    asm volatile("{.reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;}" ::"r"(shared_address(gate)), "r"(bytes)
                 : "memory");
}
TRIFOLD_DEVICE void gate_wait(trifold_gate* gate, unsigned turn) {
    asm volatile("{.reg .pred open; waiting_%=: mbarrier.try_wait.parity.shared::cta.b64 open, [%0], %1; @!open bra waiting_%=;}" ::"r"(
                     shared_address(gate)),
                 "r"(turn % 2)
                 : "memory");
}
/* One copy of a whole range from device memory, a multiple of 16 bytes, of which a gate hears. The copy engine reads and writes by another
 * way than threads do (the async proxy): what threads have written, this one or others that it has heard of, it sees only after these
 * fences. */
TRIFOLD_DEVICE void copy_range(void* to, const void* from, int bytes, trifold_gate* gate) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(gate))
                 : "memory");
}
TRIFOLD_DEVICE void fence_device_copies() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
TRIFOLD_DEVICE void fence_shared_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#else
[[maybe_unused]] constexpr bool has_bulk_copies = false;
TRIFOLD_DEVICE void make_gate(trifold_gate*, int) {}
TRIFOLD_DEVICE void gate_arrive(trifold_gate*) {}
TRIFOLD_DEVICE void gate_arrive_with(trifold_gate*, int) {}
TRIFOLD_DEVICE void gate_wait(trifold_gate*, unsigned) {}
TRIFOLD_DEVICE void copy_range(void*, const void*, int, trifold_gate*) {}
TRIFOLD_DEVICE void fence_device_copies() {}
TRIFOLD_DEVICE void fence_shared_copies() {}
#endif

/* Says that what stands there is needed soon. */
TRIFOLD_DEVICE void prefetch(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

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

/* 16 bytes at once to device memory. A plain store would not do: where the compiler sees that the memory is the device's, it stores numbers
 * one by one. */
TRIFOLD_DEVICE void store_global(double* to, const double (&from)[2]) {
    asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(from[0]), "d"(from[1]) : "memory");
}
TRIFOLD_DEVICE void store_global(float* to, const float (&from)[4]) {
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(from[0]), "f"(from[1]), "f"(from[2]), "f"(from[3]) : "memory");
}
TRIFOLD_DEVICE void store_pair(float* to, const unsigned (&from)[2]) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(from[0]), "r"(from[1]) : "memory");
}

/* (c0; c1) += columns rows: a warp's product of 16 by 4 Quads and 4 Quads by 8. Operands hold element k = 4 i + lane % 4 at
 * index i, of lines lane / 4 and lane / 4 + 8; c0 and c1 hold elements 2 (lane % 4) and the next of those lines. */
template <int Quads>
TRIFOLD_DEVICE void tensor_multiply(double (&c0)[2], double (&c1)[2], const double (&columns)[2][Quads], const double (&rows)[Quads]) {
    static_assert(Quads == 2 || Quads == 4, "shapes of the instruction");
#if TRIFOLD_ARCH >= 90
    if constexpr (Quads == 4)
        asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, "
            "{%0,%1,%2,%3};"
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
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(c0[0]), "+d"(c0[1])
            : "d"(columns[0][i]), "d"(rows[i]));
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(c1[0]), "+d"(c1[1])
            : "d"(columns[1][i]), "d"(rows[i]));
    }
#endif
}

/* A number's first eleven digits, which is what the matrix instructions of single precision look at; the next eleven are what is left. */
TRIFOLD_DEVICE float first_digits(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u); }
TRIFOLD_DEVICE void tensor_multiply(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
#if TRIFOLD_ARCH >= 80
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
          "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#endif
}
/* In single precision by three products of such digits, small ones first; the product of the last digits is below rounding. They have a
 * sum of their own, since these instructions do not round their sums but cut them off. */
template <int Quads>
TRIFOLD_DEVICE void tensor_multiply(float (&c0)[2], float (&c1)[2], const float (&columns)[2][Quads], const float (&rows)[Quads]) {
    static_assert(Quads == 2 || Quads == 4, "shapes of the instruction");
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < Quads; i += 2) {
        const float a[4] = {columns[0][i], columns[1][i], columns[0][i + 1], columns[1][i + 1]}, b[2] = {rows[i], rows[i + 1]};
        float first_a[4], last_a[4], first_b[2], last_b[2];
#pragma unroll
        for (int k = 0; k < 4; ++k) first_a[k] = first_digits(a[k]), last_a[k] = a[k] - first_a[k];
#pragma unroll
        for (int k = 0; k < 2; ++k) first_b[k] = first_digits(b[k]), last_b[k] = b[k] - first_b[k];
        tensor_multiply(sum, last_a, first_b);
        tensor_multiply(sum, first_a, last_b);
        tensor_multiply(sum, first_a, first_b);
    }
    c0[0] += sum[0], c0[1] += sum[1], c1[0] += sum[2], c1[1] += sum[3];
}

/* Two numbers rounded to eleven digits in a word of halves, and what such a word holds. */
TRIFOLD_DEVICE unsigned pack_halves(float low, float high) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}
TRIFOLD_DEVICE float half_of(unsigned word, bool high) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(high ? word >> 16 : word)));
    return value;
}
/* Four matrices of 8 by 8 halves in shared memory, whose rows of 16 bytes the lanes name, eight lanes for each: a lane gets columns 2 (lane
 * % 4) and the next of row lane / 4. */
TRIFOLD_DEVICE void load_matrices(unsigned (&words)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
                 : "memory");
}
/* c += columns rows of 16 by 16 and 16 by 8 halves, operands of such matrices: columns of lines and those 8 beyond, then of the next 8
 * columns. */
TRIFOLD_DEVICE void tensor_multiply(float (&c)[4], const unsigned (&columns)[4], const unsigned (&rows)[2]) {
#if TRIFOLD_ARCH >= 80
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(columns[0]), "r"(columns[1]), "r"(columns[2]), "r"(columns[3]), "r"(rows[0]), "r"(rows[1]));
#endif
}

/* A warp's product by the names that all platforms have: c += A B' for tensor_rows rows of A and 16 of B, 4 Quads columns each. A
 * lane holds, at index i, column 4 i + tensor_depth() of row tensor_row() of A, and of rows tensor_column() + 8 c of B. It
 * has the results of these columns c in rows result_row(v) and the next. Both may be permuted, as the result's rows are. */
[[maybe_unused]] constexpr int tensor_rows = 8, tensor_columns = 2, tensor_vectors = 1;
[[maybe_unused]] constexpr bool results_are_operands =
    true; /* those of a strip of 8 are A's of the next product, its columns at k in the order 0 2 4 6 1 3 5 7 */
TRIFOLD_DEVICE int tensor_depth(int thread = thread_index()) { return thread % 4; }
TRIFOLD_DEVICE int tensor_row(int thread = thread_index()) { return thread % warp_lanes / 4; }
TRIFOLD_DEVICE int tensor_column(int thread = thread_index()) { return thread % warp_lanes / 4; }
TRIFOLD_DEVICE int result_row(int, int thread = thread_index()) { return thread % 4 * 2; }
template <int Quads, class T>
TRIFOLD_DEVICE void tensor_multiply(T (&c)[tensor_columns][tensor_vectors][2], const T (&columns)[tensor_columns][Quads],
                                    const T (&rows)[Quads]) {
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
/* 1 / d for normal d, to 20 bits or so. */
TRIFOLD_DEVICE double approximate_reciprocal(double d) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(d));
    return y;
}
TRIFOLD_DEVICE float approximate_reciprocal(float d) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(d));
    return y;
}
TRIFOLD_DEVICE double not_a_number() { return __longlong_as_double(0x7ff8000000000000LL); }
TRIFOLD_DEVICE double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
TRIFOLD_DEVICE double natural_log(double d) { return log(d); }

#endif

/* ---- gpu/dense/constants.cuh ---- */
/* What the pieces on chip are told of a block. The constants of a variant stand in a file of that name in its own folder. */

typedef TRIFOLD_REAL real;

/* Blocks are padded to `padded` rows and columns on chip and in the workspace: pivots by the identity, everything else by zeros. */
constexpr int block_size = TRIFOLD_BLOCK;
constexpr int padded = TRIFOLD_PADDED;

/* The diagonal tiles of a factor are stored inverted, so that every triangular solve is a sequence of products. They are `tile` wide. */
[[maybe_unused]] constexpr int tile = TRIFOLD_TILE;

[[maybe_unused]] constexpr int threads = TRIFOLD_THREADS; /* of a thread block that factors */
constexpr bool use_tensor = TRIFOLD_TENSOR;               /* tensor instructions for products */

constexpr int vector_width = 16 / static_cast<int>(sizeof(real)); /* elements of a vector of 16 bytes */
[[maybe_unused]] constexpr int strip = padded < 8 ? padded : 8;   /* columns of a product that one thread takes */

/* ---- gpu/tridiagonal/constants.cuh ---- */
/* What every kernel of a block tridiagonal system is told. A variant's own constants stand in its folder. Nothing outside files of
 * constants reads the generator's macros, except names of kernels and what the preprocessor must decide. */

constexpr trifold_int horizon = TRIFOLD_HORIZON; /* blocks of a system, N */
constexpr trifold_int batch = TRIFOLD_BATCH;     /* systems that there is room for */
constexpr int most_columns = TRIFOLD_RHS;        /* right-hand sides of a call, at most */

/* Members of the batch that one thread block treats, one after another. */
[[maybe_unused]] constexpr trifold_int members_per_group = TRIFOLD_MEMBERS_PER_GROUP;

/* What level 0 leaves: block separator_base + k * separator_scale for k below `separators`. Each has slots that chains write their updates
 * to. */
constexpr trifold_int separators = TRIFOLD_SEPARATORS, separator_base = TRIFOLD_SEPARATOR_BASE, separator_scale = TRIFOLD_SEPARATOR_SCALE;
/* Couplings of a member at all levels above 0, which stand in the workspace. */
constexpr trifold_int couplings = TRIFOLD_COUPLINGS;

/* Where element (r, c) of block i of member b stands in the caller's D: at b * member + i * stage + r * row + c * column. So in E. */
struct D {
    static constexpr trifold_int row = TRIFOLD_D_ROW, column = TRIFOLD_D_COLUMN, stage = TRIFOLD_D_STAGE, member = TRIFOLD_D_MEMBER;
};
struct E {
    static constexpr trifold_int row = TRIFOLD_E_ROW, column = TRIFOLD_E_COLUMN, stage = TRIFOLD_E_STAGE, member = TRIFOLD_E_MEMBER;
};

/* Whether blocks of the workspace lie tile by tile. */
constexpr bool in_tiles = TRIFOLD_IN_TILES;
/* Elements of a block in the workspace. It lies column-major with leading dimension `padded`, or tile by tile. */
constexpr trifold_int storage = static_cast<trifold_int>(padded) * padded;
/* Elements of a block's right-hand sides in the workspace. */
constexpr trifold_int vector_storage = TRIFOLD_STORAGE_VECTOR;

/* Where the workspace has what all variants keep there, in bytes from its start. */
struct Offset {
    static constexpr trifold_int factor = TRIFOLD_OFFSET_FACTOR, next = TRIFOLD_OFFSET_NEXT,
                                 behind = TRIFOLD_OFFSET_BEHIND;                                         /* L, R and G */
    static constexpr trifold_int update = TRIFOLD_OFFSET_UPDATE, rhs_update = TRIFOLD_OFFSET_RHS_UPDATE; /* slots of separators */
    static constexpr trifold_int coupling = TRIFOLD_OFFSET_COUPLING;                                     /* above level 0 */
    static constexpr trifold_int poison = TRIFOLD_OFFSET_POISON;       /* whether what fed a separator had failed */
    static constexpr trifold_int failure = TRIFOLD_OFFSET_FAILURE;     /* of each block: its verdict */
    static constexpr trifold_int floors = TRIFOLD_OFFSET_FLOORS;       /* of each block: pivots raised to the floor */
    static constexpr trifold_int reduction = TRIFOLD_OFFSET_REDUCTION; /* of each block: the largest diagonal entry over its pivot */
    static constexpr trifold_int block_log_determinant = TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT,
                                 block_quadratic = TRIFOLD_OFFSET_BLOCK_QUADRATIC;
    /* Results of a member. */
    static constexpr trifold_int status = TRIFOLD_OFFSET_STATUS, log_determinant = TRIFOLD_OFFSET_LOG_DETERMINANT;
    static constexpr trifold_int quadratic = TRIFOLD_OFFSET_QUADRATIC, range = TRIFOLD_OFFSET_RANGE;
};

static_assert(sizeof(real) == TRIFOLD_REAL_BYTES && sizeof(trifold_level) == 208 && sizeof(trifold_args) == 184,
              "host and device disagree");
static_assert(TRIFOLD_STORAGE_FACTOR == storage && TRIFOLD_STORAGE_PANEL == storage && TRIFOLD_STORAGE_UPDATE == storage &&
                  TRIFOLD_STORAGE_COUPLING == storage && vector_storage == static_cast<trifold_int>(padded) * most_columns,
              "host and device disagree");

/* ---- gpu/tridiagonal/common.cuh ---- */
/* Names shared by all kernels: the geometry of chains, and where things stand in the workspace.
 *
 * A front eliminates one block, i. Its panel has n columns and these rows:
 *
 *                +------------+
 *       n rows   |  D   -> L  |   the pivot block, less the updates of earlier fronts: D = L L'
 *                +------------+
 *       n rows   |  E   -> R  |   the coupling to the next neighbour:   R = E L'^-1, in the workspace as `next`
 *                +------------+
 *       n rows   |  E'  -> G  |   the coupling to the neighbour behind: G = E' L'^-1, as `behind`; only in chains that have one
 *                +------------+
 *       m rows   |  b'  -> y' |   right-hand sides, where they ride along: y = L^-1 b
 *                +------------+
 *
 * It leaves its neighbours: - R R' and - R y for the next one, - G G' and - G y for the one behind, - R G' as the coupling between the
 * two. */

/* The verdict on a block that did not fail, and on one whose inputs had failed. */
[[maybe_unused]] constexpr trifold_int sound = 0x7fffffffffffffffLL, fed_by_failure = sound - 1;

/* Kernels of all levels: each kind claims its fronts or tiles from a counter of its own. */
enum class Kind { factor, forward, backward, wide };

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

TRIFOLD_DEVICE trifold_int block_index(trifold_int member, trifold_int block) { return member * horizon + block; }
TRIFOLD_DEVICE real* factor_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::factor) + block_index(member, block) * storage;
}
TRIFOLD_DEVICE real* next_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::next) + block_index(member, block) * storage;
}
TRIFOLD_DEVICE real* behind_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::behind) + block_index(member, block) * storage;
}

/* Tiles of blocks that are treated tile by tile lie in one piece, column by column, so that a tile's columns are fetched by one copy; the
 * vectors of a column stand in another order from column to column, so that operands and results meet no bank conflicts on chip. */
TRIFOLD_DEVICE int turned(int column) { return use_tensor ? column % 4 * 2 * vector_width : 0; }
TRIFOLD_DEVICE int place_in_tile(int r, int c) { return c * tile + (r ^ turned(c)); }
TRIFOLD_DEVICE trifold_int place_of_tile(int row, int column) {
    return (static_cast<trifold_int>(column) * (padded / tile) + row) * (tile * tile);
}
/* Where element (r, c) of a block of the workspace stands. */
TRIFOLD_DEVICE trifold_int place_in_block(int r, int c) {
    if (!in_tiles) return r + static_cast<trifold_int>(c) * padded;
    return place_of_tile(r / tile, c / tile) + place_in_tile(r % tile, c % tile);
}

/* Side 0 of a separator belongs to the chains at lower positions, side 1 to those at higher ones. */
TRIFOLD_DEVICE trifold_int slot_index(trifold_int member, trifold_int block, int side) {
    return (side * batch + member) * separators + (block - separator_base) / separator_scale;
}
/* Every block but those at the ends of the path is updated from both sides at level 0. */
TRIFOLD_DEVICE bool has_side(trifold_int block, int side) { return side == 0 ? block > 0 : block < horizon - 1; }
TRIFOLD_DEVICE int side_ahead(const Chain& chain) { return chain.step > 0 ? 0 : 1; }
TRIFOLD_DEVICE int side_behind(const Chain& chain) { return chain.step > 0 ? 1 : 0; }

TRIFOLD_DEVICE real* update_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, Offset::update) + slot_index(member, block, side) * storage;
}
TRIFOLD_DEVICE real* rhs_update_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, Offset::rhs_update) + slot_index(member, block, side) * vector_storage;
}
TRIFOLD_DEVICE int& poison_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<int>(args, Offset::poison)[slot_index(member, block, side)];
}
TRIFOLD_DEVICE bool is_active(const trifold_args& args, trifold_int member) {
    return member < args.members && (args.active == nullptr || args.active[member] != 0);
}

/* The outcome of a member's factorization from those of its blocks: the first failure, the pivots raised, the largest diagonal entry over
 * its pivot, and the sum of the pivots' logarithms. By one thread. */
TRIFOLD_DEVICE void report_member(const trifold_args& args, trifold_int member, trifold_int failure, trifold_int floors, double reduction,
                                  double log_sum) {
    constexpr double least_sound = static_cast<double>(trifold_nearly_singular) * (sizeof(real) == 8 ? 0x1p-52 : 0x1p-23);
    trifold_status status{-1, 0, floors, reduction > 1 ? 1 / reduction : 1, 0};
    if (failure != sound) {
        status.block = failure / block_size % horizon, status.row = failure % block_size;
        status.least_pivot = 0, log_sum = not_a_number();
    } else if (status.least_pivot < least_sound && !(args.pivot_floor > 0)) {
        status.nearly_singular = args.accept_nearly_singular == 0;
    }
    buffer<trifold_status>(args, Offset::status)[member] = status;
    buffer<double>(args, Offset::log_determinant)[member] = log_sum;
}

/* ---- the range of the precision ---- */

/* Whether a result has left it: it is infinite or NaN, whose exponents have all bits set. */
TRIFOLD_DEVICE bool has_left(real x) {
    constexpr unsigned exponent = sizeof(real) == 8 ? 0x7ff00000u : 0x7f800000u;
    unsigned bits[sizeof(real) / 4];
    copy_bits(bits, x);
    return (bits[sizeof(real) / 4 - 1] & exponent) == exponent;
}
enum class Result { solution, inverse };
TRIFOLD_DEVICE void set_range(const trifold_args& args, trifold_int member, Result result, unsigned left) {
    trifold_range& range = buffer<trifold_range>(args, Offset::range)[member];
    store_word(reinterpret_cast<unsigned*>(result == Result::solution ? &range.solution : &range.inverse), left);
}
/* Looks at an element of a result that goes out: chains of a member say the same, side by side. */
TRIFOLD_DEVICE void watch(const trifold_args& args, trifold_int member, Result result, real value) {
    if (has_left(value)) set_range(args, member, result, 1);
}
/* By one thread of the last level's chain, for which all others wait, before any element of the result is there. Later calls for other
 * columns of the same result add to what the first has found. */
TRIFOLD_DEVICE void begin_result(const trifold_args& args, trifold_int member, Result result) {
    if (args.first_column == 0) set_range(args, member, result, 0);
}
/* The last level has one chain, with which what goes down the levels begins. */
TRIFOLD_DEVICE bool begins_descent(const trifold_level& level) { return level.next_size == 0; }

/* A term of b' A^-1 b. One that vanishes although its root does not counts as the least number of all, so that in_range sees that there was
 * one. */
TRIFOLD_DEVICE double square_of(real y) {
    const double wide = static_cast<double>(y), square = wide * wide;
    return sizeof(real) == 8 && square == 0 && wide != 0 ? 4.94065645841246544e-324 : square;
}
/* The sum as it is delivered: NaN where it is too large or too small for the normal numbers of double precision. */
TRIFOLD_DEVICE double in_range(double sum) {
    return sum == 0 || (sum >= 2.2250738585072014e-308 && sum <= 1.7976931348623157e308) ? sum : not_a_number();
}

/* The coupling that a chain leaves between the separators on its two sides. */
TRIFOLD_DEVICE trifold_int next_coupling_index(const trifold_level& level, trifold_int member, const Chain& chain) {
    const trifold_int lower = block_at(level, chain.step > 0 ? chain.behind : chain.ahead);
    return member * couplings + level.next_coupling + (lower - level.next_base) / level.next_scale;
}

/* The columns of a call that one pass treats. */
struct Columns {
    int first, count;
};
TRIFOLD_DEVICE Columns columns_from(const trifold_args& args, int first, int most) {
    const int rest = static_cast<int>(args.columns) - first;
    return {first, rest < most ? rest : most};
}

TRIFOLD_DEVICE trifold_int rhs_at(const trifold_strides& s, trifold_int member, trifold_int block, int r, int column) {
    return member * s.member + block * s.stage + r * s.row + column * s.column;
}

/* ---- gpu/tridiagonal/input.cuh ---- */
/* The caller's D and E: the only file that knows where they stand. Kernels that copy in their own order take a block from D_OF or E_OF, and
 * its strides from D and E. */

/* A block of the caller's D, and the block of E that couples `block` to the one after it. BLOCK_OF_D takes a block from a pointer to D.
 * These are macros, since compilers made other machine code of functions. */
#define BLOCK_OF_D(d, number, block) ((d) + (number) * D::member + (block) * D::stage)
#define D_OF(args, number, block) BLOCK_OF_D(global_pointer(static_cast<const real*>((args).d)), number, block)
#define E_OF(args, number, block) (global_pointer(static_cast<const real*>((args).e)) + (number) * E::member + (block) * E::stage)
/* Element (r, c) of a block of D: of its lower triangle, which is all of D that is read. And entry r of its diagonal. */
#define ELEMENT_OF_D(d, r, c) (d)[(r) * D::row + (c) * D::column]
#define ENTRY_OF_D(d, r) (d)[(r) * (D::row + D::column)]

/* What is added to diagonal entry r of a block of D. */
TRIFOLD_DEVICE real diagonal_term(const trifold_args& args, trifold_int member, trifold_int block, int r) {
    real term = 0;
    if (args.diagonal != nullptr)
        term += global_pointer(static_cast<const real*>(args.diagonal))[block_index(member, block) * block_size + r];
    if (args.shift != nullptr) term += global_pointer(static_cast<const real*>(args.shift))[member];
    return term;
}

/* From one line of a block to the next, where elements of a line are next to each other. */
[[maybe_unused]] constexpr trifold_int d_pitch = D::row > D::column ? D::row : D::column, e_pitch = E::row > E::column ? E::row : E::column;

/* The coupling of positions p and q = p +- 1 of a level, A(higher, lower): E at level 0, a block of the workspace above it. */
TRIFOLD_DEVICE const real* coupling_at(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int p,
                                       trifold_int q) {
    const trifold_int lower = p < q ? p : q;
    if (level.index == 0) return E_OF(args, member, lower);
    return buffer<real>(args, Offset::coupling) + (member * couplings + level.coupling + lower) * storage;
}

/* The indices of element e of a block: u runs over the contiguous direction of memory, in groups of 8, and v over the
 * other. A warp then reads whole sectors and writes shared memory of leading dimension 4 modulo 8 without conflicts. */
struct Place {
    int u, v;
};
TRIFOLD_DEVICE Place place(int e) { return {e % strip + e / (strip * padded) * strip, e / strip % padded}; }

/* A(p, q) into column-major `to`, zeros in the padding, from the couplings A(higher, lower). */
TRIFOLD_DEVICE void load_coupling(real* to, int leading, const trifold_args& args, const trifold_level& level, trifold_int member,
                                  trifold_int p, trifold_int q) {
    const real* from = global_pointer(coupling_at(args, level, member, p, q));
    const bool by_rows = (level.index > 0 || E::row < E::column) == (p > q);
    const trifold_int step = level.index > 0 ? padded : e_pitch;
    const int du = by_rows ? 1 : leading, dv = by_rows ? leading : 1;
#pragma unroll 4
    for (int e = thread_opaque(); e < padded * padded; e += threads) {
        const Place at = place(e);
        to[at.u * du + at.v * dv] = at.u < block_size && at.v < block_size ? from[at.u + at.v * step] : real(0);
    }
}

/* The lower triangle of a block's diagonal as its level finds it, the identity in the padding. What stands above the diagonal is left as it
 * was. */
TRIFOLD_DEVICE void load_diagonal(real* to, int leading, const trifold_args& args, const trifold_level& level, trifold_int member,
                                  trifold_int block) {
    const real* from = D_OF(args, member, block);
    const real* low = level.index > 0 && has_side(block, 0) ? update_of(args, member, block, 0) : nullptr;
    const real* high = level.index > 0 && has_side(block, 1) ? update_of(args, member, block, 1) : nullptr;
#pragma unroll 4
    for (int e = thread_opaque(); e < padded * padded; e += threads) {
        const Place at = place(e);
        const int r = D::row == 1 ? at.u : at.v, c = D::row == 1 ? at.v : at.u;
        real value = r == c ? real(1) : real(0);
        if (r < block_size && c <= r) {
            value = ELEMENT_OF_D(from, r, c);
            if (r == c) value += diagonal_term(args, member, block, r);
            if (low != nullptr) value -= low[r + c * padded];
            if (high != nullptr) value -= high[r + c * padded];
        }
        if (c <= r) to[r + c * leading] = value;
    }
}

/* ---- gpu/dense/pivots.cuh ---- */
/* The test that a pivot must pass, and the reciprocal of its root. */

/* What pivots are tested against, and what became of them. One per thread block, in shared memory. */
struct Pivots {
    double floor;   /* smaller pivots are raised to it, but for infinite ones; minus infinity: none */
    double log_sum; /* sum of the pivots' logarithms */
    int failed_row; /* first row whose pivot failed, or -1 */
    int floors;     /* pivots raised */
};

constexpr real largest = sizeof(real) == 8 ? real(1.7976931348623157e308) : real(3.402823466e38f);
/* Whether a pivot may stand: above the largest number whose reciprocal is infinite, and finite. */
TRIFOLD_DEVICE bool is_pivot(real d) { return d > (sizeof(real) == 8 ? real(0x1p-1024) : real(0x1p-128)) && d <= largest; }
constexpr real smallest_normal = sizeof(real) == 8 ? real(2.2250738585072014e-308) : real(1.175494351e-38f);

/* `scaled`, which is y, about 1 / sqrt(x), or a multiple of it, after one correction of third order. */
TRIFOLD_DEVICE real corrected_rsqrt(real x, real y, real scaled) {
    const real e = real(1) - (x * y) * y;
    if (sizeof(real) == 4) return scaled + e * (real(0.5) * scaled); /* y is good to 22 digits already */
    return scaled + (e * scaled) * (real(0.5) + real(0.375) * e);
}

/* 1 / sqrt(x) for x so far from the ends of the range that nothing need be scaled; callers test. */
TRIFOLD_DEVICE real quick_rsqrt(real x) {
    const real y = approximate_rsqrt(x);
    return corrected_rsqrt(x, y, y);
}

/* 1 / sqrt(d) for 0 < d. The hardware flushes subnormal numbers, so these are scaled, by a factor that joins where nothing waits
 * for it. */
TRIFOLD_DEVICE real inverse_sqrt(real d) {
    constexpr real root = sizeof(real) == 8 ? real(0x1p128) : real(0x1p32f);
    const bool tiny = d < smallest_normal;
    const real x = tiny ? d * root * root : d;
    const real y = approximate_rsqrt(x);
    return corrected_rsqrt(x, y, tiny ? y * root : y);
}

/* ---- gpu/tridiagonal/verdict.cuh ---- */
/* What becomes of a front's pivots: the floor that they are raised to, the logarithms of the determinant, which one failed, and who must
 * hear of it. */

/* Diagonal entry r of a block as the caller gave it, with what the options add. */
TRIFOLD_DEVICE double given_entry(const trifold_args& args, trifold_int member, trifold_int block, int r) {
    return static_cast<double>(ENTRY_OF_D(D_OF(args, member, block), r) + diagonal_term(args, member, block, r));
}

/* Before a block's pivots: the floor from the largest magnitude on the diagonal of D as the caller gave it. By the whole thread block. */
TRIFOLD_DEVICE void start_pivots(Pivots& pivots, const trifold_args& args, trifold_int member, trifold_int block) {
    if (thread_index() >= warp_lanes) return;
    double floor = -infinity();
    if (args.pivot_floor > 0) {
        double most = 0;
        for (int r = thread_index(); r < block_size; r += warp_lanes) {
            const double entry = given_entry(args, member, block, r), size = entry < 0 ? -entry : entry;
            if (size > most && size <= static_cast<double>(largest)) most = size;
        }
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
            const double other = shuffle_xor(most, mask);
            if (other > most) most = other;
        }
        floor = args.pivot_floor * most;
    }
    if (thread_index() == 0) pivots.floor = floor, pivots.log_sum = 0, pivots.failed_row = -1, pivots.floors = 0;
}

/* What `count` pivots say together: the sum of their logarithms, and the largest of their diagonal entries, entry(r), over them. NaN counts
 * for nothing. By one warp. */
template <class T, class Entry>
TRIFOLD_DEVICE void sum_up(int count, const T* pivots, const Entry& entry, double* log_sum, double* largest_quotient) {
    double sum = 0, reduction = 0;
    for (int r = thread_index() % warp_lanes; r < count; r += warp_lanes) {
        const double pivot = static_cast<double>(pivots[r]), quotient = entry(r) / pivot;
        sum += natural_log(pivot);
        if (quotient > reduction) reduction = quotient;
    }
    for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
        sum += shuffle_xor(sum, mask);
        const double other = shuffle_xor(reduction, mask);
        if (other > reduction) reduction = other;
    }
    if (thread_index() % warp_lanes != 0) return;
    *log_sum = sum;
    *largest_quotient = reduction;
}
/* The same to place `place` of the results of blocks, or of their parts. */
template <class T, class Entry>
TRIFOLD_DEVICE void report_diagonal(const trifold_args& args, int count, const T* pivots, trifold_int place, const Entry& entry) {
    sum_up(count, pivots, entry, buffer<double>(args, Offset::block_log_determinant) + place,
           buffer<double>(args, Offset::reduction) + place);
}
/* The same of a whole front, from D as it is in the caller's memory. */
template <class T>
TRIFOLD_DEVICE void report_diagonal(const trifold_args& args, trifold_int member, trifold_int block, const T* pivots) {
    report_diagonal(args, block_size, pivots, block_index(member, block), [&](int r) { return given_entry(args, member, block, r); });
}
/* The same from a copy of D's diagonal, which fetch_entries() has made: at the end of a front nothing is left that a look at memory could
 * hide behind. */
template <class T>
TRIFOLD_DEVICE void report_diagonal(const trifold_args& args, trifold_int member, trifold_int block, const T* pivots, const real* entries) {
    report_diagonal(args, block_size, pivots, block_index(member, block),
                    [&](int r) { return static_cast<double>(entries[r] + diagonal_term(args, member, block, r)); });
}
/* D's diagonal on its way to shared memory, by `count` threads. */
TRIFOLD_DEVICE void fetch_entries(real* to, const trifold_args& args, trifold_int member, trifold_int block, int thread, int count) {
    const real* d = D_OF(args, member, block);
    for (int r = thread; r < block_size; r += count) copy_element_async(to + r, &ENTRY_OF_D(d, r));
}
/* The front's verdict, by one thread, after the panel. */
TRIFOLD_DEVICE void report_verdict(const trifold_args& args, trifold_int level, trifold_int member, trifold_int block, bool fed,
                                   const Pivots& pivots) {
    const trifold_int index = block_index(member, block);
    trifold_int verdict = sound;
    if (pivots.failed_row >= 0) verdict = (level * horizon + block) * block_size + pivots.failed_row;
    if (fed) verdict = fed_by_failure;
    buffer<trifold_int>(args, Offset::failure)[index] = verdict;
    buffer<int>(args, Offset::floors)[index] = pivots.floors;
}
/* Both, by the whole thread block. */
TRIFOLD_DEVICE void report_pivots(const trifold_args& args, trifold_int level, trifold_int member, trifold_int block, bool fed,
                                  const Pivots& pivots, const double* diagonal) {
    if (thread_index() < warp_lanes) report_diagonal(args, member, block, diagonal);
    if (thread_index() == 0) report_verdict(args, level, member, block, fed, pivots);
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

/* ---- gpu/tridiagonal/dataflow/constants.cuh ---- */
/* What variant dataflow is told. */

constexpr int multiprocessors = TRIFOLD_MULTIPROCESSORS; /* of the device */
constexpr bool overlaps = TRIFOLD_OVERLAPS;              /* launches may begin while the one before them is at work */

/* Thread blocks that a multiprocessor must have room for: they limit the registers of a thread. */
struct Blocks {
    static constexpr int factor = TRIFOLD_FACTOR_BLOCKS, factor_forward = TRIFOLD_FACTOR_FORWARD_BLOCKS, sweep = TRIFOLD_SWEEP_BLOCKS;
};
/* Bytes of shared memory: FrontShared and SweepShared. */
struct SharedBytes {
    static constexpr int factor = TRIFOLD_SHARED_FACTOR, sweep = TRIFOLD_SHARED_SWEEP;
};

/* ---- factorization ---- */

constexpr int riders = TRIFOLD_RIDERS; /* right-hand sides that ride along as rows below D's */
/* Leading dimensions of D, with the rows that ride along, and of [R; G], in shared memory. */
constexpr int lower_leading = TRIFOLD_LOWER_LEADING, stacked_leading = TRIFOLD_STACKED_LEADING;
constexpr bool has_room = TRIFOLD_FRONT_ROOM;             /* for the blocks that a front pulls, beside its own */
constexpr bool in_registers = TRIFOLD_STACK_IN_REGISTERS; /* [R; G], by tensor instructions of double precision */
constexpr int wide_levels = TRIFOLD_WIDE_LEVELS; /* the first levels, which have a launch of their own, before that of all others */
constexpr int message_fronts =
    TRIFOLD_MESSAGE_FRONTS;                          /* fronts of a member that send [R; G] as messages: few, so that latency binds them */
constexpr int message_level = TRIFOLD_MESSAGE_LEVEL; /* fronts from this level on send */

/* ---- sweeps ---- */

constexpr int columns_at_once = TRIFOLD_SWEEP_COLUMNS; /* right-hand sides that a sweep treats together */
constexpr bool sweeps_reread = TRIFOLD_SWEEP_REREADS;  /* they read a thread's number again at each use, which frees registers */
/* Columns of the diagonal tiles whose inverses a front makes and uses: of a front that waits for its neighbours, and of others;
 * measured. */
constexpr int long_inverse = TRIFOLD_LONG_INVERSE, short_inverse = TRIFOLD_SHORT_INVERSE;
constexpr trifold_int waiting_fronts = TRIFOLD_WAITING_FRONTS; /* fronts wait at levels of no more than so many, of all members; measured */

/* Where the workspace has what fronts tell each other, in bytes from its start. */
struct FlowOffset {
    static constexpr trifold_int ticket = TRIFOLD_OFFSET_TICKET;   /* counters from which fronts are claimed */
    static constexpr trifold_int flag = TRIFOLD_OFFSET_FLAG;       /* of each block: what its front has left */
    static constexpr trifold_int message = TRIFOLD_OFFSET_MESSAGE; /* [R; G] on its way */
    static constexpr trifold_int update_words = TRIFOLD_OFFSET_UPDATE_WORDS, forward_words = TRIFOLD_OFFSET_FORWARD_WORDS;
    static constexpr trifold_int solution_words = TRIFOLD_OFFSET_SOLUTION_WORDS;
};

/* ---- gpu/tridiagonal/dataflow/flags.cuh ---- */
/* One launch for all levels of the multi-stage schedule. Thread blocks claim fronts in the order of their levels and wait for the fronts
 * that they need. Those have been claimed before, so waiting cannot deadlock. Levels hold chains of one front each, and block i = (2 q + 1)
 * 2^l - 1 is front q of level l. */

/* A front and where it stands. Fronts at distance 2^k, k < level, were eliminated before it and update it: those to the left
 * through their R, those to the right through their G. */
struct Front {
    trifold_int block, next, behind; /* -1 where the path ends */
    trifold_int run;                 /* counts the launches of this kind of kernel, from 1 */
    int level;
};

/* It has no neighbours left. */
TRIFOLD_DEVICE bool is_last(const Front& front) { return front.next < 0 && front.behind < 0; }

/* The number-th front of a level. */
TRIFOLD_DEVICE Front front_at(int level, trifold_int number) {
    const trifold_int distance = trifold_int(1) << level;
    Front front{};
    front.level = level;
    front.block = (2 * number + 1) * distance - 1;
    front.next = front.block + distance < horizon ? front.block + distance : -1;
    front.behind = front.block - distance;
    if (front.behind < 0) front.behind = -1;
    return front;
}
/* The number-th front to be claimed. */
TRIFOLD_DEVICE Front find_front(trifold_int number) {
    int level = 0;
    trifold_int size = horizon;
    while (number >= (size + 1) / 2) {
        number -= (size + 1) / 2;
        size /= 2;
        ++level;
    }
    return front_at(level, number);
}

/* Fronts of the wide levels, which have a launch of their own. */
constexpr trifold_int wide_fronts = horizon - (horizon >> wide_levels);

/* Claims a front for the whole thread block; `shared` is a word of its shared memory. Backward sweeps claim from the last level back. */
TRIFOLD_DEVICE Front claim_front(const trifold_args& args, trifold_int member, Kind kind, trifold_int& shared) {
    if (thread_index() == 0) shared = claim(buffer<trifold_int>(args, FlowOffset::ticket) + static_cast<int>(kind) * batch + member);
    block_sync();
    const trifold_int first = kind == Kind::factor ? wide_fronts : 0, fronts = (kind == Kind::wide ? wide_fronts : horizon) - first;
    const trifold_int ticket = shared, number = first + ticket % fronts;
    Front front = find_front(kind == Kind::backward ? horizon - 1 - number : number);
    front.run = ticket / fronts + 1;
    return front;
}

TRIFOLD_DEVICE trifold_int* flag_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<trifold_int>(args, FlowOffset::flag) + member * horizon + block;
}

/* One thread: tells that a front has left R and G, or all that it leaves, and whether it failed. What its warp, or threads it met at a
 * barrier, wrote before is visible. */
enum class Left { couplings, everything };
TRIFOLD_DEVICE void release_front(const trifold_args& args, trifold_int member, const Front& front, Left left, bool failed) {
    store_release(flag_of(args, member, front.block), 4 * front.run + 2 * static_cast<int>(left) + static_cast<int>(failed));
}
/* Launches of this variant treat all levels, so their level's index says when they may begin. */
TRIFOLD_DEVICE trifold_start start_of(const trifold_level& level) {
    return overlaps ? static_cast<trifold_start>(level.index) : trifold_after;
}
/* What a solution's words carry in place of the number of the backward sweep's run where that begins beside the factorization, whose last
 * front sends the first of them and does not know that number. */
TRIFOLD_DEVICE trifold_int early_run(trifold_int factor_run) { return factor_run | trifold_int(1) << 31; }
/* The number of the run of those fronts. */
TRIFOLD_DEVICE trifold_int last_run(const trifold_args& args, trifold_int member, Kind kind) {
    return load_acquire(buffer<trifold_int>(args, FlowOffset::ticket) + static_cast<int>(kind) * batch + member) / horizon;
}
/* A thread waits for all that a front leaves in a run of the factorization. */
TRIFOLD_DEVICE void await_everything(const trifold_args& args, trifold_int member, trifold_int block, trifold_int run) {
    while (load_acquire(flag_of(args, member, block)) < 4 * run + 2 * static_cast<int>(Left::everything)) spin();
}

/* A warp waits for up to two fronts (-1: none) of the same run. Returns whether one of them failed. */
TRIFOLD_DEVICE bool await_fronts(const trifold_args& args, trifold_int member, trifold_int run, trifold_int a, trifold_int b) {
    const int lane = thread_index() % warp_lanes;
    const trifold_int block = lane == 0 ? a : lane == 1 ? b : -1;
    int failed = 0;
    if (block >= 0) {
        const trifold_int* flag = flag_of(args, member, block);
        trifold_int value = load_acquire(flag);
        while (value / 4 != run) {
            spin();
            value = load_acquire(flag);
        }
        failed = static_cast<int>(value & 1);
    }
    warp_sync();
    return (shuffle(failed, 0) | shuffle(failed, 1)) != 0;
}

/* What a front leaves for the right-hand sides of its neighbours: side 0 of the one behind, side 1 of the next. */
TRIFOLD_DEVICE real* neighbour_rhs_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, Offset::rhs_update) + (side * batch * horizon + block_index(member, block)) * vector_storage;
}

/* A number on its way between thread blocks: words with 32 bits of it below the number of the run that wrote them. Whoever finds
 * its own run's number has the content as well, since a word is never torn: no flag, no fence, no second load. A place is written
 * once a run, by one kind of kernel, and starts at zero. */
constexpr int message_words = static_cast<int>(sizeof(real)) / 4;
struct Message {
    trifold_word words[message_words];
};
TRIFOLD_DEVICE void send(trifold_word* to, real value, trifold_int run) {
    unsigned content[message_words];
    copy_bits(content, value);
    Message message;
#pragma unroll
    for (int k = 0; k < message_words; ++k) message.words[k] = static_cast<trifold_word>(run) << 32 | content[k];
    store_words(to, message.words);
}
/* The first look may be long before what is needed: several looks are then on their way together. */
TRIFOLD_DEVICE Message look(const trifold_word* at) {
    Message message;
    load_words(message.words, at);
    return message;
}
TRIFOLD_DEVICE bool has_come(const Message& message, trifold_int run) {
    bool all = true;
#pragma unroll
    for (int k = 0; k < message_words; ++k) all = all && message.words[k] >> 32 == static_cast<unsigned>(run);
    return all;
}
TRIFOLD_DEVICE real content_of(const Message& message) {
    unsigned content[message_words];
#pragma unroll
    for (int k = 0; k < message_words; ++k) content[k] = static_cast<unsigned>(message.words[k]);
    real value;
    copy_bits(value, content);
    return value;
}
TRIFOLD_DEVICE real receive(Message message, const trifold_word* at, trifold_int run) {
    while (!has_come(message, run)) {
        spin();
        message = look(at);
    }
    return content_of(message);
}

/* By one thread of the last front, for which all others wait, before the barrier after which its thread block sends x. The words it sends
 * order nothing but themselves: hence the fence, after which the whole device has what this stores. What others store because of an x that
 * they have got comes later, so that it stands. */
TRIFOLD_DEVICE void begin_solution(const trifold_args& args, trifold_int member) {
    begin_result(args, member, Result::solution);
    fence_device();
}

/* Where a front leaves its x. */
TRIFOLD_DEVICE trifold_word* solution_words(const trifold_args& args, trifold_int member, trifold_int block) {
    constexpr trifold_int words = vector_storage * message_words;
    return buffer<trifold_word>(args, FlowOffset::solution_words) + block_index(member, block) * words;
}

/* ---- gpu/tridiagonal/dataflow/shared.h ---- */
/* Shared memory of variant dataflow: of a front that is factored, and of one that is swept.
 * The generator includes this text too: it counts the bytes that a launch asks for. Units also get the structures that are counted. */

/* The inverses of L's diagonal tiles have a place of their own, or that of the tiles themselves: the largest blocks need the room. Either
 * way their columns are as far apart as L's, so that a lane finds a row of L or one of the inverse by one address. */
TRIFOLD_SIZE bool inverses_apart(long long padded, long long real) { return real == 4 || padded <= 88; }

TRIFOLD_SIZE long long front_bytes(long long padded, long long lower_leading, long long stacked_leading, bool has_room, long long real) {
    const long long pivots = 24, ticket = 8, arrivals = 16 * 4, vector = 16 / real;
    const long long inverse = inverses_apart(padded, real) ? 8 * lower_leading : vector;
    const long long before =
        (pivots + ticket + arrivals + (2 * padded + inverse + padded) * real + 15) / 16 * 16; /* diagonal, entry, inverse, reciprocal */
    const long long pulled = has_room ? 2 * lower_leading * padded : vector;
    return before + ((lower_leading + stacked_leading) * padded + pulled) * real;
}

/* Leading dimension of a sweep's factor: 4 modulo 8, free of bank conflicts by rows and by columns. */
TRIFOLD_SIZE int sweep_leading(int padded) { return padded + 4; }

TRIFOLD_SIZE long long sweep_bytes(long long padded, long long columns, long long real) {
    const long long ticket = 16, factor = (padded + 4) * padded, vectors = columns * 3 * padded; /* running and solved */
    return (ticket + (factor + vectors) * real + 15) / 16 * 16;
}

#ifdef TRIFOLD_DEVICE

constexpr bool inverse_apart = inverses_apart(padded, sizeof(real));
static_assert(inverse_apart || !in_registers, "the identity has a place");

struct FrontShared {
    Pivots pivots;
    trifold_int ticket;    /* then, where the stack's warps pull, whether a front that they pull from has failed */
    unsigned arrivals[16]; /* at the named barriers */
    real diagonal[padded]; /* pivots */
    real entry[padded];    /* the diagonal of D as the caller gave it */
    alignas(16) real inverse[inverse_apart ? 8 * lower_leading : vector_width]; /* of L's diagonal tiles; before, the identity, faster to
                                                                                   load there than to make */
    alignas(16) real reciprocal[padded];                                        /* of L's diagonal */
    alignas(16) real lower[lower_leading * padded];                             /* D, then L, and below it b', then y'; column-major */
    alignas(16) real stacked[stacked_leading * padded];                         /* rows: R, G */
    alignas(
        16) real pulled[has_room ? 2 * lower_leading * padded : vector_width]; /* R of the front to the left, G of the one to the right */
};
static_assert(sizeof(FrontShared) == SharedBytes::factor &&
                  sizeof(FrontShared) == front_bytes(padded, lower_leading, stacked_leading, has_room, sizeof(real)),
              "host and device disagree");

constexpr int factor_leading = sweep_leading(padded);

struct SweepShared {
    trifold_int ticket;
    alignas(16) real factor[factor_leading * padded]; /* L, column-major, its diagonal tiles of 8 inverted; above it wider inverses */
    real running[columns_at_once][padded];            /* right-hand sides on their way to solutions */
    real solved[columns_at_once][2 * padded];         /* forward: y; backward: x of the next and behind, then of the front */
};
static_assert(sizeof(SweepShared) == SharedBytes::sweep && sizeof(SweepShared) == sweep_bytes(padded, columns_at_once, sizeof(real)),
              "host and device disagree");
#endif

/* ---- gpu/tridiagonal/dataflow/front.cuh ---- */
/* What a thread block has of its front while it factors it, and products of its rows by warps. */

constexpr int tiles = padded / 8;
constexpr int pivot_warps = tiles < 2 ? tiles : 2;
constexpr int stacked_rows = 2 * padded, stacked_warps = (stacked_rows + warp_lanes - 1) / warp_lanes;
constexpr int warps = pivot_warps + stacked_warps;
constexpr int row_sets = (padded + warp_lanes - 1) / warp_lanes;         /* rows of D a lane has */
constexpr int strip_columns = use_tensor ? tensor_rows : warp_lanes / 4; /* a warp multiplies bands of 16 rows by strips of these */
constexpr int bands = (padded + 15) / 16, strips = padded / strip_columns;
static_assert(padded % strip_columns == 0, "strips are whole, bands may lack their second half");
constexpr int lower_squares = bands * (bands + 1) / 2;
static_assert(threads == warps * warp_lanes && padded >= 8, "host and device disagree");

/* [R; G] in the stack's registers, where results of tensor instructions are operands of others as they stand; in single precision too
 * these are sums in double precision, made by the same instructions. Else a lane has a row. */
constexpr bool ends_sweep = in_registers && overlaps; /* the last front begins the backward sweep */
template <bool Wide>
struct ProductOf {
    typedef double type;
};
template <>
struct ProductOf<false> {
    typedef real type;
};
typedef ProductOf<in_registers>::type product;

/* R of the front to the left and G of the one to the right come into places of their own, or where they find no room, into the
 * rows of [R; G] before those are needed. */
constexpr int pulled_leading = has_room ? lower_leading : stacked_leading;

/* Named barriers from `first` on, at each of which `party` threads meet: tile t is there for the stack, its pivots' warp only arrives; the
 * warps of the stack have met; a tile is there for the next, even ones and odd ones, so that the pivots' warps need not wait for a stack
 * that is late. Where there are messages: the pivots' warps have their part of a tile; they and, waiting, the stack's have tile t; the
 * stack's have pulled what D takes from other fronts, for which the pivots' wait. */
struct Barriers {
    int first, count, party;
};
constexpr Barriers tile_barriers{1, tiles, (1 + stacked_warps) * warp_lanes}, stack_barrier{1 + tiles, 1, stacked_warps* warp_lanes},
    pivot_barriers{2 + tiles, 2, 2 * warp_lanes}, part_barrier{4 + tiles, message_fronts > 0 ? 1 : 0, pivot_warps* warp_lanes},
    message_barriers{5 + tiles, message_fronts > 0 ? tiles : 0, threads},
    pulled_barrier{5 + 2 * tiles, message_fronts > 0 ? 1 : 0, threads};
constexpr int barriers = pulled_barrier.count > 0 ? pulled_barrier.first + pulled_barrier.count : part_barrier.first;

/* A thread's number in its front. With every wave, a thread block a multiprocessor, the warps change parts, or the fronts of a
 * multiprocessor would all have their pivots on the same schedulers. */
TRIFOLD_DEVICE int front_thread() {
    const int turn = in_registers ? static_cast<int>(group_x()) / multiprocessors % warps * warp_lanes : 0;
    return (thread_index() + turn) % threads;
}

TRIFOLD_DEVICE real* left_of(FrontShared& shared) { return has_room ? shared.pulled : shared.stacked; }
TRIFOLD_DEVICE real* right_of(FrontShared& shared) { return has_room ? shared.pulled + lower_leading * padded : shared.stacked + padded; }
/* The inverse of diagonal tile t, row-major, a row every `lower_leading` elements. */
TRIFOLD_DEVICE real* inverse_of(FrontShared& shared, int t) {
    return inverse_apart ? shared.inverse + t * 8 : shared.lower + t * 8 * (lower_leading + 1);
}

/* Before the first front of a thread block; its first barrier comes with the claim. */
TRIFOLD_DEVICE void start_barriers() {
    static_assert(barriers <= 16, "as many as there are");
    if (thread_index() < 16) static_cast<FrontShared*>(shared_memory())->arrivals[thread_index()] = 0;
}
TRIFOLD_DEVICE void meet(FrontShared& shared, Barriers at, int k = 0) { named_sync(shared.arrivals[at.first + k], at.first + k, at.party); }
TRIFOLD_DEVICE void arrive(FrontShared& shared, Barriers at, int k) { named_arrive(shared.arrivals[at.first + k], at.first + k, at.party); }

/* A warp's product of a band and a strip, four elements a lane: by tensor instructions as they come, else four rows. */
struct Patch {
    product at[tensor_columns][tensor_vectors][2];
};
static_assert(tensor_columns * tensor_vectors == 2, "four elements a lane");
template <class P>
TRIFOLD_DEVICE auto& element(P& patch, int k) {
    return patch.at[k / 2 / tensor_vectors][k / 2 % tensor_vectors][k % 2];
}
TRIFOLD_DEVICE int patch_row(int k) { return use_tensor ? k / 2 / tensor_vectors * 8 + tensor_column() : thread_index() % 4 * 4 + k; }
TRIFOLD_DEVICE int patch_column(int k) { return use_tensor ? result_row(k / 2 % tensor_vectors) + k % 2 : thread_index() % warp_lanes / 4; }

/* patches += Sign times the band at `a` times the strips from `b` on, over `depth` columns; strips from `count` on do not exist. A
 * strip has `Columns` columns, or its results beyond them are of no use. Of a band that is half padding (not `whole`) the first half
 * is taken twice, and the second result is not used. */
template <int Sign, int Quads, int Columns, int Strips>
TRIFOLD_DEVICE void multiply_band(Patch (&patches)[Strips], const real* a, int a_leading, const real* b, int b_leading, bool whole,
                                  int count, int depth) {
    if constexpr (use_tensor) {
        a += (whole ? tensor_column() : tensor_column() % 8) + tensor_depth() * a_leading,
            b += tensor_row() % Columns + tensor_depth() * b_leading;
        const int second = whole ? 8 : 0;
#pragma unroll 2
        for (int k = 0; k < depth; k += 4 * Quads) {
            product lines[tensor_columns][Quads];
#pragma unroll
            for (int i = 0; i < Quads; ++i)
#pragma unroll
                for (int c = 0; c < tensor_columns; ++c) lines[c][i] = static_cast<product>(Sign * a[(k + 4 * i) * a_leading + c * second]);
#pragma unroll
            for (int strip = 0; strip < Strips; ++strip) {
                if (strip >= count) continue;
                product others[Quads];
#pragma unroll
                for (int i = 0; i < Quads; ++i) others[i] = static_cast<product>(b[strip * Columns + (k + 4 * i) * b_leading]);
                tensor_multiply<Quads>(patches[strip].at, lines, others);
            }
        }
    } else {
        a += whole ? thread_index() % 4 * 4 : thread_index() % 2 * 4, b += thread_index() % warp_lanes / 4;
#pragma unroll 4
        for (int k = 0; k < depth; ++k) {
            real line[4 / vector_width][vector_width];
#pragma unroll
            for (int v = 0; v < 4 / vector_width; ++v) load_vector(line[v], a + v * vector_width + k * a_leading);
#pragma unroll
            for (int strip = 0; strip < Strips; ++strip) {
                const real other = strip < count ? Sign * b[strip * Columns + k * b_leading] : real(0);
#pragma unroll
                for (int v = 0; v < 4; ++v) element(patches[strip], v) += line[v / vector_width][v % vector_width] * other;
            }
        }
    }
}
constexpr int block_quads = has_room && padded % 16 == 0 ? 4 : 2; /* the largest blocks need the registers */

/* use(value, r, c) for the elements of the patch at (row, column) that lie within a block. */
template <class Use>
TRIFOLD_DEVICE void each_element(const Patch& patch, int row, int column, const Use& use) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int r = row + patch_row(k), c = column + patch_column(k);
        if (padded % 16 == 0 || (r < padded && c < padded)) use(static_cast<real>(element(patch, k)), r, c);
    }
}

/* Copies that a thread starts together: more, where their addresses take no registers that the stack needs. */
constexpr int copies_together = in_registers ? 2 : 4, lines_together = in_registers ? 4 : 1;

/* Starts the copy of a block of the workspace, by `workers` threads together. */
TRIFOLD_DEVICE void copy_block(real* to, int leading, const real* from, int worker = front_thread(), int workers = threads) {
    constexpr int vectors = padded / vector_width;
#pragma unroll copies_together
    for (int e = worker; e < vectors * padded; e += workers)
        copy_async(to + e % vectors * vector_width + e / vectors * leading, from + e * vector_width);
}

/* ---- gpu/tridiagonal/dataflow/message.cuh ---- */
/* [R; G] by messages, column tile after column tile as it is made, to the front of the next level, which takes its updates in the
 * same steps: when the last tile comes, products of depth 8 are all that stands before the first pivot. Flags still tell the other
 * fronts, and what failed. */

constexpr bool has_messages = message_fronts > 0;
TRIFOLD_DEVICE bool sends_messages(const Front& front) { return has_messages && front.level >= message_level; }
TRIFOLD_DEVICE bool gets_messages(const Front& front) { return has_messages && front.level > message_level; }

/* The last fronts that update this one; the right one may not exist. */
TRIFOLD_DEVICE trifold_int left_child(const Front& front) { return front.block - (trifold_int(1) << (front.level - 1)); }
TRIFOLD_DEVICE trifold_int right_child(const Front& front) {
    const trifold_int right = front.block + (trifold_int(1) << (front.level - 1));
    return right < horizon ? right : -1;
}

/* A message is a number's bits in a word of their size, and zero as long as nothing has come. The number zero is sent as minus zero. Who
 * has taken it clears it for the next run, so one thread alone looks at it. */
template <int Bytes>
struct MailOf {
    typedef trifold_word type;
};
template <>
struct MailOf<4> {
    typedef unsigned type;
};
typedef MailOf<sizeof(real)>::type Mail;
TRIFOLD_DEVICE void post(Mail* to, real value) {
    Mail bits;
    copy_bits(bits, value);
    store_word(to, bits == 0 ? Mail(1) << (sizeof(Mail) * 8 - 1) : bits);
}
TRIFOLD_DEVICE real content_of(Mail mail) {
    real value;
    copy_bits(value, mail);
    return value;
}

/* Element (row, column) of a front's [R; G], or from column `padded` on, of the product with its right-hand sides. */
TRIFOLD_DEVICE Mail* message_of(const trifold_args& args, trifold_int member, trifold_int block, int row, int column) {
    const trifold_int front = member * message_fronts + ((block + 1) >> message_level) - 1;
    return buffer<Mail>(args, FlowOffset::message) + (front * (padded + riders) + column) * stacked_rows + row;
}

/* The pivots' warps receive what D takes, R of the child to the left and G of the one to the right, and go on when they have it; the
 * stack's receive the other two, and for their products need all. A thread of either has a row, and of every column tile some columns. */
enum class Receiver { pivots, stack };
template <Receiver By>
struct Inbox {
    static constexpr int first = By == Receiver::pivots ? 0 : pivot_warps * warp_lanes,
                         workers = By == Receiver::pivots ? pivot_warps * warp_lanes : threads - first;
    static constexpr int row_threads = workers < 2 * stacked_rows ? 1 : 2, row_columns = 8 / row_threads;
    static constexpr int column_step = row_threads * stacked_rows, tile_step = 8 * stacked_rows;
    Mail* from; /* null: nothing comes */
    real* to;
    int leading;
};
template <Receiver By>
TRIFOLD_DEVICE Inbox<By> inbox_of(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    constexpr bool pivots = By == Receiver::pivots;
    const int worker = front_thread() - Inbox<By>::first, row = worker % stacked_rows, column = worker / stacked_rows;
    const bool is_r = row < padded, by_left = is_r == pivots;
    const trifold_int child = by_left ? left_child(front) : right_child(front);
    Inbox<By> inbox{};
    if (column < Inbox<By>::row_threads && child >= 0 && (pivots || (is_r ? front.next : front.behind) >= 0))
        inbox.from = message_of(args, member, child, row, column);
    inbox.leading = pivots ? pulled_leading : stacked_leading;
    real* const place = !pivots ? shared.stacked + row : by_left ? left_of(shared) + row : right_of(shared) + row - padded;
    inbox.to = place + column * inbox.leading;
    return inbox;
}

/* Looks at a row's columns of a tile. */
template <Receiver By>
struct Looks {
    Mail at[Inbox<By>::row_columns];
};
template <Receiver By>
TRIFOLD_DEVICE void look_at(Looks<By>& looks, const Inbox<By>& inbox) {
#pragma unroll
    for (int k = 0; k < Inbox<By>::row_columns; ++k)
        looks.at[k] = inbox.from == nullptr ? Mail(1) : load_word(inbox.from + k * Inbox<By>::column_step);
}
template <Receiver By>
TRIFOLD_DEVICE bool have_come(const Looks<By>& looks) {
    bool come = true;
#pragma unroll
    for (int k = 0; k < Inbox<By>::row_columns; ++k) come = looks.at[k] != 0 && come;
    return come;
}
template <Receiver By>
TRIFOLD_DEVICE void store_looks(const Inbox<By>& inbox, const Looks<By>& looks) {
#pragma unroll
    for (int k = 0; k < Inbox<By>::row_columns; ++k) inbox.to[k * Inbox<By>::row_threads * inbox.leading] = content_of(looks.at[k]);
}

/* Column tile after column tile to where the products look for it, then use(t). The next tile is looked at before the products. */
template <Receiver By, class Use>
TRIFOLD_DEVICE void receive_tiles(FrontShared& shared, Inbox<By> inbox, const Use& use) {
    Looks<By> looks;
    look_at(looks, inbox);
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        while (!have_come(looks)) {
            spin();
            look_at(looks, inbox);
        }
        if (inbox.from != nullptr) {
            store_looks(inbox, looks);
            inbox.from += Inbox<By>::tile_step, inbox.to += 8 * inbox.leading;
        }
        if (t + 1 < tiles) look_at(looks, inbox);
        if (By == Receiver::pivots) {
            arrive(shared, message_barriers, t);
            meet(shared, part_barrier);
        } else {
            meet(shared, message_barriers, t);
        }
        use(t);
    }
    warp_sync();
}
/* Makes an inbox ready for the next run, by the threads that have taken what it held. */
template <Receiver By>
TRIFOLD_DEVICE void clear_inbox(const Inbox<By>& inbox) {
    if (inbox.from == nullptr) return;
#pragma unroll 1
    for (int t = 0; t < tiles; ++t)
#pragma unroll
        for (int k = 0; k < Inbox<By>::row_columns; ++k)
            store_word(inbox.from + t * Inbox<By>::tile_step + k * Inbox<By>::column_step, Mail(0));
}
TRIFOLD_DEVICE void clear_messages(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    if (front_thread() < pivot_warps * warp_lanes)
        clear_inbox(inbox_of<Receiver::pivots>(shared, args, member, front));
    else
        clear_inbox(inbox_of<Receiver::stack>(shared, args, member, front));
}

/* What does not exist is zero. */
TRIFOLD_DEVICE void clear_right(FrontShared& shared) {
    for (int e = front_thread(); e < padded * padded; e += threads) right_of(shared)[e % padded + e / padded * pulled_leading] = 0;
}

/* D's columns that a pivots' warp will factor, so that these warps need not meet: a tile of the first band, two of the second. A strip
 * that does not exist repeats the first, and is not stored. */
constexpr int pivot_columns = pivot_warps * 8;
struct PivotShare {
    Patch first[1], second[2];
};
template <class Use>
TRIFOLD_DEVICE void each_pivot(PivotShare& share, FrontShared& shared, const Use& use) {
    const int column = front_thread() / warp_lanes * 8;
    const auto each = [&](Patch& patch, int row, int c) {
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (c < padded && row + patch_row(k) < padded)
                use(element(patch, k), shared.lower[row + patch_row(k) + (c + patch_column(k)) * lower_leading]);
    };
    each(share.first[0], 0, column);
    if constexpr (bands > 1) each(share.second[0], 16, column), each(share.second[1], 16, column + pivot_columns);
}
TRIFOLD_DEVICE void multiply_pivot(PivotShare& share, const real* columns) {
    const real* own = columns + front_thread() / warp_lanes * 8;
    multiply_band<-1, 2, strip_columns>(share.first, columns, pulled_leading, own, pulled_leading, 8 < padded, 1, 8);
    if constexpr (bands > 1) {
        constexpr bool whole = padded % 16 == 0;
        if (whole || own == columns)
            multiply_band<-1, 2, pivot_columns>(share.second, columns + 16, pulled_leading, own, pulled_leading, whole, 2, 8);
        else
            multiply_band<-1, 2, pivot_columns>(share.second, columns + 16, pulled_leading, own, pulled_leading, whole, 1, 8);
    }
}

/* D when the last pair has updated it, by the pivots' warps: each has what it needs. */
TRIFOLD_DEVICE void receive_pivots(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    PivotShare pivots{};
    receive_tiles(shared, inbox_of<Receiver::pivots>(shared, args, member, front), [&](int t) {
        multiply_pivot(pivots, left_of(shared) + t * 8 * pulled_leading);
        multiply_pivot(pivots, right_of(shared) + t * 8 * pulled_leading);
    });
    meet(shared, pulled_barrier);
    each_pivot(pivots, shared, [](product value, real& at) { at = static_cast<real>(static_cast<product>(at) + value); });
    warp_sync();
}

/* What the last pair takes from row r of right-hand side c: a look, which may be long before what is needed; then what has come. */
struct RiderLook {
    Mail left, right;
};
TRIFOLD_DEVICE RiderLook look_at_rider(const trifold_args& args, trifold_int member, const Front& front, int r, int c) {
    const trifold_int right = right_child(front);
    return {load_word(message_of(args, member, left_child(front), r, padded + c)),
            right < 0 ? Mail(1) : load_word(message_of(args, member, right, padded + r, padded + c))};
}
TRIFOLD_DEVICE real receive_rider(RiderLook look, const trifold_args& args, trifold_int member, const Front& front, int r, int c) {
    const trifold_int right = right_child(front);
    while (look.left == 0 || look.right == 0) {
        spin();
        look = look_at_rider(args, member, front, r, c);
    }
    store_word(message_of(args, member, left_child(front), r, padded + c), Mail(0));
    if (right < 0) return content_of(look.left);
    store_word(message_of(args, member, right, padded + r, padded + c), Mail(0));
    return content_of(look.left) + content_of(look.right);
}

/* ---- gpu/tridiagonal/dataflow/load.cuh ---- */
/* A front before its panel: D, the couplings and the right-hand sides as it finds them. */

/* Right-hand sides into the rows below D. */
TRIFOLD_DEVICE void load_riders(real* lower, const trifold_args& args, trifold_int member, trifold_int block) {
    for (int e = front_thread(); e < riders * padded; e += threads) {
        const int c = e / padded, r = e % padded;
        const trifold_strides& s = args.b_strides;
        const bool inside = r < block_size && c < args.columns;
        lower[padded + c + r * lower_leading] = inside ? static_cast<const real*>(args.b)[rhs_at(s, member, block, r, c)] : real(0);
    }
}
TRIFOLD_DEVICE void update_riders(real* lower, const trifold_args& args, trifold_int member, trifold_int left, trifold_int right) {
    const real* from_left = neighbour_rhs_of(args, member, left, 1);
    const real* from_right = right < 0 ? nullptr : neighbour_rhs_of(args, member, right, 0);
    for (int e = front_thread(); e < riders * padded; e += threads) {
        real* at = lower + padded + e / padded + e % padded * lower_leading;
        if (e / padded >= args.columns) continue;
        real value = *at - from_left[e];
        if (from_right != nullptr) value -= from_right[e];
        *at = value;
    }
}

/* A band by the strips of 16 columns. */
constexpr int square_strips = 16 / strip_columns;
struct BandSquare {
    Patch strips[square_strips];
};
/* Who pulls: all, or the warps of the stack while those of the pivots receive messages. */
enum class Crew { all, stack };
template <Crew By>
struct Pulling {
    static constexpr int first = By == Crew::all ? 0 : pivot_warps, count = warps - first, rounds = (lower_squares + count - 1) / count;
    static constexpr int leading = By == Crew::all ? pulled_leading : stacked_leading;
};
template <Crew By>
TRIFOLD_DEVICE void meet_crew(FrontShared& shared) {
    if (By == Crew::all)
        block_sync();
    else
        meet(shared, stack_barrier);
}

/* use(square, row, column) for this warp's squares of the lower part of a block. */
template <Crew By, class Use>
TRIFOLD_DEVICE void each_lower_square(BandSquare (&squares)[Pulling<By>::rounds], const Use& use) {
#pragma unroll
    for (int round = 0; round < Pulling<By>::rounds; ++round) {
        int row = 0, column = front_thread() / warp_lanes - Pulling<By>::first + round * Pulling<By>::count;
        while (column > row) column -= ++row;
        if (row < bands) use(squares[round], row * 16, column * 16);
    }
}

/* The updates of D by the fronts eliminated before whose flags tell, and if the last pair is among them, its operands for the
 * couplings on their way to where they are needed. Returns whether one of those fronts failed. */
template <Crew By, bool Riders>
TRIFOLD_DEVICE bool pull_updates(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    constexpr int leading = Pulling<By>::leading, workers = Pulling<By>::count * warp_lanes;
    const int worker = front_thread() - Pulling<By>::first * warp_lanes;
    real* const r = By == Crew::all ? left_of(shared) : shared.stacked;
    real* const g = By == Crew::all ? right_of(shared) : shared.stacked + padded;
    BandSquare sums[Pulling<By>::rounds]{};
    bool fed = false;
    const int pairs = front.level - static_cast<int>(gets_messages(front));
#pragma unroll 1
    for (int k = 0; k < pairs; ++k) {
        const trifold_int distance = trifold_int(1) << k, left = front.block - distance;
        const trifold_int right = front.block + distance < horizon ? front.block + distance : -1;
        const bool last = k + 1 == front.level;
        if (await_fronts(args, member, front.run, left, right)) fed = true;
        copy_block(r, leading, next_of(args, member, left), worker, workers);
        if (right >= 0) copy_block(g, leading, behind_of(args, member, right), worker, workers);
        if (Riders && !in_registers) update_riders(shared.lower, args, member, left, right);
        end_copies();
        if (By == Crew::all && last && has_room) {
            if (front.next >= 0) copy_block(shared.stacked, stacked_leading, next_of(args, member, right));
            if (front.behind >= 0) copy_block(shared.stacked + padded, stacked_leading, behind_of(args, member, left));
            end_copies();
            wait_copies<1>();
        } else {
            wait_copies<0>();
        }
        meet_crew<By>(shared);
        each_lower_square<By>(sums, [&](BandSquare& sum, int row, int column) {
            const bool whole = row + 8 < padded;
            const int count = column + 16 <= padded ? square_strips : 1;
            multiply_band<1, block_quads, strip_columns>(sum.strips, r + row, leading, r + column, leading, whole, count, padded);
            if (right >= 0)
                multiply_band<1, block_quads, strip_columns>(sum.strips, g + row, leading, g + column, leading, whole, count, padded);
        });
        if (!last) meet_crew<By>(shared);
    }
    if (pairs > 0)
        each_lower_square<By>(sums, [&](const BandSquare& sum, int row, int column) {
#pragma unroll
            for (int strip = 0; strip < square_strips; ++strip)
                each_element(sum.strips[strip], row, column + strip * strip_columns, [&](real value, int r, int c) {
                    if (r >= c) shared.lower[r + c * lower_leading] -= value;
                });
        });
    wait_copies<0>();
    return fed;
}

/* R_k and G_j to where they are needed, by the warps of the stack, where they had no place while D took its updates. */
TRIFOLD_DEVICE void fetch_stack(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, trifold_int left,
                                trifold_int right) {
    const int worker = front_thread() - pivot_warps * warp_lanes, workers = stacked_warps * warp_lanes;
    if (front.next >= 0) copy_block(shared.stacked, stacked_leading, next_of(args, member, right), worker, workers);
    if (front.behind >= 0) copy_block(shared.stacked + padded, stacked_leading, behind_of(args, member, left), worker, workers);
    end_copies();
    wait_copies<0>();
    meet(shared, stack_barrier);
}

/* -R_k G_k' and -G_j R_j' where R_k and G_j stand, by the warps of the stack: one has all of a band. */
TRIFOLD_DEVICE void make_couplings(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const trifold_int distance = trifold_int(1) << (front.level - 1), left = front.block - distance, right = front.block + distance;
    if (!has_room) fetch_stack(shared, args, member, front, left, right);
#pragma unroll 1
    for (int unit = front_thread() / warp_lanes - pivot_warps; unit < 2 * bands; unit += stacked_warps) {
        const bool ahead = unit < bands;
        if ((ahead ? front.next : front.behind) < 0) continue;
        const int row = unit % bands * 16;
        real* band = shared.stacked + (ahead ? 0 : padded) + row;
        Patch products[strips]{};
        const real* other = ahead ? right_of(shared) : left_of(shared);
        if (!has_room) other = ahead ? behind_of(args, member, right) : next_of(args, member, left);
        multiply_band<-1, block_quads, strip_columns>(products, band, stacked_leading, other, has_room ? lower_leading : padded,
                                                      row + 8 < padded, strips, padded);
        warp_sync();
#pragma unroll
        for (int strip = 0; strip < strips; ++strip)
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (row + patch_row(k) < padded)
                    band[patch_row(k) + (strip * strip_columns + patch_column(k)) * stacked_leading] = element(products[strip], k);
    }
    meet(shared, stack_barrier);
}

/* A thread's elements of a block: u runs over the contiguous direction of memory, in groups of 8, and v over the other. use(du, dv) for
 * those at (first_u() + du, first_v() + dv), constants, so that addresses are made once. */
TRIFOLD_DEVICE int first_u() { return static_cast<int>(static_cast<unsigned>(front_thread()) % strip); }
TRIFOLD_DEVICE int first_v() { return static_cast<int>(static_cast<unsigned>(front_thread()) / strip); }
template <class Use>
TRIFOLD_DEVICE void each_place(const Use& use) {
    constexpr int lines = threads / strip;
#pragma unroll lines_together
    for (int dv = 0; dv < padded; dv += lines) {
        if (padded % lines != 0 && first_v() + dv >= padded) continue;
#pragma unroll
        for (int du = 0; du < padded; du += strip) use(du, dv);
    }
}

/* The lower triangle of D, the identity in the padding, on its way. */
TRIFOLD_DEVICE void fetch_diagonal(real* to, const trifold_args& args, trifold_int member, trifold_int block) {
    constexpr bool by_columns = D::row == 1;
    constexpr int u_to = by_columns ? 1 : lower_leading, v_to = by_columns ? lower_leading : 1;
    constexpr trifold_int u_from = by_columns ? D::row : D::column, v_from = by_columns ? D::column : D::row;
    const real* from = D_OF(args, member, block);
    const int u = first_u(), v = first_v();
    from += u * u_from + v * v_from, to += u * u_to + v * v_to;
    each_place([&](int du, int dv) {
        const int r = by_columns ? u + du : v + dv, c = by_columns ? v + dv : u + du;
        if (c > r) return;
        if (r < block_size)
            copy_element_async(to + (du * u_to + dv * v_to), from + (du * u_from + dv * v_from));
        else
            to[du * u_to + dv * v_to] = r == c ? real(1) : real(0);
    });
}
/* The original coupling A(neighbour, block), zeros in the padding, on its way. */
template <bool Below> /* then it is E of the block, else the neighbour's transposed */
TRIFOLD_DEVICE void fetch_coupling(real* to, const trifold_args& args, trifold_int member, trifold_int block) {
    constexpr bool by_columns = E::row == 1;
    constexpr int u_to = by_columns == Below ? 1 : stacked_leading, v_to = by_columns == Below ? stacked_leading : 1;
    constexpr trifold_int u_from = by_columns ? E::row : E::column, v_from = by_columns ? E::column : E::row;
    const real* from = E_OF(args, member, Below ? block : block - 1);
    const int u = first_u(), v = first_v();
    from += u * u_from + v * v_from, to += u * u_to + v * v_to;
    each_place([&](int du, int dv) {
        if (u + du < block_size && v + dv < block_size)
            copy_element_async(to + (du * u_to + dv * v_to), from + (du * u_from + dv * v_from));
        else
            to[du * u_to + dv * v_to] = 0;
    });
}

/* A neighbour that does not exist is coupled by zeros. */
TRIFOLD_DEVICE void clear_rows(real* to) {
    for (int e = front_thread(); e < padded * padded; e += threads) to[e % padded + e / padded * stacked_leading] = 0;
}

template <bool Riders>
TRIFOLD_DEVICE void load_front(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    fetch_diagonal(shared.lower, args, member, front.block);
    fetch_entries(shared.entry, args, member, front.block, front_thread(), threads);
    if (front.level == 0) {
        if (front.next >= 0) fetch_coupling<true>(shared.stacked, args, member, front.block);
        if (front.behind >= 0) fetch_coupling<false>(shared.stacked + padded, args, member, front.block);
    }
    end_copies();
    if (front.next < 0) clear_rows(shared.stacked);
    if (front.behind < 0) clear_rows(shared.stacked + padded);
    if (Riders) load_riders(shared.lower, args, member, front.block);
    start_pivots(shared.pivots, args, member, front.block);
    wait_copies<0>();
    block_sync();
    if (args.diagonal != nullptr || args.shift != nullptr) {
        for (int r = front_thread(); r < block_size; r += threads)
            shared.lower[r * (lower_leading + 1)] += diagonal_term(args, member, front.block, r);
        block_sync();
    }
}
/* What has been eliminated before a front that gets messages, by the warps of the stack. */
TRIFOLD_DEVICE bool pull_beside_messages(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const bool fed = pull_updates<Crew::stack, false>(shared, args, member, front);
    if (front_thread() == pivot_warps * warp_lanes) shared.ticket = static_cast<trifold_int>(fed);
    arrive(shared, pulled_barrier, 0);
    return fed;
}

/* ---- gpu/dense/column_tile.cuh ---- */
/* Elimination of a column tile, 8 wide, by one warp: the 8 by 8 pivot tile, and rows below it. */

/* Where the eight pivots go, and the reciprocals of their roots; null: nowhere. */
template <class T>
struct KeptAs {
    T* pivots;
    real* reciprocals;
    TRIFOLD_METHOD void keep(int c, real pivot, real reciprocal) const {
        if (pivots != nullptr) pivots[c] = pivot;
        if (reciprocals != nullptr) reciprocals[c] = reciprocal;
    }
};
typedef KeptAs<double> Kept;

/* The lower part of the tile at `at`; what is loaded along with it from above the diagonal is not looked at. */
TRIFOLD_DEVICE void load_tile(real (&d)[8][8], const real* at, int leading) {
#pragma unroll
    for (int c = 0; c < 8; ++c)
#pragma unroll
        for (int r = c / vector_width * vector_width; r < 8; r += vector_width) {
            real v[vector_width];
            load_vector(v, at + r + c * leading);
#pragma unroll
            for (int e = 0; e < vector_width; ++e)
                if (r + e >= c) d[r + e][c] = v[e];
        }
}

/* Whether 0 < x < limit, by the first halves of their bits alone in double precision: not all of x near the limit pass. */
TRIFOLD_DEVICE bool is_below(real x, real limit) {
    unsigned x_bits[sizeof(real) / 4], limit_bits[sizeof(real) / 4];
    copy_bits(x_bits, x), copy_bits(limit_bits, limit);
    return x_bits[sizeof(real) / 4 - 1] < limit_bits[sizeof(real) / 4 - 1];
}

/* The tile d, which every lane has for itself, and a lane's rows a, in registers, two pivots at a time: with p, b, q the 2 by 2
 * pivot, 1 / L11 = rsqrt(p) and 1 / L22 = p rsqrt(p (p q - b^2)) start together. Returns whether the result may stand: every pivot
 * is above the floor and of a size that the products of three of its like do not overflow. */
template <int Sets, class T = double>
TRIFOLD_DEVICE bool eliminate_quickly(real (&d)[8][8], real (&a)[Sets][8], real floor, KeptAs<T> kept) {
    constexpr real most = sizeof(real) == 8 ? real(1e100) : real(1e12f), least = real(1) / most;
    const real lowest = floor > least ? floor : least;
    bool stands = true;
#pragma unroll
    for (int c = 0; c < 8; c += 2) {
        const real p = d[c][c], b = d[c + 1][c], q = d[c + 1][c + 1];
        const real minor = p * (p * q - b * b), guess = approximate_rsqrt(minor);
        const real scale = quick_rsqrt(p), second = corrected_rsqrt(minor, guess, guess * p), l = b * scale, r = q - l * l;
        stands = stands && p >= lowest && r >= lowest && is_below(p, most) && is_below(r, most);
        if (thread_index() % warp_lanes == 0) kept.keep(c, p, scale), kept.keep(c + 1, r, second);
#pragma unroll
        for (int k = c + 2; k < 8; ++k) {
            d[k][c] *= scale;
            d[k][c + 1] = (d[k][c + 1] - d[k][c] * l) * second;
        }
#pragma unroll
        for (int s = 0; s < Sets; ++s) {
            a[s][c] *= scale;
            a[s][c + 1] = (a[s][c + 1] - a[s][c] * l) * second;
        }
#pragma unroll
        for (int k = c + 2; k < 8; ++k) {
#pragma unroll
            for (int i = k; i < 8; ++i) d[i][k] = (d[i][k] - d[i][c] * d[k][c]) - d[i][c + 1] * d[k][c + 1];
#pragma unroll
            for (int s = 0; s < Sets; ++s) a[s][k] = (a[s][k] - a[s][c] * d[k][c]) - a[s][c + 1] * d[k][c + 1];
        }
    }
    return stands;
}

/* Eliminates a column tile in shared memory, one pivot at a time with every test: for tiles with a pivot that is raised or fails, or that
 * is out of the quick way's range. The tile begins at row and column `first` of `panel`, and the rows end before `end`. `row` is the
 * panel's first row in the block. */
template <class T = double>
TRIFOLD_DEVICE void eliminate_one_by_one(real* panel, int leading, int first, int end, int row, Pivots& pivots, KeptAs<T> kept) {
    const int lane = thread_index() % warp_lanes;
    const real floor = static_cast<real>(pivots.floor);
#pragma unroll 1
    for (int j = first; j < first + 8; ++j) {
        real* column = panel + j * leading;
        real pivot = column[j];
        const bool raised = pivot < floor && pivot >= -largest && row + j < block_size;
        if (raised) pivot = floor;
        const bool passes = is_pivot(pivot);
        const real scale = passes ? inverse_sqrt(pivot) : static_cast<real>(not_a_number());
        warp_sync();
        if (lane == 0) {
            if (!passes && pivots.failed_row < 0) pivots.failed_row = row + j;
            pivots.floors += static_cast<int>(raised);
            column[j] = pivot * scale;
            kept.keep(j - first, pivot, scale);
        }
        for (int r = j + 1 + lane; r < end; r += warp_lanes) column[r] *= scale;
        warp_sync();
        for (int r = j + 1 + lane; r < end; r += warp_lanes)
            for (int k = j + 1; k < first + 8 && k <= r; ++k) panel[r + k * leading] -= column[r] * column[k];
        warp_sync();
    }
}
/* eliminate_one_by_one() as a call: inlined, it would take registers where a caller has none to spare. */
template <class T = double>
TRIFOLD_FUNCTION void eliminate_carefully(real* panel, int leading, int first, int end, int row, Pivots& pivots, KeptAs<T> kept) {
    eliminate_one_by_one(panel, leading, first, end, row, pivots, kept);
}

/* ---- gpu/tridiagonal/dataflow/panel.cuh ---- */
/* The panel of a front: D factored, R, G and the right-hand sides behind it. */

/* Column tile t of `Sets` times 32 rows, less what the tiles before it take: from shared memory to a lane a row. `wait()` returns when
 * the last of L's is there. Rows from `limit` on do not exist; those before `begin` are of no use. */
template <int Sets, class Wait>
TRIFOLD_DEVICE void update_rows(real (&a)[Sets][8], real* rows, int leading, int begin, int limit, const real* lower, int t,
                                const Wait& wait) {
    const int lane = thread_index() % warp_lanes;
    real* columns = rows + t * 8 * leading;
    constexpr bool by_tensor =
        use_tensor && (sizeof(real) == 8 || Sets > 1); /* of few rows conversions would take longer than these products */
    if constexpr (by_tensor) {
        if (t > 0) {
            constexpr int own_bands = Sets * warp_lanes / 16;
            Patch sums[own_bands][1];
            /* A strip of 16 columns reaches beyond the tile. */
            const auto inside = [&](int h, int k) { return h * 16 + patch_row(k) < limit && (strip_columns == 8 || patch_column(k) < 8); };
#pragma unroll
            for (int h = 0; h < own_bands; ++h)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    element(sums[h][0], k) =
                        static_cast<product>(inside(h, k) ? columns[h * 16 + patch_row(k) + patch_column(k) * leading] : real(0));
            const auto subtract = [&](int s) {
#pragma unroll
                for (int h = 0; h < own_bands; ++h)
                    if (h * 16 < limit && begin < h * 16 + 16)
                        multiply_band<-1, 2, 8>(sums[h], rows + h * 16 + s * 8 * leading, leading, lower + t * 8 + s * 8 * lower_leading,
                                                lower_leading, h * 16 + 8 < limit, 1, 8);
            };
#pragma unroll 2
            for (int s = 0; s + 1 < t; ++s) subtract(s);
            wait();
            subtract(t - 1);
#pragma unroll
            for (int h = 0; h < own_bands; ++h)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    if (inside(h, k))
                        columns[h * 16 + patch_row(k) + patch_column(k) * leading] = static_cast<real>(element(sums[h][0], k));
            warp_sync();
        }
    }
#pragma unroll
    for (int q = 0; q < Sets; ++q)
#pragma unroll
        for (int c = 0; c < 8; ++c) a[q][c] = lane + q * warp_lanes < limit ? columns[lane + q * warp_lanes + c * leading] : real(0);
    if constexpr (!by_tensor) {
#pragma unroll 1
        for (int s = 0; s < t; ++s) {
            if (s + 1 == t) wait();
            const real* m = lower + t * 8 + s * 8 * lower_leading;
#pragma unroll
            for (int k = 0; k < 8; ++k)
#pragma unroll
                for (int q = 0; q < Sets; ++q) {
                    const real own = rows[(lane + q * warp_lanes < limit ? lane + q * warp_lanes : 0) + (s * 8 + k) * leading];
#pragma unroll
                    for (int c = 0; c < 8; c += vector_width) {
                        real v[vector_width];
                        load_vector(v, m + k * lower_leading + c);
#pragma unroll
                        for (int e = 0; e < vector_width; ++e) a[q][c + e] -= own * v[e];
                    }
                }
        }
        if (t > 0) {
#pragma unroll
            for (int q = 0; q < Sets; ++q)
                if (lane + q * warp_lanes < limit)
#pragma unroll
                    for (int c = 0; c < 8; ++c) columns[lane + q * warp_lanes + c * leading] = a[q][c];
            warp_sync();
        }
    }
}

/* The lanes that had the tile's own rows have the inverse's columns. */
TRIFOLD_DEVICE void store_tile_rows(FrontShared& shared, const real (&a)[row_sets][8], int t) {
    if (!inverse_apart) warp_sync(); /* all lanes have the tile */
#pragma unroll
    for (int q = 0; q < row_sets; ++q) {
        const int r = thread_index() % warp_lanes + q * warp_lanes;
        if (r >= padded || (!in_registers && r < t * 8)) continue; /* what stands above the tile is not read */
        real* to = r / 8 == t ? inverse_of(shared, t) + r % 8 : shared.lower + r + t * 8 * lower_leading;
#pragma unroll
        for (int c = 0; c < 8; ++c) to[c * lower_leading] = a[q][c];
    }
}

/* The inverse of tile t's factor where that stands in shared memory: lane c < 8 solves for column c. */
template <int inverse_leading, class Shared>
TRIFOLD_DEVICE void invert_tile(Shared& shared, int t) {
    const int lane = thread_index() % warp_lanes;
    const real* l = shared.lower + t * 8 * (lower_leading + 1);
    real z[8];
#pragma unroll
    for (int r = 0; r < 8; ++r) {
        real sum = r == lane ? real(1) : real(0);
#pragma unroll
        for (int k = 0; k < r; ++k) sum -= l[r + k * lower_leading] * z[k];
        z[r] = sum * shared.reciprocal[t * 8 + r];
    }
    if (!inverse_apart) warp_sync();
    if (lane < 8) {
#pragma unroll
        for (int r = 0; r < 8; ++r) inverse_of(shared, t)[r * inverse_leading + lane] = z[r];
    }
}

/* Column tile t of up to 32 rows that follow L: a lane a row. The tiles before it are there; `wait()` returns when L's tile is. */
template <class Wait>
TRIFOLD_DEVICE void follow_tile(real (&a)[1][8], FrontShared& shared, real* rows, int leading, int limit, int t, const Wait& wait) {
    const int lane = thread_index() % warp_lanes;
    update_rows<1>(a, rows, leading, 0, limit, shared.lower, t, [] {});
    wait();
#pragma unroll
    for (int c = 7; c >= 0; --c) {
        real sum = 0;
#pragma unroll
        for (int k = 0; k <= c; k += vector_width) {
            real v[vector_width];
            load_vector(v, inverse_of(shared, t) + c * lower_leading + k);
#pragma unroll
            for (int e = 0; e < vector_width; ++e)
                if (k + e <= c) sum += a[0][k + e] * v[e];
        }
        a[0][c] = sum;
    }
    if (lane < limit) {
#pragma unroll
        for (int c = 0; c < 8; ++c) rows[lane + (t * 8 + c) * leading] = a[0][c];
    }
    warp_sync();
}

/* Column tile t of D by one warp: the rows below it, the tile itself in every lane, and the inverse of its factor. The elimination makes
 * that inverse of the identity, which stands in the lanes of the tile's own rows. */
TRIFOLD_DEVICE void factor_column_tile(FrontShared& shared, int t) {
    real a[row_sets][8];
    update_rows<row_sets>(a, shared.lower, lower_leading, t * 8, padded, shared.lower, t,
                          [&] { meet(shared, pivot_barriers, (t - 1) % 2); });
    real* own = shared.lower + t * 8 * lower_leading;
    real d[8][8];
    load_tile(d, own + t * 8, lower_leading);
    const int lane = thread_index() % warp_lanes;
    if constexpr (in_registers) {
#pragma unroll
        for (int q = 0; q < row_sets; ++q) {
            const int r = lane + q * warp_lanes;
            const real* mine = r / 8 == t ? inverse_of(shared, t) + r % 8 : own + r;
#pragma unroll
            for (int c = 0; c < 8; ++c) a[q][c] = r < padded ? mine[c * lower_leading] : real(0);
        }
    } else {
#pragma unroll
        for (int q = 0; q < row_sets; ++q)
#pragma unroll
            for (int c = 0; c < 8; ++c)
                if (lane / 8 + q * (warp_lanes / 8) == t) a[q][c] = lane % 8 == c ? real(1) : real(0);
    }
    real* const pivots = shared.diagonal + t * 8;
    if (eliminate_quickly(d, a, static_cast<real>(shared.pivots.floor), KeptAs<real>{pivots, nullptr})) {
        store_tile_rows(shared, a, t);
    } else {
        warp_sync();
        eliminate_carefully(shared.lower, lower_leading, t * 8, padded, 0, shared.pivots, KeptAs<real>{pivots, shared.reciprocal + t * 8});
        invert_tile<lower_leading>(shared, t);
    }
    warp_sync();
    if (t + 1 < tiles) arrive(shared, pivot_barriers, t % 2);
    arrive(shared, tile_barriers, t);
}

/* Column tile t of the right-hand sides, by one warp. */
TRIFOLD_DEVICE void solve_riders(FrontShared& shared, int t) {
    real a[1][8];
    follow_tile(a, shared, shared.lower + padded, lower_leading, riders, t, [] {});
}

/* R and G a lane a row, tile after tile, out to the workspace as they are done; the first warp has the right-hand sides too. */
template <bool Riders>
TRIFOLD_DEVICE void solve_rows(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    const int first = (front_thread() / warp_lanes - pivot_warps) * warp_lanes, row = first + thread_index() % warp_lanes;
    real* to = nullptr;
    if (row < padded && front.next >= 0) to = next_of(args, member, front.block) + row;
    if (row >= padded && row < 2 * padded && front.behind >= 0) to = behind_of(args, member, front.block) + row - padded;
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        real a[1][8];
        follow_tile(a, shared, shared.stacked + first, stacked_leading, stacked_rows - first, t, [&] { meet(shared, tile_barriers, t); });
        if (to != nullptr) {
#pragma unroll
            for (int c = 0; c < 8; ++c) to[(t * 8 + c) * padded] = a[0][c];
        }
        if (Riders && first == 0) solve_riders(shared, t);
    }
}

/* ---- gpu/tridiagonal/dataflow/stack.cuh ---- */
/* [R; G] in registers: a warp of the stack has two bands of 16 rows, a patch a column tile. Results of products are operands of the next
 * as they stand, so that shared memory is only where L is found, and no more than two products are between the pivots and R and G. */

struct Band {
    bool ahead, whole; /* of R; not half padding */
    int row;           /* within R or G */
    Patch columns[tiles];
};
struct Stack {
    Band bands[2];
};
static_assert(!in_registers || (use_tensor && results_are_operands && has_room && bands == stacked_warps && strip_columns == 8),
              "two bands a warp");

TRIFOLD_DEVICE Stack empty_stack() {
    Stack stack{};
#pragma unroll
    for (int band = 0; band < 2; ++band) {
        const int unit = 2 * (front_thread() / warp_lanes - pivot_warps) + band;
        stack.bands[band].ahead = unit < bands;
        stack.bands[band].row = unit % bands * 16;
        stack.bands[band].whole = stack.bands[band].row + 8 < padded;
    }
    return stack;
}
TRIFOLD_DEVICE bool exists(const Band& band, const Front& front) { return (band.ahead ? front.next : front.behind) >= 0; }

/* Where this lane's elements of a band go, from its first one's place on; null: nowhere. */
struct Outbox {
    Mail* mail;
    real* to;
};
TRIFOLD_DEVICE Outbox outbox_of(const Band& band, const trifold_args& args, trifold_int member, const Front& front) {
    if (!exists(band, front)) return {};
    const int row = band.row + patch_row(0), column = patch_column(0);
    real* to = band.ahead ? next_of(args, member, front.block) : behind_of(args, member, front.block);
    Mail* mail = sends_messages(front) ? message_of(args, member, front.block, band.ahead ? row : padded + row, column) : nullptr;
    return {mail, to + row + column * padded};
}

/* use(value, row, column) for the elements of column tile t that are no padding, rows and columns from the first one's place on. */
template <class Use>
TRIFOLD_DEVICE void each_of(const real (&values)[4], bool whole, int t, const Use& use) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (k < 2 || whole) use(values[k], k / 2 * 8, t * 8 + k % 2);
}

/* The original couplings. */
TRIFOLD_DEVICE void load_stack(Stack& stack, const FrontShared& shared) {
#pragma unroll
    for (Band& band : stack.bands)
#pragma unroll
        for (int t = 0; t < tiles; ++t)
#pragma unroll
            for (int k = 0; k < 4; ++k)
                element(band.columns[t], k) =
                    static_cast<product>(shared.stacked[(band.ahead ? 0 : padded) + band.row + patch_row(k) % (band.whole ? 16 : 8) +
                                                        (t * 8 + patch_column(k)) * stacked_leading]);
}

/* -R_k G_k' and -G_j R_j', of their columns from `first` on. */
TRIFOLD_DEVICE void multiply_stack(Stack& stack, FrontShared& shared, int first, int depth) {
#pragma unroll
    for (Band& band : stack.bands) {
        const real* own = shared.stacked + (band.ahead ? 0 : padded) + band.row + first * stacked_leading;
        const real* other = (band.ahead ? right_of(shared) : left_of(shared)) + first * pulled_leading;
        multiply_band<-1, 2, strip_columns>(band.columns, own, stacked_leading, other, pulled_leading, band.whole, strips, depth);
    }
}

/* The couplings when the last pair has updated them. */
TRIFOLD_DEVICE void start_stack(Stack& stack, FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    if (front.level == 0)
        load_stack(stack, shared);
    else if (gets_messages(front))
        receive_tiles(shared, inbox_of<Receiver::stack>(shared, args, member, front),
                      [&](int t) { multiply_stack(stack, shared, t * 8, 8); });
    else
        multiply_stack(stack, shared, 0, padded);
}

/* sum += Sign times a times eight rows, transposed. */
template <int Sign, class P> /* a template, since other platforms cannot */
TRIFOLD_DEVICE void multiply_patch(P& sum, const P& a, const product (&b)[2]) {
    product lines[tensor_columns][2], others[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int c = 0; c < tensor_columns; ++c) lines[c][i] = a.at[c][0][i];
        others[i] = Sign * b[i];
    }
    tensor_multiply<2>(sum.at, lines, others);
}
TRIFOLD_DEVICE void load_operand(product (&b)[2], const real* at, int row_step, int column_step) {
#pragma unroll
    for (int i = 0; i < 2; ++i) b[i] = static_cast<product>(at[tensor_row() * row_step + (result_row(0) + i) * column_step]);
}

/* The sum of eight products, a row's with a right-hand side's. */
TRIFOLD_DEVICE real sum_of_eight(const real* row, int row_step, const real* values, int step) {
    real sum[2] = {};
#pragma unroll
    for (int k = 0; k < 8; ++k) sum[k % 2] += row[k * row_step] * values[k * step];
    return sum[0] + sum[1];
}

/* Right-hand sides by the warps of the stack in turn, a lane a row; all lanes see a tile's results where they stand. */
TRIFOLD_DEVICE bool owns_rider_row() { return thread_index() % warp_lanes < padded; }
TRIFOLD_DEVICE int first_rider() { return front_thread() / warp_lanes - pivot_warps; }
TRIFOLD_DEVICE RiderLook look_at_rider(const trifold_args& args, trifold_int member, const Front& front, int c) {
    if (!gets_messages(front) || !owns_rider_row() || c >= args.columns) return {};
    return look_at_rider(args, member, front, thread_index() % warp_lanes, c);
}
/* A warp waits for all that the fronts of the first `pairs` pairs leave. */
TRIFOLD_DEVICE void await_pairs(const trifold_args& args, trifold_int member, const Front& front, int pairs) {
    const int lane = thread_index() % warp_lanes, pair = lane % 16;
    const trifold_int distance = trifold_int(1) << pair, other = lane < 16 ? front.block - distance : front.block + distance;
    if (pair < pairs && other < horizon) await_everything(args, member, other, front.run);
    warp_sync();
}
/* What they take from row r of right-hand side c. */
TRIFOLD_DEVICE void pull_rider(real& value, const trifold_args& args, trifold_int member, const Front& front, int pairs, int r, int c) {
#pragma unroll 4
    for (int k = 0; k < pairs; ++k) {
        const trifold_int left = front.block - (trifold_int(1) << k), right = front.block + (trifold_int(1) << k);
        value -= neighbour_rhs_of(args, member, left, 1)[c * padded + r];
        if (right < horizon) value -= neighbour_rhs_of(args, member, right, 0)[c * padded + r];
    }
}
/* A lane's entry of the right-hand side that stands at `at`, every `step`-th, when tile t has been solved: by its own lanes, then off
 * others'. */
template <class Solve, class Take>
TRIFOLD_DEVICE void ride_tile(real& value, real* at, int step, int t, bool others, const Solve& solve, const Take& take) {
    const int row = thread_index() % warp_lanes;
    const bool mine = owns_rider_row() && row / 8 == t;
    real* const tile_at = at + t * 8 * step;
    if (mine) at[row * step] = value;
    warp_sync();
    if (mine) value = solve(tile_at);
    warp_sync();
    if (mine) at[row * step] = value;
    warp_sync();
    if (owns_rider_row() && others) value -= take(tile_at);
}
/* The last front's part of the backward sweep. If it has failed, so has every solution. */
TRIFOLD_DEVICE void end_sweep(real value, int c, FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                              bool failed) {
    const int row = thread_index() % warp_lanes;
#pragma unroll 1
    for (int t = tiles - 1; t >= 0; --t)
        ride_tile(
            value, shared.stacked + c, stacked_leading, t, row < t * 8,
            [&](const real* v) { return sum_of_eight(inverse_of(shared, t) + row % 8, lower_leading, v, stacked_leading); },
            [&](const real* v) { return sum_of_eight(shared.lower + t * 8 + row * lower_leading, 1, v, stacked_leading); });
    if (!owns_rider_row()) return;
    if (failed) value = static_cast<real>(not_a_number());
    send(solution_words(args, member, front.block) + (c * padded + row) * message_words, value, early_run(front.run));
    if (row >= block_size) return;
    static_cast<real*>(args.x)[rhs_at(args.x_strides, member, front.block, row, c)] = value;
    watch(args, member, Result::solution, value);
}
/* The last front has nothing else to do, so that the first column follows its tiles. */
TRIFOLD_DEVICE void ride(RiderLook look, FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool fed,
                         bool ends) {
    const int row = thread_index() % warp_lanes;
    bool follows = is_last(front);
    const int pairs = front.level - static_cast<int>(gets_messages(front));
    if (first_rider() < args.columns) await_pairs(args, member, front, pairs);
#pragma unroll 1
    for (int c = first_rider(); c < args.columns || follows; c += stacked_warps) {
        real* const at = shared.lower + padded + (c < args.columns ? c : 0);
        real value = 0;
        const bool exists = c < args.columns, owns = exists && owns_rider_row();
        if (owns) {
            value = at[row * lower_leading];
            pull_rider(value, args, member, front, pairs, row, c);
        }
        if (owns && gets_messages(front)) value -= receive_rider(look, args, member, front, row, c);
        look = look_at_rider(args, member, front, c + stacked_warps);
#pragma unroll 1
        for (int t = 0; t < tiles; ++t) {
            if (follows) meet(shared, tile_barriers, t);
            if (!exists) continue;
            ride_tile(
                value, at, lower_leading, t, row >= t * 8 + 8,
                [&](const real* v) { return sum_of_eight(inverse_of(shared, t) + row % 8 * lower_leading, 1, v, lower_leading); },
                [&](const real* v) { return sum_of_eight(shared.lower + row + t * 8 * lower_leading, lower_leading, v, lower_leading); });
        }
        follows = false;
        if (exists && ends && is_last(front))
            end_sweep(value, c, shared, args, member, front, fed || shared.pivots.failed_row >= 0);
        else if (owns && row < block_size)
            static_cast<real*>(args.x)[rhs_at(args.x_strides, member, front.block, row, c)] = value;
        warp_sync();
    }
}

/* R and G, tile after tile as L's are there, out to whoever waits for them and to the workspace. */
template <bool Riders>
TRIFOLD_DEVICE void solve_stack(Stack& stack, FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                RiderLook& look) {
    const Outbox out[2] = {outbox_of(stack.bands[0], args, member, front), outbox_of(stack.bands[1], args, member, front)};
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
        if (Riders && t + 1 == tiles) look = look_at_rider(args, member, front, first_rider());
        meet(shared, tile_barriers, t);
        product b[2];
        load_operand(b, inverse_of(shared, t), lower_leading, 1);
        real values[2][4];
#pragma unroll
        for (int band = 0; band < 2; ++band) {
            Patch solved{};
            multiply_patch<1>(solved, stack.bands[band].columns[t], b);
            stack.bands[band].columns[t] = solved;
#pragma unroll
            for (int k = 0; k < 4; ++k) values[band][k] = static_cast<real>(element(solved, k));
        }
#pragma unroll
        for (int band = 0; band < 2; ++band)
            if (out[band].mail != nullptr)
                each_of(values[band], stack.bands[band].whole, t,
                        [&](real value, int r, int c) { post(out[band].mail + r + c * stacked_rows, value); });
#pragma unroll
        for (int s = t + 1; s < tiles; ++s) {
            load_operand(b, shared.lower + s * 8 + t * 8 * lower_leading, 1, lower_leading);
#pragma unroll
            for (Band& band : stack.bands) multiply_patch<-1>(band.columns[s], band.columns[t], b);
        }
#pragma unroll
        for (int band = 0; band < 2; ++band)
            if (out[band].to != nullptr)
                each_of(values[band], stack.bands[band].whole, t, [&](real value, int r, int c) { out[band].to[r + c * padded] = value; });
    }
}

/* use(value, row, c): what the neighbours subtract from their right-hand sides c, R y and G y. */
template <class Use>
TRIFOLD_DEVICE void each_rider(const Stack& stack, const FrontShared& shared, const trifold_args& args, const Front& front,
                               const Use& use) {
#pragma unroll 1
    for (int c = 0; c < args.columns; ++c)
#pragma unroll
        for (const Band& band : stack.bands) {
            if (!exists(band, front)) continue;
            real sum[2] = {};
#pragma unroll
            for (int t = 0; t < tiles; ++t)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    sum[k / 2] += static_cast<real>(element(band.columns[t], k)) *
                                  shared.lower[padded + c + (t * 8 + patch_column(k)) * lower_leading];
#pragma unroll
            for (int i = 0; i < 2; ++i) sum[i] += shuffle_xor(sum[i], 1), sum[i] += shuffle_xor(sum[i], 2);
            if (tensor_depth() < 2 && (band.whole || tensor_depth() == 0))
                use(band.ahead, tensor_depth() == 0 ? sum[0] : sum[1], band.row + tensor_row() + tensor_depth() * 8, c);
        }
}

/* ---- gpu/tridiagonal/dataflow/factor.cuh ---- */
/* Factorization of all fronts in one launch, a thread block each, for blocks up to 96.
 *
 * Two warps, the pivots', take turns at the column tiles of D, each 8 columns wide. The other warps, the stack's, follow a tile behind with
 * [R; G]. For four tiles, in time:
 *
 *      pivots' warp 0   | load |  tile 0  |          |  tile 2  |          |                 | verdict
 *                                         P0         P1         P0
 *      pivots' warp 1   | load |          |  tile 1  |          |  tile 3  |                 | logarithms
 *                                         T0         T1         T2         T3
 *      stack's warps    | load | pull     | [R;G] 0  | [R;G] 1  | [R;G] 2  | [R;G] 3 | S, couplings | R y, G y | everything
 *
 * Barriers, by their numbers (Barriers in front.cuh says who waits):
 *      T  1 ...            tile t of L and its inverse are there; the stack waits, the pivots' warp only arrives
 *      S  1 + tiles        all warps of the stack have stored their part
 *      P  2, 3 + tiles     tile t is there for tile t + 1; even and odd tiles have a barrier each
 *      and where [R; G] comes and goes as messages:
 *         4 + tiles        each pivots' warp has its part of a message's tile
 *         5 + tiles ...    tile t of a message has come; the stack waits
 *         5 + 2 tiles      the stack has pulled what D takes from fronts that send no messages; the pivots' warps wait
 *
 * What a front publishes, and when: L tile by tile, by the pivots' warps; [R; G] tile by tile, by the stack, as messages where it sends
 * any; the flag `couplings`, after which others may pull R and G; the flag `everything`, after which its verdict and right-hand sides are
 * there too.
 *
 * A front pulls its Schur updates: D_i -= R_j R_j' + G_k G_k' for the fronts j to the left and k to the right that were
 * eliminated before, level by level; its couplings are -R_k G_k' and -G_j R_j' of the last such pair. So earlier levels' updates
 * overlap the waiting, no front writes to another's data, and the sums have one order.
 *
 * The lanes of a pivots' warp hold the rows of a column tile. Each lane has the tile itself too, and eliminates two pivots at a time: with
 * a, b, c the 2 by 2 pivot, 1 / L11 = rsqrt(a) and 1 / L22 = a rsqrt(a (a c - b^2)) start together. Right-hand sides ride along as rows
 * below D's. The stack has [R; G] a row a lane (panel.cuh), or bands of 16 rows in registers (stack.cuh). */

/* Column tile t of L, its diagonal tile inverted, by one warp: a lane a row. */
TRIFOLD_DEVICE void store_column_tile(FrontShared& shared, real* to, int t) {
#pragma unroll 1
    for (int r = t * 8 + thread_index() % warp_lanes; r < padded; r += warp_lanes) {
        const bool own = r < t * 8 + 8;
        const real* from = own ? inverse_of(shared, t) + r % 8 * lower_leading : shared.lower + r + t * 8 * lower_leading;
        const int step = own ? 1 : lower_leading;
#pragma unroll
        for (int c = 0; c < 8; ++c) to[r + (t * 8 + c) * padded] = from[c * step];
    }
}

/* use(ahead, value, row, c): what the neighbours subtract from their right-hand sides c, R y and G y; a lane has a row. */
template <class Use>
TRIFOLD_DEVICE void each_rider(const FrontShared& shared, const trifold_args& args, const Use& use) {
    constexpr int workers = stacked_warps * warp_lanes;
    const int first = front_thread() - pivot_warps * warp_lanes;
#pragma unroll 1
    for (int e = first; e < 2 * padded * static_cast<int>(args.columns); e += workers) {
        const int row = e % (2 * padded), c = e / (2 * padded);
        real sum[4] = {};
#pragma unroll 4
        for (int k = 0; k < padded; k += 4)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                sum[q] += shared.stacked[row + (k + q) * stacked_leading] * shared.lower[padded + c + (k + q) * lower_leading];
        use(row < padded, (sum[0] + sum[1]) + (sum[2] + sum[3]), row % padded, c);
    }
}
TRIFOLD_DEVICE void store_riders(const FrontShared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    const trifold_strides& s = args.x_strides;
    for (int e = front_thread(); e < riders * padded; e += threads) {
        const int c = e / padded, r = e % padded;
        if (r < block_size && c < args.columns)
            static_cast<real*>(args.x)[rhs_at(s, member, block, r, c)] = shared.lower[padded + c + r * lower_leading];
    }
}
/* Their part of b' A^-1 b. */
TRIFOLD_DEVICE void report_quadratics(const FrontShared& shared, const trifold_args& args, trifold_int member, trifold_int block) {
    for (int c = front_thread() / warp_lanes; c < args.columns; c += warps) {
        double sum = 0;
        for (int r = thread_index() % warp_lanes; r < block_size; r += warp_lanes)
            sum += square_of(shared.lower[padded + c + r * lower_leading]);
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (thread_index() % warp_lanes == 0)
            buffer<double>(args, Offset::block_quadratic)[block_index(member, block) * most_columns + c] = sum;
    }
}
/* One of those values to where its neighbour looks for it. */
TRIFOLD_DEVICE void leave_rider(const trifold_args& args, trifold_int member, const Front& front, bool ahead, real value, int r, int c) {
    if ((ahead ? front.next : front.behind) < 0) return;
    if (sends_messages(front)) post(message_of(args, member, front.block, ahead ? r : padded + r, padded + c), value);
    neighbour_rhs_of(args, member, front.block, ahead ? 1 : 0)[c * padded + r] = value;
}

/* The warps of the stack let the fronts that pull from this one go on, before anything else: those two levels up would be late
 * otherwise. */
TRIFOLD_DEVICE void leave_front(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool failed) {
    meet(shared, stack_barrier);
    if (front_thread() == pivot_warps * warp_lanes) release_front(args, member, front, Left::couplings, failed);
}

/* A failed front becomes NaN as a whole, so that everything it feeds does; R and G once more, by the warps of the stack. */
template <bool Riders>
TRIFOLD_DEVICE void spoil(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front) {
    constexpr int first = pivot_warps * warp_lanes, workers = stacked_warps * warp_lanes;
    const real nan = static_cast<real>(not_a_number());
    for (int e = front_thread(); e < lower_leading * padded; e += threads) shared.lower[e] = nan;
    for (int e = front_thread(); inverse_apart && e < 8 * lower_leading; e += threads) shared.inverse[e] = nan;
    block_sync();
    for (int t = front_thread() / warp_lanes; t < tiles; t += warps) store_column_tile(shared, factor_of(args, member, front.block), t);
    if (Riders) store_riders(shared, args, member, front.block);
    if (front_thread() < first) return;
    for (int e = front_thread() - first; e < padded * padded; e += workers) {
        if (front.next >= 0) next_of(args, member, front.block)[e] = nan;
        if (front.behind >= 0) behind_of(args, member, front.block)[e] = nan;
    }
    if (Riders)
        for (int e = front_thread() - first; e < stacked_rows * args.columns; e += workers)
            leave_rider(args, member, front, e % stacked_rows < padded, nan, e % padded, e / stacked_rows);
    leave_front(shared, args, member, front, true);
}

/* The couplings and what becomes of them, by the warps of the stack. The last tile's barrier has shown them every failure. */
template <bool Riders>
TRIFOLD_DEVICE void eliminate_stack(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool fed,
                                    bool ends) {
    const auto leave = [&](bool ahead, real value, int r, int c) { leave_rider(args, member, front, ahead, value, r, c); };
    if constexpr (in_registers) {
        static_assert(!Riders || padded <= warp_lanes, "a lane a row");
        static_assert(!Riders || overlaps, "flags tell when a front's right-hand sides are there");
        if (gets_messages(front)) fed = pull_beside_messages(shared, args, member, front);
        Stack stack = empty_stack();
        start_stack(stack, shared, args, member, front);
        RiderLook look{};
        if (!Riders || !is_last(front)) {
            solve_stack<Riders>(stack, shared, args, member, front, look);
            if (!fed && shared.pivots.failed_row < 0) leave_front(shared, args, member, front, false);
        }
        if (!Riders) return;
        ride(look, shared, args, member, front, fed, ends); /* now, since their lag does not add up from level to level */
        if (fed || shared.pivots.failed_row >= 0) return;
        meet(shared, stack_barrier);
        each_rider(stack, shared, args, front, leave);
    } else {
        if (front.level > 0) make_couplings(shared, args, member, front);
        solve_rows<Riders>(shared, args, member, front);
        if (fed || shared.pivots.failed_row >= 0) return;
        if (Riders) {
            meet(shared, stack_barrier);
            each_rider(shared, args, leave);
        }
        leave_front(shared, args, member, front, false);
    }
}

/* D, by the pivots' warps. */
TRIFOLD_DEVICE void eliminate_pivots(FrontShared& shared, const trifold_args& args, trifold_int member, const Front& front, bool ends) {
    if (ends && is_last(front) && front_thread() == 0)
        begin_solution(args, member); /* before its warp comes to the barrier of a tile: x is sent after the last */
    const int warp = front_thread() / warp_lanes;
    if (in_registers)
#pragma unroll 1
        for (int t = warp; t < tiles; t += pivot_warps)
            for (int e = thread_index() % warp_lanes; e < 64; e += warp_lanes)
                inverse_of(shared, t)[e % 8 + e / 8 * lower_leading] = e % 8 == e / 8 ? real(1) : real(0);
    warp_sync();
    if (gets_messages(front)) receive_pivots(shared, args, member, front);
    real* const to = factor_of(args, member, front.block);
#pragma unroll 1
    for (int t = warp; t < tiles; t += pivot_warps) {
        factor_column_tile(shared, t);
        store_column_tile(shared, to, t);
    }
    if (warp == (tiles - 1) % pivot_warps)
        report_diagonal(args, member, front.block, shared.diagonal, shared.entry); /* it has met the other */
}

/* `ends`: the backward sweep begins early, so that the last front can solve what it has. */
template <bool Riders>
TRIFOLD_DEVICE void factor_front(const trifold_args& args, trifold_int member, bool ends) {
    FrontShared& shared = *static_cast<FrontShared*>(shared_memory());
    const Front front = claim_front(args, member, Kind::factor, shared.ticket);
    start_dependents();
    load_front<Riders>(shared, args, member, front);
    bool fed = false;
    if (!gets_messages(front)) {
        fed = pull_updates<Crew::all, Riders>(shared, args, member, front);
        block_sync();
    } else if (right_child(front) < 0) {
        clear_right(shared);
        block_sync();
    }
    if (front_thread() >= pivot_warps * warp_lanes)
        eliminate_stack<Riders>(shared, args, member, front, fed, ends);
    else
        eliminate_pivots(shared, args, member, front, Riders && ends);
    block_sync();
    if (gets_messages(front)) fed = shared.ticket != 0;
    /* What a failed front has sent is NaN: whoever got it has failed as well, and asks. */
    if (gets_messages(front) && shared.pivots.failed_row >= 0 &&
        await_fronts(args, member, front.run, left_child(front), right_child(front)))
        fed = true;
    if (front_thread() == warp_lanes) report_verdict(args, front.level, member, front.block, fed, shared.pivots);
    const bool failed = fed || shared.pivots.failed_row >= 0;
    if (failed)
        spoil<Riders>(shared, args, member, front);
    else if (Riders && !in_registers)
        store_riders(shared, args, member, front.block);
    if (overlaps || sends_messages(front)) {
        if (failed || !in_registers) block_sync();
        if (front_thread() == warp_lanes) release_front(args, member, front, Left::everything, failed);
    }
    if (gets_messages(front)) clear_messages(shared, args, member, front);
    if (Riders) report_quadratics(shared, args, member, front.block);
}

/* ---- gpu/tridiagonal/dataflow/sweep.cuh ---- */
/* Forward and backward sweeps over all fronts in one launch, a thread block each: a front has its factors on chip before it
 * waits for the numbers it needs, which travel as messages, so that only vectors are on the critical path, and between the arrival
 * of one and the departure of the next stand two products of a matrix and a vector. */

constexpr int sweep_threads = 4 * padded, sweep_warps = sweep_threads / warp_lanes;

/* Whether a front will have to wait for its neighbours: not at the first level, nor at others with more fronts than a device has room for.
 * A front that waits makes inverses of long diagonal tiles meanwhile, which shorten the way from arrival to departure. */
TRIFOLD_DEVICE bool will_wait(const Front& front) { return front.level > 0 && (horizon * batch >> front.level) <= waiting_fronts; }

/* A thread's number. Rows of [R; G] take most of a thread's registers from its first load on. Where fronts are many, values that follow
 * from the number are computed again at each use, which frees registers; short horizons are faster when these values stand ready. */
TRIFOLD_DEVICE int sweep_thread() { return sweeps_reread ? thread_opaque() : thread_index(); }

/* Where a front leaves what its neighbours' right-hand sides lose, side 0 for the one behind, side 1 for the next. */
TRIFOLD_DEVICE trifold_word* update_words(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    constexpr trifold_int words = vector_storage * message_words;
    return buffer<trifold_word>(args, FlowOffset::update_words) + (side * batch * horizon + block_index(member, block)) * words;
}

/* Its y, where the backward sweep begins early. */
TRIFOLD_DEVICE trifold_word* forward_words(const trifold_args& args, trifold_int member, trifold_int block) {
    constexpr trifold_int words = vector_storage * message_words;
    return buffer<trifold_word>(args, FlowOffset::forward_words) + block_index(member, block) * words;
}

/* What a call's passes treat; where the Spec has one column the compiler knows that there is one pass. */
TRIFOLD_DEVICE int columns_of(const trifold_args& args) { return most_columns == 1 ? 1 : static_cast<int>(args.columns); }
TRIFOLD_DEVICE Columns pass_from(const trifold_args& args, int first) {
    return columns_at_once == 1 ? Columns{first, 1} : columns_from(args, first, columns_at_once);
}

/* Tiles above the diagonal are not looked at. */
TRIFOLD_DEVICE void fetch_factor(SweepShared& shared, const real* from) {
    constexpr int vectors = padded / vector_width, together = sweep_threads / vectors; /* columns at once */
    const int r = sweep_thread() % vectors * vector_width, c = sweep_thread() / vectors, end = r / 8 * 8 + 8;
#pragma unroll 2
    for (int k = c; k < end; k += together) copy_async(shared.factor + r + k * factor_leading, from + r + k * padded);
    end_copies();
}

/* L below the diagonal. W, the inverse of a wider diagonal tile, takes the place above it by its transpose, so that L stays. */
TRIFOLD_DEVICE real& lower_at(SweepShared& shared, int r, int c) { return shared.factor[r + c * factor_leading]; }
TRIFOLD_DEVICE real& inverse_at(SweepShared& shared, int r, int c) { return shared.factor[c + r * factor_leading]; }

/* The inverses of tiles of `Width` columns from those of 8. A warp has eight columns of W, each tile from those
 * above it: W_ij = -W_ii (sum over k = j .. i - 1 of L_ik W_kj). */
template <int Width>
TRIFOLD_DEVICE void widen_inverses(SweepShared& shared) {
    constexpr int each = 64 / warp_lanes;
    const int lane = sweep_thread() % warp_lanes, r = lane % 8;
#pragma unroll 1
    for (int j = sweep_thread() / warp_lanes * 8; j < padded; j += sweep_warps * 8) {
        const int end = j / Width * Width + Width < padded ? j / Width * Width + Width : padded;
        for (int c = lane / 8; c < r; c += warp_lanes / 8) inverse_at(shared, j + r, j + c) = lower_at(shared, j + r, j + c);
        warp_sync();
#pragma unroll 1
        for (int i = j + 8; i < end; i += 8) {
            real sum[each] = {};
#pragma unroll 1
            for (int k = j; k < i; k += 8)
#pragma unroll 4
                for (int t = 0; t < 8; ++t)
#pragma unroll
                    for (int q = 0; q < each; ++q) {
                        const int c = lane / 8 + q * (warp_lanes / 8);
                        if (k > j || t >= c) sum[q] += lower_at(shared, i + r, k + t) * inverse_at(shared, k + t, j + c);
                    }
#pragma unroll
            for (int q = 0; q < each; ++q) inverse_at(shared, i + r, j + lane / 8 + q * (warp_lanes / 8)) = sum[q];
            warp_sync();
#pragma unroll
            for (int q = 0; q < each; ++q) {
                sum[q] = 0;
#pragma unroll
                for (int t = 0; t < 8; ++t)
                    if (t <= r) sum[q] -= lower_at(shared, i + r, i + t) * inverse_at(shared, i + t, j + lane / 8 + q * (warp_lanes / 8));
            }
            warp_sync();
#pragma unroll
            for (int q = 0; q < each; ++q) inverse_at(shared, i + r, j + lane / 8 + q * (warp_lanes / 8)) = sum[q];
            warp_sync();
        }
    }
}

/* The sum of term(k), k = 0 .. Width - 1, by four threads side by side. */
template <int Width, class Term>
TRIFOLD_DEVICE real sum_of_four(const Term& term) {
    const int part = sweep_thread() % 4;
    real sum[2] = {};
#pragma unroll
    for (int k = 0; k < Width / 4; ++k) sum[k % 2] += term(4 * k + part);
    real total = sum[0] + sum[1];
    total += shuffle_xor(total, 1);
    return total + shuffle_xor(total, 2);
}

/* solved = L^-1 running, a tile after the other; a row in four threads. */
template <int Width>
TRIFOLD_DEVICE void solve_lower(SweepShared& shared, int columns) {
    const int row = sweep_thread() / 4;
    const bool writes = sweep_thread() % 4 == 0;
#pragma unroll 1
    for (int j = 0; j < padded; j += Width) {
        if (row >= j && row < j + Width) {
#pragma unroll 1
            for (int c = 0; c < columns; ++c) {
                const real* b = shared.running[c] + j;
                const real y = sum_of_four<Width>([&](int k) { return j + k <= row ? inverse_at(shared, row, j + k) * b[k] : real(0); });
                if (writes) shared.solved[c][row] = y;
            }
        }
        block_sync();
        if (j + Width >= padded) return;
        if (row >= j + Width) {
#pragma unroll 1
            for (int c = 0; c < columns; ++c) {
                const real* y = shared.solved[c] + j;
                const real taken = sum_of_four<Width>([&](int k) { return lower_at(shared, row, j + k) * y[k]; });
                if (writes) shared.running[c][row] -= taken;
            }
        }
        block_sync();
    }
}

/* x = L^-T running, a tile after the other from the last; a row in four threads, of which one delivers it: deliver(c, row, x). */
template <int Width, class Deliver>
TRIFOLD_DEVICE void solve_upper(SweepShared& shared, int columns, const Deliver& deliver) {
    const int row = sweep_thread() / 4;
    const bool writes = sweep_thread() % 4 == 0;
    const auto inside = [](int r) { return padded % Width == 0 || r < padded; };
#pragma unroll 1
    for (int j = (padded - 1) / Width * Width; j >= 0; j -= Width) {
        if (row >= j && row < j + Width) {
#pragma unroll 1
            for (int c = 0; c < columns; ++c) {
                const real* b = shared.running[c] + j;
                const real x = sum_of_four<Width>(
                    [&](int k) { return j + k >= row && inside(j + k) ? inverse_at(shared, j + k, row) * b[k] : real(0); });
                if (writes) deliver(c, row, x);
                if (writes && j > 0) shared.solved[c][row] = x;
            }
        }
        block_sync();
        if (row < j) {
#pragma unroll 1
            for (int c = 0; c < columns; ++c) {
                const real* x = shared.solved[c] + j;
                const real taken = sum_of_four<Width>([&](int k) { return inside(j + k) ? lower_at(shared, j + k, row) * x[k] : real(0); });
                if (writes) shared.running[c][row] -= taken;
            }
        }
        if (j > 0) block_sync();
    }
}

TRIFOLD_DEVICE void store_solution(const real (*values)[2 * padded], const trifold_args& args, trifold_int member, trifold_int block,
                                   Columns columns) {
#pragma unroll 1
    for (int e = sweep_thread(); e < padded * columns.count; e += sweep_threads) {
        const int r = e % padded, c = e / padded;
        if (r < block_size) static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, r, columns.first + c)] = values[c][r];
    }
}

/* The squared norm of the solved block, by column, for b' A^-1 b. */
TRIFOLD_DEVICE void store_quadratic(const SweepShared& shared, const trifold_args& args, trifold_int member, trifold_int block,
                                    Columns columns) {
    const int lane = sweep_thread() % warp_lanes;
    double* to = buffer<double>(args, Offset::block_quadratic) + block_index(member, block) * most_columns + columns.first;
    for (int c = sweep_thread() / warp_lanes; c < columns.count; c += sweep_warps) {
        double sum = 0;
        for (int r = lane; r < block_size; r += warp_lanes) sum += square_of(shared.solved[c][r]);
        for (int mask = warp_lanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (lane == 0) to[c] = sum;
    }
}

/* Right-hand sides as the caller has them. */
TRIFOLD_DEVICE void load_running(SweepShared& shared, const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
#pragma unroll 1
    for (int e = sweep_thread(); e < padded * columns.count; e += sweep_threads) {
        const int r = e % padded, c = e / padded;
        shared.running[c][r] =
            r < block_size ? static_cast<const real*>(args.b)[rhs_at(args.b_strides, member, block, r, columns.first + c)] : real(0);
    }
}

/* The forward sweep's solution to the backward sweep of the same front, early: args.x is then the backward sweep's alone. */
TRIFOLD_DEVICE void send_running(const SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                 Columns columns) {
    if constexpr (overlaps) {
        trifold_word* to = forward_words(args, member, front.block) + columns.first * padded * message_words;
        for (int e = sweep_thread(); e < padded * columns.count; e += sweep_threads)
            send(to + e * message_words, shared.solved[e / padded][e % padded], front.run);
    }
}
TRIFOLD_DEVICE void receive_running(SweepShared& shared, const trifold_args& args, trifold_int member, trifold_int block, Columns columns) {
    if constexpr (overlaps) {
        const trifold_int run = last_run(args, member, Kind::forward);
        const trifold_word* from = forward_words(args, member, block) + columns.first * padded * message_words;
        for (int e = sweep_thread(); e < padded * columns.count; e += sweep_threads)
            shared.running[e / padded][e % padded] = receive(look(from + e * message_words), from + e * message_words, run);
    }
}

/* A row of [R; G] in two threads, each with half of its columns. */
constexpr int half_depth = padded / 2;
TRIFOLD_DEVICE void fetch_half_row(real (&a)[half_depth], const trifold_args& args, trifold_int member, const Front& front) {
    const int row = sweep_thread() / 2, half = sweep_thread() % 2 * half_depth;
    const bool ahead = row < padded, exists = (ahead ? front.next : front.behind) >= 0;
    const real* from = (ahead ? next_of(args, member, front.block) : behind_of(args, member, front.block)) + row % padded + half * padded;
#pragma unroll
    for (int k = 0; k < half_depth; ++k) a[k] = exists ? from[k * padded] : real(0);
}

/* Subtracts what all fronts before this one take from its right-hand sides. Both sides' are looked at together, since they come
 * together, and by no more threads than need them: those that look keep others from memory. */
TRIFOLD_DEVICE void gather_updates(SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front, Columns columns) {
    constexpr int each = (columns_at_once + 3) / 4;
    const auto element = [](int q) { return sweep_thread() + q * sweep_threads; };
    const auto inside = [&](int q) { return element(q) < padded * columns.count; };
    real taken[each] = {};
#pragma unroll 1
    for (int k = 0; k < front.level; ++k) {
        const trifold_int distance = trifold_int(1) << k, first = front.block - distance, second = front.block + distance;
        const bool both = second < horizon;
        const trifold_word* from_left = update_words(args, member, first, 1) + columns.first * padded * message_words;
        const trifold_word* from_right = both ? update_words(args, member, second, 0) + columns.first * padded * message_words : from_left;
        Message left[each], right[each];
        bool all = false;
        while (!all) {
            all = true;
#pragma unroll
            for (int q = 0; q < each; ++q) {
                if (!inside(q)) continue;
                left[q] = look(from_left + element(q) * message_words), right[q] = look(from_right + element(q) * message_words);
                all = all && has_come(left[q], front.run) && has_come(right[q], front.run);
            }
            if (!all) spin();
        }
#pragma unroll
        for (int q = 0; q < each; ++q) {
            if (!inside(q)) continue;
            taken[q] += content_of(left[q]);
            if (both) taken[q] += content_of(right[q]);
        }
    }
#pragma unroll
    for (int q = 0; q < each; ++q)
        if (inside(q)) shared.running[element(q) / padded][element(q) % padded] -= taken[q];
}

/* R y and G y, for the neighbours. */
TRIFOLD_DEVICE void leave_updates(const SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                  const real (&a)[half_depth], Columns columns) {
    const int row = sweep_thread() / 2, half = sweep_thread() % 2 * half_depth;
    const bool ahead = row < padded, exists = (ahead ? front.next : front.behind) >= 0;
    trifold_word* to = update_words(args, member, front.block, ahead ? 1 : 0) + (columns.first * padded + row % padded) * message_words;
#pragma unroll 1
    for (int c = 0; c < columns.count; ++c) {
        real sum[2] = {};
#pragma unroll
        for (int k = 0; k < half_depth; ++k) sum[k % 2] += a[k] * shared.solved[c][half + k];
        real total = sum[0] + sum[1];
        total += shuffle_xor(total, 1);
        if (sweep_thread() % 2 == 0 && exists) send(to + c * padded * message_words, total, front.run);
    }
}

template <int Width>
TRIFOLD_DEVICE void sweep_forward(SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                  const real (&a)[half_depth], bool sends) {
    widen_inverses<Width>(shared);
#pragma unroll 1
    for (int first = 0; first < columns_of(args); first += columns_at_once) {
        const Columns columns = pass_from(args, first);
        if (first > 0) {
            load_running(shared, args, member, front.block, columns);
            block_sync();
        }
        gather_updates(shared, args, member, front, columns);
        block_sync();
        solve_lower<Width>(shared, columns.count);
        leave_updates(shared, args, member, front, a, columns);
        if (sends)
            send_running(shared, args, member, front, columns);
        else
            store_solution(shared.solved, args, member, front.block, columns);
        store_quadratic(shared, args, member, front.block, columns);
    }
}

/* `sends`: the backward sweep begins early. */
TRIFOLD_DEVICE void forward_front(const trifold_args& args, trifold_int member, bool sends) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    const Front front = claim_front(args, member, Kind::forward, shared.ticket);
    start_dependents();
    fetch_factor(shared, factor_of(args, member, front.block));
    real a[half_depth];
    fetch_half_row(a, args, member, front);
    load_running(shared, args, member, front.block, pass_from(args, 0));
    wait_copies<0>();
    block_sync();
    if (will_wait(front))
        sweep_forward<long_inverse>(shared, args, member, front, a, sends);
    else
        sweep_forward<short_inverse>(shared, args, member, front, a, sends);
}

/* A column of [R; G] in four threads, each with every fourth vector of rows. */
TRIFOLD_DEVICE int quarter_row(int k) { return (k / vector_width * 4 + sweep_thread() % 4) * vector_width; }
TRIFOLD_DEVICE void fetch_quarter_column(real (&a)[half_depth], const trifold_args& args, trifold_int member, const Front& front) {
    const int column = sweep_thread() / 4 * padded;
    const real* next = next_of(args, member, front.block) + column;
    const real* behind = behind_of(args, member, front.block) + column;
#pragma unroll
    for (int k = 0; k < half_depth; k += vector_width) {
        const int r = quarter_row(k);
        real v[vector_width] = {};
        if (r < padded && front.next >= 0) load_vector(v, next + r);
        if (r >= padded && front.behind >= 0) load_vector(v, behind + r - padded);
#pragma unroll
        for (int e = 0; e < vector_width; ++e) a[k + e] = v[e];
    }
}

/* running = the right-hand sides less what the neighbours' solutions take from them. */
TRIFOLD_DEVICE void subtract_neighbours(SweepShared& shared, const real (&a)[half_depth], int columns) {
#pragma unroll 1
    for (int c = 0; c < columns; ++c) {
        real sum[vector_width] = {};
#pragma unroll
        for (int k = 0; k < half_depth; k += vector_width) {
            real x[vector_width];
            load_vector(x, shared.solved[c] + quarter_row(k));
#pragma unroll
            for (int e = 0; e < vector_width; ++e) sum[e] += a[k + e] * x[e];
        }
        real total = sum[0] + sum[1];
#pragma unroll
        for (int e = 2; e < vector_width; e += 2) total += sum[e] + sum[e + 1];
        total += shuffle_xor(total, 1);
        total += shuffle_xor(total, 2);
        if (sweep_thread() % 4 == 0) shared.running[c][sweep_thread() / 4] -= total;
    }
}

/* x of the next and behind; zeros where there is none. */
TRIFOLD_DEVICE void gather_neighbours(SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                      Columns columns) {
    constexpr int together = columns_at_once == 1 ? 1 : 2;
    const auto place = [&](int e) -> const trifold_word* {
        const trifold_int block = e / padded % 2 == 0 ? front.next : front.behind;
        if (e >= 2 * padded * columns.count || block < 0) return nullptr;
        return solution_words(args, member, block) + ((columns.first + e / (2 * padded)) * padded + e % padded) * message_words;
    };
#pragma unroll 1
    for (int first = sweep_thread(); first < 2 * padded * columns.count; first += together * sweep_threads) {
        const trifold_word* from[together];
        Message messages[together];
#pragma unroll
        for (int q = 0; q < together; ++q) {
            from[q] = place(first + q * sweep_threads);
            if (from[q] != nullptr) messages[q] = look(from[q]);
        }
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const int e = first + q * sweep_threads;
            if (e >= 2 * padded * columns.count) continue;
            shared.solved[e / (2 * padded)][e % (2 * padded)] = from[q] == nullptr ? real(0) : receive(messages[q], from[q], front.run);
        }
    }
}

template <int Width>
TRIFOLD_DEVICE void sweep_backward(SweepShared& shared, const trifold_args& args, trifold_int member, const Front& front,
                                   const real (&a)[half_depth], trifold_start start) {
    trifold_word* words = solution_words(args, member, front.block);
    widen_inverses<Width>(shared);
#pragma unroll 1
    for (int first = 0; first < columns_of(args); first += columns_at_once) {
        const Columns columns = pass_from(args, first);
        if (start == trifold_beside_forward)
            receive_running(shared, args, member, front.block, columns);
        else if (first > 0)
            load_running(shared, args, member, front.block, columns);
        gather_neighbours(shared, args, member, front, columns);
        block_sync();
        subtract_neighbours(shared, a, columns.count);
        block_sync();
        solve_upper<Width>(shared, columns.count, [&](int c, int row, real x) {
            const int column = first + c;
            send(words + (column * padded + row) * message_words, x, front.run);
            if (row >= block_size) return;
            static_cast<real*>(args.x)[rhs_at(args.x_strides, member, front.block, row, column)] = x;
            watch(args, member, Result::solution, x);
        });
    }
}

TRIFOLD_DEVICE void backward_front(const trifold_args& args, trifold_int member, trifold_start start) {
    SweepShared& shared = *static_cast<SweepShared*>(shared_memory());
    Front front = claim_front(args, member, Kind::backward, shared.ticket);
    if (is_last(front)) {
        if (ends_sweep && start == trifold_beside_factor) return; /* the factorization's front has solved it */
        if (sweep_thread() == sweep_threads - 1) begin_solution(args, member);
    }
    if (start == trifold_beside_factor) {
        const trifold_int run = last_run(args, member, Kind::factor);
        if (sweep_thread() == 0) await_everything(args, member, front.block, run);
        block_sync();
        front.run = early_run(run);
    }
    fetch_factor(shared, factor_of(args, member, front.block));
    real a[half_depth];
    fetch_quarter_column(a, args, member, front);
    if (start != trifold_beside_forward) load_running(shared, args, member, front.block, pass_from(args, 0));
    wait_copies<0>();
    block_sync();
    if (will_wait(front) && !is_last(front)) /* that waits for no other */
        sweep_backward<long_inverse>(shared, args, member, front, a, start);
    else
        sweep_backward<short_inverse>(shared, args, member, front, a, start);
}

/* ---- gpu/tridiagonal/finish_constants.cuh ---- */
/* What the kernels that finish are told. */

constexpr int finish_threads = TRIFOLD_THREADS_FINISH; /* of the thread block that gathers a member's verdict */
[[maybe_unused]] constexpr int log_parts =
    TRIFOLD_LOG_PARTS; /* terms of a block's log determinant, one for each diagonal tile that has its own task */

/* ---- gpu/tridiagonal/finish.cuh ---- */
/* The verdict on a member, from its blocks': every thread sums its own blocks, then a tree, so the order never varies. */

struct FinishShared {
    double sum[finish_threads], reduction[finish_threads];
    trifold_int failure[finish_threads];
    trifold_int floors[finish_threads];
};
static_assert(sizeof(FinishShared) == 32 * finish_threads, "host and device disagree");

/* When a front's verdict is there: here always, since all launches before this one have ended. */
struct FrontsHaveEnded {
    TRIFOLD_METHOD trifold_int run(const trifold_args&, trifold_int) const { return 0; }
    TRIFOLD_METHOD void await(const trifold_args&, trifold_int, trifold_int, trifold_int) const {}
};

/* `fronts` knows the number of the factorization's run, and waits for the verdict on a block in that run. */
template <class Fronts>
TRIFOLD_DEVICE void finish_factor_member(const trifold_args& args, trifold_int member, const Fronts& fronts) {
    FinishShared& shared = *static_cast<FinishShared*>(shared_memory());
    const int t = thread_index();
    double sum = 0, reduction = 0;
    trifold_int failure = sound, floors = 0;
    const trifold_int run = fronts.run(args, member);
#pragma unroll 4
    for (trifold_int block = t; block < horizon; block += finish_threads) {
        fronts.await(args, member, block, run);
        const trifold_int index = block_index(member, block);
        const trifold_int verdict = buffer<trifold_int>(args, Offset::failure)[index];
        if (verdict < failure) failure = verdict;
        floors += buffer<int>(args, Offset::floors)[index];
        const double* sums = buffer<double>(args, Offset::block_log_determinant) + index * log_parts;
        const double* reductions = buffer<double>(args, Offset::reduction) + index * log_parts;
        for (int part = 0; part < log_parts; ++part) {
            sum += sums[part];
            if (reductions[part] > reduction) reduction = reductions[part];
        }
    }
    shared.sum[t] = sum, shared.reduction[t] = reduction, shared.failure[t] = failure, shared.floors[t] = floors;
    block_sync();
    for (int count = finish_threads; count > 1; count = (count + 1) / 2) {
        const int half = (count + 1) / 2;
        if (t < count / 2) {
            shared.sum[t] += shared.sum[t + half];
            shared.floors[t] += shared.floors[t + half];
            if (shared.reduction[t + half] > shared.reduction[t]) shared.reduction[t] = shared.reduction[t + half];
            if (shared.failure[t + half] < shared.failure[t]) shared.failure[t] = shared.failure[t + half];
        }
        block_sync();
    }
    if (t != 0) return;
    report_member(args, member, shared.failure[0], shared.floors[0], shared.reduction[0], shared.sum[0]);
}

TRIFOLD_DEVICE void finish_forward_member(const trifold_args& args, trifold_int member) {
    FinishShared& shared = *static_cast<FinishShared*>(shared_memory());
    const int t = thread_index();
    const double* from = buffer<double>(args, Offset::block_quadratic);
    for (int column = 0; column < args.columns; ++column) {
        double sum = 0;
#pragma unroll 4
        for (trifold_int block = t; block < horizon; block += finish_threads)
            sum += from[block_index(member, block) * most_columns + column];
        shared.sum[t] = sum;
        block_sync();
        for (int count = finish_threads; count > 1; count = (count + 1) / 2) {
            if (t < count / 2) shared.sum[t] += shared.sum[t + (count + 1) / 2];
            block_sync();
        }
        if (t == 0) buffer<double>(args, Offset::quadratic)[member * most_columns + column] = in_range(shared.sum[0]);
        block_sync();
    }
}

/* ---- gpu/tridiagonal/members.cuh ---- */
/* The members of a batch that one thread block treats. Grids are some number of chains by groups of members. */

/* use(member) for each active member of this thread block's group. */
template <class Use>
TRIFOLD_DEVICE void each_member(const trifold_args& args, const Use& use) {
    const trifold_int first = group_y() * members_per_group;
    for (trifold_int member = first; member < first + members_per_group; ++member) {
        if (is_active(args, member)) use(member);
        if (members_per_group > 1) block_sync();
    }
}

/* Without a loop where a thread block has one member. Compilers move work that a loop repeats before it, which costs a factorization
 * registers, and time before it claims a front. A sweep gains from such a loop: it has fewer instructions left when what it waits for has
 * come. */
template <class Use>
TRIFOLD_DEVICE void each_factored_member(const trifold_args& args, const Use& use) {
    if constexpr (members_per_group > 1)
        each_member(args, use);
    else if (is_active(args, group_y()))
        use(group_y());
}

/* ---- gpu/tridiagonal/dataflow/finish.cuh ---- */
/* The kernels that finish. That of the factorization may begin while the fronts are still at work, and then waits for each. */

/* When a front's verdict is there: `early`, fronts are still at work. */
struct FrontsAtWork {
    bool early;
    TRIFOLD_METHOD trifold_int run(const trifold_args& args, trifold_int member) const {
        if constexpr (overlaps) return early ? last_run(args, member, Kind::factor) : 0;
        return 0;
    }
    TRIFOLD_METHOD void await(const trifold_args& args, trifold_int member, trifold_int block, trifold_int run) const {
        if constexpr (overlaps)
            if (early) await_everything(args, member, block, run);
    }
};

#ifdef TRIFOLD_KERNEL_FINISH_FACTOR
TRIFOLD_KERNEL(finish_threads, 1)
void TRIFOLD_KERNEL_FINISH_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { finish_factor_member(args, member, FrontsAtWork{overlaps && level.index != 0}); });
}
#endif

#ifdef TRIFOLD_KERNEL_FINISH_FORWARD
TRIFOLD_KERNEL(finish_threads, 1) void TRIFOLD_KERNEL_FINISH_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    each_member(args, [&](trifold_int member) { finish_forward_member(args, member); });
}
#endif

/* ---- gpu/tridiagonal/dataflow/entry.cuh ---- */
/* The kernels that treat all levels in one launch. Grid: fronts by groups of members. */

#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, Blocks::factor) void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level) {
    start_barriers();
    each_factored_member(args, [&](trifold_int member) { factor_front<false>(args, member, false); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, Blocks::factor_forward)
void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    start_barriers();
    each_factored_member(
        args, [&](trifold_int member) { factor_front<true>(args, member, ends_sweep && start_of(level) == trifold_beside_factor); });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(sweep_threads, Blocks::sweep)
void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { forward_front(args, member, start_of(level) == trifold_beside_forward); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(sweep_threads, Blocks::sweep)
void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_member(args, [&](trifold_int member) { backward_front(args, member, start_of(level)); });
}
#endif

