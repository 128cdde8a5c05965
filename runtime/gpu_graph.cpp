#include "runtime/gpu_graph.hpp"

#include <cstring>

namespace trifold::gpu {
namespace {

// args are compared byte by byte, so nothing may be padding.
static_assert(sizeof(trifold_args) == 22 * 8);

unsigned divide_up(std::int64_t a, std::int64_t b) { return static_cast<unsigned>((a + b - 1) / b); }

}  // namespace

Graph::Parameters::Parameters(const Node& of, const LaunchArgs& all)
    : arguments{const_cast<trifold_args*>(&all[of.operands]), const_cast<trifold_level*>(of.level)},
      grid{of.function, of.chain_groups, divide_up(all[of.operands].members, of.members_per_task), of.threads, of.shared_bytes, arguments} {
}

Graph::Graph(const Driver& driver, const Plan::State& plan, Operation operation, const trifold_args& args)
    : driver_(driver), plan_(plan), operation_(operation), graph_(driver.create_graph()), held_(args) {
    try {
        for (const auto& launch : plan.program.operations.at(operation)) add_node(launch, args);
        executable_ = driver_.instantiate(graph_);
    } catch (...) {
        driver_.destroy_graph(graph_);
        throw;
    }
    holds_ = true;
}

Graph::~Graph() {
    driver_.destroy_executable(executable_);  // one in flight is freed when it ends
    driver_.destroy_graph(graph_);
}

void Graph::add_node(const Launch& launch, const trifold_args& args) {
    const auto& kernel = plan_.program.kernels[launch.kernel];
    const auto& shape = kernel.shape;
    Node node{plan_.functions[launch.kernel],
              &launch.level,
              divide_up(launch.level.chains, shape.chains_per_task),
              static_cast<unsigned>(shape.threads),
              static_cast<unsigned>(shape.shared_bytes),
              shape.members_per_task,
              operands_of(plan_.program.spec, operation_, kernel.phase),
              nullptr};
    std::vector<void*> after;
    for (const auto index : launch.after) after.push_back(nodes_.at(index).handle);
    const auto all = operands(args);
    const Parameters parameters(node, all);
    node.handle = driver_.add_kernel(graph_, after, parameters.grid, launch.early);
    nodes_.push_back(node);
}

void Graph::update(const trifold_args& args) {
    holds_ = false;
    const auto all = operands(args);
    for (const auto& node : nodes_) {
        const Parameters parameters(node, all);
        driver_.set_kernel(executable_, node.handle, parameters.grid);
    }
    held_ = args;
    holds_ = true;
}

void Graph::launch(const trifold_args& args, void* stream) {
    if (!holds_ || std::memcmp(&args, &held_, sizeof args) != 0) update(args);
    driver_.launch_graph(executable_, stream);
}

void Graph::enqueue(const trifold_args& args, void* stream) const {
    const auto all = operands(args);
    for (const auto& node : nodes_) {
        const Parameters parameters(node, all);
        driver_.launch(parameters.grid, stream);
    }
}

}  // namespace trifold::gpu
