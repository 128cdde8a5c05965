#pragma once
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/emulator/clock.hpp"

namespace trifold::test {

enum class Kind { read, write, atomic_read, atomic_write };

/// Finds accesses out of bounds, and pairs of conflicting accesses that no barrier, flag or launch orders, by the
/// happens-before relation: so whatever order the threads happened to run in. Memory is watched in words of 4 bytes.
class Detector {
  public:
    /// Memory that the kernels of the next operation may use. Everything they did before is known to all.
    void begin_operation();
    void add_region(std::string name, const void* begin, std::int64_t bytes, bool writable);
    void ignore(const void* begin, std::int64_t bytes) { ignored_.push_back({static_cast<const char*>(begin), bytes}); }

    /// `before`: the launches of the operation that have ended whenever this one starts; `awaited`: ... when a thread has waited for them.
    void begin_launch(std::size_t launch, std::set<std::uint32_t> before, std::set<std::uint32_t> awaited = {});
    void wait_for_launches(std::uint32_t block, std::uint32_t thread) { blocks_[block]->has_waited[thread] = true; }
    std::uint32_t begin_block(int threads, int lanes, const void* shared, std::int64_t shared_bytes);
    void end_block(std::uint32_t block);

    void block_barrier(std::uint32_t block);
    void wave_barrier(std::uint32_t block, std::uint32_t wave);
    void cluster_barrier(const std::vector<std::uint32_t>& blocks);
    /// A thread publishes what it knows in a clock: of a named barrier, or of a flag; and learns what is there.
    void arrive(Clock& clock, std::uint32_t block, std::uint32_t thread);
    void learn(const Clock& clock, std::uint32_t block, std::uint32_t thread);
    void release(const void* flag, std::uint32_t block, std::uint32_t thread);
    /// Releases by adding to the flag: who acquires it knows what all who added knew.
    void release_more(const void* flag, std::uint32_t block, std::uint32_t thread);
    void acquire(const void* flag, std::uint32_t block, std::uint32_t thread);

    /// False where the access is out of bounds, so that it must not be made.
    bool access(std::uint32_t block, std::uint32_t thread, const void* at, std::int64_t bytes, Kind kind, const void* caller);
    const std::vector<std::string>& findings() const { return findings_; }

  private:
    struct Access {
        Time time = 0;
        std::uint32_t atomic : 1 = 0, block : 21 = 0, thread : 10 = 0;
        const void* caller = nullptr;
    };
    /// Reads by two lanes of a wave stand for all that its barrier has not ordered: a later access conflicts with one of
    /// them if it conflicts with any.
    struct Reads {
        Access first, second;
    };
    /// The last write, and the reads since by one wave; those by others are in more_.
    struct Word {
        Access write;
        Reads reads;
        std::uint32_t more = 0;
    };
    struct Words {
        std::unique_ptr<Word, decltype(&std::free)> first{nullptr, &std::free};
        void make(std::int64_t bytes);
    };
    struct Range {
        const char* begin = nullptr;
        std::int64_t bytes = 0;
        bool holds(const char* at, std::int64_t size) const { return at >= begin && at + size <= begin + bytes; }
    };
    struct Region : Range {
        std::string name;
        bool writable = true;
        Words words;
    };
    /// What the threads of a block know: all of them, those of a wave, and one alone.
    struct Block {
        Range shared;
        Words words;
        std::uint32_t threads = 0, shift = 0;  ///< a wave has 2^shift lanes
        Time floor = 0;
        std::vector<Time> wave_floor;
        Clock known;
        std::vector<Clock> wave_known, thread_known;
        std::vector<bool> has_waited;  ///< a thread for launches
    };

    bool knows(const Block& block, std::uint32_t number, std::uint32_t thread, const Access& other) const;
    struct Place {
        const char* name;
        std::int64_t offset, bytes;
    };
    void check(Word& word, const Access& access, bool writing, const Place& place);
    bool add_to(Reads& reads, const Access& access, const Block& block) const;
    void add_read(Word& word, const Access& access, const Block& block);
    void report(const Access& now, bool writing, const Access& before, bool wrote, const Place& place);
    void add_finding(std::string text);
    Region* find_region(const char* at);
    std::string nearest_array(const Block& block, const char* at) const;

    Time now_ = 1, base_ = 0;
    std::vector<std::unique_ptr<Region>> regions_;  // by address
    Region* last_region_ = nullptr;
    std::vector<Range> ignored_;
    std::uint32_t launch_ = 0;
    std::map<std::uint32_t, std::set<std::uint32_t>> before_, awaited_;  // launches before a launch, and before what it does later
    std::vector<std::uint32_t> launch_of_;                               // of a block
    std::vector<std::unique_ptr<Block>> blocks_;
    std::map<const void*, Clock> flags_;
    std::vector<std::vector<Reads>> more_ = {{}};
    std::vector<std::uint32_t> free_more_;
    std::set<std::pair<const void*, const void*>> reported_;
    std::vector<std::string> findings_;
};

/// "file:line in file:line": where a return address of a unit stands, and what it is inlined into, as far as its debug
/// information tells. Frames in the emulator's platform.cuh are left out.
std::string source_line(const void* address);

}  // namespace trifold::test
