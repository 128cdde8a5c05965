/* What both dialects call. */
extern "C" __attribute__((visibility("default"))) Emulator* emulator;
Emulator* emulator;

/* What the machine does: its accesses and steps are not the kernel's. It tells the machine where it was called. */
#define TRIFOLD_MACHINE static __attribute__((noinline, no_sanitize("thread", "coverage"), unused))
#define TRIFOLD_HERE __builtin_return_address(0)
