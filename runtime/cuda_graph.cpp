#ifdef TRIFOLD_HAS_CUDA
#include "runtime/cuda_graph.hpp"

#include <cstring>

namespace trifold::cuda {
namespace {

// args are compared byte by byte, so nothing may be padding.
static_assert(sizeof(trifold_args) == 21 * 8);

unsigned divide_up(std::int64_t a, std::int64_t b) { return static_cast<unsigned>((a + b - 1) / b); }

}  // namespace

Graph::Parameters::Parameters(const Node& of, const trifold_args& args, const trifold_args& from_x)
    : arguments{const_cast<trifold_args*>(of.from_x ? &from_x : &args), const_cast<trifold_level*>(of.level)}, node{} {
    node.func = of.function;
    node.gridDimX = of.chain_groups;
    node.gridDimY = divide_up(args.members, of.members_per_task);
    node.gridDimZ = 1;
    node.blockDimX = of.threads;
    node.blockDimY = node.blockDimZ = 1;
    node.sharedMemBytes = of.shared_bytes;
    node.kernelParams = arguments;
}

Graph::Graph(const Plan::State& plan, Operation operation, const trifold_args& args) : plan_(plan), operation_(operation), held_(args) {
    TRIFOLD_CU(cuGraphCreate, &graph_, 0U);
    try {
        for (const auto& launch : plan.program.operations.at(operation)) add_node(launch, args);
        TRIFOLD_CU(cuGraphInstantiateWithFlags, &executable_, graph_, 0ULL);
    } catch (...) {
        driver().cuGraphDestroy(graph_);
        throw;
    }
    holds_ = true;
}

Graph::~Graph() {
    driver().cuGraphExecDestroy(executable_);  // one in flight is freed when it ends
    driver().cuGraphDestroy(graph_);
}

void Graph::add_node(const Launch& launch, const trifold_args& args) {
    const auto& kernel = plan_.program.kernels[launch.kernel];
    const auto& shape = kernel.shape;
    Node node{static_cast<CUfunction>(plan_.functions[launch.kernel]),
              &launch.level,
              divide_up(launch.level.chains, shape.chains_per_task),
              static_cast<unsigned>(shape.threads),
              static_cast<unsigned>(shape.shared_bytes),
              shape.members_per_task,
              continues_in_x(operation_, kernel.phase),
              nullptr};
    std::vector<CUgraphNode> after;
    for (const auto index : launch.after) after.push_back(nodes_.at(index).handle);
    const auto from_x = args_from_x(args);
    const Parameters parameters(node, args, from_x);
    TRIFOLD_CU(cuGraphAddKernelNode, &node.handle, graph_, after.data(), after.size(), &parameters.node);
    nodes_.push_back(node);
}

void Graph::update(const trifold_args& args) {
    holds_ = false;
    const auto from_x = args_from_x(args);
    for (const auto& node : nodes_) {
        const Parameters parameters(node, args, from_x);
        TRIFOLD_CU(cuGraphExecKernelNodeSetParams, executable_, node.handle, &parameters.node);
    }
    held_ = args;
    holds_ = true;
}

void Graph::launch(const trifold_args& args, CUstream stream) {
    if (!holds_ || std::memcmp(&args, &held_, sizeof args) != 0) update(args);
    TRIFOLD_CU(cuGraphLaunch, executable_, stream);
}

void Graph::enqueue(const trifold_args& args, CUstream stream) const {
    const auto from_x = args_from_x(args);
    for (const auto& node : nodes_) {
        Parameters parameters(node, args, from_x);
        const auto& n = parameters.node;
        TRIFOLD_CU(cuLaunchKernel, n.func, n.gridDimX, n.gridDimY, n.gridDimZ, n.blockDimX, n.blockDimY, n.blockDimZ, n.sharedMemBytes,
                   stream, n.kernelParams, nullptr);
    }
}

}  // namespace trifold::cuda
#endif
