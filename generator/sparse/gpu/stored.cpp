#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <trifold/error.hpp>
#include <utility>

#include "generator/program/device.hpp"
#include "generator/program/require.hpp"
#include "generator/sparse/fields.hpp"
#include "generator/sparse/gpu/gpu.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/sparse/threads.hpp"

namespace trifold::sparse::gpu {
namespace {

/// A level is at most such a part of the ring. Where lanes do not keep all slots of a row, a level leaves when the next one has been taken,
/// so neighbours must never share a place.
std::int64_t ring_parts(bool keeps_all) { return keeps_all ? 2 : 3; }
constexpr std::int64_t min_of_thread = 1 << 15;  // entries; fewer are done before another thread has begun

/// A in chunks: slot s of a chunk has entry s of each of its rows.
struct Chunks {
    std::vector<std::int64_t> starts{0};  // slots
    std::vector<std::int32_t> columns, sources;

    explicit Chunks(const Arrangement& a) {
        const auto chunks = (a.rows() + sparse_chunk - 1) / sparse_chunk;
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
            std::int64_t slots = 0;
            for (auto row = chunk * sparse_chunk; row < std::min<std::int64_t>((chunk + 1) * sparse_chunk, a.rows()); ++row)
                slots = std::max(slots, a.starts[at(row) + 1] - a.starts[at(row)]);
            starts.push_back(starts.back() + slots);
        }
        columns.resize(at(starts.back() * sparse_chunk));
        sources.resize(columns.size());
        for_ranges(chunks, min_of_thread / sparse_chunk, [&](std::int64_t first, std::int64_t end) {
            for (auto chunk = first; chunk < end; ++chunk) fill(a, chunk);
        });
    }
    /// Number of entry k of a row.
    std::int32_t entry(std::int64_t row, std::int64_t k) const {
        return static_cast<std::int32_t>((starts[at(row / sparse_chunk)] + k) * sparse_chunk + row % sparse_chunk);
    }

  private:
    void fill(const Arrangement& a, std::int64_t chunk) {
        auto to = at(starts[at(chunk)] * sparse_chunk);
        for (std::int64_t s = 0; s < starts[at(chunk) + 1] - starts[at(chunk)]; ++s)
            for (auto row = chunk * sparse_chunk; row < (chunk + 1) * sparse_chunk; ++row, ++to) {
                const bool has = row < a.rows() && a.starts[at(row)] + s < a.starts[at(row) + 1];
                const auto k = has ? at(a.starts[at(row)] + s) : 0;
                columns[to] = has ? a.columns[k] : static_cast<std::int32_t>(std::min(row, a.rows() - 1));
                sources[to] = has ? a.sources[k] : -1;
            }
    }
};

/// Neighbours of a row within a triangle: their rows, and the entries that couple them.
struct Neighbour {
    std::int32_t row, entry;
};
/// A triangle of a shape, or of the transposed one. L and U' are swept from the first row on; D U and D L' from the last one, and their
/// rows are scaled.
struct Triangle {
    std::vector<std::vector<Neighbour>> rows;
    bool scales, transposed;

    Triangle(const Shape& shape, bool upper, bool of_transposed)
        : rows(shape.diagonals.size()), scales(upper != of_transposed), transposed(of_transposed) {
        for (std::size_t row = 0; row < rows.size(); ++row) {
            auto entry = shape.first(row, upper);
            for (const auto column : shape.side(row, upper)) {
                const auto number = static_cast<std::int32_t>(row);
                if (transposed)
                    rows[at(column)].push_back({number, entry++});
                else
                    rows[row].push_back({column, entry++});
            }
        }
    }
    std::size_t neighbours(std::int32_t row) const { return rows[at(row)].size(); }
};

/// Lists of all shapes, one behind the other.
class Lists {
  public:
    Lists(const SparseSpec& spec, const Sweep& sweep) : spec_(spec), sweep_(sweep) {}

