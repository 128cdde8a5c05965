/* All that CUDA spells in its own way. platform_hip.cuh and the emulator of the tests supply the same names, and a unit has one of the
 * three. Other device code uses nothing of a toolkit. */
#include "integer.h"

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

/* Starts a copy of 16 bytes from device to shared memory. They are there for this thread after it has ended a group of copies and
 * waited until at most `Pending` later groups are under way; for others after a barrier. */
TRIFOLD_DEVICE void copy_async(void* to, const void* from) {
#if TRIFOLD_ARCH >= 80
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from)
                 : "memory");
#else
    *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
#endif
}
/* Starts a copy of one element of 4 or 8 bytes, as copy_async does of 16 bytes. */
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
