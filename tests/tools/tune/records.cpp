#include "tests/tools/tune/records.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tools/tune/tridiagonal/spec.hpp"

using namespace trifold;
using namespace trifold::tune;
namespace fs = std::filesystem;

Machine a_machine(const std::string& device, const std::string& target) { return {device, target, "580.65 (CUDA 13.0)"}; }

Point a_point(int k) {
    Spec spec{.block = 4 + k % 7, .horizon = 16 + k, .precision = k % 2 == 0 ? Precision::f64 : Precision::f32, .rhs = 1 + k % 3};
    spec.batch = k % 4 == 0 ? 256 : 1;
    if (k % 5 == 0) spec.order = Order::column_major;
    if (k % 5 == 1) spec.operations.insert(Operation::inverse);
    auto point = tune::tridiagonal::point_of(spec, 1 + k % 2);
    if (k % 3 == 1) point.objective = parse_objective("factor+3*solve");
    point.seconds = 0.1 * k;
    return point;
}

Trial a_trial(int k, const Machine& machine) {
    Trial trial{machine, fmt::format("0.1.{}-01234567", k % 2), a_point(k), {fmt::format("recursive:{}", k), "tile:halves=1", 1e-6 * k}};
    trial.is_default = k % 2 == 1;
    trial.round = k % 3 == 0 ? "first" : "final";
    trial.verdict = static_cast<Verdict>(k % 9);
    trial.why = fmt::format("line 1\nline {}\t\"quoted\" 'twice' {{}} % ; -- \\ \u00e9", k);
    trial.seconds = {{"factor", 1.0 / (3 + k)}, {"solve", 1e-7 / (1 + k)}, {"factor_solve", 2.0 / (3 + k)}};
    trial.spread = 0.01 / (1 + k);
    trial.runs = 5 + k;
    trial.residual = 1e-16 * k;
    trial.kernels = {{{"name", "factor"}, {"registers", k}, {"spills", 0}}};
    trial.took = 1.5 * k;
    return trial;
}

Decision a_decision(int k, const Machine& machine) {
    Decision decision{
        machine, fmt::format("0.1.{}-01234567", k % 2), a_point(k), {"multi-stage", "dataflow", 1e-6}, {"sequential", "chain", 3e-6}};
    decision.seconds = 1.0 / (3 + k);
    decision.standard_seconds = 1.3 / (3 + k);
    decision.spread = 0.004 / (1 + k);
    decision.trials = 7 + k;
    decision.effort = k % 2 == 0 ? "full" : "quick";
    return decision;
}

std::vector<std::string> texts(const std::vector<Trial>& trials) {
    std::vector<std::string> result;
    for (const auto& trial : trials) result.push_back(to_json(trial).dump());
    return result;
}

Folder::Folder()
    : path([] {
          static int count = 0;
          return fs::temp_directory_path() / fmt::format("trifold-tune-test-{}-{}", ::getpid(), ++count);
      }()) {
    fs::create_directories(path);
}

Folder::~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

std::string bytes_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

void put_bytes(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string complaint(const std::function<void()>& action) try {
    action();
    return {};
} catch (const std::exception& error) {
    return error.what();
}

int begin_child(const std::function<int()>& action) {
    const int child = ::fork();
    if (child != 0) return child;
    int status = 99;
    try {
        status = action();
    } catch (const std::exception&) {
    }
    ::_exit(status);
}

int wait_for(int child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
