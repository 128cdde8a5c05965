/* All levels in one launch, for blocks of several square tiles. A task is one tile: of a front's panel in the factorization, of a
 * right-hand side in the sweeps. It pulls the contributions of earlier fronts and of the tiles before it, in a fixed order. Thread blocks
 * take tasks from a counter, in an order in which every task needs only earlier ones. So some thread block can always go on, however many
 * are resident. A task publishes its tile by the count of finished tiles in its row. */
#include "gpu/tridiagonal/tiles/constants.cuh"
#include "gpu/tridiagonal/common.cuh"
#include "gpu/tridiagonal/tiles/shared.h"

constexpr int edge = tile, tiles = padded / edge;
static_assert(padded % edge == 0, "whole tiles");
static_assert(2 * level_count <= threads, "a thread for each source");

struct Task {
    bool exists;
    bool first;  /* front of its chain */
    bool upward; /* the panel's neighbour is a higher block */
    bool leaves; /* its sums are left to others */
    int level, member;
    int panel; /* 0: pivot block, 1: next neighbour, 2: neighbour behind */
    int row, column;
    int sources;                       /* those that are added now */
    int later;                         /* sources that come after them, when a sum of others is complete */
    trifold_int position, block, step; /* step: in blocks, from one front of the chain to the next */
    trifold_int next, behind;          /* blocks, -1 where there is none */
    trifold_int epoch;                 /* finished tiles of this run count from here */
};

constexpr bool is_padded = block_size < padded; /* without padding, kernels have no tests for it */
/* Columns of [R; G] that are more than padding, in whole copies, and at least a tile. */
constexpr int filled = block_size < edge ? edge : (block_size + stage_columns - 1) / stage_columns * stage_columns;

/* Fronts that contribute to a tile: `count` of them, `step` blocks apart, from `block` on. Each contributes the product of the rows of two
 * panels, or of one panel and the right-hand side, over `columns` columns. */
struct Source {
    trifold_int block, step;
    int count, columns, a_panel, b_panel;
};

TRIFOLD_DEVICE bool leaves(const Task& task) { return may_leave && task.leaves; }

/* Whether the front is the last of a ring before block 0, which is then both of its neighbours. Its coupling to the next neighbour is the
 * sum of both, and the one behind is zero. So block 0 is never coupled to itself, except in a ring of one block. */
TRIFOLD_DEVICE bool joins(const Task& task) { return is_ring && task.next == 0 && task.behind == 0; }

/* The task that a thread block is working on. */
struct Work {
    Task task;
    Source sources[2 * level_count + 2];
};

TRIFOLD_DEVICE const TaskLevel& task_level(const trifold_args& args, int index) {
#if HAS_LITERAL_LEVELS
    return literal_levels[index];
#else
    return buffer<const TaskLevel>(args, TaskOffset::levels(args))[index];
#endif
}

TRIFOLD_DEVICE real* panel_of(const trifold_args& args, trifold_int member, trifold_int block, int panel) {
    return panel == 0 ? factor_of(args, member, block) : panel == 1 ? next_of(args, member, block) : behind_of(args, member, block);
}
/* A part's place for what it leaves, or what has come from one that it joins. */
TRIFOLD_DEVICE real* passed_block(const trifold_args& args, trifold_int member, int interval, int which) {
    return buffer<real>(args, Offset::update(args)) + (member * passed_blocks + interval * passed_each + which) * storage;
}
TRIFOLD_DEVICE real* passed_vector(const trifold_args& args, trifold_int member, int interval, int which) {
    return buffer<real>(args, Offset::rhs_update(args)) +
           (2 * fronts_of(args) + member * passed_vectors + interval * vectors_each + which) * vector_storage;
}
/* The intervals that update a block of the part that joins them: the lower one its first two, the higher one its last two. The middle one
 * is updated by both. */
