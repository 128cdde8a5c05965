#include "tools/trifold/spec_options.hpp"

#include <algorithm>
#include <trifold/device.hpp>
#include <trifold/error.hpp>

#include "runtime/base/processors.hpp"
#include "runtime/tridiagonal/wisdom.hpp"

namespace trifold::command {

CLI::Validator number_of_workers() { return CLI::Range(1, max_workers); }

int all_workers() { return std::min(usable_processors(), max_workers); }

/// `holds` tells of a number whether it may be given.
static CLI::Validator number_that(bool (*holds)(double), const std::string& what, const std::string& name) {
    const auto check = [=](const std::string& text) {
        double value = 0;
        const bool good = CLI::detail::lexical_cast(text, value) && holds(value);  // of NaN nothing holds
        return good ? std::string() : "Value " + text + " is out of range; give a number " + what;
    };
    return {check, name};
}

CLI::Validator positive_number() {
    return number_that([](double value) { return value > 0; }, "above 0", "POSITIVE");
}
CLI::Validator non_negative_number() {
    return number_that([](double value) { return value >= 0; }, "from 0 on", "NONNEGATIVE");
}

void LayoutOptions::add_to(CLI::App& app) {
    const auto word = [&](const char* name, std::string& value, const std::vector<std::string>& words, const char* what) {
        app.add_option(name, value, what)->check(CLI::IsMember(words))->capture_default_str();
    };
    word("--order", order_, {"row-major", "column-major"}, "Storage of one block");
    word("--coupling", coupling_, {"lower", "upper"}, "Half that E holds: lower, A(i+1, i), or upper, A(i, i+1)");
    word("--rhs-layout", rhs_layout_, {"staged", "stacked"}, "staged: [batch][N][n][m]; stacked: (N n) by m, column-major");
    for (const auto& [letter, layout] : {std::pair{"d", &d_}, std::pair{"e", &e_}}) {
        const auto option = [&, prefix = std::string("--") + letter](const char* name, std::int64_t& value, const char* what) {
            app.add_option(prefix + name, value, what)->group("Strides in elements (-1: dense)")->capture_default_str();
        };
        option("-leading", layout->leading, "Leading dimension of a block");
        option("-stage", layout->stage, "From one stage to the next; 0: one block for all");
        option("-member", layout->member, "From one member to the next; 0: shared by all");
    }
}

void LayoutOptions::apply(Spec& spec) const {
    spec.order = order_ == "row-major" ? Order::row_major : Order::column_major;
    spec.coupling = coupling_ == "lower" ? Coupling::lower : Coupling::upper;
    spec.rhs_layout = rhs_layout_ == "staged" ? RhsLayout::staged : RhsLayout::stacked;
    spec.d = d_;
    spec.e = e_;
}

void SpecOptions::add_to(CLI::App& app) {
    const auto number = [&](const char* name, std::int64_t& value, const char* what) {
        app.add_option(name, value, what)->capture_default_str();
    };
    number("--block", spec_.block, "Block size n");
    number("--horizon", spec_.horizon, "Number of diagonal blocks N");
    const auto word = [&](const char* name, std::string& value, const std::vector<std::string>& words, const char* what) {
        app.add_option(name, value, what)->check(CLI::IsMember(words))->capture_default_str();
    };
    word("--precision", precision_, {"f32", "f64", "mixed"}, "f32, f64, or mixed: arrays in f64, factored in f32, solutions refined");
    number("--rhs", spec_.rhs, "Right-hand sides m solved at once");
    number("--batch", spec_.batch, "Systems solved at once");
    app.add_option("--schedule", tuning_.schedule, schedule_names)->capture_default_str();
    app.add_option("--operations", operations_, "What will be called: all, or some of " + to_string(all_operations()))
        ->capture_default_str();
    app.add_option("--workers", tuning_.workers, "CPU threads a call may use")->check(number_of_workers())->capture_default_str();
    app.add_option("--variant", tuning_.variant, "Of the kernels, and knobs: name:knob=value,...; an unknown name lists them")
        ->capture_default_str();
    app.add_option("--target", target_, "cpu:native, cpu:x86-64-v3, cuda:native, cuda:sm_90, hip:native, hip:gfx942, ...")
        ->capture_default_str();
    app.add_option("--device-name", device_name_,
                   "Device whose wisdom counts, such as 'NVIDIA H200'; else this machine's for native, and any of the architecture");
    layout_.add_to(app);
}

Spec SpecOptions::spec() const {
    auto spec = spec_;
    spec.precision = parse_precision(precision_);
    layout_.apply(spec);
    spec.operations = operations();
    validate(spec);
    return spec;
}

void SpecOptions::apply(GridSpec& spec) const {
    spec.precision = parse_precision(precision_);
    spec.rhs = spec_.rhs;
    spec.batch = spec_.batch;
}

std::optional<Device> SpecOptions::native() const {
    if (target_ == "cpu:native" || target_ == "native" || target_ == "cpu") return Device::cpu();
    if (target_ == "cuda:native" || target_ == "cuda") return Device::cuda();
    if (target_ == "hip:native" || target_ == "hip") return Device::hip();
    return {};
}

Target SpecOptions::target() const {
    const auto device = native();
    return device ? device->target() : parse_target(target_);
}

Choice SpecOptions::choice(const Spec& spec) const {
    const auto device = native();
    const auto name = device_name_.empty() && device ? wisdom_device(*device) : device_name_;
    return choose_by_wisdom(spec, device ? device->target() : parse_target(target_), tuning_, name);
}

}  // namespace trifold::command
