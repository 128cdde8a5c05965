#include "tools/bench/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace trifold::bench {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Device device_of(const std::string& backend, int number) {
    return backend == "cpu" ? Device::cpu() : Device::parse(fmt::format("{}:{}", backend, number));
}

void on_devices(int count, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int k = 0; k < count; ++k)
        threads.emplace_back([&, k] {
            try {
                work(k);
            } catch (const std::exception& error) {
                fmt::print("device {}: {}\n", k, error.what());
                std::fflush(stdout);
                std::_Exit(1);
            }
        });
    for (auto& thread : threads) thread.join();
}

Transports connect(const std::string& backend, const std::string& library, int ranks) {
    Transports result;
    LocalRanks local(ranks);
    for (int rank = 0; rank < ranks; ++rank) result.push_back(local.take(rank));
    if (backend == "cpu") return result;
    const auto begin = now();
    on_devices(ranks, [&](int rank) {
        auto& transport = result[static_cast<std::size_t>(rank)];
        auto made = std::make_shared<NcclTransport>(transport, device_of(backend, rank), NcclOptions{.library = library});
        if (rank == 0) fmt::print("{} ranks by NCCL {}, in {:.2f} s\n", ranks, made->library(), now() - begin);
        transport = std::move(made);
    });
    std::fflush(stdout);
    return result;
}

std::shared_ptr<double> upload(const DeviceTools& tools, std::span<const double> host) {
    const auto bytes = static_cast<std::int64_t>(host.size_bytes());
    auto memory = tools.allocate(std::max<std::int64_t>(bytes, 1));
    if (bytes > 0) tools.upload(memory.get(), host.data(), bytes);
    return {memory, static_cast<double*>(memory.get())};
}

double least_seconds(std::barrier<>& barrier, const DeviceTools& tools, const Runs& runs, const std::function<void()>& call,
                     const std::function<void()>& after) {
    call();
    tools.synchronize();
    after();
    double least = 1e9;
    for (int run = 0; run < runs.runs; ++run) {
        barrier.arrive_and_wait();
        const auto begin = now();
        for (int k = 0; k < runs.calls; ++k) call();
        tools.synchronize();
        barrier.arrive_and_wait();
        least = std::min(least, (now() - begin) / runs.calls);
        after();
    }
    return least;
}

}  // namespace trifold::bench
