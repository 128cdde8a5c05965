#include "generator/tridiagonal/border.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <trifold/error.hpp>

#include "generator/program/device.hpp"
#include "generator/program/templates.hpp"
#include "generator/tridiagonal/backend.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/emit.hpp"
#include "generator/tridiagonal/memory.hpp"
#include "generator/tridiagonal/variant.hpp"

namespace trifold {
namespace {

Constant constant(std::string name, std::int64_t value) { return {std::move(name), fmt::format("{}", value)}; }

/// Kernels: [B F] of a block side by side; parts of Y'[Y y]; their sum, S and t; x = y - Y x_tip; the outcome of chain and tip;
/// the inverse in the place of F; what it adds in those of D and E.
constexpr std::array<std::string_view, 7> border_passes{"gather", "product", "collect", "correct", "conclude", "arrow", "spread"};
constexpr int border_threads = 256;
constexpr std::int64_t gathered = 1024;  // elements of [B F] that a thread block copies

/// Tiles of Y'[Y y] that a thread block multiplies, and rows of Y that it holds at a time.
struct Tiling {
    std::int64_t tile, across, down, rows;
    explicit Tiling(const Spec& spec) {
        const auto all = spec.border + spec.rhs;
        for (tile = 8; tile < 64 && tile < all; tile *= 2) {
        }
        across = (all + tile - 1) / tile;
        down = (spec.border + tile - 1) / tile;
        rows = 1024 / tile;
    }
    std::int64_t shared_bytes(std::int64_t real) const { return std::max<std::int64_t>(2 * rows * (tile + 1), 4096) * real; }
};

std::int64_t rows_of(const Spec& spec) { return spec.horizon * spec.block; }

/// Parts of the rows, so that a device is full.
std::int64_t splits_of(const Choice& choice) {
    const auto& spec = choice.spec;
    const Tiling tiling(spec);
    if (choice.target.backend == Backend::cpu) return std::min<std::int64_t>(choice.tuning.workers, spec.horizon);
    const auto wanted = 2 * device_of(choice.target).count("facts.multiprocessors") / (tiling.across * tiling.down * spec.batch);
    const auto most = (rows_of(spec) + 2 * tiling.rows - 1) / (2 * tiling.rows);
    return std::clamp<std::int64_t>(wanted, 1, most);
}

/// One of the two chains, an ordinary Program with a part of the workspace.
struct Part {
    Design design;
    Program program;
    std::string prefix;
    std::vector<std::size_t> units = {};
};

Phase phase_of(const Part& part, std::size_t step, Operation operation) {
    return part.design.kernels[part.design.operations.at(operation)[step].kernel].phase;
}

class Writer {
  public:
    Writer(const Choice& choice, Packing packing)
        : choice_(choice),
          panels_(panels_of(choice)),
          chain_(part(chain_choice(choice), packing, "chain.")),
          tip_(part(tip_choice(choice), packing, "tip.")) {}

    Program program() {
        add_part(chain_);
        add_part(tip_);
        add_buffers();
        add_unit();
        for (const auto operation : choice_.spec.operations) result_.operations[std::string(to_string(operation))] = launches_of(operation);
        const auto scratch = on_cpu() ? std::max(chain_.program.scratch_bytes, tip_.program.scratch_bytes) : 0;
        result_.scratch_bytes = scratch;
        result_.workers = chain_.program.workers;
        result_.workspace_bytes = checked_add(end_, checked_multiply(scratch, result_.workers, "scratch"), "workspace");
        result_.id = identity(choice_);
        result_.name = fmt::format("{}_a{}", chain_.program.name, choice_.spec.border);
        return std::move(result_);
    }

  private:
    bool on_cpu() const { return choice_.target.backend == Backend::cpu; }

    static Part part(const Choice& choice, Packing packing, std::string prefix) {
        auto made = trifold::design(choice);
        auto program = write_down(made, packing);
        return {std::move(made), std::move(program), std::move(prefix)};
    }

