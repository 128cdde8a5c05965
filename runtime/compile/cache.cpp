#include "runtime/compile/cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>
#include <trifold/error.hpp>

#include "runtime/base/limits.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/entry.hpp"

namespace trifold {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t default_limit = std::int64_t{1} << 30;
constexpr auto stage_directory = "stage", quarantine_directory = "bad", lock_directory = "lock", data_directory = "data",
               target_directory = "targets";

std::int64_t limit_from_environment() {
    const auto text = switch_value("TRIFOLD_CACHE_SIZE");
    if (text.empty()) return default_limit;
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const std::string_view unit = end;
    const double scale = unit.empty() ? 1 : unit == "K" ? 0x1p10 : unit == "M" ? 0x1p20 : unit == "G" ? 0x1p30 : 0;
    if (end != text.c_str() && number >= 0 && scale > 0 && number * scale < 0x1p62) return static_cast<std::int64_t>(number * scale);
    log_once(LogLevel::warning, fmt::format("TRIFOLD_CACHE_SIZE='{}' is not a size such as 500M; using 1G", text));
    return default_limit;
}

/// Creates the directory and its missing parents for this user alone.
void make_directories(const fs::path& path) {
    if (path.empty() || fs::exists(path)) return;
    make_directories(path.parent_path());
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        throw fs::filesystem_error("mkdir", path, std::error_code(errno, std::generic_category()));
}

bool is_key(const std::string& name) { return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string::npos; }

std::vector<fs::path> entry_directories(const fs::path& root) {
    std::vector<fs::path> result;
    for (const auto& shelf : children(root)) {
        if (shelf.filename().string().size() != 2) continue;
        for (auto& entry : children(shelf)) {
            if (is_key(entry.filename())) result.push_back(std::move(entry));
        }
    }
    return result;
}

std::chrono::system_clock::time_point modified(const fs::path& path) {
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0) return {};
    const auto since = std::chrono::seconds(about.st_mtim.tv_sec) + std::chrono::nanoseconds(about.st_mtim.tv_nsec);
    return std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(since));
}

