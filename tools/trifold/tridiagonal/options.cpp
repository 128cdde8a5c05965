#include "tools/trifold/tridiagonal/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/tridiagonal/fields.hpp"
#include "generator/tridiagonal/wisdom.hpp"
#include "runtime/wisdom/wisdom.hpp"
#include "tools/formats/file.hpp"

namespace trifold::command {

void add_layout(CLI::App& app, Spec& spec) {
    add_choices(app, spec_fields, &spec);
    for (const auto& [letter, layout] : {std::pair{"d", &spec.d}, std::pair{"e", &spec.e}})
        for (const auto& field : layout_fields.all)
            add_field(app, field, layout, fmt::format("--{}-{}", letter, field.name))->group("Strides in elements (-1: dense)");
}

constexpr const char *sizes[]{"block", "horizon"}, *shapes[]{"border", "bandwidth", "lengths", "sizes", "ring"};

void BlockOptions::add_to(CLI::App& app) {
    for (const auto* name : sizes) add_field(app, spec_fields[name], &spec_);
    app.add_option("--schedule", schedule_, schedule_names)->capture_default_str();
    app.add_option("--operations", operations_, "What will be called: all, or some of " + to_string(all_operations()))
        ->capture_default_str();
    app.add_option("--variant", variant_, "Of the kernels, and knobs: name:knob=value,...; an unknown name lists them")
        ->capture_default_str();
    app.add_flag("--any-size", any_size_,
                 "Kernels that serve every horizon, batch and class of right-hand sides, where literals would be a little faster");
    app.add_option("--device-name", device_name_,
                   "Device whose wisdom counts, such as 'NVIDIA H200'; else this machine's for native, and any of the architecture");
    for (const auto* name : shapes) add_field(app, spec_fields[name], &spec_);
    add_layout(app, spec_);
    matrix_.add_to(app, spec_fields[shared_field]);
}

std::optional<MatrixKind> kind_of(const SharedField& matrix) {
    Spec spec;
    if (!matrix.is_given()) return std::nullopt;
    matrix.set(spec_fields[shared_field], &spec);
    return spec.matrix;
}

bool BlockOptions::has_sizes() const {
    const auto is_given = [this](const char* name) { return spec_fields[name].get(&spec_) != spec_fields[name].get(spec_fields.usual); };
    return std::ranges::any_of(sizes, is_given) || std::ranges::any_of(shapes, is_given);
}

Spec BlockOptions::spec() const {
    auto spec = spec_;
    matrix_.set(spec_fields[shared_field], &spec);
    spec.precision = common_.precision();
    spec.rhs = common_.rhs;
    spec.batch = common_.batch;
    spec.operations = operations();
    validate(spec);
    return spec;
}

Choice BlockOptions::choice(const Spec& spec) const {
    const auto device = common_.native();
    const auto name = device_name_.empty() && device ? wisdom_device(*device) : device_name_;
    return choose_by_wisdom(spec, common_.target(),
                            Tuning{.schedule = schedule_, .variant = variant_, .workers = common_.workers, .any_size = any_size_}, name);
}

using namespace formats;

namespace {

formats::Array read_array(Contents& file) {
    auto array = parse_npy(file.bytes, file.name);
    std::string().swap(file.bytes);  // the arrays may be large
    return array;
}

void check_stated(const System& system, const Stated& stated) {
    const auto check = [](std::string_view option, const std::optional<std::int64_t>& given, std::int64_t found) {
        if (given && *given != found) throw InputError(fmt::format("{} {} was given, but that of the arrays is {}", option, *given, found));
    };
    check("--block", stated.block, system.block / system.bandwidth);
    check("--bandwidth", stated.bandwidth, system.bandwidth);
    check("--border", stated.border, system.border);
    if (stated.ring && !system.ring)
        throw InputError("--ring was given, but A is none: its last block is not coupled to the first, or there are fewer than three");
}

Input read_sparse(std::vector<Contents>& files, Stated stated, Precision precision, std::optional<MatrixKind> matrix) {
    const auto [a, b, kind, shape] = read_matrix_system(files[0], files[1]);
    const auto why = matrix ? std::nullopt : asymmetry(a, precision);
    stated.general = why || matrix == MatrixKind::general;
    Input input{kind, assemble(a, b, stated, precision), precision, shape};
    if (why)
        input.system.notes.push_back(
            fmt::format("{}, so A is taken as general, and factored as L U; --matrix positive-definite or symmetric refuses it", *why));
    check_stated(input.system, {.ring = stated.ring});
    return input;
}

Input read_numpy(std::vector<Contents>& files, const Stated& stated, std::optional<Precision> precision, std::optional<MatrixKind> matrix) {
    const bool is_general = files.size() == 4;
    if (matrix && is_general != (matrix == MatrixKind::general))
        throw InputError(is_general ? "four arrays are D, E, U and b of a general matrix; leave U or --matrix out"
                                    : "the arrays of a general matrix are D.npy E.npy U.npy b.npy; give U, the blocks A(i, i+1)");
    std::vector<formats::Array> arrays;
    for (auto& file : files) arrays.push_back(read_array(file));
    const bool has_border = arrays.size() == 5;
    const auto& d = arrays[0];
    const auto& b = arrays[is_general ? 3 : 2];
    Input input{Kind::numpy, {}, precision.value_or(d.precision), b.shape, d.shape.size() == 4};
    input.system = assemble({d, arrays[1], &b, has_border ? &arrays[3] : nullptr, has_border ? &arrays[4] : nullptr, stated.ring,
                             is_general ? &arrays[2] : nullptr},
                            input.precision);
    check_stated(input.system, stated);
    return input;
}

}  // namespace

Input read_input(std::vector<Contents> files, const Stated& stated, std::optional<Precision> precision, std::optional<MatrixKind> kind) {
    if (files.size() < 2 || files.size() > 5)
        throw InputError(
            fmt::format("{} file(s) were given; give A.mtx b.mtx, or D.npy E.npy b.npy, with a border D.npy E.npy b.npy F.npy "
                        "C.npy, or of a general matrix D.npy E.npy U.npy b.npy",
                        files.size()));
    const bool arrays = files.size() > 2;
    check_kind(std::span(files).first(arrays ? files.size() : 1), arrays,
               "two files (A.mtx b.mtx, or A.mtx b.npy) or three NumPy arrays (D.npy E.npy b.npy), five with a border's F.npy C.npy, or "
               "four of a general matrix (D.npy E.npy U.npy b.npy)");
    return arrays ? read_numpy(files, stated, precision, kind) : read_sparse(files, stated, precision.value_or(Precision::f64), kind);
}

Stated stated_for(const SolveOptions& options, Stated stated) {
    const bool inferred = options.files.size() == 2 && !stated.border;
    if (inferred && (options.all_ranks() > 1 || options.asked_precision() == Precision::mixed)) stated.border = 0;
    return stated;
}

System read_matrix(const std::string& d, const std::string& e, Precision precision) {
    auto files = read_files({d, e});
    const auto blocks = read_array(files[0]), coupling = read_array(files[1]);
    return assemble({blocks, coupling}, precision);
}

std::string format_solution(const Input& input, const std::vector<double>& x, Kind kind) {
    const auto& system = input.system;
    const auto rows = without_padding(system, x);
    if (kind == Kind::numpy) return format_npy({input.shape, input.precision, rows});
    return format_matrix_market(DenseMatrix{system.rows, system.rhs, rows});
}

}  // namespace trifold::command