    /// Units, sizes and buffers. Units of the same text are one.
    void add_part(Part& part) {
        for (const auto& unit : part.program.units) {
            const auto same = std::ranges::find(result_.units, unit.source, &Unit::source);
            part.units.push_back(static_cast<std::size_t>(same - result_.units.begin()));
            if (same == result_.units.end()) result_.units.push_back(unit);
        }
        result_.sizes.insert(result_.sizes.end(), part.program.sizes.begin(), part.program.sizes.end());
        const auto base = end_;
        for (auto buffer : part.program.buffers) {
            buffer.name = part.prefix + buffer.name;
            buffer.offset += base;
            result_.buffers.push_back(std::move(buffer));
        }
        const auto scratch = on_cpu() ? checked_multiply(part.program.scratch_bytes, part.program.workers, "scratch") : 0;
        end_ = round_up(checked_add(base, part.program.workspace_bytes - scratch, "workspace"), workspace_alignment);
    }

    void add(std::string name, std::int64_t count, std::int64_t bytes_each) {
        const auto bytes = checked_multiply(count, bytes_each, name);
        result_.buffers.push_back({std::move(name), end_, bytes, false, {}});
        end_ = round_up(checked_add(end_, bytes, "workspace"), workspace_alignment);
    }
    void add_buffers() {
        const auto& spec = choice_.spec;
        const auto members = spec.batch, real = std::int64_t{element_bytes(spec.precision)}, a = spec.border;
        add("status", members, sizeof(trifold_status));
        add("log_determinant", members, sizeof(double));
        add("quadratic", members * spec.rhs, sizeof(double));
        add("swept", checked_multiply(members, rows_of(spec), "rows"), swept_columns() * real);
        const std::int64_t halves = on_cpu() ? 2 : 1;  // sums, and what rounding has lost of them
        add("products", checked_multiply(halves * members, splits_of(choice_), "parts"), a * (a + spec.rhs) * real);
        add("s", members, a * a * real);
        add("t", members, a * spec.rhs * real);
        if (spec.operations.contains(Operation::inverse)) add("z", checked_multiply(members, rows_of(spec), "rows"), a * real);
        const auto range = std::ranges::find(result_.buffers, "chain.range", &Buffer::name);
        result_.buffers.push_back({"range", range->offset, range->bytes, false, {}});  // X is not finite where its tip is not
    }
    std::int64_t swept_columns() const { return choice_.spec.border + (panels_.along ? choice_.spec.rhs : 0); }
    std::int64_t place(std::string_view name) const { return std::ranges::find(result_.buffers, name, &Buffer::name)->offset; }

    void add_unit() {
        const auto& spec = choice_.spec;
        const auto& inner = chain_.design;
        const Tiling tiling(spec);
        const auto real = std::int64_t{element_bytes(spec.precision)};
        auto text = header_comment(inner) + define_sizes(inner);
        const std::vector constants{constant("BLOCK", spec.block),
                                    constant("BAND", spec.bandwidth),
                                    constant("BORDER", spec.border),
                                    constant("RHS", spec.rhs),
                                    Constant{"REAL", spec.precision == Precision::f32 ? "float" : "double"},
                                    constant("REAL_BYTES", real),
                                    constant("TENSOR", 0),
                                    constant("LANES", 64 / real / 2),
                                    constant("TILE", tiling.tile),
                                    constant("TILE_ROWS", tiling.rows),
                                    constant("SUM_LANES", sum_lanes()),
                                    constant("GATHERED", gathered)};
        text += define(inner, constants);
        Unit unit{choice_.target, {}, {}, (on_cpu() ? cpu::compile_options : gpu::compile_options)(inner), {}};
        const auto label = fmt::format("a{}_m{}_{}", spec.border, spec.rhs, chain_.design.label);
        unit.id = "btd_border_" + label;
        for (const auto pass : border_passes) {
            unit.kernels.push_back({fmt::format("btd_{}_{}", pass, label), border_threads,
                                    pass == "product" ? tiling.shared_bytes(real) : border_threads * std::int64_t{8}});
            text += define_kernel(pass, unit.kernels.back().name);
        }
        unit.source = on_cpu() ? with_constants(text, paste({"cpu/tridiagonal/border.c"}))
                               : with_constants(text, paste({"gpu/tridiagonal/border.cuh"}, platform_of(choice_.target)));
        result_.units.push_back(std::move(unit));
    }
    /// Threads that share a sum of parts.
    std::int64_t sum_lanes() const {
        std::int64_t lanes = 1;
        while (lanes < 32 && lanes * 4 < splits_of(choice_)) lanes *= 2;
        return lanes;
    }

