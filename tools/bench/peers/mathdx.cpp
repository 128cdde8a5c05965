#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "generator/program/sha256.hpp"
#include "runtime/compile/cache.hpp"
#include "tools/bench/peers/library.hpp"
#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace dx {
namespace {

/// Device functions that are called the whole thread block at a time; ours copies between them. Blocks are by rows.
constexpr const char* chain_text = R"(
extern "C" __device__ void front_potrf(double* a, int* info);                                        // L over A
extern "C" __device__ void front_trsm(double* l, double* b);                                         // B L^-T over B
extern "C" __device__ void front_gemm(double* alpha, double* a, double* b, double* beta, double* c);  // C = alpha A B' + beta C
extern "C" __device__ void row_forward(double* l, double* x);                                        // L^-1 x over x
extern "C" __device__ void row_backward(double* l, double* x);                                       // L^-T x over x

__device__ void begin_copy(double* to, const double* from) {
    for (int k = threadIdx.x; k < N * N; k += THREADS) {
        const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to + k / N * LEADING + k % N));
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(place), "l"(from + k) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int late>
__device__ void await_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(late) : "memory");
    __syncthreads();
}

__device__ void store(double* to, const double* from) {
    for (int k = threadIdx.x; k < N * N; k += THREADS) to[k] = from[k / N * LEADING + k % N];
}

extern "C" __global__ void __launch_bounds__(THREADS)
    chain_factor(const double* d, const double* e, double* l, double* r, int* info, int horizon) {
    extern __shared__ double room[];
    __shared__ int failed;
    double minus_one = -1, one = 1;
    double* const coupling = room + 2 * N * LEADING;
    const long long first = static_cast<long long>(blockIdx.x) * horizon, first_coupling = first - blockIdx.x;
    begin_copy(room, d + first * N * N);
    for (int i = 0; i < horizon; ++i) {
        double *const pivot = room + i % 2 * N * LEADING, *const next = room + (i + 1) % 2 * N * LEADING;
        const bool is_last = i + 1 == horizon;
        await_copies<0>();
        if (!is_last) begin_copy(coupling, e + (first_coupling + i) * N * N);
        if (!is_last) begin_copy(next, d + (first + i + 1) * N * N);
        front_potrf(pivot, &failed);
        __syncthreads();
        if (threadIdx.x == 0 && failed != 0) info[blockIdx.x] = i + 1;
        store(l + (first + i) * N * N, pivot);
        if (is_last) break;
        await_copies<1>();
        front_trsm(pivot, coupling);
        await_copies<0>();
        front_gemm(&minus_one, coupling, coupling, &one, next);
        store(r + (first_coupling + i) * N * N, coupling);
        __syncthreads();
    }
}

// y -= R x, or R' x.
template <bool transposed>
__device__ void subtract(double* y, const double* r, const double* x) {
    for (int row = threadIdx.x; row < N; row += THREADS) {
        double sum = y[row];
        for (int k = 0; k < N; ++k) sum -= (transposed ? r[k * LEADING + row] : r[row * LEADING + k]) * x[k];
        y[row] = sum;
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS)
    chain_solve(const double* l, const double* r, const double* b, double* x, int horizon) {
    extern __shared__ double room[];
    __shared__ double rows[2][N];
    double *const pivot = room, *const coupling = room + N * LEADING;
    const long long first = static_cast<long long>(blockIdx.x) * horizon, first_coupling = first - blockIdx.x;
    for (int sweep = 0; sweep < 2; ++sweep)
        for (int k = 0; k < horizon; ++k) {
            const int i = sweep == 0 ? k : horizon - 1 - k;
            double *const row = rows[k % 2], *const last = rows[(k + 1) % 2];
            if (k > 0) begin_copy(coupling, r + (first_coupling + (sweep == 0 ? i - 1 : i)) * N * N);
            begin_copy(pivot, l + (first + i) * N * N);
            for (int c = threadIdx.x; c < N; c += THREADS) row[c] = (sweep == 0 ? b : x)[(first + i) * N + c];
            await_copies<0>();
            if (k > 0 && sweep == 0) subtract<false>(row, coupling, last);
            if (k > 0 && sweep == 1) subtract<true>(row, coupling, last);
            if (sweep == 0)
                row_forward(pivot, row);
            else
                row_backward(pivot, row);
            __syncthreads();
            for (int c = threadIdx.x; c < N; c += THREADS) x[(first + i) * N + c] = row[c];
        }
}
)";

constexpr long long hopper = 900;

