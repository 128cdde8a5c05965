#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/binary.hpp>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>

#include "generator/mixed.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/input.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/svg.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {
namespace {

struct Options {
    SpecOptions spec;
    std::vector<std::string> files;
    std::string svg;
};

/// A Program with everything that is known of it.
struct Explanation {
    Program program;
    Cost cost;
    double modelled_seconds = 0;
    std::string compiler, problem;  ///< what compiled it, or why nothing did
    std::vector<KernelResources> resources;
};

Spec spec_of(const Options& options) {
    if (options.files.empty()) return options.spec.spec();
    if (options.spec.has_sizes()) throw SpecError("both files and --block or --horizon were given; give either");
    const auto input = read_input(options.files, std::nullopt, std::nullopt);
    return {.block = input.system.block,
            .horizon = input.system.horizon,
            .precision = input.precision,
            .rhs = input.system.rhs,
            .batch = input.system.batch,
            .operations = options.spec.operations()};
}

Explanation explain(const Options& options) {
    const auto spec = spec_of(options);
    Explanation result;
    result.program = generate(spec, options.spec.target(), options.spec.tuning());
    // A GPU runs every chain of a level at the same time, or nearly.
    const auto workers = result.program.target.backend == Backend::cpu ? options.spec.tuning().workers : spec.horizon;
    const auto factored = inner_spec(spec);
    result.cost = cost(result.program.schedule, factored, workers);
    result.modelled_seconds = modelled_seconds(result.program.schedule, factored, result.program.target, workers);
    try {
        const auto binary = obtain(result.program);
        result.compiler = binary.compiler;
        result.resources = binary.kernels;
    } catch (const DeviceError& error) {  // no compiler: the rest is worth having
        result.problem = error.what();
    } catch (const CacheError& error) {
        result.problem = error.what();
    } catch (const CompileError& error) {  // the compiler here is not one for that target
        const std::string text = error.what();
        result.problem = text.substr(0, text.find('\n'));
    }
    return result;
}

Json number_or_null(std::int64_t value) { return value < 0 ? Json(nullptr) : Json(value); }

Json to_json(const Explanation& explanation) {
    const auto& [program, cost] = std::tie(explanation.program, explanation.cost);
    auto levels = Json::array(), kernels = Json::array();
    for (std::size_t k = 0; k < cost.levels.size(); ++k) {
        const auto& level = cost.levels[k];
        const auto cube =
            static_cast<double>(program.spec.block) * static_cast<double>(program.spec.block) * static_cast<double>(program.spec.block) / 3;
        levels.push_back({{"level", k},
                          {"chains", level.chains},
                          {"fronts", level.fronts},
                          {"flops", level.counts.flops(program.spec.block)},
                          {"bytes", level.bytes},
                          {"critical_flops", static_cast<double>(level.makespan_thirds) * cube}});
    }
    for (const auto& item : explanation.resources)
        kernels.push_back({{"name", item.kernel},
                           {"registers", number_or_null(item.registers)},
                           {"shared_bytes", number_or_null(item.shared_bytes)},
                           {"spill_bytes", number_or_null(item.spill_bytes)},
                           {"code_bytes", number_or_null(item.code_bytes)},
                           {"scalar_registers", number_or_null(item.scalar_registers)},
                           {"matrix_registers", number_or_null(item.matrix_registers)},
                           {"warp_lanes", number_or_null(item.warp_lanes)}});
    return {{"program", Json::parse(trifold::to_json(program))},
            {"levels", levels},
            {"flops", cost.total.flops(program.spec.block)},
            {"bytes", cost.bytes},
            {"modelled_seconds", explanation.modelled_seconds},
            {"compiler", explanation.compiler},
            {"problem", explanation.problem},
            {"kernels", kernels}};
}

std::string schedule_text(const Explanation& explanation) {
    const auto& [program, cost] = std::tie(explanation.program, explanation.cost);
    const auto n = program.spec.block;
    const auto thirds_text = [&](std::int64_t thirds) {
        return flops_text(static_cast<double>(thirds) / 3 * static_cast<double>(n * n * n));
    };
    std::vector<std::vector<std::string>> rows{{"level", "chains", "fronts", "flops", "bytes", "critical path"}};
    for (std::size_t k = 0; k < cost.levels.size(); ++k) {
        const auto& level = cost.levels[k];
        rows.push_back({fmt::format("{}", k), fmt::format("{}", level.chains), fmt::format("{}", level.fronts),
                        flops_text(level.counts.flops(n)), bytes_text(level.bytes), thirds_text(level.makespan_thirds)});
    }
    rows.push_back({"all", "", fmt::format("{}", program.schedule.horizon), flops_text(cost.total.flops(n)), bytes_text(cost.bytes),
                    thirds_text(cost.critical_thirds)});
    const auto workers =
        program.target.backend == Backend::cpu ? plural(program.tuning.workers, "worker") : std::string("all chains of a level at once");
    return fmt::format("Schedule {}, {}: one factorization of one system\n{}  modelled time, {}: {}\n", program.schedule.name, workers,
                       table(rows), plural(program.spec.batch, "system"), seconds_text(explanation.modelled_seconds));
}

std::string kernels_text(const Explanation& explanation) {
    const auto& program = explanation.program;
    std::vector<std::vector<std::string>> rows{
        {"kernel", "registers", "shared", "spills", "code", "threads", "chains/task", "members/task"}};
    const bool on_hip = program.target.backend == Backend::hip;
    if (on_hip) rows.front().insert(rows.front().end(), {"scalar", "matrix", "wave"});
    for (std::size_t k = 0; k < program.kernels.size(); ++k) {
        const auto& [name, phase, shape] = std::tie(program.kernels[k].name, program.kernels[k].phase, program.kernels[k].shape);
        const auto found = k < explanation.resources.size() ? explanation.resources[k] : KernelResources{name};
        const auto shared = std::max<std::int64_t>(found.shared_bytes, 0) + shape.shared_bytes;
        rows.push_back({name, count_text(found.registers), shared > 0 ? bytes_text(shared) : "-", count_text(found.spill_bytes),
                        count_text(found.code_bytes), fmt::format("{}", shape.threads), fmt::format("{}", shape.chains_per_task),
                        fmt::format("{}", shape.members_per_task)});
        if (on_hip)
            rows.back().insert(rows.back().end(),
                               {count_text(found.scalar_registers), count_text(found.matrix_registers), count_text(found.warp_lanes)});
    }
    const auto by = explanation.compiler.empty() ? "not compiled: " + explanation.problem : "compiled by " + explanation.compiler;
    return fmt::format("Kernels, variant {}, {}\n{}", program.variant.name, by, table(rows));
}

/// Of a launch that has several.
std::string levels_text(const Program& program, Phase phase) {
    const auto wide = program.variant.wide_levels;
    if (phase == Phase::factor_wide) return wide == 1 ? "level 0" : fmt::format("levels 0 to {}", wide - 1);
    return phase == Phase::factor && wide > 0 ? fmt::format("levels from {} on", wide) : "all levels";
}

std::string launches_text(const Program& program) {
    std::string text = "Launches\n";
    for (const auto& [operation, launches] : program.operations) {
        text += fmt::format("  {}\n", to_string(operation));
        for (std::size_t k = 0; k < launches.size(); ++k) {
            const auto& launch = launches[k];
            const auto& kernel = program.kernels[launch.kernel];
            const auto phase = kernel.phase;
            const bool finish = phase == Phase::finish_factor || phase == Phase::finish_forward;
            const bool mixed = std::ranges::find(mixed_phases, phase) != std::end(mixed_phases);
            const auto which = kernel.shape.all_levels ? levels_text(program, phase) : fmt::format("level {}", launch.level.index);
            const auto where = finish  ? std::string()
                               : mixed ? fmt::format(" round {}", launch.level.index)
                                       : fmt::format(" {}, {}", which, plural(launch.level.chains, "chain"));
            const auto after = launch.after.empty() ? std::string()
                               : launch.early       ? fmt::format(", as {} ends", fmt::join(launch.after, " and "))
                                                    : fmt::format(", after {}", fmt::join(launch.after, " and "));
            text += fmt::format("  {:>4}  {}{}{}\n", k, to_string(phase), where, after);
        }
    }
    return text;
}

std::string memory_text(const Program& program) {
    std::vector<std::vector<std::string>> rows{{"buffer", "offset", "size"}};
    for (const auto& item : program.buffers)
        if (item.bytes > 0) rows.push_back({item.name, fmt::format("{}", item.offset), bytes_text(item.bytes)});
    if (program.variant.scratch_bytes > 0) rows.push_back({"scratch of a worker", "", bytes_text(program.variant.scratch_bytes)});
    return fmt::format("Memory: {} of workspace\n{}", bytes_text(program.workspace_bytes), table(rows));
}

std::string title(const Program& program) {
    const auto& spec = program.spec;
    return fmt::format("{} of {} by {}, {}, {}, {}; {}", plural(spec.horizon, "block"), spec.block, spec.block, to_string(spec.precision),
                       plural(spec.rhs, "right-hand side"), plural(spec.batch, "system"), to_string(program.target));
}

int run(const Options& options, bool json) {
    if (!options.svg.empty()) check_outputs(options.files, {options.svg});
    const auto explanation = explain(options);
    const auto& program = explanation.program;
    if (!options.svg.empty())
        formats::write_file(options.svg,
                            elimination_tree_svg(program.schedule, fmt::format("Elimination tree of {} blocks, schedule {}",
                                                                               program.schedule.horizon, program.schedule.name)));
    if (json)
        print(to_json(explanation));
    else
        print(title(program) + "\n\n" + schedule_text(explanation) + "\n" + kernels_text(explanation) + "\n" + launches_text(program) +
              "\n" + memory_text(program));
    return 0;
}

}  // namespace

Action add_explain(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<Options>();
    options->spec.add_to(app);
    app.add_option("files", options->files, "Take the sizes from A.mtx b.mtx or D.npy E.npy b.npy")->expected(0, 3);
    app.add_option("--svg", options->svg, "Draw the elimination tree to this file");
    return [options, &json] { return run(*options, json); };
}

}  // namespace trifold::command
