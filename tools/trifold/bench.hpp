#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <trifold/device.hpp>
#include <trifold/error.hpp>
#include <vector>

#include "tools/bench/statistics.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {

/// Options of `bench` that all families have.
struct BenchOptions {
    std::vector<std::string> suites, sizes, peers{"all"};
    std::string device = "auto", precision = "both", output;
    std::int64_t rhs = 1;
    int workers = 0;
    double seconds = 0;
    std::optional<double> tolerance;
    std::optional<std::uint64_t> seed;
    bool quick = false, samples = false, json = false;

    int workers_on(const Device& device) const;
    std::uint64_t seed_or_new() const;
    /// Seconds for one operation, where `standard` are the suite's.
    double budget(double standard) const { return seconds > 0 ? seconds : quick ? 0.02 : standard; }
    /// Sizes of `sizes`, read by `parse`; else the suite's, made small by `make_quick` for --quick.
    template <class Size>
    std::vector<Size> sizes_or(const std::vector<Size>& of_suite, Size (*parse)(std::string_view),
                               std::vector<Size> (*make_quick)(const std::vector<Size>&)) const {
        if (sizes.empty()) return quick ? make_quick(of_suite) : of_suite;
        std::vector<Size> given;
        for (const auto& size : sizes) given.push_back(parse(size));
        return given;
    }
    /// Peers of `find()` that --peers names, in its order. `refuse` gives the error for a name that there is not.
    template <class Find, class Refuse>
    auto chosen_peers(Find find, Refuse refuse) const {
        decltype(find()) found, chosen;
        if (peers == std::vector<std::string>{"none"}) return found;
        found = find();
        if (peers == std::vector<std::string>{"all"}) return found;
        for (const auto& name : peers) {
            const auto peer = std::ranges::find_if(found, [&](const auto& one) { return one.name == name; });
            if (peer == found.end()) throw refuse(name, found);
            chosen.push_back(*peer);
        }
        return chosen;
    }
};

/// Median, quantiles and ends of the runs.
Json statistics_json(const bench::Statistics& seconds);

/// Prints as it goes, since some suites take minutes, and keeps everything for the JSON.
class BenchReport {
  public:
    template <class Request>
    BenchReport(const BenchOptions& options, const Request& request, int workers) : BenchReport(options, request.device, workers) {
        all_["seed"] = request.seed;
        for (const auto& peer : request.peers) add_peer(peer.name, peer.problem);
        all_["results"] = all_["failures"] = Json::array();
    }
    /// For people alone.
    void text(const std::string& line) const;
    /// `what` names suite and case in messages. `item` lacks only what all results have: the runs' seconds, when asked for.
    void result(const std::string& what, const std::string& solver, const std::optional<double>& residual, bool accurate,
                const bench::Statistics& seconds, Json item, const std::string& row);
    void failure(const std::string& what, const std::string& solver, const std::string& message, Json item);
    /// Writes down all that was measured so far, so that a run that is cut off leaves it.
    void save() const;
    /// Returns the exit status.
    int end() const;

  private:
    BenchReport(const BenchOptions& options, const Device& device, int workers);
    void add_peer(const std::string& name, const std::string& problem);
    const BenchOptions& options_;
    bool sound_ = true;
    Json all_;
};

}  // namespace trifold::command
