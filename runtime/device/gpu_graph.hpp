#pragma once
#include <trifold/repeat_args.h>

#include <deque>
#include <span>
#include <string>
#include <trifold/program.hpp>
#include <vector>

#include "runtime/device/gpu.hpp"
#include "runtime/device/gpu_driver.hpp"
#include "runtime/device/operand.hpp"

namespace trifold::gpu {

/// The launches of one operation as an executable graph. The context must be current in every call. A call's operands follow from the first
/// of them and the workspace: while these keep their bytes, the others do.
class Graph {
  public:
    /// `operands` stand in until the first launch brings its own. The Program and the functions must outlive this.
    Graph(const Driver& driver, const Program& program, const Loaded& loaded, const std::string& operation,
          std::span<const Operand> operands, void* workspace);
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    /// Whether launch() can do it: a graph that repeats launches needs a driver that knows such graphs.
    bool can_launch() const { return executable_ != nullptr; }
    /// Puts in what has changed since the last launch, without a new capture, and launches.
    void launch(std::span<const Operand> operands, void* workspace, void* stream);
    /// The same launches one by one, as a stream under capture or a debugger wants them. Where they are repeated, the host waits for the
    /// stream after some turns to see whether there is another one; unless the stream is `recording`, which then has as many turns as there
    /// can be.
    void enqueue(std::span<const Operand> operands, void* workspace, void* stream, bool recording) const;
    void upload(void* stream) const;

  private:
    struct Node {
        void* function;
        const Launch* launch;
        unsigned threads, shared_bytes;
        void* handle = nullptr;
    };
    /// A node's parameters; they point into this, to the launch's constants and to the operands, which must stay.
    struct Parameters {
        Parameters(const Node& node, std::span<const Operand> operands);
        Parameters(const Parameters&) = delete;
        Parameters& operator=(const Parameters&) = delete;
        void* arguments[2];
        KernelLaunch grid;
    };
    void build(std::span<const Operand> operands, void* workspace);
    void destroy() noexcept;
    void add_node(void* graph, std::size_t k, const std::vector<void*>& after, std::span<const Operand> operands);
    void add_repeat(const Repeat& repeat, std::span<const Operand> operands, void* workspace);
    void update(std::span<const Operand> operands, void* workspace);
    void note(std::span<const Operand> operands, void* workspace);
    void enqueue_each(std::size_t first, std::size_t end, std::span<const Operand> operands, void* stream) const;
    void enqueue_turns(const Repeat& repeat, std::span<const Operand> operands, void* workspace, void* stream) const;
    void* flag_of(const Repeat& repeat, void* workspace) const;

    const Driver& driver_;
    const Program& program_;
    const Loaded& loaded_;
    std::vector<Node> nodes_;
    std::vector<Repeat> repeats_;
    void* graph_ = nullptr;
    void* executable_ = nullptr;
    std::string held_;  // bytes of the first operand that the executable's nodes have
    void* held_workspace_ = nullptr;
    bool holds_ = false;  // false while an update is incomplete
};

}  // namespace trifold::gpu
