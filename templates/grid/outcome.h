/* The outcome of a factorization, from the record of all fronts. The launch has the limits. */

/* Whether A x is zero for a constant x: all rows sum to zero, but for rounding. */
TRIFOLD_SIZE int grid_sums_to_zero(const trifold_grid_record* all, const trifold_grid_launch* launch) {
    return launch->edge < 0 && all->row_sum <= launch->row_sum;
}
/* The problem of a factorization. Pivots that have grown a lot mean that digits were lost. So do pivots that have grown a little, if there
 * is a very small one too: between the two there were numbers larger than any pivot. */
TRIFOLD_SIZE int grid_problem_of(const trifold_grid_record* all, const trifold_grid_launch* launch, trifold_int accepts) {
    const double little = 1024, apart = 4096;
    const double grown = all->entry > 0 ? all->largest / all->entry : 0;
    if (all->problem != trifold_grid_sound || accepts) return (int)all->problem;
    if (grown > launch->growth) return trifold_grid_unstable;
    if (all->least < launch->least || grid_sums_to_zero(all, launch)) return trifold_grid_nearly;
    return grown > little && grown > launch->growth * apart * all->least ? trifold_grid_unstable : trifold_grid_sound;
}
/* Whether solutions of a member may miss the bound of the backward error: with pivots that have grown there were other numbers, larger
 * than them by up to the reciprocal of the least one. 2: they are taken as they come. */
TRIFOLD_SIZE int grid_roughness(const trifold_grid_record* all, const trifold_grid_launch* launch, trifold_int accepts) {
    const double hardly = 2;
    const int rough = launch->stencil >= 0 && all->largest > hardly && all->largest > launch->rough * all->least;
    return all->problem != trifold_grid_sound || !rough ? 0 : accepts ? 2 : 1;
}
/* Whether an image has no solution. */
TRIFOLD_SIZE int grid_has_failed(const trifold_grid_record* all, trifold_int accepts) {
    return all->problem != trifold_grid_sound && !(accepts && all->problem >= trifold_grid_nearly);
}
