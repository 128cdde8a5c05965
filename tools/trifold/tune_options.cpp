#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tune_verbs.hpp"

namespace trifold::command {
namespace {

/// Whether a part of `text` is `part`, capital letters or not.
bool has_part(const std::string& text, const std::string& part) {
    const auto same = [](unsigned char left, unsigned char right) { return std::tolower(left) == std::tolower(right); };
    return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

template <class Value>
bool takes(const std::optional<Value>& wanted, Value value) {
    return !wanted || *wanted == value;
}

}  // namespace

void RecordOptions::add_database(CLI::App& app) {
    app.add_option("--database", database_,
                   "The file of all trials ($XDG_DATA_HOME/trifold/tuning.db, or ~/.local/share/trifold/tuning.db)");
}

void RecordOptions::add_filters(CLI::App& app) {
    app.add_option("--device", device_, "Only of devices whose name or target has this part, such as H200 or cpu:");
    app.add_option("--generator", generator_, "Only of this generator version");
    app.add_option("--block", block_, "Only of this n");
    app.add_option("--horizon", horizon_, "Only of this N");
    app.add_option("--batch", batch_, "Only of so many systems");
    app.add_option("--precision", precision_, "Only of f32, f64 or mixed");
}

std::filesystem::path RecordOptions::database() const {
    return database_.empty() ? tune::default_database() : std::filesystem::path(database_);
}

tune::RecordFilter RecordOptions::filter() const {
    const auto precision = precision_.empty() ? std::nullopt : std::optional(parse_precision(precision_));
    return [*this, precision](const tune::Machine& machine, const std::string& generator, const tune::Point& point) {
        const auto& spec = point.spec;
        return (has_part(machine.device, device_) || has_part(machine.target, device_)) &&
               (generator_.empty() || generator == generator_) && takes(block_, spec.block) && takes(horizon_, spec.horizon) &&
               takes(batch_, spec.batch) && takes(precision, spec.precision);
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