TRIFOLD_DEVICE int updating_interval(const Task& task) { return task.block <= 1 ? lower_interval : higher_interval; }
TRIFOLD_DEVICE int updated_separator(const Task& task) { return task.block == 0 ? for_lower : for_higher; }
/* Whether it joins two others. It has three blocks, of which it eliminates the middle one, and couplings that have come. */
TRIFOLD_DEVICE bool is_joint(const trifold_args& args) { return may_leave && args.e == nullptr; }

/* Whether the sources on its two sides are summed up apart. */
TRIFOLD_DEVICE bool is_apart(const trifold_args& args, const Task& task) {
    return sums_apart && task.level >= apart_from && task.panel == 0 && !leaves(task) && !is_joint(args);
}

/* The counts of a block: one for every row of its panels, and one for each sweep. */
TRIFOLD_DEVICE trifold_int* counts_of(const trifold_args& args, trifold_int member, trifold_int block) {
    return buffer<trifold_int>(args, TaskOffset::flag(args)) + block_index(args, member, block) * (3 * tiles + 2);
}
TRIFOLD_DEVICE trifold_int* progress_of(const trifold_args& args, trifold_int member, trifold_int block, int panel, int row) {
    return counts_of(args, member, block) + panel * tiles + row;
}
TRIFOLD_DEVICE trifold_int* swept_of(const trifold_args& args, trifold_int member, trifold_int block, Kind kind) {
    return counts_of(args, member, block) + 3 * tiles + (kind == Kind::forward ? 0 : 1);
}

/* Waits until a count is at least `wanted`; what it is then. */
TRIFOLD_DEVICE trifold_int wait_for(const trifold_int* count, trifold_int wanted) {
    for (;;) {
        const trifold_int ready = load_acquire(count);
        if (ready >= wanted) return ready;
        spin();
    }
}

/* a / b for numbers that are not negative, of tasks and of what leads from one to its block; with half the digits, where they
 * suffice, in a third of the time. */
TRIFOLD_DEVICE trifold_int quotient(trifold_int a, trifold_int b) {
    return has_short_numbers ? static_cast<trifold_int>(static_cast<unsigned>(a) / static_cast<unsigned>(b)) : a / b;
}

/* Numbers of tasks, and of fronts of a level: with half the digits, where they suffice. */
template <bool Short>
struct Number {
    typedef trifold_int type;
};
template <>
struct Number<true> {
    typedef int type;
};
typedef Number<has_short_numbers>::type number_type;
/* a / b for such numbers. */
TRIFOLD_DEVICE number_type share(number_type a, number_type b) { return static_cast<number_type>(quotient(a, b)); }

/* Counts of the fronts of a level that are claimed before a rank: of chains of one front, and of all. Rank k has front k of every chain.
 * Where there are longer chains too, chains of one front are spread over all ranks. */
TRIFOLD_DEVICE number_type singles_before(const trifold_args& args, const TaskLevel& level, number_type rank) {
    return level.singles == 0 ? 0 : static_cast<number_type>(level.singles * batch_of(args) * rank / level.longest);
}
TRIFOLD_DEVICE number_type fronts_before(const trifold_args& args, const TaskLevel& level, number_type rank) {
    const number_type batch = static_cast<number_type>(batch_of(args));
    return static_cast<number_type>(level.level.chains - level.singles) * batch * rank + singles_before(args, level, rank);
}

/* A rank of a level: its number, how many fronts it has, and which of their tasks is meant. */
struct Rank {
    int level;
    number_type number, fronts, rest;
};

/* The rank of the number-th task, where each front of a level has each(level) tasks. */
template <class Each>
TRIFOLD_DEVICE Rank find_rank(const trifold_args& args, number_type number, const Each& each) {
    Rank found{};
    for (;; ++found.level) {
        const TaskLevel& level = task_level(args, found.level);
        const number_type all = fronts_before(args, level, level.longest), tasks = each(level);
        if (number >= all * tasks) {
            number -= all * tasks;
            continue;
        }
        const number_type front = share(number, tasks);
        found.number = level.longest == 1 ? 0 : static_cast<number_type>(static_cast<trifold_int>(front) * level.longest / all);
        if (level.longest > 1) {
            while (fronts_before(args, level, found.number) > front) --found.number;
            while (fronts_before(args, level, found.number + 1) <= front) ++found.number;
        }
        const number_type before = fronts_before(args, level, found.number);
        found.fronts = fronts_before(args, level, found.number + 1) - before;
        found.rest = number - before * tasks;
        return found;
    }
}

