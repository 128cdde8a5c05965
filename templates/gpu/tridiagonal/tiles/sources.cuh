/* The operands that earlier fronts and the tile's own columns to the left contribute to a task, one after another. */
#include "gpu/tridiagonal/tiles/tasks.cuh"
#include "gpu/tridiagonal/tiles/halves.cuh"

/* Whether the tile is on the diagonal. All its sources are then products of a tile with itself, which is fetched once. */
TRIFOLD_DEVICE bool is_pivots(const Task& task) { return task.panel == 0 && task.row == task.column; }

/* A panel as it is multiplied. */
TRIFOLD_DEVICE real* operand_of(const trifold_args& args, trifold_int member, trifold_int block, int panel) {
    if (!use_halves) return panel_of(args, member, block, panel);
    return buffer<real>(args, TaskOffset::halves(args)) + (block_index(args, member, block) * half_panels + panel) * storage;
}

/* Which pivots of a tile on the diagonal are negative: for each stage of its columns two words, of these columns and of all. */
TRIFOLD_DEVICE trifold_int* signs_of(const trifold_args& args, trifold_int member, trifold_int block, int tile) {
    return buffer<trifold_int>(args, TaskOffset::signs(args)) +
           (block_index(args, member, block) * tiles + tile) * (2 * edge / stage_columns);
}

/* The place of a stage's signs; nothing where all pivots are positive. */
template <bool Signs>
struct SignsAt {
    const trifold_int* at;
    TRIFOLD_METHOD void go_to(const trifold_int* place) { at = place; }
    TRIFOLD_METHOD void advance() { at += 2; }
};
template <>
struct SignsAt<false> {
    static constexpr const trifold_int* at = nullptr;
    TRIFOLD_METHOD void go_to(const trifold_int*) {}
    TRIFOLD_METHOD void advance() {}
};

/* Walks over the columns of all sources, tile by tile, of each stage by stage. */
struct Cursor : SignsAt<has_signs> {
    int source = 0, repeat = 0, tile = 0, ready = 0; /* the tile that comes next, and how many tiles of its rows are known to be finished */
    int left = 0, step = stage_size;                 /* stages of the tiles at a and b that are still to be fetched */
    const real *a = nullptr, *b = nullptr;

    TRIFOLD_METHOD bool find(const Work& work) {
        while (source < work.task.sources && repeat == work.sources[source].count) ++source, repeat = 0;
        return source < work.task.sources;
    }
    TRIFOLD_METHOD trifold_int block(const Source& from) const { return from.block + repeat * from.step; }
    TRIFOLD_METHOD const trifold_int* a_count(const Work& work, const trifold_args& args) const {
        const Source& from = work.sources[source];
        return progress_of(args, work.task.member, block(from), from.a_panel, work.task.row);
    }
    TRIFOLD_METHOD const trifold_int* b_count(const Work& work, const trifold_args& args) const {
        const Source& from = work.sources[source];
        return progress_of(args, work.task.member, block(from), from.b_panel, work.task.column);
    }
    /* Goes to the tiles that come next, which are finished. */
    TRIFOLD_METHOD void take(const Work& work, const trifold_args& args) {
        const Task& task = work.task;
        const Source& from = work.sources[source];
        const int rest = from.columns - tile * edge;
        a = operand_of(args, task.member, block(from), from.a_panel) + place_of_tile(task.row, tile);
        b = operand_of(args, task.member, block(from), from.b_panel) + place_of_tile(task.column, tile);
        go_to(signs_of(args, task.member, block(from), tile));
        left = (rest < edge ? rest : edge) / stage_columns;
        ++tile;
        if (rest <= edge) tile = ready = 0, ++repeat;
    }
    TRIFOLD_METHOD void advance() {
        --left, a += step, b += step;
        SignsAt<has_signs>::advance();
    }
};
