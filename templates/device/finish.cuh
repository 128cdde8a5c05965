/* The verdict on a member, from its blocks': every thread sums its own blocks, then a tree, so the order never varies. */
constexpr int finish_threads = TRIFOLD_THREADS_FINISH;

struct FinishShared {
    double sum[finish_threads];
    trifold_int failure[finish_threads];
    trifold_int floors[finish_threads];
};

/* `early`: fronts are still at work. */
TRIFOLD_DEVICE void finish_factor_member(const trifold_args& args, trifold_int member, bool early) {
    FinishShared& shared = *static_cast<FinishShared*>(shared_memory());
    const int t = thread_index();
    double sum = 0;
    trifold_int failure = sound, floors = 0;
#if TRIFOLD_OVERLAPS
    const trifold_int run = early ? last_run(args, member, Kind::factor) : 0;
#endif
#pragma unroll 4
    for (trifold_int block = t; block < TRIFOLD_HORIZON; block += finish_threads) {
#if TRIFOLD_OVERLAPS
        if (early) await_everything(args, member, block, run);
#endif
        const trifold_int index = block_index(member, block);
        const trifold_int verdict = buffer<trifold_int>(args, TRIFOLD_OFFSET_FAILURE)[index];
        if (verdict < failure) failure = verdict;
        floors += buffer<int>(args, TRIFOLD_OFFSET_FLOORS)[index];
        const double* sums = buffer<double>(args, TRIFOLD_OFFSET_BLOCK_LOG_DETERMINANT) + index * TRIFOLD_LOG_PARTS;
        for (int part = 0; part < TRIFOLD_LOG_PARTS; ++part) sum += sums[part];
    }
    shared.sum[t] = sum, shared.failure[t] = failure, shared.floors[t] = floors;
    block_sync();
    for (int count = finish_threads; count > 1; count = (count + 1) / 2) {
        const int half = (count + 1) / 2;
        if (t < count / 2) {
            shared.sum[t] += shared.sum[t + half];
            shared.floors[t] += shared.floors[t + half];
            if (shared.failure[t + half] < shared.failure[t]) shared.failure[t] = shared.failure[t + half];
        }
        block_sync();
    }
    if (t != 0) return;
    const bool failed = shared.failure[0] != sound;
    trifold_status status{-1, 0, shared.floors[0]};
    if (failed) {
        status.block = shared.failure[0] / block_size % TRIFOLD_HORIZON;
        status.row = shared.failure[0] % block_size;
    }
    buffer<trifold_status>(args, TRIFOLD_OFFSET_STATUS)[member] = status;
    buffer<double>(args, TRIFOLD_OFFSET_LOG_DETERMINANT)[member] = failed ? not_a_number() : shared.sum[0];
}

TRIFOLD_DEVICE void finish_forward_member(const trifold_args& args, trifold_int member) {
    FinishShared& shared = *static_cast<FinishShared*>(shared_memory());
    const int t = thread_index();
    const double* from = buffer<double>(args, TRIFOLD_OFFSET_BLOCK_QUADRATIC);
    for (int column = 0; column < args.columns; ++column) {
        double sum = 0;
#pragma unroll 4
        for (trifold_int block = t; block < TRIFOLD_HORIZON; block += finish_threads) sum += from[block_index(member, block) * TRIFOLD_RHS + column];
        shared.sum[t] = sum;
        block_sync();
        for (int count = finish_threads; count > 1; count = (count + 1) / 2) {
            if (t < count / 2) shared.sum[t] += shared.sum[t + (count + 1) / 2];
            block_sync();
        }
        if (t == 0) buffer<double>(args, TRIFOLD_OFFSET_QUADRATIC)[member * TRIFOLD_RHS + column] = in_range(shared.sum[0]);
        block_sync();
    }
}
