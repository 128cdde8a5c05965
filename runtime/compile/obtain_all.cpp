#include <future>
#include <trifold/binary.hpp>

#include "runtime/base/limits.hpp"
#include "runtime/compile/sources.hpp"

namespace trifold {

std::vector<Binary> obtain_all(const Program& program) try {
    check_external_source(program);
    if (program.units.size() == 1) return {obtain(program.units.front())};
    std::vector<std::future<Binary>> started;
    for (const auto& unit : program.units)  // deferred: where no thread can be started
        started.push_back(std::async(std::launch::async | std::launch::deferred, [&unit] { return obtain(unit); }));
    std::vector<Binary> binaries;
    for (auto& binary : started) binaries.push_back(binary.get());
    return binaries;
} catch (const std::system_error& error) {
    throw_refused(error);
}

}  // namespace trifold
