#define TRIFOLD_PLATFORM
#define TRIFOLD_DEVICE static inline
#define TRIFOLD_FUNCTION static
#define TRIFOLD_PARAMETER const
#define TRIFOLD_METHOD inline
#define TRIFOLD_KERNEL(threads, blocks) extern "C" __attribute__((visibility("default")))
#include <math.h>

struct Emulator {
    int thread;
    long long group[2];
    void* shared;
    void (*barrier)(int kind);
    void (*exchange)(const void* send, void* all, int bytes);
};
extern "C" __attribute__((visibility("default"))) Emulator* emulator;
Emulator* emulator;

constexpr int warp_lanes = 32;
TRIFOLD_DEVICE int thread_index() { return emulator->thread; }
TRIFOLD_DEVICE trifold_int group_x() { return emulator->group[0]; }
TRIFOLD_DEVICE trifold_int group_y() { return emulator->group[1]; }
TRIFOLD_DEVICE void block_sync() { emulator->barrier(0); }
TRIFOLD_DEVICE void warp_sync() { emulator->barrier(1); }
TRIFOLD_DEVICE void* shared_memory() { return emulator->shared; }

template <class T>
TRIFOLD_DEVICE T* global_pointer(T* p) {
    return p;
}

template <class T>
TRIFOLD_DEVICE T shuffle_xor(T value, int mask) {
    T all[warp_lanes];
    emulator->exchange(&value, all, sizeof value);
    return all[(thread_index() % warp_lanes) ^ mask];
}

template <class T>
TRIFOLD_DEVICE T shuffle(T value, int lane) {
    T all[warp_lanes];
    emulator->exchange(&value, all, sizeof value);
    return all[lane];
}

/* Thread blocks run one after another in the order of their claims, so what one waits for has come, or never will. */
TRIFOLD_DEVICE trifold_int claim(trifold_int* counter) { return (*counter)++; }
TRIFOLD_DEVICE void store_release(trifold_int* flag, trifold_int value) { *flag = value; }
TRIFOLD_DEVICE trifold_int load_acquire(const trifold_int* flag) { return *flag; }
TRIFOLD_DEVICE void spin() { __builtin_trap(); }
TRIFOLD_DEVICE void cluster_sync() { block_sync(); }

TRIFOLD_DEVICE void check_aligned(const void* p) {
    if (reinterpret_cast<unsigned long long>(p) % 16 != 0) __builtin_trap();
}
template <class T, int Size>
TRIFOLD_DEVICE void load_vector(T (&to)[Size], const T* from) {
    check_aligned(from);
    for (int k = 0; k < Size; ++k) to[k] = from[k];
}
template <class T, int Size>
TRIFOLD_DEVICE void store_vector(T* to, const T (&from)[Size]) {
    check_aligned(to);
    for (int k = 0; k < Size; ++k) to[k] = from[k];
}

TRIFOLD_DEVICE void copy_async(void* to, const void* from) {
    check_aligned(to), check_aligned(from);
    __builtin_memcpy(to, from, 16);
}
TRIFOLD_DEVICE void end_copies() {}
template <int Pending>
TRIFOLD_DEVICE void wait_copies() {}

/* As inaccurate as the hardware's. */
TRIFOLD_DEVICE double approximate_rsqrt(double d) { return 1 / sqrt(d) * (1 + 1e-7); }
TRIFOLD_DEVICE float approximate_rsqrt(float d) { return 1 / sqrtf(d) * (1 + 1e-7f); }
TRIFOLD_DEVICE double not_a_number() { return NAN; }
TRIFOLD_DEVICE double infinity() { return INFINITY; }
TRIFOLD_DEVICE double natural_log(double d) { return log(d); }

template <int Quads>
struct TensorOperands {
    double columns[2][Quads], rows[Quads];
};
template <int Quads>
TRIFOLD_DEVICE void tensor_multiply(double (&c0)[2], double (&c1)[2], const double (&columns)[2][Quads], const double (&rows)[Quads]) {
    TensorOperands<Quads> mine, all[warp_lanes];
    __builtin_memcpy(mine.columns, columns, sizeof columns);
    __builtin_memcpy(mine.rows, rows, sizeof rows);
    emulator->exchange(&mine, all, sizeof mine);
    const int lane = thread_index() % warp_lanes;
    for (int i = 0; i < Quads; ++i)
        for (int t = 0; t < 4; ++t)
            for (int v = 0; v < 2; ++v) {
                const double row = all[(lane % 4 * 2 + v) * 4 + t].rows[i];
                c0[v] += all[lane / 4 * 4 + t].columns[0][i] * row;
                c1[v] += all[lane / 4 * 4 + t].columns[1][i] * row;
            }
}

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
