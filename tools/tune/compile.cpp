#include "tools/tune/compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "runtime/compile/cache.hpp"
#include "tools/tune/family.hpp"
#include "tools/tune/process.hpp"

namespace trifold::tune {
namespace {

using Clock = std::chrono::steady_clock;

/// Units that are not in the cache yet.
std::deque<std::string> missing_units(const Point& point, const Target& target, const Candidate& candidate) {
    const auto program = family_of(point).program(point, target, candidate);
    const auto cache = Cache::from_environment();
    std::deque<std::string> result;
    for (std::size_t k = 0; k < program.units.size(); ++k)
        if (!cache.find(cache_key(program.units[k]))) result.push_back(unit_text(point, target, candidate, k));
    return result;
}

/// The end of a log, of whole lines where it has them.
std::string last_words(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    constexpr std::size_t most = 600;
    if (text.size() <= most) return text;
    const auto line = text.find('\n', text.size() - most);
    return text.substr(line == std::string::npos ? text.size() - most : line + 1);
}

}  // namespace

CompilePool::CompilePool(Options options) : options_(std::move(options)) {
    if (const auto cache = Cache::from_environment(); cache.path().empty() || !cache.writable())
        throw CacheError(
            fmt::format("candidates are compiled into the cache, and there is none that can be written to{}{}; set "
                        "TRIFOLD_CACHE_DIR to a directory of yours",
                        cache.problem().empty() ? "" : ": ", cache.problem()));
    for (int k = 0; k < options_.processes; ++k) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

CompilePool::~CompilePool() { stop(); }

void CompilePool::stop() {
    {
        const std::scoped_lock lock(mutex_);
        stopped_ = true;
    }
    for (auto& thread : threads_) thread.request_stop();
    changed_.notify_all();
}

/// Adds a job where it is not there yet.
std::string CompilePool::add(const Point& point, const Target& target, const Candidate& candidate) {
    auto key = unit_text(point, target, candidate, 0);
    {
        const std::scoped_lock lock(mutex_);
        if (jobs_.contains(key)) return key;
    }
    Job job;
    try {
        job.waiting = missing_units(point, target, candidate);  // some milliseconds, outside the lock
    } catch (const SpecError& error) {
        job.result = {Verdict::refused, error.what()};
    }
    job.left = job.waiting.size();
    const std::scoped_lock lock(mutex_);
    if (jobs_.emplace(key, std::move(job)).second) waiting_.push_back(key);
    changed_.notify_all();
    return key;
}

void CompilePool::begin(const Point& point, const Target& target, const std::vector<Candidate>& candidates) {
    for (const auto& candidate : candidates) add(point, target, candidate);
}

Compilation CompilePool::wait(const Point& point, const Target& target, const Candidate& candidate) {
    const auto key = add(point, target, candidate);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || jobs_.at(key).left == 0; });
    if (jobs_.at(key).left != 0) throw Stopped();
    return jobs_.at(key).result;
}

bool CompilePool::take(Task& task) {
    while (!waiting_.empty()) {
        auto& units = jobs_.at(waiting_.front()).waiting;
        if (!units.empty()) {
            task = {waiting_.front(), units.front()};
            units.pop_front();
            return true;
        }
        waiting_.pop_front();
    }
    return false;
}

void CompilePool::finish(const Task& task, const Compilation& one) {
    const std::scoped_lock lock(mutex_);
    auto& job = jobs_.at(task.key);
    job.result.seconds += one.seconds;
    if (one.verdict != Verdict::sound && job.result.verdict == Verdict::sound) {
        job.result.verdict = one.verdict;
        job.result.why = one.why;
        job.left -= job.waiting.size();  // the others are of no use
        job.waiting.clear();
    }
    --job.left;
    changed_.notify_all();
}

void CompilePool::work(const std::stop_token& stop) {
    while (true) {
        Task task;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stopped_ || take(task); });
            if (stopped_) return;
        }
        auto command = options_.worker;
        command.push_back(task.unit);
        const auto begin = Clock::now();
        Compilation one;
        try {
            const auto ended = run_limited(command, options_.seconds, stop);
            if (ended.stopped) return;
            if (!ended.succeeded())
                one = {ended.timed_out ? Verdict::times_out : Verdict::does_not_compile,
                       fmt::format("the compiling process {}{}{}", ended.describe(), ended.output.empty() ? "" : ": ",
                                   last_words(ended.output))};
        } catch (const std::exception& error) {
            one = {Verdict::does_not_compile, error.what()};
        }
        one.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        finish(task, one);
    }
}

}  // namespace trifold::tune
