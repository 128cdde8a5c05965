/* The selected inverse S of a front in the lanes, for variants "lanes" and "intervals". With P = [R; G] L^-1 over the border (next,
 * behind): S_border,i = -S_border,border P   and   S_ii = L^-T L^-1 - P' S_border,i, L^-T S L^-1 where pivots have signs. */
#include "cpu/tridiagonal/lanes/lanes.c"

typedef struct {
    vec upper[AREA];                  /* L^-T */
    vec p_next[AREA], p_behind[AREA]; /* P */
    vec next_next[AREA], behind_behind[AREA];
    vec across[2][AREA]; /* S(behind, next), then S(behind, i) */
    vec next_i[AREA], i_i[2][AREA], turned[AREA];
    vec unit[2 * n];
} inverse_scratch;
_Static_assert(sizeof(inverse_scratch) <= SCRATCH_BYTES, "scratch");

INLINE void begin_inverse(inverse_scratch* s) {
    for (integer k = 0; k < 2 * n; ++k) s->unit[k] = k == n ? spread(1) : (vec){};
}

/* S of front i: (i, i), which it returns, (next, i) in next_i, and (behind, i) in across[(k + 1) % 2], of (next, next), (behind, behind),
 * and (behind, next) in across[k % 2]. k counts the fronts. */
INLINE vec* inverse_front(inverse_scratch* s, integer k, const vec* l, const vec* r, const vec* g, int has_next, int has_behind,
                          const vec* next_next) {
    const view upper = panel_of(s->upper, l), identity = strided(s->unit + n, -1, 1);
    const vec* across = s->across[k % 2];
    vec *i_i = s->i_i[k % 2], *across_i = s->across[(k + 1) % 2];
    solve_panel(s->upper, identity, 0, 0, l);
    multiply(i_i, 0, 1, upper, transposed(upper), 1);
    if (has_next) multiply(s->p_next, 0, 1, panel_of(r, l), transposed(upper), 0);
    if (has_behind) multiply(s->p_behind, 0, 1, panel_of(g, l), transposed(upper), 0);
    if (has_next) {
        multiply(s->next_i, 0, -1, stored(next_next), stored(s->p_next), 0);
        if (has_behind) multiply(s->next_i, 1, -1, transposed(stored(across)), stored(s->p_behind), 0);
        multiply(i_i, 1, -1, transposed(stored(s->p_next)), stored(s->next_i), 1);
    }
    if (has_behind) {
        multiply(across_i, 0, -1, stored(s->behind_behind), stored(s->p_behind), 0);
        if (has_next) multiply(across_i, 1, -1, stored(across), stored(s->p_next), 0);
        multiply(i_i, 1, -1, transposed(stored(s->p_behind)), stored(across_i), 1);
    }
    return i_i;
}
