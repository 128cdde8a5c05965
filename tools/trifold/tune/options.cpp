#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tune/verbs.hpp"
#include "tools/tune/family.hpp"

namespace trifold::command {
namespace {

/// Whether a part of `text` is `part`, capital letters or not.
bool has_part(const std::string& text, const std::string& part) {
    const auto same = [](unsigned char left, unsigned char right) { return std::tolower(left) == std::tolower(right); };
    return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

/// Whether a Spec has all these numbers; a field that its family does not have is none of them.
bool has_numbers(const nlohmann::json& spec, const std::map<std::string, std::int64_t>& numbers) {
    return std::ranges::all_of(numbers,
                               [&](const auto& wanted) { return spec.contains(wanted.first) && spec[wanted.first] == wanted.second; });
}

}  // namespace

void RecordOptions::add_database(CLI::App& app) {
    app.add_option("--database", database_,
                   "The file of all trials ($XDG_DATA_HOME/trifold/tuning.db, or ~/.local/share/trifold/tuning.db)");
}

void RecordOptions::add_filters(CLI::App& app) {
    app.add_option("--device", device_, "Only of devices whose name or target has this part, such as H200 or cpu:");
    app.add_option("--generator", generator_, "Only of this generator version");
    const auto number = [&](const std::string& field, const std::string& what) {
        app.add_option_function<std::int64_t>("--" + field, [this, field](const std::int64_t& value) { numbers_[field] = value; }, what);
    };
    std::vector<std::string> names;
    for (const auto* family : tune::families()) {
        names.emplace_back(family->name);
        for (const auto& size : family->sizes) number(size.field, fmt::format("Only of this {}, of a {}", size.label, family->name));
    }
    number("batch", "Only of so many systems or images");
    app.add_option("--family", family_, "Only of this family")->check(CLI::IsMember(names));
    app.add_option("--precision", precision_, "Only of f32, f64 or mixed");
}

std::filesystem::path RecordOptions::database() const {
    return database_.empty() ? tune::default_database() : std::filesystem::path(database_);
}

bool RecordOptions::has_filters() const {
    return !device_.empty() || !generator_.empty() || !precision_.empty() || !family_.empty() || !numbers_.empty();
}

tune::RecordFilter RecordOptions::filter() const {
    const auto precision = precision_.empty() ? std::nullopt : std::optional(parse_precision(precision_));
    return [*this, precision](const tune::Machine& machine, const std::string& generator, const tune::Point& point) {
        return (has_part(machine.device, device_) || has_part(machine.target, device_)) &&
               (generator_.empty() || generator == generator_) && (family_.empty() || family_of(point).name == family_) &&
               has_numbers(point.spec, numbers_) && (!precision || *precision == precision_of(point));
    };
}

std::string records_text(const tune::RecordCount& count) {
    if (count.trials == 0) return plural(count.decisions, "decision");
    if (count.decisions == 0) return plural(count.trials, "trial");
    return fmt::format("{} and {}", plural(count.trials, "trial"), plural(count.decisions, "decision"));
}

void say_unreadable(const tune::Database& database) {
    const auto count = database.unreadable();
    if (count > 0)
        say(fmt::format("trifold tune: {} could not be read and {} left out: damaged, or of a later Trifold\n", plural(count, "record"),
                        count == 1 ? "is" : "are"));
}

}  // namespace trifold::command
