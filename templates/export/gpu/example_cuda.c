/* ---- the device, by calls of the driver; those of CUDA's runtime library do as well ---- */

static btd_stream stream;
static CUevent before, after;

static void expect(CUresult result, const char* what) {
    const char* name = NULL;
    if (result == CUDA_SUCCESS) return;
    (void)cuGetErrorName(result, &name);
    printf("cannot %s: %s\n", what, name == NULL ? "an unknown error" : name);
    exit(EXIT_FAILURE);
}

static void open_device(void) {
    CUdevice device = 0;
    CUcontext context = NULL;
    expect(cuInit(0), "start the driver");
    expect(cuDeviceGet(&device, 0), "find a device");
    expect(cuDevicePrimaryCtxRetain(&context, device), "open the device");
    expect(cuCtxSetCurrent(context), "open the device");
    expect(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "make a stream");
    expect(cuEventCreate(&before, CU_EVENT_DEFAULT), "make an event");
    expect(cuEventCreate(&after, CU_EVENT_DEFAULT), "make an event");
}

static void close_device(void) {
    CUdevice device = 0;
    expect(cuCtxGetDevice(&device), "find the device");
    expect(cuEventDestroy(before), "free an event");
    expect(cuEventDestroy(after), "free an event");
    expect(cuStreamDestroy(stream), "free a stream");
    expect(cuDevicePrimaryCtxRelease(device), "close the device");
}

static void* new_memory(size_t bytes) {
    CUdeviceptr memory = 0;
    expect(cuMemAlloc(&memory, bytes), "get device memory");
    return (void*)(uintptr_t)memory;
}

static void free_memory(void* memory) { expect(cuMemFree((CUdeviceptr)(uintptr_t)memory), "free device memory"); }

static void upload(void* to, const void* from, size_t bytes) {
    expect(cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)to, from, bytes, stream), "copy to the device");
}

static void download(void* to, const void* from, size_t bytes) {
    expect(cuMemcpyDtoHAsync(to, (CUdeviceptr)(uintptr_t)from, bytes, stream), "copy from the device");
    expect(cuStreamSynchronize(stream), "wait for the device");
}

static void start_clock(void) { expect(cuEventRecord(before, stream), "take the time"); }

static double stop_clock(void) {
    float milliseconds = 0;
    expect(cuEventRecord(after, stream), "take the time");
    expect(cuEventSynchronize(after), "wait for the device");
    expect(cuEventElapsedTime(&milliseconds, before, after), "take the time");
    return (double)milliseconds;
}
