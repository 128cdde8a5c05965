#include "tests/support/test.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tridiagonal/svg.hpp"

using namespace trifold;
using namespace trifold::command;

namespace {

std::size_t occurrences(const std::string& text, const std::string& word) {
    std::size_t count = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    return count;
}

/// Every tag that is opened is closed, in order.
bool well_formed(const std::string& text) {
    std::vector<std::string> open;
    for (auto at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
        const auto end = text.find('>', at);
        if (end == std::string::npos) return false;
        const auto name = text.substr(at + 1, text.find_first_of(" >", at) - at - 1);
        if (name.front() == '/') {
            if (open.empty() || open.back() != name.substr(1)) return false;
            open.pop_back();
        } else if (text[end - 1] != '/') {
            open.push_back(name);
        }
    }
    return open.empty();
}

}  // namespace

TEST_CASE("picture: a small tree shows every front and every update once") {
    const auto svg = elimination_tree_svg(multi_stage(8), "eight");
    CHECK(well_formed(svg));
    CHECK(occurrences(svg, "<circle") == 8 + 1);  // and the legend's
    for (int block = 0; block < 8; ++block) CHECK(says(svg, "fill=\"#fff\">" + std::to_string(block) + "</text>"));
    // Chains of one: each but the first and last has two separators, the last none.
    CHECK(occurrences(svg, "fill=\"none\"") == 4 + 3 + 2 + 1 + 1);
    CHECK(says(svg, ">eight<", ">level 3<"));
}

TEST_CASE("picture: any schedule draws, and its size does not grow with the horizon") {
    for (const auto* text :
         {"sequential", "single-stage", "multi-stage", "partitioned:4", "twisted:2", "twisted:5", "recursive:4", "segments:8,4,2"}) {
        for (const std::int64_t horizon : {1, 2, 3, 8, 31, 512, 1000003}) {
            INFO(text, " ", horizon);
            const auto svg = elimination_tree_svg(parse_schedule(text, horizon), "<&>");
            CHECK(well_formed(svg));
            CHECK(svg.size() < 300'000);
            CHECK(!says(svg, "nan"));
            CHECK(!says(svg, "inf"));
        }
    }
}

TEST_CASE("picture: the same schedule gives the same bytes") {
    CHECK(elimination_tree_svg(twisted(33, 4), "t") == elimination_tree_svg(twisted(33, 4), "t"));
}

TEST_CASE("text: sizes, times and tables") {
    CHECK(bytes_text(0) == "0 B");
    CHECK(bytes_text(1023) == "1023 B");
    CHECK(bytes_text(1536) == "1.50 KiB");
    CHECK(bytes_text(std::int64_t{1} << 40) == "1.00 TiB");
    CHECK(bytes_text(INT64_MAX) == "8.00 EiB");
    CHECK(seconds_text(0) == "0");
    CHECK(seconds_text(2.5e-5) == "25.0 us");
    CHECK(seconds_text(0.0015) == "1.50 ms");
    CHECK(seconds_text(90) == "90.00 s");
    CHECK(flops_text(12) == "12 flop");
    CHECK(flops_text(1.5e6) == "1.50 Mflop");
    CHECK(count_text(-1) == "-");
    CHECK(plural(1, "chain") == "1 chain");
    CHECK(plural(2, "chain") == "2 chains");
    CHECK(table({{"a", "bb"}, {"ccc", "d"}}) == "  a    bb\n  ccc   d\n");
    CHECK(list({{"a", "b"}, {"ccc", "d"}}) == "  a    b\n  ccc  d\n");
}
