#include "tests/generator/designs.hpp"
#include "tests/generator/schedules.hpp"

using namespace trifold;

namespace {

/// Elimination of a graph's vertices with fill: the neighbours of the pivot become a clique.
class Graph {
  public:
    explicit Graph(std::int64_t path) {
        for (std::int64_t v = 0; v < path; ++v) {
            neighbours_[v];
            if (v > 0) connect(v - 1, v);
        }
    }
    std::set<std::int64_t> eliminate(std::int64_t pivot) {
        const auto border = neighbours_.at(pivot);
        neighbours_.erase(pivot);
        for (const auto v : border) {
            neighbours_.at(v).erase(pivot);
            for (const auto w : border) {
                if (v < w) connect(v, w);
            }
        }
        return border;
    }
    std::vector<std::int64_t> left() const {
        std::vector<std::int64_t> result;
        for (const auto& [v, border] : neighbours_) result.push_back(v);
        return result;
    }

  private:
    void connect(std::int64_t v, std::int64_t w) {
        neighbours_[v].insert(w);
        neighbours_[w].insert(v);
    }
    std::map<std::int64_t, std::set<std::int64_t>> neighbours_;
};

std::set<std::int64_t> border(const Front& front) {
    std::set<std::int64_t> result{front.next, front.behind};
    result.erase(-1);
    return result;
}

std::vector<std::int64_t> blocks(const Level& level) {
    std::vector<std::int64_t> result;
    for (std::int64_t p = 0; p < level.size; ++p) result.push_back(level.block(p));
    return result;
}

/// The level's fronts in one of the orders that its chains allow.
std::vector<Front> interleave(const std::vector<std::vector<Front>>& chains, bool round_robin) {
    std::vector<Front> order;
    if (!round_robin) {
        for (auto chain = chains.rbegin(); chain != chains.rend(); ++chain) order.insert(order.end(), chain->begin(), chain->end());
        return order;
    }
    for (std::size_t k = 0;; ++k) {
        const auto before = order.size();
        for (const auto& chain : chains) {
            if (k < chain.size()) order.push_back(chain[k]);
        }
        if (order.size() == before) return order;
    }
}

}  // namespace

TEST_CASE("fronts have the neighbours of a brute-force elimination, and every block is eliminated once") {
    for (const bool round_robin : {false, true}) {
        for_all_schedules(round_robin ? 40 : 131, [&](const Schedule& schedule) {
            INFO(schedule.name, " ", schedule.horizon);
            Graph graph(schedule.horizon);
            bool same = true, progression = true;
            for (const auto& level : schedule.levels) {
                progression = progression && graph.left() == blocks(level);
                for (const auto& front : interleave(chains_of(level), round_robin))
                    same = same && graph.eliminate(front.pivot) == border(front);
            }
            CHECK(same);
            CHECK(progression);
            CHECK(graph.left().empty());
        });
    }
}

TEST_CASE("no chain of a level touches another") {
    for_all_schedules(131, [](const Schedule& schedule) {
        INFO(schedule.name, " ", schedule.horizon);
        bool apart = true;
        for (const auto& level : schedule.levels) {
            std::map<std::int64_t, std::size_t> owner;
            const auto chains = chains_of(level);
            for (std::size_t c = 0; c < chains.size(); ++c) {
                for (const auto& front : chains[c]) apart = owner.emplace(front.pivot, c).second && apart;
            }
            for (std::size_t c = 0; c < chains.size(); ++c) {
                for (const auto& front : chains[c]) {
                    for (const auto block : border(front)) apart = apart && (!owner.contains(block) || owner.at(block) == c);
                }
            }
        }
        CHECK(apart);
    });
}

