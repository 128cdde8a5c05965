#pragma once
#include <span>
#include <string>
#include <trifold/program.hpp>
#include <vector>

#include "runtime/device/gpu.hpp"
#include "runtime/device/gpu_driver.hpp"
#include "runtime/device/operand.hpp"

namespace trifold::gpu {

/// The launches of one operation as an executable graph. The context must be current in every call. A call's operands follow from the first
/// of them: while that keeps its bytes, the others do.
class Graph {
  public:
    /// `operands` stand in until the first launch brings its own. The Program and the functions must outlive this.
    Graph(const Driver& driver, const Program& program, const Loaded& loaded, const std::string& operation,
          std::span<const Operand> operands);
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    /// Puts in what has changed since the last launch, without a new capture, and launches.
    void launch(std::span<const Operand> operands, void* stream);
    /// The same launches one by one, as a stream under capture or a debugger wants them.
    void enqueue(std::span<const Operand> operands, void* stream) const;
    void upload(void* stream) const { driver_.upload(executable_, stream); }

  private:
    struct Node {
        void* function;
        const Launch* launch;
        unsigned threads, shared_bytes;
        void* handle;
    };
    /// A node's parameters; they point into this, to the launch's constants and to the operands, which must stay.
    struct Parameters {
        Parameters(const Node& node, std::span<const Operand> operands);
        Parameters(const Parameters&) = delete;
        Parameters& operator=(const Parameters&) = delete;
        void* arguments[2];
        KernelLaunch grid;
    };
    void add_node(const Program& program, const Loaded& loaded, const Launch& launch, std::span<const Operand> operands);
    void update(std::span<const Operand> operands);

    const Driver& driver_;
    std::vector<Node> nodes_;
    void* graph_ = nullptr;
    void* executable_ = nullptr;
    std::string held_;    // bytes of the first operand that the executable's nodes have
    bool holds_ = false;  // false while an update is incomplete
};

}  // namespace trifold::gpu
