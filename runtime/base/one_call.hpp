#pragma once
#include <fmt/format.h>

#include <atomic>
#include <string_view>
#include <trifold/error.hpp>

namespace trifold {

/// Holds a solver for one call. Throws SpecError while another call holds it, because two threads in one solver would corrupt its
/// workspace.
class OneCall {
  public:
    /// `solver`: the name of its class, in messages.
    OneCall(std::atomic_flag& busy, std::string_view solver) : busy_(busy) {
        if (busy_.test_and_set(std::memory_order_acquire))
            throw SpecError(fmt::format(
                "another thread is inside a call of this {0}; give each thread a {0} of its own (they may share the plan)", solver));
    }
    ~OneCall() { busy_.clear(std::memory_order_release); }
    OneCall(const OneCall&) = delete;
    OneCall& operator=(const OneCall&) = delete;

  private:
    std::atomic_flag& busy_;
};

}  // namespace trifold
