#include "tools/tune/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/base/files.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/points.hpp"

namespace trifold::tune {
namespace {

namespace fs = std::filesystem;

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

fs::path default_log() {
    const auto* data = std::getenv("XDG_DATA_HOME");
    const auto* home = std::getenv("HOME");
    if (data != nullptr && *data != '\0') return fs::path(data) / "trifold" / "tuning.jsonl";
    if (home != nullptr && *home != '\0') return fs::path(home) / ".local" / "share" / "trifold" / "tuning.jsonl";
    throw formats::InputError("neither XDG_DATA_HOME nor HOME names a place for the log of trials; give one with --log");
}

Log::Log(fs::path path) : path_(std::move(path)) {
    if (!path_.empty()) return;
    path_ = default_log();
    formats::make_directory(path_.parent_path().string());
}

void Log::append_line(const nlohmann::ordered_json& tree) const {
    auto line =
        tree.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";  // compilers' messages need not be UTF-8
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

std::string key_of(const Machine& machine, const std::string& generator, const Point& point) {
    return nlohmann::json{generator, machine.device, machine.target, machine.driver, identity_of(point)}.dump();
}

std::vector<Decision> last_decisions(const std::vector<Decision>& decisions) {
    std::vector<Decision> result;
    std::map<std::string, std::size_t> places;
    for (const auto& decision : decisions) {
        const auto [place, is_first] = places.emplace(key_of(decision.machine, decision.generator, decision.point), result.size());
        if (is_first)
            result.push_back(decision);
        else
            result[place->second] = decision;
    }
    return result;
}

}  // namespace trifold::tune
