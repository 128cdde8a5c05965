/* Solves a problem, checks X in double precision, and takes the time of a call. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpc_solver.h"

static const double tolerance = 1e-5;

/* ---- the device, by calls of the driver; those of CUDA's runtime library do as well ---- */

static mpc_stream stream;
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

/* ---- the problem ---- */

/* Elements of one block, and of the arrays of all systems. */
static const size_t square = (size_t)MPC_BLOCK * MPC_BLOCK;
static const size_t d_size = (size_t)MPC_BATCH * MPC_HORIZON * MPC_BLOCK * MPC_BLOCK;
static const size_t e_size = (size_t)MPC_BATCH * (MPC_HORIZON - 1) * MPC_BLOCK * MPC_BLOCK;
static const size_t b_size = (size_t)MPC_BATCH * MPC_HORIZON * MPC_BLOCK * MPC_RHS;

static mpc_real* new_array(size_t size) {
    mpc_real* array = (mpc_real*)malloc((size + 1) * sizeof *array); /* never of no size */
    if (array == NULL) {
        printf("not enough memory\n");
        exit(EXIT_FAILURE);
    }
    return array;
}

/* Small multiples of 1/16, the same on every machine. */
static mpc_real random_number(void) {
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return (mpc_real)((int)(state >> 27) - 16) / 16;
}

static mpc_real* random_array(size_t size) {
    mpc_real* array = new_array(size);
    size_t k;
    for (k = 0; k < size; ++k) array[k] = random_number();
    return array;
}

/* Random blocks with a dominant diagonal, for A to be positive definite. */
static mpc_real* random_diagonal_blocks(void) {
    mpc_real* d = random_array(d_size);
    size_t block, r;
    for (block = 0; block < d_size; block += square) {
        for (r = 0; r < MPC_BLOCK; ++r) d[block + r * MPC_BLOCK + r] = 3 * MPC_BLOCK + 1;
    }
    return d;
}

/* ---- the check ---- */

/* Element (r, c) of a symmetric block, of which the lower triangle counts. */
static double symmetric(const mpc_real* block, size_t r, size_t c) {
    return (double)(r > c ? block[r * MPC_BLOCK + c] : block[c * MPC_BLOCK + r]);
}

/* Row r of block i of A x, of the system and the column at which d, e and x point; and the sum of the row's absolute values. */
static double multiply_row(const mpc_real* d, const mpc_real* e, const mpc_real* x, size_t i, size_t r, double* sum) {
    double value = 0;
    size_t k;
    for (k = 0; k < MPC_BLOCK; ++k) {
        const double a = symmetric(d + i * square, r, k);
        value += a * (double)x[(i * MPC_BLOCK + k) * MPC_RHS];
        *sum += fabs(a);
        if (i > 0) {
            const double back = (double)e[(i - 1) * square + r * MPC_BLOCK + k];
            value += back * (double)x[((i - 1) * MPC_BLOCK + k) * MPC_RHS];
            *sum += fabs(back);
        }
        if (i + 1 < MPC_HORIZON) {
            const double ahead = (double)e[i * square + k * MPC_BLOCK + r];
            value += ahead * (double)x[((i + 1) * MPC_BLOCK + k) * MPC_RHS];
            *sum += fabs(ahead);
        }
    }
    return value;
}

/* NaN counts as the largest. */
static double larger(double a, double b) { return a > b || a != a ? a : b; }

