/* Shared memory of variant getrf. The generator includes this text too: it counts the bytes that a launch asks for. The structures that are
 * counted are in factor.cuh and sweep.cuh. */

TRIFOLD_SIZE long long lu_factor_bytes(long long padded, long long riders, long long panels, bool has_slots, long long depth, long long real) {
    const long long task = 64, vector = 16 / real, area = padded * padded, update = area + padded;
    const long long stage = 2 * (has_slots ? update : vector) + stage_elements(padded, riders, has_slots, vector) + 3 * area;
    return task + (panels * area + depth * stage + riders * padded + padded) * real;
}

/* Elements from one column to the next of a block of the factors, such that rows and columns meet few bank conflicts. */
TRIFOLD_SIZE long long lu_leading(long long padded, long long vector) { return vector * ((padded / vector + 1) | 1); }

TRIFOLD_SIZE long long lu_sweep_bytes(long long padded, long long riders, long long panels, bool has_slots, long long depth,
                                      long long real) {
    const long long task = 64, vector = 16 / real;
    const long long stage = panels * padded * lu_leading(padded, vector) + stage_elements(padded, riders, has_slots, vector) + padded;
    return task + (depth * stage + 2 * riders * padded) * real;
}
