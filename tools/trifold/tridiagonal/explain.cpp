#include "tools/trifold/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/binary.hpp>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>

#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/variant.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tridiagonal/options.hpp"
#include "tools/trifold/tridiagonal/solution.hpp"
#include "tools/trifold/tridiagonal/svg.hpp"

namespace trifold::command {
namespace {

struct BlockExplainOptions {
    explicit BlockExplainOptions(const SpecOptions& common) : spec(common) {}
    BlockOptions spec;
    std::vector<std::string> files;
    std::string svg;
    bool knobs = false;
};

/// A Program with everything that is known of it.
struct Explanation {
    Choice choice;
    Program program;
    Cost cost;
    double modelled_seconds = 0;
    std::vector<NeededUnit> units;  ///< as they were before this compiled them
    std::string compiler, problem;  ///< what compiled it, or why nothing did
    std::vector<KernelResources> resources;
};

Spec spec_of(const BlockExplainOptions& options) {
    if (options.files.empty()) return options.spec.spec();
    if (options.spec.has_sizes()) throw SpecError("both files and sizes or shapes, such as --block or --ring, were given; give either");
    const auto kind = options.spec.kind();
    const auto input = read_input(read_files(options.files), {}, std::nullopt, kind);
    say_notes("explain", input.system.notes);
    auto spec = to_spec(input.system, input.precision);
    if (kind) spec.matrix = *kind;
    spec.operations = options.spec.operations();
    return spec;
}

Explanation explain(const BlockExplainOptions& options) {
    Explanation result;
    result.choice = options.spec.choice(spec_of(options));
    result.program = generate(result.choice);
    const auto& [spec, target, tuning, schedule, variant, reason, rung, row] = result.choice;
    // A GPU runs every chain of a level at the same time, or nearly.
    const auto workers = target.backend == Backend::cpu ? tuning.workers : spec.horizon;
    const auto factored = kernel_spec(spec, "auto");
    result.cost = cost(schedule, factored, workers);
    result.modelled_seconds = modelled_seconds(result.choice);
    result.units = needed_units(result.program);
    try {
        for (const auto& binary : obtain_all(result.program)) {
            result.compiler = binary.compiler;
            result.resources.insert(result.resources.end(), binary.kernels.begin(), binary.kernels.end());
        }
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

std::string by_of(const KnobDecision& decision) { return decision.row == nullptr ? "pinned by the caller" : to_string(*decision.row); }

/// The knobs of the variant that was taken, with what was decided: more than one number where kernels ask for their own, none where none
/// asks.
Json knobs_json(const Choice& choice) {
    auto result = Json::array();
    const auto asked = knobs_of(choice);
    for (const auto& knob : variant_named(choice.target, choice.variant).knobs) {
        auto values = Json::array();
        for (const auto& decision : asked)
            if (decision.list == knob.name) values.push_back({{"value", decision.value}, {"by", by_of(decision)}});
        result.push_back({{"name", knob.name}, {"what", knob.what}, {"candidates", std::vector(knob.candidates)}, {"taken", values}});
    }
    return result;
}

std::string knobs_text(const Choice& choice) {
    auto text =
        fmt::format("Knobs of variant {}; pin them as --variant {}:knob=value\n", choice.variant, parse_variant(choice.variant).name);
    for (const auto& knob : knobs_json(choice)) {
        const auto candidates = knob.at("candidates").get<std::vector<std::int64_t>>();
        text += fmt::format("\n  {}: {}\n    one of {}\n", knob.at("name").get<std::string>(), knob.at("what").get<std::string>(),
                            fmt::join(candidates, ", "));
        if (knob.at("taken").empty()) text += "    nothing asks for it here\n";
        for (const auto& taken : knob.at("taken"))
            text += fmt::format("    takes {}: {}\n", taken.at("value").get<std::int64_t>(), taken.at("by").get<std::string>());
    }
    return text;
}

/// Flops of one system's Y = L^-1 F', and of its tip; those of the chain are apart.
struct BorderFlops {
    double columns, tip;
};
BorderFlops border_flops(const Explanation& explanation) {
    const auto spec = folded(explanation.choice.spec);
    const auto n = static_cast<double>(spec.block), blocks = static_cast<double>(spec.horizon), a = static_cast<double>(spec.border);
    const auto couplings = static_cast<double>(explanation.cost.total.trsm);
    return {a * n * n * (blocks + 2 * couplings), blocks * n * a * a + a * a * a / 3};
}

Json number_or_null(std::int64_t value) { return value < 0 ? Json(nullptr) : Json(value); }

Json to_json(const Explanation& explanation) {
    const auto& [choice, cost] = std::tie(explanation.choice, explanation.cost);
    const auto block = folded(choice.spec).block;
    auto levels = Json::array(), kernels = Json::array();
    for (std::size_t k = 0; k < cost.levels.size(); ++k) {
        const auto& level = cost.levels[k];
        const auto cube = static_cast<double>(block) * static_cast<double>(block) * static_cast<double>(block) / 3;
        levels.push_back({{"level", k},
                          {"chains", level.chains},
                          {"fronts", level.fronts},
                          {"flops", level.counts.flops(block)},
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
    const auto border = border_flops(explanation);
    return {{"program", Json::parse(trifold::to_json(explanation.program))},
            {"levels", levels},
            {"flops", cost.total.flops(block)},
            {"border_flops", {{"columns", border.columns}, {"tip", border.tip}}},
            {"bytes", cost.bytes},
            {"modelled_seconds", explanation.modelled_seconds},
            {"modelled_operation", to_string(modelled_operation(choice))},
            {"reason", choice.reason},
            {"rung", to_string(choice.rung)},
            {"row", choice.row},
            {"compiler", explanation.compiler},
            {"problem", explanation.problem},
            {"knobs", knobs_json(choice)},
            {"units", trifold::command::to_json(explanation.units)},
            {"kernels", kernels}};
}

std::string schedule_text(const Explanation& explanation) {
    const auto& [choice, cost] = std::tie(explanation.choice, explanation.cost);
    const auto n = folded(choice.spec).block;
    const auto thirds_text = [&](std::int64_t thirds) {
        return flops_text(static_cast<double>(thirds) / 3 * static_cast<double>(n * n * n));
    };
    std::vector<std::vector<std::string>> rows{{"level", "chains", "fronts", "flops", "bytes", "critical path"}};
    for (std::size_t k = 0; k < cost.levels.size(); ++k) {
        const auto& level = cost.levels[k];
        rows.push_back({fmt::format("{}", k), fmt::format("{}", level.chains), fmt::format("{}", level.fronts),
                        flops_text(level.counts.flops(n)), bytes_text(level.bytes), thirds_text(level.makespan_thirds)});
    }
    rows.push_back({"all", "", fmt::format("{}", choice.schedule.horizon), flops_text(cost.total.flops(n)), bytes_text(cost.bytes),
                    thirds_text(cost.critical_thirds)});
    const auto workers =
        choice.target.backend == Backend::cpu ? plural(choice.tuning.workers, "worker") : std::string("all chains of a level at once");
    const auto border = border_flops(explanation);
    const auto of_border = choice.spec.border == 0
                               ? std::string()
                               : fmt::format("  of the border: {} for Y = L^-1 F', {} for the tip C - Y'Y and its factor\n",
                                             flops_text(border.columns), flops_text(border.tip));
    return fmt::format("Schedule {}, {}: one factorization of {}\n{}{}  modelled time of {}, {}: {}\n{}", choice.schedule.name, workers,
                       choice.spec.border > 0 ? "the chain" : "one system", table(rows), of_border, to_string(modelled_operation(choice)),
                       plural(choice.spec.batch, "system"), seconds_text(explanation.modelled_seconds),
                       choice.reason.empty() ? "" : "  chosen: " + choice.reason + "\n");
}

/// How a kernel's launches are cut; every one of a kernel's has the same members a group.
std::int64_t members_per_group(const Program& program, const std::string& kernel) {
    for (const auto& [_, launches] : program.operations)
        for (const auto& launch : launches)
            if (kernel_of(program, launch).name == kernel) return launch.grid.members_per_group;
    return 1;
}

std::string resources_text(const Explanation& explanation) {
    const auto& program = explanation.program;
    std::vector<std::vector<std::string>> rows{{"kernel", "registers", "shared", "spills", "code", "threads", "members/group"}};
    const bool on_hip = explanation.choice.target.backend == Backend::hip;
    if (on_hip) rows.front().insert(rows.front().end(), {"scalar", "matrix", "wave"});
    for (const auto& unit : program.units)
        for (const auto& kernel : unit.kernels) {
            const auto known = std::ranges::find(explanation.resources, kernel.name, &KernelResources::kernel);
            const auto found = known != explanation.resources.end() ? *known : KernelResources{kernel.name};
            const auto shared = std::max<std::int64_t>(found.shared_bytes, 0) + kernel.shared_bytes;
            rows.push_back({kernel.name, count_text(found.registers), shared > 0 ? bytes_text(shared) : "-", count_text(found.spill_bytes),
                            count_text(found.code_bytes), fmt::format("{}", kernel.threads),
                            fmt::format("{}", members_per_group(program, kernel.name))});
            if (on_hip)
                rows.back().insert(rows.back().end(),
                                   {count_text(found.scalar_registers), count_text(found.matrix_registers), count_text(found.warp_lanes)});
        }
    const auto by = explanation.compiler.empty() ? "not compiled: " + explanation.problem : "compiled by " + explanation.compiler;
    return fmt::format("Kernels, variant {}, {}\n{}", explanation.choice.variant, by, table(rows));
}

std::string launches_text(const Program& program) {
    std::string text = "Launches\n";
    for (const auto& [operation, launches] : program.operations) {
        text += fmt::format("  {}\n", operation);
        for (std::size_t k = 0; k < launches.size(); ++k) {
            const auto& launch = launches[k];
            const auto after = launch.after.empty() ? std::string()
                               : launch.early       ? fmt::format(", as {} ends", fmt::join(launch.after, " and "))
                                                    : fmt::format(", after {}", fmt::join(launch.after, " and "));
            text += fmt::format("  {:>4}  {}{}\n", k, launch.what, after);
        }
    }
    return text;
}

std::string memory_text(const Program& program) {
    std::vector<std::vector<std::string>> rows{{"buffer", "offset", "size"}};
    for (const auto& item : program.buffers)
        if (item.bytes > 0) rows.push_back({item.name, fmt::format("{}", item.offset), bytes_text(item.bytes)});
    if (program.scratch_bytes > 0) rows.push_back({"scratch of a worker", "", bytes_text(program.scratch_bytes)});
    return fmt::format("Memory: {} of workspace\n{}", bytes_text(program.workspace_bytes), table(rows));
}

std::string title(const Choice& choice) {
    const auto& spec = choice.spec;
    return fmt::format("{} of {} by {}{}{}{}{}, {}, {}, {}{}; {}", plural(spec.horizon, "block"), spec.block, spec.block,
                       spec.sizes ? " at most" : "", spec.bandwidth > 1 ? fmt::format(" in a band of {}", spec.bandwidth) : "",
                       spec.ring ? " in a ring" : "", spec.border > 0 ? fmt::format(" and a border of {}", spec.border) : "",
                       to_string(spec.precision), plural(spec.rhs, "right-hand side"), plural(spec.batch, "system"),
                       spec.lengths ? " of unequal length" : "", to_string(choice.target));
}

Report run(const BlockExplainOptions& options) {
    if (!options.svg.empty()) check_outputs(options.files, {options.svg});
    const auto explanation = explain(options);
    const auto& program = explanation.program;
    const auto& schedule = explanation.choice.schedule;
    if (!options.svg.empty())
        formats::write_file(options.svg, elimination_tree_svg(schedule, fmt::format("Elimination tree of {} blocks, schedule {}",
                                                                                    schedule.horizon, schedule.name)));
    const auto text = options.knobs ? knobs_text(explanation.choice)
                                    : fmt::format("{}\n{}\n{}\n{}\n{}", schedule_text(explanation), "Units\n" + to_text(explanation.units),
                                                  resources_text(explanation), launches_text(program), memory_text(program));
    return {to_json(explanation), title(explanation.choice) + "\n\n" + text};
}

}  // namespace

std::function<Report()> tridiagonal_explain(CLI::App& app, const SpecOptions& options, const std::string&) {
    const auto own = std::make_shared<BlockExplainOptions>(options);
    own->spec.add_to(app);
    app.add_option("files", own->files, "Take the sizes and the kind from the files of solve: A.mtx b.mtx, or D.npy E.npy b.npy")
        ->expected(0, 5);
    app.add_flag("--knobs", own->knobs, "What a caller may pin of the variant, what was decided and by whom");
    app.add_option("--svg", own->svg, "Draw the elimination tree to this file");
    return [own] { return run(*own); };
}

}  // namespace trifold::command
