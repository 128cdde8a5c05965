#pragma once
#include <atomic>
#include <mutex>

#include "tools/tune/sweep.hpp"

namespace trifold::tune {

/// What the threads of a sweep share: the database, how far the sweep is, and whether it is to end. Safe from many threads.
class Ledger {
  public:
    Ledger(Database& database, Machine machine, const TuneOptions& options, const SweepListener& listener, std::size_t points);

    const Machine& machine() const { return machine_; }
    const std::string& generator() const { return generator_; }

    std::vector<Trial> trials(const Point& point);
    std::vector<Trial> all_trials();  ///< of this machine and generator
    std::optional<Decision> decision(const Point& point);
    bool claim(const Point& point);
    void release(const Point& point);

    void append(const Trial& trial);
    void append(const Decision& decision);
    void add(PointResult result);
    /// What people are shown: what is measured now, and the best so far of that point.
    void show(const std::string& now, const std::string& best);

    /// Whether the sweep should end: its time is over, it was told to, or the device takes no more work.
    bool is_over() const;
    /// The device takes no more work, for this reason.
    void give_up(const std::string& why);
    std::string problem();  ///< why it was given up; empty: it was not
    SweepReport report();

  private:
    double seconds() const;
    void tell();

    Database& database_;
    const Machine machine_;
    const std::string generator_;
    const TuneOptions& options_;
    const SweepListener& listener_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::mutex mutex_;
    SweepReport report_;
    std::string problem_;
    std::atomic<bool> given_up_ = false;
};

}  // namespace trifold::tune
