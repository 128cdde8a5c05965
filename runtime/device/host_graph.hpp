#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <trifold/device.hpp>
#include <trifold/program.hpp>
#include <trifold/transport.hpp>
#include <vector>

#include "runtime/device/pool.hpp"
#include "runtime/device/units.hpp"

namespace trifold {

/// Called in the thread of a call between its steps on a CPU. It throws what is to end the call: a user's Ctrl-C, which some languages keep
/// back until a call returns. The next call begins as after any other error.
using Interruption = void (*)();
inline std::atomic<Interruption> interruption = nullptr;

inline void look_for_interruption() {
    if (const auto look = interruption.load(std::memory_order_relaxed); look != nullptr) look();
}

/// The operations of a Program on CPU threads: each launch is cut into tasks, which workers share.
class HostGraph {
  public:
    /// Idle workers stay awake for `spin`. `transport` carries the Program's messages, if it has some.
    HostGraph(const Program& program, void* workspace, std::chrono::microseconds spin, Transport* transport = nullptr);
    HostGraph(const HostGraph&) = delete;
    HostGraph& operator=(const HostGraph&) = delete;

    /// A launch, ready to run.
    struct Step {
        void (*entry)(const void* operand, const void* constants, long long first_task, long long last_task, void* scratch);
        const void* constants;
        std::int64_t groups, members_per_group;
        std::size_t operands;
        Work work;
        const Message* message;  ///< the message of a send or receive
        std::int64_t first_task;
    };
    /// Steps that are repeated.
    struct Turns {
        std::size_t first, count;
        std::int64_t most, flag;  ///< turns; where the flag is, in bytes from the workspace's start
    };
    struct Steps {
        std::vector<Step> steps;
        std::vector<Turns> repeats;
    };
    /// An operation, ready to run: waits for its code. The Program and the units must outlive the steps.
    static Steps steps_of(const Program& program, const Units& units, const std::string& operation);
    /// Returns when all launches have ended. Allocates nothing. Throws LaunchError when an executor did not run every task.
    void run(const Steps& steps, std::span<const Operand> operands);
    /// Goes on in another workspace, between calls.
    void set_workspace(void* workspace) { workspace_ = static_cast<char*>(workspace); }
    /// Runs the tasks in place of threads of its own.
    void set_executor(Executor executor);

  private:
    void run_each(std::span<const Step> steps);
    void run_message(const Step& step);
    void share(std::span<const Step> steps, std::int64_t units);
    void run_piece(std::int64_t piece, int worker);
    void run_units(std::int64_t first, std::int64_t last, int worker);
    void run_tasks(const Step& step, std::int64_t first, std::int64_t last, int worker);
    void run_on_executor();
    void check_and_run_piece(std::int64_t piece, int worker);

    int workers_;
    char* workspace_;
    std::int64_t scratch_, scratch_bytes_;  // first worker's, in bytes from the workspace's start; and bytes of each
    std::int64_t group_ = 1;                // members that share a task
    Transport* transport_;
    std::int64_t room_ = 0;  // the buffer "message"
    bool has_messages_ = false;
    // The call in progress.
    std::span<const Step> steps_in_progress_;
    std::span<const Operand> operands_;
    bool by_members_ = false;
    std::int64_t units_ = 0, pieces_ = 0;  // units are groups of members, or tasks
    std::atomic<std::int64_t> ended_{0};
    Executor executor_;
    std::function<void(std::int64_t, int)> run_piece_;
    std::optional<Pool> pool_;  // last, so that its threads end first
};

/// Runs a send or a receive of a Program: pieces of its workspace, gathered in `room`.
void run_message(Work work, const Message& message, char* workspace, char* room, std::int64_t members, Transport& transport);

/// The entry of a copy: its tasks are members.
void copy_members(const void* block_copy, const void* constants, long long first, long long last, void* scratch);

}  // namespace trifold
