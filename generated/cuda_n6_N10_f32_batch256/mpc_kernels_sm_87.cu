/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.
 * 10 blocks of 6 by 6, f32, 1 right-hand side(s), up to 256 system(s); target cuda:sm_87; schedule sequential; variant team:bake=1.
 * Generated; do not edit. Regenerate with:
 *   trifold generate --block 6 --horizon 10 --precision f32 --rhs 1 --batch 256 --schedule sequential --workers 1 --variant team:bake=1 --target cuda:sm_87 --operations factor,solve,factor_solve
 * Workspace: 1419264 bytes, aligned to 256.
 */
#define TRIFOLD_BLOCK 6
#define TRIFOLD_BAKED 1
#define TRIFOLD_HORIZON 10LL
#define TRIFOLD_HORIZON_RECIPROCAL 1844674407370955162ULL
#define TRIFOLD_FRONTS 2560LL
#define TRIFOLD_RHS 1
#define TRIFOLD_QUADRATICS 1LL
#define TRIFOLD_BATCH 256LL
#define TRIFOLD_REAL float
#define TRIFOLD_REAL_BYTES 4
#define TRIFOLD_SEPARATORS 0LL
#define TRIFOLD_SEPARATOR_BASE 0LL
#define TRIFOLD_SEPARATOR_SCALE 1LL
#define TRIFOLD_SEPARATOR_SCALE_RECIPROCAL 0ULL
#define TRIFOLD_COUPLINGS 0LL
#define TRIFOLD_HAS_SEPARATORS 0
#define TRIFOLD_SIZEOF_ARGS 192
#define TRIFOLD_D_ROW 6LL
#define TRIFOLD_D_COLUMN 1LL
#define TRIFOLD_D_STAGE 36LL
#define TRIFOLD_D_MEMBER 360LL
#define TRIFOLD_D_STEP 36LL
#define TRIFOLD_E_ROW 6LL
#define TRIFOLD_E_COLUMN 1LL
#define TRIFOLD_E_STAGE 36LL
#define TRIFOLD_E_MEMBER 324LL
#define TRIFOLD_E_STEP 36LL
#define TRIFOLD_STORAGE_FACTOR 64LL
#define TRIFOLD_STORAGE_PANEL 64LL
#define TRIFOLD_STORAGE_UPDATE 64LL
#define TRIFOLD_STORAGE_COUPLING 64LL
#define TRIFOLD_STORAGE_VECTOR 8LL
#define TRIFOLD_OFFSET_STATUS 0LL
#define TRIFOLD_OFFSET_LOG_DETERMINANT 10240LL
#define TRIFOLD_OFFSET_QUADRATIC 12288LL
#define TRIFOLD_OFFSET_RANGE 14336LL
#define TRIFOLD_OFFSET_FACTOR 16384LL
#define TRIFOLD_OFFSET_NEXT 671744LL
#define TRIFOLD_OFFSET_BEHIND 1327104LL
#define TRIFOLD_OFFSET_UPDATE 1327104LL
#define TRIFOLD_OFFSET_COUPLING 1327104LL
#define TRIFOLD_OFFSET_RHS_UPDATE 1327104LL
#define TRIFOLD_OFFSET_FAILURE 1327104LL
#define TRIFOLD_OFFSET_FLOORS 1347584LL
#define TRIFOLD_OFFSET_POISON 1357824LL
#define TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT 1357824LL
#define TRIFOLD_OFFSET_REDUCTION 1378304LL
#define TRIFOLD_OFFSET_BLOCK_QUADRATIC 1398784LL
#define TRIFOLD_KERNEL_FACTOR btd_factor_n6_f32_sm87_e26734b0
#define TRIFOLD_KERNEL_FACTOR_FORWARD btd_factor_forward_n6_f32_sm87_e26734b0
#define TRIFOLD_KERNEL_FORWARD btd_forward_n6_f32_sm87_e26734b0
#define TRIFOLD_KERNEL_BACKWARD btd_backward_n6_f32_sm87_e26734b0
#define TRIFOLD_ARCH 87
#define TRIFOLD_PADDED 8
#define TRIFOLD_TILE 1
#define TRIFOLD_IN_TILES 0
#define TRIFOLD_THREADS 64
#define TRIFOLD_TENSOR 0
#define TRIFOLD_MEMBERS_PER_GROUP 8
#define TRIFOLD_TEAM 8
#define TRIFOLD_PANELS 2
#define TRIFOLD_RIDERS 1
#define TRIFOLD_CHAINS_PER_GROUP 1
#define TRIFOLD_SHARED_FACTOR 14592
#define TRIFOLD_SHARED_SWEEP 14592
#define TRIFOLD_FACTOR_BLOCKS 8
#define TRIFOLD_FACTOR_FORWARD_BLOCKS 8
#define TRIFOLD_SWEEP_BLOCKS 8

/* ---- integer.h ---- */
/* The integer of all that host and kernels share. */
#ifndef TRIFOLD_INTEGER_H
#define TRIFOLD_INTEGER_H

typedef long long trifold_int;

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

/* The upper half of a product. */
TRIFOLD_DEVICE unsigned long long multiply_high(unsigned long long a, unsigned long long b) { return __umul64hi(a, b); }
TRIFOLD_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
/* Says that it is not negative, where the compiler does not know: divisions then take half the instructions. */
TRIFOLD_DEVICE void assume_thread() { __builtin_assume(thread_index() >= 0); }
/* The thread's index, read again. Compilers keep numbers that follow from an index in registers, but those that follow from this one they
 * compute again at the next use. That frees registers. */
