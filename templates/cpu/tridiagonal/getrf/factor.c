/* Variant "getrf": factorization of general matrices, alone or with the right-hand sides riding along. */
#include "cpu/tridiagonal/getrf/solve.c"

/* A(to, from) of neighbouring positions. */
NOINLINE void load_coupling(vec* out, const trifold_args* args, const trifold_level* level, const members* g, integer to, integer from) {
    const integer low = smaller(to, from), block = block_at(level, low);
    if (level->index == 0) {
        read_e(out, args, to > from ? e_of(args, g->member[0], block) : u_of(args, g->member[0], block), g);
    } else {
        const vec* stored_one = (const vec*)coupling_of(args, g->group, level->coupling + low) + (to > from ? 0 : BLOCK_CELLS);
        for (integer k = 0; k < BLOCK_CELLS; ++k) out[k] = stored_one[k];
    }
}
/* Takes the entries of a block of A that a chain of the first level has loaded for the largest. */
INLINE void note_largest(pivots* p, const vec* a, const trifold_level* level) {
    if (level->index == 0) p->largest = larger_of(top_of(a, 0, BLOCK_CELLS), p->largest);
}

/* Loads D with what is added to its diagonal, less what chains of the levels before have left. */
NOINLINE void load_pivot_block(const front* f, vec* room, const trifold_args* args, const trifold_level* level, const members* g,
                               integer block, pivots* p) {
    read_d(f->u, args, d_of(args, g->member[0], block), g);
    for (integer j = 0; (args->diagonal || args->shift) && j < n; ++j)
        for (int lane = 0; lane < INTERLEAVE; ++lane) ((real*)&EACH(f->u, j, j))[lane] += diagonal_term(args, g->member[lane], block, j);
    p->largest = larger_of(top_of(f->u, 0, BLOCK_CELLS), p->largest);
    for (integer r = 0; r < n; ++r) p->sums[r] = top_of(f->u + r * ROW, 0, ROW);
    for (int side = 0; level->index > 0 && side < 2; ++side) {
        if (!has_slot(args, 0, block, side)) continue;
        const vec* slot = (const vec*)update_of(args, side, g->group, block);
        for (integer k = 0; k < BLOCK_CELLS; ++k) f->u[k] -= slot[k];
        for (integer r = 0; r < n; ++r) p->sums[r] += ((const each*)(slot + BLOCK_CELLS))[r];
    }
    for (int upper = 0; closes_ring(level) && upper < 2; ++upper) { /* the coupling of the last block to itself */
        load_coupling(room, args, level, g, upper ? 0 : 1, upper ? 1 : 0);
        for (integer k = 0; k < BLOCK_CELLS; ++k) f->u[k] += room[k];
    }
}

/* Sets or adds (`add`) the product of panels, and the sums of its rows, to a separator's slot. */
INLINE void leave(vec* slot, int add, const vec* left, const vec* right, const each* sums) {
    multiply(slot, add, 1, left, 0, right, ROW);
    each* const to = (each*)(slot + BLOCK_CELLS);
    for (integer r = 0; r < n; ++r) to[r] = add ? to[r] + sums[r] : sums[r];
}

COLD void record_pivots(const trifold_args* args, const members* g, integer block, integer level, pivots* p) {
    for (int lane = 0; lane < INTERLEAVE; ++lane) {
        if (!g->active[lane]) continue;
        const integer member = g->member[lane], row = MASK_OF_LANE(p->sound, lane) ? -1 : (integer)MASK_OF_LANE(p->row, lane);
        ((real_word*)&p->failed)[lane] = -record_front(args, member, block, level, row, MASK_OF_LANE(p->failed, lane) != 0);
        *floors_of(args, member, block) = 0;
        *negatives_of(args, member, block) = (int)MASK_OF_LANE(p->negatives, lane);
        *block_log_determinant_of(args, member, block) = 0;
    }
}
COLD void record_chain(const trifold_args* args, const members* g, integer block, const pivots* p) {
    for (int lane = 0; lane < INTERLEAVE; ++lane) {
        if (!g->active[lane]) continue;
        const integer member = g->member[lane];
        *block_log_determinant_of(args, member, block) = log_of((double)OF_LANE(p->large, lane), (double)OF_LANE(p->large_exponent, lane)) -
                                                         log_of((double)OF_LANE(p->small, lane), (double)OF_LANE(p->small_exponent, lane));
        *reduction_of(args, member, block) = (double)OF_LANE(p->reduction, lane);
        *grown_of(args, member, block) = (double)OF_LANE(p->grown, lane);
        *largest_of(args, member, block) = (double)OF_LANE(p->largest, lane);
    }
}
INLINE void join_poison(const trifold_args* args, const members* g, integer block, pivots* p) {
    for (int lane = 0; lane < INTERLEAVE; ++lane)
        if (is_poisoned(args, g->member[lane], block)) ((real_word*)&p->failed)[lane] = -1;
}
INLINE void pass_poison(const trifold_args* args, const members* g, int side, integer block, integer level, const pivots* p) {
    for (int lane = 0; lane < INTERLEAVE; ++lane)
        if (g->active[lane]) mark_poison(args, side, g->member[lane], block, level, MASK_OF_LANE(p->failed, lane) != 0);
}

