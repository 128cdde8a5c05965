/* The verdict on a member, from its blocks': every thread sums its own blocks, then a tree, so the order never varies. */
#include "gpu/tridiagonal/finish_constants.cuh"
#include "gpu/tridiagonal/common.cuh"

struct FinishShared {
    double sum[finish_threads], reduction[finish_threads];
    trifold_int failure[finish_threads];
    trifold_int floors[finish_threads];
};
static_assert(sizeof(FinishShared) == 32 * finish_threads, "host and device disagree");

/* When a front's verdict is there: here always, since all launches before this one have ended. */
struct FrontsHaveEnded {
    TRIFOLD_METHOD trifold_int run(const trifold_args&, trifold_int) const { return 0; }
    TRIFOLD_METHOD void await(const trifold_args&, trifold_int, trifold_int, trifold_int) const {}
};

/* `fronts` knows the number of the factorization's run, and waits for the verdict on a block in that run. */
template <class Fronts>
TRIFOLD_DEVICE void finish_factor_member(const trifold_args& args, trifold_int member, const Fronts& fronts) {
    FinishShared& shared = *static_cast<FinishShared*>(shared_memory());
    const int t = thread_index();
    double sum = 0, reduction = 0;
    trifold_int failure = sound, floors = 0;
    const trifold_int run = fronts.run(args, member);
#pragma unroll 4
    for (trifold_int block = t; block < blocks_of(args, member); block += finish_threads) {
        fronts.await(args, member, block, run);
        const trifold_int index = block_index(args, member, block);
        const trifold_int verdict = buffer<trifold_int>(args, Offset::failure(args))[index];
        if (verdict < failure) failure = verdict;
        floors += buffer<int>(args, Offset::floors(args))[index];
        const double* sums = buffer<double>(args, Offset::block_log_determinant(args)) + index * log_parts;
        const double* reductions = buffer<double>(args, Offset::reduction(args)) + index * log_parts;
        for (int part = 0; part < log_parts; ++part) {
            sum += sums[part];
            if (reductions[part] > reduction) reduction = reductions[part];
        }
    }
    shared.sum[t] = sum, shared.reduction[t] = reduction, shared.failure[t] = failure, shared.floors[t] = floors;
    block_sync();
    for (int count = finish_threads; count > 1; count = (count + 1) / 2) {
        const int half = (count + 1) / 2;
        if (t < count / 2) {
            shared.sum[t] += shared.sum[t + half];
            shared.floors[t] += shared.floors[t + half];
            if (shared.reduction[t + half] > shared.reduction[t]) shared.reduction[t] = shared.reduction[t + half];
            if (shared.failure[t + half] < shared.failure[t]) shared.failure[t] = shared.failure[t + half];
        }
        block_sync();
    }
    if (t != 0) return;
    report_member(args, member, shared.failure[0], shared.floors[0], shared.reduction[0], shared.sum[0]);
}

/* A thread block has a column. */
TRIFOLD_DEVICE void finish_forward_member(const trifold_args& args, trifold_int member) {
    FinishShared& shared = *static_cast<FinishShared*>(shared_memory());
    const int t = thread_index();
    const double* from = buffer<double>(args, Offset::block_quadratic(args));
    const trifold_int column = max_columns == 1 ? 0 : group_x(), place = args.first_column + column;
    if (column >= args.columns || place >= quadratics_of(args)) return;
    double sum = 0;
#pragma unroll 4
    for (trifold_int block = t; block < blocks_of(args, member); block += finish_threads)
        sum += from[block_index(args, member, block) * max_columns + column];
    shared.sum[t] = sum;
    block_sync();
    for (int count = finish_threads; count > 1; count = (count + 1) / 2) {
        if (t < count / 2) shared.sum[t] += shared.sum[t + (count + 1) / 2];
        block_sync();
    }
    if (t == 0) buffer<double>(args, Offset::quadratic(args))[member * quadratics_of(args) + place] = in_range(shared.sum[0]);
    block_sync();
}
