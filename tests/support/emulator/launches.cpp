#include "tests/support/emulator/launches.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <random>

namespace trifold::test {

void ignore_image(void* library, Detector& detector) {
    const link_map* map = nullptr;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    struct Search {
        ElfW(Addr) base;
        Detector& detector;
    } search{map->l_addr, detector};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            for (int k = 0; info->dlpi_addr == wanted.base && k < info->dlpi_phnum; ++k) {
                const auto& part = info->dlpi_phdr[k];
                if (part.p_type == PT_LOAD)
                    wanted.detector.ignore(reinterpret_cast<const void*>(wanted.base + part.p_vaddr),
                                           static_cast<std::int64_t>(part.p_memsz));
            }
            return 0;
        },
        &search);
}

std::vector<std::set<std::uint32_t>> all_before(const std::vector<Launch>& launches) {
    std::vector<std::set<std::uint32_t>> before(launches.size());
    for (std::size_t k = 0; k < launches.size(); ++k)
        for (const auto other : launches[k].after) {
            before[k].insert(before[other].begin(), before[other].end());
            if (!launches[k].early) before[k].insert(static_cast<std::uint32_t>(other));  // else flags must tell
        }
    return before;
}

std::vector<std::size_t> choose_order(const std::vector<Launch>& launches, const Running& running) {
    std::vector<std::size_t> waiting(launches.size()), order;
    for (std::size_t k = 0; k < waiting.size(); ++k) waiting[k] = k;
    if (running.order == Order::random) std::ranges::shuffle(waiting, std::mt19937(running.seed));
    if (running.order == Order::reverse) std::ranges::reverse(waiting);
    const auto done = [&](std::size_t k) { return std::ranges::find(order, k) != order.end(); };
    while (!waiting.empty()) {
        const auto next = std::ranges::find_if(waiting, [&](auto k) { return std::ranges::all_of(launches[k].after, done); });
        order.push_back(*next);
        waiting.erase(next);
    }
    return order;
}

}  // namespace trifold::test
