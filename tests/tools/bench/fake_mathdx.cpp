// libmathdx, NVRTC, nvJitLink and CUDA's driver as far as the peer of chains calls them, on host memory. A linked program is a text that
// says what was asked for; a launch does what the peer's kernels do. Arguments that the real libraries would not take give status 7.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int success = 0, invalid = 7;

using Numbers = std::vector<long long>;

/// Text that a call gives back in two steps, as its size and its bytes.
int give_size(const std::string& text, std::size_t* size) { return *size = text.size(), success; }
int give(const std::string& text, std::size_t size, void* bytes) {
    if (size != text.size()) return invalid;
    return std::memcpy(bytes, text.data(), size), success;
}

struct Descriptor {
    std::string name;
    std::map<int, Numbers> asked;
    bool is_frozen = false;
};
Descriptor& descriptor(long long handle) { return *reinterpret_cast<Descriptor*>(handle); }

int create(long long* handle) { return *handle = reinterpret_cast<long long>(new Descriptor), success; }
int destroy(long long handle) { return delete &descriptor(handle), success; }
int set_name(long long handle, int option, const char* name) {
    if (option != 0 || descriptor(handle).is_frozen) return invalid;
    return descriptor(handle).name = name, success;
}
int set(long long handle, int name, Numbers values) { return descriptor(handle).asked[name] = std::move(values), success; }

struct Code {
    std::string text;
    long long architecture = 0;
};
Code& code(long long handle) { return *reinterpret_cast<Code*>(handle); }

/// "part name n columns threads leading", as operators of the two libraries name them.
int finalize(long long handle, Descriptor& of, int size, int threads, int leading) {
    if (code(handle).architecture != 900 || of.name.empty()) return invalid;
    const auto& sizes = of.asked.at(size);
    std::ostringstream text;
    text << "part " << of.name << ' ' << sizes.at(0) << ' ' << sizes.at(1) << ' ' << of.asked.at(threads).at(0) << ' '
         << of.asked.at(leading).at(0) << '\n';
    return code(handle).text = text.str(), of.is_frozen = true, success;
}

struct Program {
    std::string text;
};

struct Linked {
    std::string all;
    int n = 0, threads = 0, leading = 0;
};

struct Function {
    std::string name;
    Linked module;
    int shared = 0;
};

using Matrix = double*;

/// L over D and R over E of one system, by rows of blocks.
void factor(int n, int horizon, const double* d, const double* e, Matrix l, Matrix r) {
    const int size = n * n;
    std::vector<double> pivot(d, d + size);
    for (int i = 0; i < horizon; ++i) {
        for (int column = 0; column < n; ++column)
            for (int row = column; row < n; ++row) {
                double sum = pivot[row * n + column];
                for (int k = 0; k < column; ++k) sum -= l[i * size + row * n + k] * l[i * size + column * n + k];
                l[i * size + row * n + column] = row == column ? std::sqrt(sum) : sum / l[i * size + column * n + column];
            }
        if (i + 1 == horizon) return;
        for (int row = 0; row < n; ++row)
            for (int column = 0; column < n; ++column) {
                double sum = e[i * size + row * n + column];
                for (int k = 0; k < column; ++k) sum -= r[i * size + row * n + k] * l[i * size + column * n + k];
                r[i * size + row * n + column] = sum / l[i * size + column * n + column];
            }
        for (int row = 0; row < n; ++row)
            for (int column = 0; column < n; ++column) {
                double sum = d[(i + 1) * size + row * n + column];
                for (int k = 0; k < n; ++k) sum -= r[i * size + row * n + k] * r[i * size + column * n + k];
                pivot[row * n + column] = sum;
            }
    }
}

