#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/formats/file.hpp"
#include "tools/formats/residual.hpp"
#include "tools/trifold/input.hpp"
#include "tools/trifold/solution.hpp"
#include "tools/trifold/solve_grid.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {
namespace {

struct SolveOptions {
    std::vector<std::string> files, inverse;
    Output output;
    std::string device = "auto", precision;
    std::optional<std::int64_t> block;
    std::optional<double> tolerance;
    bool accept_nearly_singular = false, condition = false;
    Tuning tuning{.workers = 0};
};

/// The checked result: what the exit status, the report and the message come from.
struct Outcome {
    Input input;
    Solution solution;
    std::vector<NearlySingular::Failure> accepted;  ///< what would have been nearly singular
    double residual = 0;                            ///< the worst sound member's; NaN when there is none
    double tolerance = 0;
    bool accurate = true;
    std::string status() const {
        if (!solution.failed.empty()) return "not_positive_definite";
        if (!solution.nearly_singular.empty()) return "nearly_singular";
        if (!solution.out_of_range.empty()) return "range";
        return accurate ? "ok" : "inaccurate";
    }
};

SolveRequest make_request(const SolveOptions& options, const Input& input) {
    SolveRequest request{Device::parse(options.device), input.precision, options.tuning, !options.inverse.empty(), options.condition};
    if (request.device.backend() != Backend::cpu)
        request.tuning.workers = 1;
    else if (options.tuning.workers == 0)
        request.tuning.workers = all_workers();
    return request;
}

/// The members that have no solution, though others of the batch may have one.
std::vector<std::int64_t> without_solution(const Solution& solution) {
    std::vector<std::int64_t> members;
    for (const auto& failure : solution.failed) members.push_back(failure.member);
    for (const auto& failure : solution.nearly_singular) members.push_back(failure.member);
    return members;
}

/// A member's solution becomes NaN as a whole, and so do its blocks of the inverse.
void blank(std::int64_t member, std::int64_t batch, Solution& solution) {
    for (auto* values :
         {&solution.x, &solution.quadratic, &solution.inverse_diagonal, &solution.inverse_coupling, &solution.log_determinant}) {
        const auto size = static_cast<std::ptrdiff_t>(values->size()) / batch;
        std::fill_n(values->begin() + member * size, size, std::numeric_limits<double>::quiet_NaN());
    }
}

/// What has no solution is not said to be out of range as well.
void blank_unsolved(const formats::System& system, Solution& solution) {
    for (const auto member : without_solution(solution)) {
        blank(member, system.batch, solution);
        std::erase_if(solution.out_of_range, [&](const auto& left) { return left.member == member; });
    }
}

void check_residual(Outcome& outcome) {
    auto residuals = formats::relative_residuals(outcome.input.system, outcome.solution.x);
    for (const auto member : without_solution(outcome.solution)) residuals[static_cast<std::size_t>(member)] = -1;
    for (const auto& left : outcome.solution.out_of_range) residuals[static_cast<std::size_t>(left.member)] = -1;
    std::erase(residuals, -1);
    outcome.residual = residuals.empty() ? std::numeric_limits<double>::quiet_NaN() : 0;
    for (const auto residual : residuals) {
        if (!(residual <= outcome.residual) && !std::isnan(outcome.residual)) outcome.residual = residual;
    }
    outcome.accurate = residuals.empty() || outcome.residual <= outcome.tolerance;
}

Outcome run(const SolveOptions& options) {
    auto outputs = options.inverse;
    if (!options.output.name.empty()) outputs.push_back(options.output.name);
    check_outputs(options.files, outputs);
    for (const auto& name : options.inverse) {
        if (name == standard_stream) throw formats::InputError("standard output takes x alone, as -o -; give --inverse names of files");
        if (kind_of(name, Kind::numpy) != Kind::numpy)
            throw formats::InputError(
                fmt::format("'{}': blocks of the inverse are written as NumPy arrays; give names that end in .npy", name));
    }
    Progress progress(4);
    progress.step("reading");
    Outcome outcome{read_input(options.files, options.block,
                               options.precision.empty() ? std::nullopt : std::optional(parse_precision(options.precision))),
                    {}};
    const auto& system = outcome.input.system;
    outcome.tolerance = options.tolerance.value_or(outcome.input.precision == Precision::f32 ? 1e-6 : 1e-14);
    check_format(options.output, outcome.input.kind, system.batch, "system");
    const auto request = make_request(options, outcome.input);
    progress.step("solving");
    outcome.solution = solve(system, request);
    if (options.accept_nearly_singular) outcome.accepted.swap(outcome.solution.nearly_singular);
    blank_unsolved(system, outcome.solution);
    if (auto& failed = outcome.solution.failed; !failed.empty()) {
        progress.step("locating failed pivots");
        if (outcome.solution.schedule != "sequential") locate_sequentially(system, request, failed);
    }
    progress.step("checking the residual");
    check_residual(outcome);
    return outcome;
}

void write_outputs(const SolveOptions& options, const Outcome& outcome) {
    const auto& system = outcome.input.system;
    if (!options.output.name.empty())
        options.output.write(format_solution(outcome.input, outcome.solution.x, options.output.kind(outcome.input.kind)));
    if (options.inverse.empty()) return;
    const auto shape = [&](std::int64_t stages) {
        std::vector<std::int64_t> extents{stages, system.block, system.block};
        if (outcome.input.batched) extents.insert(extents.begin(), system.batch);
        return extents;
    };
    formats::write_file(options.inverse[0],
                        formats::format_npy({shape(system.horizon), outcome.input.precision, outcome.solution.inverse_diagonal}));
    formats::write_file(options.inverse[1],
                        formats::format_npy({shape(system.horizon - 1), outcome.input.precision, outcome.solution.inverse_coupling}));
}

/// A list of numbers for each system.
Json by_member(const std::vector<double>& values, std::int64_t members) {
    const auto size = static_cast<std::ptrdiff_t>(values.size()) / members;
    auto lists = Json::array();
    for (std::int64_t k = 0; k < members; ++k) lists.push_back(std::vector(values.begin() + k * size, values.begin() + (k + 1) * size));
    return lists;
}

Json to_json(const Outcome& outcome, const std::string& output) {
    const auto& [input, solution] = std::tie(outcome.input, outcome.solution);
    auto failed = Json::array();
    for (const auto& failure : solution.failed)
        failed.push_back({{"member", failure.member}, {"block", failure.block}, {"row", failure.row}});
    auto nearly_singular = Json::array();
    for (const auto& failure : solution.nearly_singular)
        nearly_singular.push_back({{"member", failure.member}, {"least_pivot", failure.least_pivot}});
    auto out_of_range = Json::array();
    for (const auto& left : solution.out_of_range)
        out_of_range.push_back({{"member", left.member}, {"solution", left.solution}, {"inverse", left.inverse}});
    Json json{{"status", outcome.status()},
              {"block", input.system.block},
              {"horizon", input.system.horizon},
              {"rhs", input.system.rhs},
              {"batch", input.system.batch},
              {"precision", to_string(input.precision)},
              {"device", solution.target},
              {"schedule", solution.schedule},
              {"variant", solution.variant},
              {"rung", solution.rung},
              {"row", solution.row},
              {"relative_residual", outcome.residual},  // NaN is written as null
              {"log_determinant", solution.log_determinant},
              {"quadratic", by_member(solution.quadratic, input.system.batch)},
              {"least_pivot", solution.least_pivot},
              {"failed", failed},
              {"nearly_singular", nearly_singular},
              {"out_of_range", out_of_range},
              {"output", output.empty() ? Json(nullptr) : Json(output)},
              {"cache", solution.report.cache_hit ? "hit" : "miss"},
              {"seconds",
               {{"generate", solution.report.generate_seconds},
                {"compile", solution.report.compile_seconds},
                {"load", solution.report.load_seconds},
                {"factor", solution.factor_seconds},
                {"solve", solution.solve_seconds}}}};
    if (input.precision == Precision::mixed) json["refinement"] = {{"iterations", solution.iterations}, {"fell_back", solution.fell_back}};
    if (!solution.reciprocal_condition.empty()) json["reciprocal_condition"] = solution.reciprocal_condition;
    return json;
}

std::string refinement_text(const Solution& solution) {
    const auto most = *std::ranges::max_element(solution.iterations);
    const auto fell_back = static_cast<std::int64_t>(solution.fell_back.size());
    return plural(most, "iteration") + (fell_back == 0 ? "" : fmt::format(" at most, {} solved in f64", plural(fell_back, "system")));
}

std::string least_text(const std::vector<double>& values) {
    return fmt::format("{:.2e}{}", *std::ranges::min_element(values), values.size() == 1 ? "" : ", the least of all systems");
}

std::string to_text(const Outcome& outcome) {
    const auto& [input, solution] = std::tie(outcome.input, outcome.solution);
    const auto& system = input.system;
    auto text = fmt::format("{} of {} by {}, {}, {}, {}\n", plural(system.horizon, "block"), system.block, system.block,
                            to_string(input.precision), plural(system.rhs, "right-hand side"), plural(system.batch, "system"));
    const bool mixed = input.precision == Precision::mixed;
    std::vector<std::pair<std::string, std::string>> items{
        {"device", solution.target},
        {"schedule", solution.schedule},
        {"variant", solution.variant},
        {"chosen by", solution.row.empty() ? solution.rung : solution.rung + ", " + solution.row},
        {"kernels",
         solution.report.cache_hit ? "from the cache" : fmt::format("compiled in {}", seconds_text(solution.report.compile_seconds))},
        {"load", seconds_text(solution.report.load_seconds)},
        {"factor", seconds_text(solution.factor_seconds)},
        {"solve", seconds_text(solution.solve_seconds)},
        {"relative residual", fmt::format("{:.2e}", outcome.residual)},
        {"log determinant",
         system.batch == 1 ? fmt::format("{:.{}g}", solution.log_determinant[0], mixed ? 6 : 10) : "by member in the JSON"},
        {"least pivot", least_text(solution.least_pivot)}};
    if (!solution.reciprocal_condition.empty()) items.emplace_back("reciprocal condition", least_text(solution.reciprocal_condition));
    if (mixed) items.emplace_back("refinement", refinement_text(solution));
    return text + list(items);
}

/// The precision of the factors that a member's results are from.
Precision factored_in(const Outcome& outcome, std::int64_t member) {
    const bool fell_back = std::ranges::binary_search(outcome.solution.fell_back, member);
    return outcome.input.precision != Precision::mixed ? outcome.input.precision : fell_back ? Precision::f64 : Precision::f32;
}

/// "least pivot 1.1e-16 of its diagonal entry, where f64 takes no less than 1.4e-14", and the condition, which decides where it is known.
std::string evidence(const Outcome& outcome, std::int64_t member) {
    const auto precision = factored_in(outcome, member);
    const auto k = static_cast<std::size_t>(member);
    auto text = fmt::format("least pivot {:.1e} of its diagonal entry, where {} takes no less than {:.1e}", outcome.solution.least_pivot[k],
                            to_string(precision), nearly_singular_bound(precision));
    if (const auto& conditions = outcome.solution.reciprocal_condition; !conditions.empty())
        text += fmt::format("; reciprocal condition {:.1e}, where it takes no less than {:.1e}", conditions[k], least_condition(precision));
    return text;
}

void warn_nearly_singular(const Outcome& outcome) {
    const auto& solution = outcome.solution;
    for (const auto& failure : solution.nearly_singular)
        say(fmt::format("trifold solve: nearly singular: member {} (from 0), {}; its x is NaN\n", failure.member,
                        evidence(outcome, failure.member)));
    for (const auto& failure : outcome.accepted)
        say(fmt::format("trifold solve: nearly singular, and accepted: member {} (from 0), {}; its x may have no right digit\n",
                        failure.member, evidence(outcome, failure.member)));
    if (!solution.nearly_singular.empty())
        say(
            fmt::format("trifold solve: rounding alone decides what a nearly singular system has for x. Anchor what A leaves free, by a "
                        "prior or a little on the diagonal{}{}, or take x as it is with --accept-nearly-singular\n",
                        outcome.input.precision == Precision::f32 ? ", give --precision f64" : "",
                        solution.reciprocal_condition.empty() ? ", let --condition decide" : ""));
}

/// Members that their least pivot alone would have refused.
void note_sound(const Outcome& outcome) {
    const auto& solution = outcome.solution;
    for (std::size_t k = 0; k < solution.reciprocal_condition.size(); ++k) {
        const auto member = static_cast<std::int64_t>(k);
        const auto precision = factored_in(outcome, member);
        if (solution.least_pivot[k] < nearly_singular_bound(precision) && solution.reciprocal_condition[k] >= least_condition(precision))
            say(fmt::format("trifold solve: taken as sound: member {} (from 0), {}\n", member, evidence(outcome, member)));
    }
}

void warn(const Outcome& outcome) {
    const auto& system = outcome.input.system;
    say_notes("solve", system.notes);
    if (const auto padding = system.block * system.horizon - system.rows; padding > 0)
        say(fmt::format(
            "trifold solve: {} rows are not a multiple of the block size {}; the last block is padded with {} of the identity\n",
            system.rows, system.block, plural(padding, "row")));
    if (const auto& members = outcome.solution.fell_back; !members.empty())
        say(fmt::format("trifold solve: factors in f32 are not enough for {} of {}, solved in f64 instead: {} {}{}\n", members.size(),
                        plural(system.batch, "system"), members.size() == 1 ? "member" : "members",
                        fmt::join(members.begin(), members.begin() + std::min<std::ptrdiff_t>(std::ssize(members), 8), ", "),
                        members.size() > 8 ? ", ... (all in the JSON)" : ""));
    for (const auto& failure : outcome.solution.failed)
        say(fmt::format("trifold solve: not positive definite: member {}, block {}, row {} (from 0); its x is NaN\n", failure.member,
                        failure.block, failure.row));
    if (!outcome.solution.failed.empty())
        say(fmt::format("trifold solve: a matrix that is singular but for rounding may end so too: anchor what it leaves free{}\n",
                        outcome.input.precision == Precision::f32 ? ", or give --precision f64" : ""));
    warn_nearly_singular(outcome);
    note_sound(outcome);
    for (const auto& left : outcome.solution.out_of_range)
        say(fmt::format("trifold solve: out of the range of {}: member {}, {} holds infinities or NaN; scale A or b by a power of two{}\n",
                        to_string(outcome.input.precision), left.member,
                        !left.inverse   ? "x"
                        : left.solution ? "x and the inverse"
                                        : "the inverse",
                        outcome.input.precision == Precision::f32 ? ", or give --precision f64" : ""));
    if (!outcome.accurate)
        say(fmt::format("trifold solve: the relative residual {:.2e} is above the tolerance {:.2e}\n", outcome.residual,
                        outcome.tolerance));
}

}  // namespace

