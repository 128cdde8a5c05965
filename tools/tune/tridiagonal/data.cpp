#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <trifold/trifold.hpp>

#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"
#include "tools/tune/tridiagonal/family.hpp"

namespace trifold::tune::tridiagonal {
namespace {

/// Raises diagonals: where blocks are shared, the sums of the rows are no longer what the diagonals were made for.
void raise_diagonals(formats::System& system) {
    const auto n = system.block;
    for (std::int64_t block = 0; block < system.batch * system.horizon; ++block)
        for (std::int64_t k = 0; k < n; ++k) system.d[static_cast<std::size_t>((block * n + k) * n + k)] += static_cast<double>(4 * n);
}

bool is_shared(const Spec& spec) { return spec.d.stage == 0 || spec.d.member == 0 || spec.e.stage == 0 || spec.e.member == 0; }

struct Shape {
    std::int64_t members, stages, rows, columns;
};

/// Each element's place in [member][stage][row][column], whose members repeat, and in the caller's array.
void walk(const Shape& shape, std::int64_t members, const Strides& strides, const std::function<void(std::size_t, std::size_t)>& visit) {
    for (std::int64_t member = 0; member < members; ++member)
        for (std::int64_t stage = 0; stage < shape.stages; ++stage)
            for (std::int64_t row = 0; row < shape.rows; ++row)
                for (std::int64_t column = 0; column < shape.columns; ++column)
                    visit(static_cast<std::size_t>((((member % shape.members) * shape.stages + stage) * shape.rows + row) * shape.columns +
                                                   column),
                          static_cast<std::size_t>(member * strides.member + stage * strides.stage + row * strides.row +
                                                   column * strides.column));
}

/// Systems that differ, in the Spec's layouts.
class Systems : public PointData {
  public:
    Systems(const Spec& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets)
        : PointData(tools, spec.precision, sets), spec_(spec), tools_(tools) {
        const auto n = spec.block, horizon = spec.horizon;
        const auto made = different_members(spec.batch, (2 * horizon - 1) * n * n * element_bytes(spec.precision));
        system_ = problems::make("dominant", {n, horizon, spec.rhs, made}, seed);
        if (is_shared(spec)) raise_diagonals(system_);
        add("d", system_.d, diagonal_strides(spec), n, horizon, diagonal_extent(spec, 1));
        add("e", system_.e, coupling_strides(spec), n, horizon - 1, coupling_extent(spec, 1));
        add("b", system_.b, rhs_strides(spec, spec.rhs), spec.rhs, horizon, rhs_extent(spec, 1, spec.rhs));
        for (const auto* name : {"x", "y"}) arrays.add_zeros(name, rhs_extent(spec, spec.batch, spec.rhs), true);
        if (!spec.operations.contains(Operation::inverse)) return;
        arrays.add_zeros("inverse", spec.batch * horizon * n * n);
        arrays.add_zeros("couplings of the inverse", spec.batch * (horizon - 1) * n * n);
    }

    std::unique_ptr<Prepared> prepare(const Point& point, const Candidate& candidate, const Device& device) const override;

    std::vector<double> result(const std::string& array) const override {
        if (array == "x") return solution_of(0);
        const auto stages = array == "inverse" ? spec_.horizon : spec_.horizon - 1;
        return arrays.read(array, 0, system_.batch * stages * spec_.block * spec_.block);
    }

    double residual() const override {
        double worst = 0;
        for (const auto first : {std::int64_t{0}, spec_.batch - system_.batch})
            for (const auto residual : formats::relative_residuals(system_, solution_of(first))) worst = formats::worse(worst, residual);
        return worst;
    }

    const Spec& spec() const { return spec_; }
    DeviceTools& tools() const { return tools_; }

  private:
    /// `extent`: elements of one member. Members that lie apart are made once, and repeat; those that interleave are all written.
    void add(const std::string& name, std::vector<double>& values, const Strides& strides, std::int64_t columns, std::int64_t stages,
             std::int64_t extent) {
        const Shape shape{system_.batch, stages, spec_.block, columns};
        const bool apart = strides.member >= extent, shared = strides.member == 0;
        const auto written = apart || shared ? system_.batch : spec_.batch;
        const auto elements = shared ? extent : apart ? written * strides.member : (written - 1) * strides.member + extent;
        std::vector<double> array(static_cast<std::size_t>(elements));
        walk(shape, written, strides, [&](std::size_t from, std::size_t to) { array[to] = values[from]; });
        arrays.add(name, array, apart ? spec_.batch * strides.member : elements);
        walk(shape, written, strides, [&](std::size_t from, std::size_t to) { values[from] = array[to]; });  // rounded, and shared
    }