/* ||A x - b|| / (||A|| ||x|| + ||b||) in double precision, of the worst system: the largest elements; norms of A by rows. */
static double relative_residual(const mpc_real* d, const mpc_real* e, const mpc_real* b, const mpc_real* x) {
    const size_t rows = (size_t)MPC_HORIZON * MPC_BLOCK;
    double worst = 0;
    size_t member, row, c;
    for (member = 0; member < MPC_BATCH; ++member) {
        double residual = 0, norm_a = 0, norm_x = 0, norm_b = 0;
        for (row = 0; row < rows; ++row) {
            for (c = 0; c < MPC_RHS; ++c) {
                const size_t first = member * rows * MPC_RHS + c, k = first + row * MPC_RHS;
                double sum = 0;
                const double ax = multiply_row(d + member * MPC_HORIZON * square, e + member * (MPC_HORIZON - 1) * square, x + first,
                                               row / MPC_BLOCK, row % MPC_BLOCK, &sum);
                residual = larger(fabs(ax - (double)b[k]), residual);
                norm_a = larger(sum, norm_a);
                norm_x = larger(fabs((double)x[k]), norm_x);
                norm_b = larger(fabs((double)b[k]), norm_b);
            }
        }
        worst = larger(residual / (norm_a * norm_x + norm_b), worst);
    }
    return worst;
}

/* ---- the solver ---- */

static mpc_solver solver;

/* In one call, or in two where it was exported without the one. */
static mpc_code factor_and_solve(const mpc_real* d, const mpc_real* e, const mpc_real* b, mpc_real* x) {
    mpc_code code = mpc_factor_solve(&solver, d, e, b, x, NULL, stream);
    if (code == MPC_NOT_EXPORTED) {
        code = mpc_factor(&solver, d, e, NULL, stream);
        if (code == MPC_OK) code = mpc_solve(&solver, b, x, NULL, stream);
    }
    return code;
}

static void expect_ok(mpc_code code) {
    if (code == MPC_OK) return;
    printf("%s", mpc_message(code));
    if (solver.driver_task != NULL) printf(": could not %s, error %d", solver.driver_task, (int)solver.driver_result);
    printf("\n");
    exit(EXIT_FAILURE);
}

int main(void) {
    const int replays = 20;
    mpc_real *d = random_diagonal_blocks(), *e = random_array(e_size), *b = random_array(b_size), *x = new_array(b_size);
    mpc_real *device_d, *device_e, *device_b, *device_x;
    mpc_status status;
    double residual, milliseconds;
    int good, k;
    void* workspace;
    open_device();
    workspace = new_memory(mpc_workspace_size());
    device_d = (mpc_real*)new_memory((d_size + e_size + 2 * b_size) * sizeof *d);
    device_e = device_d + d_size;
    device_b = device_e + e_size;
    device_x = device_b + b_size;
    upload(device_d, d, d_size * sizeof *d);
    if (e_size > 0) upload(device_e, e, e_size * sizeof *e);
    upload(device_b, b, b_size * sizeof *b);

    expect_ok(mpc_create(&solver, workspace));
    expect_ok(factor_and_solve(device_d, device_e, device_b, device_x));
    status = mpc_check(&solver, stream);
    if (status.code == MPC_NOT_POSITIVE_DEFINITE) printf("system %d, block %d, row %d: ", status.member, status.block, status.row);
    if (status.code == MPC_OUT_OF_RANGE || status.code == MPC_NEARLY_SINGULAR) printf("system %d: ", status.member);
    expect_ok(status.code);
    download(x, device_x, b_size * sizeof *x);
    residual = relative_residual(d, e, b, x);
    good = residual <= tolerance;
    printf("n = %d, N = %d, m = %d, %d system(s): x[0] = %.9g\n", MPC_BLOCK, MPC_HORIZON, MPC_RHS, MPC_BATCH, (double)x[0]);
    printf("relative residual %.1e: %s\n", residual, good ? "good" : "too large");

    start_clock();
    for (k = 0; k < replays; ++k) expect_ok(factor_and_solve(device_d, device_e, device_b, device_x));
    milliseconds = stop_clock();
    printf("factor and solve: %.1f us, the mean of %d calls one after another\n", 1e3 * milliseconds / replays, replays);

    mpc_destroy(&solver);
    free_memory(workspace);
    free_memory(device_d);
    close_device();
    free(d);
    free(e);
    free(b);
    free(x);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
