/* The driver's own types. */
typedef hipError_t btd_result;
typedef hipStream_t btd_stream;
typedef hipModule_t btd_module;
typedef hipFunction_t btd_function;
typedef hipGraph_t btd_graph_nodes;
typedef hipGraphNode_t btd_node;
typedef hipGraphExec_t btd_executable;
typedef hipKernelNodeParams btd_node_parameters;
