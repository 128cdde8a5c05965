#include "tests/family/lower.hpp"

#include <trifold/error.hpp>

#include "generator/program/templates.hpp"
#include "runtime/session/stated_family.hpp"

namespace trifold::test {
namespace {

// The table.
constexpr std::string_view of_l = "members size size", of_rhs = "members size columns";
constexpr ArrayRow factored[]{{"L", of_l}}, solved[]{{"B", of_rhs}, {"X", of_rhs, Access::write, "B"}},
    by_l[]{{"X", of_rhs}, {"dE/dB", of_rhs}, {"dE/dA", of_l, Access::update}};
constexpr OperationRow operations[]{{"factor", factored, true},
                                    {"solve", solved, false, "solve_transposed", "gradient"},
                                    {"solve_transposed", solved, false, "solve"},
                                    {"gradient", by_l}};
constexpr Field spec_table[]{
    field<&LowerSpec::size>("size", "rows of a matrix", 1, 1000), field<&LowerSpec::precision>("precision", "of all"),
    field<&LowerSpec::rhs>("rhs", "right-hand sides at once", 1, 64), field<&LowerSpec::batch>("batch", "matrices at once", 1, 1 << 20)};
constexpr Field tuning_table[]{workers_field<LowerTuning>, variant_field<LowerTuning>};
constexpr Field call_table[]{members_field<CallCounts>, columns_field<CallCounts>};
constexpr Field outcome_table[]{field<&LowerOutcome::row>("row", "with a zero pivot; -1: none"),
                                field<&LowerOutcome::ok>("ok", "whether it was solved")};
const Fields spec_fields{"a lower system", R"({"size": 8})", spec_table, &usual_of<LowerSpec>},
    tuning_fields{"its tuning", "{}", tuning_table, &usual_of<LowerTuning>},
    call_fields{"its call", "{}", call_table, &usual_of<CallCounts>},
    outcome_fields{"its outcome", "{}", outcome_table, &usual_of<LowerOutcome>};
constexpr Knob knobs[]{{"group_members", "matrices of a task", {1, 2, 8}}};

// The method: a kernel for each operation, of which a thread has a column or a row.
struct Args {
    const void *values, *x;
    void* out;
    char* workspace;
    long long members, columns, first, used;
};
constexpr const char* text_of_args =
    "typedef struct { const real *values, *x; real* out; char* workspace; long long members, columns, first, used; } args;\n"
    "typedef struct { long long members; } group;\n";
constexpr const char* works[]{
    "    long long* status = status_of(a) + m;\n"
    "    for (int k = thread; k < n * n; k += threads) factor_of(a)[m * n * n + k] = a->values[m * n * n + k];\n"
    "    if (thread == 0) *status = -1;\n"
    "    for (int r = n; thread == 0 && r-- > 0;)\n"
    "        if (a->values[(m * n + r) * n + r] == 0) *status = r;\n",
    "    for (long long c = a->first + thread; c < a->first + a->used; c += threads)\n"
    "        for (int r = 0; r < n; ++r) {\n"
    "            real sum = a->x[(m * n + r) * a->columns + c];\n"
    "            for (int k = 0; k < r; ++k) sum -= l(a, m, r, k) * a->out[(m * n + k) * a->columns + c];\n"
    "            a->out[(m * n + r) * a->columns + c] = status_of(a)[m] < 0 ? sum / l(a, m, r, r) : (real)NAN;\n"
    "        }\n",
    "    for (long long c = a->first + thread; c < a->first + a->used; c += threads)\n"
    "        for (int r = n; r-- > 0;) {\n"
    "            real sum = a->x[(m * n + r) * a->columns + c];\n"
    "            for (int k = r + 1; k < n; ++k) sum -= l(a, m, k, r) * a->out[(m * n + k) * a->columns + c];\n"
    "            a->out[(m * n + r) * a->columns + c] = status_of(a)[m] < 0 ? sum / l(a, m, r, r) : (real)NAN;\n"
    "        }\n",
    "    for (int k = thread; k < n * n; k += threads) {\n"
    "        real sum = a->first == 0 ? 0 : a->out[m * n * n + k];\n"
    "        for (long long c = a->first; k / n >= k % n && c < a->first + a->used; ++c)\n"
    "            sum -= a->values[(m * n + k / n) * a->columns + c] * a->x[(m * n + k % n) * a->columns + c];\n"
    "        a->out[m * n * n + k] = sum;\n"
    "    }\n"};

std::string text_of(const LowerSpec& spec, const Program& program, std::size_t operation, const std::string& name, const Target& target) {
    const bool gpu = target.backend != Backend::cpu;
    std::string text = gpu ? paste({"gpu/platform.cuh"}, target.backend == Backend::hip ? Platform::hip : Platform::cuda)
                           : "#define TRIFOLD_DEVICE static\n";
    text += fmt::format("#ifndef NAN\n#define NAN __builtin_nan(\"\")\n#endif\ntypedef {} real;\nenum {{ n = {} }};\n{}",
                        spec.precision == Precision::f32 ? "float" : "double", spec.size, text_of_args);
    for (const auto& [buffer, type] : {std::pair{"status", "long long"}, {"factor", "real"}})
        text += fmt::format("TRIFOLD_DEVICE {1}* {0}_of(const args* a) {{ return ({1}*)(a->workspace + {2}); }}\n", buffer, type,
                            trifold::buffer(program, buffer).offset);
    text += "TRIFOLD_DEVICE real l(const args* a, long long m, int r, int c) { return factor_of(a)[(m * n + r) * n + c]; }\n";
    text += fmt::format("TRIFOLD_DEVICE void work(const args* a, long long m, int thread, int threads) {{\n{}}}\n", works[operation]);
    constexpr const char* loop = "    for (long long m = {0} * g{1}members; m < ({0} + 1) * g{1}members && m < a{1}members; ++m) ";
    if (gpu)
        return text + fmt::format("TRIFOLD_KERNEL(32, 1) void {}(TRIFOLD_PARAMETER args a, TRIFOLD_PARAMETER group g) {{\n", name) +
               fmt::format(fmt::runtime(loop), "group_y()", ".") + "work(&a, m, thread_index(), 32);\n}\n";
    return text + fmt::format("void {}(const args* a, const group* g, long long first, long long last, void* scratch) {{\n", name) +
           "    (void)scratch;\n    for (long long t = first; t < last; ++t)\n" + fmt::format(fmt::runtime(loop), "t", "->") +
           "work(a, m, 0, 1);\n}\n";
}

// The functions, which no table says.
struct Code {
    using Spec = LowerSpec;
    using Tuning = LowerTuning;
    static const Family& family() { return lower_family; }
    static constexpr FamilyWords words{"LowerPlan", "LowerSolver", "give a smaller batch"};
    static Program generate(const Spec& spec, const Target& target, const Tuning& tuning) { return generate_lower(spec, target, tuning); }
    static Args operands(const StatedCall& call) {
        Args args{
            nullptr,           nullptr,          nullptr, static_cast<char*>(call.workspace), call.counts.members, call.counts.columns,
            call.first_column, call.used_columns};
        const bool is_gradient = call.arrays.size() == 3;
        if (call.arrays.size() == 1) args.values = call.arrays[0];
        if (is_gradient) args.values = call.arrays[1];
        if (call.arrays.size() > 1) args.x = call.arrays[0];
        args.out = call.arrays.back();
        return args;
    }
    static std::vector<LowerOutcome> outcomes(Session::Call& call, const Spec&, CallCounts last) {
        std::vector<LowerOutcome> all;
        for (const auto row : call.read<std::int64_t>("status", last.members)) all.push_back({row, row < 0});
        return all;
    }
};

}  // namespace

Program generate_lower(const LowerSpec& spec, const Target& target, const LowerTuning& tuning) {
    const auto variant = parse_variant(tuning.variant);
    if (variant.name != "plain" || spec.precision == Precision::mixed)
        throw SpecError("lower systems have the variant plain, and no mixed precision");
    check_knobs(variant, knobs);
    const auto pinned = variant.pinned.find("group_members");
    const std::int64_t members = pinned == variant.pinned.end() ? 1 : pinned->second;
    Program program;
    program.id = "70e12";
    program.workers = tuning.workers;
    for (const auto& [name, bytes] : {std::pair{"status", 8 * spec.batch}, {"factor", 8 * spec.size * spec.size * spec.batch}}) {
        program.buffers.push_back({name, program.workspace_bytes, bytes});
        program.workspace_bytes = round_up(program.workspace_bytes + bytes, workspace_alignment);
    }
    for (std::size_t k = 0; k < std::size(operations); ++k) {
        const auto name = fmt::format("lower_{}", operations[k].name);
        Launch launch;
        launch.unit = k;
        launch.grid = {1, members};
        launch.constants.assign(reinterpret_cast<const char*>(&members), sizeof members);
        launch.what = name;
        program.operations[std::string(operations[k].name)] = {launch};
        Unit unit{target, name, {{name, target.backend == Backend::cpu ? 1 : 32}}, {}, text_of(spec, program, k, name, target)};
        if (target.backend == Backend::cpu)
            unit.options = {"-std=gnu11", "-O2"};
        else
            unit.options = {target.backend == Backend::hip ? "--offload-arch=" + target.arch : "-arch=" + target.arch, "-std=c++17"};
        program.units.push_back(std::move(unit));
    }
    return program;
}

const Family lower_family{.name = "lower",
                          .members = "lower systems",
                          .plan = "LowerPlan",
                          .size = "size",
                          .spec = &spec_fields,
                          .tuning = &tuning_fields,
                          .options = &call_fields,
                          .outcome = &outcome_fields,
                          .operations = operations,
                          .read = &read_stated<Code>,
                          .make = &make_stated<Code>,
                          .generate = &generate_stated<Code>,
                          .knobs = [](const Target&) { return std::span<const Knob>(knobs); }};

}  // namespace trifold::test