    void add(const Shape& shape, bool with_transposed) {
        trifold_sparse_schedule schedule{};
        schedule.row = static_cast<int>(rows.size());
        schedule.entry = static_cast<int>(references.size());
        base_ = references.size();
        stream_ = transposed_stream_ = 0;
        references.resize(base_ + shape.columns.size());
        for (const auto column : shape.columns) columns.push_back(static_cast<std::uint16_t>(column));
        for (const bool transposed : {false, true}) {
            auto* starts = schedule.levels + (transposed ? trifold_sparse_u_transposed : trifold_sparse_l);
            auto& first = transposed ? schedule.first_transposed : schedule.first;
            const bool sweeps = with_transposed || !transposed;
            starts[0] = next_level();
            if (sweeps) sweep(shape, Triangle(shape, transposed, transposed));
            starts[1] = next_level();
            first = first_with_slots(starts[0]);
            if (sweeps) sweep(shape, Triangle(shape, !transposed, transposed));
            if (transposed ? copies_transposed_ : ring_ > 0) place_in_ring(first);
        }
        elements.push_back({round_up(stream_, alignment_), copies_transposed_ ? round_up(transposed_stream_, alignment_) : 0});
        schedule.levels[trifold_sparse_sweeps] = next_level();
        schedules.push_back(schedule);
        const auto in_order = std::span(level_rows).subspan(at(levels[at(schedule.levels[trifold_sparse_l])].first_row));
        find_eliminations(shape, in_order.first(shape.diagonals.size()));
    }

    /// The most of any shape.
    Kept kept() const {
        Kept most;
        for (const auto& s : schedules) {
            grow(most, s.first, s.levels[trifold_sparse_u + 1]);
            if (copies_transposed_) grow(most, s.first_transposed, s.levels[trifold_sparse_sweeps]);
        }
        return most;
    }

    std::vector<trifold_sparse_schedule> schedules;
    std::vector<trifold_sparse_level> levels;
    std::vector<trifold_sparse_slot> slots;
    std::vector<std::uint16_t> level_rows, slot_columns, columns, records;
    std::vector<trifold_sparse_reference> references, transposed_references;
    std::vector<trifold_sparse_row> rows;
    std::vector<trifold_sparse_elimination> eliminations;
    std::vector<trifold_sparse_pair> pairs;
    /// Elements of a subdomain's factors, and of those of A', by shape.
    std::vector<std::array<std::int64_t, 2>> elements;

