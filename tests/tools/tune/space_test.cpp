#include "tools/tune/space.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <trifold/error.hpp>

#include "generator/tridiagonal/wisdom.hpp"
#include "tools/tune/grid/family.hpp"
#include "tools/tune/sparse/family.hpp"
#include "tools/tune/tridiagonal/family.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

const Target h200{Backend::cuda, "sm_90"}, processor{Backend::cpu, "x86-64-v3"};
const std::vector<Point> points{tune::tridiagonal::point_of({.block = 12, .horizon = 20, .batch = 64}),
                                tune::tridiagonal::point_of({.block = 32, .horizon = 50}),
                                tune::tridiagonal::point_of({.block = 96, .horizon = 16}),
                                tune::grid::point_of({.width = 257, .height = 257}), tune::sparse::point_of({.block = 3}, {48, 48, 32})};

}  // namespace

TEST_CASE("space: the default is what is taken with shipped wisdom alone, and no candidate is there twice") {
    for (const auto& target : {h200, processor})
        for (const auto& point : {points[0], points[1], points[2]}) {
            const auto space = space_of(point, target, "a device without rows");
            const auto spec = tune::tridiagonal::spec_of(point);
            const auto choice = choose(spec, target, resolve(spec, target, {}, "a device without rows", shipped_wisdom()));
            INFO(to_string(target), to_string(point));
            CHECK(space.standard == Candidate{choice.schedule.name, choice.variant});
            CHECK(!space.pairs.empty());
            std::set<std::string> names{space.standard.schedule + " " + space.standard.variant};
            for (const auto& pair : space.pairs) CHECK(names.insert(pair.schedule + " " + pair.variant).second);
            CHECK(space_of(point, target, "", true).pairs.size() >= space.pairs.size());
        }
    const auto pairs = space_of(points[0], h200, "").pairs;  // the first are of different variants
    CHECK(pairs.at(0).variant != pairs.at(1).variant);
    CHECK_THROWS_AS(space_of(tune::tridiagonal::point_of({.block = 0, .horizon = 5}), h200, ""), SpecError);
}

TEST_CASE("space: knobs that a problem of any family asks for have all their values but the one taken, and each makes other kernels") {
    std::map<std::string, std::set<std::string>> knobs;
    for (const auto& target : {h200, processor})
        for (const auto& point : points) {
            const auto& family = family_of(point);
            const auto space = space_of(point, target, "");
            const auto asked = family.decided(point, target, space.standard);
            std::set<std::string> prints{fingerprint(family.program(point, target, space.standard))};
            for (const auto& values : space.knobs(space.standard)) {
                CHECK(std::ranges::find(asked, values.knob, &KnobDecision::list) != asked.end());
                if (target == h200) knobs[std::string(family.name)].insert(values.knob);
                for (const auto& candidate : values.candidates) {
                    INFO(candidate.variant);
                    CHECK(parse_variant(candidate.variant).pinned.contains(values.knob));
                    CHECK(prints.insert(fingerprint(family.program(point, target, candidate))).second);
                }
            }
        }
    CHECK(knobs["sparse"] == std::set<std::string>{"resident_threads", "tile_scalars"});
    for (const auto* knob : {"panel_columns", "product_side", "step_rows"}) CHECK_MESSAGE(knobs["grid"].contains(knob), knob);
}

TEST_CASE("space: pinning what is taken anyway makes the same kernels under another name") {
    const auto& point = points[0];
    const auto standard = space_of(point, processor, "").standard;
    const auto choice = tune::tridiagonal::choice_of(point, processor, standard);
    auto name = parse_variant(standard.variant);
    const auto asked = tune::tridiagonal::family().decided(point, processor, standard);
    name.pinned[asked.at(0).list] = asked.at(0).value;
    const auto pinned = generate(tune::tridiagonal::choice_of(point, processor, {standard.schedule, to_string(name)}));
    CHECK(pinned.units.front().source != generate(choice).units.front().source);
    CHECK(fingerprint(pinned) == fingerprint(generate(choice)));
}

TEST_CASE("space: what the generator refuses says what to give") {
    for (const auto& [point, candidate, message] :
         {std::tuple{points[4], Candidate{"subdomains", "sweeps:tile_scalars=7"}, "give one of 768, 1536"},
          {points[4], Candidate{"subdomains", "levels"}, "give auto, sweeps, or sweeps with knobs"},
          {points[4], Candidate{"dissection", "sweeps"}, "give subdomains"},
          {points[3], Candidate{"subdomains", "fronts"}, "give dissection"},
          {points[3], Candidate{"dissection", "fronts:leaf_cells=7"}, "give one of 4"}})
        CHECK_THROWS_WITH_AS(family_of(point).program(point, h200, candidate), doctest::Contains(message), SpecError);
}
