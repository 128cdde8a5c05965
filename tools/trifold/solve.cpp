#include "tools/trifold/solve.hpp"

#include <fmt/format.h>

#include "tools/trifold/family.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {

std::optional<Precision> SolveOptions::asked_precision() const {
    return precision.empty() ? std::nullopt : std::optional(parse_precision(precision));
}

int SolveOptions::workers_on(const Device& on) const {
    if (on.backend() != Backend::cpu) return 1;
    return workers > 0 ? workers : all_workers();
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

Action add_solve(CLI::App& app, const bool& json, Families families) {
    const auto options = std::make_shared<SolveOptions>();
    std::string files;
    for (const auto& family : families)
        if (!family.files.empty()) files += family.files + ". ";
    app.add_option("files", options->files, files + "One of them may be -, for standard input")->required()->expected(2, 3);
    auto* output = app.add_option(
        "-o,--output", options->output.name,
        "Where x goes: a name in .npy or .mtx says the format, another has that of the input. - is standard output; then the report goes "
        "to standard error. Without it x is not kept");
    app.add_option("--format", options->output.format, "Of x, where its name does not say it: npy or mtx")
        ->check(CLI::IsMember({"npy", "mtx"}))
        ->needs(output);
    app.add_option("--device", options->device, "auto, cpu, cuda, cuda:1, hip or hip:1")->capture_default_str();
    app.add_option(
        "--precision", options->precision,
        "f32, f64, or mixed: factored in f32, refined to the accuracy of f64, and where that fails solved in f64. That of the arrays, "
        "or f64, when it is not given");
    app.add_option("--workers", options->workers, "CPU threads; one for each processor that may be used when it is not given")
        ->check(number_of_workers());
    app.add_option("--tolerance", options->tolerance, "Largest relative residual (1e-14 for f64 and mixed, 1e-6 for f32)")
        ->check(non_negative_number());
    app.add_flag("--accept-nearly-singular", options->accept_nearly_singular,
                 "Take x of systems that are singular to the precision, though it may have no right digit");
    app.add_flag("--condition", options->condition,
                 "Estimate the reciprocal condition number, by a few solutions more. It decides what is nearly singular, "
                 "where the least pivot only hints");
    const auto solve = by_family(app, families, &FamilyVerbs::solve, *options);
    app.footer(
        "The residual ||A x - b|| / (||A|| ||x|| + ||b||) (infinity norms, the worst system) is always checked. Exit status 1: A is not\n"
        "positive definite or nearly singular, x is out of the range of the precision (the other systems of a batch are solved), or the\n"
        "residual is above the tolerance.");
    return [options, solve, &json] {
        if (options->output.is_standard()) report_to_standard_error();
        const auto status = finish(solve(), json);
        if (!json && options->output.name.empty()) say("trifold solve: x was not kept; -o FILE writes it\n");
        return status;
    };
}

}  // namespace trifold::command