  private:
    void grow(Kept& most, int first, int end) const {
        if (first == end) return;
        const auto &begin = levels[at(first)], &last = levels[at(end - 1)];
        most.factors = std::max(most.factors, (last.begin - begin.begin) * bytes_ + last.bytes);
        most.records = std::max<std::int64_t>(most.records, last.record + last.record_bytes - begin.record);
        most.levels = std::max<std::int64_t>(most.levels, end - first);
    }
    int next_level() const { return static_cast<int>(levels.size()); }
    int first_with_slots(int level) const {
        while (level < next_level() && levels[at(level)].slots == 0) ++level;
        return level;
    }
    std::int64_t take(std::int64_t rows) {
        const auto place = stream_;
        stream_ += rows * square_;
        if (stream_ > std::numeric_limits<std::int32_t>::max())
            throw SpecError("a subdomain's factors have more than 2^31 elements; give smaller subdomains");
        return place;
    }
    /// Rows by levels; in a level those with most neighbours first.
    static std::vector<std::vector<std::int32_t>> by_levels(const Triangle& triangle) {
        std::vector<std::int32_t> of_row(triangle.rows.size(), 0);
        std::vector<std::vector<std::int32_t>> result;
        for (std::size_t k = 0; k < triangle.rows.size(); ++k) {
            const auto row = triangle.scales ? triangle.rows.size() - 1 - k : k;
            for (const auto& neighbour : triangle.rows[row]) of_row[row] = std::max(of_row[row], of_row[at(neighbour.row)] + 1);
            if (result.size() <= at(of_row[row])) result.resize(at(of_row[row]) + 1);
            result[at(of_row[row])].push_back(static_cast<std::int32_t>(row));
        }
        for (auto& rows : result)
            std::ranges::stable_sort(rows, std::greater{}, [&](std::int32_t row) { return triangle.neighbours(row); });
        return result;
    }
    /// Bytes in the ring of a level of such rows.
    std::int64_t ring_bytes(std::span<const std::int32_t> rows, const Triangle& triangle) const {
        const auto slots = static_cast<std::int64_t>(triangle.neighbours(rows.front())), count = static_cast<std::int64_t>(rows.size());
        std::int64_t neighbours = 0;
        for (const auto row : rows) neighbours += static_cast<std::int64_t>(triangle.neighbours(row));
        const auto numbers = round_up(slots, 8) + (slots / sparse_group + 1) * sparse_group * count;  // at most
        return round_up((neighbours + (triangle.scales ? count : 0)) * square_ * bytes_, 16) + round_up(numbers, 8) * 2;
    }
    /// The rows of a level that are taken at once: as many as there are threads for, and as a part of the ring holds.
    std::size_t part_of(std::span<const std::int32_t> rows, const Triangle& triangle) const {
        if (!has_records_ || (triangle.transposed && !copies_transposed_)) return rows.size();
        auto count = std::min(rows.size(), at(sparse_rows_at_once(sweep_.sweepers, spec_.block)));
        while (ring_ > 0 && count > 1 && ring_bytes(rows.first(count), triangle) > ring_ / ring_parts(sweep_.keeps_all)) --count;
        return count;
    }
    void sweep(const Shape& shape, const Triangle& triangle) {
        for (const auto& all : by_levels(triangle))
            for (std::span<const std::int32_t> left(all); !left.empty();) {
                const auto count = part_of(left, triangle);
                add_level(shape, left.first(count), triangle);
                left = left.subspan(count);
            }
    }
    void add_level(const Shape& shape, std::span<const std::int32_t> rows, const Triangle& triangle) {
        const auto most = triangle.neighbours(rows.front());
        trifold_sparse_level level{static_cast<int>(rows.size()), static_cast<int>(most), static_cast<int>(level_rows.size()),
                                   static_cast<int>(slots.size())};
        for (const auto row : rows) level_rows.push_back(static_cast<std::uint16_t>(row));
        auto& stream = triangle.transposed ? transposed_stream_ : stream_;
        stream = round_up(stream, alignment_);
        level.begin = static_cast<int>(stream);
        if (triangle.scales)
            level.diagonal =
                static_cast<int>(lay_out(rows, triangle.transposed, [&](std::int32_t row) { return shape.diagonals[at(row)]; }));
        for (std::size_t s = 0; s < most; ++s) {
            const auto count = std::ranges::count_if(rows, [&](std::int32_t row) { return triangle.neighbours(row) > s; });
            const auto first = rows.first(at(count));
            trifold_sparse_slot slot{static_cast<int>(count), 0, static_cast<int>(slot_columns.size())};
            for (const auto row : first) slot_columns.push_back(static_cast<std::uint16_t>(triangle.rows[at(row)][s].row));
            slot.place =
                static_cast<int>(lay_out(first, triangle.transposed, [&](std::int32_t row) { return triangle.rows[at(row)][s].entry; }));
            slots.push_back(slot);
        }
        level.bytes = static_cast<int>(round_up((stream - level.begin) * bytes_, 16));
        if (triangle.transposed ? copies_transposed_ : has_records_) add_record(level);
        levels.push_back(level);
    }
    void add_record(trifold_sparse_level& level) {
        const auto first = records.size(), columns_at = at(level.first_slot);
        for (int s = 0; s < level.slots; ++s) records.push_back(static_cast<std::uint16_t>(slots[columns_at + at(s)].rows));
        records.resize(first + at(round_up(level.slots, 8)), 0);
        const auto number = [&](int which, int t) -> std::uint16_t {
            if (which == 0) return level_rows[level_rows.size() - at(level.rows - t)];
            if (which > level.slots || t >= slots[columns_at + at(which - 1)].rows) return 0;
            return slot_columns[at(slots[columns_at + at(which - 1)].columns + t)];
        };
        for (int group = 0; group <= level.slots; group += sparse_group)
            for (int t = 0; t < (group == 0 ? level.rows : slots[columns_at + at(group - 1)].rows); ++t)
                for (int which = group; which < group + sparse_group; ++which) records.push_back(number(which, t));
        records.resize(first + at(round_up(static_cast<std::int64_t>(records.size() - first), 8)), 0);
        level.record = static_cast<int>(first * sizeof records[0]);
        level.record_bytes = static_cast<int>((records.size() - first) * sizeof records[0]);
    }
    /// Levels lie one behind the other, and never across the ring's end. Each waits until those before it have left its place.
    void place_in_ring(int first) {
        int place = 0;
        for (auto k = first; k < next_level(); ++k) {
            auto& level = levels[at(k)];
            const int size = level.bytes + level.record_bytes;
            require(size <= ring_, "a level of {} bytes is to go through a ring of {}", size, ring_);
            if (place + size > ring_) place = 0;
            level.ring = place;
            level.needs = std::max(0, k - first - sparse_gates + 1);
            if (k > first) level.needs = std::max(level.needs, levels[at(k - 1)].needs);
            for (auto other = first + level.needs; other < k; ++other) {
                const auto& earlier = levels[at(other)];
                const int end = earlier.ring + earlier.bytes + earlier.record_bytes;
                if (earlier.ring < place + size && end > place) level.needs = other - first + 1;
            }
            require(sweep_.keeps_all || level.needs < std::max(1, k - first), "a level waits for the one before it to leave the ring");
            place += size;
        }
    }
    /// Blocks of some rows get places side by side; of a transposed triangle, references to the places that they have.
    template <class EntryOf>
    std::int64_t lay_out(std::span<const std::int32_t> rows, bool transposed, const EntryOf& entry_of) {
        if (transposed) {
            const auto first = static_cast<std::int64_t>(transposed_references.size());
            for (const auto row : rows) transposed_references.push_back(references[base_ + at(entry_of(row))]);
            transposed_stream_ += static_cast<std::int64_t>(rows.size()) * square_;
            return first;
        }
        const auto count = static_cast<std::int64_t>(rows.size()), place = take(count);
        for (std::size_t t = 0; t < rows.size(); ++t)
            references[base_ + at(entry_of(rows[t]))] = {static_cast<int>(place + spec_.block * static_cast<std::int64_t>(t)),
                                                         static_cast<int>(count)};
        return place;
    }
    /// Rows in the order of their levels, with the eliminations of each. DILU changes only the diagonal of a row.
    void find_eliminations(const Shape& shape, std::span<const std::uint16_t> in_order) {
        const bool diagonal_alone = properties_of(spec_.preconditioner).diagonal_alone;
        std::vector<std::int32_t> place(shape.diagonals.size(), -1);
        for (const auto row : in_order) {
            const auto first = shape.starts[row], diagonal = shape.diagonals[row], end = shape.starts[at(row) + 1];
            rows.push_back({row, first, diagonal, end, static_cast<int>(eliminations.size())});
            for (auto k = first; k < end; ++k) place[at(shape.columns[at(k)])] = k - first;
            for (auto k = first; k < diagonal; ++k) {
                const auto pivot = at(shape.columns[at(k)]);
                trifold_sparse_elimination e{references[base_ + at(k)], references[base_ + at(shape.diagonals[pivot])], {{0, 0}, -1}, 0, 0};
                e.next = static_cast<int>(pairs.size());
                for (auto q = shape.diagonals[pivot] + 1; q < shape.starts[pivot + 1]; ++q) {
                    const auto target = place[at(shape.columns[at(q)])];
                    if (target < 0 || (diagonal_alone && target != diagonal - first)) continue;
                    const trifold_sparse_pair pair{references[base_ + at(q)], target};
                    if (e.pair.target < 0)
                        e.pair = pair;
                    else
                        pairs.push_back(pair);
                }
                e.end = static_cast<int>(pairs.size());
                eliminations.push_back(e);
            }
            for (auto k = first; k < end; ++k) place[at(shape.columns[at(k)])] = -1;
        }
    }

