#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <trifold/device.hpp>
#include <trifold/error.hpp>
#include <trifold/transport.hpp>
#include <vector>

#include "tools/bench/measure.hpp"
#include "tools/bench/ours.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {

/// Options of `bench` that all families have.
struct BenchOptions {
    std::vector<std::string> suites, sizes, peers{"all"};
    std::string device = "auto", precision = "both", problem, output;
    std::vector<std::int64_t> rhs{1};
    std::vector<int> ranks{1};
    int workers = 0;
    double seconds = 0;
    std::optional<double> tolerance;
    std::optional<std::uint64_t> seed;
    bool quick = false, samples = false, json = false;
    std::shared_ptr<Transport> transport;  ///< this process is one of several ranks

    bool has_ranks() const { return transport != nullptr || ranks != std::vector{1}; }
    /// The device, or that of the first rank that is here.
    Device one_device() const { return device_of(transport != nullptr ? transport->rank() : 0); }
    Device device_of(int rank) const;
    int workers_on(const Device& device) const;
    /// How many ranks are measured, one after the other; those of MPI are what they are.
    std::vector<bench::Ranks> all_ranks() const;
    std::uint64_t seed_or_new() const;
    bench::Budget budget(double standard) const;
    std::vector<Precision> precisions() const;
    /// Of relative residuals, where solutions are exact but for rounding.
    double tolerance_of(Precision precision) const { return tolerance.value_or(precision == Precision::f32 ? 1e-6 : 1e-14); }
    /// Sizes of `sizes`, read by `parse`; else the suite's, made small by `make_quick` for --quick.
    template <class Size>
    std::vector<Size> sizes_or(const std::vector<Size>& of_suite, Size (*parse)(std::string_view),
                               std::vector<Size> (*make_quick)(const std::vector<Size>&)) const {
        if (sizes.empty()) return quick ? make_quick(of_suite) : of_suite;
        std::vector<Size> given;
        for (const auto& size : sizes) given.push_back(parse(size));
        return given;
    }
    /// Peers that --peers names, in its order. Throws SpecError for a name that there is not.
    std::vector<bench::Peer> chosen_peers(bench::Family family) const;
};

/// A problem as results name it.
struct BenchCase {
    std::string suite, name;
    Json json;  ///< the problem
};

/// Prints as it goes, since some suites take minutes, and keeps everything for the JSON.
class BenchReport {
  public:
    BenchReport(const BenchOptions& options, const Device& device, std::uint64_t seed, const std::vector<bench::Peer>& peers);
    /// For people alone.
    void text(const std::string& line) const;
    /// The names of the table's columns; `rates`: those of latency.
    void head(const std::string& title, bool rates) const;
    /// Measures a problem, prints its results, and writes down all that was measured so far: a run that is cut off leaves it.
    void measure(const BenchCase& one, const bench::Contest& contest, DeviceTools& tools);
    /// Solves a problem for its residual alone: the worst of all solutions of `one` is in the results, with how many there were.
    void judge(const BenchCase& one, const std::string& where, const bench::Contest& contest, DeviceTools& tools);
    /// Returns the exit status.
    int end();

  private:
    struct Worst {
        BenchCase of;
        std::string where;
        double residual = 0;
        std::int64_t solutions = 0;
    };
    void add(const BenchCase& one, const bench::Result& result, double tolerance);
    void tell(const BenchCase& one, const bench::Result& result, double tolerance);
    void fail(const BenchCase& one, const std::string& solver, const std::string& message);
    const BenchOptions& options_;
    std::map<std::string, Worst> worst_;  ///< by names of cases
    bool sound_ = true, is_shown_;
    Json all_;
    std::map<std::pair<std::string, std::string>, double> ours_;  ///< median seconds by case and operation
};

}  // namespace trifold::command
