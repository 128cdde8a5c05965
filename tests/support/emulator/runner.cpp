#include "tests/support/emulator/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/emulator/detector.hpp"
#include "tests/support/emulator/fiber.hpp"

namespace trifold::test {
namespace {

enum class Wait { none, spin, block, wave, exchange, named, cluster, ended };
constexpr const char* waits[] = {"run",     "spin on a flag",          "wait at the block barrier",   "wait at the wave barrier",
                                 "shuffle", "wait at a named barrier", "wait at the cluster barrier", "have ended"};
constexpr int named_barriers = 16;
constexpr int max_idle_rounds = 100;  // of threads that only look at flags

struct Copy {
    void* to;
    const void* from;
    int bytes;
    const void* here;
};

struct Thread {
    Fiber fiber;
    Wait wait = Wait::none;
    const void* here = nullptr;  // where it waits
    int named = 0;
    const void* send = nullptr;
    int bytes = 0;
    const void* flag = nullptr;  // the last one it looked at, and what it saw
    unsigned long long seen = 0;
    std::vector<std::vector<Copy>> copies = {{}};  // in groups; the last is open
    std::int64_t steps = 0;                        // that are left
};

struct NamedBarrier {
    int threads = 0, arrived = 0;
    Clock clock;
};

struct Block {
    std::int64_t x, y, cluster;
    std::uint32_t number = 0;  // of the detector
    std::vector<Thread> threads;
    std::vector<int> ready;                   // threads of each wave that can run
    std::vector<std::vector<char>> gathered;  // what each wave exchanges
    std::unique_ptr<char, decltype(&std::free)> shared{nullptr, &std::free};
    std::unique_ptr<char[]> stacks;
    std::array<NamedBarrier, named_barriers> named;
};

class Machine {
  public:
    Machine(Emulator& emulator, const std::function<void()>& kernel, const Grid& grid, const Running& running, Detector* detector)
        : emulator_(emulator), kernel_(kernel), grid_(grid), running_(running), detector_(detector), random_(running.seed) {}
    ~Machine();
    void run();

    // What threads ask for.
    void main();
    void pause(Wait wait, const void* here);
    void named(int id, int threads, bool stays, const void* here);
    const void* exchange(const void* send, int bytes, const void* here);
    unsigned long long claim(void* counter, int bytes, bool releases, const void* here);
    void load_acquire(const void* flag, void* to, int bytes, const void* here);
    void store_release(void* flag, const void* value, int bytes, const void* here);
    void load_relaxed(const void* word, void* to, int bytes, const void* here);
    void store_relaxed(void* word, const void* value, int bytes, const void* here);
    void wait_for_launches();
    void copy(const Copy& copy);
    void end_copies() { thread().copies.emplace_back(); }
    void wait_copies(int pending);
    void access(const void* at, std::int64_t bytes, Kind kind, const void* here);
    void endless(const void* here);
    void stop(std::string problem);

  private:
    Thread& thread() { return block_->threads[static_cast<std::size_t>(current_)]; }
    int wave_of(int t) const { return t / grid_.lanes; }
    int end_of_wave(int wave) const { return std::min(grid_.threads, (wave + 1) * grid_.lanes); }
    void wake(Block& block, int t);
    void start_block();
    void end_block(Block& block);
    bool step();
    void step_wave(Block& block, int wave);
    bool wake_spinning();
    void meet(Block& block, int wave);
    void meet_block(Block& block);
    void meet_cluster(const Block& block);
    bool all_wait(const Block& block, int first, int last, Wait wait) const;
    std::string stuck() const;

