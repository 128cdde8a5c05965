#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>
#include <trifold/generate.hpp>

namespace trifold::regret {

/// Threads that compile the kernels of choices, in the order in which they were given, into the cache.
class CompileAhead {
  public:
    CompileAhead(std::vector<Choice> choices, int threads);
    CompileAhead(const CompileAhead&) = delete;
    CompileAhead& operator=(const CompileAhead&) = delete;
    /// Lets what is being compiled end, and leaves the rest.
    ~CompileAhead();
    /// Until all units of the choice are compiled, or have failed: the Plan that is then made says so itself.
    void wait_for(std::size_t choice);

  private:
    struct Job {
        std::size_t choice;
        Unit unit;
    };
    void work();
    bool take(Job& job);

    const std::vector<Choice> choices_;
    std::mutex mutex_;
    std::condition_variable done_;
    std::vector<Job> waiting_;  // units of the choice that was generated last, the first at the end
    std::vector<int> left_;     // of a choice, units without an end; -1: not generated yet
    std::size_t next_ = 0;      // choice
    bool stopped_ = false;
    std::vector<std::jthread> threads_;  // the last member: it ends first
};

}  // namespace trifold::regret
