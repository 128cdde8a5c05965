#pragma once
// A small Unit made by hand, without the generator's templates.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <trifold/program.hpp>

#include "runtime/base/files.hpp"

namespace trifold::test {

/// Two kernels; the first writes `number` + the sum of squares below 10 through a pointer, and includes nothing.
inline Unit cpu_unit(int number = 1) {
    Unit unit;
    unit.target = {Backend::cpu, "x86-64-v2"};
    unit.id = "btd_n4_f64_x8664v2_0badf00d";
    unit.kernels = {{"btd_factor_n4_f64_x8664v2_0badf00d"}, {"btd_forward_n4_f64_x8664v2_0badf00d"}};
    unit.options = {"-O3", "-march=x86-64-v2"};
    unit.source =
        "static double square(double x) { return x * x; }\n"
        "void btd_factor_n4_f64_x8664v2_0badf00d(double* out) {\n"
        "    double sum = " +
        std::to_string(number) +
        ";\n"
        "    for (int k = 0; k < 10; ++k) sum += square(k);\n"
        "    *out = sum;\n"
        "}\n"
        "void btd_forward_n4_f64_x8664v2_0badf00d(double* out, const double* in, long n) {\n"
        "    __builtin_memset(out, 0, n * sizeof(double));\n"
        "    for (long k = 0; k < n; ++k) out[k] += __builtin_sqrt(in[k]);\n"
        "}\n";
    return unit;
}
inline constexpr double sum_of_squares = 285;

inline Unit cuda_unit(const std::string& arch = "sm_90") {
    Unit unit;
    unit.target = {Backend::cuda, arch};
    unit.id = "btd_n4_f64_sm" + arch.substr(3) + "_0badf00d";
    unit.kernels = {{"btd_factor_n4_f64_sm" + arch.substr(3) + "_0badf00d"}};
    unit.options = {"-arch=" + arch, "--ptxas-options=-v"};
    unit.source = "extern \"C\" __global__ void " + unit.kernels[0].name +
                  "(double* x) {\n"
                  "    __shared__ double tile[128];\n"
                  "    tile[threadIdx.x] = x[threadIdx.x];\n"
                  "    __syncthreads();\n"
                  "    x[threadIdx.x] = sqrt(tile[127 - threadIdx.x]);\n"
                  "}\n";
    return unit;
}

/// Sets or unsets environment variables for a scope.
class WithEnvironment {
  public:
    WithEnvironment(std::initializer_list<std::pair<std::string, const char*>> values) {
        for (const auto& [name, value] : values) {
            const char* old = std::getenv(name.c_str());
            old_.emplace(name, old == nullptr ? std::pair(false, std::string()) : std::pair(true, std::string(old)));
            apply(name, value);
        }
    }
    WithEnvironment(const WithEnvironment&) = delete;
    WithEnvironment& operator=(const WithEnvironment&) = delete;
    ~WithEnvironment() {
        for (const auto& [name, value] : old_) apply(name, value.first ? value.second.c_str() : nullptr);
    }

  private:
    static void apply(const std::string& name, const char* value) {
        if (value == nullptr) {
            ::unsetenv(name.c_str());
        } else {
            ::setenv(name.c_str(), value, 1);
        }
    }
    std::map<std::string, std::pair<bool, std::string>> old_;
};

}  // namespace trifold::test
