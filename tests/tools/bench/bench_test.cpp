#include "tests/support/test.hpp"
#include "tools/bench/measure.hpp"
#include "tools/bench/suites.hpp"

using namespace trifold;
using namespace trifold::bench;

TEST_CASE("statistics: what numpy gives") {
    // numpy.quantile([0.7, 0.1, 0.4, 0.9, 0.2, 0.25], [0.5, 0.99, 0.999]) and the difference of the quartiles
    const auto six = summarize({0.7, 0.1, 0.4, 0.9, 0.2, 0.25});
    CHECK(six.median == doctest::Approx(0.325));
    CHECK(six.p99 == doctest::Approx(0.89));
    CHECK(six.p999 == doctest::Approx(0.899));
    CHECK(six.spread == doctest::Approx(0.4125));
    CHECK(six.minimum == 0.1);
    CHECK(six.maximum == 0.9);
    CHECK(six.sorted == std::vector<double>{0.1, 0.2, 0.25, 0.4, 0.7, 0.9});
    const auto one = summarize({3.0});
    CHECK(one.median == 3);
    CHECK(one.p999 == 3);
    CHECK(one.spread == 0);
    CHECK(std::isnan(summarize({}).median));
}

TEST_CASE("statistics: the 99th percentile of 1 to 101 is 100, whatever the order") {
    std::vector<double> values;
    for (int k = 0; k < 101; ++k) values.push_back((k * 37) % 101 + 1);
    const auto result = summarize(values);
    CHECK(result.p99 == doctest::Approx(100));
    CHECK(result.median == doctest::Approx(51));
    CHECK(result.spread == doctest::Approx(50));
}

TEST_CASE("floor: the device's table, milliseconds of a factorization") {
    const Rates h200{4.27e12, 66.6e12, 55.7e12};
    for (const auto& [horizon, block, milliseconds] : {std::tuple<std::int64_t, std::int64_t, double>{8192, 32, 0.08},
                                                       {4096, 64, 0.16},
                                                       {2048, 128, 0.41},
                                                       {1024, 256, 1.63},
                                                       {512, 512, 6.5},
                                                       {256, 1024, 26}}) {
        INFO(horizon, " ", block);
        const Spec spec{.block = block, .horizon = horizon};
        CHECK(floor_seconds(work(spec, Operation::factor), h200, Precision::f64) * 1e3 == doctest::Approx(milliseconds).epsilon(0.025));
    }
}

TEST_CASE("floor: a batch is swept, at 7/3 N n^3, and single precision moves half the bytes") {
    const Spec spec{.block = 6, .horizon = 10, .batch = 5};
    CHECK(work(spec, Operation::factor).flops == doctest::Approx(7.0 / 3 * 216 * 50));
    CHECK(work(spec, Operation::factor).bytes == doctest::Approx(2 * (21 + 36) * 50 * 8));  // of D and L the lower half
    // One triangular solve and one product a sweep; L, R, b and x.
    CHECK(work(spec, Operation::solve).flops == doctest::Approx(2 * (36 + 2 * 36) * 50));
    CHECK(work(spec, Operation::solve).bytes == doctest::Approx((2 * (21 + 36) + 2 * 6) * 50 * 8));
    const auto fused = work(spec, Operation::factor_solve);
    CHECK(fused.flops == doctest::Approx(work(spec, Operation::factor).flops + work(spec, Operation::solve).flops));
    CHECK(fused.bytes == doctest::Approx((3 * (21 + 36) + 2 * 6) * 50 * 8));
    auto single = spec;
    single.precision = Precision::f32;
    CHECK(work(single, Operation::factor).bytes == doctest::Approx(work(spec, Operation::factor).bytes / 2));
    CHECK(!rates(Device::cpu().name()));
    CHECK(rates("NVIDIA H100 80GB HBM3")->bytes < rates("NVIDIA H200")->bytes);
}

