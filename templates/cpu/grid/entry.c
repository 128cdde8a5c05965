/* The kernels of a unit. Each does the tasks first .. last - 1 of a launch; those of a member follow one another. */
#include "cpu/grid/refine.c"

#define KERNEL(name)                                                                                                                 \
    void name(const trifold_grid_args* args, const trifold_grid_launch* launch, trifold_int first, trifold_int last, void* scratch); \
    void name(const trifold_grid_args* args, const trifold_grid_launch* launch, trifold_int first, trifold_int last, void* scratch)
#define TASKS                                                              \
    const context here = {args, launch, (char*)scratch}, *const c = &here; \
    for (integer task = first; task < last; ++task)

/* A task: a box of the last level, with all boxes below it that the launch treats. */
KERNEL(TRIFOLD_KERNEL_ELIMINATE) { TASKS eliminate_boxes(c, task); }

/* The parts of a large front's elimination: its columns, its pivot block, its rows, the tiles of D. */
KERNEL(TRIFOLD_KERNEL_ASSEMBLE) {
    const trifold_grid_level* level = &launch->level[launch->levels - 1];
    TASKS {
        const integer size = level->eliminated + level->kept;
        const share s = share_at(c, task, parts_of(c, size));
        const integer left = s.part * launch->task.tile, right = smaller(left + launch->task.tile, s.f.S + s.f.R);
        if (left < right) assemble(c, &s.f, s.level, w_of(c, &s.f), update_of(c, &s.f), left, right);
    }
}

KERNEL(TRIFOLD_KERNEL_PIVOTS) {
    TASKS {
        const share s = share_at(c, task, 1);
        trifold_grid_record record = new_record();
        factor_pivots(c, &s.f, transposed_pivots_of(c, &s.f), &record);
        *record_of(c, &s.f) = record;
    }
}

KERNEL(TRIFOLD_KERNEL_PANEL) {
    TASKS {
        const share s = share_at(c, task, parts_of(c, launch->level[launch->levels - 1].kept));
        const integer top = s.part * launch->task.tile, end = smaller(top + launch->task.tile, s.f.R);
        if (top < end) solve_panel(c, &s.f, transposed_pivots_of(c, &s.f), top, end);
    }
}

KERNEL(TRIFOLD_KERNEL_PRODUCT) {
    const integer parts = (launch->level[launch->levels - 1].kept + launch->task.tile - 1) / launch->task.tile;
    TASKS {
        const share s = share_at(c, task, parts * parts);
        const integer top = s.part / parts * launch->task.tile, end = smaller(top + launch->task.tile, s.f.R);
        const integer left = s.part % parts * launch->task.tile, right = smaller(left + launch->task.tile, s.f.R);
        if (top < end && left < right)
            subtract_product(update_of(c, &s.f), s.f.R, y_of(c, &s.f), z_of(c, &s.f), s.f.S, top, end, left, right, SYMMETRIC);
    }
}

/* A task: a member, and all boxes of the launch's last level. */
KERNEL(TRIFOLD_KERNEL_FINISH) { TASKS add_level(c, task, launch->levels - 1, launch->leaves); }

/* A task: a box. */
KERNEL(TRIFOLD_KERNEL_FORWARD) {
    TASKS {
        const share s = share_at(c, task, 1);
        sweep_forward(c, &s.f, s.level);
    }
}

KERNEL(TRIFOLD_KERNEL_BACKWARD) {
    const trifold_grid_level* level = &launch->level[0];
    const int alone = launch->leaves && level->x_halvings + level->y_halvings == 0 && launch->edge < 0;
    TASKS {
        const share s = share_at(c, task, 1);
        sweep_backward(c, &s.f);
        if (alone) look_at_solution(c, task);
    }
}

KERNEL(TRIFOLD_KERNEL_RING) { TASKS finish_ring(c, task); }

KERNEL(TRIFOLD_KERNEL_REFINE) { TASKS look_at_solution(c, task); }

/* A task: a row of an image. */
KERNEL(TRIFOLD_KERNEL_KEEP) { TASKS keep_row(c, task / (launch->pixels / launch->pitch), task % (launch->pixels / launch->pitch)); }

KERNEL(TRIFOLD_KERNEL_RESIDUAL) { TASKS residual_row(c, task / (launch->pixels / launch->pitch), task % (launch->pixels / launch->pitch)); }

KERNEL(TRIFOLD_KERNEL_CORRECT) { TASKS correct_row(c, task / (launch->pixels / launch->pitch), task % (launch->pixels / launch->pitch)); }

KERNEL(TRIFOLD_KERNEL_GRADIENT) { TASKS gradient_row(c, task / (launch->pixels / launch->pitch), task % (launch->pixels / launch->pitch)); }
