#pragma once
#include <vector>

#include "generator/operands.hpp"
#include "runtime/call.hpp"
#include "runtime/gpu_driver.hpp"
#include "runtime/plan_state.hpp"

namespace trifold::gpu {

/// The launches of one operation as an executable graph. The context must be current in every call.
class Graph {
  public:
    /// `args` stands in until the first launch brings its own.
    Graph(const Driver& driver, const Plan::State& plan, Operation operation, const trifold_args& args);
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    /// Puts in what has changed since the last launch, without a new capture, and launches.
    void launch(const trifold_args& args, void* stream);
    /// The same launches one by one, as a stream under capture or a debugger wants them.
    void enqueue(const trifold_args& args, void* stream) const;
    void upload(void* stream) const { driver_.upload(executable_, stream); }

  private:
    struct Node {
        void* function;
        const trifold_level* level;
        unsigned chain_groups, threads, shared_bytes;
        std::int64_t members_per_task;
        Operands operands;
        void* handle;
    };
    /// A node's parameters; they point into this, to the level and to the args, which must stay.
    struct Parameters {
        Parameters(const Node& node, const LaunchArgs& all);
        Parameters(const Parameters&) = delete;
        Parameters& operator=(const Parameters&) = delete;
        void* arguments[2];
        Grid grid;
    };
    void add_node(const Launch& launch, const trifold_args& args);
    LaunchArgs operands(const trifold_args& args) const { return {plan_.program.spec, plan_.program.buffers, args}; }
    void update(const trifold_args& args);

    const Driver& driver_;
    const Plan::State& plan_;
    Operation operation_;
    std::vector<Node> nodes_;
    void* graph_ = nullptr;
    void* executable_ = nullptr;
    trifold_args held_;   // what the executable's nodes have
    bool holds_ = false;  // false while an update is incomplete
};

}  // namespace trifold::gpu