Descriptor open_directory(const fs::path& path) {
    return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Reads the entry in its place; `directory` is then open where it can be.
EntryContent read_in(const fs::path& place, EntryContent (*read)(const Descriptor&, const std::string&), Descriptor& directory) {
    directory = open_directory(place);
    const int error = directory ? 0 : errno;
    if (directory) return read(directory, place.filename());
    const auto state = error == ENOENT                      ? EntryState::absent
                       : error == ENOTDIR || error == ELOOP ? EntryState::damaged
                                                            : EntryState::unreadable;
    return {.state = state, .problem = why_refused(error)};
}

bool still_there(const Descriptor& directory, const fs::path& path) {
    struct stat held{}, named{};
    return ::fstat(directory.get(), &held) == 0 && ::lstat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

/// Out of everybody's way first, so that no reader meets half an entry. Returns the bytes freed.
std::int64_t discard(const fs::path& path, const fs::path& root) {
    const auto bytes = bytes_below(path);
    std::error_code error;
    fs::create_directory(root / stage_directory, error);
    try {
        const PrivateDirectory grave(root / stage_directory);
        fs::rename(path, grave.path() / "entry", error);
    } catch (const DeviceError&) {  // there is no place for it
        return 0;
    }
    return error ? 0 : bytes;
}

using Paths = std::vector<fs::path>;
/// The list is replaced as a whole, so that a child of a fork finds it whole and no lock taken. Never destroyed: threads may compile at
/// exit.
auto& added_layers = *new std::atomic<std::shared_ptr<const Paths>>(std::make_shared<const Paths>());

}  // namespace

Cache::Cache(fs::path root, std::int64_t limit_bytes) : root_(std::move(root)), limit_(limit_bytes) {
    try {
        make_directories(root_);
    } catch (const fs::filesystem_error& error) {
        problem_ = fmt::format("cannot make the cache directory {}: {}", root_.string(), error.code().message());
    }
    accept(false);
}

Cache Cache::from_environment() {
    if (disabled("cache")) {
        Cache none;
        none.problem_ = "TRIFOLD_DISABLE=cache";
        return none;
    }
    constexpr const char* variables[] = {"TRIFOLD_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    for (const std::string name : variables) {
        const fs::path value = switch_value(name.c_str());
        // The XDG rules ignore relative paths; ours may be one.
        if (value.empty() || (name != "TRIFOLD_CACHE_DIR" && value.is_relative())) continue;
        std::error_code without_directory;  // a relative path stays one, and is no directory then
        Cache cache(name == "TRIFOLD_CACHE_DIR" ? fs::absolute(value, without_directory)
                    : name == "HOME"            ? value / ".cache" / "trifold"
                                                : value / "trifold",
                    limit_from_environment());
        cache.named_by_ = name;
        if (!cache.problem_.empty()) log_once(LogLevel::warning, cache.problem_ + "; compiled kernels are kept in memory only");
        return cache;
    }
    Cache none;
    none.problem_ = "none of TRIFOLD_CACHE_DIR, XDG_CACHE_HOME and HOME is set";
    log_once(LogLevel::info, none.problem_ + "; compiled kernels are kept in memory only");
    return none;
}

Cache Cache::layer(fs::path root, std::string named_by) {
    Cache cache;
    cache.root_ = std::move(root);
    cache.read_only_ = true;
    cache.named_by_ = std::move(named_by);
    if (!cache.accept(true)) log_once(LogLevel::warning, cache.problem_ + "; the kernels there are not used");
    return cache;
}

std::vector<Cache> Cache::layers() {
    std::vector<Cache> result;
    const auto add = [&](const fs::path& path, const char* named_by) {
        auto layer = Cache::layer(path, named_by);
        if (!layer.root_.empty()) result.push_back(std::move(layer));
    };
    std::istringstream named(switch_value("TRIFOLD_BINARIES"));
    for (std::string path; std::getline(named, path, ':');)
        if (!path.empty()) add(path, "TRIFOLD_BINARIES");
    for (const auto& path : *added_layers.load()) add(path, "add_layer()");
    return result;
}

void add_layer(const fs::path& directory) {
    std::error_code without_directory;  // a relative path stays one, and is no directory then
    const auto path = fs::absolute(directory, without_directory);
    auto known = added_layers.load();
    std::shared_ptr<Paths> longer;
    do {
        if (std::ranges::find(*known, path) != known->end()) return;
        longer = std::make_shared<Paths>(*known);
        longer->push_back(path);
    } while (!added_layers.compare_exchange_weak(known, std::move(longer)));
}

bool Cache::accept(bool is_layer) {
    struct stat about{};
    if (problem_.empty() && (::stat(root_.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)))
        problem_ = fmt::format("{} is not a directory", root_.string());
    if (problem_.empty() && about.st_uid != ::geteuid() && !(is_layer && about.st_uid == 0))
        problem_ = fmt::format("{} belongs to another user (id {}), who could make this one run any code; name another directory",
                               root_.string(), about.st_uid);
    if (problem_.empty() && (about.st_mode & 022) != 0)
        problem_ = fmt::format("others may write to {} (mode {:o}), and so make this user run any code; chmod go-w it", root_.string(),
                               about.st_mode & 07777);
    if (!problem_.empty()) root_.clear();
    return problem_.empty();
}

bool Cache::writable() const { return !root_.empty() && !read_only_ && ::access(root_.c_str(), W_OK | X_OK) == 0; }

std::optional<Binary> Cache::find(const std::string& key, std::string* problem) const {
    if (root_.empty()) return std::nullopt;
    Descriptor directory;
    auto content = read_in(place(key), read_entry, directory);
    if (content.state == EntryState::sound) {
        if (!read_only_) ::futimens(directory.get(), nullptr);  // the access stamp; no loss where it cannot be set
        return std::move(content.binary);
    }
    if (content.state == EntryState::damaged) quarantine(key, directory, content.problem);
    if (content.state == EntryState::unreadable) {
        const auto said = fmt::format("cannot read the cache entry {}: {}", place(key).string(), content.problem);
        log_once(LogLevel::warning, said);
        if (problem != nullptr) *problem = said;
    }
    return std::nullopt;
}

/// Whether it has moved.
bool Cache::quarantine(const std::string& key, const Descriptor& directory, const std::string& problem) const {
    const auto path = place(key);
    if (!still_there(directory, path)) return false;  // replaced or evicted meanwhile: not bad, just gone
    log_once(LogLevel::warning, fmt::format("the cache entry {} is not used: {}", path.string(), problem));
    if (read_only_) return false;
    std::error_code error;
    fs::create_directory(root_ / quarantine_directory, error);
    for (int attempt = 0; attempt < 100; ++attempt) {
        fs::rename(path, root_ / quarantine_directory / fmt::format("{}-{}", key, attempt), error);
        if (error != std::errc::directory_not_empty && error != std::errc::file_exists) return !error;
    }
    return discard(path, root_) > 0;
}

void Cache::publish(const Binary& binary, const Unit& unit, Parts parts) const try {
    if (root_.empty() || read_only_) return;
    const auto target = place(binary.key);
    fs::create_directory(root_ / stage_directory);
    PrivateDirectory stage(root_ / stage_directory);
    write_entry(stage.path(), binary, unit, parts);
    const auto bytes = bytes_below(stage.path());
    for (int attempt = 0; attempt < 2; ++attempt) {
        fs::create_directory(target.parent_path());
        std::error_code error;
        fs::rename(stage.path(), target, error);
        if (!error) {
            stage.keep();
            bound(bytes);
            return;
        }
        Descriptor directory;
        const auto rival = read_in(target, read_entry_meta, directory);
        if (rival.state == EntryState::unreadable) return;                                       // it may be as good as ours
        if (rival.state == EntryState::sound && rival.meta.compiler == binary.compiler) return;  // lost the race: as good as ours
        if (rival.state != EntryState::absent) discard(target, root_);
    }
} catch (const std::exception& error) {
    log_once(LogLevel::warning,
             fmt::format("cannot write to the cache {}: {}; compiled kernels are kept in memory only", root_.string(), error.what()));
}

Descriptor Cache::lock(const std::string& key, std::chrono::milliseconds patience) const {
    if (!writable()) return Descriptor();
    std::error_code ignored;
    fs::create_directory(root_ / lock_directory, ignored);
    auto file = open_to_write(root_ / lock_directory / key, O_RDWR | O_NOFOLLOW);
    const auto give_up = std::chrono::steady_clock::now() + patience;
    // A blocking flock could wait for a stopped process for ever; the system releases the locks of a dead one.
    while (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > give_up) return Descriptor();
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    return file;
}

bool Cache::has_target(const std::string& name) const {
    std::error_code ignored;
    return !root_.empty() && fs::exists(root_ / target_directory / name, ignored);
}

void Cache::publish_target(const std::string& name) const {
    fs::create_directory(root_ / target_directory);
    write_file(root_ / target_directory / name, "");
}

std::optional<CacheData> Cache::find_data(const std::string& key) const try {
    if (root_.empty()) return std::nullopt;
    const auto path = root_ / data_directory / key;
    std::string problem;
    auto data = read_data(path, key, problem);
    if (!problem.empty()) {
        log_once(LogLevel::warning, fmt::format("the cache entry {} is not used: {}", path.string(), problem));
        if (!read_only_) discard(path, root_);
    }
    if (data) ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);  // the access stamp; no loss where it cannot be set
    return data;
} catch (const std::exception& error) {
    log_once(LogLevel::warning, fmt::format("cannot read from the cache {}: {}", root_.string(), error.what()));
    return std::nullopt;
}

