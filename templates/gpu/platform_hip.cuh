/* HIP's version of the functions of platform_cuda.cuh. They use the compiler's own builtins, so that hiprtc and Clang need no header. AMD
 * calls a warp a wave. */
#include "integer.h"

#ifndef TRIFOLD_PLATFORM
#define TRIFOLD_PLATFORM
#define TRIFOLD_DEVICE static inline __attribute__((device, always_inline, unused))
/* Inlined: a call would cost registers for all that the called function might need. */
#define TRIFOLD_FUNCTION TRIFOLD_DEVICE
#define TRIFOLD_PARAMETER const
#define TRIFOLD_METHOD inline __attribute__((device, always_inline))
/* A size that the generator computes by the same text. */
#define TRIFOLD_SIZE static constexpr __attribute__((unused))
#define TRIFOLD_CONSTANT static __attribute__((constant, unused)) const
/* The compiler finds by itself how many thread blocks fit; the number of threads is exact. */
#define TRIFOLD_KERNEL(threads, blocks) extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads)))

constexpr int warp_lanes = TRIFOLD_WAVE;

/* The upper half of a product. */
TRIFOLD_DEVICE unsigned long long multiply_high(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
TRIFOLD_DEVICE int thread_index() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
TRIFOLD_DEVICE void assume_thread() {} /* the compiler knows that it is not negative */
/* The thread's index, read again. Compilers keep numbers that follow from an index in registers, but those that follow from this one they
 * compute again at the next use. That frees registers. */
TRIFOLD_DEVICE int thread_afresh() {
    int thread = thread_index();
    asm volatile("" : "+v"(thread));
    __builtin_assume(thread >= 0);
    return thread;
}
TRIFOLD_DEVICE int thread_opaque() { return thread_index(); } /* CUDA's version saves registers, which are not short here */
TRIFOLD_DEVICE trifold_int group_x() { return __builtin_amdgcn_workgroup_id_x(); }
TRIFOLD_DEVICE trifold_int group_y() { return __builtin_amdgcn_workgroup_id_y(); }
TRIFOLD_DEVICE void block_sync() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
/* A wave's instructions are in step; the compiler must not reorder them. */
TRIFOLD_DEVICE void warp_sync() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

extern __attribute__((shared, aligned(16))) char trifold_shared[];
TRIFOLD_DEVICE void* shared_memory() { return trifold_shared; }

/* Through the address space of device memory, so that loads need not find out where the pointer points. */
template <class T>
TRIFOLD_DEVICE T* global_pointer(T* p) {
    return (T*)(__attribute__((address_space(1))) T*)p;
}
/* Hints that only CUDA's compiler needs. */
template <class T>
TRIFOLD_DEVICE T* kept_pointer(T* p) {
    return global_pointer(p);
}
TRIFOLD_DEVICE int kept_number(int x) { return x; }

template <class T>
TRIFOLD_DEVICE T shuffle(T value, int lane) {
    int words[sizeof(T) / 4];
    __builtin_memcpy(words, &value, sizeof value);
#pragma unroll
    for (unsigned k = 0; k < sizeof(T) / 4; ++k) words[k] = __builtin_amdgcn_ds_bpermute(lane * 4, words[k]);
    __builtin_memcpy(&value, words, sizeof value);
    return value;
}
template <class T>
TRIFOLD_DEVICE T shuffle_xor(T value, int mask) {
    return shuffle(value, (thread_index() % warp_lanes) ^ mask);
}

/* The greatest of all lanes' numbers. */
TRIFOLD_DEVICE unsigned warp_greatest(unsigned number) {
#pragma unroll
    for (int apart = warp_lanes / 2; apart > 0; apart /= 2) {
        const unsigned other = shuffle_xor(number, apart);
        number = other > number ? other : number;
    }
    return number;
}

/* Communication between thread blocks: claim() adds one and returns the old number; store_release() publishes all earlier writes with a
 * flag; load_acquire() reads such a flag; claim_release() claims and publishes. */
TRIFOLD_DEVICE trifold_int claim(trifold_int* counter) {
    return __hip_atomic_fetch_add(counter, trifold_int(1), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
TRIFOLD_DEVICE trifold_int claim_release(trifold_int* counter) {
    return __hip_atomic_fetch_add(counter, trifold_int(1), __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
TRIFOLD_DEVICE void store_release(trifold_int* flag, trifold_int value) {
    __hip_atomic_store(flag, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
TRIFOLD_DEVICE trifold_int load_acquire(const trifold_int* flag) {
    return __hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
/* A fence: the whole device sees the thread's stores before anything that it does next. */
TRIFOLD_DEVICE void fence_device() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }
/* Words between thread blocks: one of 8 bytes is never torn, and orders nothing but itself. */
typedef unsigned long long trifold_word;
template <int Count>
TRIFOLD_DEVICE void store_words(trifold_word* to, const trifold_word (&words)[Count]) {
#pragma unroll
    for (int k = 0; k < Count; ++k) __hip_atomic_store(to + k, words[k], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <int Count>
TRIFOLD_DEVICE void load_words(trifold_word (&words)[Count], const trifold_word* from) {
#pragma unroll
    for (int k = 0; k < Count; ++k) words[k] = __hip_atomic_load(from + k, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
/* One of as many bytes as a number has. */
template <class T>
TRIFOLD_DEVICE void store_word(T* to, T word) {
    __hip_atomic_store(to, word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
TRIFOLD_DEVICE T load_word(const T* from) {
    return __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
/* Copies the bits of a value to one of another type. */
template <class To, class From>
TRIFOLD_DEVICE void copy_bits(To& to, const From& from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    __builtin_memcpy(&to, &from, sizeof(To));
}
/* Launches that may begin as soon as all thread blocks of this one have come here: there are none. */
TRIFOLD_DEVICE void start_dependents() {}
TRIFOLD_DEVICE void wait_for_launches() {}
/* The pause of a thread between two reads of a flag or word: it lets others have the pipeline. */
TRIFOLD_DEVICE void spin() { __builtin_amdgcn_s_sleep(1); }

/* Barriers of some of the block's waves: `word` counts the waves that have come since the kernel began, so the barrier that a wave
 * has come to is complete at the next multiple of the waves it takes. All waves of a block are resident, so that waiting ends. */
TRIFOLD_DEVICE unsigned arrive_at(unsigned& word) {
    unsigned before = 0;
    warp_sync();
    if (thread_index() % warp_lanes == 0) before = __hip_atomic_fetch_add(&word, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    return before;
}
TRIFOLD_DEVICE void named_arrive(unsigned& word, int, int) { arrive_at(word); }
TRIFOLD_DEVICE void named_sync(unsigned& word, int, int count) {
    const unsigned waves = static_cast<unsigned>(count) / warp_lanes, complete = (shuffle(arrive_at(word), 0) / waves + 1) * waves;
    while (static_cast<int>(__hip_atomic_load(&word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) - complete) < 0) spin();
    warp_sync();
}

/* Plain copies: there before the function returns. */
typedef unsigned trifold_quad __attribute__((ext_vector_type(4)));
TRIFOLD_DEVICE void copy_async(void* to, const void* from) { *static_cast<trifold_quad*>(to) = *static_cast<const trifold_quad*>(from); }
template <class T>
TRIFOLD_DEVICE void copy_element_async(T* to, const T* from) {
    *to = *from;
}
TRIFOLD_DEVICE void end_copies() {}
template <int Pending>
TRIFOLD_DEVICE void wait_copies() {}

/* No copies of ranges, and no gates for them. */
typedef unsigned long long trifold_gate;
[[maybe_unused]] constexpr bool has_bulk_copies = false;
TRIFOLD_DEVICE void make_gate(trifold_gate*, int) {}
TRIFOLD_DEVICE void gate_arrive(trifold_gate*) {}
TRIFOLD_DEVICE void gate_arrive_with(trifold_gate*, int) {}
TRIFOLD_DEVICE void gate_wait(trifold_gate*, unsigned) {}
TRIFOLD_DEVICE void copy_range(void*, const void*, int, trifold_gate*) {}
TRIFOLD_DEVICE void fence_device_copies() {}
TRIFOLD_DEVICE void fence_shared_copies() {}

/* Most architectures have no such instruction. */
TRIFOLD_DEVICE void prefetch(const void*) {}

/* There are no clusters: a block is one of its own. */
TRIFOLD_DEVICE void cluster_sync() { block_sync(); }

/* 16 bytes at once; the address must be a multiple of 16. */
typedef double trifold_double2 __attribute__((ext_vector_type(2)));
typedef float trifold_float4 __attribute__((ext_vector_type(4)));
TRIFOLD_DEVICE void load_vector(double (&to)[2], const double* from) {
    const trifold_double2 v = *reinterpret_cast<const trifold_double2*>(from);
    to[0] = v.x, to[1] = v.y;
}
TRIFOLD_DEVICE void load_vector(float (&to)[4], const float* from) {
    const trifold_float4 v = *reinterpret_cast<const trifold_float4*>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
TRIFOLD_DEVICE void store_vector(double* to, const double (&from)[2]) {
    *reinterpret_cast<trifold_double2*>(to) = trifold_double2{from[0], from[1]};
}
TRIFOLD_DEVICE void store_vector(float* to, const float (&from)[4]) {
    *reinterpret_cast<trifold_float4*>(to) = trifold_float4{from[0], from[1], from[2], from[3]};
}
template <class T, int Count>
TRIFOLD_DEVICE void store_global(T* to, const T (&from)[Count]) {
    store_vector(to, from);
}

/* c += A B' for 16 rows of A and of B, 4 Quads columns each, by v_mfma_f64_16x16x4f64. A lane gives the instruction one number of
 * each, of line lane % 16 and column lane / 16, and gets lines lane / 16 + 4 i of column lane % 16. Line i of A is row
 * 4 (i % 4) + i / 4 here, so that a lane's results are neighbours in memory. */
constexpr int tensor_rows = 16, tensor_columns = 1, tensor_vectors = 2;
[[maybe_unused]] constexpr bool results_are_operands = false;
TRIFOLD_DEVICE int tensor_depth(int thread = thread_index()) { return thread % warp_lanes / 16; }
TRIFOLD_DEVICE int tensor_row(int thread = thread_index()) { return thread % 4 * 4 + thread % 16 / 4; }
TRIFOLD_DEVICE int tensor_column(int thread = thread_index()) { return thread % 16; }
TRIFOLD_DEVICE int result_row(int v, int thread = thread_index()) { return thread % warp_lanes / 16 * 4 + v * 2; }
template <int Quads>
TRIFOLD_DEVICE void tensor_multiply(double (&c)[tensor_columns][tensor_vectors][2], const double (&columns)[tensor_columns][Quads],
                                    const double (&rows)[Quads]) {
#if TRIFOLD_TENSOR
    typedef double trifold_double4 __attribute__((ext_vector_type(4)));
    trifold_double4 sum{c[0][0][0], c[0][0][1], c[0][1][0], c[0][1][1]};
#pragma unroll
    for (int i = 0; i < Quads; ++i) sum = __builtin_amdgcn_mfma_f64_16x16x4f64(rows[i], columns[0][i], sum, 0, 0, 0);
    c[0][0][0] = sum.x, c[0][0][1] = sum.y, c[0][1][0] = sum.z, c[0][1][1] = sum.w;
#endif
}

/* 1 / sqrt(d), for normal d; about 23 correct bits before correction. */
TRIFOLD_DEVICE double approximate_rsqrt(double d) { return __builtin_amdgcn_rsq(d); }
TRIFOLD_DEVICE float approximate_rsqrt(float d) { return __builtin_amdgcn_rsqf(d); }
/* 1 / d for normal d, to 20 bits or so. */
TRIFOLD_DEVICE double approximate_reciprocal(double d) { return __builtin_amdgcn_rcp(d); }
TRIFOLD_DEVICE float approximate_reciprocal(float d) { return __builtin_amdgcn_rcpf(d); }
TRIFOLD_DEVICE double not_a_number() { return __builtin_nan(""); }
TRIFOLD_DEVICE double infinity() { return __builtin_huge_val(); }
/* There is no library to call where Clang compiles alone. With d = 2^e m, m in [sqrt(1/2), sqrt(2)), and s = (m - 1) / (m + 1),
 * log m = 2 s (1 + s^2 / 3 + s^4 / 5 + ...); ln 2 in two parts, the first of which e times is exact. */
TRIFOLD_DEVICE double natural_log(double d) {
    double m = __builtin_amdgcn_frexp_mant(d);
    int e = __builtin_amdgcn_frexp_exp(d);
    if (m < 0.70710678118654752) m *= 2, --e;
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 0;
#pragma unroll
    for (int k = 23; k >= 3; k -= 2) sum = sum * z + 1.0 / k;
    return e * 0x1.62e42fefa38p-1 + (2 * s + (2 * s * (z * sum) + e * 0x1.ef35793c7673p-45));
}

#endif