TRIFOLD_DEVICE int thread_afresh() {
    unsigned thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    __builtin_assume(thread < 1024); /* divisions of numbers that may be negative take twice the instructions */
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
/* Values that stay in registers. Without these functions compilers compute addresses again at each use, even within loops, to save
 * registers. */
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

/* Communication between thread blocks: claim() adds one and returns the old number; store_release() publishes all earlier writes with a
 * flag; load_acquire() reads such a flag; claim_release() claims and publishes. */
TRIFOLD_DEVICE trifold_int claim(trifold_int* counter) {
    return static_cast<trifold_int>(atomicAdd(reinterpret_cast<unsigned long long*>(counter), 1ULL));
}
TRIFOLD_DEVICE trifold_int claim_release(trifold_int* counter) {
    trifold_int before;
    asm volatile("atom.add.release.gpu.global.u64 %0, [%1], 1;" : "=l"(before) : "l"(counter) : "memory");
    return before;
}
TRIFOLD_DEVICE void store_release(trifold_int* flag, trifold_int value) {
    asm volatile("st.release.gpu.global.s64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}
TRIFOLD_DEVICE trifold_int load_acquire(const trifold_int* flag) {
    trifold_int value;
    asm volatile("ld.acquire.gpu.global.s64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    return value;
}
/* A fence: the whole device sees the thread's stores before anything that it does next. */
TRIFOLD_DEVICE void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
/* Words that thread blocks exchange. A word of 8 bytes is never torn, and orders no other memory. Two at once must be at a multiple of 16.
 */
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
/* The pause of a thread between two reads of a flag or word. */
TRIFOLD_DEVICE void spin() {}
/* Says whether the graph node with this condition runs its body once more. */
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);
TRIFOLD_DEVICE void set_condition(unsigned long long handle, bool again) { cudaGraphSetConditional(handle, again ? 1 : 0); }

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
/* One copy of a whole range from device memory, a multiple of 16 bytes, which arrives at a gate. The copy engine accesses memory by another
 * way than threads do (the async proxy). It sees writes of this thread, or of others that this thread has synchronized with, only after
 * these fences. */
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

/* Prefetches the line at an address to the cache. */
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

/* A number's first eleven digits, which are all that the matrix instructions of single precision read. The remainder has the next eleven.
 */
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

/* Packs two numbers, rounded to eleven digits, into a word of halves; and unpacks one. */
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

/* ---- gpu/constants.cuh ---- */
/* Constants of GPU kernels of every family. */

typedef TRIFOLD_REAL real;

constexpr bool use_tensor = TRIFOLD_TENSOR;                       /* tensor instructions for products */
constexpr int vector_width = 16 / static_cast<int>(sizeof(real)); /* elements of a vector of 16 bytes */

/* ---- gpu/lanes.cuh ---- */
/* Lanes, numbers and loops over registers, for GPU kernels of every family. */

constexpr real largest = sizeof(real) == 8 ? real(1.7976931348623157e308) : real(3.402823466e38f);

TRIFOLD_DEVICE int smaller(int a, int b) { return a < b ? a : b; }
TRIFOLD_DEVICE int larger(int a, int b) { return a > b ? a : b; }

TRIFOLD_DEVICE int warp_index() { return thread_index() / warp_lanes; }
TRIFOLD_DEVICE int lane_index() { return thread_index() % warp_lanes; }

/* use(a, b, c) for all a < A, b < B and c < C. The loops are unrolled, so that an array which these index stays in registers. */
template <int A, int B, int C, class Use>
TRIFOLD_DEVICE void each_index(const Use& use) {
#pragma unroll
    for (int a = 0; a < A; ++a)
#pragma unroll
        for (int b = 0; b < B; ++b)
#pragma unroll
            for (int c = 0; c < C; ++c) use(a, b, c);
}

/* ---- gpu/tridiagonal/dense/constants.cuh ---- */
/* Constants of the pieces on chip. The constants of a variant are in a file of this name in its own folder. */

/* Blocks are padded to `padded` rows and columns on chip and in the workspace: pivots by the identity, everything else by zeros. */
constexpr int block_size = TRIFOLD_BLOCK;
constexpr int padded = TRIFOLD_PADDED;

/* The diagonal tiles of a factor are stored inverted, so that every triangular solve is a sequence of products. They are `tile` wide. */
[[maybe_unused]] constexpr int tile = TRIFOLD_TILE;

[[maybe_unused]] constexpr int threads = TRIFOLD_THREADS; /* threads of a block that factors */

[[maybe_unused]] constexpr int strip = padded < 8 ? padded : 8; /* columns of a product that one thread takes */

/* ---- gpu/tridiagonal/dense/pivots.cuh ---- */
/* The test that a pivot must pass, and the reciprocal of its root. */

/* The floor that pivots are tested against, and the outcome of the pivots. A thread block has one, in shared memory. */
struct Pivots {
    double floor;   /* smaller pivots are raised to it, but for infinite ones; minus infinity: none */
    double log_sum; /* sum of the pivots' logarithms */
    int failed_row; /* first row whose pivot failed, or -1 */
    int floors;     /* pivots raised */
};

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

/* ---- tridiagonal_args.h ---- */
/* Block tridiagonal systems: what a launch passes to a kernel. One text for the host library, generated C and device code, so both sides
 * agree; every unit asserts the sizes. Plain 64-bit integers and pointers only. */
#ifndef TRIFOLD_TRIDIAGONAL_ARGS_H
#define TRIFOLD_TRIDIAGONAL_ARGS_H


/* Chain c of a run eliminates the positions first + c * stride + k * step, k = 0 .. length - 1, in that order. */
typedef struct {
    trifold_int first, stride, count, length, step;
} trifold_run;

/* The constants of a launch that treats one level. The blocks that remain when a level starts are base + scale * p for positions p = 0 ..
 * size - 1. A chain's neighbours are the positions before its first pivot ("behind") and after its last ("ahead"), where those exist. */
typedef struct {
    trifold_int index;                            /* level number, from 0 */
    trifold_int base, scale, size;                /* remaining blocks */
    trifold_int next_base, next_scale, next_size; /* remaining blocks of the next level; next_size is 0 at the last one */
    trifold_int coupling, next_coupling;          /* first block of this and the next level's couplings in their buffer; level 0 reads E */
    trifold_int chains, runs;                     /* chains of all runs together; runs in use */
    trifold_run run[3];
} trifold_level;

/* When a launch that treats all levels may begin: after the launch before it has ended; or early, when all fronts of a factorization or of
 * a forward sweep have been claimed but need not be done. */
typedef enum { trifold_after, trifold_during_factor, trifold_during_forward } trifold_start;

/* The constants of a launch that treats all levels, or that gathers what they leave. Its kernels find levels by arithmetic. */
typedef struct {
    trifold_int start; /* a trifold_start */
    trifold_int unused[25];
} trifold_all_levels;

/* Mixed precision: the constants of a launch of refinement. */
typedef struct {
    trifold_int round; /* 0: the first solution */
    trifold_int unused[25];
} trifold_refinement;

/* The constants of a launch. Each kernel takes one of these, so a kernel that reads another's does not compile. All have the size of the
 * largest, so that those who launch need not know which. */
typedef union {
    trifold_level level;
    trifold_all_levels all_levels;
    trifold_refinement refinement;
} trifold_constants;

/* Strides in elements: element (r, c) of block i of member b is at b * member + i * stage + r * row + c * column. */
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

/* Mixed precision: outcome of the refinement of a member's solution, for the worst of a call's columns. */
typedef struct {
    trifold_int iterations; /* corrections of the first solution; -1: never solved */
    trifold_int converged;  /* 1, or 0: the solution is NaN */
    double backward_error;  /* the largest |b - A x| / (|A| |x| + |b|) of a row */
} trifold_refined;

typedef struct {
    const void* d; /* D; strides are constants of the unit, or open sizes */
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
    void* workspace;                    /* factor, slots and results; offsets are constants of the unit, or open sizes */
    trifold_int first_column;           /* of the caller's right-hand sides: those before it had calls of their own */
    trifold_int accept_nearly_singular; /* 1: a least pivot below the bound is no failure; nor is it with a pivot floor */
    /* The Program's sizes, which a unit's text may leave open, so that it serves every number of blocks, systems and right-hand sides:
     * generator/tridiagonal/open_sizes.hpp. Kernels of GPUs have them by value, in the constant memory of a launch. */
#ifdef TRIFOLD_SIZES_BY_VALUE
    trifold_int sizes[TRIFOLD_SIZES_BY_VALUE];
#else
    const trifold_int* sizes;
#endif
} trifold_args;

#endif

/* ---- gpu/tridiagonal/constants.cuh ---- */
/* Constants of all kernels of block tridiagonal systems. A variant's own constants are in its folder. Only files of constants read the
 * generator's macros, apart from names of kernels and choices of the preprocessor. */

constexpr int most_columns = TRIFOLD_RHS; /* right-hand sides of a call, at most */

/* x / by. The generator gives the reciprocal of a size that is no literal, since division takes a hundred instructions. */
TRIFOLD_DEVICE trifold_int divided(trifold_int x, trifold_int by, unsigned long long reciprocal) {
    if (TRIFOLD_BAKED) return x / by;
    return reciprocal == 0 ? x : static_cast<trifold_int>(multiply_high(static_cast<unsigned long long>(x), reciprocal));
}

/* Sizes of the problem. They are literals, or the call's arguments have them. */
TRIFOLD_DEVICE trifold_int horizon_of(const trifold_args& args) { return TRIFOLD_HORIZON; } /* blocks of a system, N */
TRIFOLD_DEVICE trifold_int batch_of(const trifold_args& args) { return TRIFOLD_BATCH; }     /* systems that there is room for */
TRIFOLD_DEVICE trifold_int fronts_of(const trifold_args& args) { return TRIFOLD_FRONTS; }   /* blocks of all systems */
TRIFOLD_DEVICE trifold_int divided_by_horizon(const trifold_args& args, trifold_int x) {
    return divided(x, TRIFOLD_HORIZON, TRIFOLD_HORIZON_RECIPROCAL);
}
/* Numbers b' A^-1 b of each system that there is room for. */
TRIFOLD_DEVICE trifold_int quadratics_of(const trifold_args& args) { return TRIFOLD_QUADRATICS; }

/* Members of the batch that one thread block treats, one after another. */
[[maybe_unused]] constexpr trifold_int members_per_group = TRIFOLD_MEMBERS_PER_GROUP;

/* Separators: the blocks that level 0 leaves, separator_base + k * separator_scale for k below `separators`. Chains write their updates to
 * a separator's slots. Couplings: those of a member at all levels above 0, which are in the workspace. */
[[maybe_unused]] constexpr bool has_separators = TRIFOLD_HAS_SEPARATORS;
TRIFOLD_DEVICE trifold_int separators_of(const trifold_args& args) { return TRIFOLD_SEPARATORS; }
TRIFOLD_DEVICE trifold_int separator_base_of(const trifold_args& args) { return TRIFOLD_SEPARATOR_BASE; }
TRIFOLD_DEVICE trifold_int divided_by_scale(const trifold_args& args, trifold_int x) {
    return divided(x, TRIFOLD_SEPARATOR_SCALE, TRIFOLD_SEPARATOR_SCALE_RECIPROCAL);
}
TRIFOLD_DEVICE trifold_int couplings_of(const trifold_args& args) { return TRIFOLD_COUPLINGS; }

/* Strides of the caller's arrays. Element (r, c) of block i of member b is at b * member + i * stage + r * row + c * column of D. E has the
 * like. All blocks begin at multiples of `step` elements. */
struct D {
    static constexpr trifold_int row = TRIFOLD_D_ROW, column = TRIFOLD_D_COLUMN, stage = TRIFOLD_D_STAGE, step = TRIFOLD_D_STEP;
    static TRIFOLD_METHOD trifold_int member(const trifold_args& args) { return TRIFOLD_D_MEMBER; }
};
struct E {
    static constexpr trifold_int row = TRIFOLD_E_ROW, column = TRIFOLD_E_COLUMN, stage = TRIFOLD_E_STAGE, step = TRIFOLD_E_STEP;
    static TRIFOLD_METHOD trifold_int member(const trifold_args& args) { return TRIFOLD_E_MEMBER; }
};

/* Whether blocks of the workspace lie tile by tile. */
constexpr bool in_tiles = TRIFOLD_IN_TILES;
/* Elements of a block in the workspace. It lies column-major with leading dimension `padded`, or tile by tile. */
constexpr trifold_int storage = static_cast<trifold_int>(padded) * padded;
/* Elements of a block's right-hand sides in the workspace. */
constexpr trifold_int vector_storage = TRIFOLD_STORAGE_VECTOR;

/* Places in the workspace, in bytes from its start. Those that all variants use: */
#define OFFSET(NAME, PLACE) \
    static TRIFOLD_METHOD trifold_int NAME(const trifold_args& args) { return PLACE; }
struct Offset {
    OFFSET(factor, TRIFOLD_OFFSET_FACTOR) /* L */
    OFFSET(next, TRIFOLD_OFFSET_NEXT)     /* R */
    OFFSET(behind, TRIFOLD_OFFSET_BEHIND) /* G */
    OFFSET(update, TRIFOLD_OFFSET_UPDATE) /* slots of separators */
    OFFSET(rhs_update, TRIFOLD_OFFSET_RHS_UPDATE)
    OFFSET(coupling, TRIFOLD_OFFSET_COUPLING)   /* above level 0 */
    OFFSET(poison, TRIFOLD_OFFSET_POISON)       /* whether a chain that updated a separator had failed */
    OFFSET(failure, TRIFOLD_OFFSET_FAILURE)     /* verdict on each block */
    OFFSET(floors, TRIFOLD_OFFSET_FLOORS)       /* pivots of each block that were raised to the floor */
    OFFSET(reduction, TRIFOLD_OFFSET_REDUCTION) /* largest diagonal entry over its pivot, of each block */
    OFFSET(block_log_determinant, TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT)
    OFFSET(block_quadratic, TRIFOLD_OFFSET_BLOCK_QUADRATIC)
    OFFSET(status, TRIFOLD_OFFSET_STATUS) /* results of a member, as are all below */
    OFFSET(log_determinant, TRIFOLD_OFFSET_LOG_DETERMINANT)
    OFFSET(quadratic, TRIFOLD_OFFSET_QUADRATIC)
    OFFSET(range, TRIFOLD_OFFSET_RANGE)
};

static_assert(sizeof(real) == TRIFOLD_REAL_BYTES && sizeof(trifold_level) == 208 && sizeof(trifold_constants) == 208 &&
                  sizeof(trifold_args) == TRIFOLD_SIZEOF_ARGS,
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

TRIFOLD_DEVICE trifold_int block_index(const trifold_args& args, trifold_int member, trifold_int block) {
    return member * horizon_of(args) + block;
}
TRIFOLD_DEVICE real* factor_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::factor(args)) + block_index(args, member, block) * storage;
}
TRIFOLD_DEVICE real* next_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::next(args)) + block_index(args, member, block) * storage;
}
TRIFOLD_DEVICE real* behind_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::behind(args)) + block_index(args, member, block) * storage;
}

