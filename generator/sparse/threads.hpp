#pragma once
#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

/// All cores of the host, for what is made of a pattern.
namespace trifold::sparse {

/// Calls work(first, end) in threads, for parts of 0 .. count of at least `least` each. Rethrows the exception of the first that throws.
template <class Work>
void for_ranges(std::int64_t count, std::int64_t least, const Work& work) {
    const auto parts = std::clamp<std::int64_t>(count / least, 1, std::max(1U, std::thread::hardware_concurrency()));
    if (parts == 1) return work(std::int64_t{0}, count);
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(parts));
    {
        std::vector<std::jthread> all;
        for (std::int64_t k = 0; k < parts; ++k)
            all.emplace_back([&, k] {
                try {
                    work(count * k / parts, count * (k + 1) / parts);
                } catch (...) {
                    thrown[static_cast<std::size_t>(k)] = std::current_exception();
                }
            });
    }
    for (const auto& one : thrown)
        if (one) std::rethrow_exception(one);
}

/// Results of parts of 0 .. count in their order, each begun as a copy of `empty`: work(result, first, end).
template <class Result, class Work>
std::vector<Result> results_of_ranges(std::int64_t count, const Result& empty, const Work& work) {
    const auto parts = std::clamp<std::int64_t>(count, 1, std::max(1U, std::thread::hardware_concurrency()));
    std::vector<Result> results(static_cast<std::size_t>(parts), empty);
    for_ranges(parts, 1, [&](std::int64_t first, std::int64_t end) {
        for (auto part = first; part < end; ++part)
            work(results[static_cast<std::size_t>(part)], count * part / parts, count * (part + 1) / parts);
    });
    return results;
}

}  // namespace trifold::sparse
