#include "tools/tune/log.hpp"

#include <sys/wait.h>

#include "tests/tools/tune/records.hpp"
#include "tools/formats/file.hpp"

using namespace trifold;
using namespace trifold::tune;
using test::a_decision, test::a_trial;

namespace {

std::vector<std::string> texts(const auto& records) {
    std::vector<std::string> result;
    for (const auto& one : records) result.push_back(to_json(one).dump());
    return result;
}

}  // namespace

TEST_CASE("log: trials and decisions come back with all that they have, in their order") {
    const test::Folder folder;
    const auto log = folder.log();
    CHECK(log.read().trials.empty());
    std::vector<Trial> trials;
    std::vector<Decision> decisions;
    for (int k = 0; k < 20; ++k) {
        log.append(trials.emplace_back(a_trial(k)));
        log.append(decisions.emplace_back(a_decision(k)));
    }
    const auto records = log.read();
    CHECK(texts(records.trials) == texts(trials));
    CHECK(texts(records.decisions) == texts(decisions));
    CHECK(records.unreadable == 0);
    auto later = a_decision(3);
    later.seconds /= 2;
    decisions.push_back(later);
    const auto last = last_decisions(decisions);
    REQUIRE(last.size() == 20);
    CHECK(last[3].seconds == later.seconds);
}

TEST_CASE_FIXTURE(test::Folder, "log: lines of several processes stay whole") {
    constexpr int processes = 4, each = 200;
    for (int process = 0; process < processes; ++process)
        if (::fork() == 0) {
            for (int k = 0; k < each; ++k) log().append(a_trial(process * each + k));
            ::_exit(0);
        }
    int status = 0;
    for (int process = 0; process < processes; ++process) {
        ::wait(&status);
        CHECK(status == 0);
    }
    const auto records = log().read();
    CHECK(records.unreadable == 0);
    std::set<std::string> different;
    for (const auto& text : texts(records.trials)) different.insert(text);
    CHECK(different.size() == processes * each);
}

TEST_CASE("log: a line that was cut off, or that is none, counts as never made, and the next one stays whole") {
    const test::Folder folder;
    const auto log = folder.log();
    log.append(a_trial(0));
    const auto line = to_json(a_trial(1)).dump();
    std::ofstream(log.path(), std::ios::app) << "nonsense\n\n" << std::string(100'000, '[') << "\n" << line.substr(0, line.size() / 2);
    log.append(a_trial(2));
    const auto records = log.read();
    CHECK(texts(records.trials) == texts(std::vector{a_trial(0), a_trial(2)}));
    CHECK(records.unreadable == 3);
    for (const auto* change : {"/device", "/spec/block", "/seconds/factor_solve", "/verdict"}) {
        auto tree = to_json(a_trial(0));
        tree[nlohmann::ordered_json::json_pointer(change)] = -1;
        CHECK(parse_records(tree.dump()).unreadable == 1);
    }
}

TEST_CASE("log: thousands of changes give records or lines that are left out, nothing else") {
    std::mt19937 random(20261124);
    const auto whole = to_json(a_trial(0)).dump() + "\n" + to_json(a_decision(7)).dump() + "\n";
    const std::vector<std::string> words{"-1",      "1e999", "null", "\"", "{", "]", "99999999999999999999",
                                         "\\u0000", "\xff",  "NaN",  ":",  "\n"};
    std::size_t refused = 0;
    for (int round = 0; round < 2000; ++round) {
        auto text = whole;
        for (auto change = random() % 3; change < 3; ++change)
            text.replace(random() % text.size(), random() % 6, words[random() % words.size()]);
        const auto records = parse_records(text);
        refused += records.unreadable;
        for (const auto& trial : records.trials) to_json(trial);
        for (const auto& decision : records.decisions) to_json(decision);
    }
    CHECK(refused > 1000);
}

TEST_CASE_FIXTURE(test::Folder, "log: what cannot be one, and a disk that is full") {
    CHECK_THROWS_AS(Log(path / "none" / "log").append(a_trial(0)), formats::InputError);
    CHECK_THROWS_WITH_AS(Log("/dev/full").append(a_trial(0)), doctest::Contains("is no file"), formats::InputError);
    std::ofstream(log().path()) << "SQLite format 3" << std::string(100, '\0');
    CHECK_THROWS_WITH_AS(log().read(), doctest::Contains("a database of an earlier Trifold"), formats::InputError);
}

TEST_CASE("log: a decision as a row of wisdom") {
    const auto row = row_of(a_decision(1));
    CHECK(row.device == "NVIDIA H200");
    CHECK(row.objective == "factor+3*solve");
    CHECK(row.pins == Pins{"multi-stage", "dataflow"});
    CHECK(row.measured == "generator 1.0.0-00000000; driver 580; effort quick; 8 trials");
    CHECK(family_of(row.key).spec(row.key)["block"] == 5);
    const auto again = read_wisdom(write_wisdom({row}), check_key);
    CHECK(key_of(again.at(0)) == key_of(row));
    CHECK(refusal_of(row).empty());
    auto odd = row;
    odd.pins.variant = "dataflow:no_such_knob=1";
    CHECK(says(refusal_of(odd), "no_such_knob"));
}