    const SparseSpec& spec_;
    const Sweep& sweep_;
    std::int64_t square_ = spec_.block * spec_.block, bytes_ = factor_bytes(spec_), alignment_ = 16 / bytes_, ring_ = sweep_.ring;
    bool has_records_ = ring_ > 0 || sweep_.one_launch;
    bool copies_transposed_ = ring_ > 0 && spec_.operations.contains(SparseOperation::solve_transposed);  // factors of A' by its own levels
    std::int64_t stream_ = 0, transposed_stream_ = 0;
    std::size_t base_ = 0;
};

/// Rows of each subdomain in the order that the caller has them in.
std::vector<std::uint16_t> outer_order(const Arrangement& a) {
    std::vector<std::uint16_t> rows(a.order.size());
    for (std::size_t tile = 0; tile + 1 < a.tile_starts.size(); ++tile) {
        const auto first = a.tile_starts[tile];
        const std::span here(rows.begin() + first, rows.begin() + a.tile_starts[tile + 1]);
        std::iota(here.begin(), here.end(), std::uint16_t{0});
        std::ranges::sort(here, {}, [&](std::uint16_t row) { return a.order[at(first + row)]; });
    }
    return rows;
}
/// Calls use(buffer, place, list) for each list that becomes a buffer, in the buffers' order.
template <class Use>
void for_lists(const Use& use) {
    using Launch = trifold_sparse_launch;
    use("shapes", &Launch::shape, &Lists::schedules);
    use("levels", &Launch::levels, &Lists::levels);
    use("slots", &Launch::slots, &Lists::slots);
    use("level_rows", &Launch::level_rows, &Lists::level_rows);
    use("slot_columns", &Launch::slot_columns, &Lists::slot_columns);
    use("references", &Launch::references, &Lists::references);
    use("transposed_references", &Launch::transposed_references, &Lists::transposed_references);
    use("row_patterns", &Launch::row_patterns, &Lists::rows);
    use("entry_columns", &Launch::entry_columns, &Lists::columns);
    use("eliminations", &Launch::eliminations, &Lists::eliminations);
    use("pairs", &Launch::pairs, &Lists::pairs);
    use("level_records", &Launch::level_records, &Lists::records);
}

/// Moves a field of all elements, which are places in a list that gets behind another.
template <class Element>
void shift(std::vector<Element>& elements, int Element::* field, const auto& other) {
    for (auto& element : elements) element.*field += static_cast<int>(other.size());
}

/// Moves all places in the lists of `more` to where they are once these stand behind those of `all`.
void move_behind(Lists& more, const Lists& all) {
    const auto references = static_cast<int>(all.transposed_references.size()), first_level = static_cast<int>(all.levels.size());
    for (auto& schedule : more.schedules) {
        for (auto k = schedule.levels[trifold_sparse_u_transposed]; k < schedule.levels[trifold_sparse_sweeps]; ++k) {
            auto& level = more.levels[at(k)];
            if (k >= schedule.levels[trifold_sparse_l_transposed]) level.diagonal += references;
            for (auto& slot : std::span(more.slots).subspan(at(level.first_slot), at(level.slots))) slot.place += references;
        }
        for (auto& level : schedule.levels) level += first_level;
    }
    for (auto& level : more.levels)
        if (level.record_bytes > 0) level.record += static_cast<int>(all.records.size() * sizeof all.records[0]);
    for (const auto first : {&trifold_sparse_schedule::first, &trifold_sparse_schedule::first_transposed})
        shift(more.schedules, first, all.levels);
    shift(more.schedules, &trifold_sparse_schedule::row, all.rows);
    shift(more.schedules, &trifold_sparse_schedule::entry, all.references);
    shift(more.levels, &trifold_sparse_level::first_slot, all.slots);
    shift(more.levels, &trifold_sparse_level::first_row, all.level_rows);
    shift(more.slots, &trifold_sparse_slot::columns, all.slot_columns);
    shift(more.rows, &trifold_sparse_row::elimination, all.eliminations);
    for (const auto place : {&trifold_sparse_elimination::next, &trifold_sparse_elimination::end})
        shift(more.eliminations, place, all.pairs);
}

/// The lists of all parts, one behind the other.
Lists all_of(std::vector<Lists> parts) {
    auto all = std::move(parts.front());
    const auto others = std::span(parts).subspan(1);
    for_lists([&](auto, auto, auto list) {
        auto count = (all.*list).size();
        for (const auto& part : others) count += (part.*list).size();
        (all.*list).reserve(count);
    });
    for (auto& part : others) {
        move_behind(part, all);
        const auto append = [&](auto, auto, auto list) { (all.*list).insert((all.*list).end(), (part.*list).begin(), (part.*list).end()); };
        for_lists(append);
        append("", nullptr, &Lists::elements);
    }
    return all;
}

/// The most rows of a level of L or U, and entries of a row or column of a triangle, one for its diagonal among them.
struct Widths {
    std::int64_t level = 1, triangle = 1;
    void include(const Widths& other) { *this = {std::max(level, other.level), std::max(triangle, other.triangle)}; }
    void include(const Shape& shape) {
        for (const bool upper : {false, true}) {
            const auto levels = levels_of(shape, upper);
            std::vector<std::int64_t> rows(at(levels.count), 0), columns(shape.diagonals.size(), 1);
            for (const auto of_row : levels.of_row) level = std::max(level, ++rows[at(of_row)]);
            for (std::size_t row = 0; row < columns.size(); ++row) {
                triangle = std::max(triangle, std::ssize(shape.side(row, upper)) + 1);
                for (const auto column : shape.side(row, upper)) triangle = std::max(triangle, ++columns[at(column)]);
            }
        }
    }
};
Widths widths_of(const std::vector<Shape>& shapes) {
    Widths widest;
    for (const auto& part : results_of_ranges(std::ssize(shapes), widest, [&](Widths& some, std::int64_t first, std::int64_t end) {
             for (auto k = first; k < end; ++k) some.include(shapes[at(k)]);
         }))
        widest.include(part);
    return widest;
}
/// Warps that sweep: a few numbers of them, so that few texts differ in nothing else.
std::int64_t round_up_warps(std::int64_t warps, std::int64_t most) {
    for (const std::int64_t some : {2, 4, 6})
        if (warps <= some) return std::min(some, most);
    return most;
}

/// Entries of a row kept in registers, by block size. At most 3 if no row has more.
std::int64_t kept_slots(std::int64_t block, std::int64_t widest) {
    constexpr std::array<std::int64_t, 5> most{0, 6, 4, 3, 2};
    const auto fitting = block < static_cast<std::int64_t>(most.size()) ? most.at(at(block)) : 1;
    constexpr std::int64_t few = 3;
    return widest <= few ? std::min(few, fitting) : fitting;
}

}  // namespace

