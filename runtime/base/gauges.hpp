#pragma once
#include <atomic>
#include <cstdint>

namespace trifold {

/// How many of something there are in this process, and their bytes.
struct Gauge {
    std::atomic<std::int64_t> count = 0, bytes = 0;
};

/// The numbers that process_report() tells.
struct Gauges {
    std::atomic<std::int64_t> compilations = 0, compile_microseconds = 0;
    Gauge binaries, modules, plans, solvers;
};
inline Gauges gauges;

/// Counts as one object, and as its number of bytes, while it lives.
class Gauged {
  public:
    explicit Gauged(Gauge& gauge, std::int64_t bytes = 0) : gauge_(gauge), bytes_(bytes) {
        ++gauge_.count;
        gauge_.bytes += bytes_;
    }
    ~Gauged() {
        --gauge_.count;
        gauge_.bytes -= bytes_;
    }
    std::int64_t bytes() const { return bytes_; }
    Gauged(const Gauged&) = delete;
    Gauged& operator=(const Gauged&) = delete;

  private:
    Gauge& gauge_;
    std::int64_t bytes_;
};

}  // namespace trifold