/* Front k of a chain. */
TRIFOLD_DEVICE void place_front(Task& task, const trifold_level& level, const Chain& chain, trifold_int k) {
    task.first = k == 0;
    task.position = chain.first + k * chain.step;
    task.block = block_at(level, task.position);
    task.step = level.scale * chain.step;
    task.next = k + 1 < chain.length || chain.ahead >= 0 ? task.block + task.step : -1;
    if (is_ring && task.position + chain.step == level.size && level.size > 1) task.next = 0;
    task.behind = chain.behind >= 0 ? block_at(level, chain.behind) : -1;
    task.exists = k < chain.length;
}

/* A task of a rank's front `line`: chains by members, single fronts last. */
TRIFOLD_DEVICE void place_task(Task& task, const trifold_args& args, const Rank& rank, number_type line) {
    const TaskLevel& entry = task_level(args, rank.level);
    const trifold_level& level = entry.level;
    const number_type longer = static_cast<number_type>(level.chains - entry.singles), batch = static_cast<number_type>(batch_of(args));
    const bool single = line >= longer * batch;
    if (single) line += singles_before(args, entry, rank.number) - longer * batch;
    const number_type k = single ? 0 : rank.number, chains = single ? static_cast<number_type>(entry.singles) : longer;
    const number_type member = share(line, chains), number = line - member * chains;
    const Chain chain = find_chain(level, number + (single ? entry.first_single : number < entry.first_single ? 0 : entry.singles));
    task.level = rank.level, task.member = static_cast<int>(member);
    place_front(task, level, chain, k);
    if (may_leave) task.leaves = level.next_size < 0;
}

/* Half a column of a group's tiles. Each front has rows of its panels there, and before them tiles of its pivot block's next column or,
 * beyond the last, a front of the next group has some of its first: the diagonal tile in the first half, those that wait for it in the
 * second. */
struct Half {
    bool beyond;
    int pivot_column, pivot_row, pivots, row, rows;
};
TRIFOLD_DEVICE Half half_of(int column, bool second, int in_panels) {
    Half half;
    half.beyond = column + 1 == tiles;
    half.pivot_column = half.beyond ? 0 : column + 1;
    half.pivot_row = half.pivot_column + second;
    half.pivots = second ? tiles - half.pivot_row : 1;
    half.row = second ? in_panels / 2 : 0;
    half.rows = second ? in_panels - half.row : in_panels / 2;
    return half;
}

/* The number-th task of the factorization: level by level, rank by rank; a rank's fronts go side by side in groups, column by column of
 * their tiles. The pivot blocks are ahead of the panels, and between them, so that thread blocks that wait for pivots, factor them and
 * multiply share a multiprocessor. */