TEST_CASE("levels have one to three runs of chains that count in order") {
    for_all_schedules(131, [](const Schedule& schedule) {
        INFO(schedule.name, " ", schedule.horizon);
        for (const auto& level : schedule.levels) {
            REQUIRE(level.runs.size() >= 1);
            REQUIRE(level.runs.size() <= 3);
            const auto chains = chains_of(level);
            CHECK(level.chains() == static_cast<std::int64_t>(chains.size()));
            std::int64_t fronts = 0;
            for (const auto& chain : chains) fronts += static_cast<std::int64_t>(chain.size());
            CHECK(level.fronts() == fronts);
            for (const auto& run : level.runs) CHECK((run.count >= 1 && run.length >= 1 && (run.step == 1 || run.step == -1)));
        }
    });
}

TEST_CASE("canonical names parse back to the same schedule") {
    for_all_schedules(70, [](const Schedule& schedule) { CHECK(parse_schedule(schedule.name, schedule.horizon) == schedule); });
}

TEST_CASE("named orders have their levels") {
    CHECK(sequential(17).levels.size() == 1);
    CHECK(parse_schedule("single-stage", 17).levels.size() == 2);
    for (std::int64_t horizon = 1, log = 0; horizon <= 1 << 20; horizon *= 2, ++log) {
        CHECK(multi_stage(horizon).levels.size() == static_cast<std::size_t>(log + 1));
        if (horizon > 1) CHECK(multi_stage(horizon - 1).levels.size() == static_cast<std::size_t>(log));
    }
    CHECK(partitioned(100, 4).levels[0].chains() == 4);
    CHECK(twisted(100, 4).levels[0].chains() == 4);
    CHECK(twisted(100, 2).levels[1].size == 1);
    CHECK(partitioned(100, 80).levels[0].chains() == 50);  // no more chains than separators allow
    CHECK(recursive(100, 9, 9).levels.back().size <= 9);
}

TEST_CASE("twisted end chains run toward the middle and carry no fill") {
    for (const std::int64_t chains : {2, 3, 5}) {
        const auto level = twisted(57, chains).levels[0];
        const auto first = chain_fronts(level, level.runs.front(), 0), last = chain_fronts(level, level.runs.back(), 0);
        CHECK(first.front().pivot == 0);
        CHECK(last.front().pivot == 56);
        for (const auto& front : first) CHECK(front.behind == -1);
        for (const auto& front : last) CHECK(front.behind == -1);
        CHECK(std::abs(static_cast<int>(first.size()) - static_cast<int>(last.size())) <= 1);
    }
}

TEST_CASE("flanked end chains carry no fill, and everything else is chains of one") {
    for (const std::int64_t horizon : {5, 16, 57, 100, 256}) {
        for (const std::vector<std::int64_t>& ends : {std::vector<std::int64_t>{2}, {5}, {20}, {8, 4, 2}, {1, 3}, {3, 1, 2}}) {
            INFO(horizon, " ", ends);
            const auto levels = parse_schedule(fmt::format("flanked:{}", fmt::join(ends, ",")), horizon).levels;
            for (std::size_t k = 0; k < levels.size(); ++k) {
                const auto& level = levels[k];
                if (k >= ends.size() || ends[k] == 1 || level.size <= 2) {
                    CHECK(level.longest() == 1);
                    continue;
                }
                CHECK(level.longest() == std::min(ends[k], (level.size - 1) / 2));
                const auto chains = chains_of(level);
                CHECK(chains.front().front().pivot == level.block(0));
                CHECK(chains.back().front().pivot == level.block(level.size - 1));
                CHECK(chains.front().size() - chains.back().size() == (level.size % 2 == 0 ? 1U : 0U));
                for (const auto& chain : {chains.front(), chains.back()})
                    for (const auto& front : chain) CHECK(front.behind == -1);
                for (std::size_t c = 1; c + 1 < chains.size(); ++c) CHECK(chains[c].size() == 1);
            }
        }
    }
    CHECK(parse_schedule("flanked:1", 57).levels == multi_stage(57).levels);
    CHECK(parse_schedule("flanked:1,1,1", 57).levels == multi_stage(57).levels);
}