    Emulator& emulator_;
    const std::function<void()>& kernel_;
    const Grid& grid_;
    const Running& running_;
    Detector* detector_;
    std::mt19937 random_;
    std::vector<std::unique_ptr<Block>> blocks_;  // alive
    std::int64_t started_ = 0;
    Fiber scheduler_;
    Block* block_ = nullptr;  // of the thread that runs
    int current_ = 0;
    int idle_rounds_ = 0;
    std::string problem_;  // of a thread, which cannot throw through its stack
};
Machine* machine = nullptr;

// Stacks of blocks that have ended. A thread of an ended block never leaves its stack, so under AddressSanitizer they keep its marks
// and must not be used twice.
std::vector<std::unique_ptr<char[]>> spare_stacks;
std::size_t spare_size = 0;

std::unique_ptr<char[]> take_stacks(std::size_t bytes) {
    if (spare_size != bytes) spare_stacks.clear();
    spare_size = bytes;
    if (spare_stacks.empty()) return std::unique_ptr<char[]>(new char[bytes]);
    auto stacks = std::move(spare_stacks.back());
    spare_stacks.pop_back();
    return stacks;
}

void give_back([[maybe_unused]] std::unique_ptr<char[]> stacks) {
#ifndef __SANITIZE_ADDRESS__
    spare_stacks.push_back(std::move(stacks));
#endif
}

Machine::~Machine() {
    for (auto& block : blocks_) give_back(std::move(block->stacks));
}

void Machine::pause(Wait wait, const void* here) {
    auto& mine = thread();
    mine.wait = wait, mine.here = here;
    --block_->ready[static_cast<std::size_t>(wave_of(current_))];
    if (wait != Wait::spin) idle_rounds_ = 0, mine.flag = nullptr;
    mine.fiber.switch_to(scheduler_);
}

void Machine::wake(Block& block, int t) {
    block.threads[static_cast<std::size_t>(t)].wait = Wait::none;
    ++block.ready[static_cast<std::size_t>(wave_of(t))];
}

void Machine::stop(std::string problem) {
    problem_ = std::move(problem);
    pause(Wait::ended, nullptr);
    std::abort();
}

void Machine::endless(const void* here) {
    stop(fmt::format("a loop without end: block ({}, {}) thread {} has taken {} steps, {}", block_->x, block_->y, current_,
                     running_.max_steps, source_line(here)));
}

void Machine::main() {
    kernel_();
    for (const auto& group : thread().copies)
        if (!group.empty()) stop(fmt::format("a copy is never waited for: {}", source_line(group.front().here)));
    pause(Wait::ended, nullptr);
    std::abort();
}

void Machine::wait_for_launches() {
    if (detector_ != nullptr) detector_->wait_for_launches(block_->number, static_cast<std::uint32_t>(current_));
}

/// All threads of a barrier must agree on how many they are; the last to arrive lets the others go.
void Machine::named(int id, int threads, bool stays, const void* here) {
    if (id < 1 || id >= named_barriers)
        stop(fmt::format("named barrier {} does not exist: give 1 to {}; {}", id, named_barriers - 1, source_line(here)));
    auto& barrier = block_->named[static_cast<std::size_t>(id)];
    if (threads % grid_.lanes != 0 || threads > grid_.threads || (barrier.arrived > 0 && barrier.threads != threads))
        stop(fmt::format("named barrier {} of {} threads is met as one of {}; {}", id,
                         barrier.arrived > 0 ? barrier.threads : grid_.threads, threads, source_line(here)));
    barrier.threads = threads;
    if (detector_ != nullptr) detector_->arrive(barrier.clock, block_->number, static_cast<std::uint32_t>(current_));
    thread().named = id;
    if (++barrier.arrived < threads) {
        if (stays) pause(Wait::named, here);
        return;
    }
    const auto learn = [&](int t) {
        if (detector_ != nullptr) detector_->learn(barrier.clock, block_->number, static_cast<std::uint32_t>(t));
    };
    for (int t = 0; t < grid_.threads; ++t) {
        const auto& other = block_->threads[static_cast<std::size_t>(t)];
        if (other.wait == Wait::named && other.named == id) learn(t), wake(*block_, t);
    }
    if (stays) learn(current_);
    barrier = {};
    idle_rounds_ = 0;
}

const void* Machine::exchange(const void* send, int bytes, const void* here) {
    thread().send = send, thread().bytes = bytes;
    pause(Wait::exchange, here);
    return block_->gathered[static_cast<std::size_t>(wave_of(current_))].data();
}

unsigned long long load(const void* at, int bytes) {
    unsigned long long value = 0;
    std::memcpy(&value, at, static_cast<std::size_t>(bytes));
    return value;
}

/// One that releases leaves what is known of those before it: they are one sequence.
unsigned long long Machine::claim(void* counter, int bytes, bool releases, const void* here) {
    access(counter, bytes, Kind::atomic_write, here);
    if (releases && detector_ != nullptr) detector_->release_more(counter, block_->number, static_cast<std::uint32_t>(current_));
    const auto value = load(counter, bytes), next = value + 1;
    std::memcpy(counter, &next, static_cast<std::size_t>(bytes));
    idle_rounds_ = 0;
    return value;
}

/// A second look at a flag that has not changed lets others run first: the thread may be waiting for them.
void Machine::load_acquire(const void* flag, void* to, int bytes, const void* here) {
    access(flag, bytes, Kind::atomic_read, here);
    auto& mine = thread();
    if (mine.flag == flag && mine.seen == load(flag, bytes)) pause(Wait::spin, here);
    mine.flag = flag, mine.seen = load(flag, bytes);
    if (detector_ != nullptr) detector_->acquire(flag, block_->number, static_cast<std::uint32_t>(current_));
    std::memcpy(to, &mine.seen, static_cast<std::size_t>(bytes));
}

void Machine::store_release(void* flag, const void* value, int bytes, const void* here) {
    access(flag, bytes, Kind::atomic_write, here);
    if (detector_ != nullptr) detector_->release(flag, block_->number, static_cast<std::uint32_t>(current_));
    std::memcpy(flag, value, static_cast<std::size_t>(bytes));
    idle_rounds_ = 0;
}

/// Words of whichever thread comes first; who looks again says spin() between.
void Machine::load_relaxed(const void* word, void* to, int bytes, const void* here) {
    access(word, bytes, Kind::atomic_read, here);
    std::memcpy(to, word, static_cast<std::size_t>(bytes));
}

void Machine::store_relaxed(void* word, const void* value, int bytes, const void* here) {
    access(word, bytes, Kind::atomic_write, here);
    std::memcpy(word, value, static_cast<std::size_t>(bytes));
    idle_rounds_ = 0;
}

/// Until it lands, what was there is gone and what will be there is not yet.
void Machine::copy(const Copy& copy) {
    access(copy.from, copy.bytes, Kind::read, copy.here);
    access(copy.to, copy.bytes, Kind::write, copy.here);
    std::memset(copy.to, 0xff, static_cast<std::size_t>(copy.bytes));
    thread().copies.back().push_back(copy);
}

void Machine::wait_copies(int pending) {
    auto& groups = thread().copies;
    while (groups.size() > static_cast<std::size_t>(pending) + 1) {
        for (const auto& copy : groups.front()) {
            access(copy.from, copy.bytes, Kind::read, copy.here);
            access(copy.to, copy.bytes, Kind::write, copy.here);
            std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.bytes));
        }
        groups.erase(groups.begin());
    }
}

