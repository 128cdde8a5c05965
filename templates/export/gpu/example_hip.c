/* ---- the device ---- */

static btd_stream stream;
static hipEvent_t before, after;

static void expect(hipError_t result, const char* what) {
    if (result == hipSuccess) return;
    printf("cannot %s: %s\n", what, hipGetErrorName(result));
    exit(EXIT_FAILURE);
}

static void open_device(void) {
    expect(hipInit(0), "start the driver");
    expect(hipSetDevice(0), "open the device");
    expect(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "make a stream");
    expect(hipEventCreateWithFlags(&before, hipEventDefault), "make an event");
    expect(hipEventCreateWithFlags(&after, hipEventDefault), "make an event");
}

static void close_device(void) {
    expect(hipEventDestroy(before), "free an event");
    expect(hipEventDestroy(after), "free an event");
    expect(hipStreamDestroy(stream), "free a stream");
}

static void* new_memory(size_t bytes) {
    void* memory = NULL;
    expect(hipMalloc(&memory, bytes), "get device memory");
    return memory;
}

static void free_memory(void* memory) { expect(hipFree(memory), "free device memory"); }

static void upload(void* to, const void* from, size_t bytes) {
    expect(hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream), "copy to the device");
}

static void download(void* to, const void* from, size_t bytes) {
    expect(hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, stream), "copy from the device");
    expect(hipStreamSynchronize(stream), "wait for the device");
}

static void start_clock(void) { expect(hipEventRecord(before, stream), "take the time"); }

static double stop_clock(void) {
    float milliseconds = 0;
    expect(hipEventRecord(after, stream), "take the time");
    expect(hipEventSynchronize(after), "wait for the device");
    expect(hipEventElapsedTime(&milliseconds, before, after), "take the time");
    return (double)milliseconds;
}
