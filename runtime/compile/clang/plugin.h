/* The interface of libtrifold_clang.so. It is a library of its own, opened only when something must be compiled: loading Clang and LLVM
 * costs a process 20 ms, which a warm start should not pay. Plain C, so that the two sides need not share a C++ library. */
#ifndef TRIFOLD_CLANG_PLUGIN_H
#define TRIFOLD_CLANG_PLUGIN_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Receives the shared object (empty when it failed) and the diagnostics, once. */
typedef void (*trifold_clang_result)(void* context, const char* object, size_t object_bytes, const char* log, size_t log_bytes);

/* Compiles one unit of C, or of HIP where the options have an --offload-arch, and links it into a shared object. `directory` is private to
 * the caller, for temporary files. At most `threads` threads generate code. Returns 0 on success. May be called from many threads. */
int trifold_clang_compile(const char* source, size_t source_bytes, const char* const* options, size_t option_count, const char* directory,
                          trifold_clang_result result, void* context, unsigned threads);
/* The version of the Clang that is loaded, such as "19.1.7". */
const char* trifold_clang_version(void);

#ifdef __cplusplus
}
#endif
#endif