void Machine::access(const void* at, std::int64_t bytes, Kind kind, const void* here) {
    if (detector_ == nullptr) return;
    const auto* stack = block_->stacks.get() + static_cast<std::size_t>(current_) * stack_bytes;
    if (at >= stack && at < stack + stack_bytes) return;
    if (!detector_->access(block_->number, static_cast<std::uint32_t>(current_), at, bytes, kind, here))
        stop(detector_->findings().empty() ? "out of bounds" : detector_->findings().back());
}

void Machine::start_block() {
    auto block = std::make_unique<Block>();
    block->x = started_ % grid_.x, block->y = started_ / grid_.x, block->cluster = started_ / grid_.cluster;
    ++started_;
    const auto bytes = static_cast<std::size_t>(grid_.shared_bytes);
    block->shared.reset(static_cast<char*>(std::aligned_alloc(256, (bytes + 256) / 256 * 256)));
    std::memset(block->shared.get(), 0xff, bytes);
    block->stacks = take_stacks(static_cast<std::size_t>(grid_.threads) * stack_bytes);
    block->threads.resize(static_cast<std::size_t>(grid_.threads));
    const auto waves = static_cast<std::size_t>((grid_.threads + grid_.lanes - 1) / grid_.lanes);
    block->ready.resize(waves), block->gathered.resize(waves);
    for (int t = 0; t < grid_.threads; ++t) {
        block->threads[static_cast<std::size_t>(t)].steps = running_.max_steps;
        block->threads[static_cast<std::size_t>(t)].fiber.start(block->stacks.get() + static_cast<std::size_t>(t) * stack_bytes,
                                                                [] { machine->main(); });
        ++block->ready[static_cast<std::size_t>(wave_of(t))];
    }
    if (detector_ != nullptr) block->number = detector_->begin_block(grid_.threads, grid_.lanes, block->shared.get(), grid_.shared_bytes);
    blocks_.push_back(std::move(block));
}

