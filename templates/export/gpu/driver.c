/* ---- the driver ---- */

/* A kernel and its grid: x by y thread blocks. */
typedef struct {
    btd_function function;
    unsigned x, y, threads, shared_bytes;
    void** parameters;
} grid;

static btd_node_parameters node_of(const grid* g);

static btd_result load_module(btd_module* module, const void* image) { return @API@ModuleLoadData(module, image); }
static btd_result unload_module(btd_module module) { return @API@ModuleUnload(module); }

static btd_result make_graph(btd_graph_nodes* graph) { return @API@GraphCreate(graph, 0); }
static btd_result destroy_graph(btd_graph_nodes graph) { return @API@GraphDestroy(graph); }

/* After one node, or after none. */
static btd_result add_kernel(btd_node* node, btd_graph_nodes graph, const btd_node* after, const grid* g) {
    const btd_node_parameters parameters = node_of(g);
    return @API@GraphAddKernelNode(node, graph, after, after != NULL, &parameters);
}

static btd_result set_kernel(btd_executable executable, btd_node node, const grid* g) {
    const btd_node_parameters parameters = node_of(g);
    return @API@GraphExecKernelNodeSetParams(executable, node, &parameters);
}

static btd_result destroy_executable(btd_executable executable) { return @API@GraphExecDestroy(executable); }
static btd_result launch_graph(btd_executable executable, btd_stream stream) { return @API@GraphLaunch(executable, stream); }
