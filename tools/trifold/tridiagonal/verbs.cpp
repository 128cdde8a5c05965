#include <fmt/format.h>

#include <trifold/error.hpp>

#include "generator/tridiagonal/fields.hpp"
#include "tools/bench/suites.hpp"
#include "tools/formats/assemble.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/matrix_market.hpp"
#include "tools/problems/problems.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tridiagonal/options.hpp"

namespace trifold::command {
namespace {

/// About how many flops an iteration has for each entry of A: blocks that need more are taken only if they are asked for.
constexpr double max_flops = 1e4;

bool is_cheap(const formats::Shape& shape, const formats::SparseMatrix& a) {
    return shape.flops <= max_flops * static_cast<double>(a.entries.size() + 1);
}

/// Whether no entry of the diagonal is zero. Otherwise rows of different blocks may have to be interchanged, and blocks have no factors.
bool has_diagonal(const formats::SparseMatrix& a) {
    return std::ranges::count_if(a.entries, [](const auto& entry) { return entry.row == entry.column && entry.value != 0; }) == a.rows;
}

/// Why the device has no kernels for a general matrix of that shape; empty where it has.
std::string no_kernels(const formats::Shape& shape, const formats::SparseMatrix& a, const SolveOptions& options) try {
    choose({.block = shape.block,
            .horizon = (a.rows + shape.block - 1) / shape.block,
            .precision = options.asked_precision().value_or(Precision::f64),
            .matrix = MatrixKind::general,
            .ring = shape.ring},
           Device::parse(options.device).target(), Tuning{});
    return "";
} catch (const SpecError& error) {
    return error.what();
}

/// Words for a matrix whose border stands in front.
std::string advice_on(const formats::SparseMatrix& a) try {
    auto reversed = a;
    for (auto& entry : reversed.entries) entry.row = a.rows - 1 - entry.row, entry.column = a.rows - 1 - entry.column;
    const auto shape = formats::infer_shape(reversed);
    if (shape.border == 0 || !is_cheap(shape, a)) return "";
    return fmt::format("; with its first rows last, {} of them, {} would hold it", shape.border, to_string(shape));
} catch (const formats::InputError&) {
    return "";
}

Fit tridiagonal_fit(const formats::SparseMatrix& a, const SolveOptions& options) try {
    auto stated = stated_for(options, {});
    const auto asymmetry = formats::asymmetry(a, options.asked_precision().value_or(Precision::f64));
    if (asymmetry && (options.all_ranks() > 1 || options.asked_precision() == Precision::mixed)) return {.why = *asymmetry};
    if (asymmetry && !has_diagonal(a)) return {.why = *asymmetry + ", and its diagonal has zeros"};
    stated.general = asymmetry.has_value();
    auto shape = formats::infer_shape(a, stated);
    if (asymmetry)
        if (const auto why = no_kernels(shape, a, options); !why.empty()) return {.why = why};
    if (asymmetry) shape.flops *= 2;  // a front has two panels and a whole product where a symmetric one has half of each
    if (is_cheap(shape, a))
        return {.fits = true,
                .flops = shape.flops,
                .why = fmt::format("{}, and {} hold it", asymmetry ? "not symmetric" : "symmetric", to_string(shape))};
    return {.why = fmt::format("{} need {}, and --block {}{} takes them{}", to_string(shape), flops_text(shape.flops), shape.block,
                               shape.border > 0 ? fmt::format(" --border {}", shape.border) : "", advice_on(a))};
} catch (const formats::InputError&) {
    return {.why = fmt::format("no blocks of up to {} in a row hold its entries{}", max_block, advice_on(a))};
}

std::function<Generated()> tridiagonal_generate(CLI::App& app, const SpecOptions& options, const std::string&) {
    const auto own = std::make_shared<BlockOptions>(options);
    const auto together = std::make_shared<bool>(false);
    own->add_to(app);
    app.add_flag("--together", *together, "All kernels in one file, as exports have them; a Plan on CUDA has several");
    return [own, together] {
        const auto choice = own->choice(own->spec());
        return Generated{generate(choice, *together ? Packing::together : Packing::apart),
                         {{"schedule", choice.schedule.name},
                          {"variant", choice.variant},
                          {"reason", choice.reason},
                          {"rung", to_string(choice.rung)},
                          {"row", choice.row}}};
    };
}

using namespace formats;

constexpr std::int64_t missing = -1;  // of a size that was not given

std::vector<File> as_arrays(const System& system, const problems::Sizes& sizes, const ProblemOptions& options) {
    const auto n = sizes.block, horizon = sizes.horizon, a = system.border;
    auto rhs_shape = a > 0 ? std::vector{system.rows} : std::vector{horizon, n};
    if (sizes.rhs > 1) rhs_shape.push_back(sizes.rhs);
    std::vector<File> files{options.array("D.npy", {horizon, n, n}, system.d), options.array("E.npy", {system.couplings(), n, n}, system.e),
                            options.array("b.npy", rhs_shape, system.b)};
    if (system.general) files.push_back(options.array("U.npy", {system.couplings(), n, n}, system.u));
    if (a == 0) return files;
    files.push_back(options.array("F.npy", {horizon, a, n}, system.f));
    files.push_back(options.array("C.npy", {a, a}, system.c));
    return files;
}

std::vector<File> make_files(const ProblemOptions& options, problems::Sizes sizes, Spec shape, std::optional<MatrixKind> kind) {
    if (sizes.block == missing || sizes.horizon == missing) throw SpecError("a problem of blocks needs --block and --horizon");
    sizes.rhs = options.rhs;
    sizes.batch = options.batch;
    std::tie(shape.block, shape.horizon, shape.batch) = std::tie(sizes.block, sizes.horizon, sizes.batch);
    shape.matrix = kind.value_or(MatrixKind::positive_definite);
    shape.operations = {Operation::factor};
    validate(shape);
    auto system = problems::make(options.name, sizes, options.seed);
    if (shape.ring) problems::close_ring(system, options.seed);
    if (shape.border > 0) problems::add_border(system, shape.border, options.seed);
    problems::take_kind(system, shape.matrix, options.seed);
    if (options.format == "npy") return as_arrays(system, sizes, options);
    options.round({&system.d, &system.e, &system.u, &system.f, &system.c, &system.b});
    return {{"A.mtx", format_matrix_market(to_sparse(system))},
            {"b.mtx", format_matrix_market(DenseMatrix{system.rows, system.rhs, system.b})}};
}

std::function<std::vector<File>()> tridiagonal_problem(CLI::App& app, const ProblemOptions& options, const std::string&) {
    const auto sizes = std::make_shared<problems::Sizes>(problems::Sizes{missing, missing});
    app.add_option("--block", sizes->block, "Block size n");
    app.add_option("--horizon", sizes->horizon, "Number of diagonal blocks N");
    const auto shape = std::make_shared<Spec>();
    for (const auto* name : {"ring", "border"}) add_field(app, spec_fields[name], shape.get());
    const auto matrix = std::make_shared<SharedField>();
    matrix->add_to(app, spec_fields[shared_field]);
    return [=, &options] { return make_files(options, *sizes, *shape, kind_of(*matrix)); };
}

}  // namespace

FamilyVerbs tridiagonal_verbs() {
    FamilyVerbs verbs{
        .name = "tridiagonal", .problems = "blocks", .matrices = "blocks in a row, symmetric positive definite (block tridiagonal)"};
    verbs.files =
        "A.mtx b.mtx (Matrix Market), or D.npy E.npy b.npy: D (N,n,n), E (N-1,n,n), of a ring (N,n,n) or of a band (N,w,n,n), with --ring "
        "of both, b (N,n) or "
        "(N,n,m), or with a leading batch. With a border F.npy C.npy behind: F (N,a,n), C (a,a), b (N n + a) or (N n + a,m). Of a general "
        "matrix D.npy E.npy U.npy b.npy: U as E";
    verbs.examples = "socu, blockdss (positive definite for n of about 8 and more), dominant or kalman (n even)";
    for (const auto& suite : bench::suites()) verbs.suites.emplace_back(suite.name, suite.purpose);
    verbs.solve = tridiagonal_solve;
    verbs.fit = tridiagonal_fit;
    verbs.explain = tridiagonal_explain;
    verbs.generate = tridiagonal_generate;
    verbs.problem = tridiagonal_problem;
    verbs.export_project = tridiagonal_export;
    verbs.bench = tridiagonal_bench;
    return verbs;
}

}  // namespace trifold::command
