#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

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

template <class Real>
class Exported : public Contender {
  public:
    Exported(const ChainProblem& problem, const Target& target, const std::string& compiler, const std::string& flags)
        : d_(problem.system.d.begin(), problem.system.d.end()),
          e_(problem.system.e.begin(), problem.system.e.end()),
          b_(problem.system.b.begin(), problem.system.b.end()),
          x_(b_.size()) {
        const PrivateDirectory directory;
        const std::filesystem::path path(directory.path());
        for (const auto& file : export_project({problem.spec, target})) formats::write_file(path / file.name, file.text);
        const auto command =
            fmt::format("cd '{}' && {} -std=gnu11 {} -I. -shared -fPIC -o solver.so btd_solver.c -lm", path.string(), compiler, flags);
        if (std::system(command.c_str()) == 0) library_ = ::dlopen((path / "solver.so").c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library_ == nullptr) throw Error(fmt::format("'{}' made no library; give another --compilers or --flags", command));
        const auto bytes = find<std::size_t()>("btd_workspace_size")();
        memory_ = {std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free};
        find<void*(void*)>("btd_init")(memory_.get());
    }
    std::vector<Step> steps() override {
        return {{"factor", [this, call = find<Status(void*, const Real*, const Real*)>(
                                      "btd_factor")] { check(call(memory_.get(), d_.data(), e_.data())); }},
                {.operation = "factor_solve",
                 .call = [this, call = find<Status(void*, const Real*, const Real*, const Real*, Real*)>(
                                    "btd_factor_solve")] { check(call(memory_.get(), d_.data(), e_.data(), b_.data(), x_.data())); },
                 .solves = true}};
    }
    std::vector<double> take_solution() override { return {x_.begin(), x_.end()}; }
    using Contender::check;

  private:
    template <class Signature>
    Signature* find(const char* name) const {
        return reinterpret_cast<Signature*>(::dlsym(library_, name));
    }
    static void check(const Status& status) {
        if (status.code != 0)
            throw Error(fmt::format("the exported solver fails: status {}, block {}, row {}", status.code, status.block, status.row));
    }
    void* library_ = nullptr;
    std::vector<Real> d_, e_, b_, x_;
    std::shared_ptr<void> memory_;
};

}  // namespace

Peer exported(const std::string& compiler, const std::string& target, const std::string& flags) {
    Peer peer{.name = "exported-" + compiler, .families = {Family::tridiagonal}};
    peer.fits = of_family<ChainProblem>([](const ChainProblem& one) {
        return one.spec.rhs == 1 && one.spec.batch == 1 && one.spec.block <= max_export_block && one.spec.precision != Precision::mixed;
    });
    peer.make = [=, to = parse_target(target)](const Problem& problem, const DeviceTools&) -> std::unique_ptr<Contender> {
        const auto& one = std::get<ChainProblem>(problem);
        if (one.spec.precision == Precision::f32) return std::make_unique<Exported<float>>(one, to, compiler, flags);
        return std::make_unique<Exported<double>>(one, to, compiler, flags);
    };
    return peer;
}

}  // namespace trifold::bench