/* Blocks that are treated tile by tile are stored in tiles. Each tile is contiguous, column by column, so that one copy fetches it. The
 * order of a column's vectors differs from column to column, against bank conflicts on chip. */
TRIFOLD_DEVICE int turned(int column) { return use_tensor ? column % 4 * 2 * vector_width : 0; }
TRIFOLD_DEVICE int place_in_tile(int r, int c) { return c * tile + (r ^ turned(c)); }
TRIFOLD_DEVICE trifold_int place_of_tile(int row, int column) {
    return (static_cast<trifold_int>(column) * (padded / tile) + row) * (tile * tile);
}
/* The place of element (r, c) in a block of the workspace. */
TRIFOLD_DEVICE trifold_int place_in_block(int r, int c) {
    if (!in_tiles) return r + static_cast<trifold_int>(c) * padded;
    return place_of_tile(r / tile, c / tile) + place_in_tile(r % tile, c % tile);
}

/* Side 0 of a separator belongs to the chains at lower positions, side 1 to those at higher ones. */
TRIFOLD_DEVICE trifold_int slot_index(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return (side * batch_of(args) + member) * separators_of(args) + divided_by_scale(args, block - separator_base_of(args));
}
/* Every block but those at the ends of the path is updated from both sides at level 0. */
TRIFOLD_DEVICE bool has_side(const trifold_args& args, trifold_int block, int side) {
    return side == 0 ? block > 0 : block < horizon_of(args) - 1;
}
TRIFOLD_DEVICE int side_ahead(const Chain& chain) { return chain.step > 0 ? 0 : 1; }
TRIFOLD_DEVICE int side_behind(const Chain& chain) { return chain.step > 0 ? 1 : 0; }

TRIFOLD_DEVICE real* update_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, Offset::update(args)) + slot_index(args, member, block, side) * storage;
}
TRIFOLD_DEVICE real* rhs_update_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<real>(args, Offset::rhs_update(args)) + slot_index(args, member, block, side) * vector_storage;
}
TRIFOLD_DEVICE int& poison_of(const trifold_args& args, trifold_int member, trifold_int block, int side) {
    return buffer<int>(args, Offset::poison(args))[slot_index(args, member, block, side)];
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
        status.block = failure / block_size % horizon_of(args), status.row = failure % block_size;
        status.least_pivot = 0, log_sum = not_a_number();
    } else if (status.least_pivot < least_sound && !(args.pivot_floor > 0)) {
        status.nearly_singular = args.accept_nearly_singular == 0;
    }
    buffer<trifold_status>(args, Offset::status(args))[member] = status;
    buffer<double>(args, Offset::log_determinant(args))[member] = log_sum;
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
    trifold_range& range = buffer<trifold_range>(args, Offset::range(args))[member];
    store_word(reinterpret_cast<unsigned*>(result == Result::solution ? &range.solution : &range.inverse), left);
}
/* Looks at an element of a result that goes out: chains of a member say the same, side by side. */
TRIFOLD_DEVICE void watch(const trifold_args& args, trifold_int member, Result result, real value) {
    if (has_left(value)) set_range(args, member, result, 1);
}
/* Clears the mark of a result that has left the range. One thread of the last level's chain calls it, before any element of the result is
 * written, since all others wait for this chain. Later calls for other columns of the same result keep the mark. */