void Machine::end_block(Block& block) {
    if (detector_ != nullptr) detector_->end_block(block.number);
    give_back(std::move(block.stacks));
    std::erase_if(blocks_, [&](const auto& other) { return other.get() == &block; });
}

bool Machine::all_wait(const Block& block, int first, int last, Wait wait) const {
    return std::all_of(block.threads.begin() + first, block.threads.begin() + last, [&](const auto& t) { return t.wait == wait; });
}

void Machine::step_wave(Block& block, int wave) {
    std::vector<int> lanes;
    for (int t = wave * grid_.lanes; t < end_of_wave(wave); ++t)
        if (block.threads[static_cast<std::size_t>(t)].wait == Wait::none) lanes.push_back(t);
    if (running_.order == Order::reverse) std::ranges::reverse(lanes);
    if (running_.order == Order::random) std::ranges::shuffle(lanes, random_);
    block_ = &block;
    for (const int t : lanes) {
        auto& thread = block.threads[static_cast<std::size_t>(t)];
        current_ = t;
        emulator_.thread = t;
        emulator_.steps = thread.steps;
        emulator_.group[0] = block.x, emulator_.group[1] = block.y;
        emulator_.shared = block.shared.get();
        scheduler_.switch_to(thread.fiber);
        thread.steps = emulator_.steps;
        if (!problem_.empty()) throw std::runtime_error(problem_);
    }
    meet(block, wave);
}

/// Every wait that all of its threads have reached ends.
void Machine::meet(Block& block, int wave) {
    const int first = wave * grid_.lanes, last = end_of_wave(wave);
    const auto wait = block.threads[static_cast<std::size_t>(first)].wait;
    if (wait == Wait::none || !all_wait(block, first, last, wait)) return;
    if (wait == Wait::wave || wait == Wait::exchange) {
        if (wait == Wait::wave && detector_ != nullptr) detector_->wave_barrier(block.number, static_cast<std::uint32_t>(wave));
        auto& all = block.gathered[static_cast<std::size_t>(wave)];
        all.clear();
        for (int t = first; t < last; ++t) {
            const auto& one = block.threads[static_cast<std::size_t>(t)];
            const auto* sent = static_cast<const char*>(one.send);
            if (wait == Wait::exchange) all.insert(all.end(), sent, sent + one.bytes);
        }
        for (int t = first; t < last; ++t) wake(block, t);
    } else if (wait == Wait::block || wait == Wait::cluster || wait == Wait::ended) {
        meet_block(block);
    }
}

void Machine::meet_block(Block& block) {
    if (all_wait(block, 0, grid_.threads, Wait::block)) {
        if (detector_ != nullptr) detector_->block_barrier(block.number);
        for (int t = 0; t < grid_.threads; ++t) wake(block, t);
    } else if (all_wait(block, 0, grid_.threads, Wait::cluster)) {
        meet_cluster(block);
    } else if (all_wait(block, 0, grid_.threads, Wait::ended)) {
        end_block(block);
    }
}

void Machine::meet_cluster(const Block& block) {
    std::vector<std::uint32_t> numbers;
    std::vector<Block*> members;
    for (const auto& other : blocks_)
        if (other->cluster == block.cluster && all_wait(*other, 0, grid_.threads, Wait::cluster))
            members.push_back(other.get()), numbers.push_back(other->number);
    if (static_cast<std::int64_t>(members.size()) < grid_.cluster) return;
    if (detector_ != nullptr) detector_->cluster_barrier(numbers);
    for (auto* member : members)
        for (int t = 0; t < grid_.threads; ++t) wake(*member, t);
}

bool Machine::wake_spinning() {
    if (++idle_rounds_ > max_idle_rounds) return false;
    bool any = false;
    for (auto& block : blocks_)
        for (int t = 0; t < grid_.threads; ++t)
            if (block->threads[static_cast<std::size_t>(t)].wait == Wait::spin) wake(*block, t), any = true;
    return any;
}

