#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/session/engine.hpp"

namespace trifold {

/// JSON text of a name, which in a line that is to be short has at most 500 characters.
std::string captured_text(const std::string& name);

/// Appends the uses of one session to the file that TRIFOLD_CAPTURE names (docs/users/tuning.md has a line of it). It waits for
/// nothing, and what goes wrong is said once in the log and changes nothing else. After construction it allocates nothing.
///
/// A child of a fork goes on under another id and counts from zero, so the parent's line stays true.
class Capture {
  public:
    /// Null when the switch is not set.
    static std::unique_ptr<Capture> make(std::shared_ptr<const Prepared> prepared, const Engine& engine);
    Capture(std::filesystem::path path, std::shared_ptr<const Prepared> prepared, const Engine& engine);
    /// Appends the last line, unless nothing was called. The engine must have ended its work.
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /// Before the launches of an operation, by its number: what is to time them, or null. One thread at a time.
    StreamTimer* begin(std::size_t operation) noexcept;
    /// Behind them, unless they have failed. `recorded`: into a graph of the caller's, and so not run yet and not timed.
    void end(std::size_t operation, std::int64_t members, bool recorded) noexcept;
    /// Appends what is not in the file yet, for all that live. For the end of a process, while other threads may be in a call.
    static void flush() noexcept;

  private:
    struct Entry {
        std::unique_ptr<StreamTimer> timer;  ///< null: a part of other operations, which is not counted
        std::uint64_t calls = 0, recorded = 0, members = 0;
        bool is_timed = false;      ///< this call is one of the sample
        std::uint64_t pending = 0;  ///< the call whose time is not known yet; 0: none
        bool has_first = false;
        double first = 0;                  ///< seconds of the first call, which has the caches to warm
        std::array<double, 64> seconds{};  ///< seconds of the later ones: calls 2, 4, 8, ...
        std::size_t timed = 0;
    };
    static double median(const Entry& entry) noexcept;
    void restart() noexcept;
    void collect(Entry& entry) noexcept;
    void write() noexcept;
    void format();

    std::filesystem::path path_;
    std::shared_ptr<const Prepared> prepared_;
    std::string line_;            // a line feed, what never changes, what does
    std::size_t fixed_ = 0;       // bytes of `line_` that never change but for the id
    std::vector<Entry> entries_;  // by the number of the operation
    std::uint64_t total_ = 0;
    int born_;                 // forks before this began to count
    bool is_new_ = false;      // something is not in the file
    bool is_torn_ = false;     // the last line could not be written in full
    std::atomic_flag in_use_;  // by a call, or by flush()
};

}  // namespace trifold
