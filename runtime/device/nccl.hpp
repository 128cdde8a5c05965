#pragma once
#include <cstddef>
#include <string>
#include <trifold/target.hpp>

namespace trifold::nccl {

/// The name of a communicator to be made, which rank 0 gives to all others.
struct UniqueId {
    char bytes[128];
};

/// The functions of NCCL's C interface that are called here; RCCL has the same. Results are ncclResult_t: 0 is success.
struct Functions {
    int (*version)(int* version);
    int (*unique_id)(UniqueId* id);
    int (*init_rank)(void** communicator, int ranks, UniqueId id, int rank);
    int (*destroy)(void* communicator);
    int (*abort)(void* communicator);
    int (*async_error)(void* communicator, int* result);
    int (*count)(void* communicator, int* ranks);
    int (*user_rank)(void* communicator, int* rank);
    int (*device)(void* communicator, int* ordinal);
    const char* (*error_string)(int result);
    int (*send)(const void* data, std::size_t count, int type, int peer, void* communicator, void* stream);
    int (*group_start)();
    int (*group_end)();
    int (*receive)(void* data, std::size_t count, int type, int peer, void* communicator, void* stream);
};
inline constexpr int bytes_type = 0;  // ncclInt8

struct Library {
    Functions functions;
    std::string file;     ///< where it was found
    std::string version;  ///< "2.28.3"
    std::string text() const { return version + ", " + file; }
};

/// The process's NCCL or RCCL, opened once: the loaded one; else `file`, where it is not empty; else TRIFOLD_NCCL; else by its plain name.
/// Throws DeviceError.
const Library& library(Backend backend, const std::string& file);

}  // namespace trifold::nccl