void Cache::publish_data(const std::string& key, const std::vector<std::span<const std::byte>>& pieces) const try {
    if (root_.empty() || read_only_) return;
    std::int64_t bytes = 0;
    for (const auto piece : pieces) bytes += static_cast<std::int64_t>(piece.size());
    if (bytes > limit_ / 2) {
        log_once(LogLevel::info, fmt::format("{} MB of a plan are not kept on disk, more than half of the cache's size; a larger "
                                             "TRIFOLD_CACHE_SIZE would keep them",
                                             bytes / 1000000));
        return;
    }
    fs::create_directory(root_ / stage_directory);
    fs::create_directory(root_ / data_directory);
    const PrivateDirectory stage(root_ / stage_directory);
    write_data(stage.path() / key, key, pieces);
    fs::rename(stage.path() / key, root_ / data_directory / key);
    bound(bytes);
} catch (const std::exception& error) {
    log_once(LogLevel::warning, fmt::format("cannot write to the cache {}: {}", root_.string(), error.what()));
}

std::vector<CacheEntry> Cache::list() const {
    std::vector<CacheEntry> result;
    for (const auto& path : entry_directories(root_)) {
        Descriptor directory;
        auto content = read_in(path, read_entry_meta, directory);
        auto& meta = content.meta;
        result.push_back({path.filename(), meta.name, meta.target, meta.compiler, bytes_below(path), modified(path), content.problem});
    }
    std::ranges::sort(result, std::greater(), &CacheEntry::used);
    return result;
}

