#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "generator/export/c99/export.hpp"
#include "runtime/base/files.hpp"
#include "tools/bench/peers/peers.hpp"
#include "tools/formats/file.hpp"

namespace trifold::bench {
namespace {

/// Has the members that it has in an exported header.
struct Status {
    int code, block, row;
};

void check(const Status& status) {
    if (status.code != 0)
        throw Error(fmt::format("the exported solver fails: status {}, block {}, row {}", status.code, status.block, status.row));
}

template <class Real>
struct Exported {
    Exported(const ChainProblem& problem, const Target& target, const std::string& compiler, const std::string& flags)
        : d(problem.system.d.begin(), problem.system.d.end()),
          e(problem.system.e.begin(), problem.system.e.end()),
          b(problem.system.b.begin(), problem.system.b.end()),
          x(b.size()) {
        const PrivateDirectory directory;
        const auto& path = directory.path();
        for (const auto& file : export_project({problem.spec, target})) formats::write_file(path / file.name, file.text);
        const auto command =
            fmt::format("cd '{}' && {} -std=gnu11 {} -I. -shared -fPIC -o solver.so btd_solver.c -lm", path.string(), compiler, flags);
        if (std::system(command.c_str()) == 0) library = ::dlopen((path / "solver.so").c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) throw Error(fmt::format("'{}' made no library; give another --compilers or --flags", command));
        const auto bytes = find<std::size_t()>("btd_workspace_size")();
        memory = {std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free};
        find<void*(void*)>("btd_init")(memory.get());
    }
    template <class Signature>
    Signature* find(const char* name) const {
        return reinterpret_cast<Signature*>(::dlsym(library, name));
    }
    void* library = nullptr;
    std::vector<Real> d, e, b, x;
    std::shared_ptr<void> memory;
};

template <class Real>
Contender contender(const ChainProblem& problem, const Target& target, const std::string& compiler, const std::string& flags) {
    const auto all = std::make_shared<Exported<Real>>(problem, target, compiler, flags);
    const auto factor = all->template find<Status(void*, const Real*, const Real*)>("btd_factor");
    const auto both = all->template find<Status(void*, const Real*, const Real*, const Real*, Real*)>("btd_factor_solve");
    return {.steps = {{"factor", [=] { check(factor(all->memory.get(), all->d.data(), all->e.data())); }},
                      {.operation = "factor_solve",
                       .call = [=] { check(both(all->memory.get(), all->d.data(), all->e.data(), all->b.data(), all->x.data())); },
                       .solves = true}},
            .take_solution = [all] { return std::vector<double>(all->x.begin(), all->x.end()); }};
}

}  // namespace

Peer exported(const std::string& compiler, const std::string& target, const std::string& flags) {
    const auto fits = [](const ChainProblem& one) {
        return one.spec.rhs == 1 && one.spec.batch == 1 && one.spec.block <= max_export_block && one.spec.precision != Precision::mixed;
    };
    const auto to = parse_target(target);
    return peer_of<ChainProblem>("exported-" + compiler, fits, [&] {
        return [=](const ChainProblem& one, const DeviceTools&) {
            return one.spec.precision == Precision::f32 ? contender<float>(one, to, compiler, flags)
                                                        : contender<double>(one, to, compiler, flags);
        };
    });
}

}  // namespace trifold::bench