    std::vector<Launch> launches_of(Operation operation) {
        launches_.clear();
        tail_.clear();
        asides_.clear();
        if (operation == Operation::inverse) return inverse();
        if (operation == Operation::load) {
            run(chain_, operation, static_cast<std::size_t>(Operands::caller));
            return std::move(launches_);
        }
        const bool factors =
            operation == Operation::factor || operation == Operation::factor_forward || operation == Operation::factor_solve;
        const bool sweeps = operation != Operation::factor, forward = sweeps && operation != Operation::backward;
        const bool back = operation == Operation::backward || operation == Operation::solve || operation == Operation::factor_solve;
        const bool along = panels_.along && factors && sweeps;
        trifold_border with = places();
        with.factors = factors;
        const auto elements = rows_of(choice_.spec) * swept_columns();
        if (along) kernel("gather", with, on_cpu() ? choice_.spec.horizon : (elements + gathered - 1) / gathered);
        if (factors) {
            run(chain_, Operation::factor_forward, first_panel);
            for (std::int64_t panel = 1; panel < panels_.count; ++panel)
                run(chain_, Operation::forward, first_panel + static_cast<std::size_t>(panel));
        }
        if (forward && !along) run(chain_, Operation::forward, static_cast<std::size_t>(Operands::caller));
        with.vector = along ? trifold_along : forward ? trifold_in_x : trifold_no_vector;
        const Tiling tiling(choice_.spec);
        if (factors || forward) kernel("product", with, on_cpu() ? splits_of(choice_) : splits_of(choice_) * tiling.across * tiling.down);
        const auto sums = choice_.spec.border * (choice_.spec.border + choice_.spec.rhs);
        kernel("collect", with, on_cpu() ? 1 : (sums + border_threads / sum_lanes() - 1) / (border_threads / sum_lanes()));
        if (factors)
            run(tip_, forward ? Operation::factor_forward : Operation::factor, tip_operand);
        else if (forward)
            run(tip_, Operation::forward, tip_operand);
        if (back) run(tip_, Operation::backward, tip_operand);
        with.subtracts = back;
        if (operation == Operation::backward) with.vector = trifold_in_b;
        const auto rows = on_cpu() ? choice_.spec.horizon : (rows_of(choice_.spec) + border_threads - 1) / border_threads;
        if (sweeps) kernel("correct", with, rows);
        if (factors || forward) conclude(with);
        if (back) run(chain_, Operation::backward, static_cast<std::size_t>(Operands::caller_in_x));
        return std::move(launches_);
    }

    /// With Z = L^-T Y: S^-1 is the inverse of the tip, -Z S^-1 that in the place of F', and Z S^-1 Z' is added to the chain's.
    std::vector<Launch> inverse() {
        auto with = places();
        with.z = place("z");
        with.range = place("range");
        run(chain_, Operation::inverse, static_cast<std::size_t>(Operands::caller));
        run(tip_, Operation::inverse, tip_operand);
        for (std::int64_t panel = 0; panel < panels_.count; ++panel)
            run(chain_, Operation::backward, panels_.first_back() + static_cast<std::size_t>(panel));
        kernel("arrow", with, choice_.spec.horizon);
        kernel("spread", with, solved_blocks(choice_.spec));
        return std::move(launches_);
    }

