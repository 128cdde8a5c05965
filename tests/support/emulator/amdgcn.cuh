/* The builtins of the compiler that templates/gpu/platform_hip.cuh is written in: HIP units run with that very header. */
#include <math.h>

#include "emulator.h"
#include "machine.cuh"

/* `extern char trifold_shared[]` of the header becomes the declaration of this function. */
__attribute__((visibility("hidden"), no_sanitize("thread"))) char (*emulated_shared())[] {
    return static_cast<char(*)[]>(emulator->shared);
}
#define trifold_shared (*emulated_shared())

#define amdgpu_flat_work_group_size(least, most) visibility("default")

TRIFOLD_MACHINE int machine_thread() { return emulator->thread; }
TRIFOLD_MACHINE long long machine_group(int which) { return emulator->group[which]; }
TRIFOLD_MACHINE void machine_barrier(int kind) { emulator->barrier(kind, TRIFOLD_HERE); }
TRIFOLD_MACHINE void machine_spin() { emulator->spin(TRIFOLD_HERE); }
#define __builtin_amdgcn_workitem_id_x() machine_thread()
#define __builtin_amdgcn_workgroup_id_x() machine_group(0)
#define __builtin_amdgcn_workgroup_id_y() machine_group(1)
#define __builtin_amdgcn_fence(order, scope) ((void)0) /* goes with a barrier, which says it all */
#define __builtin_amdgcn_s_barrier() machine_barrier(0)
#define __builtin_amdgcn_wave_barrier() machine_barrier(1)
#define __builtin_amdgcn_s_sleep(time) machine_spin()

/* A lane gets the value of the lane that it names, by four times its number. */
TRIFOLD_MACHINE int machine_permute(int address, int value) {
    const int lane = address / 4 % TRIFOLD_WAVE;
    return static_cast<const int*>(emulator->exchange(&value, sizeof value, TRIFOLD_HERE))[lane];
}
#define __builtin_amdgcn_ds_bpermute(address, value) machine_permute(address, value)

TRIFOLD_MACHINE void machine_expect(bool holds) {
    if (!holds) emulator->fail("an atomic access in an order that the emulator does not know", TRIFOLD_HERE);
}
template <class T>
TRIFOLD_MACHINE T machine_add(T* counter, T value, int order) {
    machine_expect(value == 1 && (order == __ATOMIC_RELAXED || order == __ATOMIC_RELEASE));
    return static_cast<T>(emulator->claim(counter, sizeof value, order == __ATOMIC_RELEASE, TRIFOLD_HERE));
}
template <class T>
TRIFOLD_MACHINE void machine_store(T* flag, T value, int order) {
    machine_expect(order == __ATOMIC_RELEASE || order == __ATOMIC_RELAXED);
    (order == __ATOMIC_RELEASE ? emulator->store_release : emulator->store_relaxed)(flag, &value, sizeof value, TRIFOLD_HERE);
}
template <class T>
TRIFOLD_MACHINE T machine_load(const T* flag, int order) {
    T value;
    machine_expect(order == __ATOMIC_ACQUIRE || order == __ATOMIC_RELAXED);
    (order == __ATOMIC_ACQUIRE ? emulator->load_acquire : emulator->load_relaxed)(flag, &value, sizeof value, TRIFOLD_HERE);
    return value;
}
#define __HIP_MEMORY_SCOPE_AGENT 0
#define __HIP_MEMORY_SCOPE_WORKGROUP 1
#define __hip_atomic_fetch_add(counter, value, order, scope) machine_add(counter, value, order)
#define __hip_atomic_store(flag, value, order, scope) machine_store(flag, value, order)
#define __hip_atomic_load(flag, order, scope) machine_load(flag, order)

/* Approximations are as inaccurate as the hardware's. */
#define __builtin_amdgcn_rsq(d) (1 / sqrt(d) * (1 + 1e-7))
#define __builtin_amdgcn_rsqf(d) (1 / sqrtf(d) * (1 + 1e-7f))
#define __builtin_amdgcn_rcp(d) (1 / (d) * (1 + 1e-6))
#define __builtin_amdgcn_rcpf(d) (1 / (d) * (1 + 1e-6f))
TRIFOLD_MACHINE int machine_exponent(double d) {
    int e;
    frexp(d, &e);
    return e;
}
TRIFOLD_MACHINE double machine_mantissa(double d) {
    int e;
    return frexp(d, &e);
}
#define __builtin_amdgcn_frexp_exp(d) machine_exponent(d)
#define __builtin_amdgcn_frexp_mant(d) machine_mantissa(d)

/* c + A B, 16 by 4 by 16. Lane l gives A(l % 16, l / 16) and B(l / 16, l % 16); it has rows l / 16 + 4 i of column l % 16. */
typedef double machine_double4 __attribute__((ext_vector_type(4)));
struct MachineOperands {
    double a, b;
};
TRIFOLD_MACHINE machine_double4 machine_mfma(double a, double b, machine_double4 c) {
    const MachineOperands mine{a, b};
    const auto* all = static_cast<const MachineOperands*>(emulator->exchange(&mine, sizeof mine, TRIFOLD_HERE));
    const int lane = emulator->thread % 64;
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 4; ++k) c[i] += all[lane / 16 + 4 * i + 16 * k].a * all[16 * k + lane % 16].b;
    return c;
}
#define __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, x, y, z) machine_mfma(a, b, c)
