#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <trifold/grid_spec.hpp>
#include <utility>

#include "tools/trifold/family.hpp"
#include "tools/trifold/spec_options.hpp"

namespace trifold::command {

/// Options of a command line that describe A, without the size of an image.
struct GridMatrixOptions {
    std::string variant = GridTuning().variant;
    void add_to(CLI::App& app);
    /// For verbs that show or write kernels.
    void add_variant(CLI::App& app);
    /// What a GridPlan would take: for `native` by wisdom of this machine's device, else of any of the architecture. Throws SpecError,
    /// DeviceError.
    GridChoice choice(const GridSpec& spec, const SpecOptions& common) const;
    /// Throws SpecError where `size` is no size.
    GridSpec spec(const std::string& size) const;
    /// With precision, right-hand sides and batch.
    GridSpec spec(const std::string& size, const SpecOptions& common) const;

  private:
    GridSpec spec_;
    SharedField matrix_;
};

/// "129x65". Throws SpecError.
std::pair<std::int64_t, std::int64_t> parse_image_size(const std::string& text);

/// Images, as `trifold` has them. A part's `size` is WIDTHxHEIGHT.
FamilyVerbs grid_verbs();

std::function<Report()> grid_solve(CLI::App& app, const SolveOptions& options, const std::string& size);
std::function<Report()> grid_explain(CLI::App& app, const SpecOptions& options, const std::string& size);
std::function<int()> grid_bench(CLI::App& app, const BenchOptions& options, const std::string& size);

}  // namespace trifold::command