    /// X of as many members as there are systems that differ, that of system 0 first.
    std::vector<double> solution_of(std::int64_t first_member) const {
        const auto strides = rhs_strides(spec_, spec_.rhs);
        const auto x = arrays.read("x", first_member * strides.member, rhs_extent(spec_, system_.batch, spec_.rhs));
        std::vector<double> result(system_.b.size());
        walk({system_.batch, spec_.horizon, spec_.block, spec_.rhs}, system_.batch, strides,
             [&](std::size_t to, std::size_t at) { result[to] = x[at]; });
        const auto each = result.size() / static_cast<std::size_t>(system_.batch);
        const auto first = static_cast<std::size_t>(first_member % system_.batch) * each;
        std::ranges::rotate(result, result.end() - static_cast<std::ptrdiff_t>(first));
        return result;
    }

    const Spec spec_;
    DeviceTools& tools_;
    formats::System system_;
};

/// How a system fared. Which pivots there are, and so the least of them, depends on the order of elimination: it is left out.
std::string fared(const Outcome& outcome) {
    return fmt::format("block {}, row {}, floors {}, nearly singular {}, sound {} {} {}", outcome.block, outcome.row, outcome.floors,
                       outcome.nearly_singular, outcome.solution, outcome.inverse, outcome.quadratic);
}

class PreparedSolver : public Prepared {
  public:
    PreparedSolver(const Point& point, const Candidate& candidate, const Device& device, const Systems& systems)
        : systems_(systems), plan_(systems.spec(), device, {candidate.schedule, candidate.variant, point.workers}), solver_(plan_) {}

    const std::vector<KernelResources>& resources() const override { return plan_.report().kernels; }

    void run(const std::string& operation, std::int64_t set) override {
        if (systems_.spec().precision == Precision::f32)
            run_in<float>(operation, set);
        else
            run_in<double>(operation, set);
    }

    void check() override {
        systems_.tools().synchronize();
        solver_.check();
    }

    Outputs numbers() override {
        Outputs outputs;
        for (const auto& outcome : solver_.status()) outputs.status.push_back(fared(outcome));
        outputs.values["log determinant"] = solver_.log_determinant();
        return outputs;
    }

    std::map<std::string, std::vector<double>> numbers_of(const std::string& operation) override {
        const bool has_quadratic = operation == "forward" || operation == "factor_forward";
        if (!has_quadratic || systems_.spec().precision == Precision::mixed) return {};
        return {{"quadratic form", solver_.quadratic()}};
    }

  private:
    template <class Real>
    void run_in(const std::string& operation, std::int64_t set) {
        const auto array = [&](const char* name) { return static_cast<Real*>(systems_.arrays.pointer(name, set)); };
        const Stream stream{systems_.tools().stream()};
        if (operation == "factor") return solver_.factor<Real>(array("d"), array("e"), stream);
        if (operation == "factor_forward") return solver_.factor_forward<Real>(array("d"), array("e"), array("b"), array("y"), stream);
        if (operation == "factor_solve") return solver_.factor_solve<Real>(array("d"), array("e"), array("b"), array("x"), stream);
        if (operation == "forward") return solver_.forward<Real>(array("b"), array("y"), stream);
        if (operation == "backward") return solver_.backward<Real>(array("y"), array("x"), stream);
        if (operation == "solve") return solver_.solve<Real>(array("b"), array("x"), stream);
        if (operation == "inverse") return solver_.selected_inverse<Real>(array("inverse"), array("couplings of the inverse"), stream);
        throw SpecError("'" + operation + "' is no operation of tridiagonal systems");
    }

    const Systems& systems_;
    const Plan plan_;
    Solver solver_;
};

std::unique_ptr<Prepared> Systems::prepare(const Point& point, const Candidate& candidate, const Device& device) const {
    return std::make_unique<PreparedSolver>(point, candidate, device, *this);
}

}  // namespace

std::int64_t data_bytes(const Spec& spec) {
    const auto real = element_bytes(spec.precision);
    return (diagonal_extent(spec, spec.batch) + coupling_extent(spec, spec.batch) + 3 * rhs_extent(spec, spec.batch, spec.rhs)) * real;
}

std::unique_ptr<PointData> make_data(const Spec& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets) {
    return std::make_unique<Systems>(spec, seed, tools, sets);
}

}  // namespace trifold::tune::tridiagonal
