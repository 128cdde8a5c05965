#include "tools/tune/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <trifold/version.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <trifold/error.hpp>

#include "generator/program/sha256.hpp"
#include "generator/program/templates.hpp"
#include "runtime/base/files.hpp"
#include "tools/formats/file.hpp"

namespace trifold::tune {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> verdicts{"sound", "refused",   "does_not_compile", "spilled",  "too_large",
                                                   "fails", "times_out", "inaccurate",       "disagrees"};

/// Writes fields as JSON. NaN and infinity, which JSON has not, become null.
struct Writer {
    nlohmann::ordered_json tree = {};
    void operator()(const char* name, const auto& value) { tree[name] = value; }
    void operator()(const char* name, const Objective& value) { tree[name] = to_string(value); }
    void operator()(const char* name, Verdict value) { tree[name] = to_string(value); }
};

struct Reader {
    const nlohmann::json& tree;
    void operator()(const char* name, auto& value) { tree.at(name).get_to(value); }
    void operator()(const char* name, double& value) {
        value = tree.at(name).is_null() ? std::numeric_limits<double>::quiet_NaN() : tree.at(name).get<double>();
    }
    void operator()(const char* name, Objective& value) { value = parse_objective(tree.at(name).get<std::string>()); }
    void operator()(const char* name, Verdict& value) {
        const auto found = std::ranges::find(verdicts, tree.at(name).get<std::string>());
        if (found == verdicts.end()) throw formats::InputError(fmt::format("{} is no verdict of a trial", tree.at(name).dump()));
        value = static_cast<Verdict>(found - verdicts.begin());
    }
};

/// The fields of a record in the order of a line, for a Writer or a Reader.
void common_fields(auto& archive, auto& record, auto& candidate) {
    archive("device", record.machine.device);
    archive("target", record.machine.target);
    archive("driver", record.machine.driver);
    archive("generator", record.generator);
    archive("spec", record.point.spec);
    archive("workers", record.point.workers);
    archive("objective", record.point.objective);
    archive("schedule", candidate.schedule);
    archive("variant", candidate.variant);
}

void trial_fields(auto& archive, auto& trial) {
    common_fields(archive, trial, trial.candidate);
    archive("is_default", trial.is_default);
    archive("round", trial.round);
    archive("verdict", trial.verdict);
    archive("why", trial.why);
    archive("seconds", trial.seconds);
    archive("spread", trial.spread);
    archive("runs", trial.runs);
    archive("residual", trial.residual);
}

void decision_fields(auto& archive, auto& decision) {
    common_fields(archive, decision, decision.winner);
    archive("standard_schedule", decision.standard.schedule);
    archive("standard_variant", decision.standard.variant);
    archive("seconds", decision.seconds);
    archive("standard_seconds", decision.standard_seconds);
    archive("spread", decision.spread);
    archive("trials", decision.trials);
    archive("effort", decision.effort);
}

void check_time(double seconds) {
    if (!std::isfinite(seconds) || seconds <= 0) throw formats::InputError(fmt::format("{} is no time in seconds above 0", seconds));
}

void check_problem(const Machine& machine, Point& point) {
    parse_target(machine.target);
    point.spec = family_of(point).parse(point.spec);
    ordered(point.objective, family_of(point));  // throws where it has none of a name
}

/// The file with its lock, which ends with the descriptor.
Descriptor locked(const fs::path& path) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0) throw formats::InputError(fmt::format("'{}': {}", path.string(), std::strerror(errno)));
    if (!S_ISREG(about.st_mode)) throw formats::InputError(fmt::format("'{}' is no file; give another with --log", path.string()));
    while (::flock(file.get(), LOCK_EX) != 0)
        if (errno != EINTR) throw formats::InputError(fmt::format("'{}' cannot be locked: {}", path.string(), std::strerror(errno)));
    return file;
}

