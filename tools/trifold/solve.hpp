#pragma once
#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <trifold/plan.hpp>
#include <trifold/transport.hpp>
#include <vector>

#include "tools/trifold/input.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {

/// Options of `solve` that all families have.
struct SolveOptions {
    std::vector<std::string> files;
    Output output;
    std::string device = "auto", precision;
    int workers = 0;  ///< 0: one for each processor that may be used
    std::optional<double> tolerance;
    bool accept_nearly_singular = false, condition = false;
    int ranks = 1;                                     ///< threads of this process that share the problem
    std::shared_ptr<Transport> transport;              ///< this process is one of several ranks
    std::shared_ptr<std::vector<Contents>> looked_at;  ///< files that were read to see which family they are for

    /// Contents of the files, which are read once.
    std::vector<Contents> read() const;
    /// The precision that was asked for. Throws SpecError.
    std::optional<Precision> asked_precision() const;
    /// How many share the problem.
    int all_ranks() const { return transport != nullptr ? transport->ranks() : ranks; }
    /// Device on which a rank computes: `auto` is the processor if there are several ranks, and of GPUs each has the one with its number.
    Device device_of(int rank) const;
    /// Threads of the CPU that a rank has; a GPU's solver has one.
    int workers_on(const Device& device) const;
    /// The largest relative residual that is taken.
    double tolerance_of(Precision solved_in) const;
};

/// Adds them to a verb.
void add_solve_options(CLI::App& app, SolveOptions& options, const std::string& files);

/// Runs a function on threads, each of which is a rank. Rethrows what the lowest rank has thrown.
void on_ranks(int ranks, const std::function<void(std::shared_ptr<Transport>)>& work);

/// A family's answer to a matrix that comes without a word on its structure.
struct Fit {
    bool fits = false;
    double flops = 0;  ///< of a solution: the family with the fewest takes it
    std::string size;  ///< as it is given to the option that names the family
    std::string why;   ///< why it fits, or why not
};

/// Says so where a residual is above the tolerance.
void say_inaccurate(double residual, double tolerance);

/// What both the JSON and the text say of how long it took.
Json seconds_json(const PlanReport& report, double factor_seconds, double solve_seconds);
/// "prebuilt", "hit" or "miss", for JSON.
std::string kernels_word(const PlanReport& report);
std::string kernels_text(const PlanReport& report);

double seconds_of(auto&& action) {
    const auto start = std::chrono::steady_clock::now();
    action();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace trifold::command
