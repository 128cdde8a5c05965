#include "generator/tridiagonal/wisdom.hpp"

#include <sys/stat.h>
#include <trifold/trifold.h>

#include <trifold/trifold.hpp>

#include "runtime/base/processors.hpp"
#include "runtime/wisdom/wisdom.hpp"
#include "tests/runtime/cache/unit.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;
namespace fs = std::filesystem;

namespace {

const Spec tuned_spec{.block = 5, .horizon = 21};

/// What the model does not take for it.
WisdomRow tuned_row() {
    return {.device = processor_name(),
            .key = key_of(tuned_spec, Device::cpu().target(), 1),
            .objective = "factor_solve",
            .pins = {"twisted:3", "tile"},
            .seconds = 1e-6,
            .default_seconds = 2e-6,
            .measured = "by hand"};
}

/// A directory with a wisdom file that TRIFOLD_WISDOM names, and a log.
struct WisdomFixture {
    PrivateDirectory directory;
    fs::path file = directory.path() / "wisdom", log_file = directory.path() / "log";
    WithEnvironment environment{{"TRIFOLD_WISDOM", file.c_str()}, {"TRIFOLD_LOG", ("warning:" + log_file.string()).c_str()}};

    void write(const std::string& text) const { write_file(file, text); }
    std::string logged() const { return read_file(log_file).value_or(""); }
};

Choice chosen(const Spec& spec = tuned_spec, const Tuning& tuning = {}) { return choose_by_wisdom(spec, Device::cpu(), tuning); }

}  // namespace

TEST_CASE_FIXTURE(WisdomFixture, "a Plan takes what the user's wisdom says: the very Program of the same choice pinned by hand") {
    write(write_wisdom({tuned_row()}));
    Problem<double> problem(tuned_spec, 1, 1);
    const auto& [d, e, b] = problem.input;
    const Plan plan(tuned_spec, Device::cpu());
    const Plan pinned(tuned_spec, Device::cpu(), {.schedule = "twisted:3", .variant = "tile"});
    CHECK(plan.choice().rung == DecisionSource::exact);
    CHECK(plan.choice().reason.find("wisdom: exact; line 3 of " + file.string()) == 0);
    CHECK(plan.choice().schedule.name == "twisted:3");
    CHECK(pinned.choice().rung == DecisionSource::pinned);
    CHECK(plan.program().id == pinned.program().id);
    CHECK(to_json(plan.program()) == to_json(pinned.program()));
    CHECK(plan.report().kernels == pinned.report().kernels);
    CHECK(plan.program().id != generate(tuned_spec, Device::cpu().target()).id);
    auto other = problem.x;
    Solver by_wisdom(plan), by_hand(pinned);
    by_wisdom.factor_solve<double>(d, e, b, problem.x);
    by_hand.factor_solve<double>(d, e, b, other);
    CHECK(problem.residual() < 1e-14);
    CHECK(problem.x == other);
    CHECK(logged().empty());
}

TEST_CASE_FIXTURE(WisdomFixture, "the C interface tells what chose") {
    write(write_wisdom({tuned_row()}));
    trifold_spec spec;
    trifold_spec_init(&spec, tuned_spec.block, tuned_spec.horizon);
    trifold_plan* plan = nullptr;
    REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    CHECK(std::string(trifold_plan_reason(plan)).find("wisdom: exact; line 3 of ") == 0);
    trifold_plan_destroy(plan);
    CHECK(std::string(trifold_plan_reason(nullptr)).empty());
}

TEST_CASE_FIXTURE(WisdomFixture, "TRIFOLD_DISABLE=wisdom leaves the model") {
    write(write_wisdom({tuned_row()}));
    const WithEnvironment off{{"TRIFOLD_DISABLE", "wisdom"}};
    CHECK(chosen().rung == DecisionSource::model);
    CHECK(wisdom_sources().empty());
    CHECK_NOTHROW(Plan(tuned_spec, Device::cpu()));  // the word is known
}

