#include "tools/tune/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <trifold/error.hpp>
#include <trifold/sparse.hpp>

#include "generator/sparse/fields.hpp"
#include "generator/sparse/generate.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/sparse/wisdom.hpp"
#include "runtime/sparse/plan.hpp"
#include "tools/formats/block_rows.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/random.hpp"

/// Sparse systems in the tuner.
namespace trifold::tune::sparse {
namespace {

namespace generator = ::trifold::sparse;
using generator::Problem;
using nlohmann::json;

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

Problem problem_of(const Point& point) { return generator::parse_sparse_json(point.spec); }

/// The largest |b - A x| / |b| that solutions are asked for.
double asked_of(Precision precision) { return precision == Precision::f32 ? 1e-5 : 1e-8; }

/// The mesh of a problem, or a pattern by rows of about its sizes, which stands for one of which only the sizes are known.
SparsePattern pattern_of(const generator::Sizes& sizes) {
    if (sizes.mesh) return SparsePattern(*sizes.mesh);
    const auto each = static_cast<double>(sizes.entries) / static_cast<double>(sizes.rows);
    const int points = each < 6 ? 5 : each < 13 ? 7 : each < 23 ? 19 : 27;  // halfway between the points of two meshes
    const auto side = static_cast<std::int64_t>(std::ceil(std::pow(sizes.rows, points == 5 ? 1.0 / 2 : 1.0 / 3)));
    const SparsePattern mesh(SparseMesh{side, side, points == 5 ? 1 : side, points});
    return {mesh.starts(), mesh.columns()};
}

std::string notes(const json& tree) {
    static const auto plain = generator::to_json({{}, {1, 1, {}}});
    std::string text;
    if (tree.at("mesh") != plain.at("mesh")) text += " " + tree.at("mesh").get<std::string>();
    if (tree.at("points") != plain.at("points")) text += fmt::format(" {} points", tree.at("points").get<int>());
    return text;
}

/// A mesh of two sides lies in a plane, and has points of one.
json of_options(json fields) {
    constexpr int flat = 5, solid = 7;
    const auto mesh = fields.at("mesh").get<std::string>();
    if (!fields.contains("points")) fields["points"] = generator::parse_mesh(mesh, solid).depth == 1 ? flat : solid;
    return fields;
}

struct Arranged {
    SparsePattern pattern;
    generator::Arrangement arrangement;
};
/// Keeps the arrangement of the last problem that was asked for: knobs that leave subdomains as they are need no other.
std::shared_ptr<const Arranged> arranged(const Problem& problem, const Target& target, std::int64_t usual, std::int64_t most) {
    static std::mutex mutex;
    static std::string last_key;
    static std::shared_ptr<const Arranged> last;
    const std::lock_guard lock(mutex);
    const auto key = fmt::format("{} {} {} {}", to_string(target), generator::to_json(problem).dump(), usual, most);
    if (key == last_key) return last;
    const auto pattern = pattern_of(problem.sizes);
    const auto preconditioner = problem.spec.preconditioner;
    const auto parts = generator::parts_of(pattern, {}, preconditioner, usual, most);
    last = std::make_shared<const Arranged>(pattern, generator::arrange(pattern, parts, preconditioner, generator::order_for(target)));
    last_key = key;
    return last;
}

Candidate candidate_of(const SparseChoice& choice) { return {std::string(generator::subdomains), choice.tuning.variant}; }

Candidate standard(const Point& point, const Target& target, std::string_view device) {
    const auto problem = problem_of(point);
    const SparseTuning tuning{.workers = point.workers};
    const auto answer = look_up(*generator::wisdom_problem(problem, target, tuning), device, shipped_wisdom());
    return candidate_of(generator::choose_with(answer, problem, target, tuning));
}

Made make(const Point& point, const Target& target, const Candidate& candidate) {
    if (!candidate.schedule.empty() && candidate.schedule != generator::subdomains)  // captured programs name none
        throw SpecError(fmt::format("unknown schedule '{}' of a sparse system; give {}", candidate.schedule, generator::subdomains));
    const auto problem = problem_of(point);
    const auto choice = choose(problem.spec, target, {.workers = point.workers, .variant = candidate.variant});
    std::vector<KnobDecision> decided;
    auto knobs = generator::pinned_by(choice.tuning, target);
    knobs.asked = &decided;
    const auto usual = generator::usual_rows(problem.spec, target, problem.sizes.rows, knobs);
    const auto most = generator::max_parts(problem.spec, target, problem.sizes.rows, knobs);
    const auto one = arranged(problem, target, usual, most);
    auto made = generator::generate(problem.spec, target, choice.tuning, one->pattern, one->arrangement, &decided);
    return {candidate_of(choice), std::move(decided), [program = std::move(made.program)] { return program; }};
}

std::vector<ArraySize> arrays(const json& tree) {
    const auto [spec, sizes] = generator::parse_sparse_json(tree);
    const auto pattern = pattern_of(sizes);
    const auto values = spec.batch * pattern.values() * spec.block * spec.block, rhs = spec.batch * pattern.rows() * spec.block * spec.rhs;
    std::vector<ArraySize> all{{"values", values}, {"b", rhs}, {"x", rhs}};
    if (spec.operations.contains(SparseOperation::gradient)) all.push_back({"gradient", values});
    return all;
}

/// A diffusion with some convection, without which the matrix is symmetric. A row's diagonal is a little more than its neighbours together,
/// so that iterations are as many as in a diffusion. All members are the same.
RandomProblem random(const json& tree, std::uint64_t seed) {
    constexpr double more = 0.05, wind = 0.1, coupling = 0.02;
    const auto [spec, sizes] = generator::parse_sparse_json(tree);
    const auto pattern = pattern_of(sizes);
    const auto block = spec.block, square = block * block;
    const auto starts = pattern.starts();
    formats::BlockRows a{block, {starts.begin(), starts.end()}, {pattern.columns().begin(), pattern.columns().end()}, {}};
    std::vector<double> values(at(pattern.values() * square), 0.0), b(at(pattern.rows() * block * spec.rhs));
    for (std::int64_t row = 0; row < pattern.rows(); ++row)
        for (auto k = starts[at(row)]; k < starts[at(row) + 1]; ++k) {
            const auto away = a.columns[at(k)] - row;
            const auto neighbours = static_cast<double>(starts[at(row) + 1] - starts[at(row)] - 1);
            const double blown = spec.method == SparseMethod::cg || std::abs(away) != 1 ? 0 : away > 0 ? wind : -wind;
            const double diagonal = away == 0 ? neighbours + more : blown - 1,
                         other = away == 0 ? coupling / static_cast<double>(block) : 0;
            for (std::int64_t i = 0; i < square; ++i) a.values.push_back(i % (block + 1) == 0 ? diagonal : other);
        }
    problems::Random numbers(seed);
    for (auto& one : b) one = 2 * numbers.uniform() - 1;
    for (auto* all : {&a.values, &b}) round_to(spec.precision, *all);
    for (std::int64_t k = 0; k < pattern.entries(); ++k)
        std::copy_n(a.values.begin() + k * square, square,
                    values.begin() + (pattern.sources().empty() ? k : pattern.sources()[at(k)]) * square);
    return {1, {{"values", std::move(values)}, {"b", b}}, [a = std::move(a), b, rhs = spec.rhs](const std::vector<double>& x) {
                double worst = 0;
                for (std::int64_t column = 0; column < rhs; ++column)
                    worst = formats::worse(worst, formats::relative_residual(a, x, b, rhs, column));
                return worst;
            }};
}

Solving solving(const Point& point, const Candidate& candidate, const Device& device) {
    const auto problem = problem_of(point);
    const SparsePlan plan(problem.spec, pattern_of(problem.sizes), device, {}, {.workers = point.workers, .variant = candidate.variant});
    const auto solver = std::make_shared<SparseSolver>(plan);
    const SparseOptions options{.rtol = asked_of(problem.spec.precision)};
    return {plan.report().kernels,
            [=](const std::string& name, const std::vector<AnyArray>& arrays, Stream stream) {
                if (name == "update") return solver->update(arrays.front(), stream);
                solver->run(value_named<SparseOperation>(name, "operation"), arrays, stream, options);
            },
            [=] { solver->check(); }, [=](std::string_view) { return Outputs{{}, {solver->ok() ? "sound" : "failed"}}; }};
}

}  // namespace
}  // namespace trifold::tune::sparse

