/* What a factorization comes to, from the record of all fronts. The limits stand in the launch. */

/* Whether A x is zero for a constant x: its rows sum to zero, but for rounding. */
TRIFOLD_SIZE int grid_sums_to_zero(const trifold_grid_record* all, const trifold_grid_launch* launch) {
    return launch->edge < 0 && all->row_sum <= launch->row_sum;
}
/* Where pivots have grown a small one is no sign of a singular matrix. It is `growth` alone, or with a small pivot: then what lies between the two was
 * larger than any pivot. */
TRIFOLD_SIZE int grid_problem_of(const trifold_grid_record* all, const trifold_grid_launch* launch, trifold_int accepts) {
    const double some = 1024, much = 4096; /* the second: times the least pivot */
    const double grown = all->entry > 0 ? all->largest / all->entry : 0;
    if (all->problem != trifold_grid_sound || accepts) return (int)all->problem;
    if (grown > launch->growth || (grown > some && grown > launch->growth * much * all->least)) return trifold_grid_unstable;
    return all->least < launch->least || grid_sums_to_zero(all, launch) ? trifold_grid_nearly : trifold_grid_sound;
}
