/* Factorization of one chain by one thread block, the whole front in shared memory. Panel rows: pivot block, next
 * neighbour (R), neighbour behind (G). */
constexpr int panel_leading = TRIFOLD_PANEL_LEADING;
constexpr int next_row = padded, behind_row = 2 * padded;

struct FrontShared {
    Pivots pivots;
    double diagonal[padded];
    alignas(16) real panel[panel_leading * padded];
};
static_assert(sizeof(FrontShared) == TRIFOLD_SHARED_FACTOR, "host and device disagree");

/* Copies panel rows row .. row + padded - 1 to a block of the workspace. */
TRIFOLD_DEVICE void store_rows(real* to, const real* panel, int row) {
    constexpr int vectors = padded / vector_width;
    for (int e = thread_index(); e < vectors * padded; e += threads) {
        const int r = e % vectors * vector_width, c = e / vectors;
        real v[vector_width];
        load_vector(v, panel + row + r + c * panel_leading);
        store_vector(to + r + c * padded, v);
    }
}

/* `use(sum, r, c)` for every strip of vector_width rows by columns c .. c + `strip` - 1 of A B', where A and B are the panel
 * rows from a and b on; of its lower part only where so asked. */
template <bool Lower, class Use>
TRIFOLD_DEVICE void multiply_panels(const real* panel, int a, int b, const Use& use) {
    int unit = thread_index();
    for (int c = 0; c < padded; c += strip) {
        const int first = Lower ? c : 0;
        const int units = (padded - first) / vector_width;
        for (; unit < units; unit += threads) {
            real sum[strip][vector_width] = {};
            const int r = first + unit * vector_width;
            multiply_rows<1>(sum, panel + a + r, panel + b + c, panel_leading, padded);
            use(sum, r, c);
        }
        unit -= units;
    }
}

/* Sets or adds A B' to a block of the workspace, or sets it to -A B'. */
template <bool Lower, bool Negative>
TRIFOLD_DEVICE void multiply_out(real* to, bool add, const real* panel, int a, int b) {
    multiply_panels<Lower>(panel, a, b, [&](const real(&sum)[strip][vector_width], int r, int c) {
#pragma unroll
        for (int k = 0; k < strip; ++k) {
            real v[vector_width] = {};
            real* at = to + r + (c + k) * padded;
            if (add) load_vector(v, at);
#pragma unroll
            for (int q = 0; q < vector_width; ++q) v[q] += Negative ? -sum[k][q] : sum[k][q];
            store_vector(at, v);
        }
    });
}

/* The running block moves on: D_next - R R' becomes the pivot, -G R' the coupling behind. */
TRIFOLD_DEVICE void advance(FrontShared& shared, bool fill, const trifold_args& args, const trifold_level& level, trifold_int member,
                            trifold_int next) {
    constexpr int per_thread = (padded / strip * (padded / vector_width) + threads - 1) / threads;
    real kept[per_thread][strip][vector_width];
    real* panel = shared.panel;
    load_diagonal(panel, panel_leading, args, level, member, next);
    if (fill) {
#pragma unroll
        for (int u = 0; u < per_thread; ++u) {
            const int unit = thread_index() + u * threads;
            if (unit * vector_width * strip < padded * padded) {
                const int r = unit % (padded / vector_width) * vector_width, c = unit / (padded / vector_width) * strip;
                real sum[strip][vector_width] = {};
                multiply_rows<1>(sum, panel + behind_row + r, panel + next_row + c, panel_leading, padded);
#pragma unroll
                for (int k = 0; k < strip; ++k)
#pragma unroll
                    for (int v = 0; v < vector_width; ++v) kept[u][k][v] = -sum[k][v];
            }
        }
    }
    block_sync();
    multiply_panels<true>(panel, next_row, next_row, [&](const real(&sum)[strip][vector_width], int r, int c) {
#pragma unroll
        for (int k = 0; k < strip; ++k) {
            real v[vector_width];
            load_vector(v, panel + r + (c + k) * panel_leading);
#pragma unroll
            for (int q = 0; q < vector_width; ++q) v[q] -= sum[k][q];
            store_vector(panel + r + (c + k) * panel_leading, v);
        }
    });
    if (fill) {
#pragma unroll
        for (int u = 0; u < per_thread; ++u) {
            const int unit = thread_index() + u * threads;
            if (unit * vector_width * strip < padded * padded) {
                const int r = unit % (padded / vector_width) * vector_width, c = unit / (padded / vector_width) * strip;
#pragma unroll
                for (int k = 0; k < strip; ++k) store_vector(panel + behind_row + r + (c + k) * panel_leading, kept[u][k]);
            }
        }
    }
    block_sync();
}

TRIFOLD_DEVICE void spoil(real* panel, int rows) {
    for (int e = thread_index(); e < panel_leading * padded; e += threads) panel[e] = static_cast<real>(not_a_number());
    block_sync();
    (void)rows;
}

TRIFOLD_DEVICE void factor_chain(const trifold_args& args, const trifold_level& level, trifold_int number, trifold_int member) {
    FrontShared& shared = *static_cast<FrontShared*>(shared_memory());
    real* panel = shared.panel;
    const Chain chain = find_chain(level, number);
    const bool fill = chain.behind >= 0;
    const int rows = fill ? 3 * padded : 2 * padded;
    bool failed = false;
    load_diagonal(panel, panel_leading, args, level, member, block_at(level, chain.first));
    if (fill)
        load_coupling(panel + behind_row, panel_leading, args, level, member, chain.behind, chain.first);
    for (trifold_int k = 0; k < chain.length; ++k) {
        const trifold_int position = chain.first + k * chain.step, block = block_at(level, position);
        const bool last = k + 1 == chain.length, has_next = !last || chain.ahead >= 0;
        if (has_next) {
            load_coupling(panel + next_row, panel_leading, args, level, member, position + chain.step, position);
        } else {
            for (int e = thread_index(); e < padded * padded; e += threads) panel[next_row + e % padded + e / padded * panel_leading] = 0;
        }
        start_pivots(shared.pivots, args, member, block);
        block_sync();
        factor_panel<padded, tile>(panel, panel_leading, rows, block_size, 0, shared.pivots, shared.diagonal);
        const bool fed = failed || is_poisoned(args, level, member, block);
        report_pivots(args, level, member, block, fed, shared.pivots, shared.diagonal);
        failed = fed || shared.pivots.failed_row >= 0;
        block_sync();
        if (failed) spoil(panel, rows);
        store_rows(factor_of(args, member, block), panel, 0);
        if (has_next) store_rows(next_of(args, member, block), panel, next_row);
        if (fill) {
            store_rows(behind_of(args, member, block), panel, behind_row);
            multiply_out<true, false>(update_of(args, member, block_at(level, chain.behind), side_behind(chain)), level.index > 0 || k > 0, panel,
                                      behind_row, behind_row);
        }
        block_sync();
        if (!last) advance(shared, fill, args, level, member, block_at(level, position + chain.step));
    }
    if (chain.ahead >= 0)
        multiply_out<true, false>(update_of(args, member, block_at(level, chain.ahead), side_ahead(chain)), level.index > 0, panel, next_row,
                                  next_row);
    if (chain.ahead >= 0 && fill) {
        real* to = buffer<real>(args, TRIFOLD_OFFSET_COUPLING) + next_coupling_index(level, member, chain) * storage;
        const bool up = chain.step > 0;
        multiply_out<false, true>(to, false, panel, up ? next_row : behind_row, up ? behind_row : next_row);
    }
    if (thread_index() == 0) pass_poison(args, level, member, chain, failed);
}