TEST_CASE_FIXTURE(WisdomFixture, "without TRIFOLD_WISDOM the user's data directory counts, by XDG or in the home") {
    fs::create_directories(directory.path() / "xdg" / "trifold");
    fs::create_directories(directory.path() / "home" / ".local" / "share" / "trifold");
    write_file(directory.path() / "xdg" / "trifold" / "wisdom", write_wisdom({tuned_row()}));
    write_file(directory.path() / "home" / ".local" / "share" / "trifold" / "wisdom", write_wisdom({tuned_row()}));
    const auto home = (directory.path() / "home").string(), xdg = (directory.path() / "xdg").string();
    const WithEnvironment in_home{{"TRIFOLD_WISDOM", nullptr}, {"XDG_DATA_HOME", "not/absolute"}, {"HOME", home.c_str()}};
    CHECK(says(chosen().row, home));
    CHECK(wisdom_sources().front().from == "HOME");
    const WithEnvironment by_xdg{{"XDG_DATA_HOME", xdg.c_str()}};
    CHECK(says(chosen().row, xdg));
    const WithEnvironment nowhere{{"XDG_DATA_HOME", "/nowhere"}};
    CHECK(chosen().rung == DecisionSource::model);
    const WithEnvironment nothing{{"XDG_DATA_HOME", nullptr}, {"HOME", nullptr}};
    CHECK(chosen().rung == DecisionSource::model);
    CHECK(logged().empty());
}

TEST_CASE_FIXTURE(WisdomFixture, "no wisdom file ends a Plan: what is wrong is told once, and the model decides") {
    const auto good = write_wisdom({tuned_row()});
    const auto check = [&](const std::string& name, const std::string& why) {
        const auto path = (directory.path() / name).string();
        const WithEnvironment named{{"TRIFOLD_WISDOM", path.c_str()}};
        fs::remove(log_file);
        CHECK(chosen().rung == DecisionSource::model);
        CHECK(chosen().rung == DecisionSource::model);
        CHECK(says(wisdom_sources().front().problem, why));
        const auto text = logged();
        CAPTURE(text);
        CHECK(std::ranges::count(text, '\n') == 1);
        CHECK(says(text, fmt::format("wisdom {} is not used: ", path)));
    };
    const auto check_text = [&](const std::string& name, const std::string& text, const std::string& why) {
        write_file(directory.path() / name, text);
        check(name, why);
    };
    check("missing", "there is no such file");
    check_text("empty", "", "this is no wisdom");
    check_text("zeros", std::string(4096, '\0'), "this is no wisdom");
    check_text("truncated", good.substr(0, good.size() - 7), "cut off");
    check_text("no_rows", good.substr(0, good.find('\n')), "line 2");
    auto corrupt = good;
    corrupt[good.size() - 4] ^= 1;
    check_text("corrupt", corrupt, "its checksum");
    auto future = good;
    future[std::string("trifold wisdom ").size()] = '7';
    check_text("future", future, "is of format 7");
    check_text("nul", good + std::string("\0\n", 2), "its checksum");
    fs::create_directory(directory.path() / "folder");
    check("folder", "it is no file");
    REQUIRE(::mkfifo((directory.path() / "pipe").c_str(), 0600) == 0);
    check("pipe", "it is no file");
    std::ofstream(directory.path() / "huge") << "trifold wisdom 1";
    fs::resize_file(directory.path() / "huge", std::uintmax_t{1} << 40);  // a hole, which takes no disk
    check("huge", "too large");
    write_file(directory.path() / "secret", good);
    fs::permissions(directory.path() / "secret", fs::perms::none);
    if (!read_file(directory.path() / "secret")) check("secret", "cannot be read");  // root reads everything
}

