#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <future>
#include <map>
#include <mutex>
#include <system_error>
#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "generator/program/templates.hpp"
#include "runtime/base/forks.hpp"
#include "runtime/base/gauges.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/async.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/entry.hpp"
#include "runtime/compile/resources.hpp"
#include "runtime/compile/sources.hpp"

namespace trifold {
namespace {

constexpr std::chrono::seconds lock_patience(20);

/// An entry of another compiler than the one installed here is stale; where none is installed, or none may run, it serves.
bool stale(const Binary& binary, const Target& target) {
    if (disabled("jit")) return false;
    try {
        const auto expected = expect_compiler(target);
        if (expected == nullptr || expected->identity() == binary.compiler) return false;
        return find_compiler(target)->identity() != binary.compiler;
    } catch (const DeviceError&) {
        return false;
    }
}

/// `problem` is set where an entry is there, but cannot be read.
std::optional<Binary> look_up(const Cache& cache, const std::string& key, const Target& target, std::string& problem) {
    if (dumped("ptx")) return std::nullopt;  // PTX is not kept
    for (const auto& layer : Cache::layers()) {
        auto found = layer.find(key, &problem);
        if (!found) continue;
        found->prebuilt = true;
        return found;
    }
    auto found = cache.find(key, &problem);
    if (!found || !stale(*found, target)) return found;
    log(LogLevel::info,
        fmt::format("the cached {} was made by {}, which is not the compiler installed here", key.substr(0, 8), found->compiler));
    return std::nullopt;
}

[[noreturn]] void report_failure(const CompileError& error, const Compiler& compiler, const Unit& unit) {
    const auto kept = keep_failed_source(unit);
    const auto log = with_template_lines(error.log, unit.source);
    throw CompileError(fmt::format("{} could not compile {}: {}\n  options: {}\n  source: {}\n{}", compiler.identity(), unit.id,
                                   error.what(), fmt::join(unit.options, " "), kept, log),
                       log);
}

/// The kernels' resources, every one of which must be there.
std::vector<KernelResources> validated_kernels(const Unit& unit, const Compiled& compiled) {
    auto kernels = resources_of(unit, compiled);
    for (const auto& kernel : kernels)
        if (kernel.code_bytes < 0) throw CompileError(fmt::format("the compiled unit has no kernel '{}'", kernel.kernel), compiled.log);
    return kernels;
}

void log_compilation(const Unit& unit, const Binary& binary) {
    if (!logs(LogLevel::info)) return;
    std::vector<std::string_view> names;
    for (const auto& kernel : unit.kernels) names.emplace_back(kernel.name);
    log(LogLevel::info, fmt::format("{} compiled {} for {} in {:.0f} ms, {} bytes: {}", binary.compiler, unit.id, to_string(unit.target),
                                    binary.compile_seconds * 1e3, binary.code.size(), fmt::join(names, ", ")));
}

Binary compile(const Unit& unit, const std::string& key) {
    const auto compiler = find_compiler(unit.target);
    const auto start = std::chrono::steady_clock::now();
    try {
        auto compiled = compiler->compile(unit.source, unit.options);
        Binary binary{.compiler = compiler->identity(), .kernels = validated_kernels(unit, compiled), .key = key};
        dump_text("ptx", unit, ".ptx", compiled.ptx);
        binary.log = std::move(compiled.log);
        binary.code = std::move(compiled.bytes);
        binary.compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        ++gauges.compilations;
        gauges.compile_microseconds += std::llround(1e6 * binary.compile_seconds);
        log_compilation(unit, binary);
        return binary;
    } catch (const CompileError& error) {
        check_descriptors(fmt::format("compile {} with {}", unit.id, compiler->identity()));
        report_failure(error, *compiler, unit);
    } catch (const DeviceError& error) {  // no room for the files on the way, or a limit of the system
        throw DeviceError(fmt::format("{} could not compile {}: {}", compiler->identity(), unit.id, error.what()));
    }
}

[[noreturn]] void report_missing(const Unit& unit, const std::string& key, const Cache& cache, const std::string& problem) {
    const auto what = fmt::format("the compiled kernels of {} ({})", unit.id, to_string(unit.target));
    if (!problem.empty())
        throw CacheError(fmt::format("{} are not to be had, and TRIFOLD_DISABLE=jit forbids compiling them; {}", what, problem));
    std::vector<std::string> layers;
    for (const auto& layer : Cache::layers()) layers.push_back(layer.path().string());
    throw CacheError(fmt::format("{} are missing and TRIFOLD_DISABLE=jit forbids compiling them; looked for key {} in {} and {}", what, key,
                                 cache.path().empty() ? "no cache directory (" + cache.problem() + ")" : cache.path().string(),
                                 layers.empty() ? "no layer of TRIFOLD_BINARIES" : fmt::format("{}", fmt::join(layers, ", "))));
}

Binary load_or_compile(const Unit& unit, const std::string& key) {
    const auto& target = unit.target;
    const auto cache = Cache::from_environment();
    std::string problem;
    if (auto found = look_up(cache, key, target, problem)) return std::move(*found);
    if (disabled("jit")) report_missing(unit, key, cache, problem);
    const auto lock = cache.lock(key, lock_patience);
    if (lock) {
        if (auto found = look_up(cache, key, target, problem)) return std::move(*found);  // somebody compiled it while this one waited
    }
    auto binary = compile(unit, key);
    cache.publish(binary, unit);
    return binary;
}

/// Binaries that this process has obtained, and those that some thread is obtaining right now.
class Memory {
  public:
    template <class Make>
    Binary obtain(const std::string& key, Make make) {
        std::promise<Binary> promise;
        std::shared_future<Binary> future;
        if (!claim(key, promise, future)) return hit(future.get());
        try {
            auto binary = make();
            keep(key, binary);
            promise.set_value(std::move(binary));
        } catch (...) {
            forget(key);  // a failure is not remembered
            promise.set_exception(std::current_exception());
            throw;
        }
        return future.get();
    }
    /// One that has been obtained.
    std::optional<Binary> find(const std::string& key) {
        const std::scoped_lock lock(mutex_);
        const auto found = known_.find(key);
        if (found == known_.end() || found->second.kept == nullptr) return std::nullopt;
        found->second.used = ++clock_;
        return hit(found->second.binary.get());
    }

