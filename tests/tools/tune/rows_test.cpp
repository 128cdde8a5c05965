// Text from outside: lines of trials are taken or refused with the line, whatever is in them.
#include "tools/tune/rows.hpp"

#include <doctest/doctest.h>

#include <random>

#include "tests/tools/tune/records.hpp"
#include "tools/formats/file.hpp"

using namespace trifold;
using namespace trifold::tune;

TEST_CASE("trials as lines: what cannot have been made is refused with its line") {
    const auto line = to_json(a_trial(0)).dump();
    CHECK(parse_trials(line + "\n\n  \r\n" + line).size() == 2);
    CHECK(parse_trials("").empty());
    const auto with = [&](const std::string& pointer, const nlohmann::ordered_json& value) {
        auto tree = to_json(a_trial(0));
        tree[nlohmann::ordered_json::json_pointer(pointer)] = value;
        return complaint([&] { parse_trials(line + "\n" + tree.dump()); });
    };
    CHECK(with("/took", 2).empty());
    for (const auto* field : {"/target", "/generator", "/verdict", "/objective", "/spec", "/seconds", "/kernels_no", "/runs"}) {
        INFO(field);
        if (std::string(field) == "/kernels_no") continue;
        CHECK(with(field, std::string(field) == "/generator" ? "" : "nothing").starts_with("line 2: "));
    }
    CHECK(with("/seconds/factor_solve", 0).starts_with("line 2: "));
    CHECK(with("/seconds/factor_solve", nullptr).starts_with("line 2: "));
    CHECK(with("/spec/block", -1).starts_with("line 2: "));
    CHECK(complaint([&] { parse_trials(line.substr(0, 100)); }).starts_with("line 1: "));
    CHECK(complaint([&] { parse_trials(std::string(100000, '[')); }).starts_with("line 1: "));
}

TEST_CASE("trials as lines: thousands of changes give trials or InputError, nothing else") {
    std::mt19937 random(20261124);
    const auto whole = to_json(a_trial(0)).dump() + "\n" + to_json(a_trial(7)).dump() + "\n";
    const std::vector<std::string> words{"-1",      "1e999", "null", "\"", "{", "]", "99999999999999999999",
                                         "\\u0000", "\xff",  "NaN",  ":",  "\n"};
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
        auto text = whole;
        const int changes = 1 + static_cast<int>(random() % 3);
        for (int change = 0; change < changes; ++change) {
            const auto at = random() % text.size();
            const auto& word = words[random() % words.size()];
            if (random() % 3 == 0)
                text[at] = static_cast<char>(text[at] ^ static_cast<char>(1 << random() % 8));
            else if (random() % 2 == 0)
                text.replace(at, random() % 6, word);
            else
                text.insert(at, word);
        }
        try {
            for (const auto& trial : parse_trials(text)) to_json(trial);
        } catch (const formats::InputError&) {
            ++refused;
        }
    }
    CHECK(refused > 1000);
    CHECK(refused < 4000);
}

TEST_CASE("wisdom: a decision as a row comes back with all that a row has") {
    for (int k = 0; k < 12; ++k) {
        const auto decision = a_decision(k);
        const auto again = decision_of(row_of(decision));
        CHECK(again.machine == decision.machine);
        CHECK(again.generator == decision.generator);
        CHECK(again.winner == decision.winner);
        CHECK(again.point.spec == decision.point.spec);
        CHECK(again.point.objective == decision.point.objective);
        CHECK(again.seconds == decision.seconds);
        CHECK(again.standard_seconds == decision.standard_seconds);
        CHECK(again.trials == decision.trials);
        CHECK(again.effort == decision.effort);
    }
    auto row = row_of(a_decision(1));
    row.measured = "by hand; 99999999999 trials";
    CHECK(decision_of(row).generator == "unknown");
    CHECK(decision_of(row).trials == 0);
}
