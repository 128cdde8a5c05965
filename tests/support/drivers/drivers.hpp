#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "generator/tridiagonal/operands.hpp"

namespace trifold::test {

/// How kernels are called with their two parameters.
struct Parameters {
    void (*call)(void* entry, const void* operand, const void* constants);
    std::size_t operand_bytes, constants_bytes;
};
template <class Operand, class Constants>
inline constexpr Parameters parameters_of{[](void* entry, const void* operand, const void* constants) {
                                              reinterpret_cast<void (*)(Operand, Constants)>(entry)(
                                                  *static_cast<const Operand*>(operand), *static_cast<const Constants*>(constants));
                                          },
                                          sizeof(Operand), sizeof(Constants)};

/// Settings and counts of the fake driver. It stands in for libcuda.so.1: one device, of compute
/// capability 9.0 unless a test says otherwise, whose memory is the host's. Kernels are emulated host code; calls without the right context
/// current are errors.
struct FakeCuda {
    std::vector<void*> kernels;                                                      ///< dlopen handles of the emulated units
    const Parameters* parameters = &parameters_of<trifold_args, trifold_constants>;  ///< those of these kernels
    int capability = 90;
    std::int64_t memory_bytes = std::int64_t{1} << 30;
    std::string failing_call;  ///< this call returns CUDA_ERROR_UNKNOWN
    int contexts = 0, modules = 0, allocations = 0, streams = 0, events = 0, graphs = 0, executables = 0;  ///< alive
    bool refuses_records = false;  ///< streams that record make no graph
    int graph_launches = 0, record_launches = 0, kernel_launches = 0, node_updates = 0, early_edges = 0,
        device_allocations = 0;             ///< counted; kernel_launches outside graphs
    int synchronizations = 0;               ///< calls that wait
    std::set<const void*> streams_at_work;  ///< those that have been given work since they were last waited for
    int overtakes = 0;                      ///< work that was given to one stream while another one was at work
    int event_records = 0, event_queries = 0, stream_waits = 0;
    int disturbances = 0;            ///< events put into a graph that the caller records, and queries that would poison one
    bool streams_never_end = false;  ///< queries say so
    bool events_pending = false;     ///< no event has happened yet
    bool operator==(const FakeCuda&) const = default;
    /// Numbers of the objects that are alive.
    std::array<int, 7> alive() const { return {contexts, modules, allocations, streams, events, graphs, executables}; }
    /// Kernels of block tridiagonal systems are called as those of this Program.
    void take_parameters_of(const Program& program);
};
FakeCuda& fake_cuda();

/// Puts a step into the graph that a stream of the fake driver records, if it records one with the thread's own mode. Returns whether it
/// does.
bool record_step(void* stream, std::function<int()> step);

/// Orders to the fake NCCL, and its counts. It stands in for libnccl.so.2.
struct FakeNccl {
    int version = 22803;
    int communicators = 0;          ///< alive
    int sent = 0, aborted = 0;      ///< counted
    const char* failing_call = "";  ///< this call fails, on all ranks
};
FakeNccl& fake_nccl();

}  // namespace trifold::test
