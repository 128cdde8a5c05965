#pragma once
#include <functional>

#include "tools/bench/regret/records.hpp"

namespace trifold::regret {

/// A choice for a point beside the best that was measured there.
struct Regret {
    Point point;
    std::string chosen, best;  ///< "multi-stage, dataflow"
    double chosen_seconds = 0, best_seconds = 0;
    bool stands_in = false;  ///< the choice was not measured: of what was, the one of least modelled time is in its place
    double ratio() const { return chosen_seconds / best_seconds; }
};

/// What a chooser takes, as schedule and variant.
struct Chosen {
    std::string schedule, variant;
};

/// The candidates of a point that have a time and are accurate.
struct Measured {
    Point point;
    std::string target;
    int workers = 1;
    std::vector<const Record*> records;
};
/// In the order of the records. Points where nothing has a time are left out.
std::vector<Measured> by_point(const std::vector<Record>& records, const std::string& operation);

/// What the chooser took when the records were made.
Chosen recorded_choice(const Measured& measured);
/// The Spec of those who call this operation: `factor` alone, or also factor_solve.
Spec spec_of(const Point& point, const std::string& operation);
/// What it takes now for that Spec.
Chosen choice_now(const Measured& measured, const std::string& operation = "factor_solve");
double modelled_now(const Record& record, const std::string& operation = "factor_solve");

/// One for each point, by what `choose` takes there.
std::vector<Regret> regrets(const std::vector<Record>& records, const std::string& operation,
                            const std::function<Chosen(const Measured&)>& choose);

struct Totals {
    std::size_t points = 0, stand_ins = 0;
    double geometric_mean = 1, largest = 1;
};
Totals totals_of(const std::vector<Regret>& regrets);

/// How far a variant's model is from what was measured, over all its records: time over modelled time, their geometric mean, and the factor
/// by which they scatter around it.
struct Fit {
    std::size_t records = 0;
    double ratio = 1, scatter = 1;
};
std::map<std::string, Fit> fits(const std::vector<Record>& records, const std::string& operation);

}  // namespace trifold::regret
