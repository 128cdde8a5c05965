#include "tools/tune/sparse/family.hpp"

#include <fmt/format.h>

#include <cmath>
#include <mutex>
#include <trifold/error.hpp>

#include "generator/sparse/generate.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/sparse/spec_json.hpp"
#include "runtime/sparse/partition.hpp"
#include "tools/tune/points.hpp"
#include "tools/tune/sparse/data.hpp"

namespace trifold::tune::sparse {
namespace {

namespace generator = ::trifold::sparse;

std::string notes(const nlohmann::json& tree) {
    static const auto plain = generator::to_json({{}, {1, 1, {}}});
    std::string text;
    for (const auto* field : {"mesh", "preconditioner", "method"})
        if (tree.at(field) != plain.at(field)) text += " " + tree.at(field).get<std::string>();
    if (tree.at("points") != plain.at("points")) text += fmt::format(" {} points", tree.at("points").get<int>());
    return text;
}

/// --sparse, and what goes around the matrix.
class MeshRanges : public SpecRanges {
  public:
    void add_to(CLI::App& app) override {
        auto* sparse =
            app.add_option("--sparse", meshes_, "Meshes of sparse systems, WIDTHxHEIGHTxDEPTH, with commas between")->delimiter(',');
        const auto words = [&](const char* name, std::vector<std::string>& value, const char* what) {
            app.add_option(name, value, what)->delimiter(',')->needs(sparse)->capture_default_str();
        };
        words("--preconditioner", preconditioners_, "With --sparse: ildu0, ildu1, ildu2, dilu, ic0, jacobi, none");
        words("--method", methods_, "With --sparse: bicgstab, cg, gmres");
        app.add_option("--points", points_, "With --sparse: 7, 19 or 27; 5 or 9 where all cells lie in a plane")->needs(sparse);
    }
    bool given() const override { return !meshes_.empty(); }
    std::vector<nlohmann::json> specs(const CommonRanges& common) const override {
        const auto blocks = common.blocks.empty() ? std::vector<std::int64_t>{1} : common.blocks;
        check_count({meshes_.size(), preconditioners_.size(), methods_.size(), blocks.size(), common.batches.size(), common.rhs.size(),
                     common.precisions.size()});
        std::vector<nlohmann::json> result;
        for (const auto& mesh : meshes_)
            for (const auto& kind : kinds())
                for (const auto block : blocks)
                    for (const auto batch : common.batches)
                        for (const auto rhs : common.rhs)
                            for (const auto precision : common.precisions) {
                                auto spec = kind;
                                spec.update({{"mesh", mesh},
                                             {"rows", generator::sizes_of(generator::parse_mesh(mesh, points_of(mesh))).rows},
                                             {"points", points_of(mesh)},
                                             {"block", block},
                                             {"batch", batch},
                                             {"rhs", rhs},
                                             {"precision", to_string(precision)}});
                                result.push_back(std::move(spec));
                            }
        return result;
    }

  private:
    /// A mesh of two sides lies in a plane.
    int points_of(const std::string& mesh) const {
        if (points_ > 0) return points_;
        constexpr int flat = 5, solid = 7;
        return generator::parse_mesh(mesh, solid).depth == 1 ? flat : solid;
    }
    std::vector<nlohmann::json> kinds() const {
        std::vector<nlohmann::json> result;
        for (const auto& preconditioner : preconditioners_)
            for (const auto& method : methods_)
                result.push_back({{"family", "sparse"}, {"preconditioner", preconditioner}, {"method", method}});
        return result;
    }

    std::vector<std::string> meshes_, preconditioners_{"ildu0"}, methods_{"bicgstab"};
    int points_ = 0;
};

/// The arrangement of the last problem that was asked for: knobs that leave subdomains as they are need no other.
class Arranged {
  public:
    struct Pair {
        SparsePattern pattern;
        generator::Arrangement arrangement;
    };
    static std::shared_ptr<const Pair> get(const Problem& problem, const Target& target, std::int64_t usual, std::int64_t most) {
        static Arranged last;
        const std::lock_guard lock(last.mutex_);
        const auto key = fmt::format("{} {} {} {}", to_string(target), generator::to_json(problem).dump(), usual, most);
        if (key == last.key_) return last.pair_;
        const auto pattern = pattern_of(problem.sizes);
        const auto preconditioner = problem.spec.preconditioner;
        const auto parts = generator::parts_of(pattern, {}, preconditioner, usual, most);
        last.pair_ =
            std::make_shared<const Pair>(pattern, generator::arrange(pattern, parts, preconditioner, generator::order_for(target)));
        last.key_ = key;
        return last.pair_;
    }

