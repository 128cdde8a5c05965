#include "generator/sparse/layout.hpp"

namespace trifold::sparse {
namespace {

/// Writes the launches of one operation after another.
class Launches {
  public:
    Launches(const SparseSpec& spec, const trifold_sparse_launch& launch) : spec_(spec), launch_(launch) {}

    std::vector<Launch> update() {
        list_.clear();
        by_slices(Kernel::gather, trifold_sparse_plain, "values in the order of the subdomains");
        if (spec_.method == SparseMethod::cg) by_slices(Kernel::compare, trifold_sparse_plain, "whether A is symmetric");
        if (has_factors(spec_)) {
            add(Kernel::finish, {1, 1}, trifold_sparse_plain, "the scale of A");
            by_tiles(Kernel::factor, trifold_sparse_plain, "factorization of the subdomains");
        }
        add(Kernel::finish, {1, 1}, trifold_sparse_plain, "records");
        return list_;
    }
    std::vector<Launch> apply(bool transposed) {
        begin(transposed);
        by_tiles(Kernel::apply, trifold_sparse_plain, "preconditioner");
        return list_;
    }
    std::vector<Launch> multiply(bool transposed) {
        begin(transposed);
        by_slices(Kernel::order, trifold_sparse_plain, "vector in the order of the subdomains");
        by_slices(Kernel::product, trifold_sparse_plain, "product");
        return list_;
    }
    std::vector<Launch> gradient() {
        begin(false);
        by_slices(Kernel::gradient, trifold_sparse_plain, "gradient");
        return list_;
    }
    std::vector<Launch> solve(bool transposed) {
        begin(transposed);
        launch_.weights = spec_.method == SparseMethod::cg ? launch_.scales : transposed ? launch_.column_scales : 0;
        if (transposed && spec_.method != SparseMethod::cg) by_slices(Kernel::compare, trifold_sparse_plain, "sizes of the columns");
        by_slices(Kernel::begin, trifold_sparse_plain, "b and its norm");
        judge(trifold_sparse_plain);
        by_slices(Kernel::update, trifold_sparse_plain, "the first guess");
        if (transposed && launch_.ring > 0 && has_factors(spec_))
            by_tiles(Kernel::factor, trifold_sparse_second, "factors of A' by levels of their own");
        repeat_ = {.first = list_.size(), .flag = "flag"};
        if (launch_.near_all > 0 && (!transposed || launch_.ring > 0 || !has_factors(spec_))) {
            by_tiles(Kernel::iterate, trifold_sparse_plain, "all iterations");
            list_.back().together = launch_.tiles > 1;
            by_slices(Kernel::deliver, trifold_sparse_plain, "solution");
            return list_;
        }
        renew();
        if (spec_.method == SparseMethod::bicgstab) turn_of_bicgstab();
        if (spec_.method == SparseMethod::cg) turn_of_cg();
        if (spec_.method == SparseMethod::gmres) turn_of_gmres();
        repeat_.count = list_.size() - repeat_.first;
        // Some turns are no iterations: the last, one after a first guess that is dropped, and one of an x that is restored. A turn of
        // conjugate gradients also ends where it sees that the true residual is wanted, and the next one is an iteration.
        constexpr std::int64_t others = 3;
        repeat_.most = (spec_.method == SparseMethod::cg ? 2 : 1) * spec_.most_iterations + others;
        by_slices(Kernel::deliver, trifold_sparse_plain, "solution");
        return list_;
    }
    const Repeat& repeat() const { return repeat_; }  ///< without launches: none is repeated

  private:
    void begin(bool transposed) {
        list_.clear();
        launch_.transposed = transposed ? 1 : 0;
        launch_.weights = 0;
    }
    void add(Kernel kernel, LaunchGrid grid, trifold_sparse_step step, std::string what) {
        Launch launch;
        launch.kernel = static_cast<std::size_t>(kernel);
        launch.grid = grid;
        launch_.step = step;
        launch.constants.assign(reinterpret_cast<const char*>(&launch_), sizeof launch_);
        if (!list_.empty()) launch.after = {list_.size() - 1};
        launch.what = std::move(what);
        list_.push_back(std::move(launch));
    }
    void by_slices(Kernel kernel, trifold_sparse_step step, std::string what) { add(kernel, {launch_.slices, 1}, step, std::move(what)); }
    void by_tiles(Kernel kernel, trifold_sparse_step step, std::string what) { add(kernel, {launch_.tiles, 1}, step, std::move(what)); }
    /// One task for all members: the last one decides about another turn.
    void judge(trifold_sparse_step step) { add(Kernel::judge, {1, spec_.batch}, step, "decision"); }

    void renew() {
        if (spec_.method == SparseMethod::gmres)
            by_tiles(Kernel::precondition, trifold_sparse_renews, "x by the vectors of a cycle");
        else
            by_slices(Kernel::update, trifold_sparse_renews, "steps that x lacks");
        by_slices(Kernel::residual, trifold_sparse_renews, "true residual");
        judge(trifold_sparse_renews);
    }
    void turn_of_bicgstab() {
        by_tiles(Kernel::precondition, trifold_sparse_first, "p and M^-1 p");
        by_slices(Kernel::product, trifold_sparse_first, "A M^-1 p");
        judge(trifold_sparse_first);
        by_tiles(Kernel::precondition, trifold_sparse_second, "s and M^-1 s");
        by_slices(Kernel::product, trifold_sparse_second, "A M^-1 s");
        judge(trifold_sparse_second);
    }
    void turn_of_cg() {
        by_tiles(Kernel::precondition, trifold_sparse_first, "r and M^-1 r");
        judge(trifold_sparse_first);
        by_slices(Kernel::update, trifold_sparse_second, "p");
        by_slices(Kernel::product, trifold_sparse_second, "A p");
        judge(trifold_sparse_second);
    }
    void turn_of_gmres() {
        by_tiles(Kernel::precondition, trifold_sparse_first, "the next vector and M^-1 of it");
        by_slices(Kernel::product, trifold_sparse_first, "A M^-1 v");
        judge(trifold_sparse_first);
        by_slices(Kernel::update, trifold_sparse_second, "what is orthogonal to the vectors so far");
        judge(trifold_sparse_second);
        by_slices(Kernel::update, trifold_sparse_third, "again, for what rounding left");
        judge(trifold_sparse_third);
    }

    const SparseSpec& spec_;
    trifold_sparse_launch launch_;
    std::vector<Launch> list_;
    Repeat repeat_;
};

}  // namespace

void add_launches(Program& program, const SparseSpec& spec, const trifold_sparse_launch& launch) {
    Launches launches(spec, launch);
    auto& operations = program.operations;
    using enum SparseOperation;
    operations["update"] = launches.update();
    for (const auto operation : spec.operations) {
        const std::string name(to_string(operation));
        const bool transposed = name.ends_with("_transposed");
        if (operation == apply || operation == apply_transposed) operations[name] = launches.apply(transposed);
        if (operation == multiply || operation == multiply_transposed) operations[name] = launches.multiply(transposed);
        if (operation == gradient) operations[name] = launches.gradient();
        if (operation != solve && operation != solve_transposed) continue;
        operations[name] = launches.solve(transposed);
        if (launches.repeat().count > 0) program.repeats[name] = {launches.repeat()};
    }
}

}  // namespace trifold::sparse