const trifold::tune::TunedFamily& trifold::tune::sparse_family() {
    using namespace sparse;
    static const TunedFamily one{
        .name = "sparse",
        .operations = {{"update", {"values"}},
                       {"apply", {"b", "x"}},
                       {"apply_transposed", {"b", "x"}},
                       {"multiply", {"b", "x"}},
                       {"multiply_transposed", {"b", "x"}},
                       {"solve", {"b", "x"}},
                       {"solve_transposed", {"b", "x"}},
                       {"gradient", {"x", "b", "gradient"}}},
        .sizes = {"rows", "block"},
        .usual = {{"update", 1}, {"solve", 1}},
        .tolerance = [](Precision precision) { return 2 * asked_of(precision); },
        .fields = &sparse_fields,
        .options =
            {{"--sparse", "mesh", "Meshes of sparse systems, WIDTHxHEIGHTxDEPTH"},
             {.name = "--points", .field = "points", .help = "7, 19 or 27; 5 or 9 where all cells lie in a plane", .is_number = true}},
        .usual_block = 1,
        .of_options = of_options,
        .parse = [](const json& spec) { return generator::to_json(generator::parse_sparse_json(spec)); },
        .notes = notes,
        .standard = standard,
        .knobs = [](const Target& target, const std::string&) { return generator::knobs_for(target); },
        .make = make,
        .factors = {"update"},
        // Other subdomains make another preconditioner: what it alone gives is left out.
        .experiments =
            {{{"solve_transposed"}}, {{"solve"}}, {{"multiply_transposed"}}, {{"multiply"}}, {{"multiply", "gradient"}, "gradient"}},
        .uncaptured = {"solve", "solve_transposed"},  // they repeat their launches as often as their data need
        .arrays = arrays,
        .random = random,
        .solving = solving,
        .owns = generator::is_sparse,
        .key = [](const Point& point, const Target& target) { return generator::key_of(problem_of(point), target, point.workers); },
        .spec = [](const ProblemKey& key) { return generator::to_json(generator::problem_of(key)); }};
    return one;
}
