#include "tools/bench/regret/compile_ahead.hpp"

#include <algorithm>
#include <exception>
#include <trifold/binary.hpp>

namespace trifold::regret {

CompileAhead::CompileAhead(std::vector<Choice> choices, int threads) : choices_(std::move(choices)), left_(choices_.size(), -1) {
    for (int k = 0; k < threads; ++k) threads_.emplace_back([this] { work(); });
}

CompileAhead::~CompileAhead() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
}

void CompileAhead::wait_for(std::size_t choice) {
    if (threads_.empty()) return;
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_[choice] == 0; });
}

/// The next unit; where there is none, those of the next choice are generated, under the lock: that takes a millisecond.
bool CompileAhead::take(Job& job) {
    const std::scoped_lock lock(mutex_);
    while (waiting_.empty() && next_ < choices_.size() && !stopped_) {
        const auto choice = next_++;
        try {
            for (auto& unit : generate(choices_[choice]).units) waiting_.push_back({choice, std::move(unit)});
        } catch (const std::exception&) {
        }
        std::ranges::reverse(waiting_);
        left_[choice] = static_cast<int>(waiting_.size());
        if (waiting_.empty()) done_.notify_all();
    }
    if (waiting_.empty() || stopped_) return false;
    job = std::move(waiting_.back());
    waiting_.pop_back();
    return true;
}

void CompileAhead::work() {
    for (Job job; take(job);) {
        try {
            obtain(job.unit);
        } catch (const std::exception&) {
        }
        const std::scoped_lock lock(mutex_);
        if (--left_[job.choice] == 0) done_.notify_all();
    }
}

}  // namespace trifold::regret