// Values of libmathdx's, nvJitLink's and CUDA's own enumerations.
enum Option { symbol_name = 0, architecture = 1 };
enum Precision64 { f64 = 6 };
enum Execution { by_blocks = 1 };
enum Arrangement { by_columns = 0, by_rows = 1 };
enum SolverOperator {
    solver_size = 0,
    solver_type = 1,
    solver_precision = 2,
    solver_architecture = 3,
    solver_execution = 4,
    solver_threads = 5,
    solver_api = 6,
    solver_function = 7,
    solver_arrangement = 8,
    solver_half = 9,
    solver_side = 10,
    solver_diagonal = 11,
    solver_transpose = 12,
    solver_leading = 13
};
enum SolverFunction { potrf = 2, trsm = 4 };
enum Half { lower = 1 };
enum Side { left = 0, right = 1 };
enum Diagonal { non_unit = 1 };
enum Transpose { plain = 0, transposed = 1 };
enum ProductOperator {
    product_function = 0,
    product_size = 1,
    product_type = 2,
    product_precision = 3,
    product_architecture = 4,
    product_execution = 5,
    product_threads = 6,
    product_leading = 7,
    product_api = 9,
    product_arrangement = 10
};
enum ProductTrait { suggested_leading = 8 };
enum LinkInput { link_ltoir = 3, link_fatbin = 4 };
enum FunctionAttribute { shared_bytes = 8 };

using Bytes = std::vector<char>;

struct Libraries {
    Library rtc{{"libnvrtc.so.13"}}, link{{"libnvJitLink.so.13"}}, mathdx{{"libmathdx.so.0"}}, driver{{"libcuda.so.1"}};
};

using List = std::vector<long long>;

/// A number that is asked of a library for one of its operators, or a list of them.
struct Asked {
    int name;
    std::variant<long long, List> value;
};

/// A device function of cuSolverDx or cuBLASDx, which have calls of the same names.
class DeviceFunction {
  public:
    DeviceFunction(const Library& library, std::string part, const std::string& name, const std::vector<Asked>& all)
        : library_(library), part_(std::move(part)) {
        call("CreateDescriptor", &handle_);
        call("SetOptionStr", handle_, static_cast<int>(symbol_name), name.c_str());
        for (const auto& [of, value] : all) {
            if (const auto* list = std::get_if<List>(&value))
                call("SetOperatorInt64s", handle_, of, list->size(), list->data());
            else
                call("SetOperatorInt64", handle_, of, std::get<long long>(value));
        }
    }
    DeviceFunction(const DeviceFunction&) = delete;
    DeviceFunction& operator=(const DeviceFunction&) = delete;
    ~DeviceFunction() { library_.find<int(long long)>((part_ + "DestroyDescriptor").c_str())(handle_); }

    std::array<long long, 3> trait(int name) const {
        std::array<long long, 3> values{};
        call("GetTraitInt64s", handle_, name, values.size(), values.data());
        return values;
    }

    Bytes code() const {
        long long code = 0;
        library_.call("commondxCreateCode", &code);
        library_.call("commondxSetCodeOptionInt64", code, static_cast<int>(architecture), hopper);
        call("FinalizeCode", code, handle_);
        std::size_t size = 0;
        library_.call("commondxGetCodeLTOIRSize", code, &size);
        Bytes bytes(size);
        library_.call("commondxGetCodeLTOIR", code, size, static_cast<void*>(bytes.data()));
        library_.call("commondxDestroyCode", code);
        return bytes;
    }

    /// Code that all functions of cuSolverDx share.
    Bytes shared_code() const {
        std::size_t size = 0;
        call("GetUniversalFATBINSize", handle_, &size);
        Bytes bytes(size);
        call("GetUniversalFATBIN", handle_, size, static_cast<void*>(bytes.data()));
        return bytes;
    }

  private:
    template <class... Arguments>
    void call(const char* name, Arguments... arguments) const {
        library_.call((part_ + name).c_str(), arguments...);
    }

    const Library& library_;
    std::string part_;
    long long handle_ = 0;
};

/// Blocks of n by n, by thread blocks of so many threads; rows are `leading` numbers apart in shared memory.
struct Shape {
    long long n, threads, leading;
};

std::vector<Asked> product(const Shape& shape) {
    return {{product_function, 0},
            {product_size, List{shape.n, shape.n, shape.n}},
            {product_type, 0},
            {product_precision, List{f64, f64, f64}},
            {product_architecture, hopper},
            {product_execution, by_blocks},
            {product_threads, List{shape.threads, 1, 1}},
            {product_api, 0},
            {product_arrangement, List{by_rows, by_columns, by_rows}}};
}

