#include "tests/runtime/ranks/from_c.hpp"

#include <trifold/trifold.h>

#include <stdexcept>

namespace trifold::test {
namespace {

void expect(trifold_code code) {
    if (code != TRIFOLD_OK) throw std::runtime_error(trifold_last_error());
}

}  // namespace

RanksFromC::RanksFromC(Transport& hosts, std::int64_t block, std::int64_t horizon, const char* device, void* communicator) {
    trifold_spec spec;
    trifold_spec_init(&spec, block, horizon);
    trifold_tuning tuning;
    trifold_tuning_init(&tuning);
    tuning.schedule = "sequential";
    trifold_transport transport;
    trifold_transport_init(&transport, hosts.rank(), hosts.ranks());
    transport.user = &hosts;
    transport.send = [](void* user, int to, const void* data, std::int64_t bytes, void*) {
        return static_cast<Transport*>(user)->send(to, data, bytes), 0;
    };
    transport.receive = [](void* user, int from, void* data, std::int64_t bytes, void*) {
        return static_cast<Transport*>(user)->receive(from, data, bytes), 0;
    };
    transport.nccl_communicator = communicator;
    expect(trifold_ranks_plan_create(&spec, &transport, nullptr, device, &tuning, &plan_));
    expect(trifold_ranks_solver_create(plan_, &solver_));
}

RanksFromC::~RanksFromC() {
    trifold_ranks_solver_destroy(solver_);
    trifold_ranks_plan_destroy(plan_);
}

void RanksFromC::solve(const double* d, const double* e, const double* b, double* x, void* stream) {
    expect(trifold_ranks_factor_solve_f64(solver_, d, e, b, x, stream, nullptr));
    expect(trifold_ranks_check(solver_));
}

void RanksFromC::solve_on_host(const double* d, const double* e, const double* b, double* x) {
    expect(trifold_ranks_factor_solve_host_f64(solver_, d, e, b, x, nullptr));
    expect(trifold_ranks_check(solver_));
}

bool RanksFromC::refine(const double* d, const double* e, const double* b, double* x, void* stream) {
    trifold_refinement refinement;
    expect(trifold_ranks_refine_f64(solver_, d, e, b, x, stream, nullptr, &refinement, 1, nullptr));
    return refinement.converged == 1;
}

bool RanksFromC::refine_on_host(const double* d, const double* e, const double* b, double* x) {
    trifold_refinement refinement;
    expect(trifold_ranks_refine_host_f64(solver_, d, e, b, x, nullptr, &refinement, 1, nullptr));
    return refinement.converged == 1;
}

}  // namespace trifold::test
