// With TRIFOLD_PORTABLE: what Debian 12's libraries take from its C library, although older ones would do.
#include <sys/random.h>

#define HIDDEN extern "C" __attribute__((visibility("hidden")))

// libstdc++ and LLVM look for it; the C library has it from 2.36 on.
HIDDEN unsigned arc4random() noexcept {
    unsigned value = 0;
    while (::getrandom(&value, sizeof value, 0) != sizeof value) {
    }
    return value;
}

// hypot has another version from 2.35 on.
extern "C" double first_hypot(double, double);
#ifdef __x86_64__
__asm__(".symver first_hypot, hypot@GLIBC_2.2.5");
#else
__asm__(".symver first_hypot, hypot@GLIBC_2.17");
#endif
HIDDEN double hypot(double x, double y) noexcept { return first_hypot(x, y); }
