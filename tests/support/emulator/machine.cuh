/* What both dialects call. */
extern "C" __attribute__((visibility("default"))) Emulator* emulator;
Emulator* emulator;

/* What the machine does: its accesses and steps are not the kernel's. It tells the machine where it was called. */
#define TRIFOLD_MACHINE static __attribute__((noinline, no_sanitize("thread", "coverage"), unused))
#define TRIFOLD_HERE __builtin_return_address(0)

/* Kernels state what they rely on, and the machine checks it. */
TRIFOLD_MACHINE void machine_expect(bool holds, const char* condition) {
    if (!holds) emulator->fail(condition, TRIFOLD_HERE);
}
#define EXPECT(condition) machine_expect(condition, "the kernel expects " #condition)