TEST_CASE_FIXTURE(WisdomFixture, "wisdom that has nothing for the device says so once") {
    auto row = tuned_row();
    row.key.target = {Backend::cuda, "sm_90"};
    row.device = "NVIDIA H200";
    row.pins = {"multi-stage", "dataflow"};
    write(write_wisdom({row}));
    chosen();
    CHECK(chosen().rung == DecisionSource::model);
    const auto target = to_string(Device::cpu().target());
    CHECK(logged() == fmt::format("trifold: warning: wisdom {} has 1 rows, none for {} ({})\n", file.string(), processor_name(), target));
    // One that was not named, and that is for GPUs alone, is silent for a processor.
    fs::create_directories(directory.path() / "trifold");
    fs::copy(file, directory.path() / "trifold" / "wisdom");
    const auto place = directory.path().string();
    const WithEnvironment xdg{{"TRIFOLD_WISDOM", nullptr}, {"XDG_DATA_HOME", place.c_str()}};
    fs::remove(log_file);
    CHECK(chosen().rung == DecisionSource::model);
    CHECK(logged().empty());
    choose_by_wisdom(tuned_spec, Target{Backend::cuda, "sm_100"}, Tuning{}, "NVIDIA B200");
    CHECK(says(logged(), "has 1 rows, none for NVIDIA B200 (cuda:sm_100)"));
}

TEST_CASE_FIXTURE(WisdomFixture, "a row that cannot be used is ignored, with one line in the log") {
    auto row = tuned_row();
    row.pins.variant = "tile:wings=2";
    write(write_wisdom({row}));
    CHECK(chosen().rung == DecisionSource::model);
    CHECK(chosen().rung == DecisionSource::model);
    const auto text = logged();
    CAPTURE(text);
    CHECK(says(text, "wisdom, line 3 of " + file.string(), "wings"));
    CHECK(std::ranges::count(text, '\n') == 1);
}

TEST_CASE_FIXTURE(WisdomFixture, "wisdom is of a number of workers") {
    auto row = tuned_row();
    row.key.workers = 2;
    write(write_wisdom({row}));
    CHECK(chosen().rung == DecisionSource::model);
    CHECK(chosen(tuned_spec, {.workers = 2}).rung == DecisionSource::exact);
}

TEST_CASE_FIXTURE(WisdomFixture, "mixed precision has rows of its own") {
    auto mixed = tuned_spec;
    mixed.precision = Precision::mixed;
    auto row = tuned_row();
    write(write_wisdom({row}));
    CHECK(chosen(mixed).rung == DecisionSource::model);
    row.key.precision = Precision::mixed;
    write_file(directory.path() / "mixed", write_wisdom({row}));
    const auto path = (directory.path() / "mixed").string();
    const WithEnvironment named{{"TRIFOLD_WISDOM", path.c_str()}};
    CHECK(chosen(mixed).rung == DecisionSource::exact);
    CHECK(chosen(mixed).schedule.name == "twisted:3");
    CHECK(chosen().rung == DecisionSource::model);
}

TEST_CASE_FIXTURE(WisdomFixture, "many threads read a file once") {
    write(write_wisdom({tuned_row()}));
    std::vector<std::thread> threads;
    std::vector<const Wisdom*> seen(8);
    for (auto& place : seen)
        threads.emplace_back([&place] {
            place = wisdom_sources().front().wisdom;
            chosen();
        });
    for (auto& thread : threads) thread.join();
    CHECK(seen.front() != nullptr);
    CHECK(std::ranges::count(seen, seen.front()) == 8);
    fs::remove(file);
    CHECK(chosen().rung == DecisionSource::exact);  // what was read stays for the process
}

TEST_CASE("a processor has a name by its micro-architecture") {
    const auto name = processor_name();
    CAPTURE(name);
    CHECK(name == processor_name());
    CHECK(name.size() > 8);
    CHECK(std::ranges::all_of(name, [](unsigned char letter) { return letter >= ' ' && letter <= '~'; }));
#if defined(__x86_64__)
    // The kernel tells the same of the first processor.
    std::ifstream file("/proc/cpuinfo");
    std::string line, vendor, family, model;
    const auto take = [&](const std::string& key, std::string& value) {
        if (line.starts_with(key + "\t") && value.empty()) value = line.substr(line.find(':') + 2);
    };
    while (std::getline(file, line)) {
        take("vendor_id", vendor);
        take("cpu family", family);
        take("model", model);
    }
    if (!vendor.empty()) CHECK(name == fmt::format("{} family {} model {}", vendor, family, model));
#endif
    CHECK(wisdom_device(Device::cpu()) == name);
}
