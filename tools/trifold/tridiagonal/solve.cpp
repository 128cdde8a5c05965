#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "generator/tridiagonal/fields.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/residual.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tridiagonal/options.hpp"
#include "tools/trifold/tridiagonal/solution.hpp"

namespace trifold::command {
namespace {

struct BlockSolveOptions {
    std::vector<std::string> inverse, inverse_border;
    formats::Stated stated;
    Tuning tuning;
    SharedField matrix;
    /// The kind of A that was given; none: it is found out.
    std::optional<MatrixKind> kind() const { return kind_of(matrix); }
    /// A kind that is not said may turn out to be general, unless something was asked for that general matrices do not have.
    std::optional<MatrixKind> kind_to_read(const SolveOptions& options) const {
        const bool may_be_general =
            options.ranks == 1 && options.asked_precision() != Precision::mixed && stated.border.value_or(0) == 0 && inverse.empty();
        return kind() || may_be_general || options.files.size() != 2 ? kind() : MatrixKind::positive_definite;
    }
};

/// The checked result: what the exit status, the report and the message come from.
struct Outcome {
    Input input;
    Solution solution;
    MatrixKind matrix = MatrixKind::positive_definite;
    std::string taken_as_symmetric;                 ///< why A was taken so, where no option says so
    std::vector<NearlySingular::Failure> accepted;  ///< what would have been nearly singular
    double residual = 0;                            ///< the worst sound member's; NaN when there is none
    double tolerance = 0;
    bool accurate = true;
    std::string status() const {
        if (!solution.failed.empty()) return has_signs() ? "zero_pivot" : "not_positive_definite";
        if (!solution.nearly_singular.empty()) return "nearly_singular";
        if (!solution.out_of_range.empty()) return "range";
        return accurate ? "ok" : "inaccurate";
    }
    bool has_signs() const { return matrix != MatrixKind::positive_definite; }
    bool is_general() const { return matrix == MatrixKind::general; }
};

SolveRequest make_request(const SolveOptions& options, const BlockSolveOptions& own, const Input& input) {
    SolveRequest request{Device::parse(options.ranks > 1 && options.device == "auto" ? "cpu" : options.device),
                         input.precision,
                         own.tuning,
                         !own.inverse.empty(),
                         options.condition,
                         options.ranks,
                         input.system.general ? MatrixKind::general : own.kind().value_or(MatrixKind::positive_definite)};
    for (const auto& [asked, option] : {std::pair(input.precision == Precision::mixed, "--precision mixed"),
                                        {options.ranks > 1, "--ranks"},
                                        {!own.inverse.empty(), "--inverse"}})
        if (input.system.general && asked) throw SpecError(fmt::format("{} is not there for a general matrix; leave it out", option));
    if (options.ranks > 1 && options.condition) throw SpecError("ranks have no condition number; leave --condition or --ranks out");
    const auto border = input.system.border;
    if (const bool mixed = input.precision == Precision::mixed; border > 0 && (mixed || options.ranks > 1))
        throw SpecError(fmt::format("{} no border, and A has one of {}; leave {} out, or give --border 0 where blocks alone can hold A",
                                    mixed ? "mixed precision has" : "ranks have", border, mixed ? "--precision mixed" : "--ranks"));
    if (border == 0 && !own.inverse_border.empty()) throw SpecError("--inverse-border is of a border, and A has none; leave it out");
    request.tuning.workers = options.workers_on(request.device);
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
    for (auto* values : {&solution.x, &solution.quadratic, &solution.inverse_diagonal, &solution.inverse_coupling, &solution.inverse_arrow,
                         &solution.inverse_corner, &solution.log_determinant}) {
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
    for (const auto residual : residuals) outcome.residual = formats::worse(outcome.residual, residual);
    outcome.accurate = residuals.empty() || outcome.residual <= outcome.tolerance;
}

/// Words for the first diagonal entry that no positive definite matrix has; none where there is none.
std::string odd_entry(const formats::System& system) {
    const auto n = system.block;
    for (std::int64_t k = 0; k < system.batch * system.horizon; ++k)
        for (std::int64_t r = 0; r < n; ++r)
            if (const double entry = system.d[static_cast<std::size_t>((k * n + r) * n + r)]; entry <= 0)
                return fmt::format("diagonal entry {} of block {}{} is {:.3g}", r, k % system.horizon,
                                   system.batch > 1 ? fmt::format(" of member {}", k / system.horizon) : "", entry);
    return {};
}

/// Solves A as it is said to be. Without such a word, one that is not positive definite is taken as symmetric.
void solve_by_kind(Outcome& outcome, SolveRequest& request, bool is_open) {
    const auto& system = outcome.input.system;
    const bool may_have_signs = is_open && !system.general && system.border == 0 && outcome.input.precision != Precision::mixed &&
                                request.ranks == 1 && request.tuning.variant == "auto";
    const auto as_symmetric = [&](const std::string& why) {
        outcome.taken_as_symmetric = why;
        request.matrix = MatrixKind::symmetric;
    };
    if (const auto odd = odd_entry(system); may_have_signs && !odd.empty()) as_symmetric(odd);
    outcome.solution = solve(system, request);
    if (may_have_signs && request.matrix != MatrixKind::symmetric && !outcome.solution.failed.empty()) {
        as_symmetric("a factorization for positive definite matrices has failed");
        outcome.solution = solve(system, request);
    }
    outcome.matrix = request.matrix;
}

Outcome run(const SolveOptions& options, const BlockSolveOptions& own) {
    auto outputs = own.inverse;
    outputs.insert(outputs.end(), own.inverse_border.begin(), own.inverse_border.end());
    const auto arrays = outputs;
    if (!options.output.name.empty()) outputs.push_back(options.output.name);
    check_outputs(options.files, outputs);
    for (const auto& name : arrays) {
        if (name == standard_stream) throw formats::InputError("standard output takes x alone, as -o -; give --inverse names of files");
        if (kind_of(name, Kind::numpy) != Kind::numpy)
            throw formats::InputError(
                fmt::format("'{}': blocks of the inverse are written as NumPy arrays; give names that end in .npy", name));
    }
    Progress progress(4);
    progress.step("reading");
    auto stated = stated_for(options, own.stated);
    if (own.kind() == MatrixKind::symmetric && options.files.size() == 2 && !stated.border) stated.border = 0;  // it has none
    Outcome outcome{read_input(options.read(), stated, options.asked_precision(), own.kind_to_read(options)), {}};
    const auto& system = outcome.input.system;
    outcome.tolerance = options.tolerance_of(outcome.input.precision);
    check_format(options.output, outcome.input.kind, system.batch, "system");
    auto request = make_request(options, own, outcome.input);
    progress.step("solving");
    solve_by_kind(outcome, request, !own.kind());
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

void write_outputs(const SolveOptions& options, const BlockSolveOptions& own, const Outcome& outcome) {
    const auto& [input, solution] = std::tie(outcome.input, outcome.solution);
    const auto& system = input.system;
    if (!options.output.name.empty()) options.output.write(format_solution(input, solution.x, options.output.kind(input.kind)));
    const auto write = [&](const std::string& name, std::vector<std::int64_t> shape, const std::vector<double>& values) {
        if (input.batched) shape.insert(shape.begin(), system.batch);
        formats::write_file(name, formats::format_npy({shape, input.precision, values}));
    };
    const auto n = system.block, a = system.border;
    if (own.inverse.empty()) return;
    write(own.inverse[0], {system.horizon, n, n}, solution.inverse_diagonal);
    write(own.inverse[1], {system.couplings(), n, n}, solution.inverse_coupling);
    if (own.inverse_border.empty()) return;
    write(own.inverse_border[0], {system.horizon, a, n}, solution.inverse_arrow);
    write(own.inverse_border[1], {a, a}, solution.inverse_corner);
}

/// A list of numbers for each system.
Json by_member(const std::vector<double>& values, std::int64_t members) {
    const auto size = static_cast<std::ptrdiff_t>(values.size()) / members;
    auto lists = Json::array();
    for (std::int64_t k = 0; k < members; ++k) lists.push_back(std::vector(values.begin() + k * size, values.begin() + (k + 1) * size));
    return lists;
}

/// Sign of det A of a member with as many negative pivots and interchanges; 0 where it has failed.
int sign_of(std::int64_t negative) { return negative < 0 ? 0 : negative % 2 == 0 ? 1 : -1; }

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
              {"ring", input.system.ring},
              {"bandwidth", input.system.bandwidth},
              {"border", input.system.border},
              {"rhs", input.system.rhs},
              {"batch", input.system.batch},
              {"precision", to_string(input.precision)},
              {"matrix", std::string(name_of(outcome.matrix))},
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
              {"cache", kernels_word(solution.report)},
              {"seconds", seconds_json(solution.report, solution.factor_seconds, solution.solve_seconds)}};
    if (input.precision == Precision::mixed) json["refinement"] = {{"iterations", solution.iterations}, {"fell_back", solution.fell_back}};
    if (!solution.reciprocal_condition.empty()) json["reciprocal_condition"] = solution.reciprocal_condition;
    if (outcome.has_signs()) json["growth"] = solution.growth;
    if (outcome.is_general())
        for (const auto negative : solution.negative) json["determinant_sign"].push_back(sign_of(negative));
    else if (outcome.has_signs())
        json["negative_pivots"] = solution.negative;
    return json;
}

std::string refinement_text(const Solution& solution) {
    const auto most = *std::ranges::max_element(solution.iterations);
    const auto fell_back = static_cast<std::int64_t>(solution.fell_back.size());
    return plural(most, "iteration") + (fell_back == 0 ? "" : fmt::format(" at most, {} solved in f64", plural(fell_back, "system")));
}

std::string min_text(const std::vector<double>& values) {
    return fmt::format("{:.2e}{}", *std::ranges::min_element(values), values.size() == 1 ? "" : ", the least of all systems");
}

std::string to_text(const Outcome& outcome) {
    const auto& [input, solution] = std::tie(outcome.input, outcome.solution);
    const auto& system = input.system;
    auto text = fmt::format(
        "{} of {} by {}{}{}{}, {}, {}, {}\n", plural(system.horizon, "block"), system.block, system.block, system.ring ? " in a ring" : "",
        system.bandwidth > 1 ? fmt::format(", a band of {} blocks of {}", system.bandwidth, system.block / system.bandwidth) : "",
        system.border > 0 ? fmt::format(" and a border of {}", system.border) : "", to_string(input.precision),
        plural(system.rhs, "right-hand side"), plural(system.batch, "system"));
    const bool mixed = input.precision == Precision::mixed;
    std::vector<std::pair<std::string, std::string>> items{
        {"device", solution.target},
        {"schedule", solution.schedule},
        {"variant", solution.variant},
        {"chosen by", solution.row.empty() ? solution.rung : solution.rung + ", " + solution.row},
        {"kernels", kernels_text(solution.report)},
        {"load", seconds_text(solution.report.load_seconds)},
        {"factor", seconds_text(solution.factor_seconds)},
        {"solve", seconds_text(solution.solve_seconds)},
        {"relative residual", fmt::format("{:.2e}", outcome.residual)},
        {"log determinant",
         system.batch == 1 ? fmt::format("{:.{}g}", solution.log_determinant[0], mixed ? 6 : 10) : "by member in the JSON"},
        {"least pivot", min_text(solution.least_pivot)}};
    if (outcome.is_general())
        items.emplace_back("determinant's sign",
                           system.batch == 1 ? fmt::format("{:+}", sign_of(solution.negative[0])) : "by member in the JSON");
    else if (outcome.has_signs())
        items.emplace_back("negative pivots",
                           system.batch == 1 ? fmt::format("{} of {}", solution.negative[0], system.rows) : "by member in the JSON");
    if (!solution.reciprocal_condition.empty()) items.emplace_back("reciprocal condition", min_text(solution.reciprocal_condition));
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
    auto text = outcome.has_signs() ? fmt::format("least pivot {:.1e} of its row, growth {:.1e}", outcome.solution.least_pivot[k],
                                                  outcome.solution.growth[k])
                                    : fmt::format("least pivot {:.1e} of its diagonal entry, where {} takes no less than {:.1e}",
                                                  outcome.solution.least_pivot[k], to_string(precision), nearly_singular_bound(precision));
    if (const auto& conditions = outcome.solution.reciprocal_condition; !conditions.empty())
        text += fmt::format("; reciprocal condition {:.1e}, where it takes no less than {:.1e}", conditions[k], min_condition(precision));
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
        if (solution.least_pivot[k] < nearly_singular_bound(precision) && solution.reciprocal_condition[k] >= min_condition(precision))
            say(fmt::format("trifold solve: taken as sound: member {} (from 0), {}\n", member, evidence(outcome, member)));
    }
}

void warn(const Outcome& outcome) {
    const auto& system = outcome.input.system;
    say_notes("solve", system.notes);
    if (const auto padding = system.padding(); padding > 0)
        say(fmt::format(
            "trifold solve: {} rows are not a multiple of the block size {}; the last block is padded with {} of the identity\n",
            system.rows - system.border, system.block, plural(padding, "row")));
    if (const auto& members = outcome.solution.fell_back; !members.empty())
        say(fmt::format("trifold solve: factors in f32 are not enough for {} of {}, solved in f64 instead: {} {}{}\n", members.size(),
                        plural(system.batch, "system"), members.size() == 1 ? "member" : "members",
                        fmt::join(members.begin(), members.begin() + std::min<std::ptrdiff_t>(std::ssize(members), 8), ", "),
                        members.size() > 8 ? ", ... (all in the JSON)" : ""));
    if (const auto& why = outcome.taken_as_symmetric; !why.empty())
        say(fmt::format(
            "trifold solve: {}, so A is taken as symmetric with pivots of both signs{}; --matrix positive-definite refuses it\n", why,
            system.batch == 1 && outcome.solution.negative[0] >= 0
                ? fmt::format(", of which {} of {} are negative", outcome.solution.negative[0], system.rows)
                : ""));
    for (const auto& failure : outcome.solution.failed)
        say(fmt::format("trifold solve: {}: member {}, {}, row {} (from 0); its x is NaN\n",
                        outcome.has_signs() ? "a pivot is zero" : "not positive definite", failure.member,
                        failure.block < system.horizon ? fmt::format("block {}", failure.block) : "the border's tip", failure.row));
    if (!outcome.solution.failed.empty() && outcome.is_general())
        say("trifold solve: rows are interchanged within blocks alone: give a larger --block, or take --iterative\n");
    else if (!outcome.solution.failed.empty() && outcome.has_signs())
        say("trifold solve: rows are not interchanged: anchor what A leaves free, make A quasi-definite by a little on the diagonal, or "
            "take "
            "--iterative --method gmres or bicgstab\n");
    else if (!outcome.solution.failed.empty())
        say(fmt::format(
            "trifold solve: an indefinite A is for --iterative --method gmres or bicgstab, or for --grid where it is an image's; "
            "both take files of Matrix Market. "
            "A matrix that is singular but for rounding may end so too: anchor what it leaves free{}\n",
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
    if (!outcome.accurate) say_inaccurate(outcome.residual, outcome.tolerance);
}

}  // namespace

std::function<Report()> tridiagonal_solve(CLI::App& app, const SolveOptions& options, const std::string&) {
    const auto own = std::make_shared<BlockSolveOptions>();
    app.add_option("--block", own->stated.block, "Block size n; inferred when it is not given");
    app.add_option("--bandwidth", own->stated.bandwidth, "A is a band: each of its blocks is coupled to the next w");
    app.add_flag("--ring", own->stated.ring, "The last block is coupled to the first: found by itself, but for a band's arrays");
    app.add_option("--border", own->stated.border,
                   "How many of the last rows of A couple to all: 0 to 512; inferred when neither it nor --block is given");
    app.add_option("--schedule", own->tuning.schedule, schedule_names)->capture_default_str();
    app.add_option("--variant", own->tuning.variant, "Of the kernels, and knobs: name:knob=value,...; an unknown name lists them")
        ->capture_default_str();
    own->matrix.add_to(app, spec_fields[shared_field]);
    app.add_option("--inverse", own->inverse, "Where the diagonal and lower neighbour blocks of the inverse go: diagonal.npy coupling.npy")
        ->expected(2);
    app.add_option("--inverse-border", own->inverse_border,
                   "Where the inverse's blocks in the places of a border's F and C go: arrow.npy corner.npy")
        ->expected(2)
        ->needs("--inverse");
    return [own, &options] {
        const auto outcome = run(options, *own);
        write_outputs(options, *own, outcome);
        warn(outcome);
        return Report{to_json(outcome, options.output.name), to_text(outcome), outcome.status() == "ok"};
    };
}

}  // namespace trifold::command
