#pragma once
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <trifold/device.hpp>
#include <trifold/program.hpp>
#include <vector>

#include "generator/program/knob.hpp"
#include "generator/program/wisdom.hpp"
#include "tools/tune/prepared.hpp"
#include "tools/tune/trial.hpp"

namespace trifold::tune {

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

/// A family as the tuner knows it. Specs are JSON as `parse` returns them. What makes something of a candidate throws SpecError where the
/// generator refuses it.
struct TunedFamily {
    std::string_view name;
    std::vector<std::string_view> operations;       ///< that an objective may have, in the order in which it has them
    std::array<std::string, 2> sizes;               ///< the fields that people write: N x n
    Objective usual = {{"factor_solve", 1}};        ///< it is to be fast where no other is asked for
    double (*tolerance)(Precision) = tolerance_of;  ///< the largest relative residual that is taken

    /// The first says that the family is wanted, and the others need it. Without one there are points in files only.
    std::vector<SpecOption> options;
    /// The block where --block is not given: 0 where it must be, nothing for a family without blocks.
    std::optional<std::int64_t> usual_block;
    /// The Spec of the options' fields, for `parse`; null where they are its fields.
    nlohmann::json (*of_options)(nlohmann::json fields) = nullptr;

    /// A Spec with all its fields, the same for the same Spec. Throws SpecError where it is none.
    nlohmann::json (*parse)(const nlohmann::json& spec);
    /// Words for what is not the default other than sizes, precision and right-hand sides, each with a space before it.
    std::string (*notes)(const nlohmann::json& spec);

    /// The candidate that is taken without wisdom of the user: by shipped wisdom of the named device, or by rows and models.
    Candidate (*standard)(const Point&, const Target&, std::string_view device);
    /// The other schedules and variants without pinned knobs, the most promising first; with `all` every one that is known.
    std::vector<Candidate> (*others)(const Point&, const Target&, bool all);
    /// The candidate with its modelled seconds, if there is a model, and the variant's name as the generator writes it.
    Candidate (*complete)(const Point&, const Target&, const Candidate&);
    std::vector<Knob> (*knobs)(const Target&, const std::string& variant);
    std::vector<KnobDecision> (*decided)(const Point&, const Target&, const Candidate&);
    Program (*program)(const Point&, const Target&, const Candidate&);
    /// Modelled seconds of an operation, with the numbers of a device; null where the family has no models.
    double (*modelled)(const Point&, const Target&, const Candidate&, std::string_view operation, const KnownDevice&) = nullptr;

    /// The operations that factor: the first that the Spec has makes a candidate ready for the others.
    std::vector<std::string> factors;
    std::vector<Experiment> experiments;  ///< those that have the Spec's operations alone are what candidates must agree in
    std::vector<std::string> uncaptured;  ///< operations that no graph of a caller can record
    std::int64_t (*data_bytes)(const nlohmann::json& spec);  ///< of the arrays of one call
    /// Random arrays, `sets` times. The tools must outlive them.
    std::unique_ptr<PointData> (*data)(const nlohmann::json& spec, std::uint64_t seed, DeviceTools&, std::int64_t sets);

    bool (*owns)(const ProblemKey&);
    ProblemKey (*key)(const Point&, const Target&);
    nlohmann::json (*spec)(const ProblemKey&);  ///< throws SpecError where the key's texts say none
};

/// All of them: the table of registry.cpp, the one file that names them. The first is that of Specs that name none, as in files that were
/// written when there was no other.
std::vector<const TunedFamily*> registered_families();
std::span<const TunedFamily* const> families();
/// Throw SpecError with the families' names.
const TunedFamily& family_of(const nlohmann::json& spec);
const TunedFamily& family_of(const ProblemKey& key);
inline const TunedFamily& family_of(const Point& point) { return family_of(point.spec); }

/// The objective's operations in the order of the family. Throws SpecError where it has none of a name.
Objective ordered(const Objective& objective, const TunedFamily& family);
bool has_operation(const nlohmann::json& spec, std::string_view name);
/// Throws SpecError where the row's key says no problem of its family; for read_wisdom.
void check_key(const WisdomRow& row);
/// Why no kernels can be made as a row says; empty: they can.
std::string refusal_of(const WisdomRow& row);

/// A decision as a row of a wisdom file, which names generator, driver, effort and trials in `measured`. Throws SpecError.
WisdomRow row_of(const Decision& decision);

}  // namespace trifold::tune
