// What a unit compiled with -fsanitize=thread calls at every access, and with -fsanitize-coverage=trace-pc at every step; linked into the
// unit in place of the runtime of the sanitizers.
#include "tests/support/emulator/emulator.h"

extern "C" __attribute__((visibility("default"))) Emulator* emulator;

namespace {

inline void note(const void* at, long bytes, int writes, const void* caller) {
    if (emulator->access != nullptr) emulator->access(at, bytes, writes, caller);
}

}  // namespace

#define HOOK extern "C" __attribute__((visibility("hidden"))) void
#define NOTE(name, bytes, writes) \
    HOOK __tsan_##name(const void* at) { note(at, bytes, writes, __builtin_return_address(0)); }
#define NOTE_BOTH(bytes)                           \
    NOTE(read##bytes, bytes, 0)                    \
    NOTE(write##bytes, bytes, 1)                   \
    NOTE(unaligned_read##bytes, bytes, 0)          \
    NOTE(unaligned_write##bytes, bytes, 1)         \
    NOTE(volatile_read##bytes, bytes, 0)           \
    NOTE(volatile_write##bytes, bytes, 1)          \
    NOTE(unaligned_volatile_read##bytes, bytes, 0) \
    NOTE(unaligned_volatile_write##bytes, bytes, 1)
NOTE_BOTH(1)
NOTE_BOTH(2)
NOTE_BOTH(4)
NOTE_BOTH(8)
NOTE_BOTH(16)
HOOK __tsan_read_range(const void* at, unsigned long bytes) { note(at, static_cast<long>(bytes), 0, __builtin_return_address(0)); }
HOOK __tsan_write_range(const void* at, unsigned long bytes) { note(at, static_cast<long>(bytes), 1, __builtin_return_address(0)); }
extern "C" __attribute__((visibility("hidden"))) void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
    note(from, static_cast<long>(bytes), 0, __builtin_return_address(0));
    note(to, static_cast<long>(bytes), 1, __builtin_return_address(0));
    return __builtin_memmove(to, from, bytes);
}
extern "C" __attribute__((visibility("hidden"))) void* __tsan_memmove(void* to, const void* from, unsigned long bytes) {
    return __tsan_memcpy(to, from, bytes);
}
extern "C" __attribute__((visibility("hidden"))) void* __tsan_memset(void* to, int value, unsigned long bytes) {
    note(to, static_cast<long>(bytes), 1, __builtin_return_address(0));
    return __builtin_memset(to, value, bytes);
}
HOOK __tsan_vptr_update(const void* at, const void*) { note(at, 8, 1, __builtin_return_address(0)); }
HOOK __tsan_vptr_read(const void* at) { note(at, 8, 0, __builtin_return_address(0)); }
HOOK __tsan_func_entry(const void*) {}
HOOK __tsan_func_exit(const void*) {}
HOOK __tsan_init() {}
HOOK __sanitizer_cov_trace_pc() {
    if (--emulator->steps < 0) emulator->endless(__builtin_return_address(0));
}
