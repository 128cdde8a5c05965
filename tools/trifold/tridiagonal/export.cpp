#include "generator/export/c99/export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "generator/export/gpu/export.hpp"
#include "generator/program/words.hpp"
#include "generator/tridiagonal/fields.hpp"
#include "generator/tridiagonal/wisdom.hpp"
#include "runtime/wisdom/wisdom.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tridiagonal/options.hpp"

namespace trifold::command {
namespace {

KernelCode compiled(const Program& program) try {
    const auto binary = obtain(program.units.front());
    return {binary.code, binary.compiler, binary.kernels};
} catch (const DeviceError& error) {
    throw DeviceError(fmt::format("{}; or give --no-binaries, and the project compiles its kernels where it is built", error.what()));
}

/// The choice of a row of wisdom, pinned, so that the command within the project makes the same files again.
Tuning tuned(const Spec& spec, const Target& target, Tuning tuning) {
    const auto choice = choose_by_wisdom(spec, target, tuning, "");
    if (choice.row.empty()) return tuning;
    tuning.schedule = choice.schedule.name;
    tuning.variant = choice.variant;
    return tuning;
}

/// Options of `export` for a GPU alone.
class GpuExportOptions {
  public:
    void add_to(CLI::App& app);
    /// Throws SpecError when one of them was given; they mean nothing to `target`.
    void expect_none(const std::string& target) const;
    /// The project for block, horizon, precision and rhs of `spec`, with the kernels compiled or taken from the cache unless that is not
    /// wanted. An empty schedule is that of Tuning. Throws SpecError, CompileError, DeviceError.
    std::vector<ExportedFile> project(Spec spec, const std::string& targets, const std::string& prefix, const std::string& schedule) const;