Sweep sweep_of(const SparseSpec& spec, const Target& target, const Arrangement& a, const Knobs& knobs) {
    constexpr std::int64_t reserved = 1024, least = 8192, unit = 128;  // bytes that the device reserves for each thread block; of a ring
    const auto& device = device_of(target);
    const auto widest = widths_of(a.shapes);
    const auto lanes = std::int64_t{warp_lanes(target)}, row_lanes = lanes / spec.block, level = widest.level;
    Sweep sweep{round_up_warps((level + row_lanes - 1) / row_lanes, sparse_max_sweepers / lanes) * lanes};
    const auto resident = decide(knobs, spec, target, a.rows(), "resident_threads");
    sweep.blocks = std::max<std::int64_t>(1, resident / (sweep.sweepers + sparse_fetch_threads));
    const bool is_small = a.tiles() == 1 || a.tiles() <= device.count("facts.multiprocessors") / spec.batch;
    sweep.one_launch =
        is_small && solves(spec) && spec.method != SparseMethod::gmres && decide(knobs, spec, target, a.rows(), "one_launch") != 0;
    // Only CUDA has barriers of some threads of a block. 512 threads have 128 registers each, 384 have 168.
    const std::int64_t few = 3, threads = spec.block <= few ? 512 : 384;
    if (target.backend == Backend::cuda) sweep.groups = std::max<std::int64_t>(1, threads / sweep.sweepers);
    if (target.backend != Backend::cuda || compute_capability(target) < 90 || !has_factors(spec)) return sweep;
    const auto row = widest.triangle;
    sweep.kept = kept_slots(spec.block, row - 1);
    sweep.keeps_all = row - 1 <= sweep.kept;
    const auto row_bytes = row * spec.block * spec.block * factor_bytes(spec);
    const std::int64_t vector = sparse_vector_bytes(a.largest_tile(), spec.block, element_bytes(spec.precision));
    const auto others = std::max(vector, sum_bytes(sweep.sweepers + sparse_fetch_threads)) + sparse_gate_bytes() + unit;
    const auto most = device.count("facts.block_shared_bytes"), all = device.count("facts.multiprocessor_shared_bytes");
    const auto ring_of = [&](std::int64_t blocks) { return (std::min(most, all / blocks - reserved) - others) / unit * unit; };
    // Occupancy: the most thread blocks of a multiprocessor for which each has a ring of 1.5 levels.
    const auto level_bytes = std::min<std::int64_t>(level, sparse_rows_at_once(sweep.sweepers, spec.block)) * row_bytes;
    while (sweep.blocks > 1 && (ring_of(sweep.blocks) < least || 2 * ring_of(sweep.blocks) < 3 * level_bytes)) --sweep.blocks;
    const auto ring = ring_of(sweep.blocks);
    // The widest row or column alone must fit a part of it.
    const auto alone = row_bytes + round_up(3 * row + 16, 8) * 2 + unit;
    if (ring >= least && alone <= ring / ring_parts(sweep.keeps_all)) {
        sweep.ring = ring;
        sweep.fetchers = sparse_fetch_threads;
    }
    return sweep;
}