TRIFOLD_DEVICE void begin_result(const trifold_args& args, trifold_int member, Result result) {
    if (args.first_column == 0) set_range(args, member, result, 0);
}
/* Whether a level is the last one. It has one chain, with which backward sweeps and inverses begin. */
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
TRIFOLD_DEVICE trifold_int next_coupling_index(const trifold_args& args, const trifold_level& level, trifold_int member,
                                               const Chain& chain) {
    const trifold_int lower = block_at(level, chain.step > 0 ? chain.behind : chain.ahead);
    return member * couplings_of(args) + level.next_coupling + (lower - level.next_base) / level.next_scale;
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
/* The caller's D and E. Only this file knows their layout. Kernels that copy in their own order take a block from D_OF or E_OF, and its
 * strides from D and E. */

/* A block of the caller's D, and the block of E that couples `block` to the one after it. BLOCK_OF_D takes a block from a pointer to D.
 * These are macros, since compilers made other machine code of functions. */
#define BLOCK_OF_D(d, number, block) ((d) + (number) * D::member(args) + (block) * D::stage)
#define D_OF(args, number, block) BLOCK_OF_D(global_pointer(static_cast<const real*>((args).d)), number, block)
#define E_OF(args, number, block) (global_pointer(static_cast<const real*>((args).e)) + (number) * E::member(args) + (block) * E::stage)
/* Element (r, c) of a block of D: of its lower triangle, which is all of D that is read. And entry r of its diagonal. */
#define ELEMENT_OF_D(d, r, c) (d)[(r) * D::row + (c) * D::column]
#define ENTRY_OF_D(d, r) (d)[(r) * (D::row + D::column)]

/* The number that is added to diagonal entry r of a block of D. */
TRIFOLD_DEVICE real diagonal_term(const trifold_args& args, trifold_int member, trifold_int block, int r) {
    real term = 0;
    if (args.diagonal != nullptr)
        term += global_pointer(static_cast<const real*>(args.diagonal))[block_index(args, member, block) * block_size + r];
    if (args.shift != nullptr) term += global_pointer(static_cast<const real*>(args.shift))[member];
    return term;
}

/* Elements from one line of a block to the next. The elements of a line are next to each other. */
[[maybe_unused]] constexpr trifold_int d_pitch = D::row > D::column ? D::row : D::column, e_pitch = E::row > E::column ? E::row : E::column;

/* The coupling of positions p and q = p +- 1 of a level, A(higher, lower): E at level 0, a block of the workspace above it. */
TRIFOLD_DEVICE const real* coupling_at(const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int p,
                                       trifold_int q) {
    const trifold_int lower = p < q ? p : q;
    if (level.index == 0) return E_OF(args, member, lower);
    return buffer<real>(args, Offset::coupling(args)) + (member * couplings_of(args) + level.coupling + lower) * storage;
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

/* Loads the lower triangle of a diagonal block with the updates of earlier levels, and the identity in the padding. Elements above the
 * diagonal are not touched. */
TRIFOLD_DEVICE void load_diagonal(real* to, int leading, const trifold_args& args, const trifold_level& level, trifold_int member,
                                  trifold_int block) {
    const real* from = D_OF(args, member, block);
    const real* low = level.index > 0 && has_side(args, block, 0) ? update_of(args, member, block, 0) : nullptr;
    const real* high = level.index > 0 && has_side(args, block, 1) ? update_of(args, member, block, 1) : nullptr;
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

/* ---- gpu/tridiagonal/team/constants.cuh ---- */
/* Constants of variant team. */

constexpr int team = TRIFOLD_TEAM;     /* lanes of a team, which has a chain */
constexpr int riders = TRIFOLD_RIDERS; /* right-hand sides treated at once */
constexpr int panels = TRIFOLD_PANELS; /* panels of a front: L, R and, in schedules with fill, G */
/* Chains of a member that a thread block has, a team for each. */
[[maybe_unused]] constexpr int chains_per_group = TRIFOLD_CHAINS_PER_GROUP;

/* Bytes of shared memory that all teams of a thread block have together. */
struct SharedBytes {
    static constexpr int factor = TRIFOLD_SHARED_FACTOR, sweep = TRIFOLD_SHARED_SWEEP;
};
/* Thread blocks that a multiprocessor must have room for: they limit the registers of a thread. */
struct Blocks {
    static constexpr int factor = TRIFOLD_FACTOR_BLOCKS, factor_forward = TRIFOLD_FACTOR_FORWARD_BLOCKS, sweep = TRIFOLD_SWEEP_BLOCKS;
};

/* ---- gpu/tridiagonal/team/shared.h ---- */
/* Shared memory of variant team. The generator includes this text too: it counts the bytes that a launch asks for. The structures that are
 * counted are in factor.cuh and sweep.cuh, and RhsStage, a part of both, in team.cuh. */

/* Bytes from one team's shared memory to the next one's, such that the lanes of a warp have banks of their own. */
TRIFOLD_SIZE long long team_pitch(long long bytes, long long team, long long real) { return (bytes + 127) / 128 * 128 + team * real % 128; }

/* Elements of RhsStage: right-hand sides, and the updates in two slots. */
TRIFOLD_SIZE long long stage_elements(long long padded, long long riders, bool has_slots, long long vector) {
    return riders * padded + 2 * (has_slots ? riders * padded : vector);
}

TRIFOLD_SIZE long long factor_bytes(long long padded, long long riders, long long panels, bool has_slots, long long depth, long long real) {
    const long long task = 64, vector = 16 / real, area = padded * padded;
    const long long square = (padded * (padded | 1) + vector - 1) / vector * vector; /* d or e */
    const long long stage = 2 * (has_slots ? area : vector) + stage_elements(padded, riders, has_slots, vector) + 2 * square;
    return task + ((panels - 1) * area + depth * stage + riders * padded) * real;
}

TRIFOLD_SIZE long long sweep_bytes(long long padded, long long riders, long long panels, bool has_slots, long long depth, long long real) {
    const long long task = 64, vector = 16 / real;
    const long long stage = panels * padded * (padded + vector) + stage_elements(padded, riders, has_slots, vector);
    return task + (depth * stage + 2 * riders * padded) * real;
}

/* ---- gpu/tridiagonal/team/team.cuh ---- */
/* Chains of small blocks (variant team). A team of lanes has a chain, which may be a whole system of a batch, from its first front to its
 * last. A lane has a row of L, of R and, in schedules with fill, of G in registers. Numbers that other lanes need go through shared memory.
 * Only barriers of a warp are used, so a warp may hold several teams, and a thread block many. */

constexpr int teams = threads / team;
constexpr bool has_fill = panels > 2, has_slots = has_separators;
constexpr int depth = has_slots ? 1 : 2; /* fronts on their way; where there are many chains, other teams work meanwhile */
static_assert(tile == 1 && warp_lanes % team == 0 && threads % warp_lanes == 0 && padded <= team && padded % vector_width == 0,
              "host and device disagree");

template <class Shared>
constexpr int pitch = static_cast<int>(team_pitch(sizeof(Shared), team, sizeof(real)));
template <class Shared>
TRIFOLD_DEVICE Shared& shared_of_team() {
    return *reinterpret_cast<Shared*>(static_cast<char*>(shared_memory()) + thread_index() / team * pitch<Shared>);
}

/* A lane's place in its team, which is its row. */
TRIFOLD_DEVICE int team_lane() { return thread_index() % team; }
template <class T>
TRIFOLD_DEVICE T value_of_lane(T value, int lane) {
    return shuffle(value, thread_index() % warp_lanes / team * team + lane);
}
TRIFOLD_DEVICE double sum_of_team(double value) {
#pragma unroll
    for (int mask = team / 2; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
    return value;
}

/* A chain of a member; its length is 0 if there is none. The teams of a warp go together, so a warp takes the steps of its longest chain.
 * It is in shared memory, since rows need the registers. */
struct Task {
    Chain chain;
    trifold_int member, steps;
};
TRIFOLD_DEVICE Task find_task(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    Task task{find_chain(level, number), member, 0};
    if (number >= level.chains || !is_active(args, member)) task.chain.length = 0;
    task.steps = task.chain.length;
#pragma unroll
    for (int mask = warp_lanes / 2; mask >= team; mask /= 2) {
        const trifold_int other = shuffle_xor(task.steps, mask);
        if (other > task.steps) task.steps = other;
    }
    return task;
}
template <class Shared, class Use>
TRIFOLD_DEVICE void each_chain(const trifold_args& args, const trifold_level& level, const Use& use) {
    constexpr int chains = chains_per_group;
    const int place = thread_index() / team;
    const trifold_int number = group_x() * chains + place % chains, first = group_y() * members_per_group + place / chains;
    Shared& shared = shared_of_team<Shared>();
#pragma unroll 1
    for (trifold_int k = 0; k < members_per_group; k += teams / chains) {
        const Task task = find_task(args, level, number, first + k);
        if (team_lane() == 0) shared.task = task;
        warp_sync();
        use(shared);
        warp_sync();
    }
}

TRIFOLD_DEVICE trifold_int position_of(const Chain& chain, trifold_int k) { return chain.first + k * chain.step; }
TRIFOLD_DEVICE bool has_next(const Chain& chain, trifold_int k) { return k + 1 < chain.length || chain.ahead >= 0; }

/* Results of chains, such as failures and sums, go up from slot to slot to the chain of the last level. This visits the slots of a chain's
 * own blocks, which are shared out among the lanes. */
template <class Use>
TRIFOLD_DEVICE void each_slot_below(const trifold_args& args, const trifold_level& level, const Task& task, const Use& use) {
    if (level.index == 0) return;
#pragma unroll 1
    for (trifold_int e = team_lane(); e < 2 * task.chain.length; e += team) {
        const trifold_int block = block_at(level, position_of(task.chain, e / 2));
        if (has_side(args, block, e % 2)) use(slot_index(args, task.member, block, e % 2));
    }
}
/* Visits the slots of the separators at a chain's ends, by one lane. Sums go to the first of them only. */
template <class Use>
TRIFOLD_DEVICE void each_slot_above(const trifold_args& args, const trifold_level& level, const Task& task, const Use& use) {
    const Chain& chain = task.chain;
    if (chain.length == 0 || team_lane() != 0) return;
    if (chain.ahead >= 0) use(slot_index(args, task.member, block_at(level, chain.ahead), side_ahead(chain)), true);
    if (chain.behind >= 0) use(slot_index(args, task.member, block_at(level, chain.behind), side_behind(chain)), chain.ahead < 0);
}
TRIFOLD_DEVICE bool is_whole(const Chain& chain) { return chain.length > 0 && chain.ahead < 0 && chain.behind < 0; }

/* Starts a lane's part of the sums of squares, by column, for b' A^-1 b, with the sums of the chains below. */
TRIFOLD_DEVICE void gather_quadratic(double (&squares)[riders], const trifold_args& args, const trifold_level& level, const Task& task,
                                     Columns columns) {
    each_slot_below(args, level, task, [&](trifold_int slot) {
        const double* from = buffer<double>(args, Offset::block_quadratic(args)) + slot * most_columns + columns.first;
#pragma unroll
        for (int c = 0; c < riders; ++c)
            if (c < columns.count) squares[c] += from[c];
    });
}
TRIFOLD_DEVICE void leave_quadratic(const double (&squares)[riders], const trifold_args& args, const trifold_level& level, const Task& task,
                                    Columns columns) {
#pragma unroll
    for (int c = 0; c < riders; ++c) {
        const double sum = sum_of_team(squares[c]);
        if (c >= columns.count) continue;
        each_slot_above(args, level, task, [&](trifold_int slot, bool sums) {
            double& to = buffer<double>(args, Offset::block_quadratic(args))[slot * most_columns + columns.first + c];
            to = (level.index > 0 ? to : 0) + (sums ? sum : 0);
        });
        if (is_whole(task.chain) && team_lane() == 0)
            buffer<double>(args, Offset::quadratic(args))[task.member * quadratics_of(args) + columns.first + c] = in_range(sum);
    }
}

/* Starts the copies of a block's right-hand sides, or of its solved ones. */
TRIFOLD_DEVICE void fetch_columns(real* to, const void* from, const trifold_strides& strides, trifold_int member, trifold_int block,
                                  Columns columns) {
#pragma unroll 1
    for (int e = team_lane(); e < padded * riders; e += team) {
        const int r = e % padded, c = e / padded;
        if (r < block_size && c < columns.count)
            copy_element_async(to + e, static_cast<const real*>(from) + rhs_at(strides, member, block, r, columns.first + c));
        else
            to[e] = 0;
    }
}

/* The right-hand sides of a block on the way up: the caller's and, above level 0, the updates of the chains next to it. */
struct RhsStage {
    alignas(16) real b[riders * padded];
    alignas(16) real slot[2][has_slots ? riders * padded : vector_width];
};
TRIFOLD_DEVICE void fetch_running(RhsStage& to, const trifold_args& args, const trifold_level& level, trifold_int member, trifold_int block,
                                  Columns columns) {
    fetch_columns(to.b, args.b, args.b_strides, member, block, columns);
    if (has_slots && level.index > 0) {
#pragma unroll
        for (int side = 0; side < 2; ++side)
            if (has_side(args, block, side))
                fetch_columns(to.slot[side], rhs_update_of(args, member, block, side), {1, padded, 0, 0}, 0, 0, columns);
    }
}
TRIFOLD_DEVICE real running_value(const trifold_args& args, const RhsStage& from, const trifold_level& level, trifold_int block, int at) {
    real value = from.b[at];
    if (has_slots && level.index > 0) {
        if (has_side(args, block, 0)) value -= from.slot[0][at];
        if (has_side(args, block, 1)) value -= from.slot[1][at];
    }
    return value;
}

/* Writes the chain's updates of right-hand sides to the separators at its ends. `y` holds -R y and -G y of this lane's row. */
TRIFOLD_DEVICE void leave_rhs(real (&y)[panels][riders], const trifold_args& args, const trifold_level& level, const Task& task,
                              Columns columns) {
    const Chain& chain = task.chain;
#pragma unroll
    for (int p = 1; p < panels; ++p) {
        const trifold_int at = p == 1 ? chain.ahead : chain.behind;
        if (at < 0 || team_lane() >= padded) continue;
        real* to = rhs_update_of(args, task.member, block_at(level, at), p == 1 ? side_ahead(chain) : side_behind(chain)) + team_lane();
#pragma unroll
        for (int c = 0; c < riders; ++c)
            if (c < columns.count) {
                real& slot = to[(columns.first + c) * padded];
                slot = (level.index > 0 ? slot : real(0)) - y[p][c];
            }
    }
}

/* ---- gpu/tridiagonal/team/factor.cuh ---- */
/* Factorization by teams, right-hand sides along with it. */

/* Blocks without gaps come in pieces of 16 bytes, if the caller's arrays are aligned so; not where lanes would then read their rows from
 * the same banks. */
template <trifold_int Pitch, trifold_int Stage, trifold_int Member>
constexpr bool has_no_gaps = block_size == padded && Pitch == padded && Stage % vector_width == 0 && Member % vector_width == 0;
constexpr bool comes_in_pieces =
    has_no_gaps<d_pitch, D::stage, D::step> && has_no_gaps<e_pitch, E::stage, E::step> && (D::row == 1 || padded / vector_width % 4 != 0);
/* A lane reads its row as vectors then; else odd, so that lanes read rows without bank conflicts. */
constexpr int stage_leading = comes_in_pieces ? padded : padded | 1;

struct FactorShared {
    Task task;
    alignas(16) real panel[panels - 1][padded][padded]; /* L by columns; then the rows of R and of G */
    struct {
        alignas(16) real slot[2][has_slots ? padded * padded : vector_width]; /* updates of the diagonal block, column-major */
        RhsStage rhs;
        alignas(16) real d[padded * (padded | 1)], e[padded * (padded | 1)]; /* in the order they are stored in */
    } stage[depth];
    alignas(16) real solved[riders * padded]; /* y */
};
static_assert(sizeof(FactorShared) == factor_bytes(padded, riders, panels, has_slots, depth, sizeof(real)), "host and device disagree");
static_assert(pitch<FactorShared> * teams == SharedBytes::factor, "host and device disagree");

/* The results of a chain, as a lane has them. */
struct Verdict {
    trifold_int failure = sound; /* the first pivot that failed: level, block and row as one number */
    int floors = 0;              /* pivots of this lane's row that were raised */
    double reduction = 0;        /* the largest diagonal entry of this lane's row over its pivot */
    double product = 1;          /* the product of the reciprocal roots of the pivots of this lane's row, times 2^(600 scales) */
    int scales = 0;
    double squares[riders] = {};
};

/* The updates that a front leaves to the next one of its chain, or the chain to its separators: this lane's row of them. */
struct Carry {
    real next[padded] = {};      /* R R' */
    real across[padded] = {};    /* G of the next front: -G R' */
    real behind[padded] = {};    /* the sum of G G' */
    real y[panels][riders] = {}; /* -R y, the sum of -G y */
};

/* Numbers far from one are scaled, so that products of them neither overflow nor vanish. */
TRIFOLD_DEVICE double tame(double value, int& scales) {
    if (value > 0x1p400) {
        value *= 0x1p-600;
        ++scales;
    } else if (value < 0x1p-400) {
        value *= 0x1p600;
        --scales;
    }
    return value;
}

/* Does the contiguous index of the stored coupling of positions p and q run along the rows of A(p, q)? */
TRIFOLD_DEVICE bool rows_contiguous(const trifold_level& level, trifold_int p, trifold_int q) {
    return (level.index > 0 || E::row == 1) == (p > q);
}

TRIFOLD_DEVICE bool are_aligned(const void* d, const void* e) {
    return (reinterpret_cast<unsigned long long>(d) | reinterpret_cast<unsigned long long>(e)) % 16 == 0;
}
TRIFOLD_DEVICE void fetch_pieces(real* to, const real* from, bool exists) {
#pragma unroll
    for (int at = 0; at < padded * padded; at += team * vector_width) {
        const int own = at + team_lane() * vector_width;
        if (exists && own < padded * padded) copy_async(to + own, from + own);
    }
}

/* D's lower triangle, the coupling to the next block, the updates of the chains below and the right-hand sides on their way; padding is the
 * identity, or zeros. */
template <bool Riders>
TRIFOLD_DEVICE void fetch_front(FactorShared& shared, const trifold_args& args, const trifold_level& level, const Task& task,
                                trifold_int k) {
    if (k < task.chain.length) {
        auto& to = shared.stage[k % depth];
        const trifold_int position = position_of(task.chain, k), block = block_at(level, position);
        const real* d = D_OF(args, task.member, block);
        const real* e = global_pointer(coupling_at(args, level, task.member, position, position + task.chain.step));
        const trifold_int pitch_of_e = level.index > 0 ? padded : e_pitch;
        const bool coupled = has_next(task.chain, k);
        if (comes_in_pieces && are_aligned(args.d, args.e)) {
            fetch_pieces(to.d, d, true);
            fetch_pieces(to.e, e, coupled);
        } else {
#pragma unroll 1
            for (int at = team_lane(); at < padded * padded; at += team) {
                const int u = at % padded, v = at / padded, place = u + v * stage_leading;
                const bool inside = u < block_size && v < block_size, lower = D::row == 1 ? v <= u : u <= v;
                if (inside && lower) copy_element_async(to.d + place, d + u + v * d_pitch);
                if (!inside) to.d[place] = u == v ? real(1) : real(0), to.e[place] = 0;
                if (inside && coupled) copy_element_async(to.e + place, e + u + v * pitch_of_e);
            }
        }
        if (has_slots && level.index > 0) {
#pragma unroll
            for (int side = 0; side < 2; ++side)
                if (has_side(args, block, side))
#pragma unroll 1
                    for (int at = team_lane() * vector_width; at < padded * padded; at += team * vector_width)
                        copy_async(to.slot[side] + at, update_of(args, task.member, block, side) + at);
        }
        if (Riders) fetch_running(to.rhs, args, level, task.member, block, {0, static_cast<int>(args.columns)});
    }
    end_copies();
}

/* This lane's row of the first front's coupling to the separator behind the chain. */
TRIFOLD_DEVICE void load_behind(Carry& carry, const trifold_args& args, const trifold_level& level, const Task& task) {
    const Chain& chain = task.chain;
    if (chain.behind < 0 || chain.length == 0 || team_lane() >= block_size) return;
    const real* from = global_pointer(coupling_at(args, level, task.member, chain.behind, chain.first));
    const trifold_int pitch_of_e = level.index > 0 ? padded : e_pitch;
    const bool along = rows_contiguous(level, chain.behind, chain.first);
    from += along ? team_lane() : team_lane() * pitch_of_e;
#pragma unroll
    for (int c = 0; c < block_size; ++c) carry.across[c] = from[along ? c * pitch_of_e : c];
}

/* The floor to which smaller pivots of the block are raised. `diagonal`: this row's diagonal entry as the caller gave it. */
TRIFOLD_DEVICE real find_floor(real diagonal, const trifold_args& args) {
    if (!(args.pivot_floor > 0)) return static_cast<real>(-infinity());
    double most = team_lane() < block_size ? static_cast<double>(diagonal < 0 ? -diagonal : diagonal) : 0;
    if (!(most <= static_cast<double>(largest))) most = 0;
    for (int mask = team / 2; mask > 0; mask /= 2) {
        const double other = shuffle_xor(most, mask);
        if (other > most) most = other;
    }
    return static_cast<real>(args.pivot_floor * most);
}

/* Row `at` of a block as it is stored: across the contiguous index, or along it. */
TRIFOLD_DEVICE void load_line(real (&line)[padded], const real* block, int at, bool across) {
    if (across || stage_leading % vector_width != 0) {
        const int step = across ? stage_leading : 1;
        block += across ? at : at * stage_leading;
#pragma unroll
        for (int c = 0; c < padded; ++c) line[c] = block[c * step];
        return;
    }
#pragma unroll
    for (int c = 0; c < padded; c += vector_width) {
        real v[vector_width];
        load_vector(v, block + at * stage_leading + c);
#pragma unroll
        for (int k = 0; k < vector_width; ++k) line[c + k] = v[k];
    }
}

/* This lane's row of every panel, its diagonal entry as the caller gave it, and the pivots' floor. Where there is no front, the identity:
 * that changes nothing that a team knows. */
TRIFOLD_DEVICE real load_rows(real (&a)[panels][padded], real& diagonal, const FactorShared& shared, const Carry& carry,
                              const trifold_args& args, const trifold_level& level, const Task& task, trifold_int k) {
    const auto& stage = shared.stage[k % depth];
    const int row = team_lane();
    const bool exists = k < task.chain.length && row < padded;
    const trifold_int position = position_of(task.chain, k), block = block_at(level, position);
    const bool coupled = exists && has_next(task.chain, k), along = rows_contiguous(level, position + task.chain.step, position);
    const bool low = has_slots && exists && level.index > 0 && has_side(args, block, 0);
    const bool high = has_slots && exists && level.index > 0 && has_side(args, block, 1);
    const int at = exists ? row : 0;
    real d[padded], e[padded], term = 0;
    diagonal = 0;
    if (exists && row < block_size && (args.diagonal != nullptr || args.shift != nullptr))
        term = diagonal_term(args, task.member, block, row);
    load_line(d, stage.d, at, D::row == 1);
    load_line(e, stage.e, at, along);
#pragma unroll
    for (int c = 0; c < padded; ++c) {
        real value = row == c ? real(1) : real(0);
        if (exists && c <= row) value = d[c];
        if (c == row) value += term, diagonal = value;
        if (low && c <= row) value -= stage.slot[0][at + c * padded];
        if (high && c <= row) value -= stage.slot[1][at + c * padded];
        a[0][c] = value - carry.next[c];
        a[1][c] = coupled ? e[c] : real(0);
        if constexpr (has_fill) a[2][c] = carry.across[c];
    }
    const real floor = find_floor(diagonal, args);
    return k < task.chain.length ? floor : static_cast<real>(-infinity());
}

/* The upper half of a double, or a float, as an integer: positive numbers have the order of theirs, and others are outside of them. */
TRIFOLD_DEVICE int word_of(double value) {
    long long bits;
    copy_bits(bits, value);
    return static_cast<int>(bits >> 32);
}
TRIFOLD_DEVICE int word_of(float value) {
    int bits;
    copy_bits(bits, value);
    return bits;
}

/* Pivots between these two need no closer look: integers are compared sooner than doubles. */
constexpr real most_plain = sizeof(real) == 8 ? real(1e290) : real(1e30f), least_plain = real(1) / most_plain;

/* 1 / sqrt of a pivot, and its test. Nearly all pivots pass the first test, which the root need not wait for. `least`: the word of the
 * larger of the floor and least_plain. */
TRIFOLD_DEVICE real scale_of(real& d, real floor, int least, int row, trifold_int failure, Verdict& verdict) {
    const real quick = quick_rsqrt(d);
    const int word = word_of(d);
    if (word > least && word < word_of(most_plain)) return quick;
    if (d < floor && d >= -largest && row < block_size) {
        d = floor;
        if (row == team_lane()) ++verdict.floors;
    }
    const bool passes = is_pivot(d);
    if (!passes && verdict.failure == sound) verdict.failure = failure + row;
    return passes ? inverse_sqrt(d) : static_cast<real>(not_a_number());
}

/* The panels, column after column: every lane its rows. `y` are the right-hand sides of the pivot's rows, and -R y, -G y. `failure` is the
 * number that a failure of the first row has. */
template <bool Riders>
TRIFOLD_DEVICE void factor_rows(real (&a)[panels][padded], real (&y)[panels][riders], FactorShared& shared, real diagonal, real floor,
                                trifold_int failure, Verdict& verdict) {
    const int row = team_lane();
    const int least = word_of(floor > least_plain ? floor : least_plain);
    real next = a[0][0]; /* on the lane of the next pivot's row, that pivot: it needs nothing of others */
#pragma unroll
    for (int j = 0; j < padded; ++j) {
        real own[panels], d = value_of_lane(next, j);
        const real scale = scale_of(d, floor, least, j, failure, verdict);
#pragma unroll
        for (int p = 0; p < panels; ++p) own[p] = p > 0 || row > j ? a[p][j] * scale : real(0);
        if (j + 1 < padded) next = a[0][j + 1] - own[0] * own[0];
        const real kept = row == j ? scale : own[0];
        if (row < padded) shared.panel[0][j][row] = kept;
        if (Riders && row == j) {
#pragma unroll
            for (int c = 0; c < riders; ++c) {
                y[0][c] *= scale;
                shared.solved[c * padded + j] = y[0][c];
            }
        }
#pragma unroll
        for (int p = 0; p < panels; ++p) a[p][j] = p == 0 ? kept : own[p];
        warp_sync();
#pragma unroll
        for (int c = j + 1; c < padded; ++c) {
            const real other = shared.panel[0][j][c];
#pragma unroll
            for (int p = 0; p < panels; ++p) a[p][c] -= own[p] * other;
        }
        if (Riders) {
#pragma unroll
            for (int c = 0; c < riders; ++c)
#pragma unroll
                for (int p = 0; p < panels; ++p) y[p][c] -= own[p] * shared.solved[c * padded + j];
        }
    }
    if (row < block_size) {
        const real reciprocal = shared.panel[0][row][row];
        verdict.product *= tame(static_cast<double>(reciprocal), verdict.scales);
        verdict.product = tame(verdict.product, verdict.scales);
        const double reduction = static_cast<double>(diagonal * reciprocal * reciprocal);
        if (reduction > verdict.reduction) verdict.reduction = reduction;
    }
}

/* L, its diagonal inverted, R and G; y to X. */
template <bool Riders>
TRIFOLD_DEVICE void store_rows(const real (&a)[panels][padded], const real (&y)[panels][riders], const trifold_args& args,
                               trifold_int member, trifold_int block, Verdict& verdict) {
    const int row = team_lane();
    if (row >= padded) return;
#pragma unroll
    for (int p = 0; p < panels; ++p) {
        real* to = (p == 0 ? factor_of(args, member, block) : p == 1 ? next_of(args, member, block) : behind_of(args, member, block)) + row;
#pragma unroll
        for (int c = 0; c < padded; ++c) to[c * padded] = a[p][c];
    }
    if (Riders && row < block_size) {
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            verdict.squares[c] += square_of(y[0][c]);
            if (c < args.columns) static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, row, c)] = y[0][c];
        }
    }
}

/* Products of this lane's rows of R and G with everybody's. */
TRIFOLD_DEVICE void multiply_rows(Carry& carry, const real (&a)[panels][padded], FactorShared& shared) {
    const int row = team_lane();
    if (row < padded) {
#pragma unroll
        for (int p = 1; p < panels; ++p)
#pragma unroll
            for (int c = 0; c < padded; c += vector_width) {
                real v[vector_width];
#pragma unroll
                for (int k = 0; k < vector_width; ++k) v[k] = a[p][c + k];
                store_vector(&shared.panel[p - 1][row][c], v);
            }
    }
    warp_sync();
#pragma unroll
    for (int c = 0; c < padded; ++c) {
        real next = 0, across = 0;
#pragma unroll
        for (int k = 0; k < padded; k += vector_width) {
            real r[vector_width], g[vector_width];
            load_vector(r, &shared.panel[0][c][k]);
            if constexpr (has_fill) load_vector(g, &shared.panel[1][c][k]);
#pragma unroll
            for (int v = 0; v < vector_width; ++v) {
                next += a[1][k + v] * r[v];
                if constexpr (has_fill) across -= a[2][k + v] * r[v], carry.behind[c] += a[2][k + v] * g[v];
            }
        }
        carry.next[c] = next;
        if constexpr (has_fill) carry.across[c] = across;
    }
}

/* Writes the chain's updates of the separators at its ends, and the coupling that it leaves between them. */
TRIFOLD_DEVICE void leave_chain(const Carry& carry, const trifold_args& args, const trifold_level& level, const Task& task) {
    const Chain& chain = task.chain;
    const int row = team_lane();
    const bool add = level.index > 0;
    if (row >= padded) return;
    if (chain.ahead >= 0) {
        real* to = update_of(args, task.member, block_at(level, chain.ahead), side_ahead(chain)) + row;
#pragma unroll
        for (int c = 0; c < padded; ++c) to[c * padded] = (add ? to[c * padded] : real(0)) + carry.next[c];
    }
    if constexpr (has_fill) {
        if (chain.behind < 0) return;
        real* to = update_of(args, task.member, block_at(level, chain.behind), side_behind(chain)) + row;
#pragma unroll
        for (int c = 0; c < padded; ++c) to[c * padded] = (add ? to[c * padded] : real(0)) + carry.behind[c];
        if (chain.ahead < 0) return;
        real* coupling = buffer<real>(args, Offset::coupling(args)) + next_coupling_index(args, level, task.member, chain) * storage;
        const bool up = chain.step > 0; /* the separator behind is the lower one then, and its row a column */
#pragma unroll
        for (int c = 0; c < padded; ++c) coupling[up ? c + row * padded : row + c * padded] = carry.across[c];
    }
}

/* Adds the results of the chains below, and writes all to the slots of the separators at the chain's ends, or as the verdict on the member.
 * A failure at an earlier level has a smaller number, so the least is kept. */
TRIFOLD_DEVICE void leave_verdict(Verdict& verdict, const trifold_args& args, const trifold_level& level, const Task& task) {
    constexpr double log_scale = 600 * 0.693147180559945309417;
    double log_sum = -2 * (natural_log(verdict.product) + verdict.scales * log_scale);
    if (has_slots)
        each_slot_below(args, level, task, [&](trifold_int slot) {
            const trifold_int failure = buffer<trifold_int>(args, Offset::failure(args))[slot];
            if (failure < verdict.failure) verdict.failure = failure;
            verdict.floors += buffer<int>(args, Offset::floors(args))[slot];
            const double reduction = buffer<double>(args, Offset::reduction(args))[slot];
            if (reduction > verdict.reduction) verdict.reduction = reduction;
            log_sum += buffer<double>(args, Offset::block_log_determinant(args))[slot];
        });
    log_sum = sum_of_team(log_sum);
    const int floors = static_cast<int>(sum_of_team(verdict.floors));
#pragma unroll
    for (int mask = team / 2; mask > 0; mask /= 2) {
        const trifold_int other = shuffle_xor(verdict.failure, mask);
        if (other < verdict.failure) verdict.failure = other;
        const double reduction = shuffle_xor(verdict.reduction, mask);
        if (reduction > verdict.reduction) verdict.reduction = reduction;
    }
    const bool add = level.index > 0;
    each_slot_above(args, level, task, [&](trifold_int slot, bool sums) {
        trifold_int& failure = buffer<trifold_int>(args, Offset::failure(args))[slot];
        failure = add && failure < verdict.failure ? failure : verdict.failure;
        int& raised = buffer<int>(args, Offset::floors(args))[slot];
        raised = (add ? raised : 0) + (sums ? floors : 0);
        double& reduction = buffer<double>(args, Offset::reduction(args))[slot];
        reduction = add && reduction > verdict.reduction ? reduction : verdict.reduction;
        double& sum = buffer<double>(args, Offset::block_log_determinant(args))[slot];
        sum = (add ? sum : 0) + (sums ? log_sum : 0);
    });
    if (!is_whole(task.chain) || team_lane() != 0) return;
    report_member(args, task.member, verdict.failure, floors, verdict.reduction, log_sum);
}

template <bool Riders>
TRIFOLD_DEVICE void factor_chain(FactorShared& shared, const trifold_args& args, const trifold_level& level) {
    const Task& task = shared.task;
    const Columns columns{0, static_cast<int>(args.columns)};
#pragma unroll
    for (int k = 0; k < depth; ++k) fetch_front<Riders>(shared, args, level, task, k);
    Verdict verdict;
    if (has_slots && Riders) gather_quadratic(verdict.squares, args, level, task, columns);
    Carry carry;
    if (has_fill) load_behind(carry, args, level, task);
#pragma unroll 1
    for (trifold_int k = 0; k < task.steps; ++k) {
        const trifold_int block = block_at(level, position_of(task.chain, k));
        wait_copies<depth - 1>();
        warp_sync();
        real a[panels][padded], diagonal;
        const real floor = load_rows(a, diagonal, shared, carry, args, level, task, k);
        if (Riders) {
#pragma unroll
            for (int c = 0; c < riders; ++c) {
                carry.y[0][c] = carry.y[1][c];
                if (team_lane() < padded)
                    carry.y[0][c] += running_value(args, shared.stage[k % depth].rhs, level, block, c * padded + team_lane());
                carry.y[1][c] = 0;
            }
        }
        warp_sync();
        fetch_front<Riders>(shared, args, level, task, k + depth);
        factor_rows<Riders>(a, carry.y, shared, diagonal, floor, (level.index * horizon_of(args) + block) * block_size, verdict);
        if (k < task.chain.length) store_rows<Riders>(a, carry.y, args, task.member, block, verdict);
        multiply_rows(carry, a, shared);
        if (k + 1 != task.chain.length) continue;
        if (has_slots) leave_chain(carry, args, level, task);
        if (has_slots && Riders) leave_rhs(carry.y, args, level, task, columns);
        carry = {};
    }
    wait_copies<0>();
    leave_verdict(verdict, args, level, task);
    if (Riders) leave_quadratic(verdict.squares, args, level, task, columns);
}

/* ---- gpu/tridiagonal/team/sweep.cuh ---- */
/* Sweeps by teams: a lane has its row of L, R and G on the way forward, its column of each on the way back. */

constexpr int block_leading = padded + vector_width;

struct SweepShared {
    Task task;
    struct {
        alignas(16) real panel[panels][padded * block_leading]; /* column-major */
        RhsStage rhs;
    } stage[depth];
    alignas(16) real adjacent[2][riders * padded]; /* on the way back: the solutions of the next block and of that behind the chain */
};
static_assert(sizeof(SweepShared) == sweep_bytes(padded, riders, panels, has_slots, depth, sizeof(real)), "host and device disagree");
static_assert(pitch<SweepShared> * teams == SharedBytes::sweep, "host and device disagree");

/* The order of a sweep's fronts: the number-th of them, or none. */
template <bool Forward>
TRIFOLD_DEVICE trifold_int front_number(const Chain& chain, trifold_int number) {
    if (number >= chain.length) return -1;
    return Forward ? number : chain.length - 1 - number;
}

template <bool Forward>
TRIFOLD_DEVICE void fetch_factors(SweepShared& shared, const trifold_args& args, const trifold_level& level, const Task& task,
                                  trifold_int number, Columns columns) {
    const trifold_int k = front_number<Forward>(task.chain, number);
    if (k >= 0) {
        auto& to = shared.stage[number % depth];
        const trifold_int block = block_at(level, position_of(task.chain, k));
        constexpr int vectors = padded / vector_width;
#pragma unroll
        for (int p = 0; p < panels; ++p) {
            const real* from = p == 0   ? factor_of(args, task.member, block)
                               : p == 1 ? next_of(args, task.member, block)
                                        : behind_of(args, task.member, block);
#pragma unroll 2
            for (int e = team_lane(); e < vectors * padded; e += team)
                if (p > 0 || (e % vectors + 1) * vector_width > e / vectors) /* elements above L's diagonal are not read */
                    copy_async(to.panel[p] + e % vectors * vector_width + e / vectors * block_leading, from + e * vector_width);
        }
        if (Forward)
            fetch_running(to.rhs, args, level, task.member, block, columns);
        else
            fetch_columns(to.rhs.b, args.b, args.b_strides, task.member, block, columns);
    }
    end_copies();
}

/* This lane's row of every panel, or column. */
template <bool Forward>
TRIFOLD_DEVICE void load_lines(real (&a)[panels][padded], const SweepShared& shared, trifold_int number) {
    const int line = team_lane() < padded ? team_lane() : 0;
#pragma unroll
    for (int p = 0; p < panels; ++p) {
        const real* from = shared.stage[number % depth].panel[p] + (Forward ? line : line * block_leading);
#pragma unroll
        for (int k = 0; k < padded; ++k) a[p][k] = from[Forward ? k * block_leading : k];
    }
}

/* Substitution: y turns into the solution; on the way forward, -R y and -G y come with it. */
template <bool Forward>
TRIFOLD_DEVICE void substitute(const real (&a)[panels][padded], real (&y)[panels][riders]) {
    const int row = team_lane();
#pragma unroll
    for (int step = 0; step < padded; ++step) {
        const int j = Forward ? step : padded - 1 - step;
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            const real solved = value_of_lane(y[0][c] * a[0][j], j);
            const bool after = Forward ? row > j : row < j;
            y[0][c] = row == j ? solved : after ? y[0][c] - a[0][j] * solved : y[0][c];
            if (Forward) {
#pragma unroll
                for (int p = 1; p < panels; ++p) y[p][c] -= a[p][j] * solved;
            }
        }
    }
}

