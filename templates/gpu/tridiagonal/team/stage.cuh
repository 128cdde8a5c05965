/* Copies of the caller's blocks in shared memory, in the order they are stored in, and rows from there. */
#include "gpu/tridiagonal/input.cuh"
#include "gpu/tridiagonal/team/team.cuh"

/* Blocks without gaps come in pieces of 16 bytes, if the caller's arrays are aligned so; not where lanes would then read their rows from
 * the same banks. */
template <trifold_int Pitch, trifold_int Stage, trifold_int Member>
constexpr bool has_no_gaps = block_size == padded && Pitch == padded && Stage % vector_width == 0 && Member % vector_width == 0;
constexpr bool comes_in_pieces = !is_band && has_no_gaps<d_pitch, D::stage, D::step> && has_no_gaps<e_pitch, E::stage, E::step> &&
                                 (D::row == 1 || padded / vector_width % 4 != 0);
/* A lane reads its row as vectors then; else odd, so that lanes read rows without bank conflicts. */
constexpr int stage_leading = comes_in_pieces ? padded : padded | 1;

TRIFOLD_DEVICE bool are_aligned(const void* d, const void* e) {
    return (reinterpret_cast<unsigned long long>(d) | reinterpret_cast<unsigned long long>(e)) % 16 == 0;
}
TRIFOLD_DEVICE void fetch_pieces(real* to, const real* from, bool exists) {
#pragma unroll
    for (int at = 0; at < padded * padded; at += team * vector_width) {
        const int own = at + team_lane() * vector_width;
        if (exists && own < padded * padded) copy_async(to + own, from + own);
    }
}

/* Row `at` of a block as it is stored: across the contiguous index, or along it. */
TRIFOLD_DEVICE void load_line(real (&line)[padded], const real* block, int at, bool across) {
    if (across || stage_leading % vector_width != 0) {
        const int step = across ? stage_leading : 1;
        block += across ? at : at * stage_leading;
#pragma unroll
        for (int c = 0; c < padded; ++c) line[c] = block[c * step];
        return;
    }
#pragma unroll
    for (int c = 0; c < padded; c += vector_width) {
        real v[vector_width];
        load_vector(v, block + at * stage_leading + c);
#pragma unroll
        for (int k = 0; k < vector_width; ++k) line[c + k] = v[k];
    }
}
