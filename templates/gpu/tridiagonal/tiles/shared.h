/* Shared memory of variant tile-dataflow. The generator includes this text too: it counts the bytes that a launch asks for. The structures
 * that are counted stand where their parts are known: Work in tasks.cuh, TileShared in pipeline.cuh, SweepShared in sweep.cuh. */

/* Numbers of blocks and vectors of a member that pass between the parts of a chain over ranks. A part leaves an update of the lower
 * separator, one of the higher and their coupling, of vectors the first two. The part that joins two has places for the same of both: three
 * intervals, of which the first is its own. */
enum { for_lower, for_higher, for_both };
enum { own_interval, lower_interval, higher_interval };
enum { passed_each = 3, passed_blocks = 3 * 3, vectors_each = 2, passed_vectors = 3 * 2 };

/* The task, and its sources: two for each level, and two more. */
TRIFOLD_SIZE long long work_bytes(long long levels) { return 80 + 32 * (2 * levels + 2); }

TRIFOLD_SIZE long long tile_bytes(long long levels, long long edge, long long stages, long long stage_columns, bool has_signs,
                                  long long real) {
    const long long pivots = 24, ready = 8, gates = 2 * 8 * stages, diagonal = (has_signs ? 2 : 1) * 8 * edge, scales = 2 * 4 * edge;
    const long long square = edge * (2 * edge * real + 32); /* a diagonal tile above the identity, a column every 32 bytes more */
    const long long operands = stages * 2 * edge * stage_columns * real;
    return work_bytes(levels) + pivots + ready + gates + diagonal + scales + (square > operands ? square : operands);
}

TRIFOLD_SIZE long long sweep_bytes(long long levels, long long edge, long long columns, long long threads, long long real) {
    const long long partial = threads / (edge * real / 16); /* sums of each row, one from every group of columns */
    return work_bytes(levels) + (edge * edge + columns * (1 + partial) * edge) * real;
}
