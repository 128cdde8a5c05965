#include "tests/tools/tune/records.hpp"
#include "tools/tune/search.hpp"

using namespace trifold;
using namespace trifold::tune;
using test::a_point, test::blocks;

namespace {

const Target h200{Backend::cuda, "sm_90"}, processor{Backend::cpu, "x86-64-v3"};
const Point image = a_point({{"family", "grid"}, {"width", 257}, {"height", 257}});
const Point cells = a_point({{"family", "sparse"}, {"mesh", "48x48x32"}, {"block", 3}});
const std::vector<Point> points{blocks(12, 20, 64), blocks(32, 50), blocks(96, 16), image, cells};

std::string print_of(const Point& point, const Target& target, const Candidate& candidate) {
    return fingerprint(family_of(point).make(point, target, candidate).program());
}

}  // namespace

TEST_CASE("space: the default is what is taken with shipped wisdom alone, and no candidate is there twice") {
    for (const auto& target : {h200, processor})
        for (const auto& point : {points[0], points[1], points[2]}) {
            const auto space = space_of(point, target, "a device without rows");
            INFO(to_string(target), to_string(point));
            CHECK(space.standard == family_of(point).standard(point, target, "a device without rows"));
            CHECK(!space.pairs.empty());
            std::set<std::string> names{space.standard.schedule + " " + space.standard.variant};
            for (const auto& pair : space.pairs) CHECK(names.insert(pair.schedule + " " + pair.variant).second);
            CHECK(space_of(point, target, "", true).pairs.size() >= space.pairs.size());
        }
    const auto pairs = space_of(points[0], h200, "").pairs;  // the first are of different variants
    CHECK(pairs.at(0).variant != pairs.at(1).variant);
    CHECK_THROWS_AS(space_of({.spec = {{"block", 0}, {"horizon", 5}}}, h200, ""), SpecError);
}

TEST_CASE("space: knobs that a problem of any family asks for have all their values but the one taken, and each makes other kernels") {
    std::map<std::string, std::set<std::string>> knobs;
    for (const auto& target : {h200, processor})
        for (const auto& point : points) {
            const auto space = space_of(point, target, "");
            const auto asked = family_of(point).make(point, target, space.standard).decided;
            std::set<std::string> prints{print_of(point, target, space.standard)};
            for (const auto& values : space.knobs(space.standard)) {
                CHECK(std::ranges::find(asked, values.knob, &KnobDecision::list) != asked.end());
                if (target == h200) knobs[std::string(family_of(point).name)].insert(values.knob);
                for (const auto& candidate : values.candidates) {
                    INFO(candidate.variant);
                    CHECK(parse_variant(candidate.variant).pinned.contains(values.knob));
                    CHECK(prints.insert(print_of(point, target, candidate)).second);
                }
            }
        }
    CHECK(knobs["sparse"] == std::set<std::string>{"resident_threads", "tile_scalars"});
    for (const auto* knob : {"panel_columns", "product_side", "step_rows"}) CHECK_MESSAGE(knobs["grid"].contains(knob), knob);
}

TEST_CASE("space: pinning what is taken anyway makes the same kernels under another name") {
    const auto& point = points[0];
    const auto standard = family_of(point).make(point, processor, space_of(point, processor, "").standard);
    auto name = parse_variant(standard.candidate.variant);
    name.pinned[standard.decided.at(0).list] = standard.decided.at(0).value;
    const auto pinned = family_of(point).make(point, processor, {standard.candidate.schedule, to_string(name)});
    CHECK(pinned.program().units.front().source != standard.program().units.front().source);
    CHECK(fingerprint(pinned.program()) == fingerprint(standard.program()));
}

TEST_CASE("space: what the generator refuses says what to give") {
    for (const auto& [point, candidate, message] :
         {std::tuple{cells, Candidate{"subdomains", "sweeps:tile_scalars=7"}, "give one of 768, 1536"},
          {cells, Candidate{"subdomains", "levels"}, "give auto, sweeps, or sweeps with knobs"},
          {cells, Candidate{"dissection", "sweeps"}, "give subdomains"},
          {image, Candidate{"subdomains", "fronts"}, "give dissection"},
          {image, Candidate{"dissection", "fronts:leaf_cells=7"}, "give one of 4"}})
        CHECK_REFUSED(message, family_of(point).make(point, h200, candidate));
}