TRIFOLD_FUNCTION void find_factor_task(Task& task, const trifold_args& args, number_type number) {
    constexpr number_type together = chains_together;
    const auto tasks_of = [](const TaskLevel& level) { return tiles * (tiles + 1) / 2 + level.panels * tiles * tiles; };
    const Rank rank = find_rank(args, number, tasks_of);
    const TaskLevel& level = task_level(args, rank.level);
    const int in_panels = level.panels * tiles, each = tasks_of(level);
    const auto width_of = [&](number_type group) {
        const number_type left = rank.fronts - group * together;
        return static_cast<int>(left < together ? (left > 0 ? left : 0) : together);
    };
    /* A group's tasks but for its first column of pivot blocks, with that of the next group. */
    const auto tasks_from = [&](number_type group) { return width_of(group) * (each - tiles) + width_of(group + 1) * tiles; };
    number_type group = 0, rest = rank.rest - width_of(0) * tiles, line = 0;
    bool pivots = rest < 0;
    if (pivots) {
        task.column = 0;
        task.row = static_cast<int>(share(rank.rest, width_of(0)));
        line = rank.rest - task.row * width_of(0);
    } else {
        const number_type whole =
            share(rank.fronts - 1, together) - 1; /* groups before the last but one, whose tasks are as many as any's */
        group = share(rest, together * each);
        if (group > whole) group = whole > 0 ? whole : 0;
        rest -= group * together * each;
        if (rest >= tasks_from(group)) rest -= tasks_from(group), ++group;
        for (int number = 0;; ++number) {
            const Half half = half_of(number / 2, number % 2 == 1, in_panels);
            const int both = width_of(group + half.beyond), all = half.pivots * both + half.rows * width_of(group);
            if (rest >= all) {
                rest -= all;
                continue;
            }
            /* The first `both` fronts have pivots and rows in this half, those beyond them only rows. */
            const int shared = both * (half.pivots + half.rows), within = rest < shared ? half.pivots + half.rows : half.rows;
            if (rest >= shared) rest -= shared, line = both;
            const number_type lines = share(rest, within);
            const int place = static_cast<int>(rest - lines * within);
            line += lines;
            pivots = within > half.rows && place < half.pivots;
            task.column = pivots ? half.pivot_column : number / 2;
            task.row = pivots ? half.pivot_row + place : half.row + place - (within - half.rows);
            group += pivots && half.beyond;
            break;
        }
    }
    task.panel = pivots ? 0 : 1 + task.row / tiles;
    if (!pivots) task.row %= tiles;
    place_task(task, args, rank, group * together + line);
    task.upward = (task.panel == 1) == (task.step > 0);
    if (task.panel != 0 && (task.panel == 1 ? task.next : task.behind) < 0) task.exists = false;
}

/* The number-th task of a forward sweep: level by level, rank by rank, tile by tile of all its fronts. */
TRIFOLD_FUNCTION void find_sweep_task(Task& task, const trifold_args& args, number_type number) {
    const Rank rank = find_rank(args, number, [](const TaskLevel&) { return tiles; });
    place_task(task, args, rank, rank.rest - share(rank.rest, rank.fronts) * rank.fronts);
    task.panel = 0;
    task.row = task.column = static_cast<int>(share(rank.rest, rank.fronts));
}

/* The next task for the whole thread block; false when none is left. */
TRIFOLD_DEVICE bool claim_task(Work& work, const trifold_args& args, Kind kind) {
    if (thread_index() == 0) {
        const trifold_int all = kind == Kind::factor ? factor_tasks(args) : sweep_tasks(args);
        const trifold_int tickets = all + (kind == Kind::factor ? factor_groups(args) : sweep_groups(args)); /* all end with one too many */
        const trifold_int ticket = claim(buffer<trifold_int>(args, TaskOffset::ticket(args)) + static_cast<int>(kind)),
                          number = ticket % tickets;
        Task& task = work.task;
        task.level = -1;
        if (number < all) {
            if (kind == Kind::factor)
                find_factor_task(task, args, static_cast<number_type>(number));
            else
                find_sweep_task(task, args, static_cast<number_type>(kind == Kind::forward ? number : all - 1 - number));
            task.epoch = (ticket / tickets + 1) * (tiles + 1);
            task.exists = task.exists && is_active(args, task.member);
        }
    }
    block_sync();
    return work.task.level >= 0;
}

/* Says that the thread block's task is done, if it exists: by another thread than the one that claims the next. */
TRIFOLD_DEVICE void end_task(trifold_int* count, trifold_int finished, bool exists) {
    block_sync();
    if (thread_index() == warp_lanes && exists) store_release(count, finished);
}

/* The chain that eliminates a position of a level. */
TRIFOLD_DEVICE Chain chain_of(const trifold_level& level, trifold_int position) {
    trifold_int number = 0;
    for (int k = 0; k < 3; ++k) {
        const trifold_run& run = level.run[k];
        const trifold_int from = position - (run.step > 0 ? run.first : run.first - run.length + 1);
        if (run.count > 0 && from >= 0) {
            const trifold_int chain = quotient(from, run.stride);
            if (chain < run.count && from - chain * run.stride < run.length) return find_chain(level, number + chain);
        }
        number += run.count;
    }
    return Chain{};
}

