#include "tests/support/emulator/detector.hpp"

#include <fmt/format.h>

#include <bit>

namespace trifold::test {
namespace {

constexpr std::int64_t word_bytes = 4;
constexpr std::size_t max_findings = 20;

bool writes(Kind kind) { return kind == Kind::write || kind == Kind::atomic_write; }

}  // namespace

void Detector::Words::make(std::int64_t bytes) {
    const auto count = static_cast<std::size_t>((bytes + word_bytes - 1) / word_bytes);
    first.reset(static_cast<Word*>(std::calloc(std::max<std::size_t>(count, 1), sizeof(Word))));
}

void Detector::begin_operation() {
    base_ = now_++;
    regions_.clear();
    ignored_.clear();
    last_region_ = nullptr;
    before_.clear();
    awaited_.clear();
    launch_of_.clear();
    blocks_.clear();
    flags_.clear();
    more_ = {{}};
    free_more_.clear();
}

void Detector::add_region(std::string name, const void* begin, std::int64_t bytes, bool writable) {
    auto region = std::make_unique<Region>();
    region->begin = static_cast<const char*>(begin), region->bytes = bytes;
    region->name = std::move(name), region->writable = writable;
    const auto after = [](const char* at, const auto& other) { return at < other->begin; };
    regions_.insert(std::upper_bound(regions_.begin(), regions_.end(), region->begin, after), std::move(region));
}

void Detector::begin_launch(std::size_t launch, std::set<std::uint32_t> before, std::set<std::uint32_t> awaited) {
    launch_ = static_cast<std::uint32_t>(launch);
    before_[launch_] = std::move(before);
    awaited_[launch_] = std::move(awaited);
}

std::uint32_t Detector::begin_block(int threads, int lanes, const void* shared, std::int64_t shared_bytes) {
    auto block = std::make_unique<Block>();
    block->shared = {static_cast<const char*>(shared), shared_bytes};
    block->words.make(shared_bytes);
    block->threads = static_cast<std::uint32_t>(threads),
    block->shift = static_cast<std::uint32_t>(std::countr_zero(static_cast<unsigned>(lanes)));
    const auto waves = static_cast<std::size_t>((threads + lanes - 1) / lanes);
    block->wave_floor.resize(waves), block->wave_known.resize(waves);
    block->thread_known.resize(static_cast<std::size_t>(threads));
    block->has_waited.resize(static_cast<std::size_t>(threads));
    blocks_.push_back(std::move(block));
    launch_of_.push_back(launch_);
    return static_cast<std::uint32_t>(blocks_.size() - 1);
}

/// Its shared memory may become another's, and with it the flags there.
void Detector::end_block(std::uint32_t number) {
    const auto& shared = blocks_[number]->shared;
    flags_.erase(flags_.lower_bound(shared.begin), flags_.lower_bound(shared.begin + shared.bytes));
    blocks_[number].reset();
}

void Detector::block_barrier(std::uint32_t number) {
    auto& block = *blocks_[number];
    for (auto* clocks : {&block.wave_known, &block.thread_known})
        for (auto& clock : *clocks)
            if (!clock.empty()) block.known.join(clock), clock.clear();
    block.known.forget(number);
    block.floor = now_++;
}

void Detector::wave_barrier(std::uint32_t number, std::uint32_t wave) {
    auto& block = *blocks_[number];
    for (auto t = wave << block.shift; t < std::min(block.threads, (wave + 1) << block.shift); ++t)
        if (auto& clock = block.thread_known[t]; !clock.empty()) block.wave_known[wave].join(clock), clock.clear();
    block.wave_floor[wave] = now_++;
}

void Detector::cluster_barrier(const std::vector<std::uint32_t>& numbers) {
    Clock all;
    for (const auto number : numbers) {
        block_barrier(number);
        all.join(blocks_[number]->known);
        for (auto& time : all.of(number, blocks_[number]->threads)) time = now_ - 1;
    }
    for (const auto number : numbers) {
        blocks_[number]->known.join(all);
        blocks_[number]->known.forget(number);
    }
}

void Detector::arrive(Clock& clock, std::uint32_t number, std::uint32_t thread) {
    const auto& block = *blocks_[number];
    const auto wave = thread >> block.shift;
    for (const auto* known : {&block.known, &block.wave_known[wave], &block.thread_known[thread]}) clock.join(*known);
    auto& times = clock.of(number, block.threads);
    for (std::uint32_t t = 0; t < block.threads; ++t)
        times[t] = std::max({times[t], block.floor, (t >> block.shift) == wave ? block.wave_floor[wave] : 0});
    times[thread] = now_++;
}

void Detector::learn(const Clock& clock, std::uint32_t number, std::uint32_t thread) { blocks_[number]->thread_known[thread].join(clock); }

void Detector::release(const void* flag, std::uint32_t block, std::uint32_t thread) {
    auto& clock = flags_[flag];
    clock.clear();
    arrive(clock, block, thread);
}

void Detector::release_more(const void* flag, std::uint32_t block, std::uint32_t thread) { arrive(flags_[flag], block, thread); }

void Detector::acquire(const void* flag, std::uint32_t block, std::uint32_t thread) {
    if (const auto found = flags_.find(flag); found != flags_.end()) learn(found->second, block, thread);
}

bool Detector::knows(const Block& block, std::uint32_t number, std::uint32_t thread, const Access& other) const {
    if (other.time <= base_) return true;
    const auto wave = thread >> block.shift;
    if (other.block == number) {
        if (other.time <= block.floor || other.thread == thread) return true;
        if (std::uint32_t{other.thread} >> block.shift == wave && other.time <= block.wave_floor[wave]) return true;
    } else {
        const auto launch = launch_of_[number], earlier = launch_of_[other.block];
        if (before_.at(launch).contains(earlier) || (block.has_waited[thread] && awaited_.at(launch).contains(earlier))) return true;
    }
    for (const auto* clock : {&block.known, &block.wave_known[wave], &block.thread_known[thread]})
        if (!clock->empty() && clock->at(other.block, other.thread) >= other.time) return true;
    return false;
}

/// False when the reads are another wave's, or another block's, and not yet ordered before this one.
bool Detector::add_to(Reads& reads, const Access& access, const Block& block) const {
    auto& [first, second] = reads;
    const auto replaces = [&](const Access& old) { return !access.atomic || old.atomic; };
    const auto wave = std::uint32_t{access.thread} >> block.shift;
    if (first.time == 0) {
        first = access;
    } else if (first.block != access.block) {
        if (!knows(block, access.block, access.thread, first) || (second.time != 0 && !knows(block, access.block, access.thread, second)))
            return false;
        first = access, second = {};
    } else if (first.time <= block.floor) {
        first = access, second = {};
    } else if (std::uint32_t{first.thread} >> block.shift != wave) {
        return false;
    } else if (std::max(first.time, second.time) <= block.wave_floor[wave]) {
        first = access, second = {};
    } else if (first.thread == access.thread) {
        if (replaces(first)) first = access;
    } else if (replaces(second)) {
        second = access;
    }
    return true;
}

void Detector::add_read(Word& word, const Access& access, const Block& block) {
    if (add_to(word.reads, access, block)) return;
    if (word.more == 0) {
        if (free_more_.empty()) {
            free_more_.push_back(static_cast<std::uint32_t>(more_.size()));
            more_.emplace_back();
        }
        word.more = free_more_.back();
        free_more_.pop_back();
    }
    auto& more = more_[word.more];
    if (!std::ranges::any_of(more, [&](Reads& reads) { return add_to(reads, access, block); })) more.push_back({access, {}});
}

void Detector::check(Word& word, const Access& access, bool writing, const Place& place) {
    const auto& block = *blocks_[access.block];
    const auto test = [&](const Access& other, bool wrote) {
        if (other.time == 0 || (other.atomic && access.atomic) || knows(block, access.block, access.thread, other)) return;
        report(access, writing, other, wrote, place);
    };
    test(word.write, true);
    if (!writing) return add_read(word, access, block);
    test(word.reads.first, false), test(word.reads.second, false);
    if (word.more != 0) {
        for (const auto& reads : more_[word.more]) test(reads.first, false), test(reads.second, false);
        more_[word.more].clear();
        free_more_.push_back(word.more);
        word.more = 0;
    }
    word.write = access;
    word.reads = {};
}

Detector::Region* Detector::find_region(const char* at) {
    if (last_region_ != nullptr && last_region_->holds(at, 1)) return last_region_;
    const auto above =
        std::upper_bound(regions_.begin(), regions_.end(), at, [](const char* a, const auto& region) { return a < region->begin; });
    if (above == regions_.begin() || !(*std::prev(above))->holds(at, 1)) return nullptr;
    last_region_ = std::prev(above)->get();
    if (last_region_->words.first == nullptr) last_region_->words.make(last_region_->bytes);
    return last_region_;
}

std::string Detector::nearest_array(const Block& block, const char* at) const {
    const Range* nearest = &block.shared;
    std::string name = "shared memory";
    const auto distance = [&](const Range& range) { return at < range.begin ? range.begin - at : at - range.begin - range.bytes; };
    for (const auto& region : regions_)
        if (distance(*region) < distance(*nearest)) nearest = region.get(), name = "'" + region->name + "'";
    return at < nearest->begin ? fmt::format("{} bytes before {}", distance(*nearest), name)
                               : fmt::format("{} bytes past the end of {}, which has {}", distance(*nearest), name, nearest->bytes);
}

bool Detector::access(std::uint32_t number, std::uint32_t thread, const void* address, std::int64_t bytes, Kind kind, const void* caller) {
    const auto* at = static_cast<const char*>(address);
    auto& block = *blocks_[number];
    const auto what = [&] {
        return fmt::format("{} of {} bytes by block {} thread {}, {}", writes(kind) ? "write" : "read", bytes, number, thread,
                           source_line(caller));
    };
    const Range* range = &block.shared;
    Words* words = &block.words;
    const char* name = "shared memory";
    if (!block.shared.holds(at, 1)) {
        Region* region = find_region(at);
        if (region == nullptr) {
            for (const auto& ignored : ignored_)
                if (ignored.holds(at, bytes)) return true;
            add_finding(fmt::format("out of bounds: {}: {}", what(), nearest_array(block, at)));
            return false;
        }
        range = region, words = &region->words;
        if (!region->writable && writes(kind)) {
            add_finding(fmt::format("out of bounds: {}: '{}' is only for reading", what(), region->name));
            return false;
        }
        name = region->name.c_str();
    }
    const auto offset = at - range->begin;
    if (offset + bytes > range->bytes) {
        add_finding(fmt::format("out of bounds: {}: ends {} bytes past the end of {}, which has {}", what(), offset + bytes - range->bytes,
                                name, range->bytes));
        return false;
    }
    Access access;
    access.time = now_, access.block = number & 0x1fffff, access.thread = thread & 0x3ff, access.caller = caller;
    access.atomic = kind == Kind::atomic_read || kind == Kind::atomic_write ? 1 : 0;
    const Place place{name, offset, bytes};
    for (auto word = offset / word_bytes; word * word_bytes < offset + bytes; ++word)
        check(words->first.get()[word], access, writes(kind), place);
    return true;
}

void Detector::report(const Access& now, bool writing, const Access& before, bool wrote, const Place& place) {
    if (findings_.size() >= max_findings || !reported_.insert({now.caller, before.caller}).second) return;
    const bool same = now.block == before.block;
    const auto who = [](const Access& access) { return fmt::format("block {} thread {}", access.block, access.thread); };
    add_finding(fmt::format("race on {}, byte {}: {} of {} bytes by {}, {}; after the {} by {}, {}; no {} orders them", place.name,
                            place.offset, writing ? "write" : "read", place.bytes, who(now), source_line(now.caller),
                            wrote ? "write" : "read", who(before), source_line(before.caller), same ? "barrier" : "flag or launch"));
}

void Detector::add_finding(std::string text) {
    if (findings_.size() < max_findings) findings_.push_back(std::move(text));
}

}  // namespace trifold::test
