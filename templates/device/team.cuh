/* Batches of many small systems (variant team): a team of lanes has a system from its first block to its last, the order with the least
 * flops. A lane has a row of the panel [L; R] in registers, or one row in every set of `team` rows; what others need of it goes through shared memory.
 * Nothing but barriers of a warp, so that a warp may hold several teams, and a thread block many. */
constexpr int team = TRIFOLD_TEAM, teams = threads / team;
constexpr int riders = TRIFOLD_RIDERS; /* right-hand sides treated at once */
constexpr int panel_rows = 2 * padded, row_sets = (panel_rows + team - 1) / team;
static_assert(tile == 1 && warp_lanes % team == 0 && threads % warp_lanes == 0 && padded % vector_width == 0, "host and device disagree");

TRIFOLD_DEVICE int team_lane() { return thread_index() % team; }
TRIFOLD_DEVICE int row_of(int set) { return team_lane() + set * team; }

/* The number that `row` of the panel has in `values`, one a set. */
TRIFOLD_DEVICE real value_of_row(const real (&values)[row_sets], int row) {
    return shuffle(values[row / team], thread_index() % warp_lanes / team * team + row % team);
}
TRIFOLD_DEVICE double sum_of_team(double value) {
#pragma unroll
    for (int mask = team / 2; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
    return value;
}

/* A member, and whether there is one: the teams of a warp go together. */
struct Member {
    trifold_int index;
    bool exists;
};
template <class Use>
TRIFOLD_DEVICE void each_member(const trifold_args& args, const Use& use) {
    const trifold_int first = group_y() * TRIFOLD_MEMBERS_PER_GROUP + thread_index() / team;
#pragma unroll 1
    for (trifold_int k = 0; k < TRIFOLD_MEMBERS_PER_GROUP; k += teams) use(Member{first + k, is_active(args, first + k)});
}

template <class Shared>
TRIFOLD_DEVICE Shared& shared_of_team() {
    return static_cast<Shared*>(shared_memory())[thread_index() / team];
}

/* Right-hand sides of a block, or what a sweep has made of them, on their way. */
TRIFOLD_DEVICE void fetch_columns(real* to, const void* from, const trifold_strides& strides, const Member& member, trifold_int block, Columns columns) {
#pragma unroll 1
    for (int e = team_lane(); e < padded * riders; e += team) {
        const int r = e % padded, c = e / padded;
        if (r < block_size && c < columns.count)
            copy_element_async(to + e, static_cast<const real*>(from) + rhs_at(strides, member.index, block, r, columns.first + c));
        else
            to[e] = 0;
    }
}

/* The lanes' parts of sums of squares, by column, for b' A^-1 b. */
TRIFOLD_DEVICE void store_quadratic(const double (&squares)[riders], const trifold_args& args, const Member& member, Columns columns) {
#pragma unroll
    for (int c = 0; c < riders; ++c) {
        const double sum = sum_of_team(squares[c]);
        if (member.exists && team_lane() == 0 && c < columns.count)
            buffer<double>(args, TRIFOLD_OFFSET_QUADRATIC)[member.index * TRIFOLD_RHS + columns.first + c] = sum;
    }
}
