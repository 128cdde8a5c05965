#include "tools/trifold/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <trifold/error.hpp>
#include <trifold/sparse.hpp>

#include "tools/trifold/family.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {

std::optional<Precision> SolveOptions::asked_precision() const {
    return precision.empty() ? std::nullopt : std::optional(parse_precision(precision));
}

std::vector<Contents> SolveOptions::read() const { return looked_at ? std::move(*looked_at) : read_files(files); }

int SolveOptions::workers_on(const Device& on) const {
    if (on.backend() != Backend::cpu) return 1;
    // Each of several processes is given its own.
    const int all = workers > 0 ? workers : transport != nullptr ? 1 : all_workers();
    return std::max(1, all / ranks);
}

double SolveOptions::tolerance_of(Precision solved_in) const { return tolerance.value_or(solved_in == Precision::f32 ? 1e-6 : 1e-14); }

void say_inaccurate(double residual, double tolerance) {
    say(fmt::format("trifold solve: the relative residual {:.2e} is above the tolerance {:.2e}\n", residual, tolerance));
}

Json seconds_json(const PlanReport& report, double factor_seconds, double solve_seconds) {
    return {{"generate", report.generate_seconds},
            {"compile", report.compile_seconds},
            {"load", report.load_seconds},
            {"factor", factor_seconds},
            {"solve", solve_seconds}};
}

std::string kernels_word(const PlanReport& report) { return report.prebuilt ? "prebuilt" : report.cache_hit ? "hit" : "miss"; }

std::string kernels_text(const PlanReport& report) {
    if (report.prebuilt) return "prebuilt";
    return report.cache_hit ? "from the cache" : fmt::format("compiled in {}", seconds_text(report.compile_seconds));
}

void add_solve_options(CLI::App& app, SolveOptions& options, const std::string& files) {
    app.add_option("files", options.files, files + "One of them may be -, for standard input")->required()->expected(2, 5);
    auto* output = app.add_option(
        "-o,--output", options.output.name,
        "Where x goes: a name in .npy or .mtx says the format, another has that of the input. - is standard output; then the report goes "
        "to standard error. Without it x is not kept");
    app.add_option("--format", options.output.format, "Of x, where its name does not say it: npy or mtx")
        ->check(CLI::IsMember({"npy", "mtx"}))
        ->needs(output);
    app.add_option("--device", options.device, "auto, cpu, cuda, cuda:1, hip or hip:1")->capture_default_str();
    app.add_option(
        "--precision", options.precision,
        "f32, f64, or mixed: factored in f32, refined to the accuracy of f64, and where that fails solved in f64. That of the arrays, "
        "or f64, when it is not given");
    app.add_option("--workers", options.workers, "CPU threads; one for each processor that may be used when it is not given")
        ->check(number_of_workers());
    app.add_option("--ranks", options.ranks, "Threads that share one long chain or one sparse system, as processes would")
        ->check(positive_number())
        ->capture_default_str();
    app.add_option("--rtol,--tolerance", options.tolerance,
                   fmt::format("Largest relative residual. By default {:.0e}, or {:.0e} in f32. Iterations end at |b - A x| of that times "
                               "|b|, by default {:.0e}, or {:.0e} in f32",
                               options.tolerance_of(Precision::f64), options.tolerance_of(Precision::f32),
                               usual_sparse_tolerance(Precision::f64), usual_sparse_tolerance(Precision::f32)))
        ->check(non_negative_number());
    app.add_flag("--accept-nearly-singular", options.accept_nearly_singular,
                 "Take x of systems that are singular to the precision, though it may have no right digit");
    app.add_flag("--condition", options.condition,
                 "Estimate the reciprocal condition number, by a few solutions more. It decides what is nearly singular, "
                 "where the least pivot only hints");
}

Device SolveOptions::device_of(int rank) const {
    if (all_ranks() == 1) return Device::parse(device);
    if (device == "auto" || device == "cpu") return Device::cpu();
    if (device.find(':') != std::string::npos)
        throw SpecError(fmt::format("{} ranks need a GPU each; give --device cuda or hip in place of {}", all_ranks(), device));
    return Device::parse(fmt::format("{}:{}", device, rank));
}

