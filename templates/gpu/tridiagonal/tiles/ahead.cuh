/* Copies blocks of D and E, before a factorization, to the places where it writes L, R and G. A tile's place has one original: its own. */
#include "gpu/tridiagonal/tiles/original.cuh"

#ifdef TRIFOLD_KERNEL_LOAD
/* The task whose original the number-th tile of a block's panels is. At level 0 each coupling has a front that eliminates one of its ends;
 * blocks that remain have D alone. */
TRIFOLD_DEVICE Task task_of_tile(const trifold_args& args, trifold_int block, int number) {
    const trifold_level& level = task_level(args, 0).level;
    const Chain chain = chain_of(level, block);
    Task task{};
    if (chain.length > 0) place_front(task, level, chain, (block - chain.first) * chain.step);
    task.block = block;
    task.panel = number / (tiles * tiles);
    task.row = number / tiles % tiles, task.column = number % tiles;
    task.upward = (task.panel == 1) == (task.step > 0);
    const trifold_int neighbour = task.panel == 1 ? task.next : task.behind;
    task.exists = task.panel == 0 ? task.row >= task.column : chain.length > 0 && neighbour >= 0 && has_original(args, task);
    return task;
}

/* `columns` blocks from block `first_column` on. Their couplings are those to the blocks after them, and a chain that runs backwards has
 * the last of these in the panel of one block more. The pointers are such that those of all blocks of a system would begin there. */
TRIFOLD_DEVICE void load_ahead(const trifold_args& args) {
    assume_thread();
    constexpr int each = 3 * tiles * tiles;
    const trifold_int first = args.first_column, last = first + args.columns, horizon = horizon_of(args);
    const trifold_int blocks = (last < horizon ? last + 1 : horizon) - first;
    for (trifold_int item = group_x(); item < args.members * blocks * each; item += factor_groups(args)) {
        const trifold_int line = item / each, member = line / blocks;
        Task task = task_of_tile(args, first + line - member * blocks, static_cast<int>(item - line * each));
        task.member = static_cast<int>(member);
        const trifold_int own = task.panel == 0 || task.upward ? task.block : task.block - 1;
        if (!task.exists || own < first || own >= last) continue;
        Part part;
        load_original(part, args, task);
        store_tile<1>(panel_of(args, member, task.block, task.panel) + place_of_tile(task.row, task.column), part, place_in_tile);
        const int row = task.row * edge + thread_index();
        if (is_pivots(task) && thread_index() < edge && row < block_size) {
            const real* d = CALLERS_D_OF(args, member, task.block);
            (factor_of(args, member, task.block) + storage)[row] = d[row * (D::row + D::column)];
        }
    }
}

TRIFOLD_KERNEL(threads, 1) void TRIFOLD_KERNEL_LOAD(TRIFOLD_PARAMETER trifold_args args, TRIFOLD_PARAMETER trifold_all_levels) {
    load_ahead(args);
}
#endif