    trifold_border places() const {
        trifold_border at{};
        const auto column = choice_.spec.block * std::int64_t{element_bytes(choice_.spec.precision)};
        at.horizon = choice_.spec.horizon;
        at.couplings = solved_blocks(choice_.spec) - (choice_.spec.ring ? 0 : 1);
        at.along = place("swept");
        at.y = at.along + (panels_.along ? choice_.spec.rhs * column : 0);
        at.columns = swept_columns();
        at.products = place("products");
        at.splits = splits_of(choice_);
        at.s = place("s");
        at.t = place("t");
        at.chain_status = place("chain.status");
        at.chain_log_determinant = place("chain.log_determinant");
        at.chain_quadratic = place("chain.quadratic");
        at.chain_quadratics = chain_.design.caller.rhs;
        at.tip_status = place("tip.status");
        at.tip_log_determinant = place("tip.log_determinant");
        at.tip_quadratic = place("tip.quadratic");
        at.status = place("status");
        at.log_determinant = place("log_determinant");
        at.quadratic = place("quadratic");
        return at;
    }

    /// Adds an operation of a part. The next launches wait for it, also for what it sets beyond lengths, though not for its kernels that
    /// finish.
    void run(const Part& part, Operation operation, std::size_t operand) {
        const auto first = launches_.size();
        const auto& written = part.program.operations.at(std::string(to_string(operation)));
        auto tail = tail_;
        std::vector<std::size_t> blanks;
        for (std::size_t k = 0; k < written.size(); ++k) {
            auto launch = written[k];
            launch.unit = part.units[launch.unit];
            launch.operands = operand;
            for (auto& before : launch.after) before += first;
            if (launch.after.empty()) launch.after = tail_;
            const auto phase = phase_of(part, k, operation);
            if (phase == Phase::finish_factor || phase == Phase::finish_forward)
                asides_.push_back(first + k);
            else if (phase == Phase::blank || phase == Phase::blank_inverse)
                blanks.push_back(first + k);
            else
                tail = {first + k};
            launches_.push_back(std::move(launch));
        }
        tail_ = tail;
        tail_.insert(tail_.end(), blanks.begin(), blanks.end());
    }
    Launch border_launch(std::string_view pass, const trifold_border& with, std::int64_t groups) const {
        Launch launch;
        launch.unit = result_.units.size() - 1;
        launch.kernel = static_cast<std::size_t>(std::ranges::find(border_passes, pass) - border_passes.begin());
        launch.grid = {groups, 1};
        trifold_constants constants{};
        constants.border = with;
        launch.constants.assign(reinterpret_cast<const char*>(&constants), sizeof constants);
        launch.operands = border_itself;
        launch.what = fmt::format("{} border", pass);
        launch.after = tail_;
        return launch;
    }
    void kernel(std::string_view pass, const trifold_border& with, std::int64_t groups) {
        launches_.push_back(border_launch(pass, with, groups));
        tail_ = {launches_.size() - 1};
    }
    /// Nothing waits for the outcome, which waits for those of both parts.
    void conclude(const trifold_border& with) {
        auto launch = border_launch("conclude", with, 1);
        launch.after.insert(launch.after.end(), asides_.begin(), asides_.end());
        asides_.clear();
        launches_.push_back(std::move(launch));
    }

