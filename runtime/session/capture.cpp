#include "runtime/session/capture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/files.hpp"
#include "runtime/base/forks.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/switches.hpp"

namespace trifold {
namespace {

constexpr std::size_t id_digits = 32;
constexpr std::size_t room_of_operation = 256;                          // bytes, at most
constexpr std::string_view opening = R"({"trifold_capture":1,"id":")";  // 1: the version of this format
constexpr std::size_t id_place = 1 + opening.size();

/// Captures that live. Never destroyed, since at exit some of them live on.
struct Captures {
    Captures();
    std::mutex mutex;
    std::set<Capture*> all;
};
Captures* captures = nullptr;

Captures::Captures() {
    captures = this;
    // Between fork and exec the lock must not stay with a thread that the child does not have.
    ::pthread_atfork([] { captures->mutex.lock(); }, [] { captures->mutex.unlock(); }, [] { captures->mutex.unlock(); });
    std::atexit([] { Capture::flush(); });
}

Captures& living() {
    static auto& made = *new Captures;
    return made;
}

/// One user at a time; who finds another goes without it, and never waits.
class Turn {
  public:
    explicit Turn(std::atomic_flag& flag) : flag_(flag), mine_(!flag.test_and_set(std::memory_order_acquire)) {}
    ~Turn() {
        if (mine_) flag_.clear(std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return mine_; }

  private:
    std::atomic_flag& flag_;
    bool mine_;
};

/// Digits that no other process has, on whatever machine, and no other session of this one.
void put_id(char* digits) noexcept {
    std::array<unsigned char, id_digits / 2> bytes{};
    if (::getentropy(bytes.data(), bytes.size()) != 0) {
        static std::atomic<std::uint64_t> count = 0;
        const std::array<std::uint64_t, 2> instead{static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()),
                                                   (static_cast<std::uint64_t>(::getpid()) << 32) + ++count};
        std::memcpy(bytes.data(), instead.data(), bytes.size());
    }
    for (const unsigned byte : bytes) {
        *digits++ = "0123456789abcdef"[byte / 16];
        *digits++ = "0123456789abcdef"[byte % 16];
    }
}

std::string what_stays(const Prepared& prepared) {
    return fmt::format(
        "\n{}{}"
        R"(",{},"target":{},"device":{},"workers":{})",
        opening, std::string(id_digits, '0'), prepared.described, captured_text(to_string(prepared.device.target())),
        captured_text(prepared.device.name()), prepared.program.workers);
}

/// Said without log_once: at the end of a process its memory may be gone.
void complain(const std::filesystem::path& path, const char* why) noexcept try {
    static std::atomic_flag said;
    if (said.test_and_set()) return;
    log(LogLevel::warning, fmt::format("TRIFOLD_CAPTURE names '{}', which cannot be written: {}; what is solved is not captured. Name a "
                                       "file in a directory that exists and has room",
                                       path.string(), why));
} catch (...) {
}

/// A pipe would hold up its writer, or end it.
const char* problem_of(const Descriptor& file) {
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0) return std::strerror(errno);
    return S_ISREG(about.st_mode) || S_ISCHR(about.st_mode) ? nullptr : "it is no file";
}

/// Appends to a file, which is made where there is none, by one write: so lines of several processes stay whole. Waits for nothing and
/// allocates nothing. Null, or why not all of it was written.
const char* append_line(const std::filesystem::path& path, std::string_view line) {
    const auto file = open_to_write(path, O_WRONLY | O_APPEND | O_NONBLOCK);
    if (const auto* why = problem_of(file)) return why;
    while (!line.empty()) {
        const auto count = ::write(file.get(), line.data(), line.size());
        if (count > 0) {
            line.remove_prefix(static_cast<std::size_t>(count));
        } else if (count == 0 || errno != EINTR) {
            return count == 0 ? "nothing more is taken" : std::strerror(errno);
        }
    }
    return nullptr;
}

}  // namespace

