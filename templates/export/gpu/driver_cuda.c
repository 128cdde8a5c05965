static CUdeviceptr address(const void* memory) { return (CUdeviceptr)(uintptr_t)memory; }

/* Whether the current device is of an architecture, such as sm_87. Binaries of a relative of it would not do on Tegra. */
static btd_result is_device(const char* arch, int* is) {
    CUdevice device = 0;
    int major = 0, minor = 0, wanted = 0;
    const char* digit = arch + 3;
    CUresult result = cuCtxGetDevice(&device);
    if (result == CUDA_SUCCESS) result = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (result == CUDA_SUCCESS) result = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    for (; *digit != '\0'; ++digit) wanted = 10 * wanted + (*digit - '0');
    *is = 10 * major + minor == wanted;
    return result;
}

static btd_result find_function(btd_function* function, btd_module module, const char* name, unsigned shared_bytes) {
    CUresult result = cuModuleGetFunction(function, module, name);
    if (result == CUDA_SUCCESS) result = cuFuncSetAttribute(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared_bytes);
    return result;
}

static btd_result fill(void* memory, unsigned char byte, size_t bytes) { return cuMemsetD8Async(address(memory), byte, bytes, NULL); }

static btd_result read_back(void* host, const void* memory, size_t bytes, btd_stream stream) {
    const CUresult result = cuMemcpyDtoHAsync(host, address(memory), bytes, stream);
    return result == CUDA_SUCCESS ? cuStreamSynchronize(stream) : result;
}

static btd_result synchronize(void) { return cuCtxSynchronize(); }

static btd_result is_capturing(btd_stream stream, int* is) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = cuStreamIsCapturing(stream, &status);
    *is = status != CU_STREAM_CAPTURE_STATUS_NONE;
    return result;
}

static btd_result launch_kernel(const grid* g, btd_stream stream) {
    return cuLaunchKernel(g->function, g->x, g->y, 1, g->threads, 1, 1, g->shared_bytes, stream, g->parameters, NULL);
}

static btd_node_parameters node_of(const grid* g) {
    btd_node_parameters node;
    memset(&node, 0, sizeof node);
    node.func = g->function;
    node.gridDimX = g->x;
    node.gridDimY = g->y;
    node.gridDimZ = 1;
    node.blockDimX = g->threads;
    node.blockDimY = 1;
    node.blockDimZ = 1;
    node.sharedMemBytes = g->shared_bytes;
    node.kernelParams = g->parameters;
    return node;
}

static btd_result make_executable(btd_executable* executable, btd_graph_nodes graph) {
    CUresult result = cuGraphInstantiateWithFlags(executable, graph, 0);
    if (result == CUDA_SUCCESS) result = cuGraphUpload(*executable, NULL);
    return result;
}
