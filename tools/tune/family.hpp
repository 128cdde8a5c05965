#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <trifold/device.hpp>
#include <trifold/program.hpp>

#include "generator/program/knob.hpp"
#include "generator/program/wisdom.hpp"
#include "tools/bench/floor.hpp"
#include "tools/tune/prepared.hpp"
#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// Lists that the command line gives to every family: --block, --batch, --rhs, --precision.
struct CommonRanges {
    std::vector<std::int64_t> blocks;  ///< empty: none were given
    std::vector<std::int64_t> batches{1}, rhs{1};
    std::vector<Precision> precisions{Precision::f64};
};

/// A family's own options of the command line that say what to tune.
class SpecRanges {
  public:
    SpecRanges() = default;
    SpecRanges(const SpecRanges&) = delete;
    SpecRanges& operator=(const SpecRanges&) = delete;
    virtual ~SpecRanges() = default;
    virtual void add_to(CLI::App& app) = 0;
    virtual bool given() const = 0;
    /// Every combination once, the first sizes varying slowest, as Specs in JSON of which fields may be missing. Throws SpecError.
    virtual std::vector<nlohmann::json> specs(const CommonRanges& common) const = 0;
};

/// A field of a Spec that says how large it is, and what people call it.
struct SizeField {
    std::string field, label;
};

/// A family as the tuner knows it. Specs are JSON as `parse` returns them.
struct TunedFamily {
    std::string_view name;
    std::vector<std::string_view> operations;       ///< that an objective may have, in the order in which it has them
    std::vector<SizeField> sizes;                   ///< two, as people write them: N x n
    std::string_view member;                        ///< of a batch: "system", "image"
    Objective usual = {{"factor_solve", 1}};        ///< what is to be fast where nobody says it
    double (*tolerance)(Precision) = tolerance_of;  ///< the largest relative residual that is taken

    /// A Spec with all its fields, the same for the same Spec. Throws SpecError where it is none.
    nlohmann::json (*parse)(const nlohmann::json& spec);
    /// Words for what is not the default beside sizes, precision and right-hand sides, each word with a space before it.
    std::string (*notes)(const nlohmann::json& spec);
    std::unique_ptr<SpecRanges> (*ranges)();

    /// The candidate that is taken without wisdom of the user: by shipped wisdom of the named device, or by rows and models. Throws
    /// SpecError.
    Candidate (*standard)(const Point&, const Target&, std::string_view device);
    /// The other schedules and variants without pinned knobs, the most promising first; with `all` every one that is known.
    std::vector<Candidate> (*others)(const Point&, const Target&, bool all);
    /// The candidate with its modelled seconds, if there is a model, and the variant's name as the generator writes it. Throws SpecError
    /// where the generator refuses it. So do the next three.
    Candidate (*complete)(const Point&, const Target&, const Candidate&);
    std::vector<Knob> (*knobs)(const Target&, const std::string& variant);
    std::vector<Turned> (*decided)(const Point&, const Target&, const Candidate&);
    Program (*program)(const Point&, const Target&, const Candidate&);

    /// Modelled seconds of an operation, with the numbers of a device; null where the family has no models.
    double (*modelled)(const Point&, const Target&, const Candidate&, std::string_view operation, const KnownDevice&);

    /// Bytes of the arrays of one call.
    std::int64_t (*data_bytes)(const nlohmann::json& spec);
    /// Random arrays, `sets` times. The tools must outlive them.
    std::unique_ptr<PointData> (*data)(const nlohmann::json& spec, std::uint64_t seed, DeviceTools&, std::int64_t sets);
    /// The least that an operation moves and computes; nothing where that is not known.
    std::optional<bench::Work> (*work)(const nlohmann::json& spec, std::string_view operation);

    bool (*owns)(const ProblemKey&);
    ProblemKey (*key)(const Point&, const Target&);
    /// The Spec of a key. Throws SpecError where its texts say none.
    nlohmann::json (*spec)(const ProblemKey&);
};

/// All of them. The first is the one of Specs that name none: those of files that were written when there was no other.
std::span<const TunedFamily* const> families();
/// Throw SpecError with the families' names.
const TunedFamily& family_of(const nlohmann::json& spec);
const TunedFamily& family_of(const ProblemKey& key);
inline const TunedFamily& family_of(const Point& point) { return family_of(point.spec); }

/// The objective's operations in the order of the family. Throws SpecError where it has none of a name.
Objective ordered(const Objective& objective, const TunedFamily& family);
/// Throws SpecError where the row's key says no problem of its family; for read_wisdom.
void check_key(const WisdomRow& row);
/// Why no kernels can be made as a row says; empty: they can.
std::string refusal_of(const WisdomRow& row);

}  // namespace trifold::tune