std::vector<Asked> with_leading(std::vector<Asked> all, const Shape& shape) {
    all.push_back({product_leading, List{shape.leading, shape.leading, shape.leading}});
    return all;
}

std::vector<Asked> solver(const Shape& shape, long long columns, SolverFunction function) {
    return {{solver_size, List{shape.n, columns}},
            {solver_function, function},
            {solver_precision, f64},
            {solver_type, 0},
            {solver_architecture, hopper},
            {solver_execution, by_blocks},
            {solver_threads, List{shape.threads, 1, 1}},
            {solver_api, 0},
            {solver_half, lower}};
}

std::vector<Asked> cholesky(const Shape& shape) {
    auto all = solver(shape, shape.n, potrf);
    all.push_back({solver_arrangement, List{by_rows}});
    all.push_back({solver_leading, List{shape.leading}});
    return all;
}

std::vector<Asked> triangle(const Shape& shape, Side side, Transpose transpose) {
    const bool is_row = side == left;
    auto all = solver(shape, is_row ? 1 : shape.n, trsm);
    all.push_back({solver_side, side});
    all.push_back({solver_transpose, transpose});
    all.push_back({solver_diagonal, non_unit});
    all.push_back({solver_arrangement, List{by_rows, is_row ? by_columns : by_rows}});
    all.push_back({solver_leading, List{shape.leading, is_row ? shape.n : shape.leading}});
    return all;
}

/// `chain_text` for a shape.
Bytes compile(const Library& rtc, const Shape& shape) {
    void* program = nullptr;
    rtc.call("nvrtcCreateProgram", &program, chain_text, "chain.cu", 0, static_cast<const char**>(nullptr),
             static_cast<const char**>(nullptr));
    const std::vector<std::string> options{"-arch=sm_90",
                                           "-dlto",
                                           "-rdc=true",
                                           "-std=c++17",
                                           fmt::format("-DN={}", shape.n),
                                           fmt::format("-DLEADING={}", shape.leading),
                                           fmt::format("-DTHREADS={}", shape.threads)};
    std::vector<const char*> texts;
    for (const auto& option : options) texts.push_back(option.c_str());
    rtc.call("nvrtcCompileProgram", program, static_cast<int>(texts.size()), texts.data());
    std::size_t size = 0;
    rtc.call("nvrtcGetLTOIRSize", program, &size);
    Bytes bytes(size);
    rtc.call("nvrtcGetLTOIR", program, bytes.data());
    rtc.call("nvrtcDestroyProgram", &program);
    return bytes;
}

Bytes link(const Library& linker, const std::vector<std::pair<LinkInput, Bytes>>& parts) {
    void* handle = nullptr;
    std::array options{"-arch=sm_90", "-lto"};
    linker.call("nvJitLinkCreate", &handle, static_cast<unsigned>(options.size()), options.data());
    for (const auto& [type, bytes] : parts)
        linker.call("nvJitLinkAddData", handle, static_cast<int>(type), static_cast<const void*>(bytes.data()), bytes.size(), "part");
    linker.call("nvJitLinkComplete", handle);
    std::size_t size = 0;
    linker.call("nvJitLinkGetLinkedCubinSize", handle, &size);
    Bytes cubin(size);
    linker.call("nvJitLinkGetLinkedCubin", handle, static_cast<void*>(cubin.data()));
    linker.call("nvJitLinkDestroy", &handle);
    return cubin;
}

Bytes build(const Libraries& all, const Shape& shape) {
    const auto of_solver = [&](const char* name, const std::vector<Asked>& asked) {
        return DeviceFunction(all.mathdx, "cusolverdx", name, asked).code();
    };
    return link(all.link, {{link_ltoir, compile(all.rtc, shape)},
                           {link_ltoir, of_solver("front_potrf", cholesky(shape))},
                           {link_ltoir, of_solver("front_trsm", triangle(shape, right, transposed))},
                           {link_ltoir, of_solver("row_forward", triangle(shape, left, plain))},
                           {link_ltoir, of_solver("row_backward", triangle(shape, left, transposed))},
                           {link_ltoir, DeviceFunction(all.mathdx, "cublasdx", "front_gemm", with_leading(product(shape), shape)).code()},
                           {link_fatbin, DeviceFunction(all.mathdx, "cusolverdx", "any", cholesky(shape)).shared_code()}});
}