    const Choice& choice_;
    BorderPanels panels_;
    Part chain_, tip_;
    Program result_;
    std::int64_t end_ = 0;
    std::vector<Launch> launches_;
    std::vector<std::size_t> tail_, asides_;
};

}  // namespace

Choice chain_choice(const Choice& choice) {
    auto result = choice;
    result.spec = chain_of(choice.spec);
    return result;
}

Choice tip_choice(const Choice& choice) {
    const bool baked = is_baked(problem_of(design(chain_choice(choice))), variant_named(choice.target, choice.variant));
    auto result = choose(tip_of(choice.spec), choice.target, {.workers = choice.tuning.workers});
    auto name = parse_variant(result.variant);
    name.pinned[std::string(bake.name)] = baked ? 1 : 0;
    result.variant = to_string(name);
    return result;
}

BorderPanels panels_of(const Choice& choice) {
    const auto most = columns_at_once(chain_choice(choice)), rhs = choice.spec.rhs, border = choice.spec.border;
    const bool fits = rhs + border <= most;
    const bool along = fits && device_of(choice.target)
                                       .take("border_along", {{"variant", parse_variant(choice.variant).name},
                                                              {"border", static_cast<double>(border)}}) != 0;
    return {along, most, along ? 1 : (border + most - 1) / most};
}

Program generate_bordered(const Choice& choice, Packing packing) { return Writer(choice, packing).program(); }

trifold_args border_operand(const Spec& spec, const BorderPanels& panels, std::size_t number, const std::vector<Buffer>& buffers,
                            const trifold_args& caller, const BorderArrays& tip) {
    const auto n = spec.block, a = spec.border, real = std::int64_t{element_bytes(spec.precision)};
    const auto place = [&](std::string_view name) {
        return static_cast<char*>(caller.workspace) + std::ranges::find(buffers, name, &Buffer::name)->offset;
    };
    const bool inverts = caller.d == nullptr && caller.inverse_diagonal != nullptr;  // a factorization has sizes there
    auto args = caller;
    if (number == static_cast<std::size_t>(Operands::caller_in_x)) args.b = args.x, args.b_strides = args.x_strides;
    if (number < border_itself) return args;
    if (number == border_itself) {
        args.b_strides.stage /= spec.bandwidth;  // it takes the caller's blocks, and the chain several as one
        args.d = tip.f;
        args.e = tip.c;
        args.diagonal = tip.b;
        args.inverse_diagonal = tip.x;
        args.x_strides = tip.strides;
        if (!inverts) return args;
        args.inverse_diagonal = caller.inverse_diagonal;
        args.x = const_cast<void*>(tip.f);
        args.b = tip.c;
        return args;
    }
    if (number >= panels.first_back() && !inverts) return args;
    args.diagonal = number == tip_operand ? nullptr : caller.diagonal;
    if (number == tip_operand) {
        args.shift = nullptr;  // S has it
        args.d = place("s");
        args.e = nullptr;
        args.b = args.x = place("t");
        args.b_strides = args.x_strides = {1, a, a * spec.rhs, a * spec.rhs};
        args.workspace = place("tip.status");  // its first buffer
        args.inverse_diagonal = const_cast<void*>(tip.c);
        args.inverse_coupling = nullptr;
        return args;
    }
    const auto columns = a + (panels.along ? spec.rhs : 0),
               first = static_cast<std::int64_t>(number < panels.first_back() ? number - first_panel : number - panels.first_back()) *
                       panels.most;
    if (number >= panels.first_back()) {
        args.b = place("swept") + ((panels.along ? spec.rhs : 0) + first) * n * real;
        args.b_strides = {1, n, n * columns * spec.bandwidth, n * columns * spec.horizon};
        args.x = place("z") + first * n * real;
        args.x_strides = {1, n, a * n * spec.bandwidth, a * n * spec.horizon};
        args.columns = std::min(panels.most, a - first);
        args.first_column = spec.rhs + first;
        return args;
    }
    const bool with_b = panels.along && caller.b != nullptr;
    args.x = place("swept") + (panels.along && !with_b ? spec.rhs * n : first * n) * real;
    args.x_strides = {1, n, n * columns * spec.bandwidth, n * columns * spec.horizon};
    // A call that does not factor has no F, and none of its launches takes this operand.
    args.b = with_b ? args.x : tip.f == nullptr ? nullptr : static_cast<const char*>(tip.f) + first * n * real;
    args.b_strides = with_b ? args.x_strides : trifold_strides{1, n, a * n * spec.bandwidth, a * n * spec.horizon};
    args.columns = with_b ? columns : std::min(panels.most, a - first);
    args.first_column = with_b ? 0 : spec.rhs + first;
    return args;
}

}  // namespace trifold
