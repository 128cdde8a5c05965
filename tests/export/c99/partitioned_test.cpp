// Exported schedules of several chains: results, the same bits whoever runs the tasks, and which failure is named.
#include "tests/export/c99/solver.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

using Task = void (*)(void*, int);
using ParallelFor = void (*)(void*, int, Task, void*);

void backwards(void* user, int count, Task task, void* argument) {
    ++*static_cast<int*>(user);
    for (int k = count - 1; k >= 0; --k) task(argument, k);
}

void threads(void* user, int count, Task task, void* argument) {
    ++*static_cast<int*>(user);
    std::vector<std::jthread> all;
    for (int k = 0; k < count; ++k) all.emplace_back(task, argument, k);
}

template <class Real>
void set_parallel_for(const Exported<Real>& solver, ParallelFor parallel_for, int* calls) {
    solver.template function<void(void*, ParallelFor, void*)>("btd_set_parallel_for")(solver.workspace(), parallel_for, calls);
}

template <class Real>
void check_solves(std::int64_t n, std::int64_t horizon, std::int64_t rhs, const std::string& schedule, const std::string& compiler) {
    INFO(n, " ", horizon, " ", schedule);
    auto build = plain(compiler);
    build.schedule = schedule;
    Exported<Real> solver(n, horizon, rhs, build);
    const auto system = random_system(n, horizon, rhs, 3);
    const auto user = arrays<Real>(solver.spec(), {system});
    std::vector<Real> x(user.b.size()), again(user.b.size());
    CHECK(solver.factor_solve(user, x.data()) == fine);
    CHECK(relative_residual(system.dense(), gather(solver.spec(), x, 0, rhs), system.b) <= tolerance<Real>);
    for (const auto hook : {backwards, threads}) {
        int calls = 0;
        set_parallel_for(solver, hook, &calls);
        CHECK(solver.factor(user.d.data(), user.e.data()) == fine);
        CHECK(calls == 1);
        again = user.b;
        CHECK(solver.solve(again.data(), again.data()) == fine);
        CHECK(calls == 3);
        CHECK(again == x);
    }
    set_parallel_for<Real>(solver, nullptr, nullptr);
    CHECK(solver.factor_solve(user, again.data()) == fine);
    CHECK(again == x);
}

void check_throws(ExportRequest bad, const std::string& schedule, const std::string& message) {
    bad.schedule = schedule;
    CHECK_REFUSED(message.c_str(), export_project(bad));
}

}  // namespace

TEST_CASE("export: schedules of several chains solve, with the same bits whoever runs the chains") {
    check_solves<double>(1, 3, 1, "partitioned:2", "gcc -O2");
    check_solves<double>(7, 3, 2, "twisted:2", "gcc -O2");
    check_solves<double>(12, 20, 1, "twisted:2", "clang-19 -O2");
    check_solves<double>(2, 5, 3, "partitioned:3", "gcc -O3 -march=native");
    check_solves<double>(33, 9, 1, "twisted:3", "gcc -O2");
    check_solves<float>(12, 31, 1, "partitioned:4", "gcc -O2");
    check_solves<float>(3, 101, 5, "twisted:5", "gcc -Os");
    check_solves<float>(64, 7, 1, "partitioned:4", "gcc -O2");
}

TEST_CASE("export: of several failing chains the smallest block is named, and chains before separators") {
    const std::int64_t n = 3, horizon = 11;
    for (const std::string schedule : {"partitioned:3", "twisted:3"}) {
        auto build = plain();
        build.schedule = schedule;
        Exported<double> solver(n, horizon, 1, build);
        const auto sound = arrays<double>(solver.spec(), {random_system(n, horizon, 1, 5)});
        const auto levels = parse_schedule(schedule, horizon).levels;
        std::vector<double> x(sound.b.size());
        const auto poison = [&](Arrays<double>& user, std::int64_t block, double value) {
            user.d[static_cast<std::size_t>((block * n + 1) * n + 1)] = value;
        };
        int calls = 0;
        set_parallel_for(solver, threads, &calls);
        std::vector<std::int64_t> separators;
        for (std::int64_t k = 0; k < levels[1].size; ++k) separators.push_back(levels[1].block(k));
        const auto is_separator = [&](std::int64_t block) { return std::ranges::find(separators, block) != separators.end(); };
        for (std::int64_t block = 0; block < horizon; ++block)
            for (const double value : {-1000.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
                INFO(schedule, " ", block);
                auto user = sound;
                poison(user, block, value);
                CHECK(solver.factor_solve(user, x.data()) == Status{not_positive_definite, static_cast<int>(block), 1});
                CHECK(std::ranges::all_of(x, [](double each) { return std::isnan(each); }));
                CHECK(solver.solve(sound.b.data(), x.data()) == Status{not_factored, -1, -1});
                for (const auto other : separators) poison(user, other, value);
                poison(user, horizon - 1, value);
                const bool after_last = schedule == "twisted:3" && block > separators.back();  // which is the first of its chain
                const auto expected = is_separator(block) || after_last ? horizon - 1 : block;
                CHECK(solver.factor(user.d.data(), user.e.data()) == Status{not_positive_definite, static_cast<int>(expected), 1});
                CHECK(solver.factor_solve(sound, x.data()) == fine);
            }
        auto user = sound;
        user.b[7] = std::nan("");
        CHECK(solver.factor_solve(user, x.data()).code == out_of_range);
    }
}

TEST_CASE("export: chains give the same bits on every machine, and nothing outside the arrays is touched") {
    std::string checksum;
    for (const std::string target : {"c99:generic", "c99:cortex-m4", "c99:cortex-m7"}) {
        auto asked = request(5, 12, Precision::f32, 2, target);
        asked.schedule = "twisted:3";
        const Project project(asked);
        CHECK(project.manifest()["schedule"] == "twisted:3");
        const auto ran = project.run("make -s run CONTRACT=off CFLAGS='-O2 -Wconversion -Werror'");
        INFO(ran.out);
        CHECK(ran.status == 0);
        const auto printed = ran.out.substr(ran.out.find("checksum"));
        if (checksum.empty()) checksum = printed;
        CHECK(printed == checksum);
        if (target != "c99:generic") continue;
        for (const std::string other : {"CC=clang-19", "CC=aarch64-linux-gnu-gcc LDFLAGS=-static RUN=qemu-aarch64",
                                        "CFLAGS='-O1 -fsanitize=address,undefined -fno-sanitize-recover=all'"})
            CHECK(project.run("make -s clean run " + other).out.ends_with(checksum));
    }
}

TEST_CASE("export: schedules that cannot be exported are refused") {
    const auto good = request(4, 6, Precision::f32);
    check_throws(good, "recursive:2", "schedule 'recursive:2' cannot be exported; give sequential, partitioned:p or twisted:p");
    check_throws(good, "partitioned:0", "partitioned:0");
    check_throws(good, "auto", "auto");
    check_throws(request(4, 1, Precision::f32), "partitioned:2", "schedule 'partitioned:2' of 1 block(s) is one chain; give sequential");
    check_throws(request(4, 6, Precision::f32, 1, "c99:avx2"), "twisted:2", "target 'c99:avx2' runs the sequential schedule");
    auto tables = good;
    tables.prefactored = Prefactored{.d = std::vector<double>(96, 1), .e = std::vector<double>(80)};
    check_throws(tables, "twisted:2", "factors as constants are those of the sequential schedule");
}
