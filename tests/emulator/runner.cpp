#include "tests/emulator/runner.hpp"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

namespace trifold::test {
namespace {

constexpr int warp_lanes = 32;
constexpr std::size_t stack_bytes = 128 * 1024;

// A switch of stacks. swapcontext also saves the signal mask, two system calls each time, so x86-64 has its own.
#if defined(__x86_64__)
extern "C" void trifold_switch_stack(void** save, void* load);
__asm__(
    ".text\n.globl trifold_switch_stack\n.type trifold_switch_stack,@function\ntrifold_switch_stack:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

class Context {
  public:
    void start(char* stack, void (*entry)()) {
        auto top = (reinterpret_cast<std::uintptr_t>(stack) + stack_bytes) & ~std::uintptr_t{15};
        auto* frame = reinterpret_cast<void**>(top) - 8;  // six registers, the entry, and a return address never used
        std::memset(frame, 0, 8 * sizeof(void*));
        frame[6] = reinterpret_cast<void*>(entry);
        pointer_ = frame;
    }
    void switch_to(Context& other) { trifold_switch_stack(&pointer_, other.pointer_); }

  private:
    void* pointer_ = nullptr;
};
#else
class Context {
  public:
    void start(char* stack, void (*entry)()) {
        getcontext(&context_);
        context_.uc_stack.ss_sp = stack;
        context_.uc_stack.ss_size = stack_bytes;
        makecontext(&context_, entry, 0);
    }
    void switch_to(Context& other) { swapcontext(&context_, &other.context_); }

  private:
    ucontext_t context_{};
};
#endif

enum class Wait { none, block, warp, exchange, ended };

struct Fiber {
    Context context;
    Wait wait = Wait::none;
    const void* send = nullptr;
    void* all = nullptr;
    int bytes = 0;
};

struct Machine {
    Emulator* emulator;
    const std::function<void()>* kernel;
    std::vector<Fiber> fibers;
    Context scheduler;
    int current = 0;
};
Machine* machine = nullptr;

void pause(Wait wait) {
    auto& fiber = machine->fibers[static_cast<std::size_t>(machine->current)];
    fiber.wait = wait;
    fiber.context.switch_to(machine->scheduler);
}

void fiber_main() {
    (*machine->kernel)();
    pause(Wait::ended);
    std::abort();
}

void on_barrier(int kind) { pause(kind == 0 ? Wait::block : Wait::warp); }

void on_exchange(const void* send, void* all, int bytes) {
    auto& fiber = machine->fibers[static_cast<std::size_t>(machine->current)];
    fiber.send = send, fiber.all = all, fiber.bytes = bytes;
    pause(Wait::exchange);
}

/// Runs every fiber that can; false when none could.
bool run_ready(Order order) {
    bool any = false;
    const auto count = static_cast<int>(machine->fibers.size());
    for (int k = 0; k < count; ++k) {
        machine->current = order == Order::forward ? k : count - 1 - k;
        auto& fiber = machine->fibers[static_cast<std::size_t>(machine->current)];
        if (fiber.wait != Wait::none) continue;
        any = true;
        machine->emulator->thread = machine->current;
        machine->scheduler.switch_to(fiber.context);
    }
    return any;
}

bool all_wait(std::size_t first, std::size_t last, Wait wait) {
    for (auto k = first; k < last; ++k)
        if (machine->fibers[k].wait != wait) return false;
    return true;
}

void release_warp(std::size_t first, std::size_t last) {
    auto& fibers = machine->fibers;
    if (fibers[first].wait == Wait::exchange) {
        for (auto to = first; to < last; ++to)
            for (auto from = first; from < last; ++from)
                std::memcpy(static_cast<char*>(fibers[to].all) + (from - first) * static_cast<std::size_t>(fibers[to].bytes),
                            fibers[from].send, static_cast<std::size_t>(fibers[from].bytes));
    }
    for (auto k = first; k < last; ++k) fibers[k].wait = Wait::none;
}

/// Every wait that all of its threads have reached ends.
void release() {
    auto& fibers = machine->fibers;
    const auto count = fibers.size();
    if (all_wait(0, count, Wait::block)) {
        for (auto& fiber : fibers) fiber.wait = Wait::none;
        return;
    }
    for (std::size_t first = 0; first < count; first += warp_lanes) {
        const auto last = std::min(count, first + warp_lanes);
        if (all_wait(first, last, Wait::warp) || all_wait(first, last, Wait::exchange)) release_warp(first, last);
    }
}

std::string stuck_message() {
    std::string text = "divergent barrier: threads wait for others that never come:";
    const char* names[] = {"running", "block barrier", "warp barrier", "shuffle", "ended"};
    for (std::size_t k = 0; k < machine->fibers.size(); ++k) {
        const auto wait = machine->fibers[k].wait;
        if (k == 0 || machine->fibers[k - 1].wait != wait) text += fmt::format(" from thread {}: {};", k, names[static_cast<int>(wait)]);
    }
    return text;
}

}  // namespace

void run_block(Emulator& emulator, const std::function<void()>& kernel, int threads, std::int64_t shared_bytes, Order order) {
    const std::unique_ptr<char, decltype(&std::free)> shared(
        static_cast<char*>(std::aligned_alloc(256, static_cast<std::size_t>(shared_bytes + 256) / 256 * 256)), &std::free);
    std::memset(shared.get(), 0xff, static_cast<std::size_t>(shared_bytes));
    // The fibers never return, so under AddressSanitizer their stacks keep its marks and must not be used twice.
    const auto stack_size = static_cast<std::size_t>(threads) * stack_bytes;
#ifdef __SANITIZE_ADDRESS__
    const std::unique_ptr<char, decltype(&std::free)> stacks(static_cast<char*>(std::malloc(stack_size)), &std::free);
    char* const stack = stacks.get();
#else
    static std::vector<char> stacks;
    if (stacks.size() < stack_size) stacks.resize(stack_size);
    char* const stack = stacks.data();
#endif
    Machine here{&emulator, &kernel, std::vector<Fiber>(static_cast<std::size_t>(threads)), {}, 0};
    machine = &here;
    emulator.shared = shared.get();
    emulator.barrier = on_barrier;
    emulator.exchange = on_exchange;
    for (std::size_t k = 0; k < here.fibers.size(); ++k) here.fibers[k].context.start(stack + k * stack_bytes, fiber_main);
    while (!all_wait(0, here.fibers.size(), Wait::ended)) {
        if (!run_ready(order)) throw std::runtime_error(stuck_message());
        release();
    }
}

}  // namespace trifold::test
