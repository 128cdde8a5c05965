/* Shared memory of the variants team and getrf. The generator includes this text too: it counts the bytes that a launch asks for. The
 * structures that are counted are in their factor.cuh and sweep.cuh, and RhsStage, a part of all, in team.cuh. */

/* Bytes from one team's shared memory to the next one's, such that the lanes of a warp have banks of their own. */
TRIFOLD_SIZE long long team_pitch(long long bytes, long long team, long long real) { return (bytes + 127) / 128 * 128 + team * real % 128; }

/* Elements of RhsStage: right-hand sides, and the updates in two slots. */
TRIFOLD_SIZE long long stage_elements(long long padded, long long riders, bool has_slots, long long vector) {
    return riders * padded + 2 * (has_slots ? riders * padded : vector);
}

TRIFOLD_SIZE long long factor_bytes(long long padded, long long riders, long long panels, bool has_slots, bool has_signs, long long depth,
                                    long long real) {
    const long long task = 64, vector = 16 / real, area = padded * padded, update = area + (has_signs ? padded : 0);
    const long long square = (padded * (padded | 1) + vector - 1) / vector * vector; /* d or e */
    const long long stage = 2 * (has_slots ? update : vector) + stage_elements(padded, riders, has_slots, vector) + 2 * square;
    return task + ((panels - 1) * area + depth * stage + riders * padded) * real;
}

TRIFOLD_SIZE long long sweep_bytes(long long padded, long long riders, long long panels, bool has_slots, long long depth, long long real) {
    const long long task = 64, vector = 16 / real;
    const long long stage = panels * padded * (padded + vector) + stage_elements(padded, riders, has_slots, vector);
    return task + (depth * stage + 2 * riders * padded) * real;
}

/* Variant getrf. */
TRIFOLD_SIZE long long lu_factor_bytes(long long padded, long long riders, long long panels, bool has_slots, long long depth,
                                       long long real) {
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