/* Updates that a chain leaves to the separators at its ends, and their coupling both ways. */
COLD void end_chain(const trifold_args* args, const trifold_level* level, const members* g, chain c, const front* f, const pivots* p) {
    if (c.behind >= 0) pass_poison(args, g, side_behind(&c), block_at(level, c.behind), level->index, p);
    if (c.ahead < 0) return;
    const integer ahead = block_at(level, c.ahead);
    leave((vec*)update_of(args, side_ahead(&c), g->group, ahead), level->index > 0, f->r, f->z, p->carried);
    pass_poison(args, g, side_ahead(&c), ahead, level->index, p);
    if (c.behind < 0) return;
    const integer low = smaller(next_position(level, c.ahead), next_position(level, c.behind));
    vec* joint = (vec*)coupling_of(args, g->group, level->next_coupling + low);
    const int up = c.step > 0;
    multiply(up ? joint : joint + BLOCK_CELLS, 0, -1, f->r, 0, f->h, ROW);
    multiply(up ? joint + BLOCK_CELLS : joint, 0, -1, f->g, 0, f->z, ROW);
}

/* Stores the active lanes of a front. */
COLD void deliver(vec* kept, const vec* own, integer cells, const members* g) {
    for (integer i = 0; i < cells; ++i)
        for (int lane = 0; lane < LANES; ++lane)
            if (g->active[lane % INTERLEAVE]) kept[i][lane] = own[i][lane];
}
COLD void deliver_front(const front* kept, const vec* own, const front* f, const members* g) {
    deliver(kept->u, own, FACTOR_CELLS, g);
    if (f->z) deliver(kept->r, own + FACTOR_CELLS, 2 * BLOCK_CELLS, g);
    if (f->h) deliver(kept->g, own + FACTOR_CELLS + 2 * BLOCK_CELLS, 2 * BLOCK_CELLS, g);
}

NOINLINE void factor_chain(const trifold_args* args, const trifold_level* level, const members* g, chain c, int forward,
                           factor_scratch* s) {
    pivots p = {.large = one_of(1), .small = one_of(1)};
    front f = {0}, before = {0};
    each sums[n];
    const int updated = level->index > 0;
    vec* y = 0;
    for (integer k = 0; k < c.length; ++k) {
        const integer position = c.first + k * c.step, block = block_at(level, position);
        const int has_next = k + 1 < c.length || c.ahead >= 0;
        const front kept = front_of(args, g->group, block);
        vec* const own = s->own[k % 2];
        before = f;
        f = g->all ? kept : front_at(own, own + FACTOR_CELLS, own + FACTOR_CELLS + 2 * BLOCK_CELLS);
        if (!has_next) f.r = f.z = 0;
        if (c.behind < 0) f.g = f.h = 0;
        load_pivot_block(&f, s->room, args, level, g, block, &p);
        if (updated) join_poison(args, g, block, &p);
        if (has_next) {
            load_coupling(f.r, args, level, g, position + c.step, position);
            load_coupling(f.z, args, level, g, position, position + c.step);
            note_largest(&p, f.r, level), note_largest(&p, f.z, level);
            for (integer r = 0; r < n; ++r) p.sums[r] = larger_of(top_of(f.z + r * ROW, 0, ROW), p.sums[r]);
        }
        if (c.behind >= 0 && k == 0) {
            load_coupling(f.g, args, level, g, c.behind, position);
            load_coupling(f.h, args, level, g, position, c.behind);
            note_largest(&p, f.g, level), note_largest(&p, f.h, level);
            for (integer r = 0; r < n; ++r) p.sums[r] = larger_of(top_of(f.h + r * ROW, 0, ROW), p.sums[r]);
        }
        if (k > 0) {
            multiply(f.u, 1, -1, before.r, 0, before.z, ROW);
            for (integer r = 0; r < n; ++r) p.sums[r] += p.carried[r];
            if (c.behind >= 0) {
                multiply(f.h, 0, -1, before.r, 0, before.h, ROW);
                multiply(f.g, 0, -1, before.g, 0, before.z, ROW);
            }
        }
        eliminate(&f, &p);
        if (has_next) divide(f.r, f.u, &p, p.carried);
        if (c.behind >= 0) {
            divide(f.g, f.u, &p, sums);
            leave((vec*)update_of(args, side_behind(&c), g->group, block_at(level, c.behind)), k > 0 || updated, f.g, f.h, sums);
        }
        if (forward) y = forward_front(args, level, g, &c, k, &f, &before, y, s, 0);
        if (!g->all) deliver_front(&kept, own, &f, g);
        record_pivots(args, g, block, level->index, &p);
        if (k + 1 == c.length) record_chain(args, g, block, &p);
    }
    end_chain(args, level, g, c, &f, &p);
    if (forward) end_forward(args, level, g, &c, &f, y, 0);
}
