#include "runtime/device/gpu_graph.hpp"

#include <cstring>

namespace trifold::gpu {
namespace {

unsigned divide_up(std::int64_t a, std::int64_t b) { return static_cast<unsigned>((a + b - 1) / b); }

}  // namespace

Graph::Parameters::Parameters(const Node& of, std::span<const Operand> operands)
    : arguments{const_cast<void*>(operands[of.launch->operands].bytes), const_cast<char*>(of.launch->constants.data())},
      grid{of.function,
           static_cast<unsigned>(of.launch->grid.groups),
           divide_up(operands[of.launch->operands].members, of.launch->grid.members_per_group),
           of.threads,
           of.shared_bytes,
           arguments} {}

Graph::Graph(const Driver& driver, const Program& program, const Loaded& loaded, const std::string& operation,
             std::span<const Operand> operands)
    : driver_(driver), graph_(driver.create_graph()), held_(operands.front().size, '\0') {
    try {
        for (const auto& launch : program.operations.at(operation)) add_node(program, loaded, launch, operands);
        executable_ = driver_.instantiate(graph_);
    } catch (...) {
        driver_.destroy_graph(graph_);
        throw;
    }
    std::memcpy(held_.data(), operands.front().bytes, held_.size());
    holds_ = true;
}

Graph::~Graph() {
    driver_.destroy_executable(executable_);  // one in flight is freed when it ends
    driver_.destroy_graph(graph_);
}

void Graph::add_node(const Program& program, const Loaded& loaded, const Launch& launch, std::span<const Operand> operands) {
    const auto& kernel = kernel_of(program, launch);
    Node node{loaded.functions[launch.unit][launch.kernel], &launch, static_cast<unsigned>(kernel.threads),
              static_cast<unsigned>(kernel.shared_bytes), nullptr};
    std::vector<void*> after;
    for (const auto index : launch.after) after.push_back(nodes_.at(index).handle);
    const Parameters parameters(node, operands);
    node.handle = driver_.add_kernel(graph_, after, parameters.grid, launch.early);
    nodes_.push_back(node);
}

void Graph::update(std::span<const Operand> operands) {
    holds_ = false;
    for (const auto& node : nodes_) {
        const Parameters parameters(node, operands);
        driver_.set_kernel(executable_, node.handle, parameters.grid);
    }
    std::memcpy(held_.data(), operands.front().bytes, held_.size());
    holds_ = true;
}

void Graph::launch(std::span<const Operand> operands, void* stream) {
    if (!holds_ || std::memcmp(operands.front().bytes, held_.data(), held_.size()) != 0) update(operands);
    driver_.launch_graph(executable_, stream);
}

void Graph::enqueue(std::span<const Operand> operands, void* stream) const {
    for (const auto& node : nodes_) {
        const Parameters parameters(node, operands);
        driver_.launch(parameters.grid, stream);
    }
}

}  // namespace trifold::gpu