  private:
    struct Known {
        std::shared_future<Binary> binary;
        std::uint64_t used;
        std::unique_ptr<Gauged> kept{};  // null while it is being obtained
    };
    static Binary hit(Binary binary) {
        binary.cache_hit = true;
        binary.compile_seconds = 0;
        return binary;
    }
    bool claim(const std::string& key, std::promise<Binary>& promise, std::shared_future<Binary>& future) {
        const std::scoped_lock lock(mutex_);
        if (const auto found = known_.find(key); found != known_.end()) {
            future = found->second.binary;
            found->second.used = ++clock_;
            return false;
        }
        future = promise.get_future().share();
        known_.emplace(key, Known{future, ++clock_});
        return true;
    }
    void keep(const std::string& key, const Binary& binary) {
        const std::scoped_lock lock(mutex_);
        const auto bytes = static_cast<std::int64_t>(binary.code.size() + binary.log.size());
        known_.at(key).kept = std::make_unique<Gauged>(gauges.binaries, bytes);
        // A binary that is larger than all that may be kept goes too: whoever needs it has it.
        while (kept_bytes() > max_bytes) known_.erase(min_recently_used());
    }
    std::int64_t kept_bytes() const {
        std::int64_t bytes = 0;
        for (const auto& [_, known] : known_)
            if (known.kept != nullptr) bytes += known.kept->bytes();
        return bytes;
    }
    std::map<std::string, Known>::iterator min_recently_used() {
        auto least = known_.end();
        for (auto one = known_.begin(); one != known_.end(); ++one)
            if (one->second.kept != nullptr && (least == known_.end() || one->second.used < least->second.used)) least = one;
        return least;
    }
    void forget(const std::string& key) {
        const std::scoped_lock lock(mutex_);
        known_.erase(key);
    }
    static constexpr std::int64_t max_bytes = std::int64_t{8} << 20;  // sweeps over thousands of variants should not keep them all
    std::mutex mutex_;
    std::map<std::string, Known> known_;
    std::uint64_t clock_ = 0;
};

Memory& memory() {
    static auto& instance = *new PerProcess<Memory>;  // never destroyed: threads may be compiling at exit
    return *instance;
}

Binary obtain_as_given(const Unit& unit) {
    const auto key = cache_key(unit);
    auto binary =
        disabled("cache") || dumped("ptx") ? load_or_compile(unit, key) : memory().obtain(key, [&] { return load_or_compile(unit, key); });
    dump(unit, binary);
    return binary;
}

void check_template_switch() {
    if (reads_template_folder() || switch_value(templates_switch).empty()) return;
    log_once(LogLevel::warning, fmt::format("{} does nothing in this build: it is for developers, in builds with tests", templates_switch));
}

}  // namespace

std::optional<Binary> obtain_cached(const Unit& unit, const std::string& key) try {
    check_switches();
    check_template_switch();
    if (auto known = memory().find(key)) return known;
    std::string problem;
    auto found = look_up(Cache::from_environment(), key, unit.target, problem);
    return found ? std::optional(memory().obtain(key, [&] { return std::move(*found); })) : std::nullopt;
} catch (const std::system_error& error) {
    throw_refused(error);
}

Binary obtain(const Unit& unit) try {
    check_switches();
    check_template_switch();
    auto external = external_source(unit);
    if (external.empty()) return obtain_as_given(unit);
    auto replaced = unit;
    replaced.source = std::move(external);
    return obtain_as_given(replaced);
} catch (const std::system_error& error) {
    throw_refused(error);
}

}  // namespace trifold
