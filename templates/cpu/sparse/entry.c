/* The kernels of a unit. Each does the tasks first .. last - 1 of a launch; those of a member follow one another. */
#include "cpu/sparse/product.c"

#define KERNEL(name)                                                                                                                     \
    void name(const trifold_sparse_args* args, const trifold_sparse_launch* launch, trifold_int first, trifold_int last, void* scratch); \
    void name(const trifold_sparse_args* args, const trifold_sparse_launch* launch, trifold_int first, trifold_int last, void* scratch)
#define EACH_TASK                                                          \
    const context here = {args, launch, (char*)scratch}, *const c = &here; \
    for (integer task = first; task < last; ++task)

/* A task: as many rows as others have. */
KERNEL(TRIFOLD_KERNEL_GATHER) { EACH_TASK gather_rows(c, slice_at(c, task)); }
KERNEL(TRIFOLD_KERNEL_COMPARE) {
    EACH_TASK {
        if (launch->transposed)
            measure_columns(c, slice_at(c, task));
        else
            compare_rows(c, slice_at(c, task));
    }
}
KERNEL(TRIFOLD_KERNEL_ORDER) { EACH_TASK order_factor(c, slice_at(c, task)); }
KERNEL(TRIFOLD_KERNEL_PRODUCT) { EACH_TASK product_rows(c, slice_at(c, task)); }
KERNEL(TRIFOLD_KERNEL_RESIDUAL) { EACH_TASK residual_rows(c, slice_at(c, task)); }
KERNEL(TRIFOLD_KERNEL_BEGIN) { EACH_TASK begin_rows(c, slice_at(c, task)); }
KERNEL(TRIFOLD_KERNEL_UPDATE) { EACH_TASK update_rows(c, slice_at(c, task)); }
KERNEL(TRIFOLD_KERNEL_DELIVER) { EACH_TASK deliver_rows(c, slice_at(c, task)); }
KERNEL(TRIFOLD_KERNEL_GRADIENT) { EACH_TASK gradient_rows(c, slice_at(c, task)); }

/* A task: a subdomain. */
KERNEL(TRIFOLD_KERNEL_FACTOR) { EACH_TASK factor_rows(c, tile_at(c, task)); }
KERNEL(TRIFOLD_KERNEL_PRECONDITION) { EACH_TASK precondition_tile(c, tile_at(c, task)); }
KERNEL(TRIFOLD_KERNEL_APPLY) { EACH_TASK precondition_tile(c, tile_at(c, task)); }

/* A task: a member; or all of them. */
KERNEL(TRIFOLD_KERNEL_FINISH) { EACH_TASK add_records(c, task); }
KERNEL(TRIFOLD_KERNEL_JUDGE) {
    (void)first;
    (void)last;
    const context here = {args, launch, (char*)scratch};
    judge_systems(&here);
}
