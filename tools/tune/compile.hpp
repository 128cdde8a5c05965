#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <trifold/target.hpp>
#include <vector>

#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// What came of compiling a candidate: sound, refused, does_not_compile or times_out.
struct Compilation {
    Verdict verdict = Verdict::sound;
    std::string why;     ///< the reason and the compiler's last words
    double seconds = 0;  ///< of all its units, added up
};

/// Compiles units into the cache by processes, which may crash or hang: each is a program that is given a unit as its last argument.
class CompilePool {
  public:
    struct Options {
        std::vector<std::string> worker;  ///< program and first arguments
        int processes = 1;
        double seconds = 60;  ///< of one unit
    };
    /// Throws CacheError where there is no cache to compile into.
    explicit CompilePool(Options options);
    CompilePool(const CompilePool&) = delete;
    CompilePool& operator=(const CompilePool&) = delete;
    /// Kills what still compiles.
    ~CompilePool();

    /// Compiles them while the caller goes on. Nothing is compiled twice.
    void begin(const Point& point, const Target& target, const std::vector<Candidate>& candidates);
    /// Until all units of the candidate are compiled. Throws Stopped when the pool is stopped before.
    Compilation wait(const Point& point, const Target& target, const Candidate& candidate);
    void stop();

    class Stopped : public std::exception {};

  private:
    struct Job {
        std::deque<std::string> waiting;  // units, as a worker is given them
        std::size_t left = 0;             // units without an end
        Compilation result;
    };
    struct Task {
        std::string key, unit;
    };
    void work(const std::stop_token& stop);
    bool take(Task& task);
    std::string add(const Point& point, const Target& target, const Candidate& candidate);
    void finish(const Task& task, const Compilation& one);

    Options options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, Job> jobs_;
    std::deque<std::string> waiting_;  // keys of jobs with units that wait
    bool stopped_ = false;
    std::vector<std::jthread> threads_;  // the last member: it ends first
};

/// A unit of a candidate as a worker is given it.
std::string unit_text(const Point& point, const Target& target, const Candidate& candidate, std::size_t unit);
/// What a worker does: compiles that unit into the cache. Ends the process after so many seconds. Throws what the library throws.
void compile_unit(const std::string& text, int most_seconds);

}  // namespace trifold::tune