void on_ranks(int ranks, const std::function<void(std::shared_ptr<Transport>)>& work) {
    LocalRanks all(ranks);
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks));
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < ranks; ++rank)
            threads.emplace_back([&, rank, transport = all.take(rank)]() mutable {
                try {
                    work(std::move(transport));
                } catch (...) {
                    thrown[static_cast<std::size_t>(rank)] = std::current_exception();
                }
            });
    }
    for (const auto& error : thrown)
        if (error != nullptr) std::rethrow_exception(error);
}

namespace {

/// A family that was taken because of what the matrix looks like.
struct Look {
    const FamilyVerbs* family = nullptr;
    std::string why;
};

/// A's matrix, if it is one of Matrix Market that a family can look at.
const formats::SparseMatrix* matrix_of(std::vector<Contents>& files) {
    auto& file = files.front();
    if (file.is_numpy()) return nullptr;
    auto parsed = formats::parse_matrix_market(file.bytes, file.name);
    if (!std::holds_alternative<formats::SparseMatrix>(parsed)) return nullptr;
    file.matrix = std::get<formats::SparseMatrix>(std::move(parsed));
    std::string().swap(file.bytes);  // it may be large
    const auto& a = *file.matrix;
    const bool has_empty_rows = a.rows > static_cast<std::int64_t>(a.entries.size());  // which may be any number: an error of all families
    return a.rows == a.columns && !has_empty_rows ? &a : nullptr;
}

/// Takes, of the families that fit, the one with the fewest flops.
Look look_at(const formats::SparseMatrix& a, Families families, const SolveOptions& options, FamilyChoice& choice) {
    Look look;
    Fit best;
    std::string others;
    for (const auto& family : families) {
        if (family.fit == nullptr || (choice.implied() != nullptr && choice.implied() != &family)) continue;
        const auto fit = family.fit(a, options);
        if (!fit.fits) others += fmt::format("; not as {}: {}", family.problems, fit.why);
        if (!fit.fits || (look.family != nullptr && best.flops <= fit.flops)) continue;
        look.family = &family;
        best = fit;
    }
    if (look.family == nullptr) return look;
    choice.take(*look.family, best.size);
    look.why = fmt::format("A is solved as {}: {}{}", look.family->problems, best.why, others);
    return look;
}

/// The report says which family was taken, and so does an error.
Report explained(const std::function<Report()>& solve, const Look& look) try {
    auto report = solve();
    if (look.family == nullptr) return report;
    report.json["family"] = look.family->name;
    report.json["why"] = look.why;
    report.text = look.why + "\n" + report.text;
    return report;
} catch (...) {
    if (look.family != nullptr) say(fmt::format("trifold solve: {}\n", look.why));
    throw;
}

}  // namespace

Action add_solve(CLI::App& app, const bool& json, Families families) {
    const auto options = std::make_shared<SolveOptions>();
    std::string files;
    for (const auto& family : families)
        if (!family.files.empty()) files += family.files + ". ";
    add_solve_options(app, *options, files);
    const auto look = std::make_shared<Look>();
    const auto solve = by_family<SolveOptions, Report>(app, families, &FamilyVerbs::solve, *options, [=](FamilyChoice& choice) {
        if (options->files.size() != 2) return;  // arrays of blocks
        options->looked_at = std::make_shared<std::vector<Contents>>(read_files(options->files));
        if (const auto* a = matrix_of(*options->looked_at); a != nullptr) *look = look_at(*a, families, *options, choice);
    });
    app.footer(
        "A.mtx and its b without --block or an option of one family are solved as what A looks like: symmetric blocks in "
        "a\n"
        "row, else an image, else a sparse system. The report says which and why.\n"
        "The residual ||A x - b|| / (||A|| ||x|| + ||b||) (infinity norms, the worst system) is always checked. Exit status 1: A is not\n"
        "positive definite or nearly singular, x is out of the range of the precision (the other systems of a batch are solved), or the\n"
        "residual is above the tolerance.");
    return [options, look, solve, &json] {
        if (options->output.is_standard()) report_to_standard_error();
        const auto status = finish(explained(solve, *look), json);
        if (!json && options->output.name.empty()) say("trifold solve: x was not kept; -o FILE writes it\n");
        return status;
    };
}

}  // namespace trifold::command
