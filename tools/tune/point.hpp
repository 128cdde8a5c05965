#pragma once
#include <compare>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <trifold/precision.hpp>
#include <utility>
#include <vector>

/// The search for the fastest kernels of a device, and its records. It knows families by their names only: see family.hpp.
namespace trifold::tune {

/// The time that is to be short: the seconds of these operations, each times its weight, added up. Each operation is there once.
using Objective = std::vector<std::pair<std::string, double>>;
std::string to_string(const Objective& objective);  ///< "factor_solve", "factor+3*solve"
/// In the order of the text. Whether there are such operations is not looked at. Throws SpecError.
Objective parse_objective(std::string_view text);

/// How a captured program ran a problem: texts as TRIFOLD_CAPTURE writes them.
struct CapturedRun {
    std::string target, schedule, variant;
    auto operator<=>(const CapturedRun&) const = default;
};

/// A problem to tune: a Spec as a program makes a Plan of it, the CPU threads of a call, and what it calls most.
struct Point {
    nlohmann::json spec;  ///< as its family writes a Spec: the same for the same Spec. Without a "family" it is of the first one
    int workers = 1;
    Objective objective = {{"factor_solve", 1}};
    double seconds = 0;              ///< that a captured program spent in it; 0: not known. The costly ones are tuned first
    std::set<CapturedRun> ran = {};  ///< of captured programs
};
std::string to_string(const Point& point);  ///< "50x20x256 f64", "513x513 f32": sizes, members, and what else is not the default

Precision precision_of(const Point& point);
std::int64_t number_in(const Point& point, std::string_view field);  ///< of its Spec

}  // namespace trifold::tune
