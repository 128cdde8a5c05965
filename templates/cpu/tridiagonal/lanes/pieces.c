/* Variant "lanes": elements of the members' arrays, which lie apart, become vectors. */
#include "cpu/tridiagonal/common.c"

/* The user's arrays are read in pieces of 16 bytes, which all vectors have at the same price; whole vectors would take shuffles across
 * them. */
enum { PIECE = 16 / REAL_BYTES };
typedef real piece __attribute__((vector_size(16), aligned(REAL_BYTES), may_alias));

#define TO_4 0, 1, 2, 3
#define TO_8 TO_4, 4, 5, 6, 7
#define TO_16 TO_8, 8, 9, 10, 11, 12, 13, 14, 15
#if VECTOR_LANES == 4
#define TO_LANES TO_4
#elif VECTOR_LANES == 8
#define TO_LANES TO_8
#define TO_HALF TO_4
#elif VECTOR_LANES == 16
#define TO_LANES TO_16
#define TO_HALF TO_8
#endif

/* The pieces at `offset` of the lanes i, i + PIECE, i + 2 PIECE .. side by side. */
INLINE vec join_pieces(const real* const base[LANES], int i, integer offset) {
#define AT(k) (*(const piece*)(base[i + (k) * PIECE] + offset))
#if VECTOR_LANES * REAL_BYTES == 16
    return AT(0);
#elif VECTOR_LANES * REAL_BYTES == 32
    return __builtin_shufflevector(AT(0), AT(1), TO_LANES);
#else
    return __builtin_shufflevector(__builtin_shufflevector(AT(0), AT(1), TO_HALF), __builtin_shufflevector(AT(2), AT(3), TO_HALF),
                                   TO_LANES);
#endif
#undef AT
}

/* Every PIECE by PIECE matrix of v, transposed. */
#define PIECE_STEP(v, w) TRANSPOSE_PART(v, w, PIECE)

/* PIECE consecutive elements of every lane's array: out[e * stride] takes element e of all lanes. */
INLINE void gather_piece(vec* out, integer stride, const real* const base[LANES], integer offset) {
    vec v[PIECE];
    UNROLL for (int i = 0; i < PIECE; ++i) v[i] = join_pieces(base, i, offset);
    STEPS(PIECE_STEP, v)
    UNROLL for (int i = 0; i < PIECE; ++i) out[i * stride] = v[i];
}
INLINE vec gather_element(const real* const base[LANES], integer offset) {
    vec v = {};
    UNROLL for (int lane = 0; lane < LANES; ++lane) v[lane] = base[lane][offset];
    return v;
}
