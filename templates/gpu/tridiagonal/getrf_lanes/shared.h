/* Bytes of shared memory of variant getrf-lanes, by which host and device agree. A number that lanes copy for one another has a place of
 * its own, so that they meet no bank conflicts: a row of places is one longer than there are lanes. */
TRIFOLD_SIZE long long lanes_factor_bytes(long long lanes, long long block, long long stage_blocks, long long depth, long long real) {
    return depth * stage_blocks * (3 * block * block + block) * (lanes + 1) * real;
}
TRIFOLD_SIZE long long lanes_sweep_bytes(long long lanes, long long block, long long stage_blocks, long long depth, long long real) {
    return depth * stage_blocks * ((2 * block * block + 1) * lanes + block * (lanes + 1)) * real;
}