/// Lets one wave run until its threads wait; false when none can.
bool Machine::step() {
    std::vector<std::pair<Block*, int>> able;
    for (const auto& block : blocks_)
        for (std::size_t wave = 0; wave < block->ready.size(); ++wave)
            if (block->ready[wave] > 0) able.emplace_back(block.get(), static_cast<int>(wave));
    if (able.empty()) return wake_spinning();
    std::size_t chosen = 0;
    if (running_.order == Order::reverse) chosen = able.size() - 1;
    if (running_.order == Order::random) chosen = random_() % able.size();
    step_wave(*able[chosen].first, able[chosen].second);
    return true;
}

std::string Machine::stuck() const {
    std::string text = "threads wait for what never comes:";
    for (const auto& block : blocks_) {
        text += fmt::format(" block ({}, {}):", block->x, block->y);
        for (int t = 0; t < grid_.threads;) {
            const auto& one = block->threads[static_cast<std::size_t>(t)];
            int last = t;
            const auto same = [&](const Thread& other) { return other.wait == one.wait && other.here == one.here; };
            while (last + 1 < grid_.threads && same(block->threads[static_cast<std::size_t>(last) + 1])) ++last;
            text += fmt::format(" threads {} to {} {}", t, last, waits[static_cast<int>(one.wait)]);
            if (one.here != nullptr) text += ", " + source_line(one.here);
            text += ";";
            t = last + 1;
        }
    }
    return text;
}

void Machine::run() {
    const auto total = grid_.x * grid_.y;
    const auto most = std::max<std::int64_t>(running_.alive, grid_.cluster);
    while (started_ < total || !blocks_.empty()) {
        while (started_ < total && static_cast<std::int64_t>(blocks_.size()) < most) start_block();
        if (!step()) throw std::runtime_error(stuck());
    }
}

}  // namespace

void run_grid(Emulator& emulator, const std::function<void()>& kernel, const Grid& grid, const Running& running, Detector* detector) {
    Machine instance(emulator, kernel, grid, running, detector);
    machine = &instance;
    emulator.barrier = [](int kind, const void* here) {
        machine->pause(kind == 0 ? Wait::block : kind == 1 ? Wait::wave : Wait::cluster, here);
    };
    emulator.named = [](int id, int threads, int stays, const void* here) { machine->named(id, threads, stays != 0, here); };
    emulator.exchange = [](const void* send, int bytes, const void* here) { return machine->exchange(send, bytes, here); };
    emulator.claim = [](void* counter, int bytes, int releases, const void* here) {
        return machine->claim(counter, bytes, releases != 0, here);
    };
    emulator.load_acquire = [](const void* flag, void* to, int bytes, const void* here) { machine->load_acquire(flag, to, bytes, here); };
    emulator.store_release = [](void* flag, const void* value, int bytes, const void* here) {
        machine->store_release(flag, value, bytes, here);
    };
    emulator.load_relaxed = [](const void* word, void* to, int bytes, const void* here) { machine->load_relaxed(word, to, bytes, here); };
    emulator.store_relaxed = [](void* word, const void* value, int bytes, const void* here) {
        machine->store_relaxed(word, value, bytes, here);
    };
    emulator.spin = [](const void* here) { machine->pause(Wait::spin, here); };
    emulator.wait_for_launches = [] { machine->wait_for_launches(); };
    emulator.copy = [](void* to, const void* from, int bytes, const void* here) { machine->copy({to, from, bytes, here}); };
    emulator.end_copies = [] { machine->end_copies(); };
    emulator.wait_copies = [](int pending) { machine->wait_copies(pending); };
    emulator.access = [](const void* at, long bytes, int writes, const void* here) {
        machine->access(at, bytes, writes != 0 ? Kind::write : Kind::read, here);
    };
    emulator.endless = [](const void* here) { machine->endless(here); };
    emulator.fail = [](const char* what, const void* here) { machine->stop(fmt::format("{}: {}", what, source_line(here))); };
    if (detector == nullptr) emulator.access = nullptr;
    instance.run();
}

}  // namespace trifold::test