/* The contribution of the chain on one side of a remaining block to its diagonal, at an earlier level. */
TRIFOLD_DEVICE Source diagonal_source(const trifold_level& level, trifold_int block, int side) {
    trifold_int position = quotient(block - level.base, level.scale);
    if (is_ring && position == 0 && side == 0) position = level.size;
    const trifold_int adjacent = side == 0 ? position - 1 : position + 1;
    Source source{};
    if (adjacent < 0 || adjacent >= level.size) return source;
    const Chain chain = chain_of(level, adjacent);
    const bool ahead = chain.ahead == position;
    source.block = block_at(level, ahead ? adjacent : chain.first);
    source.step = level.scale * chain.step;
    source.count = ahead ? 1 : static_cast<int>(chain.length);
    source.columns = filled;
    source.a_panel = source.b_panel = ahead ? 1 : 2;
    return source;
}

/* The product that joined two neighbours of a level: of the last front of the chain that stood between them. */
TRIFOLD_DEVICE Source coupling_source(const trifold_level& before, trifold_int lower, bool upward) {
    const Chain chain = chain_of(before, quotient(lower - before.base, before.scale) + 1);
    const bool up = chain.step > 0;
    Source source{};
    source.block = block_at(before, chain.first + (chain.length - 1) * chain.step);
    source.count = 1, source.columns = filled;
    source.a_panel = up == upward ? 1 : 2, source.b_panel = up == upward ? 2 : 1;
    return source;
}

/* The contribution of earlier fronts to the coupling behind, of a front that has both couplings in one panel. */
TRIFOLD_DEVICE Source source_behind(const trifold_args& args, const Task& task) {
    if (!task.first) return {task.block - task.step, 0, 1, filled, 2, 1};
    return task.level > 0 ? coupling_source(task_level(args, task.level - 1).level, 0, false) : Source{};
}

/* The sources of a task in the order in which they are added; one thread for each. The front itself is one of the last. */
TRIFOLD_FUNCTION void find_sources(Work& work, const trifold_args& args) {
    const Task& task = work.task;
    const int t = thread_index(), index = task.level, earlier = task.panel == 0 ? 2 * index : 0;
    Source source{};
    if (t < earlier) {
        const bool apart = is_apart(args, task);
        source = diagonal_source(task_level(args, apart ? t % index : t / 2).level, task.block, apart ? t / index : t % 2);
    } else if (t == earlier) {
        const trifold_level& level = task_level(args, index).level;
        if (!task.first && task.panel != 1) {
            source.block = task.block - task.step, source.count = 1, source.columns = filled;
            source.a_panel = task.panel == 0 ? 1 : 2, source.b_panel = 1;
        } else if (task.panel != 0 && index > 0) {
            const trifold_int lower = block_at(level, task.upward ? task.position : task.position - 1);
            source = coupling_source(task_level(args, index - 1).level, lower, task.upward);
        }
    } else if (t == earlier + 1) {
        source.block = task.block, source.count = task.column > 0 && !leaves(task) ? 1 : 0, source.columns = task.column * edge;
        source.a_panel = task.panel, source.b_panel = 0;
        work.task.sources = earlier + 2;
        work.task.later = 0;
    }
    if (t < earlier + 2) work.sources[t] = source;
    block_sync();
    if (joins(task) && task.panel != 0) { /* one panel has both couplings, the other one is zero */
        if (thread_index() == 0) {
            if (task.panel == 1)
                work.sources[work.task.sources++] = source_behind(args, task);
            else
                work.sources[0].count = 0;
        }
        block_sync();
    }
}

/* Makes the sources before `end` those that are added now; by the whole thread block. */
TRIFOLD_DEVICE void end_sources(Work& work, int end) {
    block_sync();
    if (thread_index() == 0) {
        work.task.later += work.task.sources - end;
        work.task.sources = end;
    }
    block_sync();
}
