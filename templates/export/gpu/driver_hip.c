/* Whether the current device is of an architecture, such as gfx942; the driver appends features to the name. */
static btd_result is_device(const char* arch, int* is) {
    hipDeviceProp_t properties;
    int device = 0;
    const size_t length = strlen(arch);
    hipError_t result = hipGetDevice(&device);
    memset(&properties, 0, sizeof properties);
    if (result == hipSuccess) result = hipGetDeviceProperties(&properties, device);
    *is = strncmp(properties.gcnArchName, arch, length) == 0 &&
          (properties.gcnArchName[length] == '\0' || properties.gcnArchName[length] == ':');
    return result;
}

/* All of a device's shared memory is there for every kernel. */
static btd_result find_function(btd_function* function, btd_module module, const char* name, unsigned shared_bytes) {
    (void)shared_bytes;
    return hipModuleGetFunction(function, module, name);
}

static btd_result fill(void* memory, unsigned char byte, size_t bytes) { return hipMemsetAsync(memory, byte, bytes, NULL); }

static btd_result read_back(void* host, const void* memory, size_t bytes, btd_stream stream) {
    const hipError_t result = hipMemcpyAsync(host, memory, bytes, hipMemcpyDeviceToHost, stream);
    return result == hipSuccess ? hipStreamSynchronize(stream) : result;
}

static btd_result synchronize(void) { return hipDeviceSynchronize(); }

static btd_result is_capturing(btd_stream stream, int* is) {
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    const hipError_t result = hipStreamIsCapturing(stream, &status);
    *is = status != hipStreamCaptureStatusNone;
    return result;
}

static btd_result launch_kernel(const grid* g, btd_stream stream) {
    return hipModuleLaunchKernel(g->function, g->x, g->y, 1, g->threads, 1, 1, g->shared_bytes, stream, g->parameters, NULL);
}

/* The driver takes a module's function where its documentation speaks of a host function. */
static btd_node_parameters node_of(const grid* g) {
    btd_node_parameters node;
    memset((void*)&node, 0, sizeof node);
    node.func = (void*)g->function;
    node.gridDim.x = g->x;
    node.gridDim.y = g->y;
    node.gridDim.z = 1;
    node.blockDim.x = g->threads;
    node.blockDim.y = 1;
    node.blockDim.z = 1;
    node.sharedMemBytes = g->shared_bytes;
    node.kernelParams = g->parameters;
    return node;
}

static btd_result make_executable(btd_executable* executable, btd_graph_nodes graph) {
    return hipGraphInstantiate(executable, graph, NULL, NULL, 0);
}
