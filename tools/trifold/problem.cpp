#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "tools/formats/file.hpp"
#include "tools/formats/npy.hpp"
#include "tools/trifold/family.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {

using namespace formats;

void ProblemOptions::round(std::initializer_list<std::vector<double>*> all) const {
    if (precision() == Precision::f64) return;
    for (auto* values : all)
        for (auto& value : *values) value = static_cast<double>(static_cast<float>(value));
}

File ProblemOptions::array(const char* file, std::vector<std::int64_t> shape, const std::vector<double>& values) const {
    if (batch > 1) shape.insert(shape.begin(), batch);
    return {file, format_npy({std::move(shape), precision(), values})};
}

namespace {

/// Every name is checked before the first is written, so that no problem is half there, and none half replaced.
std::vector<std::filesystem::path> paths_of(const std::vector<File>& files, const ProblemOptions& options) {
    std::vector<std::filesystem::path> paths;
    for (const auto& file : files) {
        const auto& path = paths.emplace_back(std::filesystem::path(options.output) / file.name);
        std::error_code ignored;
        const auto found = std::filesystem::symlink_status(path, ignored);
        if (!options.force && std::filesystem::exists(found))
            throw InputError(fmt::format("'{}' is there already; give --force to replace it, or another directory with -o", path.string()));
        check_writable(path);
    }
    return paths;
}

void check(const ProblemOptions& options) {
    if (!std::filesystem::is_directory(options.output))
        throw InputError(fmt::format("'{}' is not a directory; give one that exists", options.output));
    if (options.format == "mtx" && options.batch > 1)
        throw InputError("a Matrix Market file holds one system; give --batch 1, or --format npy");
}

Report write_problem(const std::vector<File>& files, const ProblemOptions& options) {
    const auto paths = paths_of(files, options);
    auto names = Json::array();
    std::vector<std::vector<std::string>> rows;
    for (std::size_t k = 0; k < files.size(); ++k) {
        formats::write_file(paths[k], files[k].bytes);
        names.push_back(paths[k].string());
        rows.push_back({paths[k].string(), bytes_text(static_cast<std::int64_t>(files[k].bytes.size()))});
    }
    return {{{"problem", options.name}, {"seed", options.seed}, {"files", names}}, table(rows)};
}

}  // namespace

Action add_problem(CLI::App& app, const bool& json, Families families) {
    const auto options = std::make_shared<ProblemOptions>();
    std::vector<std::string> examples;
    for (const auto& family : families)
        if (!family.examples.empty()) examples.push_back(family.examples);
    app.add_option("name", options->name, fmt::format("{}", fmt::join(examples, "; ")))->required();
    app.add_option("--rhs", options->rhs, "Right-hand sides m")->capture_default_str();
    app.add_option("--batch", options->batch, "Systems; member k has the seed plus k")->capture_default_str();
    app.add_option("--seed", options->seed, "Of the random numbers")->capture_default_str();
    app.add_option("--precision", options->precision_name, "f32 or f64")->check(CLI::IsMember({"f32", "f64"}))->capture_default_str();
    app.add_option("--format", options->format, "npy: D.npy E.npy b.npy, of an image A.npy b.npy; mtx: A.mtx b.mtx")
        ->check(CLI::IsMember({"npy", "mtx"}))
        ->capture_default_str();
    app.add_option("-o,--output", options->output, "Directory to write to")->capture_default_str();
    app.add_flag("--force", options->force, "Replace files that are there already");
    const auto problem = by_family(app, families, &FamilyVerbs::problem, *options);
    return [options, problem, &json] {
        check(*options);
        return finish(write_problem(problem(), *options), json);
    };
}

}  // namespace trifold::command