TEST_CASE("recursive segments leave no separator at the end of the path") {
    for (std::int64_t horizon = 2; horizon <= 131; ++horizon) {
        for (const std::int64_t length : {1, 2, 3, 7}) {
            const auto schedule = recursive(horizon, length, length);
            if (schedule.levels.size() > 1) CHECK(schedule.levels[1].block(schedule.levels[1].size - 1) != horizon - 1);
        }
    }
}

TEST_CASE("a chain whose neighbour behind is the first block has fill") {
    const Level last{0, 1, 2, {{1, 2, 1, 1, 1}}};
    CHECK(has_fill({"by hand", 2, {last, {0, 1, 1, {{0, 1, 1, 1, 1}}}}}));
    CHECK(!has_fill(sequential(2)));
}

TEST_CASE("kernels see couplings of all levels side by side in their buffer") {
    for (const std::int64_t horizon : {1, 2, 3, 7, 16, 31, 100}) {
        for (const auto& text : schedule_texts()) {
            INFO(text, " ", horizon);
            const auto program =
                test::design_of({.block = 3, .horizon = horizon, .batch = 2}, {Backend::cpu, "x86-64-v3"}, {.schedule = text});
            const auto& levels = program.schedule.levels;
            trifold_int used = 0;
            for (std::size_t k = 0; k < levels.size(); ++k) {
                const auto level = kernel_level(program.schedule, k);
                CHECK(level.index == static_cast<trifold_int>(k));
                CHECK(level.chains == levels[k].chains());
                CHECK(level.runs == static_cast<trifold_int>(levels[k].runs.size()));
                if (k > 0) {
                    CHECK(level.coupling == used);
                    used += levels[k].size - 1;
                }
                CHECK(level.next_coupling == used);
                CHECK(level.next_size == (k + 1 < levels.size() ? levels[k + 1].size : 0));
            }
            const auto& lowered = program.lowered;
            CHECK(buffer(program, "coupling").bytes ==
                  lowered.members * used * lowered.storage.coupling * element_bytes(program.spec.precision));
        }
    }
}

TEST_CASE("very long horizons keep exact counts") {
    for (const auto& text : schedule_texts()) {
        CAPTURE(text);
        const auto schedule = parse_schedule(text, max_horizon);
        std::int64_t fronts = 0;
        for (const auto& level : schedule.levels) fronts += level.fronts();
        CHECK(fronts == max_horizon);
    }
}

TEST_CASE("bad schedules are refused with what was given") {
    // clang-format off
    for (const auto* text : {
        "", "fast", "auto", "sequential:2", "partitioned", "partitioned:", "partitioned:0", "partitioned:-3",
        "partitioned:2x", "partitioned:99999999999999999999", "twisted", "twisted:two", "recursive", "recursive:",
        "recursive:2:", "recursive:0", "recursive:2:3:4", "segments", "segments:", "segments:1,", "segments:,1",
        "segments:1,0", "segments:1;2", "Sequential", " sequential", "multi-stage:1", "flanked", "flanked:0",
        "flanked:2:3", "flanked:2,", "flanked:2,0", "single-stage:"}) {
        // clang-format on
        CAPTURE(text);
        CHECK_THROWS_AS(parse_schedule(text, 10), SpecError);
    }
    CHECK_THROWS_WITH_AS(parse_schedule("partitioned:0", 10), "schedule 'partitioned:0': '0' is not a positive whole number", SpecError);
    for (const std::int64_t horizon : {std::int64_t{0}, std::int64_t{-1}, max_horizon + 1, std::numeric_limits<std::int64_t>::max()}) {
        for (const auto& text : schedule_texts()) CHECK_THROWS_AS(parse_schedule(text, horizon), SpecError);
    }
    CHECK_THROWS_AS(segments(10, {}), SpecError);
    CHECK_THROWS_AS(flanked(10, {}), SpecError);
    CHECK_THROWS_AS(flanked(10, {2, -1}), SpecError);
    CHECK_THROWS_AS(segments(10, {2, -1}), SpecError);
    CHECK_THROWS_AS(partitioned(10, 0), SpecError);
    CHECK_THROWS_AS(recursive(10, 2, 0), SpecError);
}