namespace {

/// A by columns, its entries as numbered in chunks.
void add_transposed(Stored& stored, const Arrangement& a, const Chunks& chunks) {
    auto transposed = transpose(a);
    for_ranges(a.entries(), min_of_thread, [&](std::int64_t first, std::int64_t end) {
        for (auto k = first; k < end; ++k) {
            const auto row = transposed.rows[at(k)];
            transposed.entries[at(k)] = chunks.entry(row, transposed.entries[at(k)] - a.starts[at(row)]);
        }
    });
    stored.add(std::move(transposed));
}

/// The most entries of a row, those of its chunk, and of a column, where columns are lists too.
std::int64_t widest_entries(const Arrangement& a, const Chunks& chunks, bool transposed) {
    std::int64_t widest = 0;
    for (std::size_t chunk = 0; chunk + 1 < chunks.starts.size(); ++chunk)
        widest = std::max(widest, chunks.starts[chunk + 1] - chunks.starts[chunk]);
    if (!transposed) return widest;
    std::vector<std::int64_t> columns(at(a.rows()), 0);
    for (const auto column : a.columns) widest = std::max(widest, ++columns[at(column)]);
    return widest;
}

}  // namespace

trifold_sparse_launch near_of(const SparseSpec& spec, const Target& target, const Arrangement& a, const Sweep& sweep, const Kept& kept) {
    trifold_sparse_launch l{};
    if (!sweep.one_launch) return l;
    constexpr std::int64_t stage = 16, entry = 8, vectors_of_cg = 3, vectors_of_bicgstab = 5;
    const auto rows = a.largest_tile(), most = device_of(target).count("facts.block_shared_bytes");
    l.near_bytes = sparse_vector_bytes(rows, spec.block, element_bytes(spec.precision));
    auto end = sparse_desk_bytes + l.near_bytes;
    const auto take = [&](std::int64_t bytes) { return std::exchange(end, end + round_up(bytes, 16)); };
    // Vectors lie behind the first one.
    const auto vectors = l.near_bytes * (spec.method == SparseMethod::cg ? vectors_of_cg : vectors_of_bicgstab);
    const auto needed = end + kept.levels * stage + kept.factors + kept.records + round_up(rows * kept.slots * entry, 16);
    if (needed > most) return {};
    l.near_vectors = needed + vectors <= most ? 1 : 0;
    if (l.near_vectors != 0) take(vectors);
    l.near_stages = take(kept.levels * stage);
    l.near_factors = take(kept.factors);
    l.near_records = take(kept.records);
    l.near_slots = kept.slots;
    l.near_entries = take(rows * kept.slots * entry);
    l.near_kept = std::min<std::int64_t>(kept.slots, (most - end) / (l.near_bytes * spec.block));
    l.near_matrix = take(l.near_kept * l.near_bytes * spec.block);
    l.near_all = end;
    return l;
}

