#include "tools/trifold/tridiagonal/options.hpp"

#include <fmt/format.h>

#include <trifold/error.hpp>

#include "generator/tridiagonal/fields.hpp"
#include "generator/tridiagonal/wisdom.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold::command {

void add_layout(CLI::App& app, Spec& spec) {
    for (const auto* name : {"order", "coupling", "rhs_layout"}) add_field(app, spec_fields[name], &spec);
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

}  // namespace trifold::command