Action add_solve(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<SolveOptions>();
    app.add_option(
           "files", options->files,
           "A.mtx b.mtx (Matrix Market), or D.npy E.npy b.npy: D (N,n,n), E (N-1,n,n), b (N,n) or (N,n,m), or with a leading batch. "
           "With --grid A.npy b.npy: A (H,W,9), b (H,W) or (H,W,m). One of them may be -, for standard input")
        ->required()
        ->expected(2, 3);
    auto* output = app.add_option(
        "-o,--output", options->output.name,
        "Where x goes: a name in .npy or .mtx says the format, another has that of the input. - is standard output; then the report goes "
        "to standard error. Without it x is not kept");
    app.add_option("--format", options->output.format, "Of x, where its name does not say it: npy or mtx")
        ->check(CLI::IsMember({"npy", "mtx"}))
        ->needs(output);
    auto* block = app.add_option("--block", options->block, "Block size n; inferred when it is not given");
    app.add_option("--device", options->device, "auto, cpu, cuda, cuda:1, hip or hip:1")->capture_default_str();
    app.add_option(
        "--precision", options->precision,
        "f32, f64, or mixed: factored in f32, refined to the accuracy of f64, and where that fails solved in f64. That of the arrays, "
        "or f64, when it is not given");
    auto* schedule = app.add_option("--schedule", options->tuning.schedule, schedule_names)->capture_default_str();
    auto* variant =
        app.add_option("--variant", options->tuning.variant, "Of the kernels, and knobs: name:knob=value,...; an unknown name lists them")
            ->capture_default_str();
    app.add_option("--workers", options->tuning.workers, "CPU threads; one for each processor that may be used when it is not given")
        ->check(number_of_workers());
    app.add_option("--tolerance", options->tolerance, "Largest relative residual (1e-14 for f64 and mixed, 1e-6 for f32)")
        ->check(non_negative_number());
    app.add_flag("--accept-nearly-singular", options->accept_nearly_singular,
                 "Take x of systems that are singular to the precision, though it may have no right digit");
    app.add_flag("--condition", options->condition,
                 "Estimate the reciprocal condition number, by a few solutions more. It decides what is nearly singular, "
                 "where the least pivot only hints");
    auto* inverse = app.add_option("--inverse", options->inverse,
                                   "Where the diagonal and lower neighbour blocks of the inverse go: diagonal.npy coupling.npy")
                        ->expected(2);
    const auto grid = std::make_shared<GridSolveOptions>();
    auto* size = grid->image.add_to(app);
    for (auto* other : {block, schedule, variant, inverse}) size->excludes(other);
    app.add_option("--refine", grid->refine, "With --grid: steps of iterative refinement, which make up for growth and for f32")
        ->check(CLI::Range(0, 10))
        ->needs(size)
        ->capture_default_str();
    app.footer(
        "The residual ||A x - b|| / (||A|| ||x|| + ||b||) (infinity norms, the worst system) is always checked. Exit status 1: A is not\n"
        "positive definite or nearly singular, x is out of the range of the precision (the other systems of a batch are solved), or the\n"
        "residual is above the tolerance.");
    return [options, grid, &json] {
        if (options->output.is_standard()) report_to_standard_error();
        if (grid->image.given()) {
            grid->files = options->files;
            grid->output = options->output;
            grid->device = options->device;
            grid->precision = options->precision;
            grid->workers = options->tuning.workers;
            grid->tolerance = options->tolerance;
            grid->accept_nearly_singular = options->accept_nearly_singular;
            grid->condition = options->condition;
            return solve_grid(*grid, json);
        }
        const auto outcome = run(*options);
        write_outputs(*options, outcome);
        warn(outcome);
        if (json)
            print(to_json(outcome, options->output.name));
        else
            print(to_text(outcome));
        if (!json && options->output.name.empty()) say("trifold solve: x was not kept; -o FILE writes it\n");
        return outcome.status() == "ok" ? 0 : 1;
    };
}

}  // namespace trifold::command