Stored stored_of(const SparseSpec& spec, const Arrangement& a, const Sweep& sweep, Kept& kept) {
    const bool transposed_factors =
        spec.operations.contains(SparseOperation::apply_transposed) || spec.operations.contains(SparseOperation::solve_transposed);
    const auto line = workspace_alignment / factor_bytes(spec);
    auto parts = results_of_ranges(static_cast<std::int64_t>(a.shapes.size()), Lists(spec, sweep),
                                   [&](Lists& some, std::int64_t first, std::int64_t end) {
                                       for (auto k = first; k < end; ++k) some.add(a.shapes[at(k)], transposed_factors);
                                   });
    auto lists = all_of(std::move(parts));
    if (has_factors(spec)) kept = lists.kept();
    std::vector<trifold_sparse_tile> tiles;
    std::int64_t elements = 0;
    for (std::size_t k = 0; k < a.tile_shapes.size(); ++k) {
        const auto [own, of_transposed] = lists.elements[at(a.tile_shapes[k])];
        const auto transposed = elements + round_up(own, line);
        tiles.push_back({a.tile_starts[k], a.tile_starts[k + 1] - a.tile_starts[k], a.tile_shapes[k], elements, transposed});
        elements = checked_add(transposed, round_up(of_transposed, line), "factors");
    }
    Chunks chunks(a);
    kept.slots = widest_entries(a, chunks, needs_transposed(spec));
    Stored stored;
    stored.factor_elements = has_factors(spec) ? elements : 0;
    stored.matrix_elements = checked_multiply(static_cast<std::int64_t>(chunks.columns.size()), spec.block * spec.block, "values");
    using Launch = trifold_sparse_launch;
    stored.add("tiles", &Launch::tile, std::move(tiles));
    for_lists([&](auto buffer, auto place, auto list) { stored.add(buffer, place, std::move(lists.*list)); });
    stored.add("outer_order", &Launch::outer_order, outer_order(a));
    if (needs_transposed(spec)) add_transposed(stored, a, chunks);
    stored.add("starts", &Launch::starts, std::move(chunks.starts));
    stored.add("columns", &Launch::column, std::move(chunks.columns));
    stored.add("sources", &Launch::source, std::move(chunks.sources));
    return stored;
}

}  // namespace trifold::sparse::gpu
