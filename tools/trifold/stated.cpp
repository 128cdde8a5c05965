#include "tools/trifold/stated.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <trifold/error.hpp>

#include "generator/program/words.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/npy.hpp"
#include "tools/trifold/explain.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

using nlohmann::json;

/// Fields of a Spec, of the size on the command line and an option for each choice.
struct StatedOptions {
    const trifold::Family& family;
    std::map<std::string, std::string> words{};
    std::string variant = (*family.tuning)["variant"].get(family.tuning->usual);

    void add_to(CLI::App& app) {
        for (const auto* field : family.spec->choices())
            app.add_option(option_of(*field), words[std::string(field->name)], std::string(field->about))
                ->check(CLI::IsMember(std::vector<std::string>(field->words.begin(), field->words.end())));
        app.add_option(fmt::format("--{}-variant", family.name), variant, "Kernels, with knobs that are pinned")->capture_default_str();
    }
    json problem(const std::string& size) const {
        json tree = json::object();
        const auto names = split(family.size, ' ');
        const auto numbers = parse_size(size, names.size(), names.size());
        if (numbers.empty()) throw SpecError(fmt::format("--{} '{}' is no size; give {}", family.name, size, fmt::join(names, "x")));
        for (std::size_t k = 0; k < names.size(); ++k) tree[std::string(names[k])] = numbers[k];
        for (const auto& [name, word] : words)
            if (!word.empty()) tree[name] = word;
        return tree;
    }
    json tuning(int workers) const { return {{"workers", workers}, {"variant", variant}}; }
};

/// The operation that makes factors, and the first one that needs them.
std::vector<std::size_t> solving_operations(const trifold::Family& family) {
    std::vector<std::size_t> result;
    for (const bool factors : {true, false}) {
        const auto found = std::ranges::find(family.operations, factors, &OperationRow::factors);
        if (found != family.operations.end()) result.push_back(static_cast<std::size_t>(found - family.operations.begin()));
    }
    return result;
}

struct StatedArray {
    std::vector<std::int64_t> shape;
    std::vector<double> reals;
    std::vector<float> floats;
};

/// The arrays of an operation: inputs are the next files, and results have the first one's shape.
std::vector<StatedArray> arrays_of(const OperationRow& row, std::vector<formats::Array>& files) {
    std::vector<StatedArray> arrays;
    for (const auto& array : row.arrays) {
        auto& one = arrays.emplace_back();
        if (array.access != Access::read) {
            one.shape = arrays.front().shape;
            one.reals.resize(arrays.front().reals.size());
        } else if (files.empty()) {
            throw formats::InputError(fmt::format("there is no file for {}", array.name));
        } else {
            one.shape = files.front().shape;
            one.reals = std::move(files.front().values);
            files.erase(files.begin());
        }
        one.floats.assign(one.reals.begin(), one.reals.end());
    }
    return arrays;
}

std::vector<formats::Array> read_arrays(const SolveOptions& options) {
    const auto files = options.read();
    check_kind(files, true, "NumPy arrays");
    std::vector<formats::Array> arrays;
    for (const auto& file : files) arrays.push_back(formats::parse_npy(file.bytes, file.name));
    return arrays;
}

Report solve_stated(const StatedOptions& own, const SolveOptions& options, const std::string& size) {
    auto files = read_arrays(options);
    const auto precision = options.asked_precision().value_or(files.front().precision);
    auto problem = own.problem(size);
    problem["precision"] = to_string(precision);
    const auto device = Device::parse(options.device);
    const auto plan = own.family.make(problem, device, own.tuning(options.workers_on(device)));
    const auto solver = plan->solver(nullptr, 0);
    StatedArray x;
    for (const auto operation : solving_operations(own.family)) {
        const auto& row = own.family.operations[operation];
        auto arrays = arrays_of(row, files);
        std::vector<AnyArray> all;
        std::vector<std::int64_t> elements;
        for (const auto& one : arrays) {
            all.push_back(precision == Precision::f32 ? AnyArray(one.floats) : AnyArray(one.reals));
            elements.push_back(std::ssize(one.reals));
        }
        const auto extent = [&](std::string_view name) { return plan->extent(name); };
        solver->run(operation, all, {}, {{"columns", columns_of(row, extent, 1, elements)}});
        x = std::move(arrays.back());
    }
    if (!files.empty()) throw formats::InputError(fmt::format("{} files too many are given", files.size()));
    if (precision == Precision::f32) x.reals.assign(x.floats.begin(), x.floats.end());
    options.output.write(formats::format_npy({x.shape, precision, x.reals}));
    const auto outcomes = solver->outcomes();
    bool solved = true;
    try {
        solver->check();
    } catch (const Unsolvable& error) {
        say(fmt::format("trifold solve: {}\n", error.what()));
        solved = false;
    }
    return {{{"status", solved ? "ok" : "failed"}, {"spec", plan->spec()}, {"outcomes", outcomes}},
            fmt::format("{} {}: {}\n", own.family.name, size, solved ? "solved" : "failed"),
            solved};
}

Program program_of(const StatedOptions& own, const SpecOptions& options, const std::string& size) {
    auto problem = own.problem(size);
    problem.update({{"precision", to_string(options.precision())}, {"batch", options.batch}});
    return own.family.generate(problem, options.target(), own.tuning(options.workers));
}

Report explain_stated(const StatedOptions& own, const SpecOptions& options, const std::string& size) {
    const auto program = program_of(own, options, size);
    const auto units = needed_units(program);
    std::string text = to_text(units);
    for (const auto& [operation, launches] : program.operations) text += "\n" + launches_text(program, operation);
    return {{{"units", to_json(units)}, {"program", Json::parse(trifold::to_json(program))}},
            text + list({{"workspace", bytes_text(program.workspace_bytes)}})};
}

}  // namespace

FamilyVerbs stated_verbs(const trifold::Family& family) {
    FamilyVerbs verbs{.name = std::string(family.name),
                      .problems = std::string(family.members),
                      .matrices = std::string(family.members),
                      .option = fmt::format("--{}", family.name)};
    verbs.purpose = fmt::format("{}: {}", family.members, fmt::join(split(family.size, ' '), "x"));
    std::vector<std::string> files;
    for (const auto operation : solving_operations(family))
        for (const auto& array : family.operations[operation].arrays)
            if (array.access == Access::read) files.push_back(fmt::format("{}.npy ({})", array.name, array.extents));
    verbs.files = fmt::format("With {} {}", verbs.option, fmt::join(files, ", "));
    const auto part = [&family](auto work) {
        return [&family, work](CLI::App& app, const auto& options, const std::string& size) {
            const auto own = std::make_shared<StatedOptions>(StatedOptions{family});
            own->add_to(app);
            return std::function([own, work, &options, &size] { return work(*own, options, size); });
        };
    };
    verbs.solve = part(solve_stated);
    if (family.generate == nullptr) return verbs;
    verbs.explain = part(explain_stated);
    verbs.generate = part([](const StatedOptions& own, const SpecOptions& options, const std::string& size) {
        return Generated{program_of(own, options, size), {{"family", own.family.name}}};
    });
    return verbs;
}

}  // namespace trifold::command
