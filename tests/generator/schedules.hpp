#pragma once
#include <trifold/schedule.hpp>

#include "tests/support/test.hpp"

/// Texts of every named order, with parameters below, at and beyond what small horizons can hold.
inline std::vector<std::string> schedule_texts() {
    std::vector<std::string> texts{"sequential",   "single-stage",     "multi-stage",    "recursive:1",     "recursive:2", "recursive:2:5",
                                   "recursive:3",  "recursive:7:1",    "recursive:8:20", "recursive:200:3", "segments:2",  "segments:8,4,2",
                                   "segments:1,1", "segments:3,1,7,1", "segments:500",   "flanked:1",       "flanked:2",   "flanked:7",
                                   "flanked:300",  "flanked:8,4,2",    "flanked:1,3",    "flanked:300,2"};
    for (const int chains : {1, 2, 3, 4, 5, 8, 13, 100}) {
        texts.push_back(fmt::format("partitioned:{}", chains));
        texts.push_back(fmt::format("twisted:{}", chains));
    }
    return texts;
}

/// Calls `check(schedule)` for every order at every horizon from 1 to `last`.
template <class Check>
void for_all_schedules(std::int64_t last, const Check& check) {
    for (std::int64_t horizon = 1; horizon <= last; ++horizon) {
        for (const auto& text : schedule_texts()) check(trifold::parse_schedule(text, horizon));
    }
}

/// Every chain of a level, as its fronts.
inline std::vector<std::vector<trifold::Front>> chains_of(const trifold::Level& level) {
    std::vector<std::vector<trifold::Front>> chains;
    for (const auto& run : level.runs) {
        for (std::int64_t c = 0; c < run.count; ++c) chains.push_back(trifold::chain_fronts(level, run, c));
    }
    return chains;
}