void solve(int n, int horizon, const double* l, const double* r, const double* b, double* x) {
    const int size = n * n;
    for (int i = 0; i < horizon; ++i)
        for (int row = 0; row < n; ++row) {
            double sum = b[i * n + row];
            for (int k = 0; k < n && i > 0; ++k) sum -= r[(i - 1) * size + row * n + k] * x[(i - 1) * n + k];
            for (int k = 0; k < row; ++k) sum -= l[i * size + row * n + k] * x[i * n + k];
            x[i * n + row] = sum / l[i * size + row * n + row];
        }
    for (int i = horizon - 1; i >= 0; --i)
        for (int row = n - 1; row >= 0; --row) {
            double sum = x[i * n + row];
            for (int k = 0; k < n && i + 1 < horizon; ++k) sum -= r[i * size + k * n + row] * x[(i + 1) * n + k];
            for (int k = row + 1; k < n; ++k) sum -= l[i * size + k * n + row] * x[i * n + k];
            x[i * n + row] = sum / l[i * size + row * n + row];
        }
}

template <class Value>
Value argument(void** arguments, int place) {
    return *static_cast<Value*>(arguments[place]);
}

}  // namespace

extern "C" {

int mathdxGetVersion(int* version) { return *version = 401, success; }
int cublasdxCreateDescriptor(long long* handle) { return create(handle); }
int cusolverdxCreateDescriptor(long long* handle) { return create(handle); }
int cublasdxDestroyDescriptor(long long handle) { return destroy(handle); }
int cusolverdxDestroyDescriptor(long long handle) { return destroy(handle); }
int cublasdxSetOptionStr(long long handle, int option, const char* name) { return set_name(handle, option, name); }
int cusolverdxSetOptionStr(long long handle, int option, const char* name) { return set_name(handle, option, name); }
int cublasdxSetOperatorInt64(long long handle, int name, long long value) { return set(handle, name, {value}); }
int cusolverdxSetOperatorInt64(long long handle, int name, long long value) { return set(handle, name, {value}); }
int cublasdxSetOperatorInt64s(long long handle, int name, std::size_t count, const long long* values) {
    return count < 2 ? invalid : set(handle, name, {values, values + count});
}
int cusolverdxSetOperatorInt64s(long long handle, int name, std::size_t count, const long long* values) {
    return set(handle, name, {values, values + count});
}
int cublasdxGetTraitInt64s(long long handle, int trait, std::size_t count, long long* values) {
    if (trait != 8 || count != 3) return invalid;
    for (std::size_t k = 0; k < count; ++k) values[k] = descriptor(handle).asked.at(1).at(0) + 2;
    return descriptor(handle).is_frozen = true, success;
}
int commondxCreateCode(long long* handle) { return *handle = reinterpret_cast<long long>(new Code), success; }
int commondxDestroyCode(long long handle) { return delete &code(handle), success; }
int commondxSetCodeOptionInt64(long long handle, int option, long long value) {
    return option != 1 ? invalid : (code(handle).architecture = value, success);
}
int cublasdxFinalizeCode(long long handle, long long of) { return finalize(handle, descriptor(of), 1, 6, 7); }
int cusolverdxFinalizeCode(long long handle, long long of) { return finalize(handle, descriptor(of), 0, 5, 13); }
int commondxGetCodeLTOIRSize(long long handle, std::size_t* size) { return give_size(code(handle).text, size); }
int commondxGetCodeLTOIR(long long handle, std::size_t size, void* bytes) { return give(code(handle).text, size, bytes); }
int cusolverdxGetUniversalFATBINSize(long long, std::size_t* size) { return give_size("fatbin\n", size); }
int cusolverdxGetUniversalFATBIN(long long, std::size_t size, void* bytes) { return give("fatbin\n", size, bytes); }

int nvrtcCreateProgram(void** program, const char* text, const char*, int, const char**, const char**) {
    return *program = new Program{std::strstr(text, "chain_factor") != nullptr ? "source" : ""}, success;
}
int nvrtcCompileProgram(void* program, int count, const char** options) {
    auto& text = static_cast<Program*>(program)->text;
    for (int k = 0; k < count; ++k) text += std::string(" ") + options[k];
    return text += '\n', text.starts_with("source -arch=sm_90 -dlto") ? success : invalid;
}
int nvrtcGetLTOIRSize(void* program, std::size_t* size) { return give_size(static_cast<Program*>(program)->text, size); }
int nvrtcGetLTOIR(void* program, char* bytes) {
    const auto& text = static_cast<Program*>(program)->text;
    return give(text, text.size(), bytes);
}
int nvrtcDestroyProgram(void** program) { return delete static_cast<Program*>(*program), success; }

int nvJitLinkCreate(void** handle, unsigned count, const char**) { return *handle = new Linked, count == 2 ? success : invalid; }
int nvJitLinkAddData(void* handle, int type, const void* bytes, std::size_t size, const char*) {
    const std::string text(static_cast<const char*>(bytes), size);
    if (type != (text == "fatbin\n" ? 4 : 3)) return invalid;
    return static_cast<Linked*>(handle)->all += text, success;
}
int nvJitLinkComplete(void* handle) {
    const auto& all = static_cast<Linked*>(handle)->all;
    for (const auto* name :
         {"fatbin", "source", "part front_potrf ", "part front_trsm ", "part front_gemm ", "part row_forward ", "part row_backward "})
        if (all.find(name) == std::string::npos) return invalid;
    return success;
}
int nvJitLinkGetLinkedCubinSize(void* handle, std::size_t* size) { return give_size(static_cast<Linked*>(handle)->all, size); }
int nvJitLinkGetLinkedCubin(void* handle, void* bytes) {
    const auto& all = static_cast<Linked*>(handle)->all;
    return give(all, all.size(), bytes);
}
int nvJitLinkDestroy(void** handle) { return delete static_cast<Linked*>(*handle), success; }

/// Takes code whose parts have one shape.
int cuModuleLoadData(void** module, const void* bytes) {
    Linked linked;
    linked.all = static_cast<const char*>(bytes);
    const auto number = [&](const char* option) { return std::stoi(linked.all.substr(linked.all.find(option) + std::strlen(option))); };
    linked.n = number("-DN="), linked.threads = number("-DTHREADS="), linked.leading = number("-DLEADING=");
    std::istringstream lines(linked.all);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string part, name;
        int n = 0, columns = 0, threads = 0, leading = 0;
        if (!line.starts_with("part ")) continue;
        words >> part >> name >> n >> columns >> threads >> leading;
        if (n != linked.n || threads != linked.threads || leading != linked.leading || columns != (name.starts_with("row_") ? 1 : n))
            return invalid;
    }
    return *module = new Linked(linked), success;
}
int cuModuleUnload(void* module) { return delete static_cast<Linked*>(module), success; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
    static std::vector<std::unique_ptr<Function>> all;
    all.push_back(std::make_unique<Function>(Function{name, *static_cast<Linked*>(module)}));
    return *function = all.back().get(), success;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
    return attribute != 8 ? invalid : (static_cast<Function*>(function)->shared = value, success);
}
int cuLaunchKernel(void* raw, unsigned members, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned shared, void*,
                   void** arguments, void**) {
    const auto& function = *static_cast<Function*>(raw);
    const auto n = function.module.n;
    const bool factors = function.name == "chain_factor";
    if (static_cast<int>(threads) != function.module.threads || static_cast<int>(shared) != function.shared) return invalid;
    if (function.shared != (factors ? 3 : 2) * n * function.module.leading * static_cast<int>(sizeof(double))) return invalid;
    const auto horizon = argument<int>(arguments, factors ? 5 : 4);
    for (unsigned member = 0; member < members; ++member) {
        const auto blocks = std::int64_t{member} * horizon * n * n, couplings = std::int64_t{member} * (horizon - 1) * n * n,
                   rows = std::int64_t{member} * horizon * n;
        const auto at = [&](int place, std::int64_t offset) { return argument<double*>(arguments, place) + offset; };
        if (factors)
            factor(n, horizon, at(0, blocks), at(1, couplings), at(2, blocks), at(3, couplings));
        else
            solve(n, horizon, at(0, blocks), at(1, couplings), at(2, rows), at(3, rows));
    }
    return success;
}
}
