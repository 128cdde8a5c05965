/* Outcome of a chain that a team has factored: from lanes to the slots of separators, and from there to the verdict on the member. */
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/team/team.cuh"

/* The results of a chain, as a lane has them. */
struct Verdict {
    trifold_int failure = sound; /* the first pivot that failed: level, block and row as one number */
    int pivots = 0;              /* those of this lane's row that were raised or, where signs are counted, are negative */
    double reduction = 0;        /* the largest diagonal entry of this lane's row over its pivot */
    double most[2] = {};         /* where pivots have signs, the largest sum of this lane's row, and the largest diagonal entry */
    double product = 1;          /* the product of the reciprocal roots of the pivots of this lane's row, times 2^(600 scales) */
    int scales = 0;
    double squares[riders] = {};
};

/* The largest sum of a row over the largest entry of A, which is looked for only if it matters. All teams of a warp call it. */
TRIFOLD_DEVICE double growth_of(const Verdict& verdict, const trifold_args& args, const Task& task) {
    const double sum = verdict.most[0];
    double most = verdict.most[1];
    if (!is_general && is_whole(task.chain) && has_grown(sum, most)) raise_to(most, largest_entry(args, task.member, team_lane(), team));
    for (int mask = team / 2; mask > 0; mask /= 2) raise_to(most, shuffle_xor(most, mask));
    return sum > 0 ? sum / most : 0;
}

/* Adds the results of the chains below, and writes all to the slots of the separators at the chain's ends, or as the verdict on the member.
 * A failure at an earlier level has a smaller number, so the least is kept. */
TRIFOLD_DEVICE void leave_verdict(Verdict& verdict, const trifold_args& args, const trifold_level& level, const Task& task) {
    double log_sum = (is_general ? -1 : -2) * (natural_log(verdict.product) + verdict.scales * log_scale);
    if (has_slots)
        each_slot_below(args, level, task, [&](trifold_int slot) {
            const trifold_int failure = buffer<trifold_int>(args, Offset::failure(args))[slot];
            if (failure < verdict.failure) verdict.failure = failure;
            verdict.pivots += buffer<int>(args, Offset::floors(args))[slot];
            const double reduction = record_of(args, 0)[slot];
            if (reduction > verdict.reduction) verdict.reduction = reduction;
            for (int k = 1; k < records; ++k) raise_to(verdict.most[k - 1], record_of(args, k)[slot]);
            log_sum += buffer<double>(args, Offset::block_log_determinant(args))[slot];
        });
    log_sum = sum_of_team(log_sum);
    const int pivots = static_cast<int>(sum_of_team(verdict.pivots));
#pragma unroll
    for (int mask = team / 2; mask > 0; mask /= 2) {
        const trifold_int other = shuffle_xor(verdict.failure, mask);
        if (other < verdict.failure) verdict.failure = other;
        const double reduction = shuffle_xor(verdict.reduction, mask);
        if (reduction > verdict.reduction) verdict.reduction = reduction;
        for (int k = 1; k < records; ++k) raise_to(verdict.most[k - 1], shuffle_xor(verdict.most[k - 1], mask));
    }
    const bool add = level.index > 0;
    each_slot_above(args, level, task, [&](trifold_int slot, bool sums) {
        trifold_int& failure = buffer<trifold_int>(args, Offset::failure(args))[slot];
        failure = add && failure < verdict.failure ? failure : verdict.failure;
        int& count = buffer<int>(args, Offset::floors(args))[slot];
        count = (add ? count : 0) + (sums ? pivots : 0);
        double& reduction = record_of(args, 0)[slot];
        reduction = add && reduction > verdict.reduction ? reduction : verdict.reduction;
        for (int k = 1; k < records; ++k) {
            double& most = record_of(args, k)[slot];
            most = add && most > verdict.most[k - 1] ? most : verdict.most[k - 1];
        }
        double& sum = buffer<double>(args, Offset::block_log_determinant(args))[slot];
        sum = (add ? sum : 0) + (sums ? log_sum : 0);
    });
    double growth = 0;
    if constexpr (has_inertia) growth = growth_of(verdict, args, task);
    if (!is_whole(task.chain) || team_lane() != 0) return;
    report_member(args, task.member, verdict.failure, pivots, verdict.reduction, log_sum, growth);
}