/* On the way back: b less R' x of the next block and G' x of that behind the chain. */
TRIFOLD_DEVICE void subtract_adjacent(const real (&a)[panels][padded], real (&y)[panels][riders], const SweepShared& shared) {
#pragma unroll
    for (int c = 0; c < riders; ++c)
#pragma unroll
        for (int p = 1; p < panels; ++p) {
            real sum[2] = {};
#pragma unroll
            for (int k = 0; k < padded; ++k) sum[k % 2] += a[p][k] * shared.adjacent[p - 1][c * padded + k];
            y[0][c] -= sum[0] + sum[1];
        }
}

/* Loads the solutions of the blocks at the chain's ends. */
TRIFOLD_DEVICE void load_adjacent(SweepShared& shared, const trifold_args& args, const trifold_level& level, const Task& task,
                                  Columns columns) {
    const int row = team_lane();
    if (row >= padded) return;
#pragma unroll
    for (int p = 0; p < panels - 1; ++p) {
        const trifold_int at = p == 0 ? task.chain.ahead : task.chain.behind;
        const bool exists = task.chain.length > 0 && at >= 0 && row < block_size;
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            real value = 0;
            if (exists && c < columns.count)
                value = static_cast<const real*>(args.x)[rhs_at(args.x_strides, task.member, block_at(level, at), row, columns.first + c)];
            shared.adjacent[p][c * padded + row] = value;
        }
    }
}