  private:
    std::vector<const CLI::Option*> options_;
    std::int64_t batch_ = 1;
    std::string operations_ = to_string(export_operations());
    Tuning tuning_;
    bool no_binaries_ = false;
};

void GpuExportOptions::add_to(CLI::App& app) {
    const auto add = [&](CLI::Option* option) { options_.push_back(option->group("For cuda and hip")); };
    add(app.add_option("--batch", batch_, "Systems solved at once")->capture_default_str());
    add(app.add_option("--operations", operations_, "What will be called: all, or some of " + to_string(all_operations()))
            ->capture_default_str());
    add(app.add_option("--variant", tuning_.variant, "Of the kernels, and knobs: name:knob=value,...; an unknown name lists them")
            ->capture_default_str());
    add(app.add_flag("--no-binaries", no_binaries_, "Leave compiling the kernels to the project's Makefile"));
}

void GpuExportOptions::expect_none(const std::string& target) const {
    for (const auto* option : options_)
        if (option->count() > 0)
            throw SpecError(fmt::format("{} is for targets cuda:... and hip:..., not for {}; leave it out", option->get_name(), target));
}

std::vector<ExportedFile> GpuExportOptions::project(Spec spec, const std::string& targets, const std::string& prefix,
                                                    const std::string& schedule) const {
    spec.batch = batch_;
    spec.operations = parse_operations(operations_);
    auto tuning = tuning_;
    if (!schedule.empty()) tuning.schedule = schedule;
    const auto parsed = parse_gpu_targets(targets);
    // For one target alone: a project has one tuning for all of its targets.
    if (parsed.size() == 1) tuning = tuned(spec, parsed.front(), tuning);
    const GpuExportRequest request{spec, parsed, tuning, prefix};
    std::vector<KernelCode> code;
    for (const auto& program : gpu_export_programs(request))
        if (!no_binaries_) code.push_back(compiled(program));
    return export_gpu_project(request, code);
}

struct BlockExportOptions {
    explicit BlockExportOptions(const ExportOptions& common) : all(common) {}
    const ExportOptions& all;
    std::int64_t rhs = 0;  // 0: not given, as block and horizon of the Spec
    std::string schedule, factorization = "llt", optimize = "speed";
    std::int64_t corrections = 0;
    std::vector<std::string> data, prefactored;
    std::vector<std::string> shifts;
    bool accept_nearly_singular = false;
    Spec spec;
    SharedField matrix;
    GpuExportOptions gpu;
};

/// Numbers with commas between them, in one word or several.
std::vector<double> parse_shifts(const std::vector<std::string>& words) {
    const auto text = fmt::format("{}", fmt::join(words, ","));
    std::vector<double> shifts;
    for (const auto number : split(text, ',')) {
        double value = 0;
        if (number.empty() || !CLI::detail::lexical_cast(std::string(number), value))
            throw SpecError(
                fmt::format("--shift {} holds '{}' where a number belongs; write numbers with a comma between two, such as 0.1,1,10",
                            fmt::join(words, " "), number));
        shifts.push_back(value);
    }
    return shifts;
}

/// The problem to bake in; the sizes that it gives need not be given.
ProblemData read_data(const BlockExportOptions& options, Spec& spec) {
    const auto block = spec.block > 0 ? std::optional(spec.block) : std::nullopt;
    auto input = read_input(read_files(options.data), {.block = block, .border = 0}, spec.precision,
                            MatrixKind::positive_definite);  // exports have none
    auto& system = input.system;
    say_notes("export", system.notes);
    if (system.batch != 1)
        throw formats::InputError(fmt::format("the problem to bake in is a batch of {} systems; give one", system.batch));
    if (spec.block == 0) spec.block = system.block;
    if (spec.horizon == 0) spec.horizon = system.horizon;
    if (options.rhs == 0) spec.rhs = system.rhs;
    return {std::move(system.d), std::move(system.e), std::move(system.b)};
}

Prefactored read_prefactored(const BlockExportOptions& options, Spec& spec) {
    auto system = read_matrix(options.prefactored[0], options.prefactored[1], spec.precision);
    say_notes("export", system.notes);
    if (system.batch != 1) throw formats::InputError(fmt::format("the matrix to factor is a batch of {}; give one", system.batch));
    if (spec.block == 0) spec.block = system.block;
    if (spec.horizon == 0) spec.horizon = system.horizon;
    Prefactored result{std::move(system.d), std::move(system.e)};
    if (!options.shifts.empty()) result.shifts = parse_shifts(options.shifts);
    result.accept_nearly_singular = options.accept_nearly_singular;
    return result;
}

Spec spec_of(const BlockExportOptions& options) {
    auto spec = options.spec;
    spec.rhs = options.rhs == 0 ? 1 : options.rhs;
    spec.precision = parse_precision(options.all.precision);
    options.matrix.set(spec_fields[shared_field], &spec);
    return spec;
}

ExportRequest request_of(const BlockExportOptions& options) {
    ExportRequest request;
    request.target = parse_target(options.all.target);
    request.prefix = options.all.prefix;
    if (!options.schedule.empty()) request.schedule = options.schedule;
    request.factorization = parse_factorization(options.factorization);
    request.optimize = parse_optimize(options.optimize);
    request.corrections = options.corrections;
    request.spec = spec_of(options);
    if (request.spec.matrix == MatrixKind::symmetric && !uses_kernels(request)) request.factorization = Factorization::ldlt;
    if (!options.data.empty()) request.data = read_data(options, request.spec);
    if (!options.prefactored.empty()) request.prefactored = read_prefactored(options, request.spec);
    if (options.prefactored.empty() && !options.shifts.empty())
        throw SpecError("--shift was given without --prefactored; give the matrix whose factors become constants");
    if (options.prefactored.empty() && options.accept_nearly_singular)
        throw SpecError(
            "--accept-nearly-singular was given without --prefactored; an exported factorization returns NEARLY_SINGULAR, leave it out");
    return request;
}

/// A matrix that has no factors is one that cannot be solved.
std::vector<ExportedFile> make_files(const ExportRequest& request) {
    try {
        return export_project(request);
    } catch (const IndefiniteMatrix& error) {
        throw NotPositiveDefinite(error.what(), {{0, error.block, error.row}});
    }
}

std::vector<ExportedFile> make_gpu_files(const BlockExportOptions& options) {
    if (!options.data.empty() || !options.prefactored.empty() || !options.shifts.empty() || options.accept_nearly_singular ||
        options.corrections > 0 || options.factorization != "llt" || options.optimize != "speed")
        throw SpecError(
            "--data, --prefactored, --shift, --accept-nearly-singular, --factorization, --optimize and --refine are for c99 targets, not "
            "for " +
            options.all.target + "; leave them out");
    return options.gpu.project(spec_of(options), options.all.target, options.all.prefix, options.schedule);
}

std::vector<ExportedFile> run(const BlockExportOptions& options) {
    if (is_gpu_export(options.all.target)) return make_gpu_files(options);
    options.gpu.expect_none(options.all.target);
    return make_files(request_of(options));
}

}  // namespace

std::function<std::vector<ExportedFile>()> tridiagonal_export(CLI::App& app, const ExportOptions& common, const std::string&) {
    const auto options = std::make_shared<BlockExportOptions>(common);
    app.add_option("--block", options->spec.block, "Block size n, 1 to 64; for a GPU to 1024");
    app.add_option("--horizon", options->spec.horizon, "Number of diagonal blocks N");
    app.add_option("--rhs", options->rhs, "Right-hand sides m solved at once; otherwise those of --data, or 1")->check(positive_number());
    app.add_option("--data", options->data, "A problem to bake in for the example: D.npy E.npy b.npy, or A.mtx b.mtx")->expected(2, 3);
    app.add_option("--prefactored", options->prefactored,
                   "D.npy E.npy: a matrix whose factors become constants, for a solver that only solves")
        ->expected(2);
    app.add_option("--shift", options->shifts, "With --prefactored: factors of A + shift I for each of these, such as 0.1,1,10");
    app.add_flag("--accept-nearly-singular", options->accept_nearly_singular,
                 "With --prefactored: also a matrix that is singular to the precision, whose solutions may have no right digit");
    app.add_option(
        "--schedule", options->schedule,
        "Of c99 sequential, unless partitioned:p or twisted:p, whose chains a function of yours may run side by side; of a GPU as of "
        "generate");
    app.add_option("--optimize", options->optimize,
                   "Of c99: speed, or size, which has smaller tiles and less code; the bits of X are the same");
    app.add_option("--factorization", options->factorization,
                   "Of c99: llt, or ldlt, which takes no square roots and is implied by --matrix symmetric in plain C")
        ->check(CLI::IsMember({"llt", "ldlt"}))
        ->capture_default_str();
    app.add_option("--refine", options->corrections,
                   "Of c99: a call that solves and then corrects X so many times, residuals in twice the precision")
        ->check(CLI::Range(std::int64_t{0}, max_corrections));
    app.add_flag("--ring", options->spec.ring, "Of c99: " + std::string(spec_fields["ring"].about));
    add_field(app, spec_fields["border"], &options->spec);
    app.add_flag("--sizes", options->spec.sizes, "Of c99: " + std::string(spec_fields["sizes"].about));
    add_layout(app, options->spec);
    options->matrix.add_to(app, spec_fields[shared_field]);
    options->gpu.add_to(app);
    app.footer("The README written beside the code says how to build, run and call it.");
    return [options] { return run(*options); };
}

}  // namespace trifold::command
