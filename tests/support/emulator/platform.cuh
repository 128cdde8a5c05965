/* The names of templates/gpu/platform_cuda.cuh, for CUDA: assembly cannot be emulated. */
#define TRIFOLD_PLATFORM
#define TRIFOLD_DEVICE static inline
#define TRIFOLD_FUNCTION static
#define TRIFOLD_PARAMETER const
#define TRIFOLD_METHOD inline
#define TRIFOLD_SIZE static constexpr __attribute__((unused))
#define TRIFOLD_CONSTANT static const
#define TRIFOLD_KERNEL(threads, blocks) extern "C" __attribute__((visibility("default")))
#include <math.h>

#include "emulator.h"
#include "machine.cuh"

constexpr int warp_lanes = TRIFOLD_WAVE;
TRIFOLD_MACHINE unsigned long long multiply_high(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
TRIFOLD_MACHINE int thread_index() { return emulator->thread; }
TRIFOLD_MACHINE void assume_thread() {}
TRIFOLD_MACHINE int thread_afresh() { return thread_index(); }
TRIFOLD_MACHINE int thread_opaque() { return thread_index(); }
TRIFOLD_MACHINE trifold_int group_x() { return emulator->group[0]; }
TRIFOLD_MACHINE trifold_int group_y() { return emulator->group[1]; }
TRIFOLD_MACHINE void block_sync() { emulator->barrier(0, TRIFOLD_HERE); }
TRIFOLD_MACHINE void warp_sync() { emulator->barrier(1, TRIFOLD_HERE); }
TRIFOLD_MACHINE void cluster_sync() { emulator->barrier(2, TRIFOLD_HERE); }
TRIFOLD_MACHINE void named_sync(unsigned&, int id, int count) { emulator->named(id, count, 1, TRIFOLD_HERE); }
TRIFOLD_MACHINE void named_arrive(unsigned&, int id, int count) { emulator->named(id, count, 0, TRIFOLD_HERE); }
TRIFOLD_MACHINE void* shared_memory() { return emulator->shared; }

template <class T>
TRIFOLD_DEVICE T* global_pointer(T* p) {
    return p;
}
template <class T>
TRIFOLD_DEVICE T* kept_pointer(T* p) {
    return p;
}
TRIFOLD_DEVICE int kept_number(int x) { return x; }

template <class T>
TRIFOLD_MACHINE T shuffle(T value, int lane) {
    return static_cast<const T*>(emulator->exchange(&value, sizeof value, TRIFOLD_HERE))[lane];
}
template <class T>
TRIFOLD_MACHINE T shuffle_xor(T value, int mask) {
    return static_cast<const T*>(emulator->exchange(&value, sizeof value, TRIFOLD_HERE))[emulator->thread % warp_lanes ^ mask];
}

TRIFOLD_MACHINE unsigned warp_greatest(unsigned number) {
    const auto* all = static_cast<const unsigned*>(emulator->exchange(&number, sizeof number, TRIFOLD_HERE));
    for (int k = 0; k < warp_lanes; ++k)
        if (all[k] > number) number = all[k];
    return number;
}

template <class T>
TRIFOLD_MACHINE T claim(T* counter) {
    return static_cast<T>(emulator->claim(counter, sizeof *counter, 0, TRIFOLD_HERE));
}
template <class T>
TRIFOLD_MACHINE T claim_release(T* counter) {
    return static_cast<T>(emulator->claim(counter, sizeof *counter, 1, TRIFOLD_HERE));
}
template <class T>
TRIFOLD_MACHINE void store_release(T* flag, T value) {
    emulator->store_release(flag, &value, sizeof value, TRIFOLD_HERE);
}
template <class T>
TRIFOLD_MACHINE T load_acquire(const T* flag) {
    T value;
    emulator->load_acquire(flag, &value, sizeof value, TRIFOLD_HERE);
    return value;
}
TRIFOLD_DEVICE void fence_device() {} /* goes with relaxed stores, which race with nothing of their kind */
typedef unsigned long long trifold_word;
template <int Count>
TRIFOLD_MACHINE void store_words(trifold_word* to, const trifold_word (&words)[Count]) {
    if (reinterpret_cast<unsigned long long>(to) % sizeof words != 0) emulator->fail("an address that is no multiple of 16", TRIFOLD_HERE);
    for (int k = 0; k < Count; ++k) emulator->store_relaxed(to + k, &words[k], sizeof words[k], TRIFOLD_HERE);
}
template <int Count>
TRIFOLD_MACHINE void load_words(trifold_word (&words)[Count], const trifold_word* from) {
    if (reinterpret_cast<unsigned long long>(from) % sizeof words != 0)
        emulator->fail("an address that is no multiple of 16", TRIFOLD_HERE);
    for (int k = 0; k < Count; ++k) emulator->load_relaxed(from + k, &words[k], sizeof words[k], TRIFOLD_HERE);
}
template <class T>
TRIFOLD_MACHINE void store_word(T* to, T word) {
    emulator->store_relaxed(to, &word, sizeof word, TRIFOLD_HERE);
}
template <class T>
TRIFOLD_MACHINE T load_word(const T* from) {
    T word;
    emulator->load_relaxed(from, &word, sizeof word, TRIFOLD_HERE);
    return word;
}
template <class To, class From>
TRIFOLD_DEVICE void copy_bits(To& to, const From& from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    __builtin_memcpy(&to, &from, sizeof(To));
}
TRIFOLD_MACHINE void start_dependents() {}
/* The driver that stands in gives the address of a condition as its handle. */
TRIFOLD_MACHINE void set_condition(unsigned long long handle, bool again) { *reinterpret_cast<bool*>(handle) = again; }
TRIFOLD_MACHINE void wait_for_launches() { emulator->wait_for_launches(); }
TRIFOLD_MACHINE void spin() { emulator->spin(TRIFOLD_HERE); }

/* Inlined, so that the kernel's line is known. */
#define TRIFOLD_VECTOR static inline __attribute__((always_inline))
TRIFOLD_MACHINE void check_aligned(const void* p, unsigned bytes = 16) {
    if (reinterpret_cast<unsigned long long>(p) % bytes != 0)
        emulator->fail(bytes == 16 ? "an address that is no multiple of 16" : "an address that is no multiple of 8", TRIFOLD_HERE);
}
template <class T, int Size>
TRIFOLD_VECTOR void load_vector(T (&to)[Size], const T* from) {
    check_aligned(from);
    for (int k = 0; k < Size; ++k) to[k] = from[k];
}
template <class T, int Size>
TRIFOLD_VECTOR void store_vector(T* to, const T (&from)[Size]) {
    check_aligned(to);
    for (int k = 0; k < Size; ++k) to[k] = from[k];
}
template <class T, int Size>
TRIFOLD_VECTOR void store_global(T* to, const T (&from)[Size]) {
    store_vector(to, from);
}
TRIFOLD_VECTOR void store_pair(float* to, const unsigned (&from)[2]) {
    check_aligned(to, 8);
    for (int k = 0; k < 2; ++k) copy_bits(to[k], from[k]);
}

TRIFOLD_MACHINE void start_copy(void* to, const void* from) { emulator->copy(to, from, 16, TRIFOLD_HERE); }
TRIFOLD_VECTOR void copy_async(void* to, const void* from) {
    check_aligned(to), check_aligned(from);
    start_copy(to, from);
}
template <class T>
TRIFOLD_MACHINE void copy_element_async(T* to, const T* from) {
    emulator->copy(to, from, sizeof(T), TRIFOLD_HERE);
}
TRIFOLD_DEVICE void prefetch(const void*) {}
TRIFOLD_MACHINE void end_copies() { emulator->end_copies(); }
template <int Pending>
TRIFOLD_MACHINE void wait_copies() {
    emulator->wait_copies(Pending);
}

/* A gate counts arrivals, and bytes copied less those announced. A copy lands at once: who does not wait for its gate races with it. */
#if defined(TRIFOLD_ARCH) && TRIFOLD_ARCH < 90
[[maybe_unused]] constexpr bool has_bulk_copies = false;
#else
[[maybe_unused]] constexpr bool has_bulk_copies = true;
#endif
struct alignas(8) trifold_gate {
    unsigned count, arrivals : 7;
    int bytes : 25;
};
TRIFOLD_MACHINE void make_gate(trifold_gate* gate, int arrivals) { *gate = {0, static_cast<unsigned>(arrivals), 0}; }
TRIFOLD_MACHINE void gate_arrive(trifold_gate* gate) { emulator->claim(&gate->count, sizeof gate->count, 1, TRIFOLD_HERE); }
TRIFOLD_MACHINE void gate_arrive_with(trifold_gate* gate, int bytes) {
    gate->bytes -= bytes;
    emulator->claim(&gate->count, sizeof gate->count, 1, TRIFOLD_HERE);
}
TRIFOLD_MACHINE void gate_wait(trifold_gate* gate, unsigned turn) {
    for (unsigned count = 0;;) {
        emulator->load_acquire(&gate->count, &count, sizeof count, TRIFOLD_HERE);
        if (count >= gate->arrivals * (turn + 2)) emulator->fail("a gate has opened again before this wait for it", TRIFOLD_HERE);
        if (gate->bytes == 0 && count >= gate->arrivals * (turn + 1)) return;
    }
}
TRIFOLD_MACHINE void copy_range(void* to, const void* from, int bytes, trifold_gate* gate) {
    check_aligned(to), check_aligned(from);
    if (bytes % 16 != 0) emulator->fail("a range of a size that is no multiple of 16", TRIFOLD_HERE);
    if (emulator->access != nullptr) emulator->access(from, bytes, 0, TRIFOLD_HERE), emulator->access(to, bytes, 1, TRIFOLD_HERE);
    __builtin_memcpy(to, from, static_cast<unsigned long>(bytes));
    gate->bytes += bytes;
}
TRIFOLD_DEVICE void fence_device_copies() {}
TRIFOLD_DEVICE void fence_shared_copies() {}

/* Approximations are as inaccurate as the hardware's, to which subnormal numbers are zero. */
TRIFOLD_DEVICE double approximate_rsqrt(double d) { return fabs(d) < 0x1p-1022 ? INFINITY : 1 / sqrt(d) * (1 + 1e-7); }
TRIFOLD_DEVICE float approximate_rsqrt(float d) { return fabsf(d) < 0x1p-126f ? INFINITY : 1 / sqrtf(d) * (1 + 1e-7f); }
TRIFOLD_DEVICE double approximate_reciprocal(double d) { return fabs(d) < 0x1p-1022 ? INFINITY : 1 / d * (1 + 1e-6); }
TRIFOLD_DEVICE float approximate_reciprocal(float d) { return fabsf(d) < 0x1p-126f ? INFINITY : 1 / d * (1 + 1e-6f); }
TRIFOLD_DEVICE double not_a_number() { return NAN; }
TRIFOLD_DEVICE double infinity() { return INFINITY; }
TRIFOLD_DEVICE double natural_log(double d) { return log(d); }

/* m16n8k8 and m16n8k16, or two of m8n8k4: lane l holds elements k = 4 i + l % 4 of lines l / 4 and l / 4 + 8. */
template <class T, int Quads>
struct TensorOperands {
    T columns[2][Quads], rows[Quads];
};
template <int Quads, class T>
TRIFOLD_MACHINE void tensor_multiply(T (&c0)[2], T (&c1)[2], const T (&columns)[2][Quads], const T (&rows)[Quads]) {
    TensorOperands<T, Quads> mine;
    __builtin_memcpy(mine.columns, columns, sizeof columns);
    __builtin_memcpy(mine.rows, rows, sizeof rows);
    const auto* all = static_cast<const TensorOperands<T, Quads>*>(emulator->exchange(&mine, sizeof mine, TRIFOLD_HERE));
    const int lane = thread_index() % warp_lanes;
    for (int i = 0; i < Quads; ++i)
        for (int t = 0; t < 4; ++t)
            for (int v = 0; v < 2; ++v) {
                const T row = all[(lane % 4 * 2 + v) * 4 + t].rows[i];
                c0[v] += all[lane / 4 * 4 + t].columns[0][i] * row;
                c1[v] += all[lane / 4 * 4 + t].columns[1][i] * row;
            }
}

/* Halves, by arithmetic: eleven digits, at most 65504, and below 2^-14 multiples of 2^-24. */
TRIFOLD_DEVICE unsigned half_bits(float x) {
    const unsigned sign = __builtin_signbit(x) ? 0x8000u : 0u;
    const float size = fabsf(x);
    if (!(size < INFINITY)) return sign | (size > 0 ? 0x7c00u : 0x7e00u);
    int exponent = 0;
    frexpf(size, &exponent);
    if (size == 0 || exponent < -13) exponent = -13;
    const auto digits = static_cast<unsigned>(nearbyintf(ldexpf(size, 11 - exponent)));
    const unsigned bits = digits + (static_cast<unsigned>(exponent + 13) << 10); /* the first digit counts in the exponent */
    return sign | (bits < 0x7c00u ? bits : 0x7c00u);
}
TRIFOLD_DEVICE unsigned pack_halves(float low, float high) { return half_bits(low) | half_bits(high) << 16; }
TRIFOLD_DEVICE float half_of(unsigned word, bool high) {
    const unsigned bits = high ? word >> 16 : word & 0xffffu, exponent = bits >> 10 & 31, digits = bits & 0x3ff;
    const float size = exponent == 31 ? (digits != 0 ? NAN : INFINITY)
                                      : ldexpf(static_cast<float>(digits + (exponent > 0 ? 1024 : 0)),
                                               (exponent > 0 ? static_cast<int>(exponent) : 1) - 25);
    return (bits & 0x8000u) != 0 ? -size : size;
}
/* Four matrices of 8 by 8 halves: eight lanes name the rows of each. */
struct MatrixRows {
    const unsigned* of[4];
};
TRIFOLD_MACHINE MatrixRows rows_of_lane(const void* row) {
    const auto* all = static_cast<const unsigned* const*>(emulator->exchange(&row, sizeof row, TRIFOLD_HERE));
    const int line = thread_index() % warp_lanes / 4;
    return {{all[line], all[8 + line], all[16 + line], all[24 + line]}};
}
TRIFOLD_VECTOR void load_matrices(unsigned (&words)[4], const void* row) {
    check_aligned(row);
    const MatrixRows rows = rows_of_lane(row);
    for (int m = 0; m < 4; ++m) words[m] = rows.of[m][thread_index() % 4];
}
struct HalfOperands {
    unsigned columns[4], rows[2];
};
TRIFOLD_MACHINE void tensor_multiply(float (&c)[4], const unsigned (&columns)[4], const unsigned (&rows)[2]) {
    HalfOperands mine;
    __builtin_memcpy(mine.columns, columns, sizeof columns);
    __builtin_memcpy(mine.rows, rows, sizeof rows);
    const auto* all = static_cast<const HalfOperands*>(emulator->exchange(&mine, sizeof mine, TRIFOLD_HERE));
    const int lane = thread_index() % warp_lanes;
    for (int t = 0; t < 4; ++t)
        for (int k = 0; k < 4; ++k)
            for (int r = 0; r < 4; ++r) {
                const unsigned column = all[lane / 4 * 4 + t].columns[k / 2 * 2 + r / 2],
                               row = all[(lane % 4 * 2 + r % 2) * 4 + t].rows[k / 2];
                c[r] += half_of(column, k % 2 == 1) * half_of(row, k % 2 == 1);
            }
}

constexpr int tensor_rows = 8, tensor_columns = 2, tensor_vectors = 1;
[[maybe_unused]] constexpr bool results_are_operands = true;
TRIFOLD_MACHINE int tensor_depth(int thread = thread_index()) { return thread % 4; }
TRIFOLD_MACHINE int tensor_row(int thread = thread_index()) { return thread % warp_lanes / 4; }
TRIFOLD_MACHINE int tensor_column(int thread = thread_index()) { return thread % warp_lanes / 4; }
TRIFOLD_MACHINE int result_row(int, int thread = thread_index()) { return thread % 4 * 2; }
template <int Quads, class T>
TRIFOLD_VECTOR void tensor_multiply(T (&c)[tensor_columns][tensor_vectors][2], const T (&columns)[tensor_columns][Quads],
                                    const T (&rows)[Quads]) {
    tensor_multiply<Quads>(c[0][0], c[1][0], columns, rows);
}
