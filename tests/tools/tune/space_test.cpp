#include "tools/tune/space.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <trifold/error.hpp>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/wisdom.hpp"
#include "tools/tune/tridiagonal/spec.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

const Target h200{Backend::cuda, "sm_90"}, processor{Backend::cpu, "x86-64-v3"};
const std::vector<Point> points{tune::tridiagonal::point_of({.block = 12, .horizon = 20, .batch = 64}),
                                tune::tridiagonal::point_of({.block = 32, .horizon = 50}),
                                tune::tridiagonal::point_of({.block = 96, .horizon = 16})};

Choice choice_of(const Point& point, const Target& target, const Candidate& candidate) {
    return tune::tridiagonal::choice_of(point, target, candidate.schedule, candidate.variant);
}

std::set<std::string> names_of(const std::vector<Candidate>& candidates) {
    std::set<std::string> names;
    for (const auto& one : candidates) names.insert(one.schedule + " " + one.variant);
    return names;
}

}  // namespace

TEST_CASE("space: the default is what is taken with shipped wisdom alone, and no candidate is there twice") {
    for (const auto& target : {h200, processor})
        for (const auto& point : points) {
            const auto space = space_of(point, target, "a device without rows");
            const auto spec = tune::tridiagonal::spec_of(point);
            const auto choice = choose(spec, target, resolve(spec, target, {}, "a device without rows", shipped_wisdom()));
            INFO(to_string(target), to_string(point));
            CHECK(space.standard == Candidate{choice.schedule.name, choice.variant});
            CHECK(!space.pairs.empty());
            CHECK(names_of(space.pairs).size() == space.pairs.size());
            CHECK(std::ranges::find(space.pairs, space.standard) == space.pairs.end());
            for (const auto& pair : space.pairs) CHECK_NOTHROW(generate(choice_of(point, target, pair)));
        }
}

TEST_CASE("space: a wider search has all that a narrow one has, and the first pairs are of different variants") {
    const auto narrow = space_of(points[0], h200, ""), wide = space_of(points[0], h200, "", true);
    CHECK(wide.pairs.size() > narrow.pairs.size());
    std::set<std::string> variants{narrow.standard.variant};
    for (std::size_t k = 0; k < 2; ++k) variants.insert(narrow.pairs.at(k).variant);
    CHECK(variants.size() >= 2);
}

TEST_CASE("space: knobs that a problem asks for have all their values but the one taken, and each makes other kernels") {
    for (const auto& target : {h200, processor})
        for (const auto& point : points) {
            const auto space = space_of(point, target, "");
            const auto standard = generate(choice_of(point, target, space.standard));
            const auto asked = knobs_of(choice_of(point, target, space.standard));
            std::set<std::string> prints{fingerprint(standard)};
            for (const auto& values : space.knobs(space.standard)) {
                CHECK(std::ranges::find(asked, values.knob, &Turned::list) != asked.end());
                for (const auto& candidate : values.candidates) {
                    INFO(candidate.variant);
                    CHECK(parse_variant(candidate.variant).pinned.contains(values.knob));
                    CHECK(prints.insert(fingerprint(generate(choice_of(point, target, candidate)))).second);
                }
            }
        }
}

TEST_CASE("space: pinning what is taken anyway makes the same kernels under another name") {
    const auto& point = points[0];
    const auto space = space_of(point, processor, "");
    const auto choice = choice_of(point, processor, space.standard);
    const auto asked = knobs_of(choice);
    REQUIRE(!asked.empty());
    auto name = parse_variant(space.standard.variant);
    name.pinned[asked.front().list] = asked.front().value;
    const auto pinned = generate(choice_of(point, processor, {space.standard.schedule, to_string(name)}));
    const auto usual = generate(choice);
    CHECK(pinned.units.front().source != usual.units.front().source);
    CHECK(fingerprint(pinned) == fingerprint(usual));
}

TEST_CASE("space: a point that nothing takes is refused") {
    CHECK_THROWS_AS(space_of(tune::tridiagonal::point_of({.block = 0, .horizon = 5}), h200, ""), SpecError);
}