/// Whether somebody was killed within a line, and the next one would become part of it.
bool is_cut_off(int file, off_t size) {
    char last = '\n';
    return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

std::string_view to_string(Verdict verdict) { return verdicts.at(static_cast<std::size_t>(verdict)); }

double objective_seconds(const Trial& trial) {
    double seconds = 0;
    for (const auto& [operation, weight] : trial.point.objective) seconds += weight * trial.seconds.at(operation);
    return seconds;
}

nlohmann::ordered_json to_json(const Trial& trial) {
    Writer writer;
    trial_fields(writer, trial);
    writer("spill_bytes", trial.spill_bytes);
    return writer.tree;
}

nlohmann::ordered_json to_json(const Decision& decision) {
    Writer writer;
    decision_fields(writer, decision);
    return writer.tree;
}

Trial trial_of(const nlohmann::json& tree) {
    Trial trial;
    Reader reader{tree};
    trial_fields(reader, trial);
    trial.spill_bytes = tree.value("spill_bytes", std::int64_t{0});  // older lines say it of each kernel
    check_problem(trial.machine, trial.point);
    for (const auto& [operation, seconds] : trial.seconds) check_time(seconds);
    for (const auto& [operation, weight] : trial.point.objective)
        if (trial.verdict == Verdict::sound && !trial.seconds.contains(operation))
            throw formats::InputError(fmt::format("it is sound, and has no seconds for {}", operation));
    return trial;
}

Decision decision_of(const nlohmann::json& tree) {
    Decision decision;
    Reader reader{tree};
    decision_fields(reader, decision);
    check_problem(decision.machine, decision.point);
    for (const auto seconds : {decision.seconds, decision.standard_seconds}) check_time(seconds);
    return decision;
}

WisdomRow row_of(const Decision& decision) {
    const auto driver = decision.machine.driver.empty() ? "" : fmt::format("driver {}; ", decision.machine.driver);
    return {.device = decision.machine.device,
            .key = family_of(decision.point).key(decision.point, parse_target(decision.machine.target)),
            .objective = to_string(decision.point.objective),
            .pins = {decision.winner.schedule, decision.winner.variant},
            .seconds = decision.seconds,
            .default_seconds = decision.standard_seconds,
            .measured = fmt::format("generator {}; {}effort {}; {} trials", decision.generator, driver, decision.effort, decision.trials)};
}

std::string generator_version() {
    static const auto version = [] {
        std::string all;
        for (const auto& name : template_names())
            if (!name.starts_with("export/") && !name.ends_with(".wisdom"))
                all += fmt::format("{} {} {}\n", name, template_text(name).size(), template_text(name));
        return fmt::format("{}.{}.{}-{}", TRIFOLD_VERSION_MAJOR, TRIFOLD_VERSION_MINOR, TRIFOLD_VERSION_PATCH, sha256(all).substr(0, 8));
    }();
    return version;
}

std::string key_of(const Machine& machine, const std::string& generator, const Point& point) {
    return nlohmann::json{generator, machine.device, machine.target, machine.driver, identity_of(point)}.dump();
}

Records parse_records(std::string_view text) {
    Records records;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        try {
            const auto tree = nlohmann::json::parse(line);
            if (tree.contains("standard_schedule"))
                records.decisions.push_back(decision_of(tree));
            else
                records.trials.push_back(trial_of(tree));
        } catch (const std::exception&) {  // of the JSON, of a Spec, of a verdict
            ++records.unreadable;
        }
    }
    return records;
}

std::vector<Decision> last_decisions(const std::vector<Decision>& decisions) {
    std::vector<Decision> result;
    std::map<std::string, std::size_t> places;
    for (const auto& decision : decisions) {
        const auto [place, is_first] = places.emplace(key_of(decision.machine, decision.generator, decision.point), result.size());
        if (is_first) result.emplace_back();
        result[place->second] = decision;
    }
    return result;
}

Log::Log(fs::path path) : path_(std::move(path)) {
    if (!path_.empty()) return;
    const auto of = [](const char* name) { return std::string(std::getenv(name) == nullptr ? "" : std::getenv(name)); };
    const auto data = of("XDG_DATA_HOME"), home = of("HOME");
    if (data.empty() && home.empty())
        throw formats::InputError("neither XDG_DATA_HOME nor HOME names a place for the log of trials; give one with --log");
    path_ = (data.empty() ? fs::path(home) / ".local" / "share" : fs::path(data)) / "trifold" / "tuning.jsonl";
    formats::make_directory(path_.parent_path().string());
}

void Log::append_line(const nlohmann::ordered_json& tree) const {
    using Json = nlohmann::ordered_json;
    auto line = tree.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";  // compilers' messages need not be UTF-8
    const auto file = locked(path_);
    const auto size = ::lseek(file.get(), 0, SEEK_END);
    if (is_cut_off(file.get(), size)) line.insert(0, "\n");
    for (std::string_view rest = line; !rest.empty();) {
        const auto count = ::write(file.get(), rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            const auto* why = count == 0 ? "nothing more is taken" : std::strerror(errno);
            const auto is_whole = ::ftruncate(file.get(), size) == 0;
            throw formats::OutputError(
                fmt::format("'{}' takes no more: {}{}", path_.string(), why, is_whole ? "" : "; its last line is cut off"));
        }
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
}

Records Log::read() const {
    if (!fs::exists(path_) || fs::is_empty(path_)) return {};
    const auto text = formats::read_file(path_);
    if (text.starts_with("SQLite format 3"))
        throw formats::InputError(
            fmt::format("'{}' is a database of an earlier Trifold, whose trials are of other kernels; give another file "
                        "with --log. What was exported as wisdom is still used",
                        path_.string()));
    return parse_records(text);
}

}  // namespace trifold::tune
