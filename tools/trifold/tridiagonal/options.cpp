#include "tools/trifold/tridiagonal/options.hpp"

#include <trifold/error.hpp>

#include "runtime/tridiagonal/wisdom.hpp"

namespace trifold::command {

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

void BlockOptions::add_to(CLI::App& app) {
    app.add_option("--block", block_, "Block size n")->capture_default_str();
    app.add_option("--horizon", horizon_, "Number of diagonal blocks N")->capture_default_str();
    app.add_option("--schedule", schedule_, schedule_names)->capture_default_str();
    app.add_option("--operations", operations_, "What will be called: all, or some of " + to_string(all_operations()))
        ->capture_default_str();
    app.add_option("--variant", variant_, "Of the kernels, and knobs: name:knob=value,...; an unknown name lists them")
        ->capture_default_str();
    app.add_flag("--any-size", any_size_,
                 "Kernels that serve every horizon, batch and class of right-hand sides, where literals would be a little faster");
    app.add_option("--device-name", device_name_,
                   "Device whose wisdom counts, such as 'NVIDIA H200'; else this machine's for native, and any of the architecture");
    layout_.add_to(app);
}

Spec BlockOptions::spec() const {
    Spec spec{.block = block_, .horizon = horizon_, .precision = common_.precision(), .rhs = common_.rhs, .batch = common_.batch};
    layout_.apply(spec);
    spec.operations = operations();
    validate(spec);
    return spec;
}

Choice BlockOptions::choice(const Spec& spec) const {
    const auto device = common_.native();
    const auto name = device_name_.empty() && device ? wisdom_device(*device) : device_name_;
    return choose_by_wisdom(spec, common_.target(), {.schedule = schedule_, .variant = variant_, .workers = common_.workers, .any_size = any_size_}, name);
}

}  // namespace trifold::command
