/* The driver's own types. A CUstream is the runtime library's cudaStream_t. */
typedef CUresult btd_result;
typedef CUstream btd_stream;
typedef CUmodule btd_module;
typedef CUfunction btd_function;
typedef CUgraph btd_graph_nodes;
typedef CUgraphNode btd_node;
typedef CUgraphExec btd_executable;
typedef CUDA_KERNEL_NODE_PARAMS btd_node_parameters;