std::vector<CacheEntry> Cache::verify() const {
    std::vector<CacheEntry> bad;
    for (auto& entry : list()) {
        Descriptor directory;
        const auto content = read_in(place(entry.key), read_entry, directory);
        if (content.state == EntryState::sound || content.state == EntryState::absent) continue;
        entry.problem = content.problem;
        entry.set_aside = content.state == EntryState::damaged && quarantine(entry.key, directory, content.problem);
        bad.push_back(std::move(entry));
    }
    return bad;
}

std::int64_t Cache::size() const {
    if (root_.empty()) return 0;
    auto sum = bytes_below(root_ / quarantine_directory) + bytes_below(root_ / stage_directory) + bytes_below(root_ / data_directory);
    for (const auto& path : entry_directories(root_)) sum += bytes_below(path);
    return sum;
}

std::int64_t Cache::prune(std::int64_t limit_bytes) const {
    if (root_.empty() || read_only_) return 0;
    std::int64_t freed = 0;
    for (const auto& path : children(root_ / stage_directory)) {
        if (is_abandoned(path)) freed += discard(path, root_);
    }
    auto total = size();
    const auto remove = [&](const fs::path& path) {
        if (total <= limit_bytes) return;
        const auto bytes = discard(path, root_);
        total -= bytes;
        freed += bytes;
    };
    for (const auto& path : children(root_ / quarantine_directory)) remove(path);
    auto data = children(root_ / data_directory);
    std::ranges::sort(data, {}, modified);
    for (const auto& path : data) remove(path);
    auto entries = list();
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) remove(place(entry->key));
    return freed;
}

std::int64_t Cache::clear() const {
    if (root_.empty() || read_only_) return 0;
    const auto before = size();
    for (const auto& path : entry_directories(root_)) discard(path, root_);
    std::error_code ignored;
    for (const auto* name : {quarantine_directory, stage_directory, lock_directory, data_directory}) fs::remove_all(root_ / name, ignored);
    for (const auto& shelf : children(root_)) {
        if (shelf.filename().string().size() == 2) fs::remove(shelf, ignored);  // only when empty
    }
    return before - size();
}

void Cache::bound(std::int64_t added) const {
    if (limit_ == unlimited) return;
    // One scan a process; what others add meanwhile is seen by their own scans.
    static std::mutex mutex;
    static std::map<fs::path, std::int64_t> totals;
    const std::scoped_lock guard(mutex);
    const auto [total, first] = totals.try_emplace(root_, 0);
    total->second = first ? size() : total->second + added;
    if (total->second <= limit_) return;
    prune(limit_ - limit_ / 10);
    total->second = size();
}

}  // namespace trifold
