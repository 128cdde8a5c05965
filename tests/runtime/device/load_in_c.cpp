// Blocks that are loaded one by one, through C.
#include <trifold/trifold.h>

#include <span>
#include <string>

std::string load_and_solve_in_c(std::span<const double> d, std::span<const double> e, std::span<const double> b, std::span<double> x);

std::string load_and_solve_in_c(std::span<const double> d, std::span<const double> e, std::span<const double> b, std::span<double> x) {
    constexpr std::int64_t block = 5, area = block * block, horizon = 7;
    trifold_spec spec;
    trifold_spec_init(&spec, block, horizon);
    spec.operations = TRIFOLD_USUAL | TRIFOLD_LOAD;
    trifold_tuning tuning;
    trifold_tuning_init(&tuning);
    tuning.schedule = "twisted:2";
    trifold_plan* plan = nullptr;
    trifold_solver* solver = nullptr;
    bool good = trifold_plan_create(&spec, "cuda:0", &tuning, &plan) == TRIFOLD_OK &&
                trifold_solver_create(plan, nullptr, 0, &solver) == TRIFOLD_OK;
    trifold_options options;
    trifold_options_init(&options);
    options.blocks = 1;
    for (std::int64_t k = 0; good && k < horizon; ++k) {
        options.first_block = k;
        const auto* coupling = k + 1 < horizon ? e.data() + k * area : nullptr;
        good = trifold_load_host_f64(solver, d.data() + k * area, coupling, &options) == TRIFOLD_OK;
    }
    good = good && trifold_factor_solve_host_f64(solver, nullptr, nullptr, b.data(), x.data(), nullptr) == TRIFOLD_OK;
    std::string text = good ? "" : trifold_last_error();
    options.first_block = horizon;
    if (trifold_load_host_f64(solver, d.data(), nullptr, &options) != TRIFOLD_BAD_ARGUMENT) text += "block 7 of 7 was loaded";
    trifold_solver_destroy(solver);
    trifold_plan_destroy(plan);
    return text;
}
