/* A last look at solutions: whether they are in the normal range, and within the bound of the backward error, for which they are refined. A
 * task has an image, which is seldom so rough. */
#include "cpu/grid/columns.c"
#include "cpu/grid/images.c"

enum { MOST_STEPS = 4 };

/* Solves for the residual of a panel, which stands in the place of its solution then. */
INLINE void solve_residual(const context* c, integer member) {
    const trifold_grid_level* all = (const trifold_grid_level*)workspace_at(c, c->launch->all_levels);
    const integer levels = c->launch->level_count;
    trifold_grid_args args = *c->args;
    trifold_grid_launch launch = *c->launch;
    const context here = {&args, &launch, c->scratch};
    args.b = args.x = workspace_at(c, launch.residual);
    args.columns = args.used_columns;
    args.first_column = args.begins = args.in_place = 0;
    for (integer turn = 0; turn < 2 * levels; ++turn) {
        const integer number = turn < levels ? turn : 2 * levels - 1 - turn, level = number > 0;
        launch.level[0] = all[number - level];
        launch.level[level] = all[number];
        launch.levels = level + 1;
        for (integer place = 0; place < 1LL << (all[number].x_halvings + all[number].y_halvings); ++place) {
            const integer i = place & ((1LL << all[number].x_halvings) - 1);
            const front f = front_at(&here, level, member, i, place >> all[number].x_halvings);
            turn < levels ? sweep_forward(&here, &f, level) : sweep_backward(&here, &f);
        }
    }
    if (launch.edge >= 0) finish_ring(&here, member);
}

/* Writes b - A x of a member's panel. Whether each row has a backward error within the bound. */
NOINLINE int residual_is_small(const context* c, integer member) {
    const trifold_grid_launch* launch = c->launch;
    const integer columns = c->args->used_columns;
    real* to = reals_at(c, launch->residual, member * launch->pixels * columns);
    int small = 1;
    for (integer column = 0; column < columns; ++column) {
        double most = 0;
        for (integer pixel = 0; pixel < launch->pixels; ++pixel) {
            const double size = size_of((double)x_at(c, member, pixel)[column]);
            if (size > most) most = size;
        }
        for (integer pixel = 0; pixel < launch->pixels; ++pixel) {
            const integer x = pixel % launch->pitch - first_x(c), y = pixel / launch->pitch - first_y(c);
            double sizes = 0;
            const double left = residual_of(c, member, x, y, column, &sizes);
            to[pixel * columns + column] = (real)left;
            small &= size_of(left) <= launch->bound * (sizes * most + size_of((double)original_b(c, member, pixel)[column]));
        }
    }
    return small;
}

INLINE void give_up(const context* c, integer member) {
    const trifold_grid_launch* launch = c->launch;
    trifold_grid_status* status = status_of(c, member);
    if (status->rough > 1 || c->args->accepts || status->left != trifold_grid_all) return;
    status->left = trifold_grid_inaccurate;
    for (integer pixel = 0; pixel < launch->pixels; ++pixel)
        for (integer column = 0; column < c->args->used_columns; ++column) x_at(c, member, pixel)[column] = NOT_A_NUMBER;
}

/* Whether all of a column of x is below the normal range, and not all of b is zero. The first element of most shows that it is not. */
INLINE int vanishes(const context* c, integer member, integer column) {
    const double min_normal = (double)power_of_two(-scale_max);
    int given = 0;
    for (integer pixel = 0; pixel < c->launch->pixels; ++pixel)
        if (size_of((double)x_at(c, member, pixel)[column]) >= min_normal) return 0;
    for (integer pixel = 0; pixel < c->launch->pixels; ++pixel) given |= original_b(c, member, pixel)[column] != 0;
    return given;
}

/* Refines the solution of a rough image until it is within the bound. */
NOINLINE void refine_rough(const context* c, integer member) {
    const trifold_grid_status* status = status_of(c, member);
    trifold_grid_args args = *c->args;
    const context here = {&args, c->launch, c->scratch};
    args.stencil = workspace_at(c, c->launch->stencil);
    for (int step = 0; status->left == trifold_grid_all && !residual_is_small(&here, member); ++step) {
        if (step == MOST_STEPS) return give_up(c, member);
        solve_residual(&here, member);
        for (integer row = 0; row < c->launch->pixels / c->launch->pitch; ++row) correct_row(&here, member, row);
    }
}

NOINLINE void look_at_solution(const context* c, integer member) {
    const trifold_grid_status* status = status_of(c, member);
    if (c->args->step || grid_has_failed(&status->record, c->args->accepts)) return;
    for (integer column = 0; column < c->args->used_columns; ++column) watch(c, member, !vanishes(c, member, column));
    if (status->rough) refine_rough(c, member);
}