  private:
    std::mutex mutex_;
    std::string key_;
    std::shared_ptr<const Pair> pair_;
};

Candidate candidate_of(const SparseChoice& choice) { return {std::string(generator::subdomains), choice.tuning.variant}; }

Candidate standard(const Point& point, const Target& target, std::string_view device) {
    const auto problem = problem_of(point);
    const SparseTuning tuning{.workers = point.workers};
    const auto answer = look_up(*generator::wisdom_problem(problem, target, tuning), device, shipped_wisdom());
    return candidate_of(generator::choose_with(answer, problem.spec, target, tuning));
}

std::vector<std::string_view> operations() {
    std::vector<std::string_view> names{"update"};
    for (const auto operation : all_sparse_operations()) names.push_back(to_string(operation));
    return names;
}

}  // namespace

Problem problem_of(const Point& point) { return generator::parse_sparse_json(point.spec); }

Point point_of(const SparseSpec& spec, const SparseMesh& mesh, int workers) {
    return {.spec = generator::to_json({spec, generator::sizes_of(mesh)}), .workers = workers, .objective = family().usual};
}

SparseTuning tuning_of(const Point& point, const Candidate& candidate) { return {.workers = point.workers, .variant = candidate.variant}; }

SparseChoice choice_of(const Point& point, const Target& target, const Candidate& candidate) {
    if (!candidate.schedule.empty() && candidate.schedule != generator::subdomains)  // captured programs name none
        throw SpecError(fmt::format("unknown schedule '{}' of a sparse system; give {}", candidate.schedule, generator::subdomains));
    return choose(problem_of(point).spec, target, tuning_of(point, candidate));
}

std::pair<Program, std::vector<Turned>> program_of(const Point& point, const Target& target, const Candidate& candidate) {
    const auto choice = choice_of(point, target, candidate);
    const auto problem = problem_of(point);
    std::vector<Turned> decided;
    auto knobs = generator::pinned_by(choice.tuning, target);
    knobs.asked = &decided;
    const auto usual = generator::usual_rows(problem.spec, target, problem.sizes.rows, knobs);
    const auto most = generator::most_parts(problem.spec, target, problem.sizes.rows, knobs);
    const auto arranged = Arranged::get(problem, target, usual, most);
    auto made = generator::generate(problem.spec, target, choice.tuning, arranged->pattern, arranged->arrangement, &decided);
    return {std::move(made.program), std::move(decided)};
}

SparsePattern pattern_of(const generator::Sizes& sizes) {
    if (sizes.mesh) return SparsePattern(*sizes.mesh);
    const auto each = static_cast<double>(sizes.entries) / static_cast<double>(sizes.rows);
    // Halfway between the points of two meshes.
    const int points = each < 6 ? 5 : each < 13 ? 7 : each < 23 ? 19 : 27;
    const auto side = static_cast<std::int64_t>(std::ceil(std::pow(sizes.rows, points == 5 ? 1.0 / 2 : 1.0 / 3)));
    const SparsePattern mesh(SparseMesh{side, side, points == 5 ? 1 : side, points});
    return {mesh.starts(), mesh.columns()};
}

const TunedFamily& family() {
    static const TunedFamily one{
        .name = "sparse",
        .operations = operations(),
        .sizes = {{"rows", "rows"}, {"block", "n"}},
        .member = "matrix",
        .usual = {{"update", 1}, {"solve", 1}},
        .tolerance = [](Precision precision) { return 2 * asked_of(precision); },
        .parse = [](const nlohmann::json& spec) { return generator::to_json(generator::parse_sparse_json(spec)); },
        .notes = notes,
        .ranges = []() -> std::unique_ptr<SpecRanges> { return std::make_unique<MeshRanges>(); },
        .standard = standard,
        .others = [](const Point&, const Target&, bool) { return std::vector<Candidate>(); },  // there is one way to factor
        .complete = [](const Point& point, const Target& target,
                       const Candidate& candidate) { return candidate_of(choice_of(point, target, candidate)); },
        .knobs =
            [](const Target& target, const std::string&) {
                const auto all = generator::knobs_for(target);
                return std::vector<Knob>(all.begin(), all.end());
            },
        .decided = [](const Point& point, const Target& target,
                      const Candidate& candidate) { return program_of(point, target, candidate).second; },
        .program = [](const Point& point, const Target& target,
                      const Candidate& candidate) { return program_of(point, target, candidate).first; },
        .modelled = nullptr,
        .data_bytes = [](const nlohmann::json& spec) { return data_bytes(generator::parse_sparse_json(spec)); },
        .data = [](const nlohmann::json& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets) -> std::unique_ptr<PointData> {
            return std::make_unique<Systems>(generator::parse_sparse_json(spec), seed, tools, sets);
        },
        .work = [](const nlohmann::json&, std::string_view) { return std::optional<bench::Work>(); },  // how often it repeats is not known
        .owns = generator::is_sparse,
        .key = [](const Point& point, const Target& target) { return generator::key_of(problem_of(point), target, point.workers); },
        .spec = [](const ProblemKey& key) { return generator::to_json(generator::problem_of(key)); }};
    return one;
}

}  // namespace trifold::tune::sparse
