/* Variant getrf: general matrices, by teams of lanes as in variant team. P D = L U within a block, R = E U^-1 below it and Z = L^-1 P U_i
 * to the right; G and H are those of the separator behind. The next block gets - R Z. */
#include "gpu/tridiagonal/team/team.cuh"

/* Factors in the workspace. A block has L and U, with reciprocals of the pivots on the diagonal, and the rows of A in the order of the
 * pivots; its panels are R and Z, and G and H. A coupling of the levels above the first has A(higher, lower), then A(lower, higher). */
TRIFOLD_DEVICE real* lu_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::factor(args)) + block_index(args, member, block) * factor_storage;
}
TRIFOLD_DEVICE int* order_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return reinterpret_cast<int*>(lu_of(args, member, block) + storage);
}
TRIFOLD_DEVICE real* below_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::next(args)) + block_index(args, member, block) * panel_storage;
}
TRIFOLD_DEVICE real* behind_panels_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<real>(args, Offset::behind(args)) + block_index(args, member, block) * panel_storage;
}
