#include "tools/trifold/tridiagonal/options.hpp"

#include <fmt/format.h>

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

void BlockOptions::add_to(CLI::App& app) {
    for (const auto* name : {"block", "horizon"}) add_field(app, spec_fields[name], &spec_);
    app.add_option("--schedule", schedule_, schedule_names)->capture_default_str();
    app.add_option("--operations", operations_, "What will be called: all, or some of " + to_string(all_operations()))
        ->capture_default_str();
    app.add_option("--variant", variant_, "Of the kernels, and knobs: name:knob=value,...; an unknown name lists them")
        ->capture_default_str();
    app.add_flag("--any-size", any_size_,
                 "Kernels that serve every horizon, batch and class of right-hand sides, where literals would be a little faster");
    app.add_option("--device-name", device_name_,
                   "Device whose wisdom counts, such as 'NVIDIA H200'; else this machine's for native, and any of the architecture");
    add_field(app, spec_fields["border"], &spec_);
    add_field(app, spec_fields["bandwidth"], &spec_);
    app.add_flag("--lengths", spec_.lengths, std::string(spec_fields["lengths"].about));
    app.add_flag("--sizes", spec_.sizes, std::string(spec_fields["sizes"].about));
    app.add_flag("--ring", spec_.ring, std::string(spec_fields["ring"].about));
    add_layout(app, spec_);
}

Spec BlockOptions::spec() const {
    auto spec = spec_;
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

Input read_sparse(std::vector<Contents>& files, std::optional<std::int64_t> block, Precision precision) {
    const auto [a, b, kind, shape] = read_matrix_system(files[0], files[1]);
    return {kind, assemble(a, b, block, precision), precision, shape};
}

Input read_numpy(std::vector<Contents>& files, std::optional<std::int64_t> block, std::optional<Precision> precision) {
    const auto d = read_array(files[0]), e = read_array(files[1]), b = read_array(files[2]);
    auto system = assemble(d, e, b);
    if (block && *block != system.block)
        throw InputError(
            fmt::format("--block {} was given, but the blocks of '{}' are {} by {}", *block, files[0].name, system.block, system.block));
    return {Kind::numpy, std::move(system), precision.value_or(d.precision), b.shape, d.shape.size() == 4};
}

}  // namespace

Input read_input(std::vector<Contents> files, std::optional<std::int64_t> block, std::optional<Precision> precision) {
    if (files.size() != 2 && files.size() != 3)
        throw InputError(fmt::format("{} file(s) were given; give A.mtx b.mtx, or D.npy E.npy b.npy", files.size()));
    const bool arrays = files.size() == 3;
    check_kind(std::span(files).first(arrays ? 3 : 1), arrays,
               "two files (A.mtx b.mtx, or A.mtx b.npy) or three NumPy arrays (D.npy E.npy b.npy)");
    auto input = arrays ? read_numpy(files, block, precision) : read_sparse(files, block, precision.value_or(Precision::f64));
    check_finite(input.system, input.precision);
    return input;
}

System read_matrix(const std::string& d, const std::string& e, Precision precision) {
    auto files = read_files({d, e});
    const auto blocks = read_array(files[0]), coupling = read_array(files[1]);
    auto system = assemble(blocks, coupling);
    formats::check_finite(system, precision);
    return system;
}

std::string format_solution(const Input& input, const std::vector<double>& x, Kind kind) {
    const auto& system = input.system;
    const std::vector<double> rows(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(system.batch * system.rows * system.rhs));
    if (kind == Kind::numpy) return format_npy({input.shape, input.precision, rows});
    return format_matrix_market(DenseMatrix{system.rows, system.rhs, rows});
}

}  // namespace trifold::command