template <bool Forward>
TRIFOLD_DEVICE void store_solution(const real (&y)[riders], const trifold_args& args, trifold_int member, trifold_int block,
                                   Columns columns) {
    if (team_lane() >= block_size) return;
#pragma unroll
    for (int c = 0; c < riders; ++c) {
        if (c >= columns.count) continue;
        static_cast<real*>(args.x)[rhs_at(args.x_strides, member, block, team_lane(), columns.first + c)] = y[c];
        if (!Forward) watch(args, member, Result::solution, y[c]);
    }
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_columns(SweepShared& shared, const trifold_args& args, const trifold_level& level, Columns columns) {
    const Task& task = shared.task;
    const int row = team_lane();
    double squares[riders] = {};
#pragma unroll
    for (int number = 0; number < depth; ++number) fetch_factors<Forward>(shared, args, level, task, number, columns);
    if (Forward && has_slots) gather_quadratic(squares, args, level, task, columns);
    if (!Forward) load_adjacent(shared, args, level, task, columns);
    real y[panels][riders] = {};
#pragma unroll 1
    for (trifold_int number = 0; number < task.steps; ++number) {
        const trifold_int k = front_number<Forward>(task.chain, number);
        const trifold_int block = block_at(level, position_of(task.chain, k));
        wait_copies<depth - 1>();
        warp_sync();
        real a[panels][padded];
        load_lines<Forward>(a, shared, number);
        const RhsStage& rhs = shared.stage[number % depth].rhs;
#pragma unroll
        for (int c = 0; c < riders; ++c) {
            const int at = c * padded + (row < padded ? row : 0);
            y[0][c] = Forward ? y[1][c] + running_value(args, rhs, level, block, at) : rhs.b[at];
            y[1][c] = 0;
        }
        if (!Forward) subtract_adjacent(a, y, shared);
        warp_sync();
        fetch_factors<Forward>(shared, args, level, task, number + depth, columns);
        substitute<Forward>(a, y);
        if (!Forward && row < padded) {
#pragma unroll
            for (int c = 0; c < riders; ++c) shared.adjacent[0][c * padded + row] = y[0][c];
        }
        if (k < 0) continue;
        store_solution<Forward>(y[0], args, task.member, block, columns);
        if (Forward && row < block_size) {
#pragma unroll
            for (int c = 0; c < riders; ++c) squares[c] += square_of(y[0][c]);
        }
        if (Forward && has_slots && k + 1 == task.chain.length) leave_rhs(y, args, level, task, columns);
    }
    wait_copies<0>();
    warp_sync();
    if (Forward) leave_quadratic(squares, args, level, task, columns);
}

template <bool Forward>
TRIFOLD_DEVICE void sweep_chain(SweepShared& shared, const trifold_args& args, const trifold_level& level) {
    if (!Forward && begins_descent(level) && shared.task.chain.length > 0 && team_lane() == 0)
        begin_result(args, shared.task.member, Result::solution);
#pragma unroll 1
    for (int first = 0; first < args.columns; first += riders)
        sweep_columns<Forward>(shared, args, level, columns_from(args, first, riders));
}

/* ---- gpu/tridiagonal/team/entry.cuh ---- */
/* The kernels of teams. Grid: groups of chains by groups of members. */

#ifdef TRIFOLD_KERNEL_FACTOR
TRIFOLD_KERNEL(threads, Blocks::factor)
void TRIFOLD_KERNEL_FACTOR(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<FactorShared>(args, level, [&](FactorShared& shared) { factor_chain<false>(shared, args, level); });
}
#endif

#ifdef TRIFOLD_KERNEL_FACTOR_FORWARD
TRIFOLD_KERNEL(threads, Blocks::factor_forward)
void TRIFOLD_KERNEL_FACTOR_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<FactorShared>(args, level, [&](FactorShared& shared) { factor_chain<true>(shared, args, level); });
}
#endif

#ifdef TRIFOLD_KERNEL_FORWARD
TRIFOLD_KERNEL(threads, Blocks::sweep)
void TRIFOLD_KERNEL_FORWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<SweepShared>(args, level, [&](SweepShared& shared) { sweep_chain<true>(shared, args, level); });
}
#endif

#ifdef TRIFOLD_KERNEL_BACKWARD
TRIFOLD_KERNEL(threads, Blocks::sweep)
void TRIFOLD_KERNEL_BACKWARD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_level level) {
    each_chain<SweepShared>(args, level, [&](SweepShared& shared) { sweep_chain<false>(shared, args, level); });
}
#endif

