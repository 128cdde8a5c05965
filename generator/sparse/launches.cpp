#include "generator/sparse/layout.hpp"

namespace trifold::sparse {
namespace {

/// Writes the launches of one operation after another.
class Launches {
  public:
    Launches(const SparseSpec& spec, const trifold_sparse_launch& launch) : spec_(spec), launch_(launch) {}

    std::vector<Launch> update() {
        list_.clear();
        add(Kernel::gather, "values in the order of the subdomains");
        if (spec_.method == SparseMethod::cg) add(Kernel::compare, "whether A is symmetric");
        if (has_factors(spec_)) {
            add(Kernel::finish, "the scale of A");
            add(Kernel::factor, "factorization of the subdomains");
        }
        add(Kernel::finish, "records");
        return list_;
    }
    std::vector<Launch> apply(bool transposed) {
        begin(transposed);
        add(Kernel::apply, "preconditioner");
        return list_;
    }
    std::vector<Launch> multiply(bool transposed) {
        begin(transposed);
        add(Kernel::order, "vector in the order of the subdomains");
        add(Kernel::product, "product");
        return list_;
    }
    std::vector<Launch> gradient() {
        begin(false);
        add(Kernel::gradient, "gradient");
        return list_;
    }
    std::vector<Launch> solve(bool transposed) {
        begin(transposed);
        launch_.weights = spec_.method == SparseMethod::cg ? launch_.scales : transposed ? launch_.column_scales : 0;
        if (transposed && spec_.method != SparseMethod::cg) add(Kernel::compare, "sizes of the columns");
        add(Kernel::begin, "b and its norm");
        judge(trifold_sparse_plain);
        add(Kernel::update, "the first guess");
        if (transposed && launch_.ring > 0 && has_factors(spec_))
            add(trifold_sparse_second, Kernel::factor, "factors of A' by levels of their own");
        repeat_ = {.first = list_.size(), .flag = "flag"};
        if (launch_.near_all > 0 && (!transposed || launch_.ring > 0 || !has_factors(spec_))) {
            add(Kernel::iterate, "all iterations");
            list_.back().together = launch_.tiles > 1;
            add(Kernel::deliver, "solution");
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
        repeat_.most = (spec_.method == SparseMethod::cg ? 2 : 1) * spec_.maxiter + others;
        add(Kernel::deliver, "solution");
        return list_;
    }
    const Repeat& repeat() const { return repeat_; }  ///< without launches: none is repeated

  private:
    void begin(bool transposed) {
        list_.clear();
        launch_.transposed = transposed ? 1 : 0;
        launch_.weights = 0;
    }
    /// A decision is one task for all members, of which the last decides about another turn.
    LaunchGrid grid_of(Kernel kernel) const {
        if (kernel == Kernel::judge) return {1, spec_.batch};
        if (kernel == Kernel::finish) return {1, 1};
        return {has_subdomain(kernel) ? launch_.tiles : launch_.slices, 1};
    }
    void add(Kernel kernel, std::string what) { add(trifold_sparse_plain, kernel, std::move(what)); }
    void add(trifold_sparse_step step, Kernel kernel, std::string what) {
        Launch launch;
        launch.kernel = static_cast<std::size_t>(kernel);
        launch.grid = grid_of(kernel);
        launch_.step = step;
        launch.constants.assign(reinterpret_cast<const char*>(&launch_), sizeof launch_);
        if (!list_.empty()) launch.after = {list_.size() - 1};
        launch.what = std::move(what);
        list_.push_back(std::move(launch));
    }
    void judge(trifold_sparse_step step) { add(step, Kernel::judge, "decision"); }

    void renew() {
        if (spec_.method == SparseMethod::gmres)
            add(trifold_sparse_renews, Kernel::precondition, "x by the vectors of a cycle");
        else
            add(trifold_sparse_renews, Kernel::update, "steps that x lacks");
        add(trifold_sparse_renews, Kernel::residual, "true residual");
        judge(trifold_sparse_renews);
    }
    void turn_of_bicgstab() {
        add(trifold_sparse_first, Kernel::precondition, "p and M^-1 p");
        add(trifold_sparse_first, Kernel::product, "A M^-1 p");
        judge(trifold_sparse_first);
        add(trifold_sparse_second, Kernel::precondition, "s and M^-1 s");
        add(trifold_sparse_second, Kernel::product, "A M^-1 s");
        judge(trifold_sparse_second);
    }
    void turn_of_cg() {
        add(trifold_sparse_first, Kernel::precondition, "r and M^-1 r");
        judge(trifold_sparse_first);
        add(trifold_sparse_second, Kernel::update, "p");
        add(trifold_sparse_second, Kernel::product, "A p");
        judge(trifold_sparse_second);
    }
    void turn_of_gmres() {
        add(trifold_sparse_first, Kernel::precondition, "the next vector and M^-1 of it");
        add(trifold_sparse_first, Kernel::product, "A M^-1 v");
        judge(trifold_sparse_first);
        add(trifold_sparse_second, Kernel::update, "what is orthogonal to the vectors so far");
        judge(trifold_sparse_second);
        add(trifold_sparse_third, Kernel::update, "again, for what rounding left");
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