/// From the cache, since the libraries take 20 seconds.
Bytes code_of(const Libraries& all, const Shape& shape) {
    int version = 0;
    all.mathdx.call("mathdxGetVersion", &version);
    const auto cache = Cache::from_environment();
    const auto key = sha256(fmt::format("mathdx {} {} {} {} {}", version, shape.n, shape.threads, shape.leading, chain_text));
    if (const auto kept = cache.find_data(key); kept && kept->pieces.size() == 1) {
        Bytes bytes(kept->pieces.front().size());
        std::memcpy(bytes.data(), kept->pieces.front().data(), bytes.size());
        return bytes;
    }
    auto bytes = build(all, shape);
    cache.publish_data(key, {std::as_bytes(std::span(bytes))});
    return bytes;
}

/// A thread block for each system, which walks its chain.
class Chains : public Contender {
  public:
    Chains(Libraries libraries, long long threads, const formats::System& system, const DeviceTools& tools)
        : libraries_(std::move(libraries)),
          tools_(tools),
          horizon_(static_cast<int>(system.horizon)),
          members_(static_cast<unsigned>(system.batch)),
          shape_{system.block, threads, 0},
          d_(tools, system.d, Precision::f64),
          e_(tools, system.e, Precision::f64),
          b_(tools, system.b, Precision::f64),
          l_(tools.allocate(d_.bytes())),
          r_(tools.allocate(e_.bytes())),
          x_(tools, system.b, Precision::f64),
          info_(integers(tools, std::vector<int>(members_))) {
        shape_.leading = DeviceFunction(libraries_.mathdx, "cublasdx", "any", product(shape_)).trait(suggested_leading).front();
        const auto code = code_of(libraries_, shape_);
        libraries_.driver.call("cuModuleLoadData", &module_, static_cast<const void*>(code.data()));
        factor_ = function("chain_factor", 3);
        solve_ = function("chain_solve", 2);
    }
    ~Chains() override { libraries_.driver.find<int(void*)>("cuModuleUnload")(module_); }

    std::vector<Step> steps() override {
        return {{.operation = "factor", .call = [this] { launch(factor_, 3, d_.data(), e_.data(), l_.get(), r_.get(), info_.get()); }},
                {.operation = "solve", .call = [this] { launch(solve_, 2, l_.get(), r_.get(), b_.data(), x_.data()); }, .solves = true}};
    }
    std::vector<double> take_solution() override { return x_.take(); }

  private:
    unsigned shared(unsigned blocks) const { return static_cast<unsigned>(blocks * sizeof(double) * shape_.n * shape_.leading); }

    void* function(const char* name, unsigned blocks) const {
        void* found = nullptr;
        libraries_.driver.call("cuModuleGetFunction", &found, module_, name);
        libraries_.driver.call("cuFuncSetAttribute", found, static_cast<int>(shared_bytes), static_cast<int>(shared(blocks)));
        return found;
    }

    template <class... Pointers>
    void launch(void* function, unsigned blocks, Pointers... pointers) {
        void* arguments[] = {&pointers..., &horizon_};
        libraries_.driver.call("cuLaunchKernel", function, members_, 1U, 1U, static_cast<unsigned>(shape_.threads), 1U, 1U, shared(blocks),
                               tools_.stream(), static_cast<void**>(arguments), static_cast<void**>(nullptr));
    }

    Libraries libraries_;
    const DeviceTools& tools_;
    int horizon_;
    unsigned members_;
    Shape shape_;
    Array d_, e_, b_;
    std::shared_ptr<void> l_, r_;
    Array x_;
    std::shared_ptr<void> info_;
    void *module_ = nullptr, *factor_ = nullptr, *solve_ = nullptr;
};

constexpr std::int64_t largest_block = 96;  // three of them fit into a multiprocessor's shared memory

}  // namespace
}  // namespace dx

Peer mathdx(int threads) {
    Peer peer{.name = fmt::format("mathdx-{}", threads)};
    try {
        const dx::Libraries libraries;
        peer.fits = [](const Spec& spec) {
            return spec.rhs == 1 && spec.precision == Precision::f64 && spec.batch > 1 && spec.block <= dx::largest_block;
        };
        peer.make = [libraries, threads](const formats::System& system, Precision, const DeviceTools& tools) {
            return std::make_unique<dx::Chains>(libraries, threads, system, tools);
        };
    } catch (const Error& error) {
        peer.problem = error.what();
    }
    return peer;
}

}  // namespace trifold::bench
