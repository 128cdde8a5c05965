/* Variant "lanes": blocks and right-hand sides of arrays that lie apart, transposed on the way in and out. */
#include "cpu/tridiagonal/lanes/lanes.c"
#include "cpu/tridiagonal/lanes/pieces.c"

/* The way back, to active lanes only. */
INLINE void scatter_piece(real* const base[LANES], integer offset, const vec* in, integer stride, const int active[LANES]) {
    vec v[PIECE];
    UNROLL for (int i = 0; i < PIECE; ++i) v[i] = in[i * stride];
    STEPS(PIECE_STEP, v)
    UNROLL for (int i = 0; i < PIECE; ++i) {
        union {
            vec all;
            piece at[LANES / PIECE];
        } row = {v[i]};
        UNROLL for (int k = 0; k < LANES / PIECE; ++k) {
            if (active[i + k * PIECE]) *(piece*)(base[i + k * PIECE] + offset) = row.at[k];
        }
    }
}
INLINE void scatter_element(real* const base[LANES], integer offset, vec v, const int active[LANES]) {
    UNROLL for (int lane = 0; lane < LANES; ++lane) if (active[lane]) base[lane][offset] = v[lane];
}

/* Gathers at least the elements first .. end - 1 of `count`. The bounds may be constants or not. The last piece is moved back so that it
 * ends with them. */
INLINE void gather_run(vec* out, const real* const base[LANES], integer offset, integer first, integer end, const integer count) {
    if (count < PIECE)
        for (integer k = first; k < end; ++k) out[k] = gather_element(base, offset + k);
    else
        for (integer k = first; k < end; k += PIECE) {
            const integer from = smaller(k, count - PIECE);
            gather_piece(out + from, 1, base, offset + from);
        }
}
INLINE void scatter_run(real* const base[LANES], integer offset, const vec* in, const int active[LANES], const integer count) {
    if (count < PIECE)
        for (integer k = 0; k < count; ++k) scatter_element(base, offset + k, in[k], active);
    else
        for (integer k = 0; k < count; k += PIECE) {
            const integer from = smaller(k, count - PIECE);
            scatter_piece(base, offset + from, in + from, 1, active);
        }
}

/* A block of constant strides, kept in the order of its memory; where `lower`, at least its lower triangle. */
INLINE view gather_block(vec* out, const real* const base[LANES], integer row, integer column, const int lower) {
    const int dense = (row == n && column == 1) || (row == 1 && column == n);
    if (dense && !lower)
        gather_run(out, base, 0, 0, AREA, AREA);
    else if (column == 1)
        for (integer r = 0; r < n; ++r) gather_run(out + r * n, base, r * row, 0, lower ? r + 1 : n, n);
    else if (row == 1)
        for (integer c = 0; c < n; ++c) gather_run(out + c * n, base, c * column, lower ? c : 0, n, n);
    else
        for (integer r = 0; r < n; ++r)
            for (integer c = 0; c < n; ++c) out[r * n + c] = gather_element(base, r * row + c * column);
    return row == 1 && column != 1 ? strided(out, 1, n) : stored(out);
}

/* Right-hand sides of a block at base, n by `columns` row-major. */
INLINE int is_dense(trifold_strides s, integer columns) { return s.row == columns && (columns == 1 || s.column == 1); }

/* Rows that are contiguous but not dense are those of a part of the call's right-hand sides. */
COLD void gather_strided(vec* out, const real* const base[LANES], trifold_strides s, integer columns) {
    for (integer r = 0; r < n && s.column == 1; ++r) gather_run(out + r * columns, base, r * s.row, 0, columns, columns);
    for (integer c = 0; c < columns && s.column != 1; ++c)
        for (integer r = 0; r < n; ++r) out[r * columns + c] = gather_element(base, r * s.row + c * s.column);
}
COLD void scatter_strided(real* const base[LANES], trifold_strides s, integer columns, const vec* in, const int active[LANES]) {
    for (integer r = 0; r < n && s.column == 1; ++r) scatter_run(base, r * s.row, in + r * columns, active, columns);
    for (integer c = 0; c < columns && s.column != 1; ++c)
        for (integer r = 0; r < n; ++r) scatter_element(base, r * s.row + c * s.column, in[r * columns + c], active);
}