TEST_CASE("suites: all that were asked for, sizes once and in range") {
    std::set<std::string_view> names;
    for (const auto& suite : suites()) {
        INFO(suite.name);
        names.insert(suite.name);
        for (const auto& size : suite.sizes) {
            CHECK(std::ranges::count(suite.sizes, size) == 1);
            validate(Spec{.block = size.block, .horizon = size.horizon, .batch = size.batch});
            CHECK(parse_size(to_string(size)) == size);
        }
        for (const auto& size : quick(suite.sizes)) CHECK(size.horizon * size.batch <= 16384);
    }
    CHECK(names == std::set<std::string_view>{"table1", "latency", "long", "horizon", "block", "batch", "kalman", "cpu", "compile",
                                              "accuracy", "messages"});
    for (const auto& size : suites().front().sizes) CHECK(size.horizon * size.block == 262144);  // table1
}

TEST_CASE("suites: sizes as text") {
    CHECK(parse_size("512x32") == Size{512, 32, 1});
    CHECK(parse_size("31x13x16384") == Size{31, 13, 16384});
    for (const auto* text : {"", "x", "512", "512x", "x32", "512x32x", "512x32x2x2", "0x3", "3x0", "-1x3", "512x32 ", "a512x32", "1e3x3",
                             "99999999999999999999x3"}) {
        INFO(text);
        CHECK_THROWS_AS(parse_size(text), SpecError);
    }
}

TEST_CASE("timing: what is prepared is not timed, and a step that is too long is called once") {
    using namespace std::chrono_literals;
    DeviceTools tools(Device::cpu());
    int prepared = 0, called = 0;
    const Step step{.operation = "nap",
                    .call = [&] { ++called, std::this_thread::sleep_for(2ms); },
                    .prepare = [&] { ++prepared, std::this_thread::sleep_for(20ms); }};
    const auto seconds = time_step(tools, step, {.seconds = 1e-3, .min_runs = 5, .max_runs = 7});
    CHECK(seconds.size() == 5);
    CHECK(prepared == called);
    CHECK(summarize(seconds).minimum >= 2e-3);
    CHECK(summarize(seconds).median < 20e-3);
    called = 0;
    CHECK(time_step(tools, {.operation = "long", .call = [&] { ++called; }, .once = true}, {}).size() == 1);
    CHECK(called == 1);
}

TEST_CASE("timing: calls begin at the given rate") {
    DeviceTools tools(Device::cpu());
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = time_calls(by_host_clock(tools, [] {}), 5e-3, {.seconds = 0.2, .min_runs = 5});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    CHECK(seconds.size() >= 5);
    CHECK(seconds.size() <= 41);  // one every 5 ms
    CHECK(taken.count() >= 5e-3 * (static_cast<double>(seconds.size()) - 1));
    CHECK(summarize(seconds).median < 5e-3);  // the gap is not part of a call
}

TEST_CASE("timing: by turns every step has its rounds, and steps that are prepared are not repeated") {
    DeviceTools tools(Device::cpu(), true);
    int prepared = 0, called = 0, other = 0;
    const std::vector<Step> steps{{.operation = "a", .call = [&] { ++called; }, .prepare = [&] { ++prepared; }},
                                  {.operation = "b", .call = [&] { ++other; }}};
    const auto seconds = time_by_turns(tools, steps, {.seconds = 0, .min_runs = 4});
    CHECK(seconds[0].size() == 4);
    CHECK(seconds[1].size() == 4);
    CHECK(prepared == called);
    CHECK(called == 5);  // one to learn how long it takes
    CHECK(other > 100);
}

TEST_CASE("timing: ranks agree on the number of runs, and each lasts as long as that of the slowest") {
    using namespace std::chrono_literals;
    LocalRanks ranks(2);
    std::vector<std::vector<double>> seconds(2);
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < 2; ++rank)
            threads.emplace_back([&, rank] {
                const auto transport = ranks.take(rank);
                const DeviceTools tools(Device::cpu());
                const Step step{.operation = "nap", .call = [rank] { std::this_thread::sleep_for(rank == 0 ? 0ms : 4ms); }};
                seconds[static_cast<std::size_t>(rank)] = time_together(*transport, tools, step, {.seconds = 0.02, .min_runs = 3});
            });
    }
    CHECK(seconds[0] == seconds[1]);
    CHECK(seconds[0].size() >= 3);
    CHECK(summarize(seconds[0]).minimum >= 4e-3);
}