std::string captured_text(const std::string& name) {
    constexpr std::size_t most = 500;
    const auto text = name.size() <= most ? name : name.substr(0, most - 3) + "...";
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::unique_ptr<Capture> Capture::make(std::shared_ptr<const Prepared> prepared, const Engine& engine) {
    const std::filesystem::path path = switch_value("TRIFOLD_CAPTURE");
    if (path.empty() || prepared->described.empty()) return nullptr;
    std::error_code failed;  // the working directory may be gone
    const auto absolute = std::filesystem::absolute(path, failed);
    return std::make_unique<Capture>(failed ? path : absolute, std::move(prepared), engine);
}

Capture::Capture(std::filesystem::path path, std::shared_ptr<const Prepared> prepared, const Engine& engine)
    : path_(std::move(path)), prepared_(std::move(prepared)), line_(what_stays(*prepared_)), fixed_(line_.size()), born_(forks()) {
    entries_.resize(prepared_->program.operations.size());
    line_.reserve(fixed_ + (entries_.size() + 1) * room_of_operation);
    auto entry = entries_.begin();
    for (const auto& [name, launches] : prepared_->program.operations) {
        const bool is_asked = prepared_->asked.empty() || std::ranges::find(prepared_->asked, name) != prepared_->asked.end();
        if (is_asked) entry->timer = engine.make_timer();
        ++entry;
    }
    put_id(line_.data() + id_place);
    auto& others = living();
    const std::scoped_lock lock(others.mutex);
    others.all.insert(this);
}

Capture::~Capture() {
    auto& others = living();
    {
        const std::scoped_lock lock(others.mutex);
        others.all.erase(this);
    }
    if (born_ != forks()) return;  // nothing was called since the fork
    for (auto& entry : entries_) collect(entry);
    write();
}

void Capture::flush() noexcept {
    if (captures == nullptr) return;
    const std::scoped_lock lock(captures->mutex);
    for (auto* capture : captures->all) {
        const Turn turn(capture->in_use_);
        if (turn && capture->born_ == forks()) capture->write();
    }
}

void Capture::restart() noexcept {
    born_ = forks();
    put_id(line_.data() + id_place);
    for (auto& entry : entries_) {
        entry.calls = entry.recorded = entry.members = entry.pending = 0;
        entry.timed = 0;
        entry.has_first = false;
    }
    total_ = 0;
    is_new_ = is_torn_ = false;
}

StreamTimer* Capture::begin(std::size_t operation) noexcept {
    const Turn turn(in_use_);
    if (!turn) return nullptr;
    if (born_ != forks()) restart();
    auto& entry = entries_[operation];
    entry.is_timed = false;
    if (entry.timer == nullptr || !std::has_single_bit(entry.calls + 1)) return nullptr;
    collect(entry);
    entry.is_timed = entry.pending == 0;
    return entry.is_timed ? entry.timer.get() : nullptr;
}

void Capture::end(std::size_t operation, std::int64_t members, bool recorded) noexcept {
    const Turn turn(in_use_);
    if (!turn) return;
    auto& entry = entries_[operation];
    if (entry.timer == nullptr) return;
    if (recorded) {
        ++entry.recorded;
    } else {
        ++entry.calls;
        if (entry.is_timed) entry.pending = entry.calls;
    }
    entry.is_timed = false;
    entry.members += static_cast<std::uint64_t>(members);
    is_new_ = true;
    if (!std::has_single_bit(++total_)) return;
    for (auto& each : entries_) collect(each);
    write();
}

/// Takes a time that is known by now.
void Capture::collect(Entry& entry) noexcept {
    if (entry.pending == 0) return;
    const auto seconds = entry.timer->seconds();
    if (!seconds) return;
    if (entry.pending == 1) {
        entry.first = *seconds;
        entry.has_first = true;
    } else if (entry.timed < entry.seconds.size()) {
        entry.seconds[entry.timed++] = *seconds;
    }
    entry.pending = 0;
    is_new_ = true;
}

double Capture::median(const Entry& entry) noexcept {
    if (entry.timed == 0) return entry.first;
    auto sorted = entry.seconds;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((entry.timed - 1) / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(entry.timed));
    return *middle;
}

void Capture::format() {
    line_.resize(fixed_);
    const auto out = std::back_inserter(line_);
    fmt::format_to(out, ",\"operations\":{{");
    bool is_first = true;
    auto entry_of_next = entries_.begin();
    for (const auto& [name, launches] : prepared_->program.operations) {
        const auto& entry = *entry_of_next++;
        if (entry.calls + entry.recorded == 0) continue;
        const auto timed = entry.timed + (entry.has_first ? 1 : 0);
        fmt::format_to(out, R"({}"{}":{{"calls":{},"recorded":{},"members":{},"timed":{})", is_first ? "" : ",", name, entry.calls,
                       entry.recorded, entry.members, timed);
        if (timed > 0) fmt::format_to(out, R"(,"seconds":{:.6e})", median(entry));
        fmt::format_to(out, "}}");
        is_first = false;
    }
    fmt::format_to(out, "}}}}\n");
}

void Capture::write() noexcept try {
    if (!is_new_) return;
    is_new_ = false;
    format();
    // A piece of a line may stand before it.
    const auto* why = append_line(path_, std::string_view(line_).substr(is_torn_ ? 0 : 1));
    is_torn_ = why != nullptr;
    if (why != nullptr) complain(path_, why);
} catch (...) {
    // Nothing may fail because it could not be captured.
}

}  // namespace trifold
