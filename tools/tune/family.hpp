#pragma once
#include <array>
#include <compare>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <trifold/call.hpp>
#include <trifold/device.hpp>
#include <trifold/precision.hpp>
#include <trifold/program.hpp>
#include <vector>

#include "generator/program/fields.hpp"
#include "generator/program/knob.hpp"
#include "generator/program/wisdom.hpp"

/// The search for the fastest kernels of a device, and its records. It knows families by their names only.
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
std::string to_string(const Point& point);    ///< "50x20x256 f64", "513x513 f32": sizes, members, and what else is not the default
std::string identity_of(const Point& point);  ///< equal for the same Spec, workers and objective
Precision precision_of(const Point& point);
std::int64_t number_in(const Point& point, std::string_view field);  ///< of its Spec
bool has_operation(const nlohmann::json& spec, std::string_view name);

/// One way to solve a point: what Tuning takes. A variant may have pinned knobs.
struct Candidate {
    std::string schedule, variant;
    double modelled_seconds = 0;
    bool operator==(const Candidate& other) const { return schedule == other.schedule && variant == other.variant; }
};

/// A candidate as the generator takes it.
struct Made {
    Candidate candidate;  ///< with its modelled seconds, if there is a model, and the variant's name as the generator writes it
    std::vector<KnobDecision> decided;
    std::function<Program()> program;
};

/// An array of operations, by its name; solutions are in "x".
struct ArraySize {
    std::string name;
    std::int64_t elements;  ///< of all members
};

/// Random values of the first members of a problem, which the others repeat.
struct RandomProblem {
    std::int64_t members;
    std::map<std::string, std::vector<double>> values;  ///< rounded to the precision; arrays of results have none
    /// The relative residual of X, the worst of these members, whose parts of "x" are given.
    std::function<double(const std::vector<double>& x)> residual;
};
/// The number of members that are made, by the bytes of each.
std::int64_t different_members(std::int64_t batch, std::int64_t bytes_of_each);
/// A device holds rounded values in single precision, and its solution is checked against these.
void round_to(Precision precision, std::vector<double>& values);

/// Results of the operations of a Spec, by name: solutions of the first members, log determinants and the like.
struct Outputs {
    std::map<std::string, std::vector<double>> values = {};
    std::vector<std::string> status = {};  ///< how each member fared, in words that are the same whatever the order of elimination
};

/// A candidate that is ready to run. `run` puts an operation into the stream.
struct Solving {
    std::vector<KernelResources> kernels;
    std::function<void(const std::string& operation, const std::vector<AnyArray>& arrays, Stream stream)> run;
    std::function<void()> check;                           ///< throws what the library throws about results
    std::function<Outputs(std::string_view last)> result;  ///< after an operation: how members fared, and numbers that are in no array
};

/// An option of the command line that has values of a field of Specs, with commas between.
struct SpecOption {
    std::string name, field, help;  ///< "--horizon", "horizon"
    std::string usual = {};         ///< where it is not given; empty: the field is left out
    bool is_number = false;         ///< numbers and ranges; else words
};

/// An experiment on the first set of arrays: operations one after another, and the array that then holds the result.
struct Experiment {
    std::vector<std::string> operations;
    std::string array = "x";
};

/// The largest relative residual that is taken, of families whose solutions are exact but for rounding.
double tolerance_of(Precision precision);

/// A family as the tuner knows it. Specs are JSON as `parse` returns them. What makes something of a candidate throws SpecError where the
/// generator refuses it.
struct TunedFamily {
    using Named = std::pair<std::string, std::vector<std::string>>;
    std::string_view name;
    std::vector<Named> operations;                  ///< in the order in which objectives have them, with the arrays that each is given
    std::array<std::string, 2> sizes;               ///< the fields that people write: N x n
    Objective usual = {{"factor_solve", 1}};        ///< it is to be fast where no other is asked for
    double (*tolerance)(Precision) = tolerance_of;  ///< the largest relative residual that is taken

    const Fields* fields = nullptr;  ///< of Specs; each choice among them is an option too
    std::string_view in_files;       ///< a choice that files alone have, since its option is another family's
    /// The first says that the family is wanted, and the others need it. Without one there are points in files only.
    std::vector<SpecOption> options;
    /// The block where --block is not given: 0 where it must be, nothing for a family without blocks.
    std::optional<std::int64_t> usual_block;
    /// The Spec of the options' fields, for `parse`; null where they are its fields.
    nlohmann::json (*of_options)(nlohmann::json fields) = nullptr;

    /// A Spec with all its fields, the same for the same Spec. Throws SpecError where it is none.
    nlohmann::json (*parse)(const nlohmann::json& spec);
    /// Words for what is not the default other than sizes, precision, right-hand sides and choices, each with a space before it.
    std::string (*notes)(const nlohmann::json& spec) = [](const nlohmann::json&) { return std::string(); };

    /// The candidate that is taken without wisdom of the user: by shipped wisdom of the named device, or by rows and models.
    Candidate (*standard)(const Point&, const Target&, std::string_view device);
    /// The other schedules and variants without pinned knobs, the most promising first; with `all` every one that is known.
    std::vector<Candidate> (*others)(const Point&, const Target&, bool all) = [](const auto&, const auto&, bool) {
        return std::vector<Candidate>();
    };
    std::span<const Knob> (*knobs)(const Target&, const std::string& variant);
    Made (*make)(const Point&, const Target&, const Candidate&);
    /// Modelled seconds of an operation, with the numbers of a device; null where the family has no models.
    double (*modelled)(const Point&, const Target&, const Candidate&, std::string_view operation, const KnownDevice&) = nullptr;

    /// The operations that factor: the first that the Spec has makes a candidate ready for the others.
    std::vector<std::string> factors;
    std::vector<Experiment> experiments;  ///< those that have the Spec's operations alone are what candidates must agree in
    std::vector<std::string> uncaptured;  ///< operations that no graph of a caller can record
    std::vector<ArraySize> (*arrays)(const nlohmann::json& spec);
    RandomProblem (*random)(const nlohmann::json& spec, std::uint64_t seed);
    Solving (*solving)(const Point&, const Candidate&, const Device&);

    bool (*owns)(const ProblemKey&);
    ProblemKey (*key)(const Point&, const Target&);
    nlohmann::json (*spec)(const ProblemKey&);  ///< throws SpecError where the key's texts say none
};

/// All of them, to which a program may add its own. The first is that of Specs that name none, as in files that were written when there was
/// no other.
std::vector<const TunedFamily*>& families();
const TunedFamily& tridiagonal_family();
const TunedFamily& grid_family();
const TunedFamily& sparse_family();
/// Throw SpecError with the families' names.
const TunedFamily& family_of(const nlohmann::json& spec);
const TunedFamily& family_of(const ProblemKey& key);
inline const TunedFamily& family_of(const Point& point) { return family_of(point.spec); }

/// The arrays that a family's operation is given; null where it has no such operation.
const std::vector<std::string>* arrays_of(const TunedFamily& family, std::string_view operation);
std::int64_t data_bytes(const Point& point);  ///< of the arrays of one call
/// The objective's operations in the order of the family. Throws SpecError where it has none of a name.
Objective ordered(const Objective& objective, const TunedFamily& family);
/// Throws SpecError where the row's key says no problem of its family; for read_wisdom.
void check_key(const WisdomRow& row);
/// Why no kernels can be made as a row says; empty: they can.
std::string refusal_of(const WisdomRow& row);

}  // namespace trifold::tune
