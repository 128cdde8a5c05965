#include "tools/tune/sparse/family.hpp"

#include <fmt/format.h>

#include <cmath>
#include <mutex>
#include <trifold/error.hpp>

#include "generator/sparse/fields.hpp"
#include "generator/sparse/generate.hpp"
#include "generator/sparse/knobs.hpp"
#include "runtime/sparse/partition.hpp"

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

/// A mesh of two sides lies in a plane, and has points of one.
nlohmann::json of_options(nlohmann::json fields) {
    constexpr int flat = 5, solid = 7;
    const auto mesh = fields.at("mesh").get<std::string>();
    if (!fields.contains("points")) fields["points"] = generator::parse_mesh(mesh, solid).depth == 1 ? flat : solid;
    return fields;
}

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

SparseChoice choice_of(const Point& point, const Target& target, const Candidate& candidate) {
    if (!candidate.schedule.empty() && candidate.schedule != generator::subdomains)  // captured programs name none
        throw SpecError(fmt::format("unknown schedule '{}' of a sparse system; give {}", candidate.schedule, generator::subdomains));
    return choose(problem_of(point).spec, target, {.workers = point.workers, .variant = candidate.variant});
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

std::pair<Program, std::vector<KnobDecision>> program_of(const Point& point, const Target& target, const Candidate& candidate) {
    const auto choice = choice_of(point, target, candidate);
    const auto problem = problem_of(point);
    std::vector<KnobDecision> decided;
    auto knobs = generator::pinned_by(choice.tuning, target);
    knobs.asked = &decided;
    const auto usual = generator::usual_rows(problem.spec, target, problem.sizes.rows, knobs);
    const auto most = generator::max_parts(problem.spec, target, problem.sizes.rows, knobs);
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
        .sizes = {"rows", "block"},
        .usual = {{"update", 1}, {"solve", 1}},
        .tolerance = [](Precision precision) { return 2 * asked_of(precision); },
        .options =
            {{"--sparse", "mesh", "Meshes of sparse systems, WIDTHxHEIGHTxDEPTH"},
             {"--preconditioner", "preconditioner", "ildu0, ildu1, ildu2, dilu, ic0, jacobi, none", "ildu0"},
             {"--method", "method", "bicgstab, cg, gmres", "bicgstab"},
             {.name = "--points", .field = "points", .help = "7, 19 or 27; 5 or 9 where all cells lie in a plane", .is_number = true}},
        .usual_block = 1,
        .of_options = of_options,
        .parse = [](const nlohmann::json& spec) { return generator::to_json(generator::parse_sparse_json(spec)); },
        .notes = notes,
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
        .factors = {"update"},
        // Other subdomains make another preconditioner: what it alone gives is left out.
        .experiments =
            {{{"solve_transposed"}}, {{"solve"}}, {{"multiply_transposed"}}, {{"multiply"}}, {{"multiply", "gradient"}, "gradient"}},
        .uncaptured = {"solve", "solve_transposed"},  // they repeat their launches as often as their data need
        .data_bytes = [](const nlohmann::json& spec) { return data_bytes(generator::parse_sparse_json(spec)); },
        .data = [](const nlohmann::json& spec, std::uint64_t seed, DeviceTools& tools,
                   std::int64_t sets) { return make_data(generator::parse_sparse_json(spec), seed, tools, sets); },
        .owns = generator::is_sparse,
        .key = [](const Point& point, const Target& target) { return generator::key_of(problem_of(point), target, point.workers); },
        .spec = [](const ProblemKey& key) { return generator::to_json(generator::problem_of(key)); }};
    return one;
}

}  // namespace trifold::tune::sparse
